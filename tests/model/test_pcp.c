/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "fileio.h"
#include "pcp.h"
#include "zoneinfo.h"

#define WHOLE UINT32_MAX

/* --- the formulas: expected figures are worked out by hand from mm/page_alloc.c ------------- */

static void test_batchsize(void **state)
{
    (void)state;
    static const struct {
        uint64_t managed;
        uint32_t page_size, batch;
    } table[] = {
        {0, 4096, 1},
        {1, 4096, 1},
        {3840, 4096, 1}, /* ZONE_DMA of x86 */
        {8191, 4096, 1},
        {8192, 4096, 1},  /* x = 2: 3 rounds down to 2 */
        {16384, 4096, 3}, /* x = 4: 6 rounds down to 4 */
        {65536, 4096, 15},
        {131072, 4096, 31},
        {175103, 4096, 31}, /* x = 42: 63 rounds down to 32 */
        {176128, 4096, 63}, /* x = 43: 64 */
        {262144, 4096, 63},
        {291974346, 4096, 63}, /* 1.1 TiB: the cap of 1 MiB */
        {UINT64_MAX, 4096, 63},
        {1 << 20, 16384, 15},
        {UINT64_MAX, 16384, 15},
        {1 << 12, 65536, 1},
        {1 << 14, 65536, 3},
        {UINT64_MAX, 65536, 3},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        uint32_t batch = pcp_batchsize(table[i].managed, table[i].page_size);
        if (batch != table[i].batch)
            fail_msg("%llu pages of %u bytes: batch %u, not %u",
                     (unsigned long long)table[i].managed, table[i].page_size, batch,
                     table[i].batch);
    }
}

