/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "estimate.h"
#include "params.h"
#include "pcp.h"
#include "plan.h"
#include "snapshot.h"

/* From an estimate to knob values: W = N c b against the target. */

struct threat { /* the node where W is largest */
    int node;   /* -1: the machine */
    enum pcp_path path;
    uint32_t n;     /* tasks that can be on it at the same moment: at most the CPUs there */
    uint32_t n_max; /* what n can grow to: the CPUs there */
    uint32_t b;     /* pages per hold with the knobs as given */
    uint64_t w;     /* ns */
};

struct choice {
    enum reason reason; /* REASON_STORM: `values` are worth writing; else why not */
    struct knob_values values;
    uint32_t n_planned, b_after;
    uint64_t w_after;
    uint64_t excess;
    uint64_t worth_from; /* pages from which a storm is worth the price of more, 0: none */
    uint32_t loss;       /* of throughput, 1/100 of a percent */
};

/* W with the knobs at `knobs`. n and w are 0 where nothing is in flight, and with one CPU online:
 * nobody else is there to wait for a lock that is taken with interrupts off. */
void assess_threat(const struct params *p, const struct snapshot *s, const struct estimate *est,
                   const struct knob_values *knobs, struct threat *ret);

/* The knob values that meet the target for n_planned tasks and give away least, starting from
 * `base` (the originals); usable says which knobs may be moved. */
void choose_values(const struct params *p, const struct snapshot *s, const struct estimate *est,
                   const struct knob_values *base, const bool usable[static KNOB_MAX],
                   const struct threat *threat, uint32_t n_planned, struct choice *ret);
