/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "choose.h"
#include "estimate.h"

#define MSEC UINT64_C(1000000)
#define SEC UINT64_C(1000000000)
#define NEVER UINT64_MAX

/* On a large machine a storm is large too: 512 MiB of 1 TiB, 3 ms of one lock. A build with forty
 * processes of 50 MB in flight, and two of them exiting, is none. */
#define STORM_SHARE 2048

/* A task that frees at all frees 7000 pages a millisecond; under three times as many runnable
 * tasks as CPUs it still had its turn after 15 ms. What has freed nothing by then is no storm. */
#define DOUBT_AFTER (15 * MSEC)
#define DOUBT_BASE (8 * MSEC) /* at least so long must the measurement have lasted */
#define PROOF_PAGES 4096      /* 16 MiB that went, or a sixteenth of what was announced */
#define PROOF_SHARE 16

/* Of what was announced, when the last task is gone. The first moments of a storm are not measured,
 * half of a short one perhaps. */
#define LITTLE_SHARE 8

/* How often a storm that is not proven, or not believed in, is looked at. */
#define LOOK_EVERY (10 * MSEC)
#define LOOK_SHARE 16 /* and ever more rarely: exits that hang do so for long */

/* Without taskstats: a look at vmstat in calm, and while anonymous memory is going. */
#define VMSTAT_CALM (500 * MSEC)
#define VMSTAT_SUSPICIOUS (20 * MSEC)
#define SUSPICIOUS_SHARE 8 /* of storm_size gone between two looks */

/* A storm that was left alone is reported when its reason is new or W has doubled since the last
 * such line, else once in this time: a build host has such exits all day. */
#define REPEAT_AFTER (3600 * SEC)

/* Exits come in a burst: plan for twice the tasks that are seen, so that a storm that grows to
 * 256 tasks costs 8 writes and not 256. */
#define GROWTH 2

/* Longer lists again only when a quarter of what was planned for is left. */
#define SHRINK 4

/* A restore that fails is tried again after 1 s, 2 s, 4 s ... 64 s. */
#define RETRY_FIRST (1 * SEC)
#define RETRY_LAST (64 * SEC)

struct storm {
    bool on;
    uint64_t id, begin, message_at;
    uint64_t empty_at;    /* the last task was gone; 0: in flight */
    uint64_t changed_at;  /* last write of ours; 0: none */
    uint64_t tuned_since; /* the knobs are ours without a break */
    uint64_t small_since; /* since when far fewer are in flight than planned for; 0 */
    uint32_t n_planned;
    bool proven, doubted, trust_all, measured;
    bool lengthened; /* the last change of ours made the lists longer */
    bool endless;    /* given back after TunedMax=, and left alone since */
    struct vm_counters base, last;
    struct plan peak; /* the decision with the largest W, when it is left alone */
    uint64_t announced, bounded, freed;
    uint64_t announced_before, bounded_before; /* of tasks that were gone when it began */
    uint32_t tasks_before;
    uint32_t tasks_total;
    char group[GROUP_NAME_MAX];
};

struct engine {
    enum engine_state state;
    bool pending; /* a plan with an action is being carried out */
    enum reason pending_reason;
    uint32_t pending_n;

    struct knob_values original; /* has[]: we wrote this knob, and this is to go back */
    struct knob_values ours;     /* what we wrote, or found */
    bool pinned[KNOB_MAX], yielded[KNOB_MAX];
    bool refused;
    uint64_t yielded_at;
    enum reason must_restore; /* an action failed while we own a knob, and why it is to go back */
    uint64_t retry_at, retry_delay;

    struct storm storm;
    uint64_t storms;
    struct budget budget;
    struct yields yields;

    struct vm_counters seen; /* the last reading, for the estimate without taskstats */
    struct estimate vm_estimate;
    bool vm_fresh; /* this step brought a new reading */

    enum reason told;
    uint64_t told_at, told_w;
    uint32_t untold;
};

const char *engine_state_name(enum engine_state s)
{
    static const char *const names[ENGINE_STATES] = {
        [ENGINE_CALM] = "calm", [ENGINE_WATCH] = "watch",     [ENGINE_TUNED] = "tuned",
        [ENGINE_HOLD] = "hold", [ENGINE_YIELDED] = "yielded", [ENGINE_REFUSED] = "refused",
    };
    return (unsigned)s < ENGINE_STATES ? names[s] : "unknown";
}

