/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "host.h"
#include "knob.h"
#include "zone.h"

/* The kernel's arithmetic of the per-CPU page lists: mm/page_alloc.c, per regime. Pure.
 * Order-0 pages; all quantities in pages. */

struct pcp_zone {     /* what the arithmetic needs to know of a zone */
    uint64_t managed; /* zone_managed_pages() */
    uint64_t low;     /* low_wmark_pages(), boost included, as zoneinfo prints it */
    uint32_t cpus;    /* host_zone_cpus(), at least 1 */
    uint32_t batch;   /* pcp->batch as observed: a stale one is what the kernel really uses */
};

struct pcp_limits {
    uint32_t high_min;   /* pcp->high_min; high where high does not float (R1 to R3) */
    uint32_t high_max;   /* pcp->high_max; equal to high_min where high does not float */
    uint32_t free_hold;  /* b: most pages freed in one hold of zone->lock (free_pcppages_bulk) */
    uint32_t alloc_hold; /* most pages allocated in one hold (rmqueue_bulk) */
    uint32_t drain_hold; /* most pages of one hold in drain_pages_zone; UINT32_MAX: whole list */
};

/* zone_batchsize() for a zone of that many managed pages in kernels with this regime. */
uint32_t pcp_batchsize(uint64_t managed, uint32_t page_size);

/* What pcp_limits() wants of the knobs: 0 where the kernel lacks the fraction, the compiled-in
 * scale where it lacks the sysctl. */
int pcp_fraction(const struct knob_values *v);
unsigned pcp_scale(const struct host_facts *host, const struct knob_values *v);

/* fraction is the sysctl's value (0: the kernel's choice), scale 0..6 the compiled-in or sysctl
 * batch scale (ignored in R1 and R2). */
struct pcp_limits pcp_limits(enum regime regime, const struct pcp_zone *z, int fraction,
                             unsigned scale);

/* The arithmetic's view of a zone of a reading. False for unpopulated zones. While a memory
 * offline holds pcp_batch_high_lock, zoneinfo shows high 0 and batch 1 (zone_pcp_disable()):
 * such a zone is skipped too. */
bool pcp_zone_of(const struct host_facts *host, const struct zone_table *t, uint32_t index,
                 struct pcp_zone *ret);

/* The same, and false for a zone with less than 1/64 of its node's memory: a tiny zone at its floor
 * says nothing of a storm. */
bool pcp_zone_counts(const struct host_facts *host, const struct zone_table *t, uint32_t index,
                     struct pcp_zone *ret);

enum pcp_path { PCP_FREE, PCP_ALLOC }; /* free_pcppages_bulk() or rmqueue_bulk() */

/* The largest hold on that path over the zones of node (-1: of the machine) that count. 0: no such
 * zone. */
uint32_t pcp_hold(const struct host_facts *host, const struct zone_table *t, int node,
                  enum pcp_path path, int fraction, unsigned scale);

/* The inverse. The smallest fraction in [lo, hi] (so the longest lists) whose pcp_hold() over the
 * machine is at most max_hold; where none reaches it, the smallest that reaches the best that can
 * be had. *ret_hold is what results. -EINVAL: no populated zone, or lo > hi. */
int pcp_fraction_for(const struct host_facts *host, const struct zone_table *t, enum pcp_path path,
                     unsigned scale, uint32_t max_hold, int lo, int hi, int *ret_fraction,
                     uint32_t *ret_hold);

/* The same for the scale: the largest in [lo, hi] that meets max_hold at the given fraction, else
 * lo. -EOPNOTSUPP outside R6. */
int pcp_scale_for(const struct host_facts *host, const struct zone_table *t, enum pcp_path path,
                  int fraction, uint32_t max_hold, int lo, int hi, int *ret_scale,
                  uint32_t *ret_hold);

/* What the lists of all CPUs and zones may hold together at that fraction, full to high_max. Every
 * CPU has a list for every zone, also of other nodes (alloc_percpu in setup_zone_pageset()). */
uint64_t pcp_capacity(const struct host_facts *host, const struct zone_table *t, int fraction,
                      unsigned scale);

/* The smallest fraction in [lo, hi] at which they hold at most max_pages; where none does, the
 * smallest that reaches the least. -EINVAL as above. */
int pcp_fraction_for_capacity(const struct host_facts *host, const struct zone_table *t,
                              unsigned scale, uint64_t max_pages, int lo, int hi, int *ret_fraction,
                              uint64_t *ret_pages);

/* Excess: pages that the lists hold above what high may be after fraction is written, by the
 * last reading: they all go through zone->lock. *ret_longest, unless NULL: that of the longest
 * list, which decay_pcp_high() may free in one hold. */
uint64_t pcp_excess(const struct host_facts *host, const struct zone_table *t, int fraction,
                    unsigned scale, uint64_t *ret_longest);
