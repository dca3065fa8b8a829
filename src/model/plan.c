/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan.h"

#include <inttypes.h>
#include <stdio.h>

const char *reason_name(enum reason r)
{
    static const char *const names[REASON_MAX] = {
        [REASON_NONE] = "none",
        [REASON_STORM] = "storm",
        [REASON_STORM_GREW] = "storm-grew",
        [REASON_STORM_SHRANK] = "storm-shrank",
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

/* "9 tasks of docker 3f2a9c01d2ab, 589824 pages: W = 2 x 20ns x 2016 = 80us" */
static int describe_threat(const struct evidence_numbers *w, char *buf, size_t size)
{
    char before[WAIT_BUF];
    return snprintf(buf, size,
                    "%" PRIu32 " task%s in flight (%" PRIu32 " in this storm, most of %s), %" PRIu64
                    " pages: W = %" PRIu32 " x %" PRIu64 "ns x %" PRIu32 " = %s",
                    w->tasks, w->tasks == 1 ? "" : "s", w->tasks_total,
                    w->group[0] ? w->group : "unknown", w->pages, w->n_now, w->page_cost,
                    w->b_before, wait(w->w_before, before));
}

static void describe_change(const struct plan *p, char *buf, size_t size)
{
    const struct evidence_numbers *w = &p->why;
    char target[WAIT_BUF], after[WAIT_BUF];
    int n = describe_threat(w, buf, size);

    if (n < 0 || (size_t)n >= size)
        return;
    snprintf(buf + n, size - (size_t)n,
             " > %s; b %" PRIu32 " -> %" PRIu32 " makes it %s for %" PRIu32 " task%s%s",
             wait(w->target, target), w->b_before, w->b_after, wait(w->w_after, after),
             w->n_planned, w->n_planned == 1 ? "" : "s",
             w->w_after > w->target ? ", the best that can be had" : "");
}

static void describe_left_alone(const struct plan *p, char *buf, size_t size)
{
    const struct evidence_numbers *w = &p->why;
    char target[WAIT_BUF], after[WAIT_BUF];
    int n = describe_threat(w, buf, size);

    if (n < 0 || (size_t)n >= size)
        return;
    buf += n;
    size -= (size_t)n;
    switch (p->reason) {
    case REASON_WITHIN_TARGET:
        n = snprintf(buf, size, " <= %s: left alone", wait(w->target, target));
        break;
    case REASON_NO_GAIN:
        n = snprintf(buf, size, " > %s, but no knob value within bounds makes a hold shorter",
                     wait(w->target, target));
        break;
    case REASON_PRICE:
        n = snprintf(buf, size,
                     " > %s, but b = %" PRIu32 " would first drain %" PRIu64 " pages of %" PRIu32
                     " CPUs' lists, W = %s: left alone",
                     wait(w->target, target), w->b_after, w->excess, w->excess_cpus,
                     wait(w->w_after, after));
        break;
    case REASON_YIELD:
        n = snprintf(buf, size,
                     "; %" PRIu64 " pages were announced, but such exits have freed few before",
                     w->announced);
        break;
    case REASON_BUDGET:
        n = snprintf(buf, size, ", but %" PRIu32 " writes are left this hour", w->writes_left);
        break;
    case REASON_UNREAD:
        n = snprintf(buf, size, ", but the knob's value is not known: the sysctl does not answer");
        break;
    case REASON_NO_KNOB:
        n = snprintf(buf, size, ", but this kernel has no knob that could be moved");
        break;
    case REASON_PINNED:
        n = snprintf(buf, size, ", but the knob was set by somebody else before we came");
        break;
    case REASON_YIELDED:
        n = snprintf(buf, size, ", but somebody else owns the knob now");
        break;
    case REASON_UNWRITABLE:
        n = snprintf(buf, size, ", but the knob cannot be written");
        break;
    default:
        n = snprintf(buf, size, ": %s", reason_name(p->reason));
        break;
    }
    if (w->repeats > 0 && n > 0 && (size_t)n < size)
        snprintf(buf + n, size - (size_t)n, " (and %" PRIu32 " more like it since the last line)",
                 w->repeats);
}

static void describe_end(const struct plan *p, char *buf, size_t size)
{
    const struct evidence_numbers *w = &p->why;

    switch (p->reason) {
    case REASON_CALM:
        snprintf(buf, size,
                 "over after %" PRIu64 "ms: %" PRIu32 " tasks announced %" PRIu64 " pages, %" PRIu64
                 " pages were freed meanwhile; originals restored",
                 w->since / 1000000, w->tasks_total, w->announced, w->freed);
        break;
    case REASON_FALSE_ALARM:
        snprintf(buf, size,
                 "false alarm: %" PRIu32 " tasks announced %" PRIu64 " pages, and after %" PRIu64
                 "ms %" PRIu64 " were freed; originals restored",
                 w->tasks_total, w->announced, w->since / 1000000, w->freed);
        break;
    case REASON_TOO_LONG:
        snprintf(buf, size,
                 "no end after %" PRIu64 "ms: %" PRIu32 " tasks announced %" PRIu64
                 " pages; originals restored, left alone until it is over",
                 w->since / 1000000, w->tasks_total, w->announced);
        break;
    default:
        snprintf(buf, size, "originals restored (%s)", reason_name(p->reason));
        break;
    }
}

char *plan_describe(const struct plan *p, char *buf, size_t size)
{
    switch (p->action) {
    case PLAN_SET:
        describe_change(p, buf, size);
        break;
    case PLAN_RESTORE:
        describe_end(p, buf, size);
        break;
    case PLAN_NONE:
        if (p->reason == REASON_NONE)
            snprintf(buf, size, "nothing to do");
        else
            describe_left_alone(p, buf, size);
        break;
    }
    return buf;
}
