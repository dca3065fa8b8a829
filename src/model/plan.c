/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

const char *reason_name(enum reason r)
{
    static const char *const names[REASON_MAX] = {
        [REASON_NONE] = "none",
        [REASON_STORM] = "storm",
        [REASON_STORM_GREW] = "storm-grew",
        [REASON_STORM_SHRANK] = "storm-shrank",
        [REASON_HOARD] = "hoard",
        [REASON_PRESSURE] = "pressure",
        [REASON_CHURN] = "churn",
        [REASON_WITHIN_TARGET] = "within-target",
        [REASON_NO_GAIN] = "no-gain",
        [REASON_PRICE] = "price",
        [REASON_YIELD] = "low-yield",
        [REASON_BUDGET] = "write-budget",
        [REASON_NO_KNOB] = "no-knob",
        [REASON_UNREAD] = "unread",
        [REASON_PINNED] = "pinned",
        [REASON_YIELDED] = "yielded",
        [REASON_UNWRITABLE] = "unwritable",
        [REASON_CALM] = "calm",
        [REASON_FALSE_ALARM] = "false-alarm",
        [REASON_OFF] = "off",
        [REASON_TOO_LONG] = "too-long",
        [REASON_EASED] = "eased",
        [REASON_NO_HELP] = "no-help",
    };
    return (unsigned)r < REASON_MAX ? names[r] : "unknown";
}

const char *outcome_name(enum outcome_kind k)
{
    static const char *const names[OUTCOME_MAX] = {
        [OUTCOME_DONE] = "done",       [OUTCOME_UNCHANGED] = "unchanged",
        [OUTCOME_FOREIGN] = "foreign", [OUTCOME_REFUSED] = "refused",
        [OUTCOME_FAILED] = "failed",   [OUTCOME_GONE] = "gone",
    };
    return (unsigned)k < OUTCOME_MAX ? names[k] : "unknown";
}

static const char *plural(uint32_t n)
{
    return n == 1 ? "" : "s";
}

#define WAIT_BUF 24

/* base/units is not ours to use: model knows nobody. Microseconds are what the target is in. */
static const char *wait(uint64_t ns, char buf[static WAIT_BUF])
{
    if (ns < 10000)
        snprintf(buf, WAIT_BUF, "%" PRIu64 ".%" PRIu64 "us", ns / 1000, ns % 1000 / 100);
    else if (ns < 10000000)
        snprintf(buf, WAIT_BUF, "%" PRIu64 "us", ns / 1000);
    else
        snprintf(buf, WAIT_BUF, "%" PRIu64 "ms", ns / 1000000);
    return buf;
}

struct text { /* what does not fit is cut off */
    char *buf;
    size_t size, used;
};

static __attribute__((__format__(__printf__, 2, 3))) void say(struct text *t, const char *fmt, ...)
{
    va_list ap;

    if (t->used >= t->size)
        return;
    va_start(ap, fmt);
    int n = vsnprintf(t->buf + t->used, t->size - t->used, fmt, ap);
    va_end(ap);
    t->used += n > 0 ? (size_t)n : 0;
}

/* "9 tasks in flight (9 in this storm, most of docker 3f2a9c01d2ab), 589824 pages: W = ... = 80us"
 */
static void say_threat(struct text *t, const struct evidence_numbers *w)
{
    char before[WAIT_BUF];

    if (w->starting)
        say(t, "about %" PRIu32 " tasks fault memory in, %" PRIu64 " pages so far", w->tasks,
            w->pages);
    else
        say(t,
            "%" PRIu32 " task%s in flight (%" PRIu32 " in this storm, most of %s), %" PRIu64
            " pages",
            w->tasks, plural(w->tasks), w->tasks_total, w->group[0] ? w->group : "unknown",
            w->pages);
    say(t, ": W = %" PRIu32 " x %" PRIu64 "ns x %" PRIu32 " = %s", w->n_now, w->page_cost,
        w->b_before, wait(w->w_before, before));
}

/* What calm asks of the lists. */
static bool describe_steady(enum reason r, const struct evidence_numbers *w, struct text *t)
{
    if (r == REASON_HOARD)
        say(t, "on this small machine the CPUs' lists hold %" PRIu64 " pages", w->held);
    else if (r == REASON_PRESSURE)
        say(t, "memory is short, and the CPUs' lists hold %" PRIu64 " pages of it", w->held);
    else if (r == REASON_CHURN)
        say(t, "%" PRIu64 " pages a second are taken and given back", w->traffic);
    else
        return false;
    say(t, "; together they may hold %" PRIu64 " now", w->may_hold);
    return true;
}

