/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pcp.h"
#include "rig.h"

/* The rules of calm: what the lists may hold, and traffic that outgrows them. */

static struct rig r;

static const struct machine SMALL_R4 = {
    "64 CPUs, 4 GB, R4", REGIME_R4, 64, 1, 1 << 20, 12000, 63, false};
static const struct machine SMALL_R2 = {
    "64 CPUs, 4 GB, R2", REGIME_R2, 64, 1, 1 << 20, 12000, 63, false};
static const struct machine LARGE_R4 = {
    "64 CPUs, 256 GB, R4", REGIME_R4, 64, 1, 1 << 26, 300000, 63, false};

static void fill(unsigned percent)
{
    for (uint32_t i = 0; i < r.table.n_lists; i++)
        r.lists[i].count = (uint32_t)(r.zones[0].managed / 100 * percent / r.table.n_lists);
}

/* Lists that hold `percent` of all memory, and plenty of it free. */
static void start_on(const struct machine *m, unsigned percent)
{
    rig_start(&r, m);
    r.zones[0].high = m->low + m->low / 2;
    fill(percent);
    r.truth.nr_free = m->managed / 4;
    rig_look(&r);
}

static void read_zones(void)
{
    for (uint32_t i = 0; i < r.table.n_lists; i++) {
        uint64_t most = pcp_capacity(&r.host, &r.table, r.sysctl.value[KNOB_FRACTION], 5);
        if (r.lists[i].count > most / r.table.n_lists)
            r.lists[i].count = (uint32_t)(most / r.table.n_lists);
    }
}

/* Ticks of 10 s; `traffic` pages a second are taken and given back. */
static void ticks(unsigned n, uint64_t traffic)
{
    for (unsigned k = 0; k < n; k++) {
        r.now += 10 * SECOND;
        r.truth.pgalloc += 10 * traffic;
        r.truth.pgfree += 10 * traffic;
        rig_look(&r);
        read_zones();
    }
}

static void test_hoards(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        const struct machine *machine;
        unsigned percent;  /* of memory in the lists */
        bool low;          /* free memory is below the high watermark */
        unsigned some;     /* percent of time that tasks stall for memory */
        enum reason acted; /* REASON_NONE: left alone */
    } table[] = {
        {"a small machine", &SMALL_R4, 10, false, 0, REASON_HOARD},
        {"for as long as it hoards", &SMALL_R4, 10, true, 50, REASON_HOARD},
        {"and what is allowed", &SMALL_R4, 2, false, 0, REASON_NONE},
        {"a large one may", &LARGE_R4, 10, false, 0, REASON_NONE},
        {"but not when memory is short", &LARGE_R4, 4, true, 0, REASON_PRESSURE},
        {"or tasks stall", &LARGE_R4, 4, false, 12, REASON_PRESSURE},
        {"not yet", &LARGE_R4, 4, false, 9, REASON_NONE},
        {"draining 200,000 pages a list takes 4 ms a hold", &LARGE_R4, 12, true, 0, REASON_NONE},
        {"in R2 the lists are short", &SMALL_R2, 10, true, 50, REASON_NONE},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        start_on(table[i].machine, table[i].percent);
        if (table[i].percent == 12) /* one CPU has it all, and no other a page */
            for (uint32_t k = 0; k < r.table.n_lists; k++)
                r.lists[k].count = k ? 0 : 10000000;
        if (table[i].low)
            r.truth.nr_free = r.zones[0].high - 1;
        r.s.psi_memory_some.avg10_centi = 100 * table[i].some;
        ticks(1, 0);
        enum reason got = r.sets ? r.acted.reason : REASON_NONE;
        if (got != table[i].acted)
            fail_msg("%s: %s", table[i].what, reason_name(got));
        if (r.sets) {
            uint64_t may = pcp_capacity(&r.host, &r.table, r.sysctl.value[KNOB_FRACTION], 5);
            assert_true(may <= table[i].machine->managed / 100 * 3);
            assert_int_equal(r.acted.why.may_hold, may);
            assert_int_equal(engine_get_state(r.engine), ENGINE_STEADY);
            assert_true(engine_idle(r.engine));
        }
        rig_stop(&r);
    }
}

