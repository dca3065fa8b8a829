/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"
#include "plan.h"

/* What happened, as a value. The loop fills events and never formats them: report.h does. */

enum event_kind {
    EVENT_STARTED,
    EVENT_STOPPED,
    EVENT_STORM,      /* acted on: plan and outcome */
    EVENT_ADAPTED,    /* knob values changed again within a storm */
    EVENT_LISTS,      /* no storm: the lists were bounded, or lengthened */
    EVENT_RESTORED,   /* originals are back */
    EVENT_LEFT_ALONE, /* a storm that nothing was done about */
    EVENT_FOREIGN,    /* somebody else's value was found, and what is done now */
    EVENT_REFUSED,    /* the kernel refused a write */
    EVENT_RECOVERED,  /* what a killed predecessor left was undone, or not */
    EVENT_SIGNAL,     /* a signal is missing, lost or back, and what still works */
    EVENT_KNOB_HANGS, /* a sysctl does not answer, or answers again */
    EVENT_RELOADED,
    EVENT_RELOAD_REJECTED,
    EVENT_NOTICE, /* anything else that is said once */
    EVENT_KINDS,
};
const char *event_name(enum event_kind k); /* "storm", "left-alone": stable, for JSON */

enum event_level {
    LEVEL_ERROR = 3,
    LEVEL_WARNING = 4,
    LEVEL_NOTICE = 5,
    LEVEL_INFO = 6,
    LEVEL_DEBUG = 7
};

struct event {
    enum event_kind kind;
    enum event_level level; /* of syslog(3) */
    nsec_t mono, real;      /* when it happened */
    bool dry_run;
    bool has_plan, has_outcome;
    struct plan plan;
    struct outcome outcome;
    char text[384];   /* the sentence where there is no plan to describe */
    uint32_t repeats; /* this and so many like it are told together; 0: it alone (see repeat.h) */
};

#define EVENT_TEXT 1024

/* The sentence of an event, without time stamp and control characters, in UTF-8: "storm 3: ...".
 * Returns buf. */
char *event_describe(const struct event *e, char *buf, size_t size);
