/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steady.h"

#include "engine_impl.h"
#include "hold.h"
#include "lists.h"

#define SEC UINT64_C(1000000000)

#define LOOK_EVERY (5 * SEC)
#define CHURN_AFTER (30 * SEC) /* a burst is no traffic, and one step at a time */
#define EASED_AFTER (60 * SEC) /* the averages of PSI look back as far */
#define BARRED_FOR (3600 * SEC)

/* Nothing shows whether lists would fill again but to let them. Where they do at once, they are
 * bounded twice as long the next time: two writes an hour, and not twelve. */
#define HOARD_FOR (600 * SEC)
#define HOARD_LONGEST (3600 * SEC)

/* Short of memory: kswapd is at work (below the high watermark), or tasks stall for a tenth of the
 * time. Over when there is a quarter more, and half of that. */
#define SOME_HIGH 1000
#define SOME_LOW 500

#define SMALL_BYTES (UINT64_C(8) << 30)

/* What one hold of decay_pcp_high() may free: 1 ms at 20 ns a page (180,000 pages, 14 ms, were seen
 * when full lists were cut on 6.18). */
#define DRAIN_MOST 50000

/* Traffic that would keep one lock busy for a tenth of the time: each page passes it twice. */
#define BUSY_SHARE 20
#define NS_PER_CHURNED_PAGE 2000 /* taken, used and given back by one task; see start.c */
#define SLOWER_SHARE 8
#define SLOWER_LOOKS 2

struct calm { /* what is to be seen between two looks */
    uint64_t memory;
    uint64_t held, limit; /* pages in the lists, and what they may hold */
    bool short_of, eased; /* memory */
    bool plenty;
    uint64_t traffic; /* pages a second, taken and given back */
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool floats(const struct snapshot *s)
{
    return s->host->regime >= REGIME_R4;
}

static void note_memory(const struct step *x, struct calm *c)
{
    uint64_t high = 0, avg = x->s->signals[SIGNAL_PSI] ? x->s->psi_memory_some.avg10_centi : 0;

    for (uint32_t i = 0; i < x->s->zones->n_zones; i++)
        high += x->s->zones->zones[i].high;
    c->memory = zone_table_managed(x->s->zones);
    /* Without a limit of ours, what the kernel allows where lists float (zone_highsize()). */
    c->limit = x->p->max_hoard > 0 ? c->memory / 100 * x->p->max_hoard : c->memory / 8;
    c->held = floats(x->s) ? lists_hold(x->s) : 0;
    c->short_of = x->s->vm.nr_free < high || avg >= SOME_HIGH;
    c->eased = x->s->vm.nr_free >= high + high / 4 && avg < SOME_LOW;
    /* What longer lists have taken comes back with them: it must not end, and begin, them again. */
    uint64_t spare = x->s->vm.nr_free + (x->e->steady.on == REASON_CHURN ? c->limit : 0);
    c->plenty = c->eased && spare >= 2 * high + c->memory / 16;
}

/* Both ways as much: what grows or shrinks is no churn. */
static uint64_t traffic(const struct vm_counters *before, const struct vm_counters *now)
{
    uint64_t taken = now->pgalloc - before->pgalloc, given = now->pgfree - before->pgfree;
    uint64_t less = min_u64(taken, given), more = taken ^ given ^ less;

    if (now->pgalloc < before->pgalloc || now->pgfree < before->pgfree || less < more - more / 8)
        return 0;
    return less / ((now->at - before->at) / (SEC / 1000)) * 1000;
}

static bool busy(const struct step *x, const struct calm *c)
{
    return c->traffic * x->p->page_cost * BUSY_SHARE >= SEC;
}

static enum reason cause(const struct step *x, const struct calm *c)
{
    enum regime r = x->s->host->regime;

    if (floats(x->s) && x->p->max_hoard > 0 && c->held > c->limit) {
        if (c->memory * x->s->host->page_size <= SMALL_BYTES)
            return REASON_HOARD; /* also when memory is short: that it has eased ends nothing here
                                  */
        return c->short_of ? REASON_PRESSURE : REASON_NONE;
    }
    if ((r == REGIME_R2 || r == REGIME_R3) && x->p->churn && busy(x, c) && c->plenty &&
        x->now >= x->e->steady.barred_until)
        return REASON_CHURN;
    return REASON_NONE;
}

/* --- plans --------------------------------------------------------------------------------- */

static void plan(const struct step *x, const struct calm *c, enum plan_action action,
                 enum reason reason, const struct knob_values *values)
{
    struct engine *e = x->e;

