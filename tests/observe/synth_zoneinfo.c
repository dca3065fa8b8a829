/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "synth_zoneinfo.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "macros.h"

#define EMPTY(zone)                                                                                \
    {                                                                                              \
        .name = (zone)                                                                             \
    }
#define GB_4K (UINT64_C(1) << 18)
#define GB_64K (UINT64_C(1) << 14)

/* tests/inputs/30: the machine of the published histograms, its Normal zone as posted. */
static const struct synth_zone x86_1t[] = {
    {"DMA", 1, 4095, 3999, 3840, 17, 0},
    {"DMA32", 4096, 1044480, 453324, 436939, 1959, 0},
    {"Normal", 1048576, 564133888, 296747008, 291974346, 1309270, 0},
    EMPTY("Movable"),
    EMPTY("Device"),
    {0},
};

static const struct synth_zone x86_node0[] = {
    {"DMA", 1, 4095, 3999, 3840, 3, 0},
    {"DMA32", 4096, 1044480, 453324, 436939, 489, 0},
    {"Normal", 1048576, 224 * GB_4K, 224 * GB_4K, 220 * GB_4K, 25000, 12000},
    EMPTY("Movable"),
    EMPTY("Device"),
    {0},
};
static const struct synth_zone x86_node[] = {
    EMPTY("DMA"),
    EMPTY("DMA32"),
    {"Normal", UINT64_C(1) << 27, 225 * GB_4K, 225 * GB_4K, 221 * GB_4K, 25100, 0},
    EMPTY("Movable"),
    EMPTY("Device"),
    {0},
};
static const struct synth_zone x86_cxl[] = {
    EMPTY("DMA"),    EMPTY("DMA32"),
    EMPTY("Normal"), {"Movable", UINT64_C(1) << 31, 512 * GB_4K, 512 * GB_4K, 512 * GB_4K, 32, 0},
    EMPTY("Device"), {0},
};

static const struct synth_zone ppc_memory[] = {
    {"Normal", 0, 256 * GB_64K, 256 * GB_64K, 255 * GB_64K, 1409, 0},
    EMPTY("Movable"),
    EMPTY("Device"),
    {0},
};
static const struct synth_zone ppc_memoryless[] = {
    EMPTY("Normal"),
    EMPTY("Movable"),
    EMPTY("Device"),
    {0},
};

static const struct synth_zone arm_node0[] = {
    {"DMA", 524288, 524288, 524288, 491520, 300, 0},
    EMPTY("DMA32"),
    {"Normal", 134217728, 250 * GB_4K, 250 * GB_4K, 246 * GB_4K, 11000, 0},
    EMPTY("Movable"),
    {0},
};
static const struct synth_zone arm_node1[] = {
    EMPTY("DMA"),
    EMPTY("DMA32"),
    {"Normal", 268435456, 256 * GB_4K, 256 * GB_4K, 252 * GB_4K, 11264, 0},
    EMPTY("Movable"),
    {0},
};
static const struct synth_zone arm_64k[] = {
    {"DMA", 32768, 32768, 32768, 31000, 20, 0},
    EMPTY("DMA32"),
    {"Normal", 8388608, 510 * GB_64K, 510 * GB_64K, 508 * GB_64K, 5700, 0},
    EMPTY("Movable"),
    {0},
};

static const struct synth_node nodes_x86_1t[] = {{0, 256, x86_1t}, {0}};
static const struct synth_node nodes_x86_4[] = {
    {0, 64, x86_node0}, {1, 64, x86_node}, {2, 64, x86_node},
    {3, 64, x86_node},  {4, 0, x86_cxl},   {0},
};
static const struct synth_node nodes_ppc[] = {
    {0, 40, ppc_memoryless},
    {1, 0, ppc_memoryless},
    {2, 40, ppc_memory},
    {8, 40, ppc_memoryless},
    {0},
};
static const struct synth_node nodes_arm[] = {{0, 64, arm_node0}, {1, 64, arm_node1}, {0}};
static const struct synth_node nodes_arm_64k[] = {{0, 80, arm_64k}, {0}};

