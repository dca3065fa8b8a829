/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "start.h"

#include <stdio.h>

#define MSEC UINT64_C(1000000)

/* A task faults a 4 KiB page in every 1.5 us (measured on 6.18; 0.9 to 1.8 us on the five machines
 * of tests/measurements/huang_batch_latency.csv): so many are behind a rate. */
#define NS_PER_FAULTED_PAGE 1500

/* Two readings that are closer say nothing, two that lie further apart nothing of a moment. */
#define CLOSEST (5 * MSEC)
#define FURTHEST (250 * MSEC)

#define LOOK_AGAIN (20 * MSEC) /* so much went since the last tick that a closer look is due */
#define LOOK_AFTER_EXITS (500 * MSEC)
#define EXPECTED_FOR (10000 * MSEC) /* an orchestrator's first restart comes without delay */

/* One task that takes memory is no storm, whatever the target. */
#define TASKS_LEAST 2

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What was taken and not given back, by faults: reading files takes pages too, and a fault that
 * brings a huge page is one entry of a list. */
static uint64_t taken(const struct vm_counters *before, const struct vm_counters *now)
{
    uint64_t alloc = now->pgalloc - before->pgalloc, freed = now->pgfree - before->pgfree;

    if (now->pgalloc < before->pgalloc || now->pgfree < before->pgfree ||
        now->pgfault < before->pgfault || freed > alloc / 2)
        return 0; /* who gives back as much as he takes does so for ever: short lists would cost
                     him throughput for ever */
    return min_u64(alloc - freed, now->pgfault - before->pgfault);
}

void start_note(struct start *st, const struct params *p, const struct snapshot *s)
{
    struct vm_counters before = st->last;

    if (before.valid && s->vm.at < before.at + CLOSEST)
        return;
    st->last = s->vm;
    if (!p->start_storms || !before.valid) {
        st->tasks = 0;
        st->pages = st->gone = 0;
        return;
    }
    uint64_t pages = taken(&before, &s->vm), elapsed = s->vm.at - before.at;
    uint64_t busy = (pages * NS_PER_FAULTED_PAGE + elapsed / 2) / elapsed;
    /* A lock that is near its limit hides its queue. */
    if (pages * p->page_cost >= elapsed / 5 * 2)
        busy = s->host->cpus_online;
    st->gone = pages;
    st->close = elapsed <= FURTHEST;
    st->tasks = busy < TASKS_LEAST ? 0 : (uint32_t)min_u64(busy, s->host->cpus_online);
    st->pages = st->tasks ? st->pages + pages : 0;
}

void start_estimate(const struct start *st, struct estimate *ret)
{
    *ret = (struct estimate){.starting = true,
                             .tasks = st->tasks,
                             .tasks_total = st->tasks,
                             .announced = st->pages,
                             .bounded_total = st->pages,
                             .bounded = st->pages,
                             .pages = st->pages};
    snprintf(ret->group, sizeof(ret->group), "seen in vmstat");
}

void start_expect(struct start *st, uint64_t now)
{
    st->watch_until = now + EXPECTED_FOR;
}

uint64_t start_wake(const struct start *st, uint64_t enough, uint64_t now)
{
    if (st->tasks > 0 || (!st->close && st->gone >= enough))
        return now + LOOK_AGAIN;
    return now < st->watch_until ? now + LOOK_AFTER_EXITS : UINT64_MAX;
}