    *x->plan = (struct plan){
        .action = action,
        .reason = reason,
        .report = action == PLAN_RESTORE || e->steady.on == REASON_NONE,
        .from = claim_current(&e->claim, x->s),
        .values = *values,
        .why = {.held = c->held,
                .may_hold = pcp_capacity(x->s->host, x->s->zones, pcp_fraction(values),
                                         pcp_scale(x->s->host, values)),
                .traffic = c->traffic,
                .since = x->now - e->steady.changed_at,
                .writes_left = budget_left(&e->budget, x->p->writes_per_hour, x->now)},
    };
    e->pending = e->pending_steady = true;
    e->pending_reason = reason;
}

static void give_back(const struct step *x, const struct calm *c, enum reason reason)
{
    if (x->now - x->e->steady.changed_at >= x->p->dwell)
        plan(x, c, PLAN_RESTORE, reason, &x->e->claim.original);
}

/* The longest lists that together hold no more than they may. */
static bool bounded(const struct step *x, const struct calm *c, struct knob_values *v)
{
    int lo = v->value[KNOB_FRACTION], fraction;
    uint64_t pages, longest;

    if (lo < x->p->knob_lo[KNOB_FRACTION])
        lo = x->p->knob_lo[KNOB_FRACTION];
    unsigned scale = pcp_scale(x->s->host, v);
    if (pcp_fraction_for_capacity(x->s->host, x->s->zones, scale, c->limit, lo,
                                  x->p->knob_hi[KNOB_FRACTION], &fraction, &pages) < 0 ||
        pages >= c->held)
        return false;
    v->value[KNOB_FRACTION] = fraction;
    pcp_excess(x->s->host, x->s->zones, fraction, scale, &longest);
    return x->s->host->regime == REGIME_R5 || longest <= DRAIN_MOST;
}

/* The fraction that makes the lists of the largest zone twice as long, as far as they may. */
static int twice_as_long(const struct step *x, const struct calm *c, const struct knob_values *v)
{
    const struct zone_table *t = x->s->zones;
    const int *lo = &x->p->knob_lo[KNOB_FRACTION], *hi = &x->p->knob_hi[KNOB_FRACTION];
    struct pcp_zone most = {.managed = 0}, z;
    int longest;
    uint64_t pages;

    for (uint32_t i = 0; i < t->n_zones; i++) {
        if (pcp_zone_of(x->s->host, t, i, &z) && z.managed > most.managed)
            most = z;
    }
    if (most.managed == 0 ||
        pcp_fraction_for_capacity(x->s->host, t, 0, c->limit, *lo, *hi, &longest, &pages) < 0)
        return 0;
    struct pcp_limits l = pcp_limits(x->s->host->regime, &most, pcp_fraction(v), 0);
    uint64_t fraction = most.managed / (2 * (uint64_t)l.high_min * most.cpus);
    return fraction < (uint64_t)longest ? longest : (int)min_u64(fraction, (uint64_t)*hi);
}

/* Longer lists, but no holds that are too long: R2 frees a whole list in one. */
static bool lengthened(const struct step *x, const struct calm *c, struct knob_values *v)
{
    const struct host_facts *h = x->s->host;
    uint64_t had = pcp_capacity(h, x->s->zones, pcp_fraction(v), 0), has;
    uint32_t before = hold_on(h, x->s->zones, -1, PCP_FREE, v);
    uint64_t n = min_u64(c->traffic * NS_PER_CHURNED_PAGE / SEC + 1, h->cpus_online);

    v->value[KNOB_FRACTION] = twice_as_long(x, c, v);
    uint32_t after = hold_on(h, x->s->zones, -1, PCP_FREE, v);
    has = pcp_capacity(h, x->s->zones, pcp_fraction(v), 0);
    return v->value[KNOB_FRACTION] > 0 && has > had && has <= c->limit &&
           (after <= before || n * x->p->page_cost * after <= x->p->target_wait);
}

static void act(const struct step *x, const struct calm *c, enum reason reason)
{
    struct knob_values v = claim_current(&x->e->claim, x->s);
    bool usable[KNOB_MAX];

    if (claim_usable(&x->e->claim, x->p, x->s, usable) != REASON_NONE || !usable[KNOB_FRACTION] ||
        budget_left(&x->e->budget, x->p->writes_per_hour, x->now) < 2)
        return;
    v.has[KNOB_SCALE] = false; /* it bounds holds, not lists */
    if (reason == REASON_CHURN ? lengthened(x, c, &v) : bounded(x, c, &v))
        plan(x, c, PLAN_SET, reason, &v);
}

/* --- looks --------------------------------------------------------------------------------- */

static void look_for(const struct step *x, const struct calm *c, uint64_t since)
{
    struct steady *st = &x->e->steady;
    enum reason seen = cause(x, c);

    if (seen != st->cause)
        st->cause_since = since;
    st->cause = seen;
    if (seen == REASON_CHURN ? x->now - st->cause_since >= CHURN_AFTER : seen != REASON_NONE) {
        st->traffic = c->traffic;
        act(x, c, seen);
    }
}

static void churn_goes_on(const struct step *x, const struct calm *c)
{
    struct steady *st = &x->e->steady;

    st->slower = c->traffic < st->traffic - st->traffic / SLOWER_SHARE ? st->slower + 1 : 0;
    if (!c->plenty) {
        give_back(x, c, REASON_EASED);
    } else if (st->slower >= SLOWER_LOOKS) {
        give_back(x, c, REASON_NO_HELP);
    } else if (st->slower == 0 && x->now - st->changed_at >= CHURN_AFTER) {
        st->traffic = c->traffic;
        act(x, c, REASON_CHURN);
    }
}

static void goes_on(const struct step *x, const struct calm *c)
{
    struct steady *st = &x->e->steady;
    struct knob_values ours = claim_current(&x->e->claim, x->s);
    bool seen = st->on == REASON_CHURN ? busy(x, c)
                : st->on == REASON_PRESSURE
                    ? !c->eased
                    : c->held > pcp_capacity(x->s->host, x->s->zones, pcp_fraction(&ours), 0);

    if (seen)
        st->seen_at = x->now;
    if (x->now - st->seen_at >= (st->on == REASON_HOARD ? st->hoard_for : EASED_AFTER))
        give_back(x, c, REASON_EASED);
    else if (st->on == REASON_CHURN && seen)
        churn_goes_on(x, c);
}

/* Somebody else has written what we hold: it is found out by giving it back. */
static bool disturbed(const struct step *x)
{
    struct knob_values ours = claim_current(&x->e->claim, x->s);

    return x->p->mode == MODE_APPLY && x->e->steady.on && knobs_changed(&ours, &x->s->knobs) > 0;
}

void steady_step(const struct step *x)
{
    struct steady *st = &x->e->steady;
    struct vm_counters before = st->last;
    struct calm c = {0};

    if (x->e->storm.on) { /* one must be in our way, or we were not asked */
        note_memory(x, &c);
        plan(x, &c, PLAN_RESTORE, REASON_STORM, &x->e->claim.original);
        return;
    }
    if (disturbed(x)) {
        note_memory(x, &c);
        give_back(x, &c, REASON_YIELDED);
        return;
    }
    if (!x->s->signals[SIGNAL_VMSTAT]) {
        st->cause = REASON_NONE;
        st->last.valid = false;
        if (st->on) { /* nothing would show that it has */
            note_memory(x, &c);
            give_back(x, &c, REASON_EASED);
        }
        return;
    }
    if (!x->e->vm_fresh || (before.valid && x->s->vm.at - before.at < LOOK_EVERY))
        return;
    st->last = x->s->vm;
    if (!before.valid)
        return;
    note_memory(x, &c);
    c.traffic = traffic(&before, &x->s->vm);
    if (st->on)
        goes_on(x, &c);
    else
        look_for(x, &c, before.at);
}

uint64_t steady_wake(const struct steady *st, uint64_t now)
{
    if (!st->on && st->cause != REASON_CHURN) /* the others act at first sight, or cannot */
        return UINT64_MAX;
    return st->last.at + LOOK_EVERY > now ? st->last.at + LOOK_EVERY : now + LOOK_EVERY;
}

/* --- outcomes ------------------------------------------------------------------------------ */

void steady_set(struct steady *st, enum reason reason, uint64_t now)
{
    if (reason == REASON_HOARD && st->on == REASON_NONE) {
        bool again = st->hoard_for > 0 && now - st->changed_at < HOARD_FOR;
        st->hoard_for = again ? min_u64(2 * st->hoard_for, HOARD_LONGEST) : HOARD_FOR;
    }
    st->on = reason;
    st->changed_at = st->seen_at = now;
    st->slower = 0;
}

void steady_restored(struct steady *st, enum reason reason, uint64_t now)
{
    if (reason == REASON_NO_HELP)
        st->barred_until = now + BARRED_FOR;
    st->on = st->cause = REASON_NONE;
    st->changed_at = now;
}
