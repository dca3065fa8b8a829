/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "choose.h"
#include "lists.h"
#include "rig.h"

/* The model against the busiest bucket of published histograms
 * (tests/measurements), with the policy's c of 20 ns. */
static void test_published_waits(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        const struct machine *machine;
        uint32_t tasks;
        int fraction;
        uint32_t b;
        uint64_t lo_us, hi_us; /* the busiest bucket and its neighbour */
    } table[] = {
        {"6.1 defaults", &MACHINE_R2, 18, 0, 6329, 1000, 4200},
        {"high_fraction 0x7fffffff", &MACHINE_R2, 18, INT32_MAX, 189, 33, 132},
        {"auto-tuning", &MACHINE_R4, 18, 0, 2016, 500, 1050},
        {"fraction 4509 reaches the floor", &MACHINE_R2, 18, 4509, 189, 33, 132},
        {"R5 bounds itself", &MACHINE_R5, 18, 0, 63, 16, 33},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct rig r;
        struct threat t;
        struct estimate est = {.tasks = table[i].tasks, .pages = 1 << 20};
        rig_start(&r, table[i].machine);
        r.s.knobs.value[KNOB_FRACTION] = table[i].fraction;
        r.s.node_tasks[0] = table[i].tasks;
        assess_threat(&r.params, &r.s, &est, &r.s.knobs, &t);
        if (t.b != table[i].b || t.w < table[i].lo_us * US || t.w > table[i].hi_us * US)
            fail_msg("%s: b %u W %lu ns", table[i].what, t.b, (unsigned long)t.w);
        rig_stop(&r);
    }
}

/* What is chosen, for a target and a number of tasks. */
static void test_choices(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        const struct machine *machine;
        uint32_t tasks, planned;
        uint64_t target_us;
        uint64_t excess_count; /* pages in each list */
        enum reason reason;
        uint32_t b;
        int fraction, scale; /* -1: any */
    } table[] = {
        {"small, default target: fine as it is", &MACHINE_SMALL, 2, 2, 100, 0, REASON_WITHIN_TARGET,
         2016, 0, -1},
        {"small, 20 us", &MACHINE_SMALL, 1, 2, 20, 0, REASON_STORM, 500, 3167, -1},
        {"seed machine: floor is needed", &MACHINE_R2, 18, 36, 100, 0, REASON_STORM, 189, 4509, -1},
        {"seed machine: less would do", &MACHINE_R2, 18, 18, 300, 0, REASON_STORM, 833, 1272, -1},
        {"R3: two tasks", &MACHINE_R3, 4, 8, 100, 0, REASON_STORM, 625, 1656, -1},
        {"R5 at 200 tasks: no value helps", &MACHINE_R5, 200, 256, 100, 0, REASON_NO_GAIN, 63, 0,
         -1},
        {"R6: scale alone meets it", &MACHINE_R6, 9, 18, 100, 0, REASON_STORM, 252, 0, 2},
        {"R6: full lists do not hinder the scale", &MACHINE_R6, 9, 18, 100, 140000, REASON_STORM,
         252, 0, 2},
        {"R6: beyond the fraction's floor", &MACHINE_R6, 200, 256, 100, 0, REASON_STORM, 63, 0, 0},
        {"R4: empty lists", &MACHINE_R4, 18, 36, 100, 0, REASON_STORM, 189, 4509, -1},
        {"R4: full lists, the drain is worse", &MACHINE_R4, 9, 18, 100, 140000, REASON_PRICE, 277,
         -1, -1},
        {"R1: nothing is ever moved", &MACHINE_R1, 200, 256, 100, 0, REASON_NO_GAIN, 63, 0, -1},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        static struct rig r;
        struct threat t;
        struct choice c;
        struct estimate est = {.tasks = table[i].tasks, .pages = 4 << 20};
        rig_start(&r, table[i].machine);
        for (uint32_t k = 0; k < r.table.n_lists; k++)
            r.lists[k].count = (uint32_t)table[i].excess_count;
        r.params.target_wait = table[i].target_us * US;
        r.s.node_tasks[0] = table[i].tasks;
        assess_threat(&r.params, &r.s, &est, &r.s.knobs, &t);
        choose_values(&r.params, &r.s, &est, &r.s.knobs, r.s.knobs.has, &t, table[i].planned, &c);
        int fraction = c.values.value[KNOB_FRACTION], scale = c.values.value[KNOB_SCALE];
        if (c.reason != table[i].reason || c.b_after != table[i].b ||
            (table[i].fraction >= 0 && fraction != table[i].fraction) ||
            (table[i].scale >= 0 && scale != table[i].scale))
            fail_msg("%s: %s b %u fraction %d scale %d", table[i].what, reason_name(c.reason),
                     c.b_after, fraction, scale);
        rig_stop(&r);
    }
}

/* The bounds of the configuration hold, and a fraction that was there is never lowered. */
static void test_bounds(void **state)
{
    (void)state;
    static struct rig r;
    struct threat t;
    struct choice c;
    struct estimate est = {.tasks = 18, .pages = 4 << 20};

    rig_start(&r, &MACHINE_R2);
    r.s.node_tasks[0] = 18;
    r.params.knob_hi[KNOB_FRACTION] = 1000;
    assess_threat(&r.params, &r.s, &est, &r.s.knobs, &t);
    choose_values(&r.params, &r.s, &est, &r.s.knobs, r.s.knobs.has, &t, 36, &c);
    assert_int_equal(c.reason, REASON_STORM);
    assert_in_range(c.values.value[KNOB_FRACTION], 8, 1000);
    assert_true(c.w_after > r.params.target_wait);

    r.params.knob_hi[KNOB_FRACTION] = INT32_MAX;
    r.s.knobs.value[KNOB_FRACTION] = 2000;
    assess_threat(&r.params, &r.s, &est, &r.s.knobs, &t);
    choose_values(&r.params, &r.s, &est, &r.s.knobs, r.s.knobs.has, &t, 36, &c);
    assert_in_range(c.values.value[KNOB_FRACTION], 2000, INT32_MAX);
    rig_stop(&r);
}

