/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "choose.h"

#include "batchcost.h"
#include "hold.h"
#include "lists.h"

/* Excess of at most this share of the storm lengthens it by as much, and is drained in passing.
 * Lists that are in use hold a low watermark in all; a first exit of 256 MiB on 2 CPUs is worth
 * that. */
#define EXCESS_SHARE 4
#define FIRST_OF 2 /* a first exit seldom comes alone */

/* A huge page is one list entry for 512 base pages (pcp_allowed_order(), mm/page_alloc.c), and a
 * hold costs what its entries cost. */
#define HUGE_ENTRY 512

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
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
    bool by_node = s->signals[SIGNAL_TASKSTATS] && !est->starting && h->n_nodes > 1;

    *ret = (struct threat){.node = -1, .path = est->starting ? PCP_ALLOC : PCP_FREE};
    for (uint32_t k = 0; k < (by_node ? h->n_nodes : 1); k++) {
        struct threat t = {.node = by_node ? (int)k : -1,
                           .path = ret->path,
                           .n_max = by_node ? h->node_cpus[k] : h->cpus_online};
        uint32_t here = by_node ? min_u32(s->node_tasks[k], est->tasks) : est->tasks;
        t.n = h->cpus_online > 1 ? min_u32(here, t.n_max) : 0;
        t.b = hold_on(h, s->zones, t.node, t.path, knobs);
        t.w = wait_for(p, t.n, t.b, est->huge);
        if (t.w > ret->w || ret->b == 0)
            *ret = t;
    }
}

/* What lowering high costs: every page above it goes through the lock too, at the expense of
 * whoever frees next, and in R4 up to a whole list in one hold of decay_pcp_high() (180,000 pages
 * seen on 6.18). In R2 and R3 the lists are short, and idle CPUs keep theirs; R5 drains by the
 * batch. Who starts empties his list before he takes the lock: what is drained is that of others,
 * once. With all lists full 64 starts of 4 GB made others wait 1.8 instead of 17.8 ms (pcpsim).
 * The answer is in pages of a storm that is worth it. */
static uint64_t price(const struct snapshot *s, const struct threat *threat, struct choice *c)
{
    if (s->host->regime < REGIME_R4 || s->host->regime == REGIME_R5 || threat->path == PCP_ALLOC)
        return 0;
    c->excess = lists_excess(s, &c->values);
    return c->excess * EXCESS_SHARE / (threat->n == 1 ? FIRST_OF : 1);
}

/* Takes the fraction besides what the scale gave, where that is shorter and worth its price. */
static void add_fraction(const struct params *p, const struct snapshot *s,
                         const struct estimate *est, const struct threat *threat,
                         const struct hold_aim *aim, struct choice *c)
{
    struct choice with = *c;

    with.b_after = hold_by_fraction(p, s->host, s->zones, aim, c->b_after, &with.values);
    if (with.b_after >= c->b_after)
        return;
    uint64_t worth_from = price(s, threat, &with);
    if (est->pages < worth_from) {
        c->worth_from = with.worth_from = worth_from;
        with.reason = REASON_PRICE;
    }
    if (with.reason == REASON_STORM || c->b_after >= threat->b)
        *c = with;
}

void choose_values(const struct params *p, const struct snapshot *s, const struct estimate *est,
                   const struct knob_values *base, const bool usable[static KNOB_MAX],
                   const struct threat *threat, uint32_t n_planned, struct choice *ret)
{
    struct hold_aim aim = hold_aim(p, threat->path, hold_for(p, n_planned, est->huge), threat->b);

    *ret = (struct choice){.reason = REASON_STORM,
                           .values = *base,
                           .n_planned = n_planned,
                           .b_after = threat->b,
                           .w_after = threat->w};
    if (threat->w <= p->target_wait) {
        ret->reason = REASON_WITHIN_TARGET;
        return;
    }
    /* Scale first: it has neither the drain nor the loss of learned lists that the fraction
     * costs. But who allocates all the time keeps the alloc_factor that he has: nr_pcp_alloc()
     * compares it with the scale only to double it. */
    if (usable[KNOB_SCALE] && threat->path == PCP_FREE)
        ret->b_after = hold_by_scale(p, s->host, s->zones, &aim, threat->b, &ret->values);
    if (ret->b_after > aim.want && usable[KNOB_FRACTION])
        add_fraction(p, s, est, threat, &aim, ret);
    ret->w_after = wait_for(p, n_planned, ret->b_after, est->huge);
    ret->loss = batch_cost(threat->b, ret->b_after).typical;
    if (ret->b_after >= threat->b) {
        ret->values = *base;
        ret->w_after = threat->w;
        ret->loss = 0;
        ret->reason = REASON_NO_GAIN;
    }
}
