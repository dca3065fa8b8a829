/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "choose.h"
#include "engine_impl.h"
#include "hold.h"

/* Exits come in a burst: plan for twice the tasks that are seen, so that a storm that grows to
 * 256 tasks costs 8 writes and not 256. */
#define GROWTH 2

static uint32_t plan_for(const struct threat *t)
{
    uint32_t n = t->n * GROWTH;

    if (t->path == PCP_ALLOC) /* a busy lock hides its queue: how many wait is not known */
        return t->n_max;
    return n < t->n_max ? n : t->n > t->n_max ? t->n : t->n_max;
}

static void fill_why(const struct step *x, const struct threat *t, const struct choice *c,
                     struct evidence_numbers *w)
{
    *w = (struct evidence_numbers){
        .tasks = x->est.tasks,
        .pages = x->est.pages,
        .n_now = t->n,
        .n_planned = c->n_planned,
        .b_before = t->b,
        .b_after = c->b_after,
        .w_before = t->w,
        .w_after = c->w_after,
        .target = x->p->target_wait,
        .page_cost = x->p->page_cost,
        .excess = c->excess,
        .loss = c->loss,
        .writes_left = budget_left(&x->e->budget, x->p->writes_per_hour, x->now),
    };
    if (t->path == PCP_ALLOC && t->b > 0) { /* planned for all CPUs: told for those that are seen */
        w->n_planned = t->n;
        w->w_after = t->w / t->b * c->b_after;
    }
    storm_evidence(&x->e->storm, x->now, w);
    memcpy(w->group, x->est.group, sizeof(w->group));
}

/* Left alone: the decision with the largest W is kept for the line at the end. */
static void remember_peak(struct plan *peak, enum reason reason, const struct evidence_numbers *w)
{
    if (peak->reason == REASON_NONE || w->w_before >= peak->why.w_before) {
        peak->reason = reason;
        peak->why = *w;
    }
}

/* What to write for this threat, or why nothing. */
static void weigh(const struct step *x, const struct knob_values *base, const struct threat *t,
                  struct choice *c)
{
    const struct claim *claim = &x->e->claim;
    bool usable[KNOB_MAX];

    enum reason barred = claim_usable(claim, x->p, x->s, usable);
    choose_values(x->p, x->s, &x->est, base, usable, t, plan_for(t), c);
    for (unsigned k = 0; k < KNOB_MAX; k++) /* others' knobs are theirs, whatever they write */
        c->values.has[k] &= usable[k] || claim->original.has[k];
    if (c->reason != REASON_WITHIN_TARGET && barred != REASON_NONE)
        c->reason = barred;
    else if (c->reason == REASON_STORM &&
             (x->est.pages < storm_pages(x->p, x->s) || storm_disbelieved(&x->e->storm, x->now)))
        c->reason = REASON_YIELD;
}

static void plan_set(const struct step *x, enum reason reason, const struct knob_values *current,
                     const struct choice *c, const struct evidence_numbers *why)
{
    *x->plan = (struct plan){
        .action = PLAN_SET,
        .reason = reason,
        .report = reason == REASON_STORM,
        .from = *current,
        .values = c->values,
        .why = *why,
    };
    x->e->pending = true;
    x->e->pending_steady = false;
    x->e->pending_reason = reason;
    x->e->pending_n = c->n_planned;
}

void decide(const struct step *x, enum reason reason)
{
    struct knob_values base = claim_base(&x->e->claim, x->s);
    struct knob_values current = claim_current(&x->e->claim, x->s);
    struct evidence_numbers why;
    struct threat t;
    struct choice c;

    x->e->storm.cpus = x->s->host->cpus_online;
    assess_threat(x->p, x->s, &x->est, &base, &t);
    weigh(x, &base, &t, &c);
    x->e->storm.worth_from = c.worth_from;
    fill_why(x, &t, &c, &why);
    /* What bounds the lists in calm may be short enough already. */
    if (x->e->steady.on && c.reason == REASON_STORM &&
        hold_on(x->s->host, x->s->zones, t.node, t.path, &current) <= c.b_after)
        c.values = current;
    uint32_t writes = knobs_changed(&c.values, &current);
    uint32_t back = knobs_changed(&c.values, &base); /* what the restore will take */
    if (c.reason == REASON_STORM && writes > 0 && why.writes_left < writes + back)
        c.reason = REASON_BUDGET;

    remember_peak(&x->e->storm.peak, c.reason, &why);
    if (c.reason == REASON_STORM && writes > 0)
        plan_set(x, reason, &current, &c, &why);
    else if (c.reason == REASON_STORM)
        x->e->storm.n_planned = c.n_planned;
    else if (c.reason == REASON_WITHIN_TARGET && reason == REASON_STORM_SHRANK)
        decide_restore(x, reason);
}

void decide_restore(const struct step *x, enum reason reason)
{
    struct engine *e = x->e;

    *x->plan = (struct plan){
        .action = PLAN_RESTORE,
        .reason = reason,
        .report = true,
        .from = e->claim.ours,
        .values = e->claim.original,
        .why = e->storm.peak.why,
    };
    storm_evidence(&e->storm, x->now, &x->plan->why);
    e->pending = true;
    e->pending_steady = false;
    e->pending_reason = reason;
}