int engine_new(struct engine **ret)
{
    struct engine *e = calloc(1, sizeof(*e));
    if (!e)
        return -ENOMEM;
    *ret = e;
    return 0;
}

void engine_free(struct engine *e)
{
    free(e);
}

static bool owns(const struct engine *e)
{
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (e->original.has[k])
            return true;
    }
    return false;
}

static bool any(const bool flags[static KNOB_MAX])
{
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (flags[k])
            return true;
    }
    return false;
}

enum engine_state engine_get_state(const struct engine *e)
{
    if (e->refused)
        return ENGINE_REFUSED;
    if (any(e->yielded))
        return ENGINE_YIELDED;
    return e->state;
}

bool engine_idle(const struct engine *e)
{
    return !e->storm.on && !owns(e) && !e->pending;
}

void engine_found(struct engine *e, const struct knob_values *at_start)
{
    for (unsigned k = 0; k < KNOB_MAX; k++)
        e->pinned[k] = at_start->has[k] && at_start->value[k] != knob_table[k].initial;
}

void engine_rearm(struct engine *e)
{
    memset(e->yielded, 0, sizeof(e->yielded));
    e->refused = false;
    e->yielded_at = 0;
}

static uint64_t storm_pages(const struct params *p, const struct snapshot *s)
{
    uint64_t managed = 0;

    for (uint32_t i = 0; i < s->zones->n_zones; i++)
        managed += s->zones->zones[i].managed;
    uint64_t share = managed / STORM_SHARE, least = p->storm_size / s->host->page_size;
    return share > least ? share : least;
}

/* --- what is freed ------------------------------------------------------------------------- */

static void note_vm(struct engine *e, const struct params *p, const struct snapshot *s)
{
    struct storm *st = &e->storm;

    e->vm_fresh = s->vm.valid && (!e->seen.valid || s->vm.at > e->seen.at);
    if (!e->vm_fresh)
        return;
    if (!s->signals[SIGNAL_TASKSTATS])
        estimate_vmstat(s->host, p->page_cost, &e->seen, &s->vm, &e->vm_estimate);
    e->seen = s->vm;
    if (!st->on || s->vm.at < st->begin)
        return;
    if (!st->base.valid)
        st->base = s->vm;
    st->last = s->vm;
    if (!st->measured)
        st->freed = vm_freed(&st->base, &st->last);
    st->measured = st->empty_at != 0 && s->vm.at >= st->empty_at;
}

static uint64_t anon_gone(const struct storm *st)
{
    return st->base.valid && st->last.nr_anon < st->base.nr_anon
               ? st->base.nr_anon - st->last.nr_anon
               : 0;
}

/* Anonymous memory went, or so much was freed that new memory elsewhere may hide it. */
static bool freeing_is_seen(const struct storm *st)
{
    uint64_t proof = st->bounded / PROOF_SHARE;
    return anon_gone(st) >= (proof < PROOF_PAGES ? proof : PROOF_PAGES) ||
           st->freed >= st->bounded / 4;
}

/* Long enough watched, and what was announced is not being freed. */
static bool disbelieved(const struct storm *st, uint64_t now)
{
    return st->base.valid && !st->proven && !freeing_is_seen(st) &&
           now - st->begin >= DOUBT_AFTER && st->last.at >= st->base.at + DOUBT_BASE;
}

/* All are gone, and what they freed was no storm, or nothing like what was announced. */
static bool freed_little(const struct storm *st, uint64_t storm_pages)
{
    return st->measured && (st->freed < storm_pages / 2 || st->freed < st->bounded / LITTLE_SHARE);
}

/* Yields are learned from storms that were measured from near their begin to their end, and from
 * false alarms. */
static void learn(struct engine *e, const struct snapshot *s)
{
    const struct storm *st = &e->storm;
    bool whole = st->measured && st->base.valid &&
                 st->empty_at - st->begin >= 20 * (st->base.at - st->begin);

    if (!st->doubted && !whole)
        return;
    for (uint32_t i = 0; i < s->n_groups; i++)
        yield_learn(&e->yields, s->groups[i].id, st->bounded, st->freed);
}

/* --- plans --------------------------------------------------------------------------------- */

