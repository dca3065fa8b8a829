/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "host.h"
#include "knob.h"
#include "macros.h"
#include "params.h"
#include "plan.h"
#include "snapshot.h"

/* What the daemon is doing, as a plain value: filled by its loop, shown by the bus, by metrics and
 * by pcptunectl. Nobody asks the kernel for a reader's sake. Sizes are pages. */

enum knob_owner {
    OWNER_KERNEL,        /* the value is the kernel's default */
    OWNER_ADMINISTRATOR, /* it was set before we came */
    OWNER_PCPTUNED,
    OWNER_FOREIGN, /* somebody wrote it since */
    OWNER_MAX,
};
const char *knob_owner_name(enum knob_owner o); /* "kernel-default", "administrator", ... */

struct status_knob {
    bool exists;
    int value, original, wanted; /* -1: not read yet; we hold none; nothing is wanted */
    enum knob_owner owner;
};

struct status_signal {
    bool available;
    char detail[120]; /* what is missing and why; "" */
};

enum { PRESSURE_MEMORY, PRESSURE_CPU, PRESSURE_MAX };
const char *pressure_name(unsigned resource); /* "memory", "cpu" */

struct status_pressure {
    uint32_t some_centi, full_centi; /* avg10: 1234 is 12.34 % */
};

struct status_zone {
    uint32_t node;
    char name[ZONE_NAME_MAX];
    uint64_t managed;
    uint32_t lists;                     /* CPUs */
    uint64_t count;                     /* in all lists */
    uint32_t high_min, high_max, batch; /* of the longest list */
};
#define STATUS_ZONES 128 /* further ones are left out */

struct status_storm { /* the one that is on, or the last */
    uint64_t id;      /* 0: there was none yet */
    char cgroup[GROUP_NAME_MAX];
    uint32_t tasks;
    uint64_t pages, pages_freed;    /* freed 0: not known */
    nsec_t wait_before, wait_after; /* equal where it was left alone */
    enum reason reason;             /* of the first decision */
    bool tuned, dry_run;
    nsec_t began, ended; /* CLOCK_REALTIME; ended 0: it is on */
    nsec_t duration;     /* 0: it is on */
    nsec_t reaction;     /* from its first message to the write; 0: none */
};

/* Since the start of the daemon. */
enum status_counter {
    COUNT_STORMS,
    COUNT_STORMS_TUNED,      /* simulated ones are none */
    COUNT_STORMS_WOULD_TUNE, /* dry run */
    COUNT_STORMS_LEFT_ALONE,
    COUNT_TASKS,    /* large exits seen */
    COUNT_MESSAGES, /* of taskstats */
    COUNT_OVERRUNS, /* messages that were lost */
    COUNT_PAGES_ANNOUNCED,
    COUNT_PAGES_FREED,
    COUNT_KNOB_WRITES, /* changes and restores that the kernel took */
    COUNT_KNOB_REFUSALS,
    COUNT_KNOB_HANGS,
    COUNT_FOREIGN_WRITES,
    COUNT_YIELDS,
    COUNT_WAKEUPS, /* of the loop */
    COUNT_ZONEINFO_READS,
    COUNT_EVENTS,
    COUNT_EVENTS_DROPPED,
    COUNT_RELOADS,
    COUNT_RELOADS_REJECTED,
    COUNT_CLIENTS,         /* of the private socket, accepted */
    COUNT_CLIENTS_REFUSED, /* too many */
    COUNT_CLIENTS_DROPPED, /* did not read, did not authenticate, sent rubbish */
    COUNT_CALLS_DENIED,
    COUNT_MAX,
};
const char *status_counter_name(enum status_counter c); /* "storms", "knob_writes", ... */
const char *status_counter_help(enum status_counter c); /* one line for people */

struct status {
    const char *version;
    enum mode mode, configured;
    const char *state;  /* engine_state_name() */
    nsec_t state_since; /* CLOCK_REALTIME */
    char release[96];   /* uname -r */
    enum regime regime;
    uint32_t cpus, nodes, page_size;
    uint64_t memory;
    nsec_t target_wait;
    struct status_knob knobs[KNOB_MAX];
    struct status_signal signals[SIGNAL_MAX];

    uint32_t tasks; /* in flight */
    uint64_t pages; /* to come */
    uint32_t hold;  /* b now; 0: not known */
    nsec_t wait;    /* W now */
    struct status_pressure pressure[PRESSURE_MAX];
    struct status_zone zones[STATUS_ZONES];
    uint32_t n_zones;
    nsec_t zones_read; /* CLOCK_REALTIME; 0: never */
    struct status_storm storm;
    uint32_t
        largest_tasks; /* of all storms: most that freed at the same moment, at most the CPUs */
    uint64_t largest_pages; /* most that one freed */
    uint64_t counters[COUNT_MAX];
};

/* Clean: no string is NULL, every knob unknown. */
void status_init(struct status *s);
