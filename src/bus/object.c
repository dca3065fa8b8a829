/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "bus_impl.h"

/* More replies than these beyond what fits into the socket: the client calls and does not read. */
#define REPLIES_UNREAD 4

void bus_look(struct bus *b)
{
    b->events = board_look(b->board, &b->now);
    b->now.counters[COUNT_EVENTS] = b->events;
    b->now.counters[COUNT_CLIENTS] = b->accepted;
    b->now.counters[COUNT_CLIENTS_REFUSED] = b->refused;
    b->now.counters[COUNT_CLIENTS_DROPPED] = b->dropped;
    b->now.counters[COUNT_CALLS_DENIED] = b->denied;
}

/* Whatever is asked is answered as of now; a client that does not read is asked no more. */
static int on_message(sd_bus_message *m, void *arg, sd_bus_error *e)
{
    struct bus *b = arg;
    sd_bus *bus = sd_bus_message_get_bus(m);
    struct client *c = bus_client(b, bus);
    uint64_t unread = 0;
    (void)e;

    if (c && sd_bus_get_n_queued_write(bus, &unread) >= 0 && unread > REPLIES_UNREAD) {
        bus_drop(b, c);
        return 1;
    }
    if (c)
        c->called |= sd_bus_message_is_method_call(m, NULL, NULL) > 0;
    bus_look(b);
    return 0;
}

#define GETTER(name)                                                                               \
    static int name(sd_bus *bus, const char *path, const char *interface, const char *property,    \
                    sd_bus_message *m, void *field, sd_bus_error *e)
#define UNUSED (void)bus, (void)path, (void)interface, (void)property, (void)e

GETTER(get_text) /* of an array of char */
{
    UNUSED;
    return sd_bus_message_append(m, "s", (const char *)field);
}

GETTER(get_mode)
{
    UNUSED;
    return sd_bus_message_append(m, "s", mode_name(*(const enum mode *)field));
}

GETTER(get_regime)
{
    UNUSED;
    return sd_bus_message_append(m, "s", regime_name(*(const enum regime *)field));
}

GETTER(get_usec)
{
    UNUSED;
    return sd_bus_message_append(m, "t", *(const nsec_t *)field / NSEC_PER_USEC);
}

GETTER(get_knobs)
{
    const struct status_knob *knobs = field;
    UNUSED;
    int r = sd_bus_message_open_container(m, 'a', "(sbiiis)");

    for (unsigned k = 0; k < KNOB_MAX && r >= 0; k++)
        r = sd_bus_message_append(m, "(sbiiis)", knob_table[k].name, knobs[k].exists,
                                  knobs[k].value, knobs[k].original, knobs[k].wanted,
                                  knob_owner_name(knobs[k].owner));
    return r < 0 ? r : sd_bus_message_close_container(m);
}

GETTER(get_signals)
{
    const struct status_signal *signals = field;
    UNUSED;
    int r = sd_bus_message_open_container(m, 'a', "(sbs)");

    for (unsigned i = 0; i < SIGNAL_MAX && r >= 0; i++)
        r = sd_bus_message_append(m, "(sbs)", signal_name((enum signal_id)i), signals[i].available,
                                  signals[i].detail);
    return r < 0 ? r : sd_bus_message_close_container(m);
}

GETTER(get_pressure)
{
    const struct status_pressure *p = field;
    UNUSED;
    int r = sd_bus_message_open_container(m, 'a', "(sdd)");

    for (unsigned i = 0; i < PRESSURE_MAX && r >= 0; i++)
        r = sd_bus_message_append(m, "(sdd)", pressure_name(i), p[i].some_centi / 100.0,
                                  p[i].full_centi / 100.0);
    return r < 0 ? r : sd_bus_message_close_container(m);
}

