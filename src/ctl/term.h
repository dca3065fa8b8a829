/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* Text on a terminal: colours only there, and not with NO_COLOR (https://no-color.org). */

#define TERM_WIDTH 80

bool term_coloured(FILE *f);
const char *term_bold(FILE *f); /* these are "" where there are no colours */
const char *term_faint(FILE *f);
const char *term_good(FILE *f);
const char *term_bad(FILE *f);
const char *term_end(FILE *f);

/* Prints text filled to TERM_WIDTH, each line indented. Words are not broken. */
void term_fill(FILE *f, unsigned indent, const char *text);

/* Prints text as it is, each of its lines indented. */
void term_lines(FILE *f, unsigned indent, const char *text);

/* "   storm  text", filled to TERM_WIDTH below itself. */
void term_field(FILE *f, const char *name, const char *text);

/* Others' names without control characters. Returns buf. */
#define TERM_NAME 128
char *term_name(const char *name, char buf[static TERM_NAME]);

/* "2026-11-30 18:00:01" in local time. Returns buf. */
#define TERM_TIME 32
char *term_time(uint64_t usec, char buf[static TERM_TIME]);

/* Standard output through $PAGER, else "less" with LESS=FRX, where it is a terminal; colours stay
 * as the terminal has them. Does nothing where PAGER is "" or "cat" or there is no pager. */
void pager_open(void);
void pager_close(void); /* waits until the reader has read */
bool pager_runs(void);
