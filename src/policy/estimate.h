/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "params.h"
#include "snapshot.h"

/* What the signals of a snapshot amount to: how many tasks will free how much. Pure. */

/* The share of what exits of a group announced that they really freed, as learned from earlier
 * storms: hiwater_rss is the peak of a lifetime and counts pages that an exit does not free. */
#define YIELD_ONE 1024u /* everything that was announced */
#define YIELDS_MAX 256  /* groups remembered; the one not used for longest is forgotten first */

struct yields {
    struct {
        uint64_t id; /* of exit_group; 0: free */
        uint32_t share;
        uint64_t used; /* count of uses, for replacement */
    } slot[YIELDS_MAX];
    uint64_t uses;
};

uint32_t yield_get(struct yields *y, uint64_t id); /* YIELD_ONE for a group never seen */
void yield_learn(struct yields *y, uint64_t id, uint64_t announced, uint64_t freed);

struct estimate {
    bool starting;              /* tasks that fault memory in: see start.h */
    uint32_t tasks;             /* in flight, of those that may hold task_size or more each */
    uint32_t tasks_total;       /* seen in this storm, all of them */
    uint64_t announced;         /* pages, as the kernel says */
    uint64_t bounded_total;     /* of those, at most the anonymous memory of the groups' cgroups */
    uint64_t bounded;           /* of those, the share of the tasks that are in flight still */
    uint64_t pages;             /* of those, what the learned yields leave: what is to come */
    uint64_t expected;          /* pages that all of it frees by the learned yields */
    uint32_t huge;              /* share of huge pages, in 1/1024: one list entry for 512 pages */
    char group[GROUP_NAME_MAX]; /* the one that announced most */
};

/* trust_all: the storm has proven itself, learned yields are not applied. */
void estimate_storm(const struct params *p, const struct snapshot *s, struct yields *y,
                    bool trust_all, struct estimate *ret);

/* Without taskstats: what freeing is to be seen between two readings of /proc/vmstat. *ret is in
 * the same terms, with tasks inferred from the rate of pgfree. */
void estimate_vmstat(const struct host_facts *host, uint64_t page_cost,
                     const struct vm_counters *before, const struct vm_counters *now,
                     struct estimate *ret);

/* Pages that were freed between two readings, an upper bound: what pgfree counts. */
uint64_t vm_freed(const struct vm_counters *before, const struct vm_counters *now);
