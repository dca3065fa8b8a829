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
    bool close;              /* those readings lie close enough to tell tasks from times */
};

/* Takes in a new reading. */
void start_note(struct start *st, const struct params *p, const struct snapshot *s);

/* The same in an estimate's terms: *ret says what was taken so far in place of what is to come. */
void start_estimate(const struct start *st, struct estimate *ret);

/* So much went since the last reading that a closer look is due. */
bool start_suspicious(const struct start *st);
