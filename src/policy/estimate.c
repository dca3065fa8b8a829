/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "estimate.h"

#include <stdio.h>
#include <string.h>

/* An exiting task frees a 4 KiB page every 140 ns (1 GiB in 36 ms, measured on 6.18): so many
 * freeing tasks are behind a rate of pgfree. */
#define NS_PER_FREED_PAGE 140

/* What is learned keeps a margin: too small a yield would hide the next real storm. */
#define YIELD_MARGIN(share) ((share) + (share) / 4)

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t scale_by(uint64_t pages, uint32_t share)
{
    return pages / YIELD_ONE * share + pages % YIELD_ONE * share / YIELD_ONE;
}

uint32_t yield_get(struct yields *y, uint64_t id)
{
    for (unsigned i = 0; i < YIELDS_MAX; i++) {
        if (y->slot[i].id == id) {
            y->slot[i].used = ++y->uses;
            return y->slot[i].share;
        }
    }
    return YIELD_ONE;
}

static unsigned slot_for(const struct yields *y, uint64_t id)
{
    unsigned oldest = 0;

    for (unsigned i = 0; i < YIELDS_MAX; i++) {
        if (y->slot[i].id == id)
            return i;
        if (y->slot[i].used < y->slot[oldest].used)
            oldest = i;
    }
    return oldest;
}

void yield_learn(struct yields *y, uint64_t id, uint64_t announced, uint64_t freed)
{
    if (announced == 0)
        return;
    uint64_t share = freed >= announced ? YIELD_ONE : freed * YIELD_ONE / announced;
    unsigned i = slot_for(y, id);

    y->slot[i].id = id;
    y->slot[i].share = (uint32_t)min_u64(YIELD_MARGIN(share), YIELD_ONE);
    y->slot[i].used = ++y->uses;
}

/* The share of a group's memory that lies in huge pages: its own, else the machine's. */
static uint32_t huge_share(const struct exit_group *g, const struct vm_counters *vm)
{
    uint64_t anon = g->anon, thp = g->anon_thp;

    if (anon == GROUP_PAGES_UNKNOWN) {
        anon = vm->valid ? vm->nr_anon : 0;
        thp = vm->nr_anon_thp;
    }
    return anon > 0 ? (uint32_t)(min_u64(thp, anon) * 1024 / anon) : 0;
}

/* At most as many tasks count as could hold task_size each of what may really be freed: nine that
 * peaked at 512 MiB and hold 5 now are not nine. */
static uint32_t tasks_that_count(const struct params *p, const struct snapshot *s,
                                 const struct exit_group *g, uint64_t pages)
{
    uint64_t task_pages = p->task_size / s->host->page_size;
    uint64_t most = (pages + task_pages - 1) / (task_pages ? task_pages : 1);
    return (uint32_t)min_u64(g->tasks, most);
}

void estimate_storm(const struct params *p, const struct snapshot *s, struct yields *y,
                    bool trust_all, struct estimate *ret)
{
    uint64_t huge_pages = 0, most = 0;
    *ret = (struct estimate){0};

    for (uint32_t i = 0; i < s->n_groups; i++) {
        const struct exit_group *g = &s->groups[i];
        uint64_t total = min_u64(g->announced, g->anon);
        uint64_t bounded = g->tasks_total ? total / g->tasks_total * g->tasks : 0;
        uint32_t share = yield_get(y, g->id);
        uint64_t pages = scale_by(bounded, trust_all ? YIELD_ONE : share);

        ret->tasks += tasks_that_count(p, s, g, pages);
        ret->tasks_total += g->tasks_total;
        ret->announced += g->announced;
        ret->bounded_total += total;
        ret->bounded += bounded;
        ret->expected += scale_by(total, share);
        ret->pages += pages;
        huge_pages += pages / 1024 * huge_share(g, &s->vm);
        if (g->announced > most) {
            most = g->announced;
            snprintf(ret->group, sizeof(ret->group), "%s", g->name);
        }
    }
    ret->huge = ret->pages >= 1024 ? (uint32_t)min_u64(huge_pages / (ret->pages / 1024), 1024) : 0;
}

uint64_t vm_freed(const struct vm_counters *before, const struct vm_counters *now)
{
    if (!before->valid || !now->valid || now->pgfree < before->pgfree)
        return 0;
    return now->pgfree - before->pgfree;
}

void estimate_vmstat(const struct host_facts *host, uint64_t page_cost,
                     const struct vm_counters *before, const struct vm_counters *now,
                     struct estimate *ret)
{
    *ret = (struct estimate){0};
    if (!before->valid || !now->valid || now->at <= before->at || now->nr_anon >= before->nr_anon)
        return;

    /* Anonymous memory that went, bounded by what was freed: page cache that is dropped is no
     * exit, and neither is memory that went to swap. */
    uint64_t gone = min_u64(before->nr_anon - now->nr_anon, vm_freed(before, now));
    uint64_t busy = gone * NS_PER_FREED_PAGE / (now->at - before->at) + 1;

    /* A lock that is near its limit hides its queue: 3 tasks and 300 free at the same rate. */
    if (gone * page_cost >= (now->at - before->at) / 5 * 2)
        busy = host->cpus_online;
    ret->tasks = ret->tasks_total = (uint32_t)min_u64(busy, host->cpus_online);
    ret->announced = ret->bounded_total = ret->bounded = ret->pages = gone;
    ret->huge = now->nr_anon
                    ? (uint32_t)(min_u64(now->nr_anon_thp, now->nr_anon) * 1024 / now->nr_anon)
                    : 0;
    snprintf(ret->group, sizeof(ret->group), "seen in vmstat");
}
