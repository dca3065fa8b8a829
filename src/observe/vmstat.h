/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"
#include "snapshot.h"

/* /proc/vmstat and /proc/meminfo through libproc2 (libprocps where only that exists). */
struct vmstat;

/* -ENOENT where there is no /proc/vmstat, -EIO where it is empty. */
int vmstat_open(struct vmstat **ret);
void vmstat_close(struct vmstat *v);
DEFINE_CLEANUP(struct vmstat *, vmstat_close)

/* Fills *ret and stamps it with the time of the reading. A counter that this kernel does not print
 * is 0. nr_anon_thp is converted to base pages. With libprocps nr_anon is an upper bound (it has
 * file pages in it) and nr_anon_thp is 0. -EBADMSG where neither pgfree nor nr_anon_pages is found.
 * About 70 us, and no allocation: not on the reaction path. */
int vmstat_read(struct vmstat *v, struct vm_counters *ret);

/* MemTotal in bytes, through the same library. */
int meminfo_total(uint64_t *ret);
