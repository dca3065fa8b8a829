/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "situation.h"

#include "hold.h"

struct situation situation_now(const struct recommend_input *in, const struct knob_values *v)
{
    const struct host_facts *h = in->host;
    struct situation worst = {.b_alloc = hold_on(h, in->zones, -1, PCP_ALLOC, v)};
    bool by_node = h->n_nodes > 1;

    for (uint32_t k = 0; k < (by_node ? h->n_nodes : 1); k++) {
        uint32_t cpus = by_node ? h->node_cpus[k] : h->cpus_online;
        uint32_t n = in->seen.storms > 0 && in->seen.n_max < cpus ? in->seen.n_max : cpus;
        uint32_t b = hold_on(h, in->zones, by_node ? (int)k : -1, PCP_FREE, v);
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

bool situation_choose(const struct recommend_input *in, const struct situation *now,
                      const struct knob_values *base, struct knob_values *ret)
{
    uint64_t unit = (uint64_t)now->n * in->params->page_cost;
    uint64_t most = unit > 0 ? in->params->target_wait / unit : UINT32_MAX;
    struct hold_aim aim =
        hold_aim(in->params, PCP_FREE, most > UINT32_MAX ? UINT32_MAX : (uint32_t)most, now->b);
    uint32_t hold = now->b;

    *ret = *base;
    if (base->has[KNOB_SCALE])
        hold = hold_by_scale(in->params, in->host, in->zones, &aim, hold, ret);
    if (hold > aim.want && base->has[KNOB_FRACTION])
        hold = hold_by_fraction(in->params, in->host, in->zones, &aim, hold, ret);
    return hold < now->b;
}
