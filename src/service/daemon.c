/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "actuate.h"
#include "clock.h"
#include "engine.h"
#include "facts.h"
#include "jobs.h"
#include "knobs.h"
#include "realtime.h"
#include "units.h"
#include "watch.h"

/* walk_zones_in_node() prints zoneinfo under the lock that we protect: a reading a minute in calm
 * costs 0.24 ms of it on 256 CPUs. The sysctl is read as often, to notice other writers. */
#define CALM_READ_EVERY (60 * NSEC_PER_SEC)

/* For what the lists hold now, which decides whether acting is worth its price: with full lists a
 * write holds both CPUs of a small machine for 14 ms (seen on 6.18). Usually it is there in 50 us.
 */
#define VM_PATIENCE (150 * NSEC_PER_USEC)

/* How long an end waits for a sysctl that hangs before it leaves the restore to ExecStopPost=. */
#define STOP_PATIENCE (5 * NSEC_PER_SEC)

struct daemon {
    const struct options *options;
    struct params params;
    struct params next; /* after a reload, once nothing of the old mode is in force */
    bool has_next;
    bool stopping;
    bool restore_failed; /* the last one: something of ours is in force still */
    int exit_code;

    sd_event *event;
    sd_event_source *wake, *tick, *hang, *exits, *psi;
    struct report *report;
    struct watch *watch;
    struct engine *engine;
    struct jobs *jobs;

    enum engine_state state; /* as last seen */
    bool hang_told;
    bool unreadable; /* the last reading of the sysctls failed, and that was told */
    nsec_t hang_since, read_at;
    bool recovered;
};

/* --- events -------------------------------------------------------------------------------- */

static bool dry(const struct daemon *d)
{
    return d->params.mode == MODE_DRY_RUN;
}

static struct event event_now(const struct daemon *d, enum event_kind kind, enum event_level level)
{
    return (struct event){.kind = kind,
                          .level = level,
                          .mono = clock_monotonic(),
                          .real = clock_realtime(),
                          .dry_run = dry(d)};
}

static _printf_(4, 5) void tell(struct daemon *d, enum event_kind kind, enum event_level level,
                                const char *fmt, ...)
{
    struct event e = event_now(d, kind, level);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(e.text, sizeof(e.text), fmt, ap);
    va_end(ap);
    report_put(d->report, &e);
}

static void tell_signal(void *arg, enum event_kind kind, enum event_level level, const char *text)
{
    tell(arg, kind, level, "%s", text);
}

static void tell_plan(struct daemon *d, enum event_kind kind, const struct plan *p,
                      const struct outcome *o)
{
    struct event e = event_now(d, kind, p->report ? LEVEL_NOTICE : LEVEL_DEBUG);

    e.has_plan = true;
    e.plan = *p;
    if (o) {
        e.has_outcome = true;
        e.outcome = *o;
    }
    report_put(d->report, &e);
}

static void tell_foreign(struct daemon *d, const struct outcome *o)
{
    static const char *const then[FOREIGN_MAX] = {
        [FOREIGN_YIELD] = "it is theirs now, and left alone until RearmAfter= is over",
        [FOREIGN_REASSERT] = "it is taken as the new original, and tuned again",
        [FOREIGN_EXIT] = "pcptuned ends, as OnForeignWrite=exit says",
    };
    const struct knob *k = &knob_table[o->knob];

    tell(d, EVENT_FOREIGN, LEVEL_WARNING,
         "%s is %d, which is not what pcptuned left there: somebody else wrote it; %s", k->name,
         o->before.value[o->knob], then[d->params.on_foreign]);
}

static void tell_failure(struct daemon *d, const struct outcome *o)
{
    const char *name = knob_table[o->knob].name;

    if (o->kind == OUTCOME_FAILED)
        tell(d, EVENT_REFUSED, LEVEL_WARNING, "%s: %s failed: %s; it is tried again", name,
             o->action == PLAN_SET ? "changing it" : "restoring it", strerror(-o->error));
    else
        tell(d, EVENT_REFUSED, LEVEL_WARNING,
             "%s: %s was refused: %s; storms are only reported from now on", name,
             o->action == PLAN_SET ? "changing it" : "restoring it", strerror(-o->error));
}

