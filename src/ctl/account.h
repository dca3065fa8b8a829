/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "machine.h"
#include "pcp.h"

/* A zone's arithmetic from managed pages to W, step by step, with the formulas of the kernel and
 * this machine's numbers in them: what text and JSON of "explain" are made of. */

struct step {
    const char *name;            /* "high_min": stable, documented in pcptunectl(1) */
    const char *formula;         /* "max(low / cpus, 4 * batch)" */
    const char *function;        /* of the kernel that computes it */
    char filled[112];            /* "max(17448 / 2, 4 * 63)" */
    uint32_t value;              /* UINT32_MAX: the whole list, however long */
    bool has_seen;               /* zoneinfo shows it */
    uint32_t seen_min, seen_max; /* over the CPUs */
};

#define STEPS_MAX 10
#define WAITS_MAX 24 /* N = 1, 2, 4 ... CPUs */
struct account {
    const struct zone *zone;
    struct pcp_zone z;
    uint32_t n_steps;
    struct step steps[STEPS_MAX];
    bool has_floor, has_scale; /* which of the columns below exist */
    uint32_t n_waits;
    struct {
        uint32_t n;
        uint64_t now, alloc;    /* ns: freeing and allocating, as it is */
        uint64_t floor, scale0; /* freeing with the fraction at its floor, with the scale at 0 */
    } waits[WAITS_MAX];
};

/* False for a zone without lists in use. */
bool account_zone(const struct machine *m, const struct params *p, uint32_t index,
                  struct account *ret);
