/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "event.h"

/* What is not told, or not each time. */

/* The same event again and again is one line, and now and then another with a count. Only what
 * follows itself is collapsed: between "lost" and "lost" the "back" stays readable. Changes of a
 * knob never are. */
struct repeat {
    bool has;
    struct event last; /* told, or kept back after it was */
    uint32_t count;    /* kept back since the last line */
    nsec_t due;        /* when they are told */
    nsec_t interval;   /* from the first one kept back: 1 min, then twice as long, up to 1 h */
};

/* True: e says what the event before it said, and is counted. False: it is news, to be told after
 * what repeat_flush() has, and then given to repeat_told(). */
bool repeat_takes(struct repeat *r, const struct event *e, nsec_t now);
void repeat_told(struct repeat *r, const struct event *e);

/* When what is kept back must be told though nothing else happens; infinity: nothing is. */
nsec_t repeat_due(const struct repeat *r);

/* Returns the last of the events kept back, with their number in ->repeats; NULL: none are. */
const struct event *repeat_flush(struct repeat *r);

/* At most three lines a storm below level debug: its first two, which are a change and the restore,
 * and its end. One that ebbs and swells has one more of each every few seconds. */
struct storm_lines {
    uint64_t id;
    unsigned lines;
};

/* Whether an event below level debug is to be told. True: it is counted. */
bool storm_lines_take(struct storm_lines *s, const struct event *e);
