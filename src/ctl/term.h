/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* Text on a terminal: colours only there, and not with NO_COLOR (https://no-color.org). */

#define TERM_WIDTH 80

const char *term_bold(FILE *f);  /* "" where there are no colours */
const char *term_faint(FILE *f); /* "" where there are no colours */
const char *term_end(FILE *f);

/* Prints text filled to TERM_WIDTH, each line indented. Words are not broken. */
void term_fill(FILE *f, unsigned indent, const char *text);

/* Prints text as it is, each of its lines indented. */
void term_lines(FILE *f, unsigned indent, const char *text);