static const struct pcp_zone SEED = {291974346, 1636587, 256, 63}; /* input 30 */
static const struct pcp_zone DMA = {3840, 17, 2, 1};               /* input 01 */
static const struct pcp_zone FLOOR = {507872, 862, 12, 63};        /* input 03 */
static const struct pcp_zone STALE = {193648, 10557, 1, 31};       /* input 02 */
static const struct pcp_zone PAGES_16K = {1 << 20, 8192, 64, 15};
static const struct pcp_zone PAGES_64K = {1 << 20, 8192, 64, 3};
static const struct pcp_zone NO_LOW = {1000000, 0, 4, 63};
static const struct pcp_zone HUGE_ZONE = {UINT64_MAX, UINT64_MAX, 1, 63};

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        enum regime regime;
        int fraction;
        const struct pcp_zone *zone;
        unsigned scale;
        struct pcp_limits want; /* high_min, high_max, free, alloc, drain */
    } table[] = {
        {REGIME_R1, 0, &SEED, 5, {378, 378, 63, 63, WHOLE}},
        {REGIME_R1, INT_MAX, &SEED, 5, {378, 378, 63, 63, WHOLE}},

        {REGIME_R2, 0, &SEED, 5, {6392, 6392, 6329, 63, WHOLE}},
        {REGIME_R2, 0, &SEED, 0, {6392, 6392, 6329, 63, WHOLE}},
        {REGIME_R2, 8, &SEED, 5, {142565, 142565, 142502, 63, WHOLE}},
        {REGIME_R2, 1000, &SEED, 5, {1140, 1140, 1077, 63, WHOLE}},
        {REGIME_R2, 4508, &SEED, 5, {253, 253, 190, 63, WHOLE}},
        {REGIME_R2, 4509, &SEED, 5, {252, 252, 189, 63, WHOLE}},
        {REGIME_R2, INT_MAX, &SEED, 5, {252, 252, 189, 63, WHOLE}},
        {REGIME_R2, 0, &FLOOR, 5, {252, 252, 189, 63, WHOLE}},
        {REGIME_R2, 8, &FLOOR, 5, {5290, 5290, 5227, 63, WHOLE}},
        {REGIME_R2, 0, &STALE, 5, {10557, 10557, 10526, 31, WHOLE}},
        {REGIME_R2, 0, &NO_LOW, 5, {252, 252, 189, 63, WHOLE}},
        {REGIME_R2, 0, &HUGE_ZONE, 5, {UINT32_MAX, UINT32_MAX, UINT32_MAX - 63, 63, WHOLE}},

        {REGIME_R3, 0, &SEED, 5, {6392, 6392, 2016, 63, 2016}},
        {REGIME_R3, 600, &SEED, 5, {1900, 1900, 1837, 63, 2016}},
        {REGIME_R3, 0, &SEED, 0, {6392, 6392, 63, 63, 63}},
        {REGIME_R3, 0, &SEED, 6, {6392, 6392, 4032, 63, 4032}},
        {REGIME_R3, 0, &SEED, 99, {6392, 6392, 4032, 63, 4032}}, /* Kconfig: range 0 6 */
        {REGIME_R3, 4509, &SEED, 5, {252, 252, 189, 63, 2016}},
        {REGIME_R3, 0, &PAGES_64K, 5, {128, 128, 96, 3, 96}},
        {REGIME_R3, INT_MAX, &PAGES_64K, 5, {12, 12, 9, 3, 96}},

        {REGIME_R4, 0, &SEED, 5, {6392, 142565, 2016, 2016, 2016}},
        {REGIME_R4, 8, &SEED, 5, {142565, 142565, 2016, 2016, 2016}},
        {REGIME_R4, 600, &SEED, 5, {1900, 1900, 1837, 1837, 2016}},
        {REGIME_R4, INT_MAX, &SEED, 5, {252, 252, 189, 189, 2016}},
        {REGIME_R4, 0, &SEED, 0, {6392, 142565, 63, 63, 63}},
        {REGIME_R4, 0, &DMA, 5, {8, 240, 32, 32, 32}},
        {REGIME_R4, INT_MAX, &DMA, 5, {4, 4, 3, 3, 32}},
        {REGIME_R4, 0, &FLOOR, 5, {252, 5290, 2016, 2016, 2016}},
        {REGIME_R4, 0, &PAGES_16K, 5, {128, 2048, 480, 480, 480}},
        {REGIME_R4, INT_MAX, &PAGES_16K, 5, {60, 60, 45, 45, 480}},

        {REGIME_R5, 0, &SEED, 5, {6392, 142565, 63, 2016, 2016}},
        {REGIME_R5, INT_MAX, &SEED, 5, {252, 252, 63, 189, 2016}},

        {REGIME_R6, 0, &SEED, 0, {6392, 142565, 63, 63, 63}},
        {REGIME_R6, 0, &SEED, 1, {6392, 142565, 126, 126, 126}},
        {REGIME_R6, 0, &SEED, 2, {6392, 142565, 252, 252, 252}},
        {REGIME_R6, 0, &SEED, 3, {6392, 142565, 504, 504, 504}},
        {REGIME_R6, 0, &SEED, 4, {6392, 142565, 1008, 1008, 1008}},
        {REGIME_R6, 0, &SEED, 5, {6392, 142565, 2016, 2016, 2016}},
        {REGIME_R6, 0, &SEED, 6, {6392, 142565, 4032, 4032, 4032}},
        {REGIME_R6, 4509, &SEED, 1, {252, 252, 126, 126, 126}},
        {REGIME_R6, 4509, &SEED, 2, {252, 252, 189, 189, 252}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct pcp_limits l =
            pcp_limits(table[i].regime, table[i].zone, table[i].fraction, table[i].scale);
        if (memcmp(&l, &table[i].want, sizeof(l)) != 0)
            fail_msg("row %zu, %s fraction %d scale %u: high %u..%u free %u alloc %u drain %u", i,
                     regime_name(table[i].regime), table[i].fraction, table[i].scale, l.high_min,
                     l.high_max, l.free_hold, l.alloc_hold, l.drain_hold);
    }
}

