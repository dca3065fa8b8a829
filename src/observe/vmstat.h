/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"
#include "snapshot.h"

/* /proc/vmstat and /proc/meminfo through libproc2; without it by vmstat_text.c and sysconf(3). */
struct vmstat;

/* -ENOENT where there is no /proc/vmstat, -EIO where it is empty. */
int vmstat_open(struct vmstat **ret);
void vmstat_close(struct vmstat *v);
DEFINE_CLEANUP(struct vmstat *, vmstat_close)

/* Fills *ret and stamps it with the time of the reading. A counter that this kernel does not print
 * is 0. nr_anon_thp is converted to base pages. -EBADMSG where neither pgfree nor nr_anon_pages is
 * found. About 70 us, and no allocation: not on the reaction path. */
int vmstat_read(struct vmstat *v, struct vm_counters *ret);

/* MemTotal in bytes. */
int meminfo_total(uint64_t *ret);
