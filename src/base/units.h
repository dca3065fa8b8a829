/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* Strict text <-> number. Each parser takes the whole string: no sign, no space, no rest. Errors:
 * -EINVAL not of that form (or unit missing or unknown), -ERANGE does not fit. *ret only on
 * success. */

/* Decimal digits only. */
int parse_u64(const char *s, uint64_t *ret);

/* The same for the text from p to end, as it stands in a file of the kernel's. -EBADMSG: it is
 * empty, not digits alone, or too large. */
int parse_u64_span(const char *p, const char *end, uint64_t *ret);

/* An optional leading '-', then decimal digits. */
int parse_i64(const char *s, int64_t *ret);

/* "250ns", "100us", "20ms", "5s", "2min", "1h", "infinity" (NSEC_INFINITY); "0" needs no unit.
 * Integer only. Result in ns. */
int parse_duration(const char *s, nsec_t *ret);

/* "64M", "2G", "512K", "1T", plain bytes without suffix; suffixes are powers of 1024. In bytes. */
int parse_size(const char *s, uint64_t *ret);

/* "5%"; "0" needs no sign. Integer only, in percent. */
int parse_percent(const char *s, uint64_t *ret);

/* "yes"/"no", "true"/"false", "on"/"off", "1"/"0", in lower case. */
int parse_bool(const char *s, bool *ret);

/* For people, rounded to three significant digits at most (hours and T may have more): "80us",
 * "1.93ms", "1.5min", "infinity"; "2.25G", "64M". Both return buf, which is always terminated. */
#define UNITS_BUF 24
char *format_duration(nsec_t ns, char buf[static UNITS_BUF]);
char *format_size(uint64_t bytes, char buf[static UNITS_BUF]);

/* In the largest unit that divides it ("90s", "1min"): what parse_duration() and parse_size()
 * read back as exactly this value. For configuration and records. */
char *format_duration_exact(nsec_t ns, char buf[static UNITS_BUF]);
char *format_size_exact(uint64_t bytes, char buf[static UNITS_BUF]);