/* --- against what real kernels show --------------------------------------------------------- */

struct dump {
    const char *file;
    enum regime regime;
    uint32_t node_cpus[2];
    uint32_t zones;          /* that have lists in use, by INDEX.md and the file */
    const char *stale_batch; /* zones sized before all memory was there (deferred init) */
};

static const struct dump dumps[] = {
    {"01-x86-6.18.44-2cpu-firecracker", REGIME_R4, {2}, 3, ""},
    {"02-x86-rhel9-5.14.0-325-1cpu", REGIME_R2, {1}, 2, "DMA32"},
    {"03-arm64-5.14to5.15-12cpu-64g", REGIME_R2, {12}, 2, ""},
    {"05-x86-5.14to5.17-8cpu-2node", REGIME_R2, {4, 4}, 4, ""},
    /* DMA lists of R1 are off (high 0), so they do not count. */
    {"06-x86-5.12.14-4cpu", REGIME_R1, {4}, 2, ""},
    {"07-x86-rhel8.8-4.18.0-477-4cpu", REGIME_R1, {4}, 2, "Normal"},
    {"09-x86-5.6to5.8-8cpu-30g", REGIME_R1, {8}, 2, ""},
    {"10-x86-4.18to5.3-8cpu", REGIME_R1, {8}, 2, ""},
    {"21-s390x-next20181217-8cpu", REGIME_R1, {8}, 2, "Normal"},
    {"25-x86-5.6to5.8-24cpu-96g", REGIME_R1, {24}, 2, ""},
    {"26-android-vendor-4.19-4cpu", REGIME_R1, {4}, 1, ""},
};

static void parse_dump(const char *name, struct zone_table *t)
{
    _cleanup_free_ char *text = NULL;
    struct parse_error e = {0};
    size_t size = 0;
    char path[512];

    snprintf(path, sizeof(path), "%s/inputs/%s.zoneinfo", TEST_DATA, name);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -errno : read_file_grow(fd, &text, &size, 1 << 24);
    if (n <= 0)
        fail_msg("%s: %s", path, strerror((int)-n));
    if (zoneinfo_parse(text, (size_t)n, t, &e) < 0)
        fail_msg("%s:%u: %s", path, e.line, e.reason);
}

static struct host_facts host_of(const struct dump *d)
{
    struct host_facts h = {.regime = d->regime, .page_size = 4096, .scale = 5};

    h.n_nodes = d->node_cpus[1] ? 2 : 1;
    for (uint32_t i = 0; i < h.n_nodes; i++) {
        h.node_cpus[i] = d->node_cpus[i];
        h.cpus_online += d->node_cpus[i];
    }
    return h;
}

/* Where high floats, the limits are printed, and high itself is anything (a list never used has
 * 0, one not used since a recomputation the value before). */
static void compare_lists(const char *file, const struct zone_table *t, const struct zone *z,
                          const struct pcp_limits *l)
{
    for (uint32_t k = 0; k < z->n_lists; k++) {
        const struct zone_list *list = &t->lists[z->first_list + k];
        uint32_t low = z->has_high_minmax ? list->high_min : list->high;
        uint32_t high = z->has_high_minmax ? list->high_max : list->high;
        if (low != l->high_min || high != l->high_max)
            fail_msg("%s, node %d %s, CPU %u: the file has %u..%u, the model %u..%u", file, z->node,
                     z->name, list->cpu, low, high, l->high_min, l->high_max);
    }
}

