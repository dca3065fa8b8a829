/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* One reading of /proc/zoneinfo. All sizes are in pages. */

#define ZONE_NAME_MAX 16

struct zone_list { /* one CPU's struct per_cpu_pages of one zone */
    uint32_t cpu;
    uint32_t count;
    uint32_t high;
    uint32_t batch;
    uint32_t high_min; /* 0 where the kernel prints none (before 6.13) */
    uint32_t high_max;
};

struct zone {
    char name[ZONE_NAME_MAX]; /* "Normal", cut and terminated */
    int node;
    bool has_high_minmax; /* the pagesets print high_min and high_max (6.13 and later) */
    uint64_t free, boost, min, low, high; /* watermarks as printed, boost included */
    uint64_t spanned, present;
    uint64_t managed;    /* equal to present where the kernel prints no managed (before 3.13) */
    uint32_t first_list; /* index into zone_table.lists */
    uint32_t n_lists;    /* online CPUs; 0: no pagesets are printed (unpopulated) */
};

struct zone_table {
    struct zone *zones;
    struct zone_list *lists;
    uint32_t n_zones, n_lists;
    uint32_t cap_zones, cap_lists; /* grown by the parser, freed by zone_table_done() */
    bool has_boost;                /* "boost" line: 5.18 and later, RHEL 9 */
    bool has_reserved_ha;          /* "reserved_highatomic" line: 7.x */
};

/* Pages of all zones together. */
uint64_t zone_table_managed(const struct zone_table *t);

/* Frees what the parser allocated and clears the table. */
void zone_table_done(struct zone_table *t);

/* True for a zone that holds memory and has lists: the only kind that matters for the lock. */
static inline bool zone_populated(const struct zone *z)
{
    return z->managed > 0 && z->n_lists > 0;
}
