/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "macros.h"
#include "pcplist.h"
#include "rng.h"

#define STEPS 10

/* Frees pages of that order until the list gives some back, again and again. Computed by hand from
 * the kernel's functions; the first two are Gorman's debugging trace (other_numbers.csv). */
struct freeing {
    const char *name;
    enum regime regime;
    unsigned scale;
    int high, high_min, high_max;
    bool reclaim_active, below_high;
    int given_back[STEPS];
};

static const struct freeing freeing[] = {
    {"Gorman before", REGIME_R1, 5, 378, 378, 378, false, false, {63, 63, 63, 63, 63}},
    {"Gorman after", REGIME_R2, 5, 814, 814, 814, false, false, {63, 126, 252, 504, 751, 751}},
    {"R2 has no limit but high",
     REGIME_R2,
     0,
     6392,
     6392,
     6392,
     false,
     false,
     {63, 126, 252, 504, 1008, 2016, 4032, 6329, 6329}},
    {"R2, reclaim", REGIME_R2, 5, 6392, 6392, 6392, true, false, {63, 126, 189, 189}},
    {"R3, batch << 5",
     REGIME_R3,
     5,
     6392,
     6392,
     6392,
     false,
     false,
     {63, 126, 252, 504, 1008, 2016, 2016, 2016}},
    {"R3, scale 0", REGIME_R3, 0, 6392, 6392, 6392, false, false, {63, 63, 63}},
    {"R4, floor", REGIME_R4, 5, 252, 252, 252, false, false, {189, 189, 189}},
    {"R4, high grows to hold batch",
     REGIME_R4,
     5,
     252,
     252,
     142565,
     false,
     false,
     {189, 252, 504, 1008, 2016, 2016}},
    {"R4, full high", REGIME_R4, 5, 6392, 6392, 142565, false, false, {2016, 2016}},
    {"R4, reclaim", REGIME_R4, 5, 6392, 6392, 142565, true, false, {189, 189}},
    {"R4, below the high watermark", REGIME_R4, 5, 1000, 252, 142565, false, true, {189, 189}},
    {"R6, scale 2", REGIME_R6, 2, 6392, 6392, 142565, false, false, {252, 252}},
    {"R5 in all", REGIME_R5, 5, 6392, 6392, 142565, false, false, {2016, 2016}},
};

static void test_freeing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(freeing); i++) {
        const struct freeing *f = &freeing[i];
        struct pcpstate s = {f->regime, f->scale, f->reclaim_active, f->below_high};
        struct pcplist l = {
            .batch = 63, .high = f->high, .high_min = f->high_min, .high_max = f->high_max};
        for (size_t k = 0; k < STEPS && f->given_back[k]; k++) {
            int n = 0;
            for (unsigned pages = 0; n == 0 && pages < 200000; pages++)
                n = pcplist_free(&l, &s, 0);
            if (n != f->given_back[k])
                fail_msg("%s, step %zu: %d, not %d", f->name, k, n, f->given_back[k]);
            l.count -= n;
        }
    }
}

struct taking {
    const char *name;
    enum regime regime;
    unsigned scale, order;
    int high_min, high_max;
    bool below_high;
    int blocks[STEPS]; /* of each rmqueue_bulk(), all of which are taken at once */
};

static const struct taking taking[] = {
    {"R1", REGIME_R1, 5, 0, 378, 378, false, {63, 63, 63}},
    {"R3", REGIME_R3, 5, 0, 6392, 6392, false, {63, 63, 63}},
    {"R3, order 3", REGIME_R3, 5, 3, 6392, 6392, false, {7, 7}},
    {"R3, order 5", REGIME_R3, 5, 5, 6392, 6392, false, {2, 2}},
    {"R4, auto-tuning", REGIME_R4, 5, 0, 252, 142565, false, {63, 126, 252, 504, 1008, 2016, 2016}},
    {"R4, floor", REGIME_R4, 5, 0, 252, 252, false, {63, 126, 189, 189}},
    {"R4, below the high watermark", REGIME_R4, 5, 0, 252, 142565, true, {63, 126, 189, 189}},
    {"R4, order 3", REGIME_R4, 5, 3, 252, 142565, false, {7, 7, 7}},
    {"R5 is R4", REGIME_R5, 5, 0, 252, 142565, false, {63, 126, 252, 504, 1008, 2016, 2016}},
    {"R6, scale 0", REGIME_R6, 0, 0, 252, 142565, false, {63, 63, 63}},
};