static void test_dumps(void **state)
{
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(dumps); i++) {
        const struct dump *d = &dumps[i];
        struct host_facts h = host_of(d);
        struct zone_table t = {0};
        uint32_t zones = 0;

        parse_dump(d->file, &t);
        for (uint32_t k = 0; k < t.n_zones; k++) {
            struct pcp_zone z;
            if (!pcp_zone_of(&h, &t, k, &z))
                continue;
            zones++;
            bool stale = strcmp(t.zones[k].name, d->stale_batch) == 0;
            if (stale == (z.batch == pcp_batchsize(z.managed, h.page_size)))
                fail_msg("%s, %s: batch %u", d->file, t.zones[k].name, z.batch);
            struct pcp_limits l = pcp_limits(h.regime, &z, 0, h.scale);
            compare_lists(d->file, &t, &t.zones[k], &l);
        }
        if (zones != d->zones)
            fail_msg("%s: %u zones with lists, not %u", d->file, zones, d->zones);
        zone_table_done(&t);
    }
}

/* --- machines ------------------------------------------------------------------------------- */

#define LISTS 4

struct machine {
    struct host_facts host;
    struct zone zones[4];
    struct zone_list lists[4 * LISTS];
    struct zone_table t;
};

static void add_zone(struct machine *m, int node, uint64_t managed, uint64_t low, uint32_t batch)
{
    uint32_t i = m->t.n_zones++;

    m->zones[i] = (struct zone){.name = "Normal",
                                .node = node,
                                .managed = managed,
                                .low = low,
                                .first_list = i * LISTS,
                                .n_lists = LISTS};
    for (uint32_t k = 0; k < LISTS; k++)
        m->lists[i * LISTS + k] = (struct zone_list){.cpu = k, .high = 4 * batch, .batch = batch};
    m->t.n_lists += LISTS;
    m->t.zones = m->zones;
    m->t.lists = m->lists;
}

static void start_machine(struct machine *m, enum regime regime, uint32_t cpus0, uint32_t cpus1)
{
    *m = (struct machine){.host = {.regime = regime,
                                   .page_size = 4096,
                                   .scale = 5,
                                   .n_nodes = 2,
                                   .node_cpus = {cpus0, cpus1},
                                   .cpus_online = cpus0 + cpus1}};
}

static void seed(struct machine *m, enum regime regime)
{
    start_machine(m, regime, 256, 0);
    add_zone(m, 0, SEED.managed, SEED.low, SEED.batch);
}

static void two_cpus(struct machine *m, enum regime regime)
{
    start_machine(m, regime, 2, 0);
    add_zone(m, 0, 3840, 17, 1);
    add_zone(m, 0, 772917, 3775, 63);
    add_zone(m, 0, 3571712, 17448, 63);
}

static void two_nodes(struct machine *m, enum regime regime)
{
    start_machine(m, regime, 64, 16);
    add_zone(m, 0, 500000, 4000, 63);
    add_zone(m, 0, 33000000, 180000, 63);
    add_zone(m, 1, 8000000, 45000, 63);
}

static void pages_64k(struct machine *m, enum regime regime)
{
    start_machine(m, regime, 160, 0);
    m->host.page_size = 65536;
    add_zone(m, 0, 8 << 20, 11000, 3);
}

static void (*const machines[])(struct machine *, enum regime) = {seed, two_cpus, two_nodes,
                                                                  pages_64k};

static void test_zone_of(void **state)
{
    (void)state;
    struct machine m;
    struct pcp_zone z;

    start_machine(&m, REGIME_R4, 8, 0);
    add_zone(&m, 0, 1 << 20, 5000, 63);
    add_zone(&m, 1, 1 << 20, 5000, 63); /* memory without CPUs: all of the machine's */
    add_zone(&m, 7, 1 << 20, 5000, 63); /* a node that host facts do not know */
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(pcp_zone_of(&m.host, &m.t, i, &z));
        assert_int_equal(z.cpus, 8);
        assert_int_equal(z.batch, 63);
    }

    for (uint32_t k = 0; k < LISTS; k++) /* never used: R4 fills high at the first use */
        m.lists[k].high = 0, m.lists[k].high_min = 625, m.lists[k].high_max = 16384;
    assert_true(pcp_zone_of(&m.host, &m.t, 0, &z));
    for (uint32_t k = 0; k < LISTS; k++) /* zone_pcp_disable() */
        m.lists[k] = (struct zone_list){.cpu = k, .batch = 1};
    assert_false(pcp_zone_of(&m.host, &m.t, 0, &z));

    m.zones[1].n_lists = 0;
    assert_false(pcp_zone_of(&m.host, &m.t, 1, &z));
    m.zones[2].managed = 0;
    assert_false(pcp_zone_of(&m.host, &m.t, 2, &z));

    m.zones[2].managed = 1;
    m.host.cpus_online = 0; /* facts unread: nothing is divided by zero */
    assert_true(pcp_zone_of(&m.host, &m.t, 2, &z));
    assert_int_equal(z.cpus, 1);
}

