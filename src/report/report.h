/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "event.h"
#include "status.h"

/* Events to people and programs, from a thread of ordinary priority: the loop puts an event into
 * a ring and goes on, whoever reads slowly. A full ring drops, and says how many. */
struct report;

enum report_format {
    REPORT_AUTO, /* journal where stderr is the journal's, else text */
    REPORT_TEXT, /* a line an event on standard error, with time stamp on a terminal */
    REPORT_JSON, /* an object an event on standard output, every event whatever its level */
    REPORT_JOURNAL,
};

struct report_config {
    enum report_format format;
    enum event_level level; /* text and journal: events above it are not shown */
};

int report_new(const struct report_config *c, struct report **ret);
/* Waits until all is written, at most 2 s. NULL is accepted. */
void report_free(struct report *r);
DEFINE_CLEANUP(struct report *, report_free)

/* Never blocks, never allocates. The event is copied. */
void report_put(struct report *r, const struct event *e);

/* Has the metrics of this status written to path (metrics.h), an absolute one that ends in .prom.
 * Never blocks; of several in a row the last is written. The file goes with the next path, "" for
 * none, and with report_free(). config: a hash of the settings in force. */
void report_metrics(struct report *r, const char *path, uint64_t config, const struct status *s);

/* Events dropped because the reader was too slow. */
uint64_t report_dropped(struct report *r);

/* One event as JSON text with stable keys, documented in pcptuned(8). The caller frees it. NULL:
 * out of memory. */
char *report_json(const struct event *e);
