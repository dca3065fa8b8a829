/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hold.h"

#include "batchcost.h"

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

uint32_t hold_on(const struct host_facts *host, const struct zone_table *t, int node,
                 enum pcp_path path, const struct knob_values *v)
{
    uint32_t b = pcp_hold(host, t, node, path, pcp_fraction(v), pcp_scale(host, v));

    return b > 0 ? b : pcp_hold(host, t, -1, path, pcp_fraction(v), pcp_scale(host, v));
}

struct hold_aim hold_aim(const struct params *p, enum pcp_path path, uint32_t want, uint32_t before)
{
    uint32_t least = batch_least(before, 100 * p->max_loss);

    return (struct hold_aim){path, want > least ? want : least, least};
}

/* Only ever shortens holds: what somebody chose is a limit, here and below. */
uint32_t hold_by_scale(const struct params *p, const struct host_facts *host,
                       const struct zone_table *t, const struct hold_aim *aim, uint32_t hold,
                       struct knob_values *v)
{
    int hi = min_int(v->value[KNOB_SCALE], p->knob_hi[KNOB_SCALE]), scale;
    uint32_t shorter;

    if (pcp_scale_for(host, t, aim->path, pcp_fraction(v), aim->want, p->knob_lo[KNOB_SCALE], hi,
                      &scale, &shorter) < 0)
        return hold;
    if (shorter < aim->least)
        shorter = pcp_hold(host, t, -1, aim->path, pcp_fraction(v), (unsigned)++scale);
    if (scale > hi || shorter >= hold)
        return hold;
    v->value[KNOB_SCALE] = scale;
    return shorter;
}

uint32_t hold_by_fraction(const struct params *p, const struct host_facts *host,
                          const struct zone_table *t, const struct hold_aim *aim, uint32_t hold,
                          struct knob_values *v)
{
    int lo = max_int(v->value[KNOB_FRACTION], p->knob_lo[KNOB_FRACTION]), fraction;
    uint32_t shorter;

    if (pcp_fraction_for(host, t, aim->path, pcp_scale(host, v), aim->want, lo,
                         p->knob_hi[KNOB_FRACTION], &fraction, &shorter) < 0)
        return hold;
    if (shorter < aim->least)
        shorter = pcp_hold(host, t, -1, aim->path, --fraction, pcp_scale(host, v));
    if (fraction < lo || shorter >= hold)
        return hold;
    v->value[KNOB_FRACTION] = fraction;
    return shorter;
}