static void test_free_hold(void **state)
{
    (void)state;
    struct machine m;

    two_nodes(&m, REGIME_R2);
    assert_int_equal(pcp_hold(&m.host, &m.t, 0, PCP_FREE, 0, 5), 2812 - 63); /* 180000 / 64 */
    assert_int_equal(pcp_hold(&m.host, &m.t, 1, PCP_FREE, 0, 5), 2812 - 63); /* 45000 / 16 */
    assert_int_equal(pcp_hold(&m.host, &m.t, -1, PCP_FREE, 0, 5), 2812 - 63);
    assert_int_equal(pcp_hold(&m.host, &m.t, 1, PCP_FREE, 800, 5), 625 - 63); /* 10000 / 16 */
    assert_int_equal(pcp_hold(&m.host, &m.t, 0, PCP_FREE, 800, 5), 644 - 63); /* 41250 / 64 */
    assert_int_equal(pcp_hold(&m.host, &m.t, 5, PCP_FREE, 0, 5), 0);

    m.zones[0].low = 1 << 30; /* 500000 pages are 1/67 of the node: too few to matter */
    assert_int_equal(pcp_hold(&m.host, &m.t, 0, PCP_FREE, 0, 5), 2812 - 63);
    m.zones[0].managed = 600000; /* 1/56 */
    assert_int_equal(pcp_hold(&m.host, &m.t, 0, PCP_FREE, 0, 5), (1 << 30) / 64 - 63);

    for (uint32_t k = 0; k < LISTS; k++)
        m.lists[k] = (struct zone_list){.cpu = k, .batch = 1}; /* a memory offline holds it */
    assert_int_equal(pcp_hold(&m.host, &m.t, 0, PCP_FREE, 0, 5), 2812 - 63);
}

/* --- the inverse ---------------------------------------------------------------------------- */

static const uint32_t targets[] = {
    0,    1,    8,    9,    62,   63,   64,   96,   188,   189,    190,    200,    500,       1008,
    1837, 2015, 2016, 2017, 6000, 6329, 6330, 9999, 50000, 142501, 142502, 142503, UINT32_MAX};
static const struct {
    int lo, hi;
} bounds[] = {{8, INT_MAX}, {8, 3000}, {100, 4508}, {4509, 4509}, {5000, INT_MAX}};

/* The smallest that meets the goal: it does, and the one before does not. */
static void check_fraction(const struct machine *m, uint32_t target, int lo, int hi)
{
    uint32_t best = pcp_hold(&m->host, &m->t, -1, PCP_FREE, hi, 5);
    uint32_t goal = MAX(target, best);
    uint32_t hold = 0;
    int f = 0;

    assert_int_equal(pcp_fraction_for(&m->host, &m->t, PCP_FREE, 5, target, lo, hi, &f, &hold), 0);
    assert_true(f >= lo && f <= hi);
    assert_int_equal(hold, pcp_hold(&m->host, &m->t, -1, PCP_FREE, f, 5));
    if (hold > goal)
        fail_msg("%s, hold %u in %d..%d: fraction %d gives %u", regime_name(m->host.regime), target,
                 lo, hi, f, hold);
    if (f > lo && pcp_hold(&m->host, &m->t, -1, PCP_FREE, f - 1, 5) <= goal)
        fail_msg("%s, hold %u in %d..%d: fraction %d is not the smallest",
                 regime_name(m->host.regime), target, lo, hi, f);
}

