/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* "10min" and "2h" (ago), "now", "today", "yesterday", "22:30", "2026-11-30", "2026-11-30 22:30",
 * "2026-11-30 22:30:15" (or with T) in local time, "@1764526501" as usec of CLOCK_REALTIME; `now`
 * is such a time, too. -EINVAL: none of these, or before 1970. */
int since_parse(const char *text, uint64_t now, uint64_t *ret);
