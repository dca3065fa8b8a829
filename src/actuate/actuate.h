/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"
#include "params.h"
#include "plan.h"

/* The only writer of sysctls, with its undo journal (journal.h). Every call
 * may block as the kernel blocks: a worker thread makes them. Nothing here logs or allocates,
 * actuator_open() aside. */
struct actuator;

struct actuator_config {
    const char *state_dir; /* /run/pcptuned; made 0755 where missing */
    const char *boot_id;
    bool dry_run; /* no knob is opened for writing; no directory, lock or journal is touched */
    int lo[KNOB_MAX], hi[KNOB_MAX]; /* policy bounds; the kernel's are checked besides */
};

/* Takes the lock of the state directory: -EBUSY, another pcptuned owns the knobs. -ELOOP, -ENOTDIR,
 * -EPERM: the directory is a link, no directory, or another user's. -EINVAL: no such boot_id. */
int actuator_open(const struct actuator_config *c, struct actuator **ret);

/* Gives nothing back: what is still held stays in the journal for the next actuator_recover(). */
void actuator_close(struct actuator *a);
DEFINE_CLEANUP(struct actuator *, actuator_close)

/* Bounds and mode follow a reload. -EBUSY: dry run was asked for while originals are held (restore
 * first). Leaving dry run takes the lock, fails as actuator_open() and is followed by
 * actuator_recover(). Nothing changes on error. */
int actuator_configure(struct actuator *a, const struct actuator_config *c);

/* At start, before anything else, and for --restore: takes a journal that a killed predecessor
 * left, of this boot, and restores from it. A journal of another boot (-ESTALE) or a torn one
 * (-EBADMSG) is removed with no write: UNCHANGED, with that error. */
void actuator_recover(struct actuator *a, struct outcome *ret);

/* For each of `values`, as in knob_table, until one fails: reads the knob; FOREIGN where a knob
 * that we hold is not what we left, or another is not `from`; checks the bounds (REFUSED, -ERANGE);
 * journals; writes once; reads back. Knobs already written stay held when a later one fails. To
 * take a knob back from a foreign writer, yield it first: theirs is then the original. FAILED with
 * -EUCLEAN: actuator_recover() has not been called. */
void actuator_set(struct actuator *a, const struct knob_values *from,
                  const struct knob_values *values, struct outcome *ret);

/* Gives each original back where the current value is ours; FOREIGN where it is not: it is theirs
 * now, and no longer held. UNCHANGED: there was nothing to restore. Otherwise still held. */
void actuator_restore(struct actuator *a, struct outcome *ret);

/* Hands ownership over: forgets the original of a knob that a foreign writer took. */
void actuator_yield(struct actuator *a, enum knob_id knob);

/* Writes that the kernel took since open, simulated ones not. */
uint64_t actuator_writes(const struct actuator *a);
