/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "proc.h"
#include "storm_options.h"

/* The experiment itself: forks, waits until all is ready, ends the tasks, and reaps. */

struct task_result {
    pid_t pid;
    nsec_t exit_ns;          /* when it was reaped, 0 before */
    struct proc_usage usage; /* before the storm */
};

/* Times are CLOCK_MONOTONIC. */
struct storm_result {
    nsec_t ready_ns;       /* all tasks ready and looked at */
    nsec_t kill_ns;        /* right before the first signal */
    nsec_t kill_end_ns;    /* right after the last one */
    nsec_t last_exit_ns;   /* reaped */
    nsec_t churn_begin_ns; /* 0 without --thread-churn */
    nsec_t churn_end_ns;
    size_t tasks;
    struct task_result *task; /* the caller frees it */
    struct phase_result
        phase[PHASES]; /* with a bystander; DURING is the churn where there is one */
};

struct storm;

/* Starts what lives through all storms: bystander, busy loops, control group, shared mapping. From
 * here to storm_free() SIGINT, SIGTERM, SIGHUP and SIGCHLD are blocked. On error *ret is set too
 * (or NULL), for storm_error() and storm_signal(). */
int storm_new(const struct storm_options *o, struct storm **ret);

/* Ends and reaps all children, removes the control group. Returns 0, or negative errno where the
 * group could not be removed. NULL is accepted. */
int storm_free(struct storm *s);

/* One storm. -EINTR: a signal asks to stop. In any case the caller frees ret->task. */
int storm_once(struct storm *s, struct storm_result *ret);

/* Waits, with an eye on signals. -EINTR as above. */
int storm_sleep(struct storm *s, nsec_t duration);

/* fn is called with the number of tasks that are ready whenever that changes. */
void storm_on_progress(struct storm *s, void (*fn)(size_t ready, size_t all, void *arg), void *arg);

/* Why the last call failed, in words, and the signal of -EINTR. */
const char *storm_error(const struct storm *s);
int storm_signal(const struct storm *s);

/* NULL where there is none. */
const struct bystander *storm_bystander(const struct storm *s);
const struct cgroup *storm_cgroup(const struct storm *s);