GETTER(get_zones)
{
    const struct bus *b = field;
    UNUSED;
    int r = sd_bus_message_open_container(m, 'a', "(ustutuuu)");

    for (unsigned i = 0; i < b->now.n_zones && r >= 0; i++) {
        const struct status_zone *z = &b->now.zones[i];
        r = sd_bus_message_append(m, "(ustutuuu)", z->node, z->name, z->managed, z->lists, z->count,
                                  z->high_min, z->high_max, z->batch);
    }
    return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_storm(sd_bus_message *m, const struct status_storm *s)
{
    return sd_bus_message_append(
        m, "{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}", "id", "t", s->id, "cgroup", "s",
        s->cgroup, "tasks", "u", s->tasks, "pages", "t", s->pages, "pages_freed", "t",
        s->pages_freed, "wait_before_nsec", "t", s->wait_before, "wait_after_nsec", "t",
        s->wait_after, "reason", "s", reason_name(s->reason), "tuned", "b", s->tuned, "dry_run",
        "b", s->dry_run, "began_usec", "t", s->began / NSEC_PER_USEC, "duration_nsec", "t",
        s->duration, "reaction_nsec", "t", s->reaction);
}

GETTER(get_storm)
{
    const struct status_storm *s = field;
    UNUSED;
    int r = sd_bus_message_open_container(m, 'a', "{sv}");

    if (r >= 0 && s->id != 0)
        r = append_storm(m, s);
    return r < 0 ? r : sd_bus_message_close_container(m);
}

GETTER(get_counters)
{
    const uint64_t *counters = field;
    UNUSED;
    int r = sd_bus_message_open_container(m, 'a', "{st}");

    for (unsigned i = 0; i < COUNT_MAX && r >= 0; i++)
        r = sd_bus_message_append(m, "{st}", status_counter_name((enum status_counter)i),
                                  counters[i]);
    return r < 0 ? r : sd_bus_message_close_container(m);
}

#define FIELD(f) offsetof(struct bus, now.f)
#define CONSTANT(name, type, get, f)                                                               \
    SD_BUS_PROPERTY(name, type, get, FIELD(f), SD_BUS_VTABLE_PROPERTY_CONST)
#define CHANGES(name, type, get, f)                                                                \
    SD_BUS_PROPERTY(name, type, get, FIELD(f), SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE)
#define LIVE(name, type, get, f) SD_BUS_PROPERTY(name, type, get, FIELD(f), 0)
/* call.c decides who may, the same on both ways in. */
#define METHOD SD_BUS_METHOD_WITH_ARGS
#define ANYBODY SD_BUS_VTABLE_UNPRIVILEGED
#define SIGNAL SD_BUS_SIGNAL_WITH_ARGS

static const sd_bus_vtable vtable[] = {
    SD_BUS_VTABLE_START(0),
    CONSTANT("Version", "s", NULL, version),
    CHANGES("Mode", "s", get_mode, mode),
    CHANGES("ConfiguredMode", "s", get_mode, configured),
    CHANGES("State", "s", NULL, state),
    CHANGES("StateSince", "t", get_usec, state_since),
    CHANGES("Regime", "s", get_regime, regime),
    CONSTANT("Release", "s", get_text, release),
    CHANGES("Cpus", "u", NULL, cpus),
    CHANGES("Nodes", "u", NULL, nodes),
    CONSTANT("MemoryPages", "t", NULL, memory),
    CONSTANT("PageSize", "u", NULL, page_size),
    CHANGES("TargetWaitNSec", "t", NULL, target_wait),
    CHANGES("Knobs", API_TYPE_KNOBS, get_knobs, knobs),
    CHANGES("Signals", API_TYPE_SIGNALS, get_signals, signals),
    LIVE("TasksInFlight", "u", NULL, tasks),
    LIVE("PagesToCome", "t", NULL, pages),
    LIVE("PagesPerHold", "u", NULL, hold),
    LIVE("WaitNSec", "t", NULL, wait),
    LIVE("Pressure", API_TYPE_PRESSURE, get_pressure, pressure),
    SD_BUS_PROPERTY("Zones", API_TYPE_ZONES, get_zones, 0, 0),
    LIVE("ZonesRead", "t", get_usec, zones_read),
    LIVE("LastStorm", API_TYPE_STORM, get_storm, storm),
    LIVE("LargestTasks", "u", NULL, largest_tasks),
    LIVE("LargestPages", "t", NULL, largest_pages),
    LIVE("Counters", API_TYPE_COUNTERS, get_counters, counters),
    METHOD("SetMode", SD_BUS_ARGS("s", mode), SD_BUS_NO_RESULT, bus_call_set_mode, ANYBODY),
    METHOD("Reload", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, bus_call_reload, ANYBODY),
    METHOD("Rearm", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, bus_call_rearm, ANYBODY),
    METHOD("Restore", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, bus_call_restore, ANYBODY),
    METHOD("Events", SD_BUS_ARGS("t", since_usec, "u", max), SD_BUS_RESULT("as", events),
           bus_call_events, ANYBODY),
    SIGNAL("StormBegan",
           SD_BUS_ARGS("t", id, "s", cgroup, "u", tasks, "t", pages, "t", wait_before_nsec, "t",
                       wait_after_nsec),
           0),
    SIGNAL("StormEnded", SD_BUS_ARGS("t", id, "t", duration_nsec, "t", pages_freed), 0),
    SIGNAL("KnobChanged", SD_BUS_ARGS("s", knob, "i", old, "i", new, "s", reason), 0),
    SIGNAL("Yielded", SD_BUS_ARGS("s", knob, "i", value), 0),
    SIGNAL("Event", SD_BUS_ARGS("s", json), 0),
    SD_BUS_VTABLE_END,
};

int bus_add_object(struct bus *b, sd_bus *bus)
{
    int r = sd_bus_add_object_vtable(bus, NULL, API_PATH, API_INTERFACE, vtable, b);

    return r < 0 ? r : sd_bus_add_filter(bus, NULL, on_message, b);
}

static int nothing(sd_bus_message *m, void *arg, sd_bus_error *e)
{
    (void)m, (void)arg, (void)e;
    return 0;
}

sd_bus *bus_discard(sd_bus *bus, const char *path)
{
    sd_bus_slot *slot = NULL;

    if (sd_bus_add_object(bus, &slot, path, nothing, NULL) < 0) {
        sd_bus_close(bus);
        return NULL;
    }
    sd_bus_slot_unref(slot);
    return sd_bus_close_unref(bus);
}