static void test_fraction_for(void **state)
{
    (void)state;
    struct machine m;

    for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
        for (enum regime r = REGIME_R2; r < REGIME_MAX; r++) {
            machines[i](&m, r);
            for (size_t t = 0; t < ARRAY_SIZE(targets); t++)
                for (size_t b = 0; b < ARRAY_SIZE(bounds); b++)
                    check_fraction(&m, targets[t], bounds[b].lo, bounds[b].hi);
        }
}

static void test_fraction_known(void **state)
{
    (void)state;
    static const struct {
        enum regime regime;
        uint32_t target;
        int lo, hi, fraction;
        uint32_t hold;
    } table[] = {
        {REGIME_R2, 189, 8, INT_MAX, 4509, 189}, {REGIME_R2, 0, 8, INT_MAX, 4509, 189},
        {REGIME_R2, 190, 8, INT_MAX, 4491, 190}, {REGIME_R2, 142502, 8, INT_MAX, 8, 142502},
        {REGIME_R3, 2016, 8, INT_MAX, 8, 2016},  {REGIME_R3, 2015, 8, INT_MAX, 549, 2014},
        {REGIME_R4, 189, 8, 4000, 3988, 222},    {REGIME_R4, 189, 5000, 9000, 5000, 189},
        {REGIME_R5, 10, 8, INT_MAX, 8, 63}, /* no fraction makes it shorter: the longest lists */
    };
    struct machine m;

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        uint32_t hold = 0;
        int f = 0;
        seed(&m, table[i].regime);
        assert_int_equal(pcp_fraction_for(&m.host, &m.t, PCP_FREE, 5, table[i].target, table[i].lo,
                                          table[i].hi, &f, &hold),
                         0);
        if (f != table[i].fraction || hold != table[i].hold)
            fail_msg("row %zu: fraction %d hold %u", i, f, hold);
    }
}

static void test_fraction_errors(void **state)
{
    (void)state;
    uint32_t hold = 7;
    struct machine m;
    int f = 7;

    seed(&m, REGIME_R4);
    assert_int_equal(pcp_fraction_for(&m.host, &m.t, PCP_FREE, 5, 189, 9, 8, &f, &hold), -EINVAL);
    assert_int_equal(pcp_fraction_for(&m.host, &m.t, PCP_FREE, 5, 189, 7, 99, &f, &hold), -EINVAL);
    assert_int_equal(pcp_fraction_for(&m.host, &m.t, PCP_FREE, 5, 189, -1, 99, &f, &hold), -EINVAL);
    m.zones[0].n_lists = 0;
    assert_int_equal(pcp_fraction_for(&m.host, &m.t, PCP_FREE, 5, 189, 8, 99, &f, &hold), -EINVAL);
    assert_int_equal(f, 7);
    assert_int_equal(hold, 7);
}

static void test_monotony(void **state)
{
    (void)state;
    struct machine m;

    for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
        for (enum regime r = REGIME_R2; r < REGIME_MAX; r++) {
            machines[i](&m, r);
            uint32_t last = UINT32_MAX;
            for (int64_t f = 8; f <= INT_MAX; f += 1 + f / 64) {
                uint32_t hold = pcp_hold(&m.host, &m.t, -1, PCP_FREE, (int)f, 5);
                assert_true(hold > 0 && hold <= last);
                last = hold;
            }
            last = 0;
            for (unsigned s = 0; s <= 6; s++) {
                uint32_t hold = pcp_hold(&m.host, &m.t, -1, PCP_FREE, 0, s);
                assert_true(hold >= last);
                last = hold;
            }
        }
}

