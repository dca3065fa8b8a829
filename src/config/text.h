/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* Length of the longest start of s that is UTF-8 without control characters other than tab. */
size_t text_valid(const char *s, size_t len);

/* s for a message: at most 40 bytes, then "..."; what is not printable ASCII becomes '?'. */
#define TEXT_SHOWN 44
char *text_show(const char *s, size_t len, char buf[static TEXT_SHOWN]);

/* Restricted Damerau-Levenshtein distance without regard to ASCII case: insertions, deletions,
 * replacements and swaps of neighbours. UINT_MAX where a or b is longer than 31 bytes. */
unsigned text_distance(const char *a, const char *b);
