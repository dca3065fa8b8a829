/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"

/* Start storms: seen in vmstat alone, and met on the allocating path. */

static struct rig r;

static void start_on(const struct machine *m)
{
    rig_start(&r, m);
    for (uint32_t i = 0; i < r.table.n_lists; i++) /* the lists are empty */
        r.lists[i].count = 0;
    r.truth.nr_free = r.zones[0].managed / 2;
    rig_look(&r);
}

/* Between two looks `ns` apart tasks take `mib` by faults and give `back` back. */
static void look_after(uint64_t ns, uint64_t mib, uint64_t back)
{
    r.now += ns;
    r.truth.pgalloc += mib * PAGES_PER_MIB;
    r.truth.pgfault += mib * PAGES_PER_MIB;
    r.truth.pgfree += back * PAGES_PER_MIB;
    r.truth.nr_free -= (mib - back) * PAGES_PER_MIB;
    r.truth.nr_anon += (mib - back) * PAGES_PER_MIB;
    rig_look(&r);
}

/* 64 tasks on 256 CPUs, 4 us a page each: 62 GB/s. */
static void test_seen_and_met(void **state)
{
    (void)state;
    static const struct {
        const struct machine *machine;
        bool met;
        uint32_t b; /* before */
    } table[] = {
        {&MACHINE_R4, true, 2016}, {&MACHINE_R5, true, 2016},
        {&MACHINE_R6, true, 2016}, {&MACHINE_R2, false, 63}, /* rmqueue_bulk() takes a batch */
        {&MACHINE_R3, false, 63},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        start_on(table[i].machine);
        look_after(10 * SECOND, 200000, 0); /* the slow tick: worth a closer look */
        assert_int_equal(r.sets, 0);
        assert_true(r.plan.wake_at <= r.now + 20 * MS);
        for (unsigned k = 0; k < 5; k++)
            look_after(20 * MS, 1200, 0);
        assert_int_equal(r.sets > 0, table[i].met);
        if (table[i].met) {
            assert_true(r.acted.why.starting);
            assert_int_equal(r.acted.why.b_before, table[i].b);
            assert_true(r.acted.why.b_after < 500 && r.acted.why.n_now >= 20);
            assert_true(r.acted.why.n_planned == r.acted.why.n_now);
            assert_true(r.acted.why.w_after < r.acted.why.w_before / 4);
            assert_int_equal(engine_get_state(r.engine), ENGINE_TUNED);
            look_after(200 * MS, 1, 1); /* they are done */
            assert_int_equal(engine_get_state(r.engine), ENGINE_HOLD);
            rig_pass(&r, r.params.hold + MS);
            assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);
            assert_int_equal(r.restores, 1);
            assert_int_equal(r.acted.reason, REASON_CALM);
            assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
        }
        rig_stop(&r);
    }
}

/* Full lists, for which an exit storm would be left alone, are no reason against it: who starts has
 * used up his own. */
static void test_full_lists(void **state)
{
    (void)state;
    start_on(&MACHINE_R4);
    for (uint32_t i = 0; i < r.table.n_lists; i++)
        r.lists[i].count = 140000; /* high_max */
    rig_exits(&r, 0, 64, 1024, -1, 0);
    rig_look(&r);
    assert_int_equal(r.sets, 0);
    rig_gone(&r, 0, 64, 0);
    rig_look(&r);
    rig_pass(&r, 2 * r.params.hold);
    assert_int_equal(r.plan.reason, REASON_NONE);
    for (unsigned k = 0; k < 3; k++)
        look_after(20 * MS, 1200, 0);
    assert_int_equal(r.sets, 1);
    assert_true(r.acted.why.starting);
    assert_int_equal(r.acted.why.b_after, 189);
    rig_stop(&r);
}