static void tell_status(struct daemon *d)
{
    enum engine_state state = engine_get_state(d->engine);

    if (state == d->state)
        return;
    d->state = state;
    sd_notifyf(0, "STATUS=%s (mode %s)", engine_state_name(state), mode_name(d->params.mode));
}

static void tell_ready(const struct daemon *d)
{
    sd_notifyf(0, "READY=1\nSTATUS=%s (mode %s)", engine_state_name(d->state),
               mode_name(d->params.mode));
}

/* --- the step ------------------------------------------------------------------------------ */

static void submit(struct daemon *d, const struct job *job)
{
    nsec_t now = clock_monotonic();

    if (jobs_submit(d->jobs, job, now) < 0)
        return;
    sd_event_source_set_time(d->hang, (now + d->params.knob_timeout) / NSEC_PER_USEC);
    sd_event_source_set_enabled(d->hang, SD_EVENT_ONESHOT);
}

static void carry_out(struct daemon *d, const struct plan *p)
{
    struct job job = {.kind = p->action == PLAN_SET ? JOB_SET : JOB_RESTORE, .plan = *p};

    if (p->action != PLAN_NONE)
        submit(d, &job);
    else if (p->reason != REASON_NONE)
        tell_plan(d, EVENT_LEFT_ALONE, p, NULL);
}

static void arm(struct daemon *d, nsec_t at)
{
    nsec_t deadline = watch_deadline(d->watch);
    nsec_t first = MIN(at, deadline);

    if (first == NSEC_INFINITY) {
        sd_event_source_set_enabled(d->wake, SD_EVENT_OFF);
        return;
    }
    sd_event_source_set_time(d->wake, first / NSEC_PER_USEC + 1);
    sd_event_source_set_enabled(d->wake, SD_EVENT_ONESHOT);
}

static void end_if_idle(struct daemon *d);

static void step(struct daemon *d)
{
    if (d->stopping || d->has_next) { /* nothing new is begun */
        end_if_idle(d);
        return;
    }
    bool was_idle = engine_idle(d->engine);
    const struct snapshot *s = watch_snapshot(d->watch);
    struct plan plan;

    engine_step(d->engine, &d->params, s, clock_monotonic(), &plan);
    carry_out(d, &plan);
    arm(d, plan.wake_at);
    if (s->tasks == 0 && engine_idle(d->engine)) {
        watch_forget(d->watch);
        if (!was_idle)
            watch_zoneinfo(d->watch, clock_monotonic());
    }
    tell_status(d);
}

/* Where lists float, what they hold now decides whether acting is worth its price. */
static void look_at_lists(struct daemon *d, nsec_t since)
{
    struct vm_counters vm;

    if (watch_host(d->watch)->regime < REGIME_R4)
        return;
    jobs_seen(d->jobs, watch_host(d->watch)->cpus_online > 1 ? VM_PATIENCE : 0, &vm);
    if (vm.valid && vm.at >= since)
        watch_seen(d->watch, &vm);
    else
        watch_look(d->watch); /* the thread had no CPU of its own */
}

static int on_exits(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct daemon *d = arg;
    bool first = engine_idle(d->engine);
    nsec_t now = clock_monotonic();
    (void)source, (void)fd, (void)events;

    if (first)
        jobs_rouse(d->jobs);
    if (!watch_exits(d->watch, now))
        return 0;
    if (first)
        look_at_lists(d, now);
    step(d);
    return 0;
}

static int on_wake(sd_event_source *source, uint64_t usec, void *arg)
{
    struct daemon *d = arg;
    (void)source, (void)usec;

    watch_exits(d->watch, clock_monotonic());
    watch_look(d->watch);
    step(d);
    return 0;
}

