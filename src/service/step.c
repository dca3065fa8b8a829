/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <sys/epoll.h>

#include "clock.h"
#include "daemon_impl.h"

/* walk_zones_in_node() prints zoneinfo under the lock that we protect: a reading a minute in calm
 * costs 0.24 ms of it on 256 CPUs. The sysctl is read as often, to notice other writers. */
#define CALM_READ_EVERY (60 * NSEC_PER_SEC)

/* For what the lists hold now, which decides whether acting is worth its price: with full lists a
 * write holds both CPUs of a small machine for 14 ms (seen on 6.18). Usually it is there in 50 us.
 */
#define VM_PATIENCE (150 * NSEC_PER_USEC)

void daemon_submit(struct daemon *d, const struct job *job)
{
    nsec_t now = clock_monotonic();

    if (jobs_submit(d->jobs, job, now) < 0)
        return;
    sd_event_source_set_time(d->hang, (now + d->params.knob_timeout) / NSEC_PER_USEC);
    sd_event_source_set_enabled(d->hang, SD_EVENT_ONESHOT);
}

void daemon_carry_out(struct daemon *d, const struct plan *p)
{
    struct job job = {.kind = p->action == PLAN_SET ? JOB_SET : JOB_RESTORE, .plan = *p};

    if (p->action != PLAN_NONE)
        daemon_submit(d, &job);
    else if (p->reason != REASON_NONE)
        daemon_tell_plan(d, EVENT_LEFT_ALONE, p, NULL);
}

void daemon_arm(struct daemon *d, nsec_t at)
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

void daemon_step(struct daemon *d)
{
    if (d->stopping || d->has_next) { /* nothing new is begun */
        daemon_end_if_idle(d);
        return;
    }
    const struct snapshot *s = watch_snapshot(d->watch);
    struct plan plan;

    engine_step(d->engine, &d->params, s, clock_monotonic(), &plan);
    daemon_carry_out(d, &plan);
    daemon_arm(d, plan.wake_at);
    d->stormed |= !engine_idle(d->engine);
    if (s->tasks == 0 && engine_idle(d->engine)) {
        watch_forget(d->watch);
        if (d->stormed)
            watch_zoneinfo(d->watch, clock_monotonic());
        d->stormed = false;
    }
    daemon_tell_status(d);
    daemon_account_step(d, s, &plan);
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
    daemon_step(d);
    return 0;
}

int daemon_on_wake(sd_event_source *source, uint64_t usec, void *arg)
{
    struct daemon *d = arg;
    (void)source, (void)usec;

    watch_exits(d->watch, clock_monotonic());
    watch_look(d->watch);
    daemon_step(d);
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
    daemon_step(d);
    return 0;
}

int daemon_add_exits(struct daemon *d)
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

int daemon_add_psi(struct daemon *d)
{
    int fd = watch_psi_fd(d->watch);

    d->psi = sd_event_source_unref(d->psi);
    return fd < 0 ? 0 : sd_event_add_io(d->event, &d->psi, fd, EPOLLPRI, on_psi, d);
}

/* The sources go before their descriptors do. */
void daemon_watch_anew(struct daemon *d)
{
    d->exits = sd_event_source_unref(d->exits);
    d->psi = sd_event_source_unref(d->psi);
    watch_configure(d->watch, &d->params);
    int r = daemon_add_exits(d);
    if (r >= 0)
        r = daemon_add_psi(d);
    if (r < 0)
        daemon_tell(d, EVENT_SIGNAL, LEVEL_WARNING, "cannot wait for a signal: %s", strerror(-r));
}

int daemon_on_tick(sd_event_source *source, uint64_t usec, void *arg)
{
    struct daemon *d = arg;
    nsec_t now = clock_monotonic();
    (void)usec;

    if (watch_tick(d->watch))
        daemon_add_exits(d);
    bool calm = engine_idle(d->engine) && watch_snapshot(d->watch)->tasks == 0;
    bool ours = engine_get_state(d->engine) == ENGINE_STEADY; /* which recovery would give back */
    if (calm && d->unrecovered && !ours) {
        daemon_submit(d, &(struct job){.kind = JOB_RECOVER}); /* which is followed by a reading */
    } else if (calm && now - d->read_at >= CALM_READ_EVERY) {
        d->read_at = now;
        watch_zoneinfo(d->watch, now);
        daemon_submit(d, &(struct job){.kind = JOB_READ});
    }
    watch_look(d->watch);
    daemon_step(d);
    sd_event_source_set_time(source, (now + d->params.tick) / NSEC_PER_USEC);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}
