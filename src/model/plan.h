/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

#include "host.h"
#include "knob.h"
#include "snapshot.h"

/* What the policy wants done, why, and what came of it. */

enum plan_action {
    PLAN_NONE,    /* nothing to write */
    PLAN_SET,     /* write `values` */
    PLAN_RESTORE, /* give the originals back */
};

enum reason {
    REASON_NONE,
    /* a storm is on */
    REASON_STORM,        /* W above target: shorten the lists */
    REASON_STORM_GREW,   /* more tasks than planned for: shorten again */
    REASON_STORM_SHRANK, /* far fewer for longer than the dwell time: lengthen */
    /* in calm */
    REASON_HOARD,    /* a small machine whose lists hold too much of its memory */
    REASON_PRESSURE, /* memory is short, and the lists hold much of it */
    REASON_CHURN,    /* sustained traffic that outgrows lists which do not float: lengthen */
    /* ... and nothing is done about it */
    REASON_WITHIN_TARGET, /* W meets the target as it is */
    REASON_NO_GAIN,       /* no value of a knob within bounds makes W smaller */
    REASON_PRICE,         /* draining the lists costs more than the storm */
    REASON_YIELD,         /* such exits were seen to free far less than they announce */
    REASON_BUDGET,        /* writes an hour are used up */
    REASON_NO_KNOB,       /* kernel before 5.14, or its regime is unknown */
    REASON_UNREAD,        /* the sysctl has not answered yet */
    REASON_PINNED,        /* somebody had set the knob before we came */
    REASON_YIELDED,       /* somebody else owns the knob now */
    REASON_UNWRITABLE,    /* the sysctl refused us for good */
    /* the end */
    REASON_CALM,        /* the last task is gone and the hold time over */
    REASON_FALSE_ALARM, /* what was announced is not being freed */
    REASON_OFF,         /* mode off, or stop */
    REASON_TOO_LONG,    /* a storm without an end: TunedMax= is over */
    REASON_EASED,       /* hoard, pressure or churn is over */
    REASON_NO_HELP,     /* longer lists made the traffic no faster */
    REASON_MAX,
};
const char *reason_name(enum reason r); /* "storm", "within-target": stable, for JSON */

struct evidence_numbers {
    bool starting;              /* the tasks fault memory in, they do not exit */
    uint64_t storm_id;          /* counts from 1 */
    uint32_t tasks;             /* in flight that count */
    uint32_t tasks_total;       /* seen in this storm */
    uint64_t pages;             /* base pages that will come, by our bound */
    uint64_t announced;         /* as the kernel announced them */
    uint64_t freed;             /* pages really freed so far; 0 where unknown */
    uint32_t n_now, n_planned;  /* tasks that free at the same moment; the plan is made for */
    uint32_t b_before, b_after; /* pages per hold */
    uint64_t w_before, w_after; /* ns */
    uint64_t target;            /* ns */
    uint64_t page_cost;         /* ns: c of W = N c b */
    uint64_t excess;            /* pages to drain because of the write */
    uint32_t loss;              /* of throughput by shorter holds, 1/100 of a percent */
    uint64_t held, may_hold;    /* calm: pages in the lists of all CPUs, and what they may hold */
    uint64_t traffic;           /* churn: pages a second, taken and given back */
    uint64_t message_at;        /* when the storm's first message came */
    uint64_t since;             /* ns from storm begin to this decision */
    uint32_t repeats;           /* storms like this one that were not reported since the last */
    uint32_t writes_left;       /* this hour */
    char group[GROUP_NAME_MAX]; /* the container that announced most */
};

struct plan {
    enum plan_action action;
    enum reason reason;
    bool report;             /* a transition that an operator should see (at most three a storm) */
    struct knob_values from; /* what the knobs are believed to be */
    struct knob_values values; /* PLAN_SET: what is wanted */
    struct evidence_numbers why;
    uint64_t wake_at; /* step me again at this time with fresh vm counters; infinity: no need */
};

/* One sentence with numbers: "9 tasks ... W = 2 x 20ns x 2016 = 80us > 20us". Returns buf. */
char *plan_describe(const struct plan *p, char *buf, size_t size);

enum outcome_kind {
    OUTCOME_DONE,      /* written and read back (or simulated in a dry run) */
    OUTCOME_UNCHANGED, /* it already was so */
    OUTCOME_FOREIGN,   /* the value is not the one that we left: not touched */
    OUTCOME_REFUSED,   /* EROFS, EPERM, EACCES, EINVAL, out of bounds: permanent */
    OUTCOME_FAILED,    /* anything else: may be tried again */
    OUTCOME_GONE,      /* the file is not there any more */
    OUTCOME_MAX,
};
const char *outcome_name(enum outcome_kind k);

struct outcome {
    enum plan_action action;
    enum outcome_kind kind;
    enum knob_id knob;                /* that caused kind, where it is not DONE or UNCHANGED */
    int error;                        /* negative errno or 0 */
    bool simulated;                   /* dry run: nothing was opened for writing */
    struct knob_values before, after; /* read before, and read back */
    struct knob_values original;      /* has[]: a knob of which we hold the original */
    uint64_t started, written, ended; /* monotonic ns; written: the write(2) returned */
};