/* Bounds that leave no value: nothing is chosen. */
static void test_no_room(void **state)
{
    (void)state;
    static struct rig r;
    struct threat t;
    struct choice c;
    struct estimate est = {.tasks = 18, .pages = 4 << 20};

    rig_start(&r, &MACHINE_R6);
    r.s.node_tasks[0] = 18;
    r.params.knob_lo[KNOB_FRACTION] = 1000;
    r.params.knob_hi[KNOB_FRACTION] = 999;
    r.params.knob_lo[KNOB_SCALE] = 6;
    assess_threat(&r.params, &r.s, &est, &r.s.knobs, &t);
    choose_values(&r.params, &r.s, &est, &r.s.knobs, r.s.knobs.has, &t, 36, &c);
    assert_int_equal(c.reason, REASON_NO_GAIN);
    assert_true(knob_values_equal(&c.values, &r.s.knobs));
    rig_stop(&r);
}

/* A node of CPUs without memory: its tasks meet the locks of the others. */
static void test_node_without_memory(void **state)
{
    (void)state;
    static struct rig r;
    struct threat t;
    struct estimate est = {.tasks = 18, .pages = 4 << 20};

    rig_start(&r, &MACHINE_NUMA);
    r.table.n_zones = 1;
    r.s.node_tasks[1] = 18;
    assess_threat(&r.params, &r.s, &est, &r.s.knobs, &t);
    assert_int_equal(t.node, 1);
    assert_int_equal(t.b, 2016);
    rig_stop(&r);
}

/* The table of yields is full: the one that was not asked for longest is forgotten. */
static void test_yields(void **state)
{
    (void)state;
    static struct yields y;

    yield_learn(&y, 1, 0, 0);
    assert_int_equal(yield_get(&y, 1), YIELD_ONE);
    for (uint64_t id = 1; id <= YIELDS_MAX; id++)
        yield_learn(&y, id, 1000, 100);
    assert_in_range(yield_get(&y, 1), 102, 128);
    yield_learn(&y, 1000, 1000, 2000);
    assert_int_equal(yield_get(&y, 1000), YIELD_ONE);
    assert_int_equal(yield_get(&y, 2), YIELD_ONE);
    assert_int_not_equal(yield_get(&y, 1), YIELD_ONE);
    yield_learn(&y, 1, 1000, 500);
    assert_in_range(yield_get(&y, 1), 600, 640);
}

/* Huge pages: one entry for 512 pages, so W all but vanishes. */
static void test_huge_pages(void **state)
{
    (void)state;
    static struct rig r;
    struct threat t;
    struct estimate est = {.tasks = 18, .pages = 4 << 20, .huge = 1024};

    rig_start(&r, &MACHINE_R2);
    r.s.node_tasks[0] = 18;
    assess_threat(&r.params, &r.s, &est, &r.s.knobs, &t);
    assert_true(t.w < 5 * US);
    est.huge = 512;
    assess_threat(&r.params, &r.s, &est, &r.s.knobs, &t);
    assert_in_range(t.w, 1100 * US, 1200 * US);
    rig_stop(&r);
}

/* Exits that are spread over two nodes queue for two locks. */
static void test_nodes(void **state)
{
    (void)state;
    static struct rig r;
    struct threat together, spread;
    struct estimate est = {.tasks = 18, .pages = 4 << 20};

    rig_start(&r, &MACHINE_NUMA);
    r.s.node_tasks[1] = 18;
    assess_threat(&r.params, &r.s, &est, &r.s.knobs, &together);
    assert_int_equal(together.node, 1);
    assert_int_equal(together.n, 18);
    r.s.node_tasks[0] = r.s.node_tasks[1] = 9;
    assess_threat(&r.params, &r.s, &est, &r.s.knobs, &spread);
    assert_int_equal(spread.n, 9);
    assert_int_equal(together.w, 2 * spread.w);
    rig_stop(&r);
}

/* Counters that no kernel has are no reason to compute what C does not define. */
static void test_absurd_counters(void **state)
{
    (void)state;
    static const struct {
        uint64_t pgfree, pgalloc, nr_free, held;
    } table[] = {
        {0, 0, 0, 400},
        {100, 0, 0, 500},
        {0, 100, 0, 300},
        {0, 401, 0, 0},
        {UINT64_C(1) << 63, 0, 0, 0},
        {0, 0, UINT64_C(1) << 63, 0},
        {INT64_MAX, 0, 0, INT64_MAX + UINT64_C(400)},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct rig r;
        rig_start(&r, &MACHINE_SMALL);
        for (uint32_t k = 0; k < r.table.n_lists; k++)
            r.lists[k].count = k == 0 ? 400 : 0;
        r.s.zones_vm = (struct vm_counters){.valid = true};
        r.s.vm = (struct vm_counters){.valid = true,
                                      .pgfree = table[i].pgfree,
                                      .pgalloc = table[i].pgalloc,
                                      .nr_free = table[i].nr_free};
        assert_int_equal(lists_hold(&r.s), table[i].held);
        rig_stop(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_waits),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_huge_pages),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_node_without_memory),
        cmocka_unit_test(test_yields),
        cmocka_unit_test(test_absurd_counters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