static void describe_change(const struct evidence_numbers *w, struct text *t)
{
    char target[WAIT_BUF], after[WAIT_BUF];

    say_threat(t, w);
    say(t, " > %s; b %" PRIu32 " -> %" PRIu32 " makes it %s for %" PRIu32 " task%s%s",
        wait(w->target, target), w->b_before, w->b_after, wait(w->w_after, after), w->n_planned,
        plural(w->n_planned), w->w_after > w->target ? ", the best that is worth its price" : "");
    say(t, ", at %" PRIu32 ".%02" PRIu32 "%% of throughput", w->loss / 100, w->loss % 100);
}

/* Why nothing is done, where that takes no number. */
static const char *plain_reason(enum reason r)
{
    static const char *const text[REASON_MAX] = {
        [REASON_UNREAD] = "the knob's value is not known: the sysctl does not answer",
        [REASON_NO_KNOB] = "this kernel has no knob that could be moved",
        [REASON_PINNED] = "the knob was set by somebody else before we came",
        [REASON_YIELDED] = "somebody else owns the knob now",
        [REASON_UNWRITABLE] = "the knob cannot be written",
    };
    return (unsigned)r < REASON_MAX ? text[r] : NULL;
}

static void say_why_not(struct text *t, enum reason r, const struct evidence_numbers *w)
{
    char target[WAIT_BUF], after[WAIT_BUF];

    wait(w->target, target);
    if (plain_reason(r))
        say(t, ", but %s", plain_reason(r));
    else if (r == REASON_WITHIN_TARGET)
        say(t, " <= %s: left alone", target);
    else if (r == REASON_NO_GAIN)
        say(t, " > %s, but no knob value within bounds makes a hold shorter", target);
    else if (r == REASON_PRICE)
        say(t,
            " > %s, but b = %" PRIu32 " (W = %s) would first drain %" PRIu64
            " pages of the CPUs' lists: left alone",
            target, w->b_after, wait(w->w_after, after), w->excess);
    else if (r == REASON_YIELD)
        say(t, "; %" PRIu64 " pages were announced, but such exits have freed few before",
            w->announced);
    else if (r == REASON_BUDGET)
        say(t, ", but %" PRIu32 " writes are left this hour", w->writes_left);
    else
        say(t, ": %s", reason_name(r));
}

static void describe_left_alone(enum reason r, const struct evidence_numbers *w, struct text *t)
{
    say_threat(t, w);
    say_why_not(t, r, w);
    if (w->repeats > 0)
        say(t, " (and %" PRIu32 " more like it since the last line)", w->repeats);
}

static void describe_end(enum reason r, const struct evidence_numbers *w, struct text *t)
{
    uint64_t ms = w->since / 1000000;

    if (r == REASON_CALM && w->starting)
        say(t,
            "over after %" PRIu64 "ms: up to %" PRIu32 " tasks have faulted %" PRIu64
            " pages in; originals restored",
            ms, w->tasks_total, w->announced);
    else if (r == REASON_CALM)
        say(t,
            "over after %" PRIu64 "ms: %" PRIu32 " task%s announced %" PRIu64 " pages, %" PRIu64
            " pages were freed meanwhile; originals restored",
            ms, w->tasks_total, plural(w->tasks_total), w->announced, w->freed);
    else if (r == REASON_FALSE_ALARM)
        say(t,
            "false alarm: %" PRIu32 " task%s announced %" PRIu64 " pages, and after %" PRIu64
            "ms %" PRIu64 " were freed; originals restored",
            w->tasks_total, plural(w->tasks_total), w->announced, ms, w->freed);
    else if (r == REASON_TOO_LONG)
        say(t,
            "no end after %" PRIu64 "ms: %" PRIu32 " task%s announced %" PRIu64
            " pages; originals restored, left alone until it is over",
            ms, w->tasks_total, plural(w->tasks_total), w->announced);
    else if (r == REASON_EASED)
        say(t, "it has eased after %" PRIu64 "s; originals restored", w->since / 1000000000);
    else if (r == REASON_NO_HELP)
        say(t,
            "longer lists made the traffic no faster, now %" PRIu64
            " pages a second; originals restored, not tried again for an hour",
            w->traffic);
    else
        say(t, "originals restored (%s)", reason_name(r));
}

char *plan_describe(const struct plan *p, char *buf, size_t size)
{
    struct text t = {.buf = buf, .size = size};

    switch (p->action) {
    case PLAN_SET:
        if (!describe_steady(p->reason, &p->why, &t))
            describe_change(&p->why, &t);
        break;
    case PLAN_RESTORE:
        describe_end(p->reason, &p->why, &t);
        break;
    case PLAN_NONE:
        if (p->reason == REASON_NONE)
            say(&t, "nothing to do");
        else
            describe_left_alone(p->reason, &p->why, &t);
        break;
    }
    return buf;
}
