/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "params.h"
#include "plan.h"
#include "snapshot.h"

/* The rules of calm, which look over seconds and last for minutes. Where the lists float (R4 and
 * later) they may hold an eighth of all memory: REASON_PRESSURE bounds them when memory is short,
 * REASON_HOARD on small machines always. Where they do not (R2, R3) traffic that outgrows them goes
 * through zone->lock twice: REASON_CHURN lengthens them, step by step. A storm comes first. */

struct steady {
    enum reason on;          /* in force: one of the three, or REASON_NONE */
    uint64_t changed_at;     /* last write for it */
    uint64_t seen_at;        /* when its cause was last to be seen */
    enum reason cause;       /* to be seen now, and since when */
    uint64_t cause_since;    /* ns */
    struct vm_counters last; /* the reading that the next one is compared with */
    uint64_t traffic;        /* pages a second before the last step */
    uint32_t slower;         /* looks in a row that saw less than that by an eighth */
    uint64_t barred_until;   /* longer lists were of no use */
    uint64_t hoard_for;      /* ns, after which it is tried without a bound; 0: never bounded */
};

/* The outcome of a plan of steady_step(): it is in force, or given back. */
void steady_set(struct steady *st, enum reason reason, uint64_t now);
void steady_restored(struct steady *st, enum reason reason, uint64_t now);

/* When the next look is due, UINT64_MAX while none is: the slow tick finds causes. */
uint64_t steady_wake(const struct steady *st, uint64_t now);