/* What is none: no write, and no word. */
static void test_none(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint64_t mib, back, faults; /* in 20 ms, and of the faults how many percent are such */
    } table[] = {
        {"one task", 40, 0, 100},        {"who gives back as much takes for ever", 2000, 1900, 100},
        {"half of it", 2000, 1001, 100}, {"huge pages: one entry of a list for 512", 2000, 0, 0},
        {"page cache", 2000, 0, 0},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        start_on(&MACHINE_R4);
        for (unsigned k = 0; k < 50; k++) {
            r.truth.pgfault -= table[i].mib * PAGES_PER_MIB / 100 * (100 - table[i].faults);
            look_after(20 * MS, table[i].mib, table[i].back);
            if (r.plan.reason != REASON_NONE || r.sets > 0)
                fail_msg("%s: %s", table[i].what, reason_name(r.plan.reason));
        }
        assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);
        rig_stop(&r);
    }
}

static void test_switched_off(void **state)
{
    (void)state;
    start_on(&MACHINE_R4);
    r.params.start_storms = false;
    for (unsigned k = 0; k < 50; k++)
        look_after(20 * MS, 1200, 0);
    assert_int_equal(r.sets, 0);
    assert_true(r.plan.wake_at == UINT64_MAX);
    rig_stop(&r);
}

/* What follows a storm of exits is seen at once: the container is started again. */
static void test_restart(void **state)
{
    (void)state;
    start_on(&MACHINE_R4);
    rig_exits(&r, 0, 18, 6144, -1, 0);
    rig_step(&r);
    rig_freed(&r, UINT64_C(18) * 6144);
    rig_pass(&r, 50 * MS);
    rig_gone(&r, 0, 18, 0);
    rig_look(&r);
    rig_pass(&r, r.params.hold + MS);
    assert_int_equal(r.restores, 1);
    unsigned sets = r.sets;
    for (unsigned k = 0; k < 20 && r.sets == sets; k++) /* it is stepped when it asks to be */
        look_after(r.plan.wake_at - r.now, 60 * (r.plan.wake_at - r.now) / MS, 0);
    assert_int_equal(r.sets, sets + 1);
    assert_true(r.acted.why.starting);
    assert_true(r.acted.why.since < 10 * MS);
    rig_stop(&r);
    /* ... but where the whole machine could make nobody wait for long, nobody looks */
    start_on(&MACHINE_SMALL);
    rig_exits(&r, 0, 9, 256, -1, 0);
    rig_step(&r);
    rig_gone(&r, 0, 9, 0);
    rig_look(&r);
    rig_pass(&r, r.params.hold + MS);
    assert_true(r.plan.wake_at == UINT64_MAX);
    rig_stop(&r);
}

/* A container ends while others start: the exits take over, and the end is theirs. */
static void test_exits_take_over(void **state)
{
    (void)state;
    start_on(&MACHINE_R4);
    for (unsigned k = 0; k < 5; k++)
        look_after(20 * MS, 600, 0);
    assert_int_equal(r.sets, 1);
    uint64_t id = r.acted.why.storm_id;
    rig_exits(&r, 0, 100, 1024, -1, 0);
    rig_step(&r);
    assert_int_equal(engine_storm(r.engine), id + 1);
    assert_int_equal(r.sets, 1); /* the lists are as short as they get */
    rig_freed(&r, 102400);
    rig_pass(&r, 5 * MS);
    rig_gone(&r, 0, 100, 0);
    rig_look(&r);
    rig_pass(&r, 2 * r.params.hold);
    assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);
    assert_false(r.acted.why.starting);
    assert_int_equal(r.acted.why.tasks_total, 100);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
    rig_stop(&r);
}

/* Starts that never cease are daily work. */
static void test_no_end(void **state)
{
    (void)state;
    start_on(&MACHINE_R4);
    r.params.tuned_max = 3 * SECOND;
    for (unsigned k = 0; k < 60; k++)
        look_after(100 * MS, 6000, 0);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.acted.reason, REASON_TOO_LONG);
    assert_int_equal(r.sets, 1);
    rig_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seen_and_met),
        cmocka_unit_test(test_full_lists),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_switched_off),
        cmocka_unit_test(test_exits_take_over),
        cmocka_unit_test(test_no_end),
        cmocka_unit_test(test_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