static void test_taking(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(taking); i++) {
        const struct taking *t = &taking[i];
        struct pcpstate s = {t->regime, t->scale, false, t->below_high};
        struct pcplist l = {
            .batch = 63, .high = t->high_min, .high_min = t->high_min, .high_max = t->high_max};
        for (size_t k = 0; k < STEPS && t->blocks[k]; k++) {
            int n = pcplist_refill(&l, &s, t->order);
            if (n != t->blocks[k])
                fail_msg("%s, step %zu: %d, not %d", t->name, k, n, t->blocks[k]);
            l.count += n << t->order;
            pcplist_take(&l, n, t->order);
            assert_int_equal(l.count, 0);
        }
    }
}

static void test_high_follows_allocation(void **state)
{
    (void)state;
    struct pcpstate s = {REGIME_R4, 5, false, false};
    struct pcplist l = {.batch = 63, .high_min = 252, .high_max = 700};

    assert_int_equal(pcplist_refill(&l, &s, 0), 63);
    assert_int_equal(l.high, 252 + 63);
    assert_int_equal(pcplist_refill(&l, &s, 0), 126);
    assert_int_equal(l.high, 252 + 63 + 126);
    assert_int_equal(pcplist_refill(&l, &s, 0), 252);
    assert_int_equal(pcplist_refill(&l, &s, 0), 504);
    assert_int_equal(l.high, 700);
    /* high - count - batch: 1008 do not fit, and the factor stays */
    assert_int_equal(pcplist_refill(&l, &s, 0), 637);
    assert_int_equal(l.alloc_factor, 4);
}

/* An allocation halves what freeing has learned, a free what allocation has. */
static void test_factors_fall(void **state)
{
    (void)state;
    struct pcpstate r3 = {REGIME_R3, 5, false, false}, r4 = {REGIME_R4, 5, false, false};
    struct pcplist l = {.count = 6391, .batch = 63, .high = 6392, .free_factor = 4};

    pcplist_take(&l, 1, 0);
    assert_int_equal(l.free_factor, 2);
    assert_int_equal(pcplist_free(&l, &r3, 0), 0);
    assert_int_equal(pcplist_free(&l, &r3, 0), 252);

    l = (struct pcplist){.count = 6391,
                         .batch = 63,
                         .high_min = 6392,
                         .high_max = 6392,
                         .free_count = 2016,
                         .alloc_factor = 5};
    pcplist_take(&l, 2, 0);
    assert_int_equal(l.free_count, 504);
    pcplist_free(&l, &r4, 0);
    assert_int_equal(l.alloc_factor, 2);
}

static void test_free_high(void **state)
{
    (void)state;
    struct pcpstate r2 = {REGIME_R2, 5, false, false}, r4 = {REGIME_R4, 5, false, false},
                    r5 = {REGIME_R5, 5, false, false};
    struct pcplist l = {.count = 5000, .batch = 63, .high = 6392, .free_factor = 1};

    assert_int_equal(pcplist_free(&l, &r2, 3), 5008); /* the whole list */
    l.free_factor = 0;
    assert_int_equal(pcplist_free(&l, &r2, 3), 0);

    l = (struct pcplist){.count = 5000,
                         .batch = 63,
                         .high = 8000,
                         .high_min = 6392,
                         .high_max = 142565,
                         .free_count = 100};
    assert_int_equal(pcplist_free(&l, &r4, 3), 0); /* the first of its kind */
    assert_int_equal(pcplist_free(&l, &r4, 3), 2016);
    assert_int_equal(l.high, 6392);
    assert_int_equal(pcplist_free(&l, &r4, 4), 0); /* beyond PAGE_ALLOC_COSTLY_ORDER */

    l = (struct pcplist){.count = 5000,
                         .batch = 63,
                         .high = 8000,
                         .high_min = 6392,
                         .high_max = 142565,
                         .free_count = 100,
                         .prev_free_high_order = true};
    assert_int_equal(pcplist_free(&l, &r5, 3), 0); /* fewer than batch + high_min / 2 in a row */
    l.free_count = 63 + 3196;
    assert_int_equal(pcplist_free(&l, &r5, 3), 2016);
}