const struct synth_machine synth_machines[] = {
    {"SYNTHETIC-x86-6.1-256cpu-1T", SYNTH_6_1, 4096, 0, 1, 1, NULL, nodes_x86_1t},
    {"SYNTHETIC-x86-6.1-256cpu-1T-floor", SYNTH_6_1, 4096, INT32_MAX, 1, 1, NULL, nodes_x86_1t},
    {"SYNTHETIC-x86-6.18-256cpu-1T", SYNTH_6_18, 4096, 0, 1, 1, "", nodes_x86_1t},
    {"SYNTHETIC-x86-6.18-256cpu-4node-cxl", SYNTH_6_18, 4096, 0, 1, 1, NULL, nodes_x86_4},
    {"SYNTHETIC-ppc64le-6.1-64k-120cpu", SYNTH_6_1, 65536, 0, 8, 4, NULL, nodes_ppc},
    {"SYNTHETIC-arm64-7.2-128cpu-2node", SYNTH_7_2, 4096, 512, 1, 1, "nr_ion_heap", nodes_arm},
    {"SYNTHETIC-arm64-6.18-64k-80cpu", SYNTH_6_18, 65536, 0, 1, 1, NULL, nodes_arm_64k},
    {0},
};

const struct synth_machine *synth_machine(const char *name)
{
    for (const struct synth_machine *m = synth_machines; m->name; m++)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

uint32_t synth_cpus(const struct synth_machine *m)
{
    uint32_t sum = 0;

    for (const struct synth_node *n = m->nodes; n->zones; n++)
        sum += n->cpus;
    return sum;
}

uint32_t synth_cpu(const struct synth_machine *m, uint32_t i)
{
    return i / m->smt * m->threads + i % m->smt;
}

/* Watermarks as __setup_per_zone_wmarks() spaces them, boost included as zoneinfo prints them. */
static uint64_t watermark(const struct synth_zone *z, unsigned quarters)
{
    return z->min + z->min * quarters / 4 + z->boost;
}

/* zone_batchsize(), 4.19 to 6.18 */
static uint32_t batch(const struct synth_machine *m, const struct synth_zone *z)
{
    uint64_t x = MIN(z->managed >> 10, (UINT64_C(1) << 20) / m->page_size) / 4;
    uint64_t pow2 = 1;

    x = MAX(x, UINT64_C(1));
    x += x / 2;
    while (pow2 * 2 <= x)
        pow2 *= 2;
    return (uint32_t)MAX(pow2 - 1, UINT64_C(1));
}

struct synth_list synth_list(const struct synth_machine *m, const struct synth_node *n,
                             const struct synth_zone *z)
{
    uint32_t cpus = MAX(n->cpus ? n->cpus : synth_cpus(m), 1u);
    struct synth_list l = {.batch = batch(m, z)};
    uint64_t total = m->fraction ? z->managed / (uint64_t)m->fraction : watermark(z, 1);

    l.high = (uint32_t)MAX(total / cpus, UINT64_C(4) * l.batch);
    if (m->layout == SYNTH_6_1)
        return l;
    l.high_min = l.high;
    l.high_max =
        m->fraction ? l.high_min : (uint32_t)MAX(z->managed / 8 / cpus, UINT64_C(4) * l.batch);
    l.high = (l.high_min + l.high_max) / 2;
    return l;
}

static int fls64(uint64_t v)
{
    return v ? 64 - __builtin_clzll(v) : 0;
}

static void print_list(FILE *f, const struct synth_machine *m, const struct synth_list *l,
                       uint32_t count, uint32_t high)
{
    if (m->layout == SYNTH_6_1)
        fprintf(f, "              count: %u\n              high:  %u\n              batch: %u\n",
                count, high, l->batch);
    else
        fprintf(f,
                "              count:    %u\n              high:     %u\n"
                "              batch:    %u\n              high_min: %u\n"
                "              high_max: %u\n",
                count, high, l->batch, l->high_min, l->high_max);
}

static void print_pagesets(FILE *f, const struct synth_machine *m, const struct synth_node *n,
                           const struct synth_zone *z)
{
    struct synth_list l = synth_list(m, n, z);
    uint32_t cpus = synth_cpus(m);
    int mem = fls64(z->managed * m->page_size >> 27);
    int threshold = MIN(125, 2 * fls64(cpus) * (1 + mem));
    bool wide = m->layout != SYNTH_6_1;

    fprintf(f, "  pagesets\n");
    for (uint32_t i = 0; i < cpus; i++) {
        /* In 6.7 and later the list of a CPU that never used the zone shows 0. */
        bool unused = wide && i % 16 == 15;
        fprintf(f, "    cpu: %u\n", synth_cpu(m, i));
        print_list(f, m, &l, unused ? 0 : i * 7919 % (l.high + 1), unused ? 0 : l.high);
        fprintf(f, "  vm stats threshold: %d\n", threshold);
    }
}

static void print_node_stats(FILE *f, const struct synth_machine *m)
{
    static const char *const names[] = {
        "nr_inactive_anon", "nr_active_anon", "nr_inactive_file", "nr_active_file", "nr_mapped",
        "nr_anon_pages",    "nr_file_pages",  "nr_dirty",         "nr_shmem",
    };

    fprintf(f, "  per-node stats\n");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        fprintf(f, "      %-12s %zu\n", names[i], i * 1000003);
    if (m->vendor_counter)
        fprintf(f, "      %-12s %d\n", m->vendor_counter, 4242);
}

static void print_sizes(FILE *f, const struct synth_machine *m, const struct synth_zone *z)
{
    fprintf(f,
            "  pages free     %" PRIu64 "\n        boost    %" PRIu64 "\n        min      %" PRIu64
            "\n        low      %" PRIu64 "\n        high     %" PRIu64 "\n",
            z->managed / 2, z->boost, watermark(z, 0), watermark(z, 1), watermark(z, 2));
    if (m->layout != SYNTH_6_1)
        fprintf(f, "        promo    %" PRIu64 "\n", watermark(z, 3));
    fprintf(f,
            "        spanned  %" PRIu64 "\n        present  %" PRIu64 "\n        managed  %" PRIu64
            "\n        cma      %d\n        protection: (0, 0, 0, 0, 0)\n",
            z->spanned, z->present, z->managed, 0);
}

static void print_counters(FILE *f, const struct synth_zone *z)
{
    static const char *const names[] = {
        "nr_zone_inactive_anon",
        "nr_mlock",
        "nr_bounce",
        "nr_zspages",
        "nr_free_cma",
        "numa_hit",
        "numa_miss",
        "numa_interleave",
        "numa_local",
    };

    fprintf(f, "      %-12s %" PRIu64 "\n", "nr_free_pages", z->managed / 2);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        fprintf(f, "      %-12s %zu\n", names[i], i * 65537);
}

static void print_zone(FILE *f, const struct synth_machine *m, const struct synth_node *n,
                       const struct synth_zone *z, bool *node_stats)
{
    fprintf(f, "Node %d, zone %8s\n", n->id, z->name);
    if (z->present > 0 && *node_stats) {
        print_node_stats(f, m);
        *node_stats = false;
    }
    print_sizes(f, m, z);
    if (z->present == 0)
        return;
    print_counters(f, z);
    print_pagesets(f, m, n, z);
    fprintf(f, "  node_unreclaimable:  0\n  start_pfn:           %" PRIu64 "\n", z->start_pfn);
    if (m->layout == SYNTH_7_2)
        fprintf(f, "  reserved_highatomic: 5120\n  free_highatomic:     2081\n");
}

char *synth_zoneinfo(const struct synth_machine *m, size_t *ret_len)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, ret_len);
    if (!f)
        return NULL;

    for (const struct synth_node *n = m->nodes; n->zones; n++) {
        bool node_stats = true;
        for (const struct synth_zone *z = n->zones; z->name; z++)
            print_zone(f, m, n, z, &node_stats);
    }
    if (fclose(f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
