/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* Fake kernel files, bind-mounted over the real ones in a mount namespace of the test's own. */

/* Enters that namespace (and a user namespace where the caller is not root). False, with a printed
 * line that says why, where this is refused: tests that need it skip. To be called before threads
 * start. */
bool fake_enter(void);

/* Makes path show text, or a directory, or any other file, until fake_undo(). */
void fake_text(const char *path, const char *text);
void fake_bind(const char *path, const char *source);
void fake_undo(const char *path);

/* A scratch directory of this process, and a file in it. Everything goes at exit. */
const char *fake_dir(void);
void fake_file(const char *name, const void *data, size_t len, char *ret_path, size_t size);