static void fill_why(const struct engine *e, const struct params *p, const struct estimate *est,
                     const struct threat *t, const struct choice *c, uint64_t now,
                     struct evidence_numbers *w)
{
    const struct storm *st = &e->storm;

    *w = (struct evidence_numbers){
        .storm_id = st->id,
        .tasks = est->tasks,
        .tasks_total = st->tasks_total,
        .pages = est->pages,
        .announced = st->announced,
        .freed = st->freed,
        .n_now = t->n,
        .n_planned = c->n_planned,
        .b_before = t->b,
        .b_after = c->b_after,
        .w_before = t->w,
        .w_after = c->w_after,
        .target = p->target_wait,
        .page_cost = p->page_cost,
        .excess = c->excess,
        .excess_cpus = c->excess_cpus,
        .message_at = st->message_at,
        .since = now - st->begin,
        .writes_left = budget_left(&e->budget, p->writes_per_hour, now),
    };
    memcpy(w->group, est->group, sizeof(w->group));
}

static void plan_restore(struct engine *e, enum reason reason, uint64_t now, struct plan *ret)
{
    const struct storm *st = &e->storm;

    ret->action = PLAN_RESTORE;
    ret->reason = reason;
    ret->report = true;
    ret->from = e->ours;
    ret->values = e->original;
    ret->why = st->peak.why;
    ret->why.storm_id = st->id;
    ret->why.tasks_total = st->tasks_total;
    ret->why.announced = st->announced;
    ret->why.freed = st->freed;
    ret->why.message_at = st->message_at;
    ret->why.since = now - st->begin;
    e->pending = true;
    e->pending_reason = reason;
}

/* What would go back: the originals of what we own, else what is there. */
static struct knob_values base_values(const struct engine *e, const struct snapshot *s)
{
    struct knob_values v = s->knobs;
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (e->original.has[k])
            v.value[k] = e->original.value[k];
    }
    return v;
}

static struct knob_values current_values(const struct engine *e, const struct snapshot *s)
{
    struct knob_values v = s->knobs;
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (e->original.has[k])
            v.value[k] = e->ours.value[k];
    }
    return v;
}

/* Why no knob may be moved at all, REASON_NONE if one may; usable says which. */
static enum reason usable_knobs(const struct engine *e, const struct params *p,
                                const struct snapshot *s, bool usable[static KNOB_MAX])
{
    bool pinned = false;

    memset(usable, 0, KNOB_MAX * sizeof(*usable));
    if (!s->knobs_known)
        return REASON_UNREAD;
    if (s->host->regime == REGIME_R1 || s->host->regime == REGIME_UNKNOWN)
        return REASON_NO_KNOB;
    if (e->refused)
        return REASON_UNWRITABLE;
    if (any(e->yielded))
        return REASON_YIELDED;
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        bool pin = e->pinned[k] && p->on_pinned == PINNED_RESPECT;
        pinned |= pin;
        usable[k] = s->knobs.has[k] && !pin;
    }
    if (any(usable))
        return REASON_NONE;
    return pinned ? REASON_PINNED : REASON_NO_KNOB;
}

static uint32_t knobs_changed(const struct knob_values *a, const struct knob_values *b)
{
    uint32_t n = 0;
    for (unsigned k = 0; k < KNOB_MAX; k++)
        n += a->has[k] && a->value[k] != b->value[k];
    return n;
}

static uint32_t plan_for(const struct threat *t)
{
    uint32_t n = t->n * GROWTH;
    return n < t->n_max ? n : t->n > t->n_max ? t->n : t->n_max;
}

/* Left alone: the decision with the largest W is kept for the line at the end. */
static void remember_peak(struct engine *e, enum reason reason, const struct evidence_numbers *w)
{
    struct plan *peak = &e->storm.peak;
    if (peak->reason == REASON_NONE || w->w_before >= peak->why.w_before) {
        peak->reason = reason;
        peak->why = *w;
    }
}

