/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hist.h"
#include "plan.h"
#include "scenario.h"
#include "waits.h"

/* The simulation of a scenario: CPUs with page lists, zones with a FIFO lock, tasks that allocate
 * and free. The same scenario and seed give the same result, to the bit. */
struct sim;

struct sample {                /* of one interval of the timeline */
    nsec_t at;                 /* its end */
    uint32_t exiting, waiting; /* tasks in flight, tasks in the queue of a lock, at its end */
    uint32_t hold;             /* most pages of one hold in it */
    int fraction, scale;       /* knob values at its end */
    nsec_t wait;               /* the longest that a bystander waited for the lock, in it */
    uint64_t lists, free;      /* pages in all lists, and free pages outside of them, at its end */
};

#define SIM_DECISIONS 64
struct decision { /* of the daemon's, with what was written */
    nsec_t at;
    struct plan plan;
};

struct sim_result {
    struct hist free_bulk;   /* ns of free_pcppages_bulk() with the wait for the lock */
    struct hist alloc_bulk;  /* ns of rmqueue_bulk() with the same */
    struct hist wait;        /* ns that a bystander waited for the lock, when it needed it */
    struct waits wait_fine;  /* the same */
    struct waits wait_storm; /* the same, while an exit or a start was in flight */
    struct hist hold;        /* ns that the lock was held */
    struct hist exit_time;   /* ns of an exit, by task */
    struct hist start_time;  /* ns of a start, by task */
    uint64_t holds, held_ns;
    uint64_t freed_pages, allocated_pages; /* through the lock */
    uint64_t big_holds;                    /* of 2000 pages or more */
    uint32_t max_hold;                     /* pages */
    uint64_t faults, bystander_faults;     /* pages that tasks of WORK_LOOP and so on got */
    uint64_t exit_pages;                   /* pages that exits freed */
    uint64_t stalls, reclaimed;            /* direct reclaims, pages of kswapd */
    nsec_t memory_some, cpu_some;          /* stalled, as /proc/pressure counts it */
    uint64_t knob_writes;                  /* by the daemon */
    nsec_t exit_begin, exit_end;           /* of the first and the last of them */
    nsec_t start_begin, start_end;         /* the same of tasks that start */
    uint32_t unfinished;                   /* exits and starts that the run's end cut off */
    nsec_t simulated;
    struct sample *samples;
    uint32_t n_samples;
    struct decision decisions[SIM_DECISIONS];
    uint32_t n_decisions;
};

/* s must have passed scenario_check(), and stay. -ENOMEM. */
int sim_new(const struct scenario *s, struct sim **ret);
void sim_free(struct sim *sim); /* NULL is accepted */

void sim_run(struct sim *sim);

/* Belongs to sim. */
const struct sim_result *sim_get_result(const struct sim *sim);
