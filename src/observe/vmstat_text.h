/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"
#include "snapshot.h"

/* len bytes of /proc/vmstat, lines of "NAME NUMBER" (vmstat_show()), to counters; nr_anon_thp stays
 * in huge pages, and valid and at are not touched. -EBADMSG: a counter that is wanted is no number
 * of 64 bits, or neither pgfree nor nr_anon_pages is there. */
int vmstat_parse(const char *text, size_t len, struct vm_counters *ret);