/* W as it is with the originals, and what could be done about it. */
static void decide(struct engine *e, const struct params *p, const struct snapshot *s,
                   const struct estimate *est, enum reason reason, uint64_t now, struct plan *ret)
{
    struct knob_values base = base_values(e, s), current = current_values(e, s);
    bool usable[KNOB_MAX];
    struct threat t;
    struct choice c;

    assess_threat(p, s, est, &base, &t);
    enum reason barred = usable_knobs(e, p, s, usable);
    choose_values(p, s, est, &base, usable, &t, plan_for(&t), &c);
    for (unsigned k = 0; k < KNOB_MAX; k++) /* others' knobs are theirs, whatever they write */
        c.values.has[k] &= usable[k] || e->original.has[k];
    if (c.reason != REASON_WITHIN_TARGET && barred != REASON_NONE)
        c.reason = barred;
    else if (c.reason == REASON_STORM &&
             (est->pages < storm_pages(p, s) || disbelieved(&e->storm, now)))
        c.reason = REASON_YIELD;

    struct evidence_numbers why;
    fill_why(e, p, est, &t, &c, now, &why);
    uint32_t writes = knobs_changed(&c.values, &current);
    uint32_t back = knobs_changed(&c.values, &base); /* what the restore will take */
    if (c.reason == REASON_STORM && writes > 0 && why.writes_left < writes + back)
        c.reason = REASON_BUDGET;

    remember_peak(e, c.reason, &why);
    if (reason == REASON_STORM_SHRANK && c.reason == REASON_WITHIN_TARGET) {
        plan_restore(e, reason, now, ret);
        return;
    }
    if (c.reason != REASON_STORM || writes == 0) {
        if (c.reason == REASON_STORM)
            e->storm.n_planned = c.n_planned;
        return;
    }
    ret->action = PLAN_SET;
    ret->reason = reason;
    ret->report = reason == REASON_STORM;
    ret->from = current;
    ret->values = c.values;
    ret->why = why;
    e->pending = true;
    e->pending_reason = reason;
    e->pending_n = c.n_planned;
}

/* --- the life of a storm ------------------------------------------------------------------- */

/* Groups are forgotten in calm alone: those with tasks in flight since before bring along what has
 * ended before. */
static void leave_out(struct storm *st, const struct snapshot *s, const struct estimate *est)
{
    uint32_t total = est->tasks_total > s->tasks ? est->tasks_total : s->tasks;

    if (total == 0)
        return;
    st->tasks_before = total - s->tasks;
    st->announced_before = est->announced / total * st->tasks_before;
    st->bounded_before = est->bounded_total - est->bounded;
}

static void storm_begin(struct engine *e, const struct snapshot *s, const struct estimate *est,
                        uint64_t now)
{
    struct storm *st = &e->storm;

    *st = (struct storm){.on = true, .id = ++e->storms, .begin = now};
    st->message_at = s->message_at;
    e->state = ENGINE_WATCH;
    if (!s->signals[SIGNAL_TASKSTATS]) {
        /* What vmstat shows going is gone: it needs no other proof. */
        st->proven = true;
        st->base = s->vm;
        return;
    }
    leave_out(st, s, est);
}

static bool worth_a_line(const struct engine *e, const struct plan *peak, uint64_t now)
{
    return peak->reason != e->told || peak->why.w_before >= 2 * e->told_w ||
           now - e->told_at >= REPEAT_AFTER;
}

static void storm_end(struct engine *e, const struct snapshot *s, uint64_t now, struct plan *ret)
{
    struct storm *st = &e->storm;

    learn(e, s);
    if (st->changed_at == 0 && st->peak.reason != REASON_NONE && ret->action == PLAN_NONE) {
        ret->reason = st->peak.reason;
        ret->why = st->peak.why;
        ret->why.tasks_total = st->tasks_total;
        ret->why.announced = st->announced;
        ret->why.freed = st->freed;
        ret->why.since = now - st->begin;
        ret->report = worth_a_line(e, &st->peak, now);
        ret->why.repeats = e->untold;
        e->untold = ret->report ? 0 : e->untold + 1;
        if (ret->report) {
            e->told = st->peak.reason;
            e->told_at = now;
            e->told_w = st->peak.why.w_before;
        }
    }
    st->on = false;
    e->state = ENGINE_CALM;
}

static void judge_alarm(struct engine *e, const struct snapshot *s, uint64_t now, struct plan *ret)
{
    struct storm *st = &e->storm;

    if (freeing_is_seen(st)) {
        st->proven = true;
        return;
    }
    if (!disbelieved(st, now))
        return;
    st->doubted = true;
    learn(e, s);
    plan_restore(e, REASON_FALSE_ALARM, now, ret);
}

/* Longer lists were our last decision in this storm: the opposite one waits. */
static bool must_dwell(const struct engine *e, const struct params *p, uint64_t now)
{
    return e->storm.lengthened && now - e->storm.changed_at < p->dwell;
}

