/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#include "clock.h"
#include "daemon_impl.h"
#include "knobs.h"
#include "notify.h"
#include "realtime.h"

static int add_signal(struct daemon *d, int number, sd_event_signal_handler_t handler)
{
    return sd_event_add_signal(d->event, NULL, number, handler, d);
}

static int add_timers(struct daemon *d)
{
    int r =
        sd_event_add_time_relative(d->event, &d->wake, CLOCK_MONOTONIC, 0, 1, daemon_on_wake, d);

    if (r >= 0)
        r = sd_event_add_time_relative(d->event, &d->tick, CLOCK_MONOTONIC,
                                       d->params.tick / NSEC_PER_USEC, 1000000, daemon_on_tick, d);
    if (r >= 0)
        r = sd_event_add_time_relative(d->event, &d->hang, CLOCK_MONOTONIC, 0, 1000, daemon_on_hang,
                                       d);
    if (r >= 0)
        r = sd_event_source_set_enabled(d->wake, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_source_set_enabled(d->hang, SD_EVENT_OFF);
    return r;
}

static int add_sources(struct daemon *d)
{
    int r = add_timers(d);

    if (r >= 0)
        r = add_signal(d, SIGTERM, daemon_on_stop);
    if (r >= 0)
        r = add_signal(d, SIGINT, daemon_on_stop);
    if (r >= 0)
        r = add_signal(d, SIGHUP, daemon_on_reload);
    if (r >= 0)
        r = daemon_add_exits(d);
    if (r >= 0)
        r = daemon_add_psi(d);
    if (r >= 0)
        r = sd_event_add_io(d->event, NULL, jobs_fd(d->jobs), EPOLLIN, daemon_on_job, d);
    if (r >= 0)
        r = notify_watchdog(d->event);
    return r;
}

/* Blocked before any thread starts, so that all of them inherit it. */
static int open_loop(struct daemon *d)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -errno;
    signal(SIGPIPE, SIG_IGN);
    return sd_event_default(&d->event);
}

static void cannot_start(struct daemon *d, int error)
{
    daemon_tell(d, EVENT_STOPPED, LEVEL_ERROR, "cannot start: %s", strerror(-error));
}

static int open_knobs(struct daemon *d)
{
    struct actuator *a = NULL;

    daemon_check_writable(d, &d->params);
    struct actuator_config c = daemon_actuator_config(d, &d->params);
    int r = actuator_open(&c, &a);
    if (r < 0) {
        daemon_tell(d, EVENT_STOPPED, LEVEL_ERROR,
                    r == -EBUSY ? "%s: another pcptuned owns the knobs (%s)"
                                : "%s cannot be used: %s",
                    d->options->state_dir, state_dir_why(r));
        return r;
    }
    r = jobs_new(a, &d->jobs);
    if (r < 0) {
        cannot_start(d, r);
        actuator_close(a);
    }
    return r;
}

static void tell_stopped(struct daemon *d)
{
    struct exits_stats x = watch_exits_stats(d->watch);

    daemon_tell(d, EVENT_STOPPED, LEVEL_NOTICE,
                "stopped, exit code %d; saw %" PRIu64 " large exits in %" PRIu64
                " messages, read zoneinfo %" PRIu64 " times",
                d->exit_code, x.tasks, x.messages, watch_zoneinfo_reads(d->watch));
}

/* Last: mlockall() counts the address space of the thread's malloc arena, 64 MB, if it is there. */
static void open_bus(struct daemon *d)
{
    const struct bus_config c = {.dir = d->options->state_dir, .say = daemon_tell_bus, .arg = d};

    int r = bus_new(&c, &d->bus);
    if (r >= 0)
        r = daemon_add_commands(d);
    if (r < 0)
        daemon_tell(d, EVENT_NOTICE, LEVEL_WARNING, "no bus: %s; everything else works",
                    strerror(-r));
}

static int loop(struct daemon *d)
{
    int r = add_sources(d);

    if (r < 0) {
        daemon_tell(d, EVENT_STOPPED, LEVEL_ERROR, "cannot set the event loop up: %s",
                    strerror(-r));
        return EXIT_FAILURE;
    }
    const char *why = realtime_enter();
    if (why)
        daemon_tell(d, EVENT_NOTICE, LEVEL_INFO, "%s", why);
    open_bus(d);
    limit_memory();
    daemon_account_start(d);
    daemon_submit(d, &(struct job){.kind = JOB_RECOVER});
    r = sd_event_loop(d->event);
    if (r < 0) {
        daemon_tell(d, EVENT_STOPPED, LEVEL_ERROR, "the event loop failed: %s", strerror(-r));
        r = EXIT_FAILURE;
    }
    d->exit_code = r;
    tell_stopped(d);
    return r;
}

static int exit_code_of(int error)
{
    switch (error) {
    case -EBUSY:
        return EXIT_BUSY;
    case -EPERM:
    case -EACCES:
        return EXIT_DENIED;
    default:
        return EXIT_FAILURE;
    }
}

static bool nothing_to_tune(struct daemon *d)
{
    bool has[KNOB_MAX];

    knobs_probe(has);
    if (has[KNOB_FRACTION] || has[KNOB_SCALE] || d->params.mode != MODE_APPLY)
        return false;
    daemon_tell(
        d, EVENT_STOPPED, LEVEL_NOTICE,
        "Linux %s has no vm.percpu_pagelist_high_fraction (5.14 and later have): nothing to tune; "
        "--dry-run would report storms all the same",
        watch_host(d->watch)->release);
    notify("READY=1\nSTATUS=nothing to tune"); /* an end, and no failure to start */
    return true;
}

static int run(struct daemon *d)
{
    int r = watch_open(&d->params, daemon_tell_signal, d, &d->watch);

    if (r >= 0)
        r = engine_new(&d->engine);
    if (r < 0) {
        cannot_start(d, r);
        return EXIT_FAILURE;
    }
    if (nothing_to_tune(d))
        return EXIT_NOTHING_TO_TUNE;
    r = open_knobs(d);
    return r < 0 ? exit_code_of(r) : loop(d);
}

int daemon_run(const struct options *o, const struct params *p)
{
    struct daemon d = {.options = o, .params = *p};

    if (o->dry_run && d.params.mode == MODE_APPLY)
        d.params.mode = MODE_DRY_RUN;
    d.configured = d.params.mode;
    status_init(&d.status);
    int r = open_loop(&d);
    if (r >= 0)
        r = report_new(&o->report, &d.report);
    if (r < 0) {
        fprintf(stderr, "pcptuned: cannot start: %s\n", strerror(-r));
        return EXIT_FAILURE;
    }
    int code = run(&d);
    bus_free(d.bus, 2 * NSEC_PER_SEC);
    report_free(d.report);
    jobs_free(d.jobs, NSEC_PER_SEC);
    engine_free(d.engine);
    sd_event_source_unref(d.wake);
    sd_event_source_unref(d.tick);
    sd_event_source_unref(d.hang);
    sd_event_source_unref(d.exits);
    sd_event_source_unref(d.psi);
    sd_event_source_unref(d.commands);
    sd_event_unref(d.event);
    watch_close(d.watch);
    return code;
}
