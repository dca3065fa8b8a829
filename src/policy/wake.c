/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "choose.h"
#include "engine_impl.h"

#define MSEC UINT64_C(1000000)

/* How often a storm that is not proven, or not believed in, is looked at. */
#define LOOK_EVERY (10 * MSEC)
#define LOOK_SHARE 16 /* and ever more rarely: exits that hang do so for long */

/* A start storm is seen in vmstat alone. */
#define START_LOOK (100 * MSEC)

/* Without taskstats: a look at vmstat in calm, and while anonymous memory is going. */
#define VMSTAT_CALM (500 * MSEC)
#define VMSTAT_SUSPICIOUS (20 * MSEC)

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* When vmstat may prove or refute what was announced. */
static uint64_t look_at(const struct step *x)
{
    const struct storm *st = &x->e->storm;

    if (!x->s->signals[SIGNAL_VMSTAT] || st->proven)
        return NEVER;
    if (st->tuned && x->now < st->doubt_at)
        return st->doubt_at;
    if (st->trust_all)
        return NEVER;
    uint64_t last = later(x->s->message_at, st->begin);
    return x->now + LOOK_EVERY + (x->now - earlier(last, x->now)) / LOOK_SHARE;
}

static uint64_t storm_wake(const struct step *x)
{
    const struct storm *st = &x->e->storm;
    uint64_t dwelt = st->changed_at + x->p->dwell;

    if (st->empty_at != 0) {
        if (!st->measured && x->s->signals[SIGNAL_VMSTAT])
            return x->now;
        return st->empty_at + x->p->hold;
    }
    uint64_t at = st->starting ? x->now + START_LOOK : look_at(x);
    if (course_must_dwell(x->e, x->p, x->now))
        at = earlier(at, dwelt);
    if (st->tuned) {
        at = earlier(at, later(st->tuned_since + x->p->tuned_max, dwelt));
        if (st->small_since != 0)
            at = earlier(at, later(st->small_since + x->p->dwell, dwelt));
    }
    return at;
}

static uint64_t vmstat_wake(const struct step *x)
{
    if (x->p->mode == MODE_OFF || x->s->signals[SIGNAL_TASKSTATS] || !x->s->signals[SIGNAL_VMSTAT])
        return NEVER;
    bool suspicious = x->e->storm.on || storm_in_flight(x->p, x->s, &x->est);
    return x->now + (suspicious ? VMSTAT_SUSPICIOUS : VMSTAT_CALM);
}

/* Looks for start storms, where they could make anybody wait for long at all. */
static uint64_t starts_wake(const struct step *x)
{
    struct knob_values base = claim_base(&x->e->claim, x->s);
    struct estimate all = {.starting = true, .tasks = x->s->host->cpus_online};
    struct threat worst;

    if (x->p->mode == MODE_OFF || !x->p->start_storms || !x->s->signals[SIGNAL_VMSTAT])
        return NEVER;
    uint64_t at = start_wake(&x->e->start, storm_pages(x->p, x->s), x->now);
    if (at == NEVER)
        return NEVER;
    assess_threat(x->p, x->s, &all, &base, &worst);
    return worst.w > x->p->target_wait ? at : NEVER;
}

uint64_t wake_at(const struct step *x)
{
    const struct engine *e = x->e;
    const struct storm *st = &e->storm;

    /* The base of what is freed is read while the first write is still under way. */
    if (st->on && !st->base.valid && st->empty_at == 0 && x->s->signals[SIGNAL_VMSTAT])
        return x->now;
    if (e->pending)
        return NEVER;
    if (e->retry_at != 0)
        return e->retry_at;
    uint64_t at = earlier(vmstat_wake(x), claim_rearm_at(&e->claim, x->p));
    if (!st->on)
        at = earlier(at, earlier(starts_wake(x), steady_wake(&e->steady, x->now)));
    return st->on ? earlier(at, storm_wake(x)) : at;
}