static int on_psi(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct daemon *d = arg;
    (void)fd;

    if (events & EPOLLERR)
        sd_event_source_set_enabled(source, SD_EVENT_OFF);
    watch_psi(d->watch, events);
    watch_look(d->watch);
    step(d);
    return 0;
}

static int add_exits(struct daemon *d)
{
    int fd = watch_exits_fd(d->watch);

    d->exits = sd_event_source_unref(d->exits);
    if (fd < 0)
        return 0;
    int r = sd_event_add_io(d->event, &d->exits, fd, EPOLLIN, on_exits, d);
    if (r >= 0)
        sd_event_source_set_priority(d->exits, SD_EVENT_PRIORITY_IMPORTANT);
    return r;
}

static int add_psi(struct daemon *d)
{
    int fd = watch_psi_fd(d->watch);

    d->psi = sd_event_source_unref(d->psi);
    return fd < 0 ? 0 : sd_event_add_io(d->event, &d->psi, fd, EPOLLPRI, on_psi, d);
}

/* The sources go before their descriptors do. */
static void watch_anew(struct daemon *d)
{
    d->exits = sd_event_source_unref(d->exits);
    d->psi = sd_event_source_unref(d->psi);
    watch_configure(d->watch, &d->params);
    int r = add_exits(d);
    if (r >= 0)
        r = add_psi(d);
    if (r < 0)
        tell(d, EVENT_SIGNAL, LEVEL_WARNING, "cannot wait for a signal: %s", strerror(-r));
}

