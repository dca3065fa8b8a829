/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <signal.h>
#include <sys/signalfd.h>

#include <systemd/sd-event.h>

#include "bus.h"
#include "engine.h"
#include "jobs.h"
#include "options.h"
#include "report.h"
#include "watch.h"

/* The loop's state, shared by the files that are the daemon: daemon.c sets it up, step.c steps,
 * outcome.c takes in what the sysctls answered, reload.c ends or begins anew, command.c does what
 * operators ask on the bus, account.c keeps what they are shown, tell.c says what happened. */

struct daemon {
    const struct options *options;
    struct params params;
    struct params next; /* after a reload, once nothing of the old mode is in force */
    bool has_next;
    bool insist; /* on `next`: an operator's command, not given up where a restore fails */
    enum mode configured, next_configured; /* what configuration and command line ask for */
    bool ready;                            /* systemd was told */
    bool stopping;
    bool restore_failed; /* the last one: something of ours is in force still */
    int exit_code;

    sd_event *event;
    sd_event_source *wake, *tick, *hang, *exits, *psi;
    struct report *report;
    struct watch *watch;
    struct engine *engine;
    struct jobs *jobs;

    enum engine_state state; /* as systemd was told */
    nsec_t state_told;
    bool stormed;     /* zoneinfo is to be read again when all is calm */
    bool found;       /* the engine knows what the sysctls were at the start */
    bool unrecovered; /* what a predecessor left could not be restored: tried at each tick */
    bool hang_told;
    bool unreadable; /* the last reading of the sysctls failed, and that was told */
    nsec_t hang_since, read_at;

    struct bus *bus; /* NULL: it could not be started */
    sd_event_source *commands;
    bool commanded;       /* the command is not answered yet */
    struct status status; /* account.c's */
    bool changed;         /* since it was published */
    nsec_t storm_since;
    nsec_t zones_at;
    nsec_t metrics_at;
    uint64_t config_hash;
};

/* tell.c */
_printf_(4, 5) void daemon_tell(struct daemon *d, enum event_kind kind, enum event_level level,
                                const char *fmt, ...);
void daemon_tell_signal(void *arg, enum event_kind kind, enum event_level level, const char *text);
void daemon_tell_plan(struct daemon *d, enum event_kind kind, const struct plan *p,
                      const struct outcome *o);
void daemon_tell_foreign(struct daemon *d, const struct outcome *o);
void daemon_tell_failure(struct daemon *d, const struct outcome *o);
void daemon_tell_bus(void *arg, enum event_level level, const char *text);
void daemon_tell_status(struct daemon *d);
void daemon_tell_ready(struct daemon *d);

/* step.c */
void daemon_submit(struct daemon *d, const struct job *job);
void daemon_carry_out(struct daemon *d, const struct plan *p);
void daemon_arm(struct daemon *d, nsec_t at);
void daemon_step(struct daemon *d);
int daemon_add_exits(struct daemon *d);
int daemon_add_psi(struct daemon *d);
void daemon_watch_anew(struct daemon *d); /* the parameters are others */
int daemon_on_wake(sd_event_source *source, uint64_t usec, void *arg);
int daemon_on_tick(sd_event_source *source, uint64_t usec, void *arg);

/* outcome.c */
int daemon_on_job(sd_event_source *source, int fd, uint32_t events, void *arg);
int daemon_on_hang(sd_event_source *source, uint64_t usec, void *arg);

/* reload.c */
void daemon_check_writable(struct daemon *d, struct params *p);
struct actuator_config daemon_actuator_config(const struct daemon *d, const struct params *p);
void daemon_begin_stop(struct daemon *d, int exit_code);
void daemon_end_if_idle(struct daemon *d);
int daemon_on_stop(sd_event_source *source, const struct signalfd_siginfo *info, void *arg);
int daemon_on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *arg);
void daemon_reload(struct daemon *d);
void daemon_set_mode(struct daemon *d, enum mode mode); /* until the next of these two */

/* command.c */
int daemon_add_commands(struct daemon *d);
void daemon_answer(struct daemon *d, const char *error, const char *text); /* if there was one */

/* account.c */
void daemon_account_start(struct daemon *d);
void daemon_account_params(struct daemon *d); /* they are others */
void daemon_account_read(struct daemon *d, const struct knob_values *v);
void daemon_account_outcome(struct daemon *d, const struct outcome *o, const struct plan *p);
void daemon_account_count(struct daemon *d, enum status_counter c);
/* After each step, with what it planned. Publishes. */
void daemon_account_step(struct daemon *d, const struct snapshot *s, const struct plan *p);
