/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "event.h"
#include "exits.h"
#include "params.h"
#include "psi.h"
#include "snapshot.h"
#include "zoneinfo.h"

/* All observers of the daemon, and the snapshot that they fill. */
struct watch;

/* Says once what is missing, lost or back, and what still works. */
typedef void (*watch_say)(void *arg, enum event_kind kind, enum event_level level,
                          const char *text);

/* Opens every signal that the parameters ask for; a missing one is said and lived with. Reads
 * zoneinfo once and the host facts. Forks short-lived children: before any thread. -ENOMEM. */
int watch_open(const struct params *p, watch_say say, void *arg, struct watch **ret);
void watch_close(struct watch *w);
DEFINE_CLEANUP(struct watch *, watch_close)

/* After a reload: opens and closes the signals that changed. The descriptors below may be others
 * afterwards; tasks in flight are forgotten where the settings of exits changed. */
void watch_configure(struct watch *w, const struct params *p);

const struct host_facts *watch_host(const struct watch *w);

/* Descriptors for the loop, -1 where the signal is missing. The PSI one polls POLLPRI. */
int watch_exits_fd(const struct watch *w);
int watch_psi_fd(const struct watch *w);

/* The exits descriptor was readable, or a deadline passed. Returns true where tasks came or went.
 */
bool watch_exits(struct watch *w, nsec_t now);
nsec_t watch_deadline(const struct watch *w);

/* Somebody else's reading of vmstat, where it is newer. */
void watch_seen(struct watch *w, const struct vm_counters *vm);

/* A fresh reading of vmstat. */
void watch_look(struct watch *w);

/* The trigger fired, or (events has EPOLLERR) is void: it is closed then. */
void watch_psi(struct watch *w, uint32_t events);

/* The slow tick: hot-plug, signals that may have come back. Returns true where the exits
 * descriptor is a new one. */
bool watch_tick(struct watch *w);

/* Reads zoneinfo, which takes zone->lock: never in a storm. */
void watch_zoneinfo(struct watch *w, nsec_t now);

/* The storm is over: its groups are forgotten. */
void watch_forget(struct watch *w);

void watch_knobs(struct watch *w, const struct knob_values *v);

/* The snapshot as of now, valid until the next call of anything here. */
const struct snapshot *watch_snapshot(struct watch *w);

/* What a signal lacks and why, "" if nothing. */
#define WATCH_DETAIL 120
const char *watch_detail(const struct watch *w, enum signal_id id);

/* As last read: of memory and CPU only. */
const struct psi *watch_pressure(const struct watch *w, enum psi_resource r);

/* Zero where taskstats is missing. */
struct exits_stats watch_exits_stats(const struct watch *w);
uint64_t watch_zoneinfo_reads(const struct watch *w);
