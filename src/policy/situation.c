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

/* W with the knobs at v, for what was seen or else for every CPU of a node. b is 0 where no
 * zone's lists are known. */
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

/* The values that the daemon would write for this situation, the scale first as it does. False:
 * no knob makes a hold shorter. */
bool situation_choose(const struct recommend_input *in, const struct situation *now,
                      const struct knob_values *base, struct knob_values *ret)
{
    const struct params *p = in->params;
    uint64_t unit = (uint64_t)now->n * p->page_cost;
    uint64_t most = unit > 0 ? p->target_wait / unit : UINT32_MAX;
    uint32_t want = most > UINT32_MAX ? UINT32_MAX : (uint32_t)most, hold = now->b, shorter;
    int value = 0;

    *ret = *base;
    if (base->has[KNOB_SCALE]) {
        int hi = base->value[KNOB_SCALE] < p->knob_hi[KNOB_SCALE] ? base->value[KNOB_SCALE]
                                                                  : p->knob_hi[KNOB_SCALE];
        if (pcp_scale_for(in->host, in->zones, pcp_fraction(base), want, p->knob_lo[KNOB_SCALE], hi,
                          &value, &shorter) == 0 &&
            shorter < hold) {
            ret->value[KNOB_SCALE] = value;
            hold = shorter;
        }
    }
    if (hold > want && base->has[KNOB_FRACTION]) {
        int lo = base->value[KNOB_FRACTION] > p->knob_lo[KNOB_FRACTION] ? base->value[KNOB_FRACTION]
                                                                        : p->knob_lo[KNOB_FRACTION];
        if (pcp_fraction_for(in->host, in->zones, pcp_scale(in->host, ret), want, lo,
                             p->knob_hi[KNOB_FRACTION], &value, &shorter) == 0 &&
            shorter < hold) {
            ret->value[KNOB_FRACTION] = value;
            hold = shorter;
        }
    }
    return hold < now->b;
}
