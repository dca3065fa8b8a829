/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "api.h"
#include "clock.h"
#include "daemon_impl.h"
#include "facts.h"
#include "options.h"
#include "units.h"

int daemon_on_hang(sd_event_source *source, uint64_t usec, void *arg)
{
    struct daemon *d = arg;
    nsec_t since = jobs_running_since(d->jobs);
    char age[UNITS_BUF];
    (void)source, (void)usec;

    if (since == 0 || d->hang_told)
        return 0;
    d->hang_told = true;
    if (!d->ready)
        daemon_tell_ready(d);
    d->hang_since = since;
    daemon_account_count(d, COUNT_KNOB_HANGS);
    daemon_answer(d, API_ERROR_BUSY,
                  "a sysctl access hangs in the kernel: it is done when that returns");
    daemon_tell(
        d, EVENT_KNOB_HANGS, LEVEL_WARNING,
        "a sysctl access has not returned for %s (the kernel holds it during a memory offline); "
        "nothing can be changed or restored until it does, everything else goes on",
        format_duration(clock_monotonic() - since, age));
    return 0;
}

static void recovered(struct daemon *d, const struct outcome *o)
{
    bool told = d->unrecovered;

    d->unrecovered = o->kind > OUTCOME_FOREIGN;
    if (o->kind == OUTCOME_UNCHANGED && o->error == 0)
        return;
    if (o->kind == OUTCOME_DONE)
        daemon_tell(d, EVENT_RECOVERED, LEVEL_NOTICE,
                    "a predecessor was killed while it held %s: the original is restored",
                    knob_table[o->knob].name);
    else if (o->error == -ESTALE)
        daemon_tell(d, EVENT_RECOVERED, LEVEL_INFO, "a journal of an earlier boot was removed");
    else if (o->error == -EBADMSG)
        daemon_tell(
            d, EVENT_RECOVERED, LEVEL_WARNING,
            "the undo journal of a predecessor is torn, ignoring: nothing can be restored from "
            "it");
    else if (o->kind == OUTCOME_FOREIGN)
        daemon_tell(
            d, EVENT_RECOVERED, LEVEL_NOTICE,
            "a predecessor was killed while it held %s, but somebody else has written it since: "
            "left alone",
            knob_table[o->knob].name);
    else if (!told)
        daemon_tell_failure(d, o);
}

static void first_values(struct daemon *d, const struct job *job)
{
    bool told = d->unreadable;
    d->unreadable = job->error < 0;
    if (!d->ready) /* from here on a write by others is seen as theirs */
        daemon_tell_ready(d);
    if (job->error < 0) {
        if (!told)
            daemon_tell(d, EVENT_NOTICE, LEVEL_WARNING,
                        "the sysctls cannot be read: %s; read again each minute, ignoring",
                        strerror(-job->error));
        return;
    }
    if (!d->found && !d->unrecovered) { /* what a predecessor left is nobody's pin */
        d->found = true;
        engine_found(d->engine, &job->values);
    }
    engine_seen(d->engine, &job->values);
    if (!watch_snapshot(d->watch)->knobs_known) {
        char facts[320];
        watch_knobs(d->watch, &job->values);
        daemon_account_read(d, &job->values);
        facts_line(watch_snapshot(d->watch), &d->params, facts, sizeof(facts));
        daemon_tell(d, EVENT_STARTED, LEVEL_NOTICE, "pcptuned %s, mode %s: %s", PCPTUNED_VERSION,
                    mode_name(d->params.mode), facts);
        return;
    }
    watch_knobs(d->watch, &job->values);
    daemon_account_read(d, &job->values);
}

static void foreign(struct daemon *d, const struct outcome *o)
{
    daemon_tell_foreign(d, o);
    jobs_yield(d->jobs, o->knob);
    if (d->params.on_foreign == FOREIGN_EXIT)
        daemon_begin_stop(d, EXIT_FOREIGN);
}

static void outcome(struct daemon *d, const struct job *job)
{
    const struct outcome *o = &job->outcome;
    struct plan plan = job->plan;

    watch_knobs(d->watch, o->kind == OUTCOME_FOREIGN ? &o->before : &o->after);
    engine_outcome(d->engine, &d->params, o, clock_monotonic());
    daemon_account_outcome(d, o, &plan);
    d->restore_failed = o->action == PLAN_RESTORE && o->kind > OUTCOME_FOREIGN;
    switch (o->kind) {
    case OUTCOME_DONE:
    case OUTCOME_UNCHANGED:
        daemon_tell_plan(d,
                         plan.action == PLAN_RESTORE   ? EVENT_RESTORED
                         : plan.why.storm_id == 0      ? EVENT_LISTS
                         : plan.reason == REASON_STORM ? EVENT_STORM
                                                       : EVENT_ADAPTED,
                         &plan, o);
        break;
    case OUTCOME_FOREIGN:
        foreign(d, o);
        break;
    default:
        daemon_tell_failure(d, o);
        break;
    }
}

static void collected(struct daemon *d, const struct job *job)
{
    char age[UNITS_BUF];

    if (d->hang_told) {
        d->hang_told = false;
        daemon_tell(d, EVENT_KNOB_HANGS, LEVEL_NOTICE, "the sysctl access returned after %s",
                    format_duration(clock_monotonic() - d->hang_since, age));
    }
    switch (job->kind) {
    case JOB_RECOVER:
        recovered(d, &job->outcome);
        daemon_submit(d, &(struct job){.kind = JOB_READ});
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

int daemon_on_job(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct daemon *d = arg;
    static struct job job;
    (void)source, (void)fd, (void)events;

    if (!jobs_collect(d->jobs, &job, clock_monotonic()))
        return 0;
    if (jobs_running_since(d->jobs) == 0)
        sd_event_source_set_enabled(d->hang, SD_EVENT_OFF);
    collected(d, &job);
    daemon_step(d);
    return 0;
}
