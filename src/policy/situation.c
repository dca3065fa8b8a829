/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "situation.h"

/* As in pcp_free_hold(): a tiny zone at its floor says nothing of a storm. */
#define SHARE_DIVISOR 64

bool situation_zone(const struct recommend_input *in, uint32_t index, struct pcp_zone *ret)
{
    const struct zone_table *t = in->zones;
    uint64_t node = 0;

    for (uint32_t i = 0; i < t->n_zones; i++) {
        if (t->zones[i].node == t->zones[index].node)
            node += t->zones[i].managed;
    }
    return pcp_zone_of(in->host, t, index, ret) && ret->managed >= node / SHARE_DIVISOR;
}

static uint32_t alloc_hold(const struct recommend_input *in, const struct knob_values *v)
{
    uint32_t hold = 0;

    for (uint32_t i = 0; i < in->zones->n_zones; i++) {
        struct pcp_zone z;
        if (!situation_zone(in, i, &z))
            continue;
        uint32_t h =
            pcp_limits(in->host->regime, &z, pcp_fraction(v), pcp_scale(in->host, v)).alloc_hold;
        hold = h > hold ? h : hold;
    }
    return hold;
}

struct situation situation_now(const struct recommend_input *in, const struct knob_values *v)
{
    const struct host_facts *h = in->host;
    struct situation worst = {.b_alloc = alloc_hold(in, v)};
    bool by_node = h->n_nodes > 1;

    for (uint32_t k = 0; k < (by_node ? h->n_nodes : 1); k++) {
        uint32_t cpus = by_node ? h->node_cpus[k] : h->cpus_online;
        uint32_t n = in->seen.storms > 0 && in->seen.n_max < cpus ? in->seen.n_max : cpus;
        int fraction = pcp_fraction(v);
        unsigned scale = pcp_scale(h, v);
        uint32_t b = pcp_free_hold(h, in->zones, by_node ? (int)k : -1, fraction, scale);
        if (b == 0) /* no memory of its own: its tasks free into other nodes' zones */
            b = pcp_free_hold(h, in->zones, -1, fraction, scale);
        uint64_t w = (uint64_t)n * in->params->page_cost * b;
        if (w > worst.w || worst.n == 0)
            worst = (struct situation){n, cpus, b, worst.b_alloc, w};
    }
    return worst;
}

struct situation situation_in(const struct recommend_input *in, enum regime regime)
{
    struct recommend_input other = *in;
    struct host_facts h = *in->host;

    h.regime = regime;
    other.host = &h;
    return situation_now(&other, &in->knobs);
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

/* Both take over a value that makes holds shorter than `hold`, and return the hold that results. */

static uint32_t choose_scale(const struct recommend_input *in, uint32_t want, uint32_t hold,
                             struct knob_values *v)
{
    const struct params *p = in->params;
    int hi = min_int(v->value[KNOB_SCALE], p->knob_hi[KNOB_SCALE]), scale;
    uint32_t shorter;

    if (pcp_scale_for(in->host, in->zones, pcp_fraction(v), want, p->knob_lo[KNOB_SCALE], hi,
                      &scale, &shorter) < 0 ||
        shorter >= hold)
        return hold;
    v->value[KNOB_SCALE] = scale;
    return shorter;
}

static uint32_t choose_fraction(const struct recommend_input *in, uint32_t want, uint32_t hold,
                                struct knob_values *v)
{
    const struct params *p = in->params;
    int lo = max_int(v->value[KNOB_FRACTION], p->knob_lo[KNOB_FRACTION]), fraction;
    uint32_t shorter;

    if (pcp_fraction_for(in->host, in->zones, pcp_scale(in->host, v), want, lo,
                         p->knob_hi[KNOB_FRACTION], &fraction, &shorter) < 0 ||
        shorter >= hold)
        return hold;
    v->value[KNOB_FRACTION] = fraction;
    return shorter;
}

bool situation_choose(const struct recommend_input *in, const struct situation *now,
                      const struct knob_values *base, struct knob_values *ret)
{
    uint64_t unit = (uint64_t)now->n * in->params->page_cost;
    uint64_t most = unit > 0 ? in->params->target_wait / unit : UINT32_MAX;
    uint32_t want = most > UINT32_MAX ? UINT32_MAX : (uint32_t)most, hold = now->b;

    *ret = *base;
    if (base->has[KNOB_SCALE])
        hold = choose_scale(in, want, hold, ret);
    if (hold > want && base->has[KNOB_FRACTION])
        hold = choose_fraction(in, want, hold, ret);
    return hold < now->b;
}
