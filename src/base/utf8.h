/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* Bytes of the character that begins at s, of len bytes (RFC 3629: not overlong, no surrogates),
 * and its code point. 0: there is none, and *ret stays. */
size_t utf8_char(const char *s, size_t len, uint32_t *ret);

/* Bytes that belong to no character, also to none that was cut off, become '?'. Returns s. */
char *utf8_repair(char *s);