static void test_decay(void **state)
{
    (void)state;
    static const struct {
        enum regime regime;
        int count, high, drained, high_after;
    } table[] = {
        {REGIME_R4, 8000, 8000, 1000, 7000},
        {REGIME_R4, 7000, 7000, 875, 6125},
        {REGIME_R4, 100000, 100000, 2016, 97984},
        {REGIME_R4, 100, 8000, 0, 7000},
        {REGIME_R4, 0, 260, 0, 252},
        {REGIME_R4, 252, 252, 0, 252},
        {REGIME_R4, 400, 252, 148, 252},
        {REGIME_R3, 8000, 252, 0, 252},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct pcpstate s = {table[i].regime, 5, false, false};
        struct pcplist l = {.count = table[i].count,
                            .high = table[i].high,
                            .batch = 63,
                            .high_min = 252,
                            .high_max = 142565};
        assert_int_equal(pcplist_decay(&l, &s), table[i].drained);
        assert_int_equal(l.high, table[i].high_after);
    }
}

/* The limits change at once, the pages stay: the next frees drain them, high - batch at a time. */
static void test_write(void **state)
{
    (void)state;
    struct pcpstate s = {REGIME_R4, 5, false, false};
    struct pcplist l = {.count = 140000,
                        .high = 142565,
                        .batch = 63,
                        .high_min = 6392,
                        .high_max = 142565,
                        .free_count = 2016};
    struct pcp_zone z = {.managed = 291974346, .low = 1636352, .cpus = 256, .batch = 63};
    struct pcp_limits lim = pcp_limits(REGIME_R4, &z, INT32_MAX, 5);

    pcplist_set_limits(&l, &s, &lim, 63);
    assert_int_equal(l.count, 140000);
    for (int left = 140000; left > 300; left -= 188) {
        assert_int_equal(l.count, left);
        assert_int_equal(pcplist_free(&l, &s, 0), 189);
        l.count -= 189;
    }
    lim = pcp_limits(REGIME_R4, &z, 0, 5);
    pcplist_set_limits(&l, &s, &lim, 63);
    assert_int_equal(pcplist_free(&l, &s, 0), 0);
    assert_int_equal(l.high, 6392); /* what was learned is gone */
}

/* What decays after a write: an idle CPU's list by batch << 5 a tick, for its high is still the old
 * one; but a CPU that has freed a page since has the new high, and the whole excess goes in one
 * decay_pcp_high(). */
static void test_decay_after_write(void **state)
{
    (void)state;
    struct pcpstate s = {REGIME_R4, 5, false, false};
    struct pcplist idle = {
        .count = 140000, .high = 142565, .batch = 63, .high_min = 252, .high_max = 252};
    struct pcplist used = idle;

    assert_int_equal(pcplist_decay(&idle, &s), 2016);
    assert_int_equal(idle.high, 140000 - 2016);
    used.count -= pcplist_free(&used, &s, 0);
    assert_int_equal(pcplist_decay(&used, &s), used.count - 252);
}

/* pcplist_room() and pcplist_free_many() are shortcuts, for any state. */
static void test_shortcut(void **state)
{
    (void)state;
    struct rng r;

    rng_seed(&r, 4);
    for (unsigned i = 0; i < 20000; i++) {
        struct pcpstate s = {(enum regime)(REGIME_R1 + rng_below(&r, 6)),
                             (unsigned)rng_below(&r, 7), rng_below(&r, 4) == 0,
                             rng_below(&r, 4) == 0};
        struct pcplist l = {.batch = 63, .count = (int)rng_below(&r, 4000)};
        l.high_min = 252 + (int)rng_below(&r, 1000);
        l.high_max = s.regime < REGIME_R4 || rng_below(&r, 3) == 0
                         ? l.high_min
                         : l.high_min + (int)rng_below(&r, 5000);
        l.high = s.regime < REGIME_R4 ? l.high_max : (int)rng_below(&r, 7000);
        l.free_factor = (int)rng_below(&r, 6);
        l.free_count = (int)rng_below(&r, 2500);
        l.alloc_factor = (int)rng_below(&r, 6);
        int room = pcplist_room(&l, &s), n = (int)rng_below(&r, (uint64_t)room + 1);
        struct pcplist slow = l;

        pcplist_free_many(&l, &s, n);
        for (int k = 0; k < n; k++)
            assert_int_equal(pcplist_free(&slow, &s, 0), 0);
        assert_memory_equal(&l, &slow, sizeof(l));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_freeing),
        cmocka_unit_test(test_taking),
        cmocka_unit_test(test_high_follows_allocation),
        cmocka_unit_test(test_factors_fall),
        cmocka_unit_test(test_free_high),
        cmocka_unit_test(test_decay),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_decay_after_write),
        cmocka_unit_test(test_shortcut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