static void check_scale(const struct machine *m, int fraction, uint32_t target, int lo, int hi)
{
    uint32_t hold = 0;
    int want = lo, scale = -1;

    for (int s = lo; s <= hi; s++)
        if (pcp_hold(&m->host, &m->t, -1, PCP_FREE, fraction, (unsigned)s) <= target)
            want = s;
    assert_int_equal(
        pcp_scale_for(&m->host, &m->t, PCP_FREE, fraction, target, lo, hi, &scale, &hold), 0);
    if (scale != want)
        fail_msg("hold %u in %d..%d at fraction %d: scale %d, not %d", target, lo, hi, fraction,
                 scale, want);
    assert_int_equal(hold, pcp_hold(&m->host, &m->t, -1, PCP_FREE, fraction, (unsigned)scale));
}

static void test_scale_for(void **state)
{
    (void)state;
    static const int fractions[] = {0, 8, 600, INT_MAX};
    uint32_t hold = 7;
    struct machine m;
    int scale = 7;

    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        machines[i](&m, REGIME_R6);
        for (size_t t = 0; t < ARRAY_SIZE(targets); t++)
            for (size_t f = 0; f < ARRAY_SIZE(fractions); f++) {
                check_scale(&m, fractions[f], targets[t], 0, 6);
                check_scale(&m, fractions[f], targets[t], 2, 4);
                check_scale(&m, fractions[f], targets[t], 3, 3);
            }
    }

    seed(&m, REGIME_R6);
    assert_int_equal(pcp_scale_for(&m.host, &m.t, PCP_FREE, 0, 500, 0, 6, &scale, &hold), 0);
    assert_int_equal(scale, 2);
    assert_int_equal(hold, 252);
    scale = 7, hold = 7;
    assert_int_equal(pcp_scale_for(&m.host, &m.t, PCP_FREE, 0, 500, 4, 3, &scale, &hold), -EINVAL);
    assert_int_equal(pcp_scale_for(&m.host, &m.t, PCP_FREE, 0, 500, -1, 3, &scale, &hold), -EINVAL);
    m.zones[0].managed = 0;
    assert_int_equal(pcp_scale_for(&m.host, &m.t, PCP_FREE, 0, 500, 0, 6, &scale, &hold), -EINVAL);
    seed(&m, REGIME_R4);
    assert_int_equal(pcp_scale_for(&m.host, &m.t, PCP_FREE, 0, 500, 0, 6, &scale, &hold),
                     -EOPNOTSUPP);
    assert_int_equal(scale, 7);
    assert_int_equal(hold, 7);
}

static void test_excess(void **state)
{
    (void)state;
    struct machine m;

    two_nodes(&m, REGIME_R2);
    assert_int_equal(pcp_excess(&m.host, &m.t, INT_MAX, 5, NULL), 0);

    m.lists[0].count = 252; /* as many as are allowed */
    m.lists[1 * LISTS + 0].count = 252;
    m.lists[1 * LISTS + 1].count = 300;  /* 48 too many */
    m.lists[1 * LISTS + 3].count = 2812; /* 2560 */
    m.lists[2 * LISTS + 0].count = 253;  /* 1, on a third CPU, but of another zone */
    assert_int_equal(pcp_excess(&m.host, &m.t, INT_MAX, 5, NULL), 48 + 2560 + 1);
    uint64_t longest;
    assert_int_equal(pcp_excess(&m.host, &m.t, INT_MAX, 5, &longest), 48 + 2560 + 1);
    assert_int_equal(longest, 2560);
    assert_int_equal(pcp_excess(&m.host, &m.t, 800, 5, NULL), 2812 - 644);
    assert_int_equal(pcp_excess(&m.host, &m.t, 0, 5, NULL), 0);

    for (uint32_t k = 0; k < LISTS; k++) /* a memory offline: not a configuration */
        m.lists[LISTS + k].high = 0, m.lists[LISTS + k].batch = 1;
    assert_int_equal(pcp_excess(&m.host, &m.t, INT_MAX, 5, NULL), 1);
}

