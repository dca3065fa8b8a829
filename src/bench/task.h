/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "storm_options.h"

/* What ends a task that leaves by itself, and starts the churn; blocked when it is forked. */
#define TASK_SIGNAL SIGUSR1

struct task_plan {
    const struct storm_options *o;
    void *shared;                /* the mapping of STORM_SHARED */
    const struct cgroup *cgroup; /* to enter, or NULL */
    int report_fd;
};

/* The life of a task (struct task_plan), for child_spawn(): takes its memory, reports that it is
 * ready, and waits for TASK_SIGNAL or death. With a thread churn the first TASK_SIGNAL starts the
 * churn, which is reported, and the second one ends the task. */
void task_main(void *plan);
