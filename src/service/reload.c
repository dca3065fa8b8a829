/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "api.h"
#include "clock.h"
#include "config.h"
#include "daemon_impl.h"
#include "knobs.h"
#include "notify.h"

/* How long an end waits for a sysctl that hangs before it leaves the restore to ExecStopPost=. */
#define STOP_PATIENCE (5 * NSEC_PER_SEC)

/* Whether this process could write at all; where not, it goes on as a dry run and says so. */
void daemon_check_writable(struct daemon *d, struct params *p)
{
    bool has[KNOB_MAX];

    knobs_probe(has);
    for (unsigned k = 0; k < KNOB_MAX && p->mode == MODE_APPLY; k++) {
        if (!has[k] || access(knob_table[k].path, W_OK) == 0)
            continue;
        daemon_tell(
            d, EVENT_NOTICE, LEVEL_WARNING,
            "%s cannot be written (%s): storms are reported with what would be done (dry run)",
            knob_table[k].name, strerror(errno));
        p->mode = MODE_DRY_RUN;
    }
}

struct actuator_config daemon_actuator_config(const struct daemon *d, const struct params *p)
{
    struct actuator_config c = {.state_dir = d->options->state_dir,
                                .boot_id = watch_host(d->watch)->boot_id,
                                .dry_run = p->mode != MODE_APPLY};

    memcpy(c.lo, p->knob_lo, sizeof(c.lo));
    memcpy(c.hi, p->knob_hi, sizeof(c.hi));
    return c;
}

static void not_taken(struct daemon *d, int error)
{
    char text[160];

    snprintf(text, sizeof(text),
             "the knobs cannot be taken: %s; the configuration before stays in force",
             strerror(-error));
    daemon_tell(d, EVENT_RELOAD_REJECTED, LEVEL_ERROR, "%s", text);
    daemon_account_count(d, COUNT_RELOADS_REJECTED);
    daemon_answer(d, API_ERROR_REFUSED, text);
}

static void taken(struct daemon *d, bool to_apply)
{
    d->params = d->next;
    d->configured = d->next_configured;
    engine_rearm(d->engine);
    daemon_watch_anew(d);
    daemon_account_params(d);
    if (d->insist) {
        daemon_tell(d, EVENT_NOTICE, LEVEL_NOTICE, "mode %s now, as commanded",
                    mode_name(d->params.mode));
    } else {
        daemon_account_count(d, COUNT_RELOADS);
        daemon_tell(d, EVENT_RELOADED, LEVEL_NOTICE, "configuration reloaded, mode %s",
                    mode_name(d->params.mode));
    }
    if (to_apply)
        daemon_submit(d, &(struct job){.kind = JOB_RECOVER});
    daemon_answer(d, NULL, NULL);
}

static void take_next(struct daemon *d)
{
    struct actuator_config c = daemon_actuator_config(d, &d->next);
    bool to_apply = d->next.mode == MODE_APPLY && d->params.mode != MODE_APPLY;
    int r = jobs_configure(d->jobs, &c);

    if (r == -EBUSY && jobs_running_since(d->jobs) != 0)
        return; /* the next outcome brings us here again */
    d->has_next = false;
    if (r < 0)
        not_taken(d, r);
    else
        taken(d, to_apply);
    daemon_tell_ready(d);
}

static void end(struct daemon *d)
{
    if (d->unrecovered) {
        daemon_tell(d, EVENT_STOPPED, LEVEL_ERROR,
                    "what a predecessor left could not be restored; run pcptuned --restore");
        d->exit_code = EXIT_FAILURE;
    }
    sd_event_exit(d->event, d->exit_code);
}

/* First everything goes back. */
static void end_or_renew(struct daemon *d, const struct plan *p)
{
    if (p->action != PLAN_NONE) {
        daemon_carry_out(d, p);
    } else if (jobs_running_since(d->jobs) != 0) {
        return;
    } else if (d->restore_failed && (d->stopping || d->insist)) {
        daemon_answer(d, API_ERROR_REFUSED,
                      "the kernel did not take an original back; it is tried again");
        daemon_arm(d, p->wake_at); /* at an end, until the patience is over */
    } else if (d->stopping) {
        end(d);
    } else {
        take_next(d);
    }
}

