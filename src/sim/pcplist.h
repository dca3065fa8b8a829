/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

#include "pcp.h"

/* The moving parts of a per-CPU page list (mm/page_alloc.c of each regime): how many
 * pages go through zone->lock, and when. Pure. The limits between which they move are model/pcp's.
 * Counts are in base pages and of type int, as in the kernel. One list stands for all
 * migrate types and orders. */

struct pcplist { /* struct per_cpu_pages */
    int count;
    int high;               /* R4 and later: floats; 0 until first used */
    int high_min, high_max; /* R1 to R3: both are high */
    int batch;
    int free_factor; /* R2, R3 */
    int free_count;  /* R4 and later, as are the next two */
    int alloc_factor;
    bool prev_free_high_order; /* PCPF_PREV_FREE_HIGH_ORDER */
    int expire;                /* stat intervals until a remote node's list is drained */
};

struct pcpstate { /* of the kernel and the zone, as a list sees it */
    enum regime regime;
    unsigned scale;      /* CONFIG_PCP_BATCH_SCALE_MAX, or the sysctl in R6 */
    bool reclaim_active; /* ZONE_RECLAIM_ACTIVE: kswapd runs */
    bool below_high;     /* ZONE_BELOW_HIGH: free pages under the high watermark */
};

/* pageset_update(): takes new limits, at once; nothing is drained. */
void pcplist_set_limits(struct pcplist *l, const struct pcpstate *s, const struct pcp_limits *lim,
                        uint32_t batch);

/* free_unref_page_commit() (free_frozen_page_commit()): one block of that order is freed. Returns
 * the pages that are to go back to the zone now, 0: none; they are still in count. R5 takes the
 * lock for each batch of them, the others once. */
int pcplist_free(struct pcplist *l, const struct pcpstate *s, unsigned order);

/* How many pages of order 0 can be freed before one that goes to the zone, and the freeing of n
 * of them: the same as n calls of pcplist_free(), in constant time. */
int pcplist_room(const struct pcplist *l, const struct pcpstate *s);
void pcplist_free_many(struct pcplist *l, const struct pcpstate *s, int n);

/* rmqueue_pcplist(): n blocks of that order are taken; there are so many. */
void pcplist_take(struct pcplist *l, int n, unsigned order);

/* nr_pcp_alloc() and its forerunners: blocks that rmqueue_bulk() takes in one hold when the list is
 * found empty. */
int pcplist_refill(struct pcplist *l, const struct pcpstate *s, unsigned order);

/* decay_pcp_high(), each vm.stat_interval: pages to drain; they are still in count. */
int pcplist_decay(struct pcplist *l, const struct pcpstate *s);
