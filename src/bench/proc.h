/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <sys/types.h>

#include "macros.h"

/* The "Key:  123 kB" files: /proc/meminfo, /proc/PID/smaps_rollup, /proc/PID/status. */

/* The number after "key:" at the start of a line, times 1024 where its unit is kB. -ENOENT: no such
 * line; -EBADMSG: no number there; -ERANGE. */
int proc_field(const char *text, const char *key, uint64_t *ret);

/* MemTotal and MemAvailable in bytes. */
int proc_memory(uint64_t *ret_total, uint64_t *ret_available);

/* What a process holds now, and its peak (VmHWM), in bytes. Walks its page tables: a millisecond
 * or so for each GiB. */
struct proc_usage {
    uint64_t rss;
    uint64_t anon;
    uint64_t thp;
    uint64_t peak;
    uint64_t threads;
};
int proc_usage(pid_t pid, struct proc_usage *ret);
