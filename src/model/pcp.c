/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pcp.h"

#include <errno.h>

/* include/linux/mmzone.h: MIN_PERCPU_PAGELIST_HIGH_FRACTION, also the divisor of high_max. */
#define MIN_FRACTION 8

static uint32_t min_u32(uint64_t a, uint64_t b)
{
    uint64_t m = a < b ? a : b;
    return m > UINT32_MAX ? UINT32_MAX : (uint32_t)m;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint32_t pcp_batchsize(uint64_t managed, uint32_t page_size)
{
    /* zone_batchsize(): 4.19 to 6.17 write min(P / 1024, 1M / page) / 4, 7.x min(P / 4096,
     * 256K / page): the same but for zones of under 8192 pages, where both end at 1. */
    uint64_t x = min_u32(managed / 1024, (1024 * 1024) / page_size) / 4;
    if (x < 1)
        x = 1;
    uint64_t y = x + x / 2;
    uint32_t pow2 = 1;
    while ((uint64_t)pow2 * 2 <= y)
        pow2 *= 2;
    return pow2 - 1 < 1 ? 1 : pow2 - 1;
}

int pcp_fraction(const struct knob_values *v)
{
    return v->has[KNOB_FRACTION] ? v->value[KNOB_FRACTION] : 0;
}

unsigned pcp_scale(const struct host_facts *host, const struct knob_values *v)
{
    return v->has[KNOB_SCALE] ? (unsigned)v->value[KNOB_SCALE] : host->scale;
}

/* zone_highsize(): fraction 0 takes the low watermark instead of a share of the zone. */
static uint32_t highsize(const struct pcp_zone *z, int fraction)
{
    uint64_t total = fraction ? z->managed / (uint64_t)fraction : z->low;
    return min_u32(max_u64(total / z->cpus, 4 * (uint64_t)z->batch), UINT32_MAX);
}

static void high_limits(enum regime regime, const struct pcp_zone *z, int fraction,
                        struct pcp_limits *l)
{
    if (regime == REGIME_R1) {
        /* pageset_set_batch() */
        l->high_min = l->high_max = 6 * z->batch;
        return;
    }
    l->high_min = highsize(z, fraction);
    bool floats = regime >= REGIME_R4 && fraction == 0;
    l->high_max = floats ? highsize(z, MIN_FRACTION) : l->high_min;
}

/* free_pcppages_bulk() gets clamp(..., batch, high - batch) pages; high is at least 4 batches. */
static uint32_t free_hold(enum regime regime, const struct pcp_zone *z, const struct pcp_limits *l,
                          uint64_t scaled)
{
    uint32_t room = l->high_max > 2 * z->batch ? l->high_max - z->batch : z->batch;

    switch (regime) {
    case REGIME_R2:
        return room;
    case REGIME_R3:
    case REGIME_R4:
    case REGIME_R6:
        return min_u32(room, scaled);
    case REGIME_UNKNOWN:
    case REGIME_R1:
    case REGIME_R5: /* free_frozen_page_commit() drops the lock after each batch */
    case REGIME_MAX:
        break;
    }
    return z->batch;
}

/* nr_pcp_alloc(): up to batch << alloc_factor, as far as the empty list has room for it. */
static uint32_t alloc_hold(enum regime regime, const struct pcp_zone *z, const struct pcp_limits *l,
                           uint64_t scaled)
{
    if (regime < REGIME_R4)
        return z->batch;
    uint32_t room = l->high_max > 2 * z->batch ? l->high_max - z->batch : z->batch;
    return min_u32(room, scaled);
}

struct pcp_limits pcp_limits(enum regime regime, const struct pcp_zone *z, int fraction,
                             unsigned scale)
{
    uint64_t scaled = (uint64_t)z->batch << (scale > 6 ? 6 : scale);
    struct pcp_limits l = {.drain_hold = UINT32_MAX};

    high_limits(regime, z, fraction, &l);
    l.free_hold = free_hold(regime, z, &l, scaled);
    l.alloc_hold = alloc_hold(regime, z, &l, scaled);
    if (regime >= REGIME_R3) /* 55f77df7d715 bounds drain_pages_zone() */
        l.drain_hold = min_u32(scaled, UINT32_MAX);
    return l;
}

bool pcp_zone_of(const struct host_facts *host, const struct zone_table *t, uint32_t index,
                 struct pcp_zone *ret)
{
    const struct zone *z = &t->zones[index];
    if (!zone_populated(z))
        return false;

    const struct zone_list *first = &t->lists[z->first_list];
    /* zone_pcp_disable(): high 0 and batch 1 on every CPU; a CPU that has never used its list
     * shows high 0 too (R4 and later), but with its real batch. */
    if (first->batch < 1 || (first->batch == 1 && first->high == 0 && first->high_max == 0))
        return false;

    uint32_t cpus = host_zone_cpus(host, z->node);
    *ret = (struct pcp_zone){
        .managed = z->managed,
        .low = z->low,
        .cpus = cpus > 0 ? cpus : 1,
        .batch = first->batch,
    };
    return true;
}

#define SHARE_DIVISOR 64

static uint64_t memory_of(const struct zone_table *t, int node)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->n_zones; i++) {
        if (t->zones[i].node == node)
            sum += t->zones[i].managed;
    }
    return sum;
}