void daemon_end_if_idle(struct daemon *d)
{
    const struct snapshot *s = watch_snapshot(d->watch);
    struct params off = d->params;
    struct plan plan;

    off.mode = MODE_OFF;
    engine_step(d->engine, &off, s, clock_monotonic(), &plan);
    end_or_renew(d, &plan);
    daemon_account_step(d, watch_snapshot(d->watch), &plan);
}

static int on_patience(sd_event_source *source, uint64_t usec, void *arg)
{
    struct daemon *d = arg;
    (void)source, (void)usec;

    daemon_tell(d, EVENT_STOPPED, LEVEL_ERROR,
                "the knobs could not be restored within %d s; run pcptuned --restore",
                (int)(STOP_PATIENCE / NSEC_PER_SEC));
    return sd_event_exit(d->event, EXIT_FAILURE);
}

void daemon_begin_stop(struct daemon *d, int exit_code)
{
    if (d->stopping)
        return;
    d->stopping = true;
    d->exit_code = exit_code;
    daemon_answer(d, API_ERROR_REFUSED, "pcptuned stops");
    sd_event_add_time_relative(d->event, NULL, CLOCK_MONOTONIC, STOP_PATIENCE / NSEC_PER_USEC, 0,
                               on_patience, d);
}

int daemon_on_stop(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
    struct daemon *d = arg;
    (void)source, (void)info;

    notify("STOPPING=1");
    daemon_begin_stop(d, EXIT_SUCCESS);
    daemon_end_if_idle(d);
    return 0;
}

static void reject(struct daemon *d, const struct config_result *c, int error)
{
    char all[2048] = "";
    size_t len = 0;

    if (c->n_errors == 0)
        snprintf(all, sizeof(all), "the configuration cannot be read: %s", strerror(-error));
    for (size_t i = 0; i < c->n_errors; i++) {
        daemon_tell(d, EVENT_RELOAD_REJECTED, LEVEL_ERROR, "%s", c->errors[i]);
        int n = snprintf(all + len, sizeof(all) - len, "%s%s", len ? "\n" : "", c->errors[i]);
        len = MIN(len + (size_t)MAX(n, 0), sizeof(all) - 1);
    }
    if (c->n_errors == 0)
        daemon_tell(d, EVENT_RELOAD_REJECTED, LEVEL_ERROR,
                    "%s; the configuration before stays in force", all);
    else
        daemon_tell(d, EVENT_RELOAD_REJECTED, LEVEL_ERROR,
                    "%zu error%s: the configuration before stays in force", c->n_errors,
                    c->n_errors == 1 ? "" : "s");
    daemon_account_count(d, COUNT_RELOADS_REJECTED);
    daemon_answer(d, API_ERROR_REFUSED, all);
    daemon_tell_ready(d);
}

static void renew(struct daemon *d)
{
    d->has_next = true;
    daemon_end_if_idle(d);
}

void daemon_reload(struct daemon *d)
{
    struct config_result c;

    notify("RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_monotonic() / NSEC_PER_USEC);
    int r = config_load("", d->options->config, &c);
    if (r < 0) {
        reject(d, &c, r);
    } else {
        d->next = c.params;
        if (d->options->dry_run && d->next.mode == MODE_APPLY)
            d->next.mode = MODE_DRY_RUN;
        d->next_configured = d->next.mode;
        d->insist = false;
        daemon_check_writable(d, &d->next);
        renew(d);
    }
    config_result_done(&c);
}

void daemon_set_mode(struct daemon *d, enum mode mode)
{
    if (!d->has_next) {
        d->next = d->params;
        d->next_configured = d->configured;
    }
    d->next.mode = mode;
    d->insist = true;
    renew(d);
}

int daemon_on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
    (void)source, (void)info;

    daemon_reload(arg);
    return 0;
}
