/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>

static _printf_(6, 7) struct step *add(struct account *a, const char *name, const char *formula,
                                       const char *function, uint32_t value, const char *fmt, ...)
{
    struct step *s = &a->steps[a->n_steps++];
    va_list ap;

    *s = (struct step){.name = name, .formula = formula, .function = function, .value = value};
    va_start(ap, fmt);
    vsnprintf(s->filled, sizeof(s->filled), fmt, ap);
    va_end(ap);
    return s;
}

/* The range of a field of the zone's lists. */
static void see(const struct machine *m, const struct account *a, size_t field, struct step *s)
{
    const struct zone_list *lists = &m->zones.lists[a->zone->first_list];

    s->has_seen = true;
    s->seen_min = UINT32_MAX;
    for (uint32_t i = 0; i < a->zone->n_lists; i++) {
        uint32_t v = *(const uint32_t *)((const char *)&lists[i] + field);
        s->seen_min = MIN(s->seen_min, v);
        s->seen_max = MAX(s->seen_max, v);
    }
}

static void account_batch(const struct machine *m, struct account *a)
{
    uint32_t page = m->host.page_size;
    uint64_t x = MIN(a->z.managed / 1024, (uint64_t)(1 << 20) / page) / 4;

    x = MAX(x, UINT64_C(1));
    add(a, "x", "min(managed / 1024, 1M / page) / 4, at least 1", "zone_batchsize()", (uint32_t)x,
        "min(%" PRIu64 " / 1024, 1048576 / %u) / 4", a->z.managed, page);
    struct step *s = add(a, "batch", "rounddown_pow2(x + x / 2) - 1, at least 1",
                         "zone_batchsize()", pcp_batchsize(a->z.managed, page),
                         "rounddown_pow2(%" PRIu64 " + %" PRIu64 " / 2) - 1", x, x);
    see(m, a, offsetof(struct zone_list, batch), s);
}

static void account_high(const struct machine *m, int fraction, const struct pcp_limits *l,
                         struct account *a)
{
    bool floats = m->host.regime >= REGIME_R4;
    const char *name = floats ? "high_min" : "high";
    struct step *s;

    if (m->host.regime == REGIME_R1)
        s = add(a, name, "6 * batch", "pageset_set_batch()", l->high_min, "6 * %u", a->z.batch);
    else if (fraction == 0)
        s = add(a, name, "max(low / cpus, 4 * batch)", "zone_highsize()", l->high_min,
                "max(%" PRIu64 " / %u, 4 * %u)", a->z.low, a->z.cpus, a->z.batch);
    else
        s = add(a, name, "max(managed / fraction / cpus, 4 * batch)", "zone_highsize()",
                l->high_min, "max(%" PRIu64 " / %d / %u, 4 * %u)", a->z.managed, fraction,
                a->z.cpus, a->z.batch);
    if (!floats)
        see(m, a, offsetof(struct zone_list, high), s);
    else if (a->zone->has_high_minmax)
        see(m, a, offsetof(struct zone_list, high_min), s);
    if (!floats)
        return;
    if (fraction == 0)
        s = add(a, "high_max", "max(managed / 8 / cpus, 4 * batch)", "zone_highsize()", l->high_max,
                "max(%" PRIu64 " / 8 / %u, 4 * %u)", a->z.managed, a->z.cpus, a->z.batch);
    else
        s = add(a, "high_max", "high_min, since a fraction switches auto-tuning off",
                "zone_set_pageset_high_and_batch()", l->high_max, "%u", l->high_min);
    if (a->zone->has_high_minmax)
        see(m, a, offsetof(struct zone_list, high_max), s);
}

static const char min_of_both[] = "min(high_max - batch, batch << scale)";

static void account_free(const struct machine *m, unsigned scale, const struct pcp_limits *l,
                         struct account *a)
{
    switch (m->host.regime) {
    case REGIME_R2:
        add(a, "b_free", "high - batch", "nr_pcp_free(), free_pcppages_bulk()", l->free_hold,
            "%u - %u", l->high_max, a->z.batch);
        break;
    case REGIME_R3:
        add(a, "b_free", "min(high - batch, batch << scale)", "nr_pcp_free(), free_pcppages_bulk()",
            l->free_hold, "min(%u - %u, %u << %u)", l->high_max, a->z.batch, a->z.batch, scale);
        break;
    case REGIME_R4:
    case REGIME_R6:
        add(a, "b_free", min_of_both, "nr_pcp_free(), free_pcppages_bulk()", l->free_hold,
            "min(%u - %u, %u << %u)", l->high_max, a->z.batch, a->z.batch, scale);
        break;
    case REGIME_R5:
        add(a, "b_free", "batch: zone->lock is dropped after each", "free_frozen_page_commit()",
            l->free_hold, "%u", a->z.batch);
        break;
    case REGIME_UNKNOWN:
    case REGIME_R1:
    case REGIME_MAX:
        add(a, "b_free", "batch", "free_pcppages_bulk()", l->free_hold, "%u", a->z.batch);
        break;
    }
}