bool pcp_zone_counts(const struct host_facts *host, const struct zone_table *t, uint32_t index,
                     struct pcp_zone *ret)
{
    return pcp_zone_of(host, t, index, ret) &&
           ret->managed >= memory_of(t, t->zones[index].node) / SHARE_DIVISOR;
}

uint32_t pcp_hold(const struct host_facts *host, const struct zone_table *t, int node,
                  enum pcp_path path, int fraction, unsigned scale)
{
    uint32_t hold = 0;

    for (uint32_t i = 0; i < t->n_zones; i++) {
        struct pcp_zone p;
        if ((node >= 0 && t->zones[i].node != node) || !pcp_zone_counts(host, t, i, &p))
            continue;
        struct pcp_limits l = pcp_limits(host->regime, &p, fraction, scale);
        uint32_t h = path == PCP_FREE ? l.free_hold : l.alloc_hold;
        hold = h > hold ? h : hold;
    }
    return hold;
}

struct search {
    const struct host_facts *host;
    const struct zone_table *t;
    enum pcp_path path;
    unsigned scale;
};

static uint64_t hold_at(const struct search *s, int fraction)
{
    return pcp_hold(s->host, s->t, -1, s->path, fraction, s->scale);
}

static uint64_t capacity_at(const struct search *s, int fraction)
{
    return pcp_capacity(s->host, s->t, fraction, s->scale);
}

/* The smallest fraction in [lo, hi] at which `at` is at most `most`, or as little as it gets. It
 * never grows with the fraction, so that is found by halving. */
static int smallest_fraction(const struct search *s,
                             uint64_t (*at)(const struct search *s, int fraction), uint64_t most,
                             int lo, int hi, int *ret_fraction, uint64_t *ret)
{
    if (lo > hi || lo < MIN_FRACTION)
        return -EINVAL;
    uint64_t best = at(s, hi);
    if (best == 0)
        return -EINVAL;
    uint64_t goal = max_u64(most, best);
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (at(s, mid) <= goal)
            hi = mid;
        else
            lo = mid + 1;
    }
    *ret_fraction = lo;
    *ret = at(s, lo);
    return 0;
}

int pcp_fraction_for(const struct host_facts *host, const struct zone_table *t, enum pcp_path path,
                     unsigned scale, uint32_t max_hold, int lo, int hi, int *ret_fraction,
                     uint32_t *ret_hold)
{
    const struct search s = {host, t, path, scale};
    uint64_t hold;
    int r = smallest_fraction(&s, hold_at, max_hold, lo, hi, ret_fraction, &hold);

    if (r >= 0)
        *ret_hold = (uint32_t)hold;
    return r;
}

int pcp_scale_for(const struct host_facts *host, const struct zone_table *t, enum pcp_path path,
                  int fraction, uint32_t max_hold, int lo, int hi, int *ret_scale,
                  uint32_t *ret_hold)
{
    if (host->regime != REGIME_R6)
        return -EOPNOTSUPP;
    if (lo > hi || lo < 0)
        return -EINVAL;
    int scale = hi;
    while (scale > lo && pcp_hold(host, t, -1, path, fraction, (unsigned)scale) > max_hold)
        scale--;
    uint32_t hold = pcp_hold(host, t, -1, path, fraction, (unsigned)scale);
    if (hold == 0)
        return -EINVAL;
    *ret_scale = scale;
    *ret_hold = hold;
    return 0;
}

uint64_t pcp_capacity(const struct host_facts *host, const struct zone_table *t, int fraction,
                      unsigned scale)
{
    uint64_t pages = 0;

    for (uint32_t i = 0; i < t->n_zones; i++) {
        struct pcp_zone p;
        if (pcp_zone_of(host, t, i, &p))
            pages += (uint64_t)pcp_limits(host->regime, &p, fraction, scale).high_max *
                     t->zones[i].n_lists;
    }
    return pages;
}

int pcp_fraction_for_capacity(const struct host_facts *host, const struct zone_table *t,
                              unsigned scale, uint64_t max_pages, int lo, int hi, int *ret_fraction,
                              uint64_t *ret_pages)
{
    const struct search s = {.host = host, .t = t, .scale = scale};

    return smallest_fraction(&s, capacity_at, max_pages, lo, hi, ret_fraction, ret_pages);
}

uint64_t pcp_excess(const struct host_facts *host, const struct zone_table *t, int fraction,
                    unsigned scale, uint64_t *ret_longest)
{
    uint64_t excess = 0, longest = 0;

    for (uint32_t i = 0; i < t->n_zones; i++) {
        struct pcp_zone p;
        if (!pcp_zone_of(host, t, i, &p))
            continue;
        uint32_t high = pcp_limits(host->regime, &p, fraction, scale).high_max;
        for (uint32_t k = 0; k < t->zones[i].n_lists; k++) {
            uint32_t count = t->lists[t->zones[i].first_list + k].count;
            uint64_t above = count > high ? count - high : 0;
            excess += above;
            longest = max_u64(longest, above);
        }
    }
    if (ret_longest)
        *ret_longest = longest;
    return excess;
}
