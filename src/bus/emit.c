/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "bus_impl.h"
#include "report.h"

static bool anybody(const struct bus *b)
{
    if (b->on_system)
        return true;
    for (unsigned i = 0; i < API_CLIENTS; i++) {
        if (b->clients[i].bus)
            return true;
    }
    return false;
}

/* What a client has not read beyond the buffer of its socket is ours to keep: not for long. */
static void check_reads(struct bus *b, struct client *c)
{
    uint64_t unread;

    if (sd_bus_get_n_queued_write(c->bus, &unread) >= 0 && unread > API_QUEUE)
        bus_drop(b, c);
}

/* Calls f for everybody who is there; the signals differ in their types only, and each is emitted
 * by one function that states them. */
static void each(struct bus *b, void (*f)(sd_bus *bus, const void *arg), const void *arg)
{
    if (b->on_system)
        f(b->system, arg);
    for (unsigned i = 0; i < API_CLIENTS; i++) {
        struct client *c = &b->clients[i];
        if (!c->bus || c->doomed || sd_bus_is_ready(c->bus) <= 0)
            continue;
        f(c->bus, arg);
        check_reads(b, c);
    }
}

static void emit_event(sd_bus *bus, const void *arg)
{
    const char *json = arg;

    (void)sd_bus_emit_signal(bus, API_PATH, API_INTERFACE, "Event", "s", json);
}

static void emit_began(sd_bus *bus, const void *arg)
{
    const struct status_storm *s = arg;

    (void)sd_bus_emit_signal(bus, API_PATH, API_INTERFACE, "StormBegan", "tsuttt", s->id, s->cgroup,
                             s->tasks, s->pages, s->wait_before, s->wait_after);
}

static void emit_ended(sd_bus *bus, const void *arg)
{
    const struct status_storm *s = arg;

    (void)sd_bus_emit_signal(bus, API_PATH, API_INTERFACE, "StormEnded", "ttt", s->id, s->duration,
                             s->pages_freed);
}

struct change {
    const char *knob, *reason;
    int old, new;
};

static void emit_changed(sd_bus *bus, const void *arg)
{
    const struct change *c = arg;

    (void)sd_bus_emit_signal(bus, API_PATH, API_INTERFACE, "KnobChanged", "siis", c->knob, c->old,
                             c->new, c->reason);
}

static void emit_yielded(sd_bus *bus, const void *arg)
{
    const struct change *c = arg;

    (void)sd_bus_emit_signal(bus, API_PATH, API_INTERFACE, "Yielded", "si", c->knob, c->new);
}

static void emit_properties(sd_bus *bus, const void *arg)
{
    (void)sd_bus_emit_properties_changed_strv(bus, API_PATH, API_INTERFACE, (char **)arg);
}

static void tell_knobs(struct bus *b, const struct event *e)
{
    const struct outcome *o = &e->outcome;

    if (e->kind == EVENT_FOREIGN) {
        struct change c = {.knob = knob_table[o->knob].name, .new = o->before.value[o->knob]};
        each(b, emit_yielded, &c);
        return;
    }
    for (unsigned k = 0; k < KNOB_MAX && !o->simulated; k++) {
        struct change c = {.knob = knob_table[k].name,
                           .reason = reason_name(e->plan.reason),
                           .old = o->before.value[k],
                           .new = o->after.value[k]};
        if (o->before.has[k] && o->after.has[k] && c.old != c.new)
            each(b, emit_changed, &c);
    }
}

static void tell_event(struct bus *b, const struct event *e)
{
    _cleanup_free_ char *json = report_json(e);

    if (json)
        each(b, emit_event, json);
    if (e->has_outcome)
        tell_knobs(b, e);
}

static void tell_events(struct bus *b)
{
    bool heard = anybody(b);
    struct event e;

    for (; b->events_told < b->events; b->events_told++) {
        if (heard && board_event(b->board, b->events_told, &e))
            tell_event(b, &e);
    }
}

static void tell_storms(struct bus *b)
{
    const struct status_storm *was = &b->told.storm, *is = &b->now.storm;
    bool is_new = is->id != was->id;

    if (is_new)
        each(b, emit_began, is);
    if (is->duration != 0 && (is_new || was->duration == 0))
        each(b, emit_ended, is);
}

#define DIFFERS(field) (memcmp(&was->field, &is->field, sizeof(is->field)) != 0)

static bool knobs_differ(const struct status *was, const struct status *is)
{
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        const struct status_knob *x = &was->knobs[k], *y = &is->knobs[k];
        if (x->exists != y->exists || x->value != y->value || x->original != y->original ||
            x->wanted != y->wanted || x->owner != y->owner)
            return true;
    }
    return false;
}

static bool signals_differ(const struct status *was, const struct status *is)
{
    for (unsigned i = 0; i < SIGNAL_MAX; i++) {
        if (was->signals[i].available != is->signals[i].available ||
            strcmp(was->signals[i].detail, is->signals[i].detail) != 0)
            return true;
    }
    return false;
}

static void tell_properties(struct bus *b)
{
    const struct status *was = &b->told, *is = &b->now;
    const struct {
        const char *name;
        bool differs;
    } properties[] = {
        {"Mode", DIFFERS(mode)},
        {"ConfiguredMode", DIFFERS(configured)},
        {"State", strcmp(was->state, is->state) != 0},
        {"StateSince", DIFFERS(state_since)},
        {"Regime", DIFFERS(regime)},
        {"Cpus", DIFFERS(cpus)},
        {"Nodes", DIFFERS(nodes)},
        {"TargetWaitNSec", DIFFERS(target_wait)},
        {"Knobs", knobs_differ(was, is)},
        {"Signals", signals_differ(was, is)},
    };
    const char *names[ARRAY_SIZE(properties) + 1] = {NULL};
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(properties); i++) {
        if (properties[i].differs)
            names[n++] = properties[i].name;
    }
    if (n > 0)
        each(b, emit_properties, names);
}

void bus_emit(struct bus *b)
{
    tell_events(b);
    tell_storms(b);
    tell_properties(b);
    b->told = b->now;
}
