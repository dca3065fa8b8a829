/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "repeat.h"

#include <string.h>

#define INTERVAL_FIRST (60 * NSEC_PER_SEC)
#define INTERVAL_LAST (3600 * NSEC_PER_SEC)

static bool same(const struct event *a, const struct event *b)
{
    if (a->kind != b->kind || a->level != b->level || a->dry_run != b->dry_run ||
        a->has_plan != b->has_plan)
        return false;
    if (!a->has_plan)
        return strcmp(a->text, b->text) == 0;
    return a->plan.action == PLAN_NONE && b->plan.action == PLAN_NONE &&
           a->plan.reason == b->plan.reason && strcmp(a->plan.why.group, b->plan.why.group) == 0;
}

bool repeat_takes(struct repeat *r, const struct event *e, nsec_t now)
{
    if (!r->has || !same(&r->last, e))
        return false;
    if (r->count == 0)
        r->due = now + r->interval;
    r->count++;
    r->last = *e;
    return true;
}

void repeat_told(struct repeat *r, const struct event *e)
{
    *r = (struct repeat){.has = true, .last = *e, .interval = INTERVAL_FIRST};
}

nsec_t repeat_due(const struct repeat *r)
{
    return r->count > 0 ? r->due : NSEC_INFINITY;
}

const struct event *repeat_flush(struct repeat *r)
{
    if (r->count == 0)
        return NULL;
    r->last.repeats = r->count;
    r->count = 0;
    r->interval = MIN(2 * r->interval, INTERVAL_LAST);
    return &r->last;
}

/* What an operator has ordered is told always. */
static bool is_end(const struct event *e)
{
    enum reason r = e->plan.reason;

    return e->kind == EVENT_RESTORED &&
           (r == REASON_CALM || r == REASON_TOO_LONG || r == REASON_OFF);
}

bool storm_lines_take(struct storm_lines *s, const struct event *e)
{
    if (!e->has_plan || e->plan.why.storm_id == 0)
        return true;
    if (e->plan.why.storm_id != s->id)
        *s = (struct storm_lines){.id = e->plan.why.storm_id};
    if (s->lines >= 2 && !is_end(e))
        return false;
    s->lines++;
    return true;
}