static void account_others(const struct machine *m, unsigned scale, const struct pcp_limits *l,
                           struct account *a)
{
    if (m->host.regime >= REGIME_R4)
        add(a, "b_alloc", min_of_both, "nr_pcp_alloc(), rmqueue_bulk()", l->alloc_hold,
            "min(%u - %u, %u << %u)", l->high_max, a->z.batch, a->z.batch, scale);
    else
        add(a, "b_alloc", "batch", "rmqueue_bulk()", l->alloc_hold, "%u", a->z.batch);
    if (l->drain_hold == UINT32_MAX)
        add(a, "b_drain", "count, the whole list", "drain_pages_zone()", l->drain_hold, "count");
    else
        add(a, "b_drain", "batch << scale, at most", "drain_pages_zone()", l->drain_hold,
            "%u << %u", a->z.batch, scale);
}

/* What the fraction can do at most: high never goes below 4 batches. */
static void account_floor(const struct machine *m, unsigned scale, struct account *a,
                          struct pcp_limits *ret)
{
    uint64_t per = (4 * (uint64_t)a->z.batch + 1) * a->z.cpus;
    uint64_t least = MAX(a->z.managed / per + 1, UINT64_C(8));
    int fraction = (int)MIN(least, (uint64_t)INT_MAX);

    *ret = pcp_limits(m->host.regime, &a->z, fraction, scale);
    add(a, "floor_fraction", "managed / ((4 * batch + 1) * cpus) + 1, at least 8",
        "zone_highsize(), solved", (uint32_t)fraction, "%" PRIu64 " / ((4 * %u + 1) * %u) + 1",
        a->z.managed, a->z.batch, a->z.cpus);
    if (m->host.regime == REGIME_R5)
        add(a, "floor_free", "batch, as before", "free_frozen_page_commit()", ret->free_hold, "%u",
            a->z.batch);
    else if (m->host.regime == REGIME_R2)
        add(a, "floor_free", "4 * batch - batch", "free_pcppages_bulk()", ret->free_hold,
            "4 * %u - %u", a->z.batch, a->z.batch);
    else
        add(a, "floor_free", "min(4 * batch - batch, batch << scale)", "free_pcppages_bulk()",
            ret->free_hold, "min(4 * %u - %u, %u << %u)", a->z.batch, a->z.batch, a->z.batch,
            scale);
    if (m->host.regime >= REGIME_R4)
        add(a, "floor_alloc", "min(4 * batch - batch, batch << scale)", "rmqueue_bulk()",
            ret->alloc_hold, "min(4 * %u - %u, %u << %u)", a->z.batch, a->z.batch, a->z.batch,
            scale);
}

static void add_wait(struct account *a, uint64_t c, uint32_t n, const struct pcp_limits *now,
                     const struct pcp_limits *floor, const struct pcp_limits *scale0)
{
    a->waits[a->n_waits].n = n;
    a->waits[a->n_waits].now = n * c * now->free_hold;
    a->waits[a->n_waits].alloc = n * c * now->alloc_hold;
    a->waits[a->n_waits].floor = n * c * floor->free_hold;
    a->waits[a->n_waits++].scale0 = n * c * scale0->free_hold;
}

bool account_zone(const struct machine *m, const struct params *p, uint32_t index,
                  struct account *ret)
{
    int fraction = pcp_fraction(&m->knobs);
    unsigned scale = pcp_scale(&m->host, &m->knobs);
    struct account a = {.zone = &m->zones.zones[index],
                        .has_floor = m->host.regime >= REGIME_R2 && m->knobs.has[KNOB_FRACTION],
                        .has_scale = m->knobs.has[KNOB_SCALE]};
    struct pcp_limits floor = {0};

    if (!pcp_zone_of(&m->host, &m->zones, index, &a.z))
        return false;
    struct pcp_limits now = pcp_limits(m->host.regime, &a.z, fraction, scale);
    struct pcp_limits scale0 = pcp_limits(m->host.regime, &a.z, fraction, 0);
    account_batch(m, &a);
    if (m->host.regime == REGIME_UNKNOWN) {
        *ret = a;
        return true;
    }
    account_high(m, fraction, &now, &a);
    account_free(m, scale, &now, &a);
    account_others(m, scale, &now, &a);
    if (a.has_floor)
        account_floor(m, scale, &a, &floor);
    uint32_t n = 1;
    for (; n < a.z.cpus && a.n_waits < WAITS_MAX - 1; n *= 2)
        add_wait(&a, p->page_cost, n, &now, &floor, &scale0);
    add_wait(&a, p->page_cost, a.z.cpus, &now, &floor, &scale0);
    *ret = a;
    return true;
}
