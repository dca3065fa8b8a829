/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* SYNTHETIC /proc/zoneinfo dumps of machines of which no full dump is public, by the rules of
 * tests/inputs/FORMAT.md. The arithmetic is written down here a second time, so that it can be
 * compared with model/pcp. */

enum synth_layout {
    SYNTH_6_1,  /* "count: 7", boost: 5.18 to 6.12 */
    SYNTH_6_18, /* "count:    7", high_min, high_max, promo: 6.13 to 6.18 */
    SYNTH_7_2,  /* and reserved_highatomic, free_highatomic */
};

struct synth_zone {
    const char *name; /* NULL ends the list */
    uint64_t start_pfn, spanned, present, managed;
    uint64_t min, boost; /* min without boost; low, high and promo follow from it */
};

struct synth_node {
    int id;
    uint32_t cpus;                  /* online ones of this node */
    const struct synth_zone *zones; /* NULL ends the list of nodes */
};

struct synth_machine {
    const char *name;
    enum synth_layout layout;
    uint32_t page_size;
    int fraction;               /* vm.percpu_pagelist_high_fraction */
    uint32_t threads, smt;      /* of each core's `threads` CPU numbers the first `smt` are on */
    const char *vendor_counter; /* one more counter of each node; its name may be empty */
    const struct synth_node *nodes; /* ends with zones == NULL */
};

/* Ends with a machine without a name. */
extern const struct synth_machine synth_machines[];

/* NULL where there is none of that name. */
const struct synth_machine *synth_machine(const char *name);

/* Allocates the text; the caller frees it. NULL: out of memory. */
char *synth_zoneinfo(const struct synth_machine *m, size_t *ret_len);

/* What the text says of each list of a zone. high is what used lists show: 0 in a list that no
 * CPU has used since boot (6.7 and later). */
struct synth_list {
    uint32_t batch, high, high_min, high_max;
};
struct synth_list synth_list(const struct synth_machine *m, const struct synth_node *n,
                             const struct synth_zone *z);

uint32_t synth_cpus(const struct synth_machine *m);            /* online, of all nodes */
uint32_t synth_cpu(const struct synth_machine *m, uint32_t i); /* number of the i-th of them */
