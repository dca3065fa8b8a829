/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "event.h"
#include "status.h"

/* Metrics in the text format of Prometheus, for node_exporter's textfile collector. What each of
 * them means is in pcptuned-metrics(7). */

#define METRICS_BUCKETS 10

/* What struct status does not keep, drawn from the events. Zero is empty. */
struct metrics {
    uint64_t reactions[METRICS_BUCKETS + 1]; /* each in its own bucket; the last: longer */
    nsec_t reaction_sum;
    uint64_t errors[EVENT_KINDS]; /* events of level warning and error */
    nsec_t changed;               /* CLOCK_REALTIME of the last change of a knob; 0: none */
};

/* Some ns: fit for the loop. */
void metrics_note(struct metrics *m, const struct event *e);

/* The whole text, pure. cpu: of the process; config: a hash of the settings in force. The caller
 * frees it; NULL: out of memory. */
char *metrics_format(const struct metrics *m, const struct status *s, nsec_t cpu, uint64_t config);

/* Replaces the file atomically, mode 0644, and not durably: it is worth nothing after a reboot.
 * Returns 0 or negative errno. */
int metrics_write(const char *path, const char *text);
