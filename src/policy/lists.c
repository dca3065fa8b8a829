/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lists.h"

#include <stddef.h>

#include "pcp.h"

/* By how much the lists of all CPUs have grown since zoneinfo was read, without its lock: pages
 * that were freed and not allocated again went into the lists where nr_free_pages, which does not
 * count them, has not grown by as much (exact to ten pages in 270,000 on 6.18). */
static int64_t lists_growth(const struct snapshot *s)
{
    const struct vm_counters *then = &s->zones_vm, *now = &s->vm;

    if (!then->valid || !now->valid || now->at < then->at)
        return 0;
    uint64_t freed = now->pgfree - then->pgfree, taken = now->pgalloc - then->pgalloc;
    return (int64_t)(freed - taken - (now->nr_free - then->nr_free));
}

static uint64_t grown(uint64_t then, int64_t growth)
{
    uint64_t less = -(uint64_t)growth;

    if (growth < 0)
        return less < then ? then - less : 0;
    return then + (uint64_t)growth;
}

uint64_t lists_hold(const struct snapshot *s)
{
    uint64_t then = 0;

    for (uint32_t i = 0; i < s->zones->n_lists; i++)
        then += s->zones->lists[i].count;
    return grown(then, lists_growth(s));
}

uint64_t lists_excess(const struct snapshot *s, const struct knob_values *v)
{
    uint64_t then =
        pcp_excess(s->host, s->zones, v->value[KNOB_FRACTION], pcp_scale(s->host, v), NULL);
    return grown(then, lists_growth(s));
}
