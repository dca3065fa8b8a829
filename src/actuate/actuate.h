/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"
#include "params.h"
#include "plan.h"

/* The only writer of sysctls, with its undo journal (design.md section 5). Every call may block
 * as the kernel blocks: a worker thread makes them. Nothing here logs. */
struct actuator;

struct actuator_config {
    const char *state_dir; /* /run/pcptuned; made 0755 where missing */
    const char *boot_id;
    bool dry_run;                   /* no knob is ever opened for writing, no journal is written */
    int lo[KNOB_MAX], hi[KNOB_MAX]; /* policy bounds; the kernel's are checked besides */
};

/* Takes the lock of the state directory: -EBUSY, another pcptuned owns the knobs. -ELOOP, -ENOTDIR,
 * -EPERM: the directory is a link, no directory, or another user's. No allocation after this. */
int actuator_open(const struct actuator_config *c, struct actuator **ret);
void actuator_close(struct actuator *a);
DEFINE_CLEANUP(struct actuator *, actuator_close)

/* Bounds and mode follow a reload. */
void actuator_configure(struct actuator *a, const struct actuator_config *c);

/* Reads the knobs, checks that they are `from` (or ours), journals, writes, reads back. */
void actuator_set(struct actuator *a, const struct knob_values *from,
                  const struct knob_values *values, struct outcome *ret);

/* Gives each original back where the current value is the one that we wrote; FOREIGN where it is
 * not (the journal entry is dropped: it is theirs now). UNCHANGED: there was nothing to restore. */
void actuator_restore(struct actuator *a, struct outcome *ret);

/* At start and for --restore: takes a journal that a killed predecessor left, of this boot, and
 * restores from it. A journal of another boot, or a torn one, is removed with no write. */
void actuator_recover(struct actuator *a, struct outcome *ret);

/* Hands ownership over: forgets the original of a knob that a foreign writer took. */
void actuator_yield(struct actuator *a, enum knob_id knob);

/* Writes (simulated ones not) since open. */
uint64_t actuator_writes(const struct actuator *a);