static void adapt(struct engine *e, const struct params *p, const struct snapshot *s,
                  const struct estimate *est, uint64_t now, struct plan *ret)
{
    struct knob_values base = base_values(e, s);
    struct storm *st = &e->storm;
    struct threat t;

    assess_threat(p, s, est, &base, &t);
    if (t.n > st->n_planned) {
        st->small_since = 0;
        if (!must_dwell(e, p, now))
            decide(e, p, s, est, REASON_STORM_GREW, now, ret);
        return;
    }
    if (t.n * SHRINK > st->n_planned) {
        st->small_since = 0;
        return;
    }
    if (st->small_since == 0)
        st->small_since = now;
    if (now - st->small_since >= p->dwell && now - st->changed_at >= p->dwell) {
        st->small_since = 0;
        decide(e, p, s, est, REASON_STORM_SHRANK, now, ret);
    }
}

/* A storm that never ends must not keep the lists short for ever: the lock is taken more often with
 * short lists, and that is a price worth paying for a moment only. */
static void tuned(struct engine *e, const struct params *p, const struct snapshot *s,
                  const struct estimate *est, uint64_t now, struct plan *ret)
{
    struct storm *st = &e->storm;

    if (now - st->tuned_since >= p->tuned_max) {
        if (now - st->changed_at < p->dwell)
            return;
        st->endless = true;
        plan_restore(e, REASON_TOO_LONG, now, ret);
        return;
    }
    if (!st->proven && st->base.valid)
        judge_alarm(e, s, now, ret);
    if (ret->action == PLAN_NONE)
        adapt(e, p, s, est, now, ret);
}

static void storm_goes_on(struct engine *e, const struct params *p, const struct snapshot *s,
                          const struct estimate *est, uint64_t now, struct plan *ret)
{
    struct storm *st = &e->storm;

    st->empty_at = 0;
    st->measured = false;
    if (owns(e)) {
        e->state = ENGINE_TUNED;
        tuned(e, p, s, est, now, ret);
        return;
    }
    e->state = ENGINE_WATCH;
    if (st->endless)
        return;
    /* After a false alarm for proof besides. */
    if (must_dwell(e, p, now) || (st->doubted && !st->trust_all))
        return;
    /* What is left of it is no storm any more. */
    if (s->signals[SIGNAL_TASKSTATS] && est->bounded < storm_pages(p, s))
        return;
    decide(e, p, s, est, REASON_STORM, now, ret);
}

static void storm_ebbs(struct engine *e, const struct params *p, const struct snapshot *s,
                       uint64_t now, struct plan *ret)
{
    struct storm *st = &e->storm;

    if (st->empty_at == 0)
        st->empty_at = now;
    if (!owns(e)) {
        e->state = ENGINE_WATCH;
        if (now - st->empty_at >= p->hold)
            storm_end(e, s, now, ret);
        return;
    }
    e->state = ENGINE_HOLD;
    if (freed_little(st, storm_pages(p, s))) {
        st->doubted = true;
        learn(e, s);
        plan_restore(e, REASON_FALSE_ALARM, now, ret);
    } else if (now - st->empty_at >= p->hold) {
        learn(e, s);
        plan_restore(e, REASON_CALM, now, ret);
    }
}

/* Without taskstats a storm goes on while each look sees that much memory going. */
static bool in_flight(const struct params *p, const struct snapshot *s, const struct estimate *est)
{
    if (s->signals[SIGNAL_TASKSTATS])
        return s->tasks > 0;
    return est->tasks > 0 && est->pages >= storm_pages(p, s) / SUSPICIOUS_SHARE;
}