static int on_tick(sd_event_source *source, uint64_t usec, void *arg)
{
    struct daemon *d = arg;
    nsec_t now = clock_monotonic();
    (void)usec;

    if (watch_tick(d->watch))
        add_exits(d);
    if (now - d->read_at >= CALM_READ_EVERY && engine_idle(d->engine) &&
        watch_snapshot(d->watch)->tasks == 0) {
        d->read_at = now;
        watch_zoneinfo(d->watch, now);
        submit(d, &(struct job){.kind = JOB_READ});
    }
    watch_look(d->watch);
    step(d);
    sd_event_source_set_time(source, (now + d->params.tick) / NSEC_PER_USEC);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* --- outcomes ------------------------------------------------------------------------------ */

static int on_hang(sd_event_source *source, uint64_t usec, void *arg)
{
    struct daemon *d = arg;
    nsec_t since = jobs_running_since(d->jobs);
    char age[UNITS_BUF];
    (void)source, (void)usec;

    if (since == 0 || d->hang_told)
        return 0;
    d->hang_told = true;
    d->hang_since = since;
    tell(d, EVENT_KNOB_HANGS, LEVEL_WARNING,
         "a sysctl access has not returned for %s (the kernel holds it during a memory offline); "
         "nothing can be changed or restored until it does, everything else goes on",
         format_duration(clock_monotonic() - since, age));
    return 0;
}

static void recovered(struct daemon *d, const struct outcome *o)
{
    d->recovered = true;
    if (o->kind == OUTCOME_UNCHANGED && o->error == 0)
        return;
    if (o->kind == OUTCOME_DONE)
        tell(d, EVENT_RECOVERED, LEVEL_NOTICE,
             "a predecessor was killed while it held %s: the original is restored",
             knob_table[o->knob].name);
    else if (o->error == -ESTALE)
        tell(d, EVENT_RECOVERED, LEVEL_INFO, "a journal of an earlier boot was removed");
    else if (o->error == -EBADMSG)
        tell(d, EVENT_RECOVERED, LEVEL_WARNING,
             "the undo journal of a predecessor is torn, ignoring: nothing can be restored from "
             "it");
    else if (o->kind == OUTCOME_FOREIGN)
        tell(d, EVENT_RECOVERED, LEVEL_NOTICE,
             "a predecessor was killed while it held %s, but somebody else has written it since: "
             "left alone",
             knob_table[o->knob].name);
    else
        tell_failure(d, o);
}

static void first_values(struct daemon *d, const struct job *job)
{
    bool told = d->unreadable;
    d->unreadable = job->error < 0;
    if (job->error < 0) {
        if (!told)
            tell(d, EVENT_NOTICE, LEVEL_WARNING,
                 "the sysctls cannot be read: %s; read again each minute, ignoring",
                 strerror(-job->error));
        return;
    }
    if (!watch_snapshot(d->watch)->knobs_known) {
        char facts[320];
        engine_found(d->engine, &job->values);
        watch_knobs(d->watch, &job->values);
        facts_line(watch_snapshot(d->watch), &d->params, facts, sizeof(facts));
        tell(d, EVENT_STARTED, LEVEL_NOTICE, "pcptuned %s, mode %s: %s", PCPTUNED_VERSION,
             mode_name(d->params.mode), facts);
        return;
    }
    watch_knobs(d->watch, &job->values);
}

static int on_patience(sd_event_source *source, uint64_t usec, void *arg)
{
    struct daemon *d = arg;
    (void)source, (void)usec;

    tell(d, EVENT_STOPPED, LEVEL_ERROR,
         "the knobs could not be restored within %d s; run pcptuned --restore",
         (int)(STOP_PATIENCE / NSEC_PER_SEC));
    return sd_event_exit(d->event, EXIT_FAILURE);
}

static void begin_stop(struct daemon *d, int exit_code)
{
    if (d->stopping)
        return;
    d->stopping = true;
    d->exit_code = exit_code;
    sd_event_add_time_relative(d->event, NULL, CLOCK_MONOTONIC, STOP_PATIENCE / NSEC_PER_USEC, 0,
                               on_patience, d);
}

static void foreign(struct daemon *d, const struct outcome *o)
{
    tell_foreign(d, o);
    jobs_yield(d->jobs, o->knob);
    if (d->params.on_foreign == FOREIGN_EXIT)
        begin_stop(d, EXIT_FAILURE);
}

static void outcome(struct daemon *d, const struct job *job)
{
    const struct outcome *o = &job->outcome;
    struct plan plan = job->plan;

    watch_knobs(d->watch, o->kind == OUTCOME_FOREIGN ? &o->before : &o->after);
    engine_outcome(d->engine, &d->params, o, clock_monotonic());
    d->restore_failed = o->action == PLAN_RESTORE && o->kind > OUTCOME_FOREIGN;
    switch (o->kind) {
    case OUTCOME_DONE:
    case OUTCOME_UNCHANGED:
        tell_plan(d,
                  plan.action == PLAN_RESTORE   ? EVENT_RESTORED
                  : plan.reason == REASON_STORM ? EVENT_STORM
                                                : EVENT_ADAPTED,
                  &plan, o);
        break;
    case OUTCOME_FOREIGN:
        foreign(d, o);
        break;
    default:
        tell_failure(d, o);
        break;
    }
}

static void collected(struct daemon *d, const struct job *job)
{
    char age[UNITS_BUF];

    if (d->hang_told) {
        d->hang_told = false;
        tell(d, EVENT_KNOB_HANGS, LEVEL_NOTICE, "the sysctl access returned after %s",
             format_duration(clock_monotonic() - d->hang_since, age));
    }
    switch (job->kind) {
    case JOB_RECOVER:
        recovered(d, &job->outcome);
        submit(d, &(struct job){.kind = JOB_READ});
        break;
    case JOB_READ:
        first_values(d, job);
        break;
    case JOB_SET:
    case JOB_RESTORE:
        outcome(d, job);
        break;
    }
}

static int on_job(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct daemon *d = arg;
    static struct job job;
    (void)source, (void)fd, (void)events;

    if (!jobs_collect(d->jobs, &job, clock_monotonic()))
        return 0;
    if (jobs_running_since(d->jobs) == 0)
        sd_event_source_set_enabled(d->hang, SD_EVENT_OFF);
    collected(d, &job);
    step(d);
    return 0;
}

/* --- signals, reload, end ------------------------------------------------------------------ */

/* Whether this process could write at all; where not, it goes on as a dry run and says so. */
static void check_writable(struct daemon *d, struct params *p)
{
    bool has[KNOB_MAX];

    knobs_probe(has);
    for (unsigned k = 0; k < KNOB_MAX && p->mode == MODE_APPLY; k++) {
        if (!has[k] || access(knob_table[k].path, W_OK) == 0)
            continue;
        tell(d, EVENT_NOTICE, LEVEL_WARNING,
             "%s cannot be written (%s): storms are reported with what would be done (dry run)",
             knob_table[k].name, strerror(errno));
        p->mode = MODE_DRY_RUN;
    }
}

static struct actuator_config actuator_config(const struct daemon *d, const struct params *p)
{
    struct actuator_config c = {.state_dir = d->options->state_dir,
                                .boot_id = watch_host(d->watch)->boot_id,
                                .dry_run = p->mode != MODE_APPLY};

    memcpy(c.lo, p->knob_lo, sizeof(c.lo));
    memcpy(c.hi, p->knob_hi, sizeof(c.hi));
    return c;
}

static void take_next(struct daemon *d)
{
    struct actuator_config c = actuator_config(d, &d->next);
    bool to_apply = d->next.mode == MODE_APPLY && d->params.mode != MODE_APPLY;
    int r = jobs_configure(d->jobs, &c);

    if (r == -EBUSY && jobs_running_since(d->jobs) != 0)
        return; /* the next outcome brings us here again */
    d->has_next = false;
    if (r < 0) {
        tell(d, EVENT_RELOAD_REJECTED, LEVEL_ERROR,
             "the knobs cannot be taken: %s; the configuration before stays in force",
             strerror(-r));
    } else {
        d->params = d->next;
        engine_rearm(d->engine);
        watch_anew(d);
        tell(d, EVENT_RELOADED, LEVEL_NOTICE, "configuration reloaded, mode %s",
             mode_name(d->params.mode));
        if (to_apply)
            submit(d, &(struct job){.kind = JOB_RECOVER});
    }
    tell_ready(d);
}

/* In place of a step once an end or a reload is wanted: first everything goes back. */
static void end_if_idle(struct daemon *d)
{
    struct params off = d->params;
    struct plan plan;

    off.mode = MODE_OFF;
    engine_step(d->engine, &off, watch_snapshot(d->watch), clock_monotonic(), &plan);
    if (plan.action != PLAN_NONE) {
        carry_out(d, &plan);
        return;
    }
    if (jobs_running_since(d->jobs) != 0)
        return;
    if (!d->stopping)
        take_next(d);
    else if (d->restore_failed)
        arm(d, plan.wake_at); /* it is tried again until the patience is over */
    else
        sd_event_exit(d->event, d->exit_code);
}

static int on_stop(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
    struct daemon *d = arg;
    (void)source, (void)info;

    sd_notify(0, "STOPPING=1");
    begin_stop(d, EXIT_SUCCESS);
    end_if_idle(d);
    return 0;
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
    struct daemon *d = arg;
    struct config_result c;
    (void)source, (void)info;

    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_monotonic() / NSEC_PER_USEC);
    if (config_load("", d->options->config, &c) < 0) {
        for (size_t i = 0; i < c.n_errors; i++)
            tell(d, EVENT_RELOAD_REJECTED, LEVEL_ERROR, "%s", c.errors[i]);
        tell(d, EVENT_RELOAD_REJECTED, LEVEL_ERROR,
             "%zu error%s: the configuration before stays in force", c.n_errors,
             c.n_errors == 1 ? "" : "s");
        tell_ready(d);
    } else {
        d->next = c.params;
        if (d->options->dry_run && d->next.mode == MODE_APPLY)
            d->next.mode = MODE_DRY_RUN;
        check_writable(d, &d->next);
        d->has_next = true;
        end_if_idle(d);
    }
    config_result_done(&c);
    return 0;
}