static void test_eases(void **state)
{
    (void)state;
    start_on(&LARGE_R4, 4);
    r.truth.nr_free = r.zones[0].high - 1;
    ticks(30, 0);
    assert_int_equal(r.sets, 1); /* it holds for as long as that lasts */
    r.truth.nr_free = r.zones[0].high + r.zones[0].high / 8;
    ticks(10, 0);
    assert_int_equal(r.restores, 0); /* not over before there is a quarter more */
    r.truth.nr_free = r.zones[0].managed / 8;
    ticks(5, 0);
    assert_int_equal(r.restores, 0);
    ticks(2, 0);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.acted.reason, REASON_EASED);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
    assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);

    rig_stop(&r);
    start_on(&SMALL_R4, 10);
    ticks(30, 0);
    assert_int_equal(r.restores, 0);
    ticks(40, 0); /* ten minutes: nothing else shows whether they would fill again */
    assert_int_equal(r.restores, 1);
    rig_stop(&r);
}

/* Lists that fill up whenever they may: it is tried ever more rarely. */
static void test_hoards_again(void **state)
{
    (void)state;
    static const unsigned minutes[] = {10, 20, 40, 60, 60};
    uint64_t set_at;

    start_on(&SMALL_R4, 10);
    for (size_t i = 0; i < sizeof(minutes) / sizeof(minutes[0]); i++) {
        ticks(1, 0);
        assert_int_equal(r.sets, i + 1);
        set_at = r.now;
        while (r.restores == i && r.now < set_at + 7200 * SECOND)
            ticks(1, 0);
        assert_int_equal(r.acted.reason, REASON_EASED);
        assert_in_range((r.now - set_at) / SECOND, 60 * minutes[i], 60 * minutes[i] + 40);
        fill(10);
    }
    ticks(1, 0);
    unsigned sets = r.sets;
    r.now += 7200 * SECOND;
    ticks(1, 0);
    assert_int_equal(r.acted.action, PLAN_RESTORE);
    ticks(90, 0); /* they stay short for a while: the next time is the first again */
    fill(10);
    ticks(1, 0);
    assert_int_equal(r.sets, sets + 1);
    ticks(65, 0);
    assert_int_equal(r.acted.action, PLAN_RESTORE);
    rig_stop(&r);
}

/* 5,000,000 pages a second would keep one lock busy for a fifth of the time. */
#define BUSY 5000000

static void test_churn(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        const struct machine *machine;
        uint64_t traffic;
        bool short_of;
        unsigned sets; /* in three minutes */
    } table[] = {
        {"R3: twice, four times ... as far as they may", &MACHINE_R3, BUSY, false, 3},
        {"R2: a whole list in one hold", &MACHINE_R2, BUSY, false, 0},
        {"R4 does it itself", &MACHINE_R4, BUSY, false, 0},
        {"hardly any", &MACHINE_R3, BUSY / 4, false, 0},
        {"memory is short", &MACHINE_R3, BUSY, true, 0},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        start_on(table[i].machine, 0);
        if (table[i].short_of)
            r.truth.nr_free = r.zones[0].high;
        ticks(2, table[i].traffic);
        assert_int_equal(r.sets, 0); /* a burst is no traffic */
        ticks(16, table[i].traffic);
        if (r.sets != table[i].sets)
            fail_msg("%s: %u sets", table[i].what, r.sets);
        if (r.sets) {
            uint64_t may = pcp_capacity(&r.host, &r.table, r.sysctl.value[KNOB_FRACTION], 5);
            assert_true(may <= r.zones[0].managed / 100 * 3);
            assert_true(may > r.zones[0].managed / 100 * 5 / 2);
            ticks(8, 0); /* it is over */
            assert_int_equal(r.restores, 1);
            assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
        }
        rig_stop(&r);
    }
}

static void test_no_help(void **state)
{
    (void)state;
    start_on(&MACHINE_R3, 0);
    ticks(4, BUSY);
    assert_int_equal(r.sets, 1);
    ticks(1, BUSY / 2 + BUSY / 4); /* once is noise */
    assert_int_equal(r.restores, 0);
    ticks(1, BUSY);
    ticks(2, BUSY / 2 + BUSY / 4);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.acted.reason, REASON_NO_HELP);
    unsigned sets = r.sets;
    ticks(300, BUSY);
    assert_int_equal(r.sets, sets); /* not again for an hour */
    ticks(70, BUSY);
    assert_true(r.sets > sets);
    rig_stop(&r);
}

/* Longer lists are for memory that nobody else wants; what they have taken themselves is no want.
 */