/* --- time ---------------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t after(uint64_t t, uint64_t delay)
{
    return t > NEVER - delay ? NEVER : t + delay;
}

static uint64_t tuned_end(const struct storm *st, const struct params *p)
{
    uint64_t bound = st->tuned_since + p->tuned_max, dwell = st->changed_at + p->dwell;
    return bound > dwell ? bound : dwell;
}

static uint64_t storm_wake(const struct engine *e, const struct params *p, const struct snapshot *s,
                           uint64_t now)
{
    const struct storm *st = &e->storm;
    uint64_t last = s->message_at > st->begin ? s->message_at : st->begin;
    uint64_t at = NEVER;

    if (st->empty_at != 0) {
        if (!st->measured && s->signals[SIGNAL_VMSTAT])
            return now;
        return st->empty_at + p->hold;
    }
    if (s->signals[SIGNAL_VMSTAT]) {
        if (owns(e) && !st->proven && now < st->begin + DOUBT_AFTER)
            at = st->begin + DOUBT_AFTER;
        else if (!st->proven && !st->trust_all)
            at = now + LOOK_EVERY + (now - earlier(last, now)) / LOOK_SHARE;
    }
    if (must_dwell(e, p, now))
        at = earlier(at, st->changed_at + p->dwell);
    if (owns(e))
        at = earlier(at, tuned_end(st, p));
    if (owns(e) && st->small_since != 0)
        at = earlier(at, (st->small_since > st->changed_at ? st->small_since : st->changed_at) +
                             p->dwell);
    return at;
}

static uint64_t next_wake(const struct engine *e, const struct params *p, const struct snapshot *s,
                          const struct estimate *est, uint64_t now)
{
    uint64_t at = NEVER;

    /* The base of what is freed is read while the first write is still under way. */
    if (e->storm.on && !e->storm.base.valid && e->storm.empty_at == 0 && s->signals[SIGNAL_VMSTAT])
        return now;
    if (e->pending)
        return NEVER;
    if (e->retry_at != 0)
        return e->retry_at;
    if (e->storm.on)
        at = earlier(at, storm_wake(e, p, s, now));
    if (any(e->yielded))
        at = earlier(at, after(e->yielded_at, p->rearm_after));
    if (p->mode != MODE_OFF && !s->signals[SIGNAL_TASKSTATS] && s->signals[SIGNAL_VMSTAT]) {
        bool suspicious = e->storm.on || in_flight(p, s, est);
        at = earlier(at, now + (suspicious ? VMSTAT_SUSPICIOUS : VMSTAT_CALM));
    }
    return at;
}

/* --- the step ------------------------------------------------------------------------------ */

static void take_estimate(struct engine *e, const struct params *p, const struct snapshot *s,
                          struct estimate *ret)
{
    if (s->signals[SIGNAL_TASKSTATS] || !s->signals[SIGNAL_VMSTAT])
        e->vm_estimate = (struct estimate){0}; /* or it would be believed when it is old */
    if (s->signals[SIGNAL_TASKSTATS])
        estimate_storm(p, s, &e->yields, e->storm.on && e->storm.trust_all, ret);
    else
        *ret = e->vm_estimate;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void note_storm(struct engine *e, const struct snapshot *s, const struct estimate *est)
{
    struct storm *st = &e->storm;

    if (s->signals[SIGNAL_TASKSTATS]) {
        st->announced = less(est->announced, st->announced_before);
        st->bounded = less(est->bounded_total, st->bounded_before);
        st->tasks_total = (uint32_t)less(est->tasks_total, st->tasks_before);
    } else if (e->vm_fresh) {
        st->announced += est->announced;
        st->bounded += est->bounded_total;
        st->tasks_total = est->tasks > st->tasks_total ? est->tasks : st->tasks_total;
    }
    if (est->group[0])
        memcpy(st->group, est->group, sizeof(st->group));
}

static void step_storm(struct engine *e, const struct params *p, const struct snapshot *s,
                       const struct estimate *est, uint64_t now, struct plan *ret)
{
    bool flying = in_flight(p, s, est);

    if (!e->storm.on && flying && est->bounded >= storm_pages(p, s))
        storm_begin(e, s, est, now);
    if (!e->storm.on)
        return;
    note_storm(e, s, est);
    if (flying)
        storm_goes_on(e, p, s, est, now, ret);
    else
        storm_ebbs(e, p, s, now, ret);
}

/* Why what we own goes back at once, whatever the storm does. */
static enum reason must_go_back(const struct engine *e, const struct params *p)
{
    if (p->mode == MODE_OFF)
        return REASON_OFF;
    return any(e->yielded) ? REASON_YIELDED : e->must_restore;
}

void engine_step(struct engine *e, const struct params *p, const struct snapshot *s, uint64_t now,
                 struct plan *ret)
{
    struct estimate est;

