/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "client.h"

/* What a running pcptuned tells of itself: the properties of bus/api.h. Strings live in the
 * message; what is missing is "" or 0. */

struct told_knob {
    const char *name, *owner;
    int exists;
    int32_t value, original, wanted; /* -1: none */
};

struct told_signal {
    const char *name, *detail;
    int available;
};

struct told_pressure {
    const char *resource;
    double some, full; /* percent, avg10 */
};

struct told_zone {
    const char *name;
    uint32_t node, lists, high_min, high_max, batch;
    uint64_t managed, count; /* count: in all lists together */
};

struct told_storm {
    bool any;
    const char *cgroup, *reason;
    int tuned, dry_run;
    uint32_t tasks;
    uint64_t id, pages, freed, wait_before, wait_after, began_usec, duration, reaction;
};

struct told_counter {
    const char *name;
    uint64_t value;
};

#define TOLD_MAX 32 /* knobs, signals, resources: there are a few */
#define TOLD_ZONES_MAX 512
#define TOLD_COUNTERS_MAX 128
struct told {
    sd_bus_message *reply;
    const char *version, *release, *mode, *configured_mode, *state, *regime;
    uint32_t page_size, cpus, nodes, tasks, pages_per_hold, largest_tasks;
    uint64_t since_usec, memory_pages, target_wait, pages_to_come, wait, zones_read_usec,
        largest_pages;
    uint32_t n_knobs, n_signals, n_pressures, n_zones, n_counters;
    struct told_knob knobs[TOLD_MAX];
    struct told_signal signals[TOLD_MAX];
    struct told_pressure pressures[TOLD_MAX];
    struct told_zone zones[TOLD_ZONES_MAX];
    struct told_counter counters[TOLD_COUNTERS_MAX];
    struct told_storm storm;
};

/* Negative errno; *ret_error as of sd-bus. To be freed with told_done() on success. */
int told_get(struct client *c, sd_bus_error *ret_error, struct told *ret);
void told_done(struct told *t);

/* 0 where there is no such counter. */
uint64_t told_counter(const struct told *t, const char *name);

/* Connects, asks and disconnects. 0, or negative errno as client_complain() takes it. */
int told_ask(const char *address, sd_bus_error *ret_error, struct told *ret);
