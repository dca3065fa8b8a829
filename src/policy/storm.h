/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "estimate.h"
#include "params.h"
#include "plan.h"
#include "snapshot.h"

/* One storm: what was announced, what is seen to be freed, and whether that is believed. Times are
 * monotonic ns, amounts pages. */

struct storm {
    bool on;
    bool starting; /* its tasks fault memory in, they do not exit: start.h */
    bool tuned;    /* the knobs stand as this storm wants them */
    uint64_t id;   /* counts from 1 */
    uint64_t begin, message_at;
    uint64_t empty_at;    /* the last task was gone; 0: in flight */
    uint64_t changed_at;  /* last write of ours; 0: none */
    uint64_t tuned_since; /* the knobs are ours without a break */
    uint64_t small_since; /* since when far fewer are in flight than planned for; 0 */
    uint32_t n_planned;
    uint64_t worth_from; /* pages in flight that are worth more than was done, 0: none are */
    uint32_t cpus;       /* online when that was planned: with fewer each list is longer */
    bool proven;         /* freeing was seen, or vmstat showed it in the first place */
    bool trust_all;      /* and what was learned of earlier storms does not hold here */
    bool doubted;        /* it was a false alarm */
    uint64_t doubt_at;   /* the earliest time to say so */
    bool measured;       /* freed is that of the whole storm, which is over */
    bool lengthened;     /* the last change of ours made the lists longer */
    bool endless;        /* given back after TunedMax=, and left alone since */
    struct vm_counters base, last;
    struct plan peak; /* the decision with the largest W, when it is left alone */
    uint64_t announced, bounded, freed;
    uint64_t expected;                         /* to be freed in all, by the learned yields */
    uint64_t announced_before, bounded_before; /* of tasks that were gone when it began */
    uint32_t tasks_before;
    uint32_t tasks_total;
};

/* What must be in flight to be a storm here: StormSize= or a share of the machine's memory. */
uint64_t storm_pages(const struct params *p, const struct snapshot *s);

/* True while tasks are in flight. Without taskstats: while each look sees much memory going. */
bool storm_in_flight(const struct params *p, const struct snapshot *s, const struct estimate *est);

void storm_begin(struct storm *st, uint64_t id, const struct snapshot *s,
                 const struct estimate *est, uint64_t now);

/* Takes in a new estimate; vm_fresh: the counters behind it are new. */
void storm_note(struct storm *st, const struct snapshot *s, const struct estimate *est,
                bool vm_fresh);

/* Takes in a new reading of vmstat, while the storm is on. */
void storm_note_vm(struct storm *st, const struct vm_counters *vm);

/* Anonymous memory went, or so much was freed that new memory elsewhere may hide it. */
bool storm_freeing(const struct storm *st);

/* More went than such exits freed before: what was learned does not hold for this storm. */
bool storm_exceeds(const struct storm *st);

/* Long enough watched, and what was announced is not being freed. */
bool storm_disbelieved(const struct storm *st, uint64_t now);

/* All are gone, and what they freed was no storm, or nothing like what was announced. */
bool storm_freed_little(const struct storm *st, uint64_t storm_pages);

/* Yields are learned from storms that were measured from near their begin to their end, and from
 * false alarms. */
void storm_learn(const struct storm *st, const struct snapshot *s, struct yields *y);

/* Fills in what is known of the storm as a whole. */
void storm_evidence(const struct storm *st, uint64_t now, struct evidence_numbers *w);
