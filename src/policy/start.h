/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "estimate.h"

/* A start storm: many tasks that fault memory in at once, as containers do when they start. From
 * 6.7 on rmqueue_bulk() takes up to batch << scale pages a hold for them, and 6.19 does so still.
 * Nobody announces it: it is seen in /proc/vmstat, as memory that goes and does not come back. */

struct start {
    struct vm_counters last; /* the reading that the next one is compared with */
    uint32_t tasks;          /* faulting at the same moment, by the last two readings */
    uint64_t pages;          /* taken by faults since it began */
    uint64_t gone;           /* taken between the last two readings */
    bool close;              /* which lie close enough to tell tasks from times */
    uint64_t watch_until;    /* ns: who exits is often started again */
};

/* Takes in a new reading. */
void start_note(struct start *st, const struct params *p, const struct snapshot *s);

/* The same in an estimate's terms: *ret says what was taken so far in place of what is to come. */
void start_estimate(const struct start *st, struct estimate *ret);

/* An exit storm is over: what may follow is looked for. */
void start_expect(struct start *st, uint64_t now);

/* When the next look is due, UINT64_MAX while none is: the slow tick sees what goes on for longer.
 * enough: pages that are a storm here. */
uint64_t start_wake(const struct start *st, uint64_t enough, uint64_t now);