/* The other path: only from R4 on does it take more than a batch, and R5 has not changed that. */
static void test_alloc_hold(void **state)
{
    (void)state;
    static const struct {
        enum regime regime;
        int fraction;
        uint32_t hold;
    } table[] = {
        {REGIME_R2, 0, 63},   {REGIME_R3, 0, 63},           {REGIME_R4, 0, 2016},
        {REGIME_R5, 0, 2016}, {REGIME_R4, 4509, 189},       {REGIME_R5, INT_MAX, 189},
        {REGIME_R6, 0, 2016}, {REGIME_R5, 1000, 1140 - 63},
    };
    struct machine m;

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        seed(&m, table[i].regime);
        uint32_t hold = pcp_hold(&m.host, &m.t, -1, PCP_ALLOC, table[i].fraction, 5);
        if (hold != table[i].hold)
            fail_msg("%s at %d: %u", regime_name(table[i].regime), table[i].fraction, hold);
    }
    int f;
    uint32_t hold;
    seed(&m, REGIME_R5); /* freeing is as short as it gets, so the smallest fraction does */
    assert_int_equal(pcp_fraction_for(&m.host, &m.t, PCP_FREE, 5, 500, 8, INT_MAX, &f, &hold), 0);
    assert_int_equal(f, 8);
    assert_int_equal(pcp_fraction_for(&m.host, &m.t, PCP_ALLOC, 5, 500, 8, INT_MAX, &f, &hold), 0);
    assert_int_equal(hold, 500);
}

/* What all lists may hold: a share of memory, down to four batches each. */
static void test_capacity(void **state)
{
    (void)state;
    struct machine m;
    uint64_t pages;
    int f;

    seed(&m, REGIME_R4);
    const uint64_t managed = m.zones[0].managed, lists = m.zones[0].n_lists;
    assert_int_equal(pcp_capacity(&m.host, &m.t, 0, 5), managed / 8 / 256 * lists);
    assert_int_equal(pcp_capacity(&m.host, &m.t, 64, 5), managed / 64 / 256 * lists);
    assert_int_equal(pcp_capacity(&m.host, &m.t, INT_MAX, 5), 252 * lists);

    const uint64_t limit = managed / 100 / 256 * lists;
    assert_int_equal(pcp_fraction_for_capacity(&m.host, &m.t, 5, limit, 8, INT_MAX, &f, &pages), 0);
    assert_true(pages <= limit && pcp_capacity(&m.host, &m.t, f - 1, 5) > limit);
    assert_int_equal(pages, pcp_capacity(&m.host, &m.t, f, 5));
    /* none reaches it: the smallest that does what can be done */
    assert_int_equal(pcp_fraction_for_capacity(&m.host, &m.t, 5, 1, 8, INT_MAX, &f, &pages), 0);
    assert_int_equal(pages, 252 * lists);
    assert_int_equal(f, 4509);
    assert_int_equal(pcp_fraction_for_capacity(&m.host, &m.t, 5, 1, 9, 8, &f, &pages), -EINVAL);
    assert_int_equal(pcp_fraction_for_capacity(&m.host, &m.t, 5, 1, 7, 8, &f, &pages), -EINVAL);
    m.zones[0].managed = 0;
    assert_int_equal(pcp_fraction_for_capacity(&m.host, &m.t, 5, 1, 8, 8, &f, &pages), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batchsize),      cmocka_unit_test(test_limits),
        cmocka_unit_test(test_dumps),          cmocka_unit_test(test_zone_of),
        cmocka_unit_test(test_free_hold),      cmocka_unit_test(test_fraction_for),
        cmocka_unit_test(test_fraction_known), cmocka_unit_test(test_fraction_errors),
        cmocka_unit_test(test_monotony),       cmocka_unit_test(test_scale_for),
        cmocka_unit_test(test_excess),         cmocka_unit_test(test_alloc_hold),
        cmocka_unit_test(test_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