/* --- setting up ---------------------------------------------------------------------------- */

static int add_signal(struct daemon *d, int number, sd_event_signal_handler_t handler)
{
    return sd_event_add_signal(d->event, NULL, number, handler, d);
}

static int add_timers(struct daemon *d)
{
    int r = sd_event_add_time_relative(d->event, &d->wake, CLOCK_MONOTONIC, 0, 1, on_wake, d);

    if (r >= 0)
        r = sd_event_add_time_relative(d->event, &d->tick, CLOCK_MONOTONIC,
                                       d->params.tick / NSEC_PER_USEC, 1000000, on_tick, d);
    if (r >= 0)
        r = sd_event_add_time_relative(d->event, &d->hang, CLOCK_MONOTONIC, 0, 1000, on_hang, d);
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
        r = add_signal(d, SIGTERM, on_stop);
    if (r >= 0)
        r = add_signal(d, SIGINT, on_stop);
    if (r >= 0)
        r = add_signal(d, SIGHUP, on_reload);
    if (r >= 0)
        r = add_exits(d);
    if (r >= 0)
        r = add_psi(d);
    if (r >= 0)
        r = sd_event_add_io(d->event, NULL, jobs_fd(d->jobs), EPOLLIN, on_job, d);
    if (r >= 0)
        r = sd_event_set_watchdog(d->event, true);
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

static int open_knobs(struct daemon *d)
{
    struct actuator *a = NULL;

    check_writable(d, &d->params);
    struct actuator_config c = actuator_config(d, &d->params);
    int r = actuator_open(&c, &a);
    if (r < 0) {
        tell(d, EVENT_STOPPED, LEVEL_ERROR,
             r == -EBUSY ? "%s: another pcptuned owns the knobs (%s)" : "%s cannot be used: %s",
             d->options->state_dir, strerror(-r));
        return r;
    }
    r = jobs_new(a, &d->jobs);
    if (r < 0)
        actuator_close(a);
    return r;
}

static void tell_stopped(struct daemon *d)
{
    struct exits_stats x = watch_exits_stats(d->watch);

    tell(d, EVENT_STOPPED, LEVEL_NOTICE,
         "stopped, exit code %d; saw %" PRIu64 " large exits in %" PRIu64
         " messages, read zoneinfo %" PRIu64 " times",
         d->exit_code, x.tasks, x.messages, watch_zoneinfo_reads(d->watch));
}

static int loop(struct daemon *d)
{
    int r = add_sources(d);

    if (r < 0) {
        tell(d, EVENT_STOPPED, LEVEL_ERROR, "cannot set the event loop up: %s", strerror(-r));
        return EXIT_FAILURE;
    }
    const char *why = realtime_enter();
    if (why)
        tell(d, EVENT_NOTICE, LEVEL_INFO, "%s", why);
    submit(d, &(struct job){.kind = JOB_RECOVER});
    tell_ready(d);
    r = sd_event_loop(d->event);
    if (r < 0) {
        tell(d, EVENT_STOPPED, LEVEL_ERROR, "the event loop failed: %s", strerror(-r));
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
    tell(d, EVENT_STOPPED, LEVEL_NOTICE,
         "Linux %s has no vm.percpu_pagelist_high_fraction (5.14 and later have): nothing to tune; "
         "--dry-run would report storms all the same",
         watch_host(d->watch)->release);
    return true;
}

static int run(struct daemon *d)
{
    int r = watch_open(&d->params, tell_signal, d, &d->watch);

    if (r >= 0)
        r = engine_new(&d->engine);
    if (r < 0)
        return EXIT_FAILURE;
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
    int r = open_loop(&d);
    if (r >= 0)
        r = report_new(&o->report, &d.report);
    if (r < 0) {
        fprintf(stderr, "pcptuned: cannot start: %s\n", strerror(-r));
        return EXIT_FAILURE;
    }
    int code = run(&d);
    report_free(d.report);
    jobs_free(d.jobs, NSEC_PER_SEC);
    engine_free(d.engine);
    sd_event_source_unref(d.wake);
    sd_event_source_unref(d.tick);
    sd_event_source_unref(d.hang);
    sd_event_source_unref(d.exits);
    sd_event_source_unref(d.psi);
    sd_event_unref(d.event);
    watch_close(d.watch);
    return code;
}
