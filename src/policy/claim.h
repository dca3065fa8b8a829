/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "params.h"
#include "plan.h"
#include "snapshot.h"

/* Whose the knobs are: ours for a while, somebody else's, or nobody's. */

struct claim {
    struct knob_values original; /* has[]: we wrote this knob, and this is to go back */
    struct knob_values ours;     /* what we wrote, or found */
    bool pinned[KNOB_MAX];       /* somebody had set it before we came */
    bool yielded[KNOB_MAX];      /* somebody wrote it after us */
    bool refused;                /* the kernel lets nobody like us write it */
    uint64_t yielded_at;
};

/* The knobs were read at start: what is not the kernel's default is pinned. */
void claim_found(struct claim *c, const struct knob_values *found);

/* They were read again: a pin is over once the default is back. */
void claim_seen(struct claim *c, const struct knob_values *now);

/* Takes in what an outcome says of each knob. */
void claim_outcome(struct claim *c, const struct params *p, const struct outcome *o, uint64_t now);

/* All originals are back. */
void claim_released(struct claim *c);

/* Takes yielded knobs up again when RearmAfter= is over; claim_rearm(): at once, and refused ones
 * besides. */
void claim_expire(struct claim *c, const struct params *p, uint64_t now);
void claim_rearm(struct claim *c);
uint64_t claim_rearm_at(const struct claim *c, const struct params *p); /* infinity: never */

bool claim_held(const struct claim *c);    /* at least one knob is ours */
bool claim_yielded(const struct claim *c); /* at least one is somebody else's */

/* Why no knob may be moved at all, REASON_NONE if one may; usable says which. */
enum reason claim_usable(const struct claim *c, const struct params *p, const struct snapshot *s,
                         bool usable[static KNOB_MAX]);

/* What the knobs would be without us, and what they are: a snapshot may be older than our write. */
struct knob_values claim_base(const struct claim *c, const struct snapshot *s);
struct knob_values claim_current(const struct claim *c, const struct snapshot *s);

/* Knobs of a whose value in b is another: so many writes. */
uint32_t knobs_changed(const struct knob_values *a, const struct knob_values *b);