    *ret = (struct plan){.wake_at = NEVER};
    note_vm(e, p, s);
    if (any(e->yielded) && now >= after(e->yielded_at, p->rearm_after))
        memset(e->yielded, 0, sizeof(e->yielded));
    if (e->storm.on && !owns(e) && e->storm.base.valid && freeing_is_seen(&e->storm))
        e->storm.trust_all = true;
    take_estimate(e, p, s, &est);

    if (now >= e->retry_at)
        e->retry_at = 0;
    enum reason back = must_go_back(e, p);

    if (e->pending || e->retry_at != 0) {
        /* The last action is still under way, or its repetition waits. */
    } else if (owns(e) && back != REASON_NONE) {
        plan_restore(e, back, now, ret);
    } else if (p->mode != MODE_OFF) {
        step_storm(e, p, s, &est, now, ret);
    } else {
        e->storm.on = false;
        e->state = ENGINE_CALM;
    }
    ret->wake_at = next_wake(e, p, s, &est, now);
}

/* --- outcomes ------------------------------------------------------------------------------ */

static void set_done(struct engine *e, uint64_t now)
{
    e->storm.changed_at = now;
    e->storm.lengthened = e->pending_reason == REASON_STORM_SHRANK;
    e->storm.n_planned = e->pending_n;
    e->state = owns(e) ? ENGINE_TUNED : ENGINE_WATCH;
    e->retry_delay = 0;
}

static void restore_done(struct engine *e, uint64_t now)
{
    struct storm *st = &e->storm;

    memset(&e->original, 0, sizeof(e->original));
    e->must_restore = REASON_NONE;
    e->retry_at = e->retry_delay = 0;
    st->changed_at = now;
    st->lengthened = true;
    if (st->empty_at != 0)
        st->on = false;
    e->state = st->on ? ENGINE_WATCH : ENGINE_CALM;
}

/* Of several knobs the outcome names one, the gravest: a second one that the actuator has let go
 * of without giving the original back is somebody else's too. */
static bool is_foreign(const struct engine *e, const struct outcome *o, enum knob_id k)
{
    return (o->kind == OUTCOME_FOREIGN && o->knob == k) ||
           (e->original.has[k] && !o->original.has[k] && o->after.has[k] &&
            o->after.value[k] != e->original.value[k]);
}

static void note_foreign(struct engine *e, const struct params *p, const struct outcome *o,
                         enum knob_id k, uint64_t now)
{
    if (!e->original.has[k]) {
        /* It changed before we came: that is a pin. */
        e->pinned[k] = o->before.has[k] && o->before.value[k] != knob_table[k].initial;
    } else if (p->on_foreign != FOREIGN_REASSERT) { /* which takes it as the new original */
        e->yielded[k] = true;
        e->yielded_at = now;
    }
}

static void note_knobs(struct engine *e, const struct params *p, const struct outcome *o,
                       uint64_t now)
{
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        bool foreign = is_foreign(e, o, k);
        if (foreign)
            note_foreign(e, p, o, k, now);
        e->original.has[k] = o->original.has[k] && !foreign;
        e->original.value[k] = o->original.value[k];
        if (o->after.has[k])
            e->ours.value[k] = o->after.value[k];
        e->ours.has[k] |= o->after.has[k];
    }
}

void engine_outcome(struct engine *e, const struct params *p, const struct outcome *o, uint64_t now)
{
    bool owned = owns(e);

    e->pending = false;
    budget_spend(&e->budget, now, knobs_changed(&o->after, &o->before));
    note_knobs(e, p, o, now);
    if (!owned && owns(e))
        e->storm.tuned_since = now;
    switch (o->kind) {
    case OUTCOME_DONE:
    case OUTCOME_UNCHANGED:
    case OUTCOME_FOREIGN:
        if (o->action == PLAN_RESTORE)
            restore_done(e, now);
        else if (o->kind != OUTCOME_FOREIGN)
            set_done(e, now);
        return;
    case OUTCOME_REFUSED:
    case OUTCOME_GONE:
        e->refused = true;
        break;
    case OUTCOME_FAILED:
    case OUTCOME_MAX:
        break;
    }
    if (owns(e))
        e->must_restore = o->action == PLAN_RESTORE ? e->pending_reason : REASON_UNWRITABLE;
    e->retry_delay = e->retry_delay ? earlier(2 * e->retry_delay, RETRY_LAST) : RETRY_FIRST;
    e->retry_at = now + e->retry_delay;
}
