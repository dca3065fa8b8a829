/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event.h"

#include <inttypes.h>
#include <string.h>

#include "utf8.h"

const char *event_name(enum event_kind k)
{
    static const char *const names[EVENT_KINDS] = {
        [EVENT_STARTED] = "started",       [EVENT_STOPPED] = "stopped",
        [EVENT_STORM] = "storm",           [EVENT_ADAPTED] = "adapted",
        [EVENT_LISTS] = "lists",           [EVENT_RESTORED] = "restored",
        [EVENT_LEFT_ALONE] = "left-alone", [EVENT_FOREIGN] = "foreign",
        [EVENT_REFUSED] = "refused",       [EVENT_RECOVERED] = "recovered",
        [EVENT_SIGNAL] = "signal",         [EVENT_KNOB_HANGS] = "knob-hangs",
        [EVENT_RELOADED] = "reloaded",     [EVENT_RELOAD_REJECTED] = "reload-rejected",
        [EVENT_NOTICE] = "notice",
    };
    return (unsigned)k < EVENT_KINDS ? names[k] : "unknown";
}

/* "vm.percpu_pagelist_high_fraction 0 -> 3167": what the outcome changed, "" if nothing. */
static void describe_knobs(const struct outcome *o, char *buf, size_t size)
{
    size_t len = 0;

    buf[0] = '\0';
    for (unsigned k = 0; k < KNOB_MAX && len < size; k++) {
        if (!o->before.has[k] || !o->after.has[k] || o->before.value[k] == o->after.value[k])
            continue;
        int n = snprintf(buf + len, size - len, "%s%s %d -> %d", len ? ", " : "",
                         knob_table[k].name, o->before.value[k], o->after.value[k]);
        len += n > 0 ? (size_t)n : 0;
    }
}

/* An event is one line of UTF-8, whatever a file is called and wherever it was cut: a bus takes no
 * other string. */
static char *flatten(char *s)
{
    for (char *c = s; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    }
    return utf8_repair(s);
}

static bool would(const struct event *e)
{
    return e->dry_run && (e->kind == EVENT_STORM || e->kind == EVENT_ADAPTED ||
                          e->kind == EVENT_LISTS || e->kind == EVENT_RESTORED);
}

static void describe_plan(const struct event *e, char *buf, size_t size)
{
    char knobs[160] = "", why[512] = "", what[40] = "lists"; /* in calm */

    if (e->plan.why.storm_id != 0)
        snprintf(what, sizeof(what), "storm %" PRIu64, e->plan.why.storm_id);
    if (e->has_outcome)
        describe_knobs(&e->outcome, knobs, sizeof(knobs));
    plan_describe(&e->plan, why, sizeof(why));
    if (knobs[0])
        snprintf(buf, size, "%s: %s%s: %s", what, would(e) ? "would set " : "", knobs, why);
    else
        snprintf(buf, size, "%s: %s", what, why);
}

char *event_describe(const struct event *e, char *buf, size_t size)
{
    if (e->has_plan)
        describe_plan(e, buf, size);
    else
        snprintf(buf, size, "%s", e->text);
    size_t len = strlen(buf);
    if (e->repeats > 0)
        snprintf(buf + len, size - len, " (repeated %" PRIu32 " time%s)", e->repeats,
                 e->repeats == 1 ? "" : "s");
    return flatten(buf);
}
