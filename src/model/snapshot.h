/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "host.h"
#include "knob.h"
#include "zone.h"

/* One immutable view of the machine, as engine_step() gets it. Everything in it is observed;
 * estimates are the policy's. The snapshot points to what its owner keeps. */

enum signal_id { SIGNAL_TASKSTATS, SIGNAL_PSI, SIGNAL_VMSTAT, SIGNAL_ZONEINFO, SIGNAL_MAX };
const char *signal_name(enum signal_id s);

#define GROUP_NAME_MAX 64
#define GROUP_PAGES_UNKNOWN UINT64_MAX
#define SNAPSHOT_GROUPS 64 /* further containers of one storm are counted together in the last */

/* The exiting tasks of one container (or unit, or of the root cgroup) and program. */
struct exit_group {
    uint64_t id;               /* hash of cgroup path and command, never 0 */
    char name[GROUP_NAME_MAX]; /* "docker 3f2a9c01d2ab", "nginx.service", "/": for people */
    char comm[16];
    uint32_t tasks;       /* in flight now */
    uint32_t tasks_total; /* since the group was first seen in this storm */
    uint64_t announced;   /* pages: sum of hiwater_rss of tasks_total, an upper bound */
    uint64_t anon;        /* pages of anonymous memory that its cgroup held when first seen */
    uint64_t anon_thp;    /* of which in huge pages */
};

struct vm_counters { /* /proc/vmstat, in pages or events since boot; valid: read at `at` */
    bool valid;
    uint64_t at;
    uint64_t pgfree, pgalloc, pgfault, allocstall;
    uint64_t nr_free, nr_anon, nr_anon_thp; /* nr_anon includes the huge pages, in base pages */
};

struct psi_line {
    uint64_t total_us;    /* stall time since boot */
    uint32_t avg10_centi; /* 1234 is 12.34 % */
};

struct snapshot {
    const struct host_facts *host;
    const struct zone_table *zones; /* last reading of zoneinfo */
    uint64_t zones_at;              /* when; 0: never */
    bool signals[SIGNAL_MAX];       /* which work */

    struct exit_group groups[SNAPSHOT_GROUPS];
    uint32_t n_groups;
    uint32_t tasks;                      /* in flight, over all groups */
    uint64_t message_at;                 /* when the last message that brought a task came; 0 */
    uint32_t node_tasks[HOST_NODES_MAX]; /* the same by node of the CPU they exit on */

    struct vm_counters vm;       /* last reading of vmstat */
    struct vm_counters zones_vm; /* the one that was taken together with zones */
    struct psi_line psi_memory_some, psi_cpu_some;

    bool knobs_known;
    struct knob_values knobs; /* last read or written */
};
