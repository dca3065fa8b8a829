/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "choose.h"

#include "pcp.h"

/* Excess below this share of the storm is drained in passing and stalls nobody for long. */
#define EXCESS_SHARE 8

/* A huge page is one list entry for 512 base pages (kernel.md section 2, experiments 21). */
#define HUGE_ENTRY 512

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static unsigned scale_of(const struct host_facts *host, const struct knob_values *v)
{
    return v->has[KNOB_SCALE] ? (unsigned)v->value[KNOB_SCALE] : host->scale;
}

static int fraction_of(const struct knob_values *v)
{
    return v->has[KNOB_FRACTION] ? v->value[KNOB_FRACTION] : 0;
}

/* W = N c b, with b in list entries: a share of `huge` (in 1/1024) is 512 pages an entry. */
static uint64_t wait_for(const struct params *p, uint32_t n, uint32_t b, uint32_t huge)
{
    uint64_t w = (uint64_t)n * p->page_cost * b;
    uint64_t saved = w / 1024 * huge;
    return w - saved + saved / HUGE_ENTRY;
}

/* The largest b with N c b at most target. */
static uint32_t hold_for(const struct params *p, uint32_t n, uint32_t huge)
{
    uint64_t unit = wait_for(p, n, 1024, huge);
    uint64_t b = unit ? p->target_wait * 1024 / unit : UINT32_MAX;
    return b > UINT32_MAX ? UINT32_MAX : (uint32_t)b;
}

void assess_threat(const struct params *p, const struct snapshot *s, const struct estimate *est,
                   const struct knob_values *knobs, struct threat *ret)
{
    const struct host_facts *h = s->host;
    unsigned scale = scale_of(h, knobs);
    int fraction = fraction_of(knobs);
    bool by_node = s->signals[SIGNAL_TASKSTATS] && h->n_nodes > 1;

    *ret = (struct threat){.node = -1};
    for (uint32_t k = 0; k < (by_node ? h->n_nodes : 1); k++) {
        uint32_t cpus = by_node ? h->node_cpus[k] : h->cpus_online;
        uint32_t here = by_node ? min_u32(s->node_tasks[k], est->tasks) : est->tasks;
        uint32_t n = min_u32(here, cpus);
        uint32_t b = pcp_free_hold(h, s->zones, by_node ? (int)k : -1, fraction, scale);
        if (b == 0) /* no memory of its own: its tasks free into other nodes' zones */
            b = pcp_free_hold(h, s->zones, -1, fraction, scale);
        uint64_t w = wait_for(p, n, b, est->huge);
        if (w > ret->w || ret->b == 0)
            *ret = (struct threat){
                .node = by_node ? (int)k : -1, .n = n, .n_max = cpus, .b = b, .w = w};
    }
}

/* Scale first: it has neither the drain nor the loss of learned lists that the fraction costs
 * (experiments 17). Returns the hold that results. */
static uint32_t choose_scale(const struct params *p, const struct snapshot *s, uint32_t want,
                             struct knob_values *v)
{
    int scale = v->value[KNOB_SCALE];
    uint32_t hold;

    if (pcp_scale_for(s->host, s->zones, fraction_of(v), want, p->knob_lo[KNOB_SCALE],
                      scale < p->knob_hi[KNOB_SCALE] ? scale : p->knob_hi[KNOB_SCALE], &scale,
                      &hold) < 0)
        return UINT32_MAX;
    v->value[KNOB_SCALE] = scale;
    return hold;
}

/* Only ever shortens the lists: a fraction that somebody chose is a lower limit here. */
static uint32_t choose_fraction(const struct params *p, const struct snapshot *s, uint32_t want,
                                struct knob_values *v)
{
    int lo = v->value[KNOB_FRACTION] > p->knob_lo[KNOB_FRACTION] ? v->value[KNOB_FRACTION]
                                                                 : p->knob_lo[KNOB_FRACTION];
    int fraction;
    uint32_t hold;

    if (pcp_fraction_for(s->host, s->zones, scale_of(s->host, v), want, lo,
                         p->knob_hi[KNOB_FRACTION], &fraction, &hold) < 0)
        return UINT32_MAX;
    v->value[KNOB_FRACTION] = fraction;
    return hold;
}

/* Draining what the lists hold above the new high goes through the lock too, at the cost of
 * whoever frees next: so many more CPUs queue (design.md section 6). */
static void count_price(const struct params *p, const struct snapshot *s,
                        const struct estimate *est, const struct knob_values *base,
                        const struct threat *threat, struct choice *c)
{
    uint32_t n_after = c->n_planned;

    if (c->values.value[KNOB_FRACTION] != fraction_of(base))
        c->excess = pcp_excess(s->host, s->zones, c->values.value[KNOB_FRACTION],
                               scale_of(s->host, &c->values), &c->excess_cpus);
    if (c->excess > est->pages / EXCESS_SHARE)
        n_after = min_u32(threat->n_max, c->n_planned + c->excess_cpus);
    c->w_after = wait_for(p, n_after, c->b_after, est->huge);
    if (c->w_after >= wait_for(p, c->n_planned, threat->b, est->huge))
        c->reason = REASON_PRICE;
}

void choose_values(const struct params *p, const struct snapshot *s, const struct estimate *est,
                   const struct knob_values *base, const bool usable[static KNOB_MAX],
                   const struct threat *threat, uint32_t n_planned, struct choice *ret)
{
    uint32_t want = hold_for(p, n_planned, est->huge);
    uint32_t hold = UINT32_MAX;

    *ret = (struct choice){.reason = REASON_STORM,
                           .values = *base,
                           .n_planned = n_planned,
                           .b_after = threat->b,
                           .w_after = threat->w};
    if (threat->w <= p->target_wait) {
        ret->reason = REASON_WITHIN_TARGET;
        return;
    }
    if (usable[KNOB_SCALE])
        hold = choose_scale(p, s, want, &ret->values);
    if (hold > want && usable[KNOB_FRACTION]) {
        struct knob_values both = ret->values;
        uint32_t shorter = choose_fraction(p, s, want, &both);
        if (shorter < hold) {
            hold = shorter;
            ret->values = both;
        }
    }
    if (hold >= threat->b) {
        ret->values = *base;
        ret->reason = REASON_NO_GAIN;
        return;
    }
    ret->b_after = hold;
    count_price(p, s, est, base, threat, ret);
}
