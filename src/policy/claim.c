/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "claim.h"

#include <string.h>

static bool any(const bool flags[static KNOB_MAX])
{
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (flags[k])
            return true;
    }
    return false;
}

static bool is_pin(const struct knob_values *v, unsigned k)
{
    return v->has[k] && v->value[k] != knob_table[k].initial;
}

void claim_found(struct claim *c, const struct knob_values *found)
{
    for (unsigned k = 0; k < KNOB_MAX; k++)
        c->pinned[k] = is_pin(found, k);
}

void claim_seen(struct claim *c, const struct knob_values *now)
{
    for (unsigned k = 0; k < KNOB_MAX; k++)
        c->pinned[k] &= c->original.has[k] || is_pin(now, k);
}

/* Of several knobs the outcome names one, the gravest: a second one that the actuator has let go
 * of without giving the original back is somebody else's too. */
static bool is_foreign(const struct claim *c, const struct outcome *o, enum knob_id k)
{
    return (o->kind == OUTCOME_FOREIGN && o->knob == k) ||
           (c->original.has[k] && !o->original.has[k] && o->after.has[k] &&
            o->after.value[k] != c->original.value[k]);
}

static void note_foreign(struct claim *c, const struct params *p, const struct outcome *o,
                         enum knob_id k, uint64_t now)
{
    if (!c->original.has[k]) {
        /* It changed before we came. */
        c->pinned[k] = is_pin(&o->before, k);
    } else if (p->on_foreign != FOREIGN_REASSERT) { /* which takes it as the new original */
        c->yielded[k] = true;
        c->yielded_at = now;
    }
}

void claim_outcome(struct claim *c, const struct params *p, const struct outcome *o, uint64_t now)
{
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        bool foreign = is_foreign(c, o, k);
        if (foreign)
            note_foreign(c, p, o, k, now);
        c->original.has[k] = o->original.has[k] && !foreign;
        c->original.value[k] = o->original.value[k];
        if (o->after.has[k])
            c->ours.value[k] = o->after.value[k];
        c->ours.has[k] |= o->after.has[k];
    }
    c->refused |= o->kind == OUTCOME_REFUSED || o->kind == OUTCOME_GONE;
}

void claim_released(struct claim *c)
{
    memset(&c->original, 0, sizeof(c->original));
}

uint64_t claim_rearm_at(const struct claim *c, const struct params *p)
{
    if (!claim_yielded(c) || c->yielded_at > UINT64_MAX - p->rearm_after)
        return UINT64_MAX;
    return c->yielded_at + p->rearm_after;
}

void claim_expire(struct claim *c, const struct params *p, uint64_t now)
{
    if (now >= claim_rearm_at(c, p))
        memset(c->yielded, 0, sizeof(c->yielded));
}

void claim_rearm(struct claim *c)
{
    memset(c->yielded, 0, sizeof(c->yielded));
    c->refused = false;
}

bool claim_held(const struct claim *c)
{
    return any(c->original.has);
}

bool claim_yielded(const struct claim *c)
{
    return any(c->yielded);
}

enum reason claim_usable(const struct claim *c, const struct params *p, const struct snapshot *s,
                         bool usable[static KNOB_MAX])
{
    bool pinned = false;

    memset(usable, 0, KNOB_MAX * sizeof(*usable));
    if (!s->knobs_known)
        return REASON_UNREAD;
    if (s->host->regime == REGIME_R1 || s->host->regime == REGIME_UNKNOWN)
        return REASON_NO_KNOB;
    if (c->refused)
        return REASON_UNWRITABLE;
    if (claim_yielded(c))
        return REASON_YIELDED;
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        bool pin = c->pinned[k] && p->on_pinned == PINNED_RESPECT;
        pinned |= pin;
        usable[k] = s->knobs.has[k] && !pin;
    }
    if (any(usable))
        return REASON_NONE;
    return pinned ? REASON_PINNED : REASON_NO_KNOB;
}

/* What is observed, but for the knobs that are ours. */
static struct knob_values over(const struct claim *c, const struct snapshot *s,
                               const struct knob_values *held)
{
    struct knob_values v = s->knobs;

    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (c->original.has[k])
            v.value[k] = held->value[k];
    }
    return v;
}

struct knob_values claim_base(const struct claim *c, const struct snapshot *s)
{
    return over(c, s, &c->original);
}

struct knob_values claim_current(const struct claim *c, const struct snapshot *s)
{
    return over(c, s, &c->ours);
}

uint32_t knobs_changed(const struct knob_values *a, const struct knob_values *b)
{
    uint32_t n = 0;

    for (unsigned k = 0; k < KNOB_MAX; k++)
        n += a->has[k] && a->value[k] != b->value[k];
    return n;
}