static void test_churn_runs_short(void **state)
{
    (void)state;
    start_on(&MACHINE_R3, 0);
    uint64_t plenty = 2 * r.zones[0].high + r.zones[0].managed / 16;

    r.truth.nr_free = plenty;
    ticks(4, BUSY);
    assert_int_equal(r.sets, 1);
    r.truth.nr_free = plenty - r.zones[0].managed / 100 * 3 + 100;
    ticks(20, BUSY);
    assert_int_equal(r.restores, 0);
    unsigned sets = r.sets;
    r.truth.nr_free -= 200;
    ticks(1, BUSY);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
    r.truth.nr_free = plenty - 1; /* the lists have given back what they had */
    ticks(20, BUSY);
    assert_int_equal(r.sets, sets);
    rig_stop(&r);
}

/* Longer lists are no place to meet a storm from: first they go back, then it is weighed. */
static void test_storm_in_churn(void **state)
{
    (void)state;
    start_on(&MACHINE_R3, 0);
    ticks(4, BUSY);
    assert_int_equal(r.sets, 1);
    r.auto_carry_out = false;
    rig_exits(&r, 0, 18, 6144, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_RESTORE);
    rig_carry_out(&r);
    assert_int_equal(rig_step(&r), PLAN_SET);
    rig_carry_out(&r);
    assert_int_equal(r.acted.reason, REASON_STORM);
    assert_int_equal(engine_get_state(r.engine), ENGINE_TUNED);
    rig_stop(&r);
}

/* What bounds the lists is taken over by a storm, and all goes back at its end. */
static void test_storm_in_pressure(void **state)
{
    (void)state;
    start_on(&LARGE_R4, 4);
    r.truth.nr_free = r.zones[0].high - 1;
    ticks(1, 0);
    assert_int_equal(r.sets, 1);
    rig_exits(&r, 0, 18, 6144, -1, 0);
    rig_step(&r);
    assert_int_equal(r.sets, 2);
    assert_int_equal(r.restores, 0);
    assert_int_equal(r.acted.reason, REASON_STORM);
    rig_freed(&r, 18 * 6144 / 2);
    rig_pass(&r, 50 * MS);
    rig_freed(&r, 18 * 6144 / 2);
    rig_gone(&r, 0, 18, 0);
    rig_look(&r);
    rig_pass(&r, 2 * SECOND);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
    rig_stop(&r);
}

/* Somebody writes what calm holds: it is his from then on. */
static void test_foreign_write(void **state)
{
    (void)state;
    start_on(&SMALL_R4, 10);
    ticks(1, 0);
    assert_int_equal(r.sets, 1);
    r.sysctl.value[KNOB_FRACTION] = 77;
    r.s.knobs = r.sysctl; /* read at a tick */
    r.answer = OUTCOME_FOREIGN;
    ticks(1, 0);
    assert_int_equal(r.acted.action, PLAN_RESTORE);
    assert_int_equal(engine_get_state(r.engine), ENGINE_YIELDED);
    ticks(60, 0);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 77);
    rig_stop(&r);
}

static void test_switched_off(void **state)
{
    (void)state;
    start_on(&SMALL_R4, 10);
    r.params.max_hoard = 0;
    ticks(5, 0);
    assert_int_equal(r.sets, 0);
    r.params.max_hoard = 3;
    r.params.mode = MODE_OFF;
    ticks(5, 0);
    assert_int_equal(r.sets, 0);
    r.params.mode = MODE_APPLY;
    ticks(1, 0);
    assert_int_equal(r.sets, 1);
    r.params.mode = MODE_OFF;
    ticks(1, 0);
    assert_int_equal(r.restores, 1);
    rig_stop(&r);
    start_on(&MACHINE_R3, 0);
    r.params.max_hoard = 0; /* no limit is none for longer lists either */
    ticks(30, BUSY);
    assert_true(r.sets > 0);
    assert_true(pcp_capacity(&r.host, &r.table, r.sysctl.value[KNOB_FRACTION], 5) <=
                r.zones[0].managed / 8);
    rig_stop(&r);
    start_on(&MACHINE_R3, 0);
    r.params.churn = false;
    ticks(30, BUSY);
    assert_int_equal(r.sets, 0);
    rig_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hoards),         cmocka_unit_test(test_eases),
        cmocka_unit_test(test_hoards_again),   cmocka_unit_test(test_churn),
        cmocka_unit_test(test_no_help),        cmocka_unit_test(test_churn_runs_short),
        cmocka_unit_test(test_storm_in_churn), cmocka_unit_test(test_storm_in_pressure),
        cmocka_unit_test(test_foreign_write),  cmocka_unit_test(test_switched_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
