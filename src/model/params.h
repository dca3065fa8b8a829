/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "knob.h"

/* Everything that the configuration decides. Defaults: params_default(), the one place. */

enum mode { MODE_APPLY, MODE_DRY_RUN, MODE_OFF, MODE_MAX };
enum on_foreign { FOREIGN_YIELD, FOREIGN_REASSERT, FOREIGN_EXIT, FOREIGN_MAX };
enum on_pinned { PINNED_RESPECT, PINNED_TUNE, PINNED_MAX };

const char *mode_name(enum mode m); /* "apply", "dry-run", "off" */
const char *on_foreign_name(enum on_foreign f);
const char *on_pinned_name(enum on_pinned p);

#define PARAMS_PATH 128

struct params {
    /* [Daemon] */
    enum mode mode;
    uint64_t tick;         /* ns between slow ticks in calm */
    uint64_t knob_timeout; /* ns after which a sysctl access that hangs is reported */

    /* [Signals]: false switches the signal off */
    bool taskstats, psi, vmstat;

    /* [Storm] */
    uint64_t task_size;    /* bytes; smaller exits do not wake us (filter in the kernel) */
    uint64_t storm_size;   /* bytes still to be freed below which there is no storm */
    uint64_t hold;         /* ns of calm after the last exit before the knobs go back */
    uint64_t task_timeout; /* ns after which a task that does not finish exiting is ignored */
    bool start_storms;     /* tame those too who fault memory in all at once */

    /* [Policy] */
    uint64_t target_wait; /* ns: W a bystander may wait */
    uint64_t page_cost;   /* ns per list entry under the lock: c of the cost model */
    int knob_lo[KNOB_MAX], knob_hi[KNOB_MAX]; /* bounds, within the kernel's own */
    uint64_t dwell;                           /* ns between two decisions in opposite directions */
    uint64_t tuned_max;       /* ns of one storm after which the originals go back all the same */
    uint32_t writes_per_hour; /* changes and restores; a change needs room for its restore too */
    uint32_t max_loss;        /* percent of throughput that shorter holds may give away */
    uint32_t max_hoard; /* percent of memory that the lists may hold where it is short; 0: off */
    bool churn;         /* longer lists under sustained traffic, where they do not float */

    /* [Conflict] */
    enum on_foreign on_foreign;
    uint64_t
        rearm_after; /* ns after which a yielded knob is taken up again; infinity: on command */
    enum on_pinned on_pinned; /* a knob that is not at the kernel's default when we start */

    /* [Report] */
    char metrics_file[PARAMS_PATH]; /* for node_exporter's textfile collector; "": none */
};

struct params params_default(void);
