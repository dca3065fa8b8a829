/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <sys/types.h>

#include "hist.h"
#include "macros.h"

/* A process that does nothing but page faults, and times each: it touches a private region page by
 * page, and gives it back with MADV_DONTNEED outside of the timed part. A whole region at a time:
 * what is given back and taken again in small pieces would never leave the CPU's own list. */

enum bystander_place { BYSTANDER_NONE, BYSTANDER_SHARED, BYSTANDER_CPU };
struct bystander_options {
    enum bystander_place place;
    unsigned cpu;  /* BYSTANDER_CPU */
    bool fifo;     /* wish for SCHED_FIFO 1 */
    uint64_t size; /* of the region, bytes; at least a page */
};

/* To which part of the experiment a fault belongs: that in which it began, except that one that
 * overlaps DURING counts there. IDLE is not recorded. */
enum phase { PHASE_BEFORE, PHASE_DURING, PHASE_AFTER, PHASES, PHASE_IDLE = PHASES };

/* Nanoseconds. Quantiles are exact (nearest rank of all samples) where `exact`, else the upper
 * bound of the log2 bucket: there were more samples than the buffer holds. */
struct phase_result {
    nsec_t duration;
    struct hist hist;
    uint64_t p50;
    uint64_t p99;
    uint64_t p999;
    bool exact;
};

struct bystander;

/* Bytes of the buffers, for those who check what fits. */
uint64_t bystander_overhead(void);

/* Forks it; it reports on report_fd (child.h) after its first lap. */
int bystander_new(const struct bystander_options *o, int report_fd, struct bystander **ret);
struct bystander *bystander_free(struct bystander *b);

/* What was granted, valid after the report. */
bool bystander_is_fifo(const struct bystander *b);
bool bystander_is_locked(const struct bystander *b);

/* The phase from `now` on. NULL is accepted. */
void bystander_phase(struct bystander *b, enum phase phase, nsec_t now);

/* True when it has seen PHASE_IDLE, so that its records stand still. */
bool bystander_is_idle(const struct bystander *b);

/* Moves the records of an idle bystander into ret, and clears them. */
void bystander_collect(struct bystander *b, struct phase_result ret[static PHASES]);
