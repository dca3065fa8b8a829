/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* Strict text <-> number. Each parser takes the whole string: no sign, no space, no rest. Errors:
 * -EINVAL not of that form (or unit missing or unknown), -ERANGE does not fit. *ret only on
 * success. */

/* Decimal digits only. */
int parse_u64(const char *s, uint64_t *ret);

/* An optional leading '-', then decimal digits. */
int parse_i64(const char *s, int64_t *ret);

/* "100us", "20ms", "5s", "2min", "1h", "250ns"; "0" needs no unit. Integer only. Result in ns. */
int parse_duration(const char *s, nsec_t *ret);

/* "64M", "2G", "512K", "1T", plain bytes without suffix; suffixes are powers of 1024. In bytes. */
int parse_size(const char *s, uint64_t *ret);

/* "yes"/"no", "true"/"false", "on"/"off", "1"/"0", in lower case. */
int parse_bool(const char *s, bool *ret);

/* For people, three significant digits at most: "80us", "1.93ms", "infinity"; "2.25G", "64M".
 * Both return buf, which is always terminated. 16 bytes are enough. */
#define UNITS_BUF 24
char *format_duration(nsec_t ns, char buf[static UNITS_BUF]);
char *format_size(uint64_t bytes, char buf[static UNITS_BUF]);

/* The shortest text that parse_duration() and parse_size() read back as exactly this value: for
 * configuration and records, never rounded. */
char *format_duration_exact(nsec_t ns, char buf[static UNITS_BUF]);
char *format_size_exact(uint64_t bytes, char buf[static UNITS_BUF]);
