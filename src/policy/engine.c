/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>

#include "choose.h"
#include "engine_impl.h"

/* A restore that fails is tried again after 1 s, 2 s, 4 s ... 64 s. */
#define SEC UINT64_C(1000000000)
#define RETRY_FIRST (1 * SEC)
#define RETRY_LAST (64 * SEC)

const char *engine_state_name(enum engine_state s)
{
    static const char *const names[ENGINE_STATES] = {
        [ENGINE_CALM] = "calm",       [ENGINE_WATCH] = "watch",   [ENGINE_TUNED] = "tuned",
        [ENGINE_HOLD] = "hold",       [ENGINE_STEADY] = "steady", [ENGINE_YIELDED] = "yielded",
        [ENGINE_REFUSED] = "refused",
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

enum engine_state engine_get_state(const struct engine *e)
{
    if (e->claim.refused)
        return ENGINE_REFUSED;
    if (claim_yielded(&e->claim))
        return ENGINE_YIELDED;
    return e->state;
}

uint64_t engine_storm(const struct engine *e)
{
    return e->storm.on ? e->storm.id : 0;
}

bool engine_idle(const struct engine *e)
{
    return !e->storm.on && !e->pending && (e->steady.on || !claim_held(&e->claim));
}

void engine_found(struct engine *e, const struct knob_values *found)
{
    claim_found(&e->claim, found);
}

void engine_seen(struct engine *e, const struct knob_values *now)
{
    claim_seen(&e->claim, now);
}

void engine_rearm(struct engine *e)
{
    claim_rearm(&e->claim);
}

/* --- the step ------------------------------------------------------------------------------ */

static void note_vm(struct engine *e, const struct params *p, const struct snapshot *s)
{
    e->vm_fresh = s->vm.valid && (!e->seen.valid || s->vm.at > e->seen.at);
    if (!e->vm_fresh)
        return;
    if (!s->signals[SIGNAL_TASKSTATS])
        estimate_vmstat(s->host, p->page_cost, &e->seen, &s->vm, &e->vm_estimate);
    e->seen = s->vm;
    start_note(&e->start, p, s);
    if (e->storm.on)
        storm_note_vm(&e->storm, &s->vm);
}

/* Freeing that is seen before anything was written is that of the exits, not of drained lists. */
static void note_proof(struct engine *e)
{
    struct storm *st = &e->storm;

    if (st->on && !st->tuned && !st->starting && st->base.valid && storm_freeing(st) &&
        storm_exceeds(st))
        st->trust_all = true;
}

static void take_estimate(struct engine *e, const struct params *p, const struct snapshot *s,
                          struct estimate *ret)
{
    if (s->signals[SIGNAL_TASKSTATS] || !s->signals[SIGNAL_VMSTAT])
        e->vm_estimate = (struct estimate){0}; /* or it would be believed when it is old */
    if (s->signals[SIGNAL_TASKSTATS])
        estimate_storm(p, s, &e->yields, e->storm.on && e->storm.trust_all, ret);
    else
        *ret = e->vm_estimate;

    /* Who exits comes first: an exit storm is exact, and its end is known. */
    bool exits = (e->storm.on && !e->storm.starting) ||
                 (ret->tasks > 0 && ret->bounded >= storm_pages(p, s));
    if (!exits && s->signals[SIGNAL_VMSTAT] && (e->start.tasks > 0 || e->storm.on))
        start_estimate(&e->start, ret);
}

/* That tasks start is worth a word only where others would wait for it. */
static bool begins(const struct step *x)
{
    struct engine *e = x->e;
    struct threat t;

    if (e->storm.on && e->storm.starting == x->est.starting)
        return false;
    if (!storm_in_flight(x->p, x->s, &x->est) || x->est.bounded < storm_pages(x->p, x->s))
        return false;
    if (!x->est.starting)
        return true;
    struct knob_values base = claim_base(&e->claim, x->s);
    assess_threat(x->p, x->s, &x->est, &base, &t);
    return e->start.close && t.w > x->p->target_wait;
}

static void storm_step(const struct step *x)
{
    struct engine *e = x->e;

    if (begins(x))
        storm_begin(&e->storm, ++e->storms, x->s, &x->est, x->now);
    if (!e->storm.on || e->steady.on == REASON_CHURN) {
        steady_step(x); /* longer lists are no place to meet a storm from */
        return;
    }
    storm_note(&e->storm, x->s, &x->est, e->vm_fresh);
    course_step(x);
}

/* Why what we own goes back at once, whatever the storm does. */
static enum reason must_go_back(const struct engine *e, const struct params *p)
{
    if (p->mode == MODE_OFF)
        return REASON_OFF;
    return claim_yielded(&e->claim) ? REASON_YIELDED : e->must_restore;
}

void engine_step(struct engine *e, const struct params *p, const struct snapshot *s, uint64_t now,
                 struct plan *ret)
{
    struct step x = {.e = e, .p = p, .s = s, .now = now, .plan = ret};

    *ret = (struct plan){0};
    note_vm(e, p, s);
    claim_expire(&e->claim, p, now);
    note_proof(e);
    take_estimate(e, p, s, &x.est);

    if (now >= e->retry_at)
        e->retry_at = 0;
    enum reason back = must_go_back(e, p);

    if (e->pending || e->retry_at != 0) {
        /* The last action is still under way, or its repetition waits. */
    } else if (claim_held(&e->claim) && back != REASON_NONE) {
        decide_restore(&x, back);
    } else if (p->mode != MODE_OFF) {
        storm_step(&x);
    } else {
        e->storm.on = e->storm.tuned = false;
        e->steady.cause = REASON_NONE;
        e->state = ENGINE_CALM;
    }
    ret->wake_at = wake_at(&x);
}

/* --- its outcome --------------------------------------------------------------------------- */

static void set_done(struct engine *e, uint64_t now)
{
    e->retry_delay = 0;
    if (e->pending_steady) {
        if (claim_held(&e->claim))
            steady_set(&e->steady, e->pending_reason, now);
        e->state = e->steady.on ? ENGINE_STEADY : ENGINE_CALM;
        return;
    }
    e->storm.changed_at = now;
    e->storm.lengthened = e->pending_reason == REASON_STORM_SHRANK;
    e->storm.n_planned = e->pending_n;
    e->state = e->storm.tuned ? ENGINE_TUNED : ENGINE_WATCH;
}

static void restore_done(struct engine *e, uint64_t now)
{
    struct storm *st = &e->storm;

    claim_released(&e->claim);
    e->must_restore = REASON_NONE;
    e->retry_at = e->retry_delay = 0;
    steady_restored(&e->steady, e->pending_reason, now);
    if (!e->pending_steady) {
        st->changed_at = now;
        st->lengthened = true;
    }
    st->tuned = false;
    if (st->empty_at != 0 && st->on && !st->starting)
        start_expect(&e->start, now);
    if (st->empty_at != 0)
        st->on = false;
    e->state = st->on ? ENGINE_WATCH : ENGINE_CALM;
}

static void failed(struct engine *e, enum plan_action action, uint64_t now)
{
    if (claim_held(&e->claim))
        e->must_restore = action == PLAN_RESTORE ? e->pending_reason : REASON_UNWRITABLE;
    e->retry_delay = e->retry_delay ? 2 * e->retry_delay : RETRY_FIRST;
    if (e->retry_delay > RETRY_LAST)
        e->retry_delay = RETRY_LAST;
    e->retry_at = now + e->retry_delay;
}

/* What is ours, also by a change that was only half made, is held for the storm or for calm. */
static void note_owner(struct engine *e, bool by_storm, uint64_t now)
{
    bool held = claim_held(&e->claim);

    if (by_storm && held) {
        if (!e->storm.tuned)
            e->storm.tuned_since = now;
        e->storm.tuned = true;
        e->steady.on = REASON_NONE; /* taken over */
    }
    if (!held) {
        e->storm.tuned = false;
        e->steady.on = REASON_NONE;
        if (e->state == ENGINE_STEADY)
            e->state = ENGINE_CALM;
    }
}

void engine_outcome(struct engine *e, const struct params *p, const struct outcome *o, uint64_t now)
{
    e->pending = false;
    budget_spend(&e->budget, now, knobs_changed(&o->after, &o->before));
    claim_outcome(&e->claim, p, o, now);
    note_owner(e, o->action == PLAN_SET && !e->pending_steady, now);
    switch (o->kind) {
    case OUTCOME_DONE:
    case OUTCOME_UNCHANGED:
    case OUTCOME_FOREIGN:
        if (o->action == PLAN_RESTORE)
            restore_done(e, now);
        else if (o->kind != OUTCOME_FOREIGN)
            set_done(e, now);
        break;
    case OUTCOME_REFUSED:
    case OUTCOME_GONE:
    case OUTCOME_FAILED:
    case OUTCOME_MAX:
        failed(e, o->action, now);
        break;
    }
}
