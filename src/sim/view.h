/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "snapshot.h"
#include "state.h"

/* What the daemon around the policy sees of the simulated machine: the snapshot, as observe/ and
 * service/watch.c would fill it, and as late. */

struct view {
    struct host_facts host;
    struct zone_table table;
    struct snapshot s;
    uint32_t group_of[SCENARIO_WORKLOADS]; /* index in s.groups + 1, 0: none */

    struct { /* struct psi_window of the trigger on memory pressure */
        nsec_t begin, value, growth, last_event;
    } trigger;
};

int view_init(struct view *v, const struct sim *sim); /* -ENOMEM; view_done() frees what there is */
void view_done(struct view *v);

void view_read_zoneinfo(struct view *v, struct sim *sim); /* and vmstat together with it */
void view_read_vmstat(struct view *v, struct sim *sim);
void view_read_pressure(struct view *v, struct sim *sim);

/* hostfacts_update(): true where other CPUs are online than before. */
bool view_update_host(struct view *v, const struct sim *sim);

/* An exit that was announced begins or ends; groups are forgotten in calm. */
void view_exit(struct view *v, const struct sim *sim, const struct task *t, bool begins);
void view_forget(struct view *v);

/* update_triggers(), each VIEW_POLL: true where memory stalled for 10 % of the last half second,
 * at most once in half a second. */
bool view_triggered(struct view *v, struct sim *sim);
#define VIEW_WINDOW (500 * NSEC_PER_MSEC)
#define VIEW_POLL (VIEW_WINDOW / 10)
