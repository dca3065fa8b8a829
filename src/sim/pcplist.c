/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pcplist.h"

#include "macros.h"

#define PAGE_ALLOC_COSTLY_ORDER 3

static int scaled(const struct pcplist *l, const struct pcpstate *s)
{
    return l->batch << s->scale;
}

static bool floats(const struct pcpstate *s)
{
    return s->regime >= REGIME_R4;
}

void pcplist_set_limits(struct pcplist *l, const struct pcpstate *s, const struct pcp_limits *lim,
                        uint32_t batch)
{
    l->batch = (int)batch;
    l->high_min = (int)lim->high_min;
    l->high_max = (int)lim->high_max;
    if (!floats(s))
        l->high = l->high_max;
}

/* nr_pcp_free() of 5.14 to 6.6; R3 has the limit on free_factor of 52166607ecc9. */
static int nr_pcp_free_doubling(struct pcplist *l, const struct pcpstate *s, int high)
{
    int max_nr_free = high - l->batch;

    if (high < l->batch)
        return 1;
    int batch = l->batch << l->free_factor;
    if (batch < max_nr_free && (s->regime == REGIME_R2 || l->free_factor < (int)s->scale))
        l->free_factor++;
    return CLAMP(batch, l->batch, max_nr_free);
}

/* nr_pcp_high() and free_unref_page_commit() of the same. */
static int free_doubling(struct pcplist *l, const struct pcpstate *s, unsigned order)
{
    bool free_high = l->free_factor > 0 && order > 0 && order <= PAGE_ALLOC_COSTLY_ORDER;

    if (free_high) /* f26b3fa04611: the whole list, however long */
        return l->count;
    int high = s->reclaim_active ? MIN(l->batch << 2, l->high) : l->high;
    return l->count >= high ? nr_pcp_free_doubling(l, s, high) : 0;
}

/* nr_pcp_high() of 6.7. */
static int nr_pcp_high(struct pcplist *l, const struct pcpstate *s, bool free_high)
{
    int high = l->high = CLAMP(l->high, l->high_min, l->high_max);

    if (high == 0)
        return 0;
    if (free_high) {
        l->high = MAX(high - scaled(l, s), l->high_min);
        return 0;
    }
    int free_count = MAX(l->free_count, l->batch);
    if (s->reclaim_active) {
        l->high = MAX(high - free_count, l->high_min);
        return MIN(l->batch << 2, l->high);
    }
    if (l->high_min == l->high_max)
        return high;
    if (s->below_high) {
        l->high = MAX(high - free_count, l->high_min);
        high = MAX(l->count, l->high_min);
    } else if (l->count >= high) {
        int need_high = l->free_count + l->batch;
        if (l->high < need_high)
            l->high = CLAMP(need_high, l->high_min, l->high_max);
    }
    return high;
}

/* nr_pcp_free() of 6.7. */
static int nr_pcp_free(const struct pcplist *l, const struct pcpstate *s, int high, bool free_high)
{
    if (free_high)
        return MIN(l->count, scaled(l, s));
    if (high < l->batch)
        return 1;
    return CLAMP(l->free_count, l->batch, high - l->batch);
}

/* c544a952ba61, seen in 6.17: more must have been freed in a row. */
static int free_high_threshold(const struct pcplist *l, const struct pcpstate *s)
{
    return s->regime == REGIME_R5 ? l->batch + l->high_min / 2 : l->batch;
}

static int free_floating(struct pcplist *l, const struct pcpstate *s, unsigned order)
{
    bool high_order = order > 0 && order <= PAGE_ALLOC_COSTLY_ORDER;
    bool free_high =
        high_order && l->prev_free_high_order && l->free_count >= free_high_threshold(l, s);

    l->alloc_factor >>= 1;
    l->prev_free_high_order = high_order;
    if (l->free_count < scaled(l, s))
        l->free_count += 1 << order;
    int high = nr_pcp_high(l, s, free_high);
    return l->count >= high ? nr_pcp_free(l, s, high, free_high) : 0;
}

int pcplist_free(struct pcplist *l, const struct pcpstate *s, unsigned order)
{
    int n;

    l->count += 1 << order;
    if (floats(s))
        n = free_floating(l, s, order);
    else if (s->regime == REGIME_R1)
        n = l->count >= l->high ? l->batch : 0;
    else
        n = free_doubling(l, s, order);
    return MIN(n, l->count);
}

int pcplist_room(const struct pcplist *l, const struct pcpstate *s)
{
    int limit = l->high;

    if (floats(s)) {
        limit = CLAMP(limit, l->high_min, l->high_max);
        /* Here nr_pcp_high() moves high with each page. */
        if ((s->reclaim_active || s->below_high) && limit > l->high_min)
            return 0;
    }
    if (s->reclaim_active && s->regime != REGIME_R1)
        limit = MIN(l->batch << 2, limit);
    return MAX(limit - 1 - l->count, 0);
}

void pcplist_free_many(struct pcplist *l, const struct pcpstate *s, int n)
{
    if (n <= 0)
        return;
    l->count += n;
    if (!floats(s))
        return;
    l->alloc_factor = n < 8 ? l->alloc_factor >> n : 0;
    l->prev_free_high_order = false;
    if (l->free_count < scaled(l, s))
        l->free_count = MIN(l->free_count + n, scaled(l, s));
    l->high = CLAMP(l->high, l->high_min, l->high_max);
}

void pcplist_take(struct pcplist *l, int n, unsigned order)
{
    l->count -= n << order;
    l->free_factor = n < 31 ? l->free_factor >> n : 0;
    l->free_count = n < 31 ? l->free_count >> n : 0;
}

/* nr_pcp_alloc() of 6.7, order 0. */
static int nr_pcp_alloc(struct pcplist *l, const struct pcpstate *s, unsigned order)
{
    int high = l->high = CLAMP(l->high, l->high_min, l->high_max);

    if (high < l->batch)
        return 1;
    int batch = order ? l->batch : l->batch << l->alloc_factor;
    if (l->high_min != l->high_max && !s->below_high)
        high = l->high = MIN(high + batch, l->high_max);
    if (order)
        return batch;
    int max_nr_alloc = MAX(high - l->count - l->batch, l->batch);
    if (batch <= max_nr_alloc && l->alloc_factor < (int)s->scale)
        l->alloc_factor++;
    return MIN(batch, max_nr_alloc);
}

int pcplist_refill(struct pcplist *l, const struct pcpstate *s, unsigned order)
{
    int batch = floats(s) ? nr_pcp_alloc(l, s, order) : l->batch;
    return batch > 1 ? MAX(batch >> order, order ? 2 : 1) : 1;
}

int pcplist_decay(struct pcplist *l, const struct pcpstate *s)
{
    if (!floats(s))
        return 0;
    if (l->high > l->high_min) {
        int high = MAX(l->count - scaled(l, s), l->high - (l->high >> 3));
        l->high = MAX(high, l->high_min);
    }
    return MAX(l->count - l->high, 0);
}
