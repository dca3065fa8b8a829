/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "choose.h"
#include "engine_impl.h"

/* Longer lists again only when a quarter of what was planned for is left. */
#define SHRINK 4

bool course_must_dwell(const struct engine *e, const struct params *p, uint64_t now)
{
    return e->storm.lengthened && now - e->storm.changed_at < p->dwell;
}

static void end(const struct step *x)
{
    struct engine *e = x->e;
    struct storm *st = &e->storm;

    storm_learn(st, x->s, &e->yields);
    if (st->changed_at == 0 && st->peak.reason != REASON_NONE) {
        x->plan->reason = st->peak.reason;
        if (st->peak.reason == REASON_STORM) /* a write that found somebody else's value there */
            x->plan->reason = claim_yielded(&e->claim) ? REASON_YIELDED : REASON_PINNED;
        x->plan->why = st->peak.why;
        storm_evidence(st, x->now, &x->plan->why);
        tell_left_alone(&e->told, x->now, x->plan);
    }
    st->on = false;
    if (!st->starting)
        start_expect(&e->start, x->now);
    e->state = e->steady.on ? ENGINE_STEADY : ENGINE_CALM;
}

static void false_alarm(const struct step *x)
{
    x->e->storm.doubted = true;
    storm_learn(&x->e->storm, x->s, &x->e->yields);
    decide_restore(x, REASON_FALSE_ALARM);
}

static void judge_alarm(const struct step *x)
{
    struct storm *st = &x->e->storm;

    if (storm_freeing(st))
        st->proven = true;
    else if (storm_disbelieved(st, x->now))
        false_alarm(x);
}

/* More tasks than planned for, fewer CPUs, or memory enough to be worth the price of what was left
 * undone. */
static bool outgrown(const struct step *x, const struct threat *t)
{
    const struct storm *st = &x->e->storm;

    return t->n > st->n_planned || x->s->host->cpus_online < st->cpus ||
           (st->worth_from != 0 && x->est.pages >= st->worth_from);
}

/* A storm that outgrows its plan: at once; far fewer tasks: when it has stayed so. */
static void adapt(const struct step *x)
{
    struct knob_values base = claim_base(&x->e->claim, x->s);
    struct storm *st = &x->e->storm;
    struct threat t;

    assess_threat(x->p, x->s, &x->est, &base, &t);
    if (t.n * SHRINK > st->n_planned)
        st->small_since = 0;
    else if (st->small_since == 0)
        st->small_since = x->now;

    if (outgrown(x, &t)) {
        if (!course_must_dwell(x->e, x->p, x->now))
            decide(x, REASON_STORM_GREW);
    } else if (st->small_since != 0 && x->now - st->small_since >= x->p->dwell &&
               x->now - st->changed_at >= x->p->dwell) {
        st->small_since = 0;
        decide(x, REASON_STORM_SHRANK);
    }
}

/* A storm that never ends must not keep the lists short for ever: the lock is taken more often with
 * short lists, and that is a price worth paying for a moment only. */
static void tuned(const struct step *x)
{
    struct storm *st = &x->e->storm;

    if (x->now - st->tuned_since >= x->p->tuned_max) {
        if (x->now - st->changed_at < x->p->dwell)
            return;
        st->endless = true;
        decide_restore(x, REASON_TOO_LONG);
        return;
    }
    if (!st->proven && st->base.valid)
        judge_alarm(x);
    if (x->plan->action == PLAN_NONE)
        adapt(x);
}

/* Why a storm that is left alone is not even weighed. */
static bool passed_over(const struct step *x)
{
    const struct storm *st = &x->e->storm;

    if (st->endless || course_must_dwell(x->e, x->p, x->now))
        return true;
    if (st->doubted && !st->trust_all) /* after a false alarm for proof alone */
        return true;
    /* What is left of it is no storm any more. */
    return x->s->signals[SIGNAL_TASKSTATS] && x->est.bounded < storm_pages(x->p, x->s);
}

static void goes_on(const struct step *x)
{
    struct engine *e = x->e;
    struct storm *st = &e->storm;

    st->empty_at = 0;
    st->measured = false;
    e->state = st->tuned ? ENGINE_TUNED : ENGINE_WATCH;
    if (e->state == ENGINE_TUNED)
        tuned(x);
    else if (!passed_over(x))
        decide(x, REASON_STORM);
}

static void ebbs(const struct step *x)
{
    struct engine *e = x->e;
    struct storm *st = &e->storm;

    if (st->empty_at == 0)
        st->empty_at = x->now;
    bool over = x->now - st->empty_at >= x->p->hold;
    if (!st->tuned) {
        e->state = ENGINE_WATCH;
        if (over)
            end(x);
        return;
    }
    e->state = ENGINE_HOLD;
    if (storm_freed_little(st, storm_pages(x->p, x->s))) {
        false_alarm(x);
    } else if (over) {
        storm_learn(st, x->s, &e->yields);
        decide_restore(x, REASON_CALM);
    }
}

void course_step(const struct step *x)
{
    if (storm_in_flight(x->p, x->s, &x->est))
        goes_on(x);
    else
        ebbs(x);
}
