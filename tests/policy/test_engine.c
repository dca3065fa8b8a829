/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"

static struct rig r;

static int start_small(void **state)
{
    (void)state;
    rig_start(&r, &MACHINE_SMALL);
    r.params.target_wait = 20 * US;
    return 0;
}

static int start_big(void **state)
{
    (void)state;
    rig_start(&r, &MACHINE_R3);
    return 0;
}

static int start_r6(void **state)
{
    (void)state;
    rig_start(&r, &MACHINE_R6);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    rig_stop(&r);
    return 0;
}

/* The whole life: first message, proof, last exit, hold time, restore. */
static void test_storm(void **state)
{
    (void)state;
    rig_exits(&r, 0, 1, 256, 2304, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    assert_int_equal(r.plan.reason, REASON_STORM);
    assert_true(r.plan.report);
    assert_int_equal(r.plan.values.value[KNOB_FRACTION], 3167);
    assert_int_equal(r.plan.why.w_before, 40320);
    assert_true(r.plan.why.w_after <= 20 * US);
    assert_int_equal(engine_get_state(r.engine), ENGINE_TUNED);

    rig_exits(&r, 0, 8, 256, 2304, 0);
    assert_int_equal(rig_step(&r), PLAN_NONE); /* 2 CPUs: planned for already */
    r.now += MS;
    rig_look(&r);
    rig_freed(&r, 200);
    rig_pass(&r, 50 * MS);
    assert_int_equal(r.restores, 0);

    rig_freed(&r, 2000);
    rig_gone(&r, 0, 9, 0);
    rig_look(&r);
    assert_int_equal(engine_get_state(r.engine), ENGINE_HOLD);
    rig_pass(&r, 990 * MS);
    assert_int_equal(r.restores, 0);
    rig_pass(&r, 20 * MS);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.acted.reason, REASON_CALM);
    assert_int_equal(r.acted.why.tasks_total, 9);
    assert_int_equal(r.acted.why.announced, 9 * 256 * PAGES_PER_MIB);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
    assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);
    assert_true(rig_pass(&r, 11 * SECOND) <= 21); /* who ends is often started again */
    assert_int_equal(r.plan.wake_at, UINT64_MAX);
}

/* A storm that outgrows its plan costs a write for each doubling, and no more. */
static void test_growth(void **state)
{
    (void)state;
    r.params.target_wait = 2000 * US;
    for (unsigned i = 0; i < 256; i++) {
        rig_exits(&r, 0, 1, 2048, 600000, 0);
        rig_step(&r);
        r.now += 100 * US;
        rig_freed(&r, 20);
    }
    assert_in_range(r.sets, 1, 8);
    assert_int_equal(r.acted.why.n_planned, 256);
    rig_gone(&r, 0, 256, 0);
    rig_look(&r);
    rig_pass(&r, 2 * SECOND);
    assert_int_equal(r.restores, 1);
}

/* Where the scale alone is taken, because full lists make the fraction dear: a storm that proves
 * larger is worth that price, though no more tasks are in flight than were planned for. */
static void test_worth_more(void **state)
{
    (void)state;
    r.params.knob_lo[KNOB_SCALE] = 4;
    for (uint32_t i = 0; i < r.table.n_lists; i++)
        r.lists[i].count = 10000;
    rig_exits(&r, 0, 9, 2048, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    assert_int_equal(r.plan.values.value[KNOB_SCALE], 4);
    assert_int_equal(r.plan.values.value[KNOB_FRACTION], 0);
    assert_true(r.plan.why.w_after > r.params.target_wait);
    assert_int_equal(rig_step(&r), PLAN_NONE);

    rig_exits(&r, 0, 7, 4096, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    assert_int_equal(r.plan.reason, REASON_STORM_GREW);
    assert_int_equal(r.plan.values.value[KNOB_SCALE], 4);
    assert_true(r.plan.values.value[KNOB_FRACTION] > 0);
    assert_true(r.plan.why.excess > 0);
    assert_int_equal(r.plan.why.b_after, 189);
    assert_int_equal(rig_step(&r), PLAN_NONE);
}

/* High is shared out anew over the CPUs that are left: what was planned is planned again, once. */
static void test_fewer_cpus(void **state)
{
    (void)state;
    rig_exits(&r, 0, 64, 6144, -1, 0);
    rig_look(&r);
    rig_pass(&r, MS);
    rig_freed(&r, 10000);
    rig_pass(&r, 20 * MS);
    assert_int_equal(r.sets, 1);
    int before = r.sysctl.value[KNOB_FRACTION];

    r.host.cpus_online = r.host.node_cpus[0] = 128;
    rig_look(&r);
    assert_int_equal(r.sets, 2);
    assert_int_equal(r.acted.reason, REASON_STORM_GREW);
    assert_int_equal(r.acted.why.b_after, 189);
    assert_true(r.sysctl.value[KNOB_FRACTION] > before);
    rig_pass(&r, 5 * SECOND);
    assert_int_equal(r.sets, 2);
    r.host.cpus_online = r.host.node_cpus[0] = 256; /* that they come back makes no list longer */
    rig_look(&r);
    assert_int_equal(r.sets, 2);
    assert_int_equal(engine_get_state(r.engine), ENGINE_TUNED);
}

/* When a quarter is left for longer than the dwell time, the lists get longer again; within the
 * target they go back altogether, and do not come again before the dwell time is over. */
static void test_shrink(void **state)
{
    (void)state;
    r.params.target_wait = 150 * US;
    rig_exits(&r, 0, 64, 2048, 600000, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    rig_pass(&r, 2 * MS);
    rig_freed(&r, 100);
    rig_pass(&r, 20 * MS);
    rig_gone(&r, 0, 54, 0);
    rig_look(&r);
    rig_pass(&r, 900 * MS);
    assert_int_equal(r.sets, 1);
    rig_step(&r);
    rig_pass(&r, 300 * MS);
    assert_int_equal(r.sets, 2);
    assert_int_equal(r.acted.reason, REASON_STORM_SHRANK);
    assert_int_equal(r.acted.why.n_planned, 20);

    rig_gone(&r, 0, 8, 0);
    rig_look(&r);
    rig_pass(&r, 1200 * MS);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.acted.reason, REASON_STORM_SHRANK);

    rig_exits(&r, 0, 60, 2048, 600000, 0);
    assert_int_equal(rig_step(&r), PLAN_NONE);
    rig_pass(&r, 1200 * MS);
    assert_int_equal(r.sets, 3);
}

/* Why nothing is done: each reason has its line, told once an hour unless it gets worse. */
static void test_left_alone(void **state)
{
    (void)state;
    static const struct machine ONE_CPU = {"1 CPU, R2", REGIME_R2, 1,  1,
                                           3571712,     174480,    63, false};
    static const struct {
        const char *what;
        const struct machine *machine;
        int pinned; /* value found at start, 0: none */
        uint32_t tasks;
        bool known;
        enum reason reason;
    } table[] = {
        {"small machine, default target", &MACHINE_SMALL, 0, 9, true, REASON_WITHIN_TARGET},
        {"R5", &MACHINE_R5, 0, 18, true, REASON_WITHIN_TARGET},
        {"nobody waits on one CPU", &ONE_CPU, 0, 200, true, REASON_WITHIN_TARGET},
        {"R5, beyond what it can", &MACHINE_R5, 0, 200, true, REASON_NO_GAIN},
        {"R1", &MACHINE_R1, 0, 200, true, REASON_NO_KNOB},
        {"pinned", &MACHINE_R2, 512, 18, true, REASON_PINNED},
        {"not read yet", &MACHINE_R2, 0, 18, false, REASON_UNREAD},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        static struct rig q;
        rig_start(&q, table[i].machine);
        q.sysctl.value[KNOB_FRACTION] = table[i].pinned;
        q.s.knobs = q.sysctl;
        q.s.knobs_known = table[i].known;
        engine_found(q.engine, &q.sysctl);
        for (unsigned round = 0; round < 3; round++) {
            rig_exits(&q, 0, table[i].tasks, 6144, 200000, 0);
            assert_int_equal(rig_look(&q), PLAN_NONE);
            assert_int_equal(engine_get_state(q.engine), ENGINE_WATCH);
            q.now += 300 * MS;
            rig_freed(&q, 1000);
            rig_gone(&q, 0, table[i].tasks, 0);
            rig_look(&q);
            rig_pass(&q, 1100 * MS);
            assert_int_equal(engine_get_state(q.engine), ENGINE_CALM);
            if (q.plan.reason != table[i].reason || q.plan.report != (round == 0) ||
                q.plan.why.tasks_total != table[i].tasks)
                fail_msg("%s, round %u: %s, report %d", table[i].what, round,
                         reason_name(q.plan.reason), q.plan.report);
            rig_forget(&q);
        }
        assert_int_equal(q.sets, 0);
        rig_stop(&q);
    }
}

/* Shared pages: announced, not freed. Undone within 20 ms, and not believed the next time. */
/* Where every CPU has a queue, who is to free had no turn yet: that is no false alarm. */
static void test_no_turn_yet(void **state)
{
    (void)state;
    r.s.psi_cpu_some.avg10_centi = 9500;
    rig_exits(&r, 0, 9, 512, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    rig_pass(&r, 95 * MS);
    assert_int_equal(r.restores, 0);
    rig_pass(&r, 20 * MS);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.acted.reason, REASON_FALSE_ALARM);
}

static void test_false_alarm(void **state)
{
    (void)state;
    uint64_t begin = r.now;

    rig_exits(&r, 0, 9, 512, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    rig_pass(&r, 25 * MS);
    assert_int_equal(r.restores, 1);
    rig_gone(&r, 0, 9, 0);
    rig_look(&r);
    rig_pass(&r, 2 * SECOND);
    rig_forget(&r);
    assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);

    for (unsigned i = 0; i < 5; i++) {
        rig_exits(&r, 0, 9, 512, -1, 0);
        assert_int_equal(rig_step(&r), PLAN_NONE);
        rig_pass(&r, 40 * MS);
        rig_gone(&r, 0, 9, 0);
        rig_look(&r);
        rig_pass(&r, 2 * SECOND);
        rig_forget(&r);
    }
    assert_int_equal(r.sets, 1);

    /* The real one that comes then is believed as soon as memory is seen to go. */
    rig_exits(&r, 0, 9, 512, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_NONE);
    rig_pass(&r, 2 * MS);
    rig_freed(&r, 64);
    rig_pass(&r, 15 * MS);
    assert_int_equal(r.sets, 2);
    assert_true(r.now - begin < 20 * SECOND);
}

/* The moment of the doubt: not before 12 ms, not after 20. */
static void test_doubt_time(void **state)
{
    (void)state;
    rig_exits(&r, 0, 9, 512, -1, 0);
    rig_step(&r);
    rig_pass(&r, 11 * MS);
    assert_int_equal(r.restores, 0);
    rig_pass(&r, 5 * MS);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.acted.reason, REASON_FALSE_ALARM);
}

/* Nine that peaked at 512 MiB and hold 5 now: what the cgroup holds bounds it. */
static void test_bounded_by_cgroup(void **state)
{
    (void)state;
    rig_exits(&r, 0, 9, 512, 45, 0);
    assert_int_equal(rig_step(&r), PLAN_NONE);
    assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);
    rig_gone(&r, 0, 9, 0);
    rig_step(&r);
    assert_int_equal(r.sets, 0);
}

/* Nine that peaked at 512 MiB and hold 5 now, where no cgroup says so: 45 MiB do go, and that is
 * little of 4.6 GB. */
static void test_past_peaks(void **state)
{
    (void)state;
    rig_exits(&r, 0, 9, 512, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    rig_pass(&r, 3 * MS);
    rig_freed(&r, 45);
    rig_gone(&r, 0, 9, 0);
    rig_look(&r);
    rig_pass(&r, 2 * MS);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.acted.reason, REASON_FALSE_ALARM);
    rig_forget(&r);
    rig_pass(&r, 2 * SECOND);
    rig_exits(&r, 0, 9, 512, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_NONE);
}

/* The same again, and slow enough to be looked at: 45 MiB go, which is what was learned to expect.
 */
static void test_past_peaks_again(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        rig_exits(&r, 0, 9, 512, -1, 0);
        rig_step(&r);
        rig_pass(&r, MS);
        for (unsigned k = 0; k < 5; k++) {
            rig_freed(&r, 9);
            rig_pass(&r, 5 * MS);
        }
        rig_gone(&r, 0, 9, 0);
        rig_look(&r);
        rig_pass(&r, 2 * SECOND);
        rig_forget(&r);
    }
    assert_int_equal(r.sets, 1);
    assert_int_equal(r.restores, 1);
}

/* What the lists hold is known without zone->lock: they filled, or emptied, since zoneinfo was
 * read. */
static void test_lists_since(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint32_t count;   /* in each list when zoneinfo was read */
        int64_t freed;    /* pages given back since, */
        int64_t to_buddy; /* and those of them that nr_free counts */
        enum plan_action action;
    } table[] = {
        {"empty then and now", 0, 0, 0, PLAN_SET},
        {"all that was freed went to the buddy lists", 0, 400000, 400000, PLAN_SET},
        {"filled since", 0, 400000, 100000, PLAN_NONE},
        {"full then", 150000, 0, 0, PLAN_NONE},
        {"full then, emptied by allocation since", 150000, -300000, 0, PLAN_SET},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        static struct rig q;
        rig_start(&q, &MACHINE_SMALL);
        q.params.target_wait = 20 * US;
        for (uint32_t k = 0; k < q.table.n_lists; k++)
            q.lists[k].count = table[i].count;
        q.truth.pgfree = q.truth.pgalloc = q.truth.nr_free = 1000000;
        q.s.zones_vm = q.truth;
        q.s.zones_vm.at = q.now;
        q.now += 5 * SECOND;
        q.truth.pgfree += table[i].freed > 0 ? (uint64_t)table[i].freed : 0;
        q.truth.pgalloc += table[i].freed < 0 ? (uint64_t)-table[i].freed : 0;
        q.truth.nr_free += (uint64_t)table[i].to_buddy;
        rig_exits(&q, 0, 1, 256, 2304, 0);
        if (rig_look(&q) != table[i].action)
            fail_msg("%s: excess %lu", table[i].what, (unsigned long)q.acted.why.excess);
        rig_stop(&q);
    }
}

/* The first reading came late: what was freed before it is not known, so nothing is concluded. */
static void test_late_base(void **state)
{
    (void)state;
    rig_exits(&r, 0, 9, 256, 2304, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    rig_freed(&r, 2200);
    r.now += 60 * MS;
    rig_look(&r);
    rig_freed(&r, 80);
    r.now += 11 * MS;
    rig_gone(&r, 0, 9, 0);
    rig_look(&r);
    rig_pass(&r, 900 * MS);
    assert_int_equal(r.restores, 0);
    rig_pass(&r, 200 * MS);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.acted.reason, REASON_CALM);
}

/* Memory that others take at the same time hides the fall of nr_anon; pgfree tells. */
static void test_storm_under_pressure(void **state)
{
    (void)state;
    rig_exits(&r, 0, 18, 6144, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    rig_pass(&r, MS);
    rig_freed(&r, 300);
    r.truth.nr_anon += 300 * PAGES_PER_MIB;
    rig_pass(&r, 100 * MS);
    assert_int_equal(r.restores, 0);
}

/* A task that hangs keeps its group: the next storm of the group is judged by its own tasks. */
static void test_group_that_stays(void **state)
{
    (void)state;
    rig_exits(&r, 0, 40, 256, 12000, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    rig_pass(&r, 2 * MS);
    rig_freed(&r, 9000);
    rig_gone(&r, 0, 39, 0);
    rig_look(&r);
    rig_pass(&r, 70 * SECOND); /* longer than TunedMax= */
    assert_int_equal(r.restores, 1);
    r.params.mode = MODE_OFF; /* ends the storm, and the task still hangs */
    rig_look(&r);
    r.params.mode = MODE_APPLY;
    rig_exits(&r, 0, 2, 256, 12000, 0);
    rig_look(&r);
    rig_pass(&r, 2 * MS);
    rig_freed(&r, 500);
    rig_pass(&r, 5 * MS);
    rig_gone(&r, 0, 3, 0);
    rig_look(&r);
    rig_pass(&r, 100 * MS);
    assert_true(r.acted.reason != REASON_FALSE_ALARM);
}

/* A foreign write in the storm: found at the restore, never overwritten. */
static void test_foreign(void **state)
{
    (void)state;
    rig_exits(&r, 0, 2, 256, -1, 0);
    rig_step(&r);
    rig_pass(&r, 2 * MS);
    rig_freed(&r, 500);
    rig_gone(&r, 0, 2, 0);
    rig_look(&r);
    r.sysctl.value[KNOB_FRACTION] = 64;
    r.answer = OUTCOME_FOREIGN;
    rig_pass(&r, 1100 * MS);
    assert_int_equal(engine_get_state(r.engine), ENGINE_YIELDED);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 64);

    rig_forget(&r);
    r.answer = OUTCOME_DONE;
    rig_exits(&r, 1, 9, 256, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_NONE);
    r.now += 20 * MS;
    rig_gone(&r, 1, 9, 0);
    rig_look(&r);
    rig_pass(&r, 1100 * MS);
    assert_int_equal(r.sets, 1);

    /* Re-armed by time: the value that stands is a pin until it is the kernel's own again. */
    rig_pass(&r, 3600 * SECOND);
    rig_look(&r);
    assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);
    r.sysctl.value[KNOB_FRACTION] = 0;
    r.s.knobs = r.sysctl;
    rig_forget(&r);
    rig_exits(&r, 2, 9, 256, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
}

/* It changed between our reading and our write: somebody pinned it. */
static void test_pinned_meanwhile(void **state)
{
    (void)state;
    r.answer = OUTCOME_FOREIGN;
    r.auto_carry_out = false;
    rig_exits(&r, 0, 9, 256, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    r.sysctl.value[KNOB_FRACTION] = 4096;
    rig_carry_out(&r);
    assert_int_equal(rig_step(&r), PLAN_NONE);
    assert_int_equal(engine_get_state(r.engine), ENGINE_WATCH);
    assert_int_equal(r.sets, 0);
}

static void test_refused(void **state)
{
    (void)state;
    r.answer = OUTCOME_REFUSED;
    rig_exits(&r, 0, 9, 256, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    assert_int_equal(engine_get_state(r.engine), ENGINE_REFUSED);
    rig_pass(&r, 10 * SECOND);
    assert_int_equal(r.sets, 0);
    engine_rearm(r.engine);
    r.answer = OUTCOME_DONE;
    rig_freed(&r, 100);
    r.now += MS;
    assert_int_equal(rig_look(&r), PLAN_SET);
}

/* A restore that fails is tried again until it works. */
static void test_restore_is_repeated(void **state)
{
    (void)state;
    rig_exits(&r, 0, 2, 256, -1, 0);
    rig_step(&r);
    rig_pass(&r, 2 * MS);
    rig_freed(&r, 500);
    rig_gone(&r, 0, 2, 0);
    rig_look(&r);
    r.answer = OUTCOME_FAILED;
    rig_pass(&r, 10 * SECOND);
    assert_int_equal(r.restores, 0);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 3167);
    r.answer = OUTCOME_DONE;
    rig_pass(&r, 64 * SECOND);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
    assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);
}

/* Never more writes an hour than allowed, and a change only with room for its restore. */
static void test_budget(void **state)
{
    (void)state;
    r.params.writes_per_hour = 7;
    for (unsigned i = 0; i < 10; i++) {
        rig_exits(&r, 0, 2, 256, -1, 0);
        rig_step(&r);
        rig_pass(&r, 2 * MS);
        rig_freed(&r, 500);
        rig_gone(&r, 0, 2, 0);
        rig_look(&r);
        rig_pass(&r, 2 * SECOND);
        rig_forget(&r);
    }
    assert_int_equal(r.sets, 3);
    assert_int_equal(r.restores, 3);
    rig_exits(&r, 0, 2, 256, -1, 0);
    rig_look(&r);
    rig_gone(&r, 0, 2, 0);
    rig_look(&r);
    rig_pass(&r, 2 * SECOND);
    r.now += 3600 * SECOND;
    rig_forget(&r);
    rig_exits(&r, 0, 2, 256, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
}

static void test_off(void **state)
{
    (void)state;
    rig_exits(&r, 0, 2, 256, -1, 0);
    rig_step(&r);
    r.params.mode = MODE_OFF;
    assert_int_equal(rig_step(&r), PLAN_RESTORE);
    assert_int_equal(r.plan.reason, REASON_OFF);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
    rig_exits(&r, 0, 9, 256, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_NONE);
}

/* Without taskstats: falling anonymous memory and the rate of pgfree, with a faster look only
 * while it falls. */
static void test_vmstat_alone(void **state)
{
    (void)state;
    r.s.signals[SIGNAL_TASKSTATS] = false;
    rig_look(&r);
    unsigned calm = rig_pass(&r, 10 * SECOND);
    assert_in_range(calm, 10, 25);
    for (unsigned i = 0; i < 20; i++) {
        rig_freed(&r, 200); /* in 20 ms: what 2 CPUs free at the most */
        rig_pass(&r, 20 * MS);
    }
    rig_pass(&r, 500 * MS);
    assert_int_equal(r.sets, 1);
    rig_pass(&r, 3 * SECOND);
    assert_int_equal(r.restores, 1);
    assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);
    calm = rig_pass(&r, 10 * SECOND);
    assert_in_range(calm, 10, 25);
}

/* Nothing is planned while an action is under way. */
static void test_one_action_at_a_time(void **state)
{
    (void)state;
    r.auto_carry_out = false;
    rig_exits(&r, 0, 1, 256, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    struct plan first = r.plan;
    rig_exits(&r, 0, 8, 256, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_NONE);
    assert_int_equal(r.plan.wake_at, r.now); /* only a base for what is freed is wanted */
    assert_int_equal(rig_look(&r), PLAN_NONE);
    assert_int_equal(r.plan.wake_at, UINT64_MAX);
    r.plan = first;
    rig_carry_out(&r);
    assert_int_equal(engine_get_state(r.engine), ENGINE_TUNED);
}

/* One exit after the other, without an end: short lists are for a moment, not for ever. */
static void test_endless(void **state)
{
    (void)state;
    r.params.target_wait = 20 * US;
    for (unsigned i = 0; i < 240; i++) {
        rig_exits(&r, 0, 1, 256, -1, 0);
        rig_step(&r);
        rig_pass(&r, 2 * MS);
        rig_freed(&r, 256);
        rig_pass(&r, 98 * MS);
        rig_gone(&r, 0, 1, 0);
        rig_look(&r);
        rig_pass(&r, 400 * MS);
        if (r.restores != (i < 120 ? 0 : 1))
            fail_msg("exit %u: %u restores, %s", i, r.restores, reason_name(r.acted.reason));
    }
    assert_int_equal(r.sets, 1);
    assert_int_equal(r.acted.reason, REASON_TOO_LONG);
    assert_in_range(r.acted.why.since, 60 * SECOND, 61 * SECOND);
    assert_int_equal(engine_get_state(r.engine), ENGINE_WATCH);
    rig_pass(&r, SECOND);
    assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);
    rig_forget(&r);
    rig_exits(&r, 0, 1, 256, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
}

/* One giant that takes minutes: woken for it, with no message that would. The last change before
 * the bound still has its dwell time. */
static void test_endless_giant(void **state)
{
    (void)state;
    r.params.tuned_max = 10 * SECOND;
    r.params.dwell = 2 * SECOND;
    rig_exits(&r, 0, 8, 65536, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    rig_pass(&r, 2 * MS);
    rig_freed(&r, 65536);
    rig_pass(&r, 9 * SECOND);
    rig_exits(&r, 0, 60, 65536, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    rig_pass(&r, 1900 * MS);
    assert_int_equal(rig_look(&r), PLAN_NONE);
    assert_int_equal(r.restores, 0);
    rig_pass(&r, 200 * MS);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.acted.reason, REASON_TOO_LONG);
}

/* Off in a storm, or while its hold time runs: nobody is woken for it any more. */
static void test_off_is_asleep(void **state)
{
    (void)state;
    for (unsigned empty = 0; empty < 2; empty++) {
        r.params.mode = MODE_APPLY;
        rig_exits(&r, empty, 9, 256, -1, 0);
        rig_look(&r);
        r.params.mode = MODE_OFF;
        r.now += MS;
        if (empty)
            rig_gone(&r, empty, 9, 0);
        rig_look(&r);
        rig_look(&r);
        assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);
        assert_int_equal(r.plan.wake_at, UINT64_MAX);
        if (!empty)
            rig_gone(&r, empty, 9, 0);
        r.now += SECOND;
    }
    r.s.signals[SIGNAL_TASKSTATS] = false;
    rig_look(&r);
    assert_int_equal(r.plan.wake_at, UINT64_MAX);
}

/* One knob of two is somebody else's: the other one goes back and stays there. */
static void test_yield_is_whole(void **state)
{
    (void)state;
    r.params.target_wait = 50 * US;
    r.params.knob_lo[KNOB_SCALE] = 3; /* 504 pages a hold: both knobs are needed */
    rig_exits(&r, 0, 18, 1024, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    assert_int_not_equal(r.sysctl.value[KNOB_FRACTION], 0);
    assert_int_equal(r.sysctl.value[KNOB_SCALE], 3);

    r.auto_carry_out = false;
    rig_exits(&r, 0, 100, 1024, -1, 0);
    assert_int_equal(rig_look(&r), PLAN_NONE);
    struct outcome o = {.action = PLAN_SET, .kind = OUTCOME_FOREIGN, .knob = KNOB_FRACTION};
    o.original = r.original;
    engine_outcome(r.engine, &r.params, &o, r.now);
    r.original.has[KNOB_FRACTION] = false;
    r.sysctl.value[KNOB_FRACTION] = 10;
    r.auto_carry_out = true;
    assert_int_equal(rig_look(&r), PLAN_RESTORE);
    assert_int_equal(r.plan.reason, REASON_YIELDED);
    rig_freed(&r, 10000);
    for (unsigned i = 0; i < 10; i++) {
        rig_pass(&r, SECOND);
        rig_look(&r);
    }
    assert_int_equal(r.sets, 1);
    assert_int_equal(engine_get_state(r.engine), ENGINE_YIELDED);
}

static void answer_set(enum outcome_kind kind, enum knob_id knob)
{
    struct outcome o = {.action = PLAN_SET, .kind = kind, .knob = knob, .before = r.sysctl};

    o.after = r.sysctl;
    o.original = r.original;
    r.s.knobs = r.sysctl;
    engine_outcome(r.engine, &r.params, &o, r.now);
}

/* A pin lasts for as long as it is found. */
static void test_pin_ends(void **state)
{
    (void)state;
    r.sysctl.value[KNOB_FRACTION] = 100;
    r.s.knobs = r.sysctl;
    engine_found(r.engine, &r.sysctl);
    rig_exits(&r, 0, 9, 256, -1, 0);
    assert_int_equal(rig_look(&r), PLAN_NONE);
    rig_pass(&r, 5 * MS);
    rig_freed(&r, 9 * 256);
    rig_gone(&r, 0, 9, 0);
    rig_look(&r);
    rig_pass(&r, 2 * SECOND);
    rig_forget(&r);
    r.sysctl.value[KNOB_FRACTION] = 0;
    r.s.knobs = r.sysctl;
    engine_seen(r.engine, &r.sysctl);
    rig_exits(&r, 0, 9, 256, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    engine_seen(r.engine, &r.sysctl); /* what is ours is no pin */
    rig_exits(&r, 0, 100, 256, -1, 0);
    rig_step(&r);
    assert_int_equal(engine_get_state(r.engine), ENGINE_TUNED);
}

/* What one knob turns out to be says nothing of the other one. */
static void test_pins_are_apart(void **state)
{
    (void)state;
    r.params.target_wait = 50 * US;
    r.params.knob_lo[KNOB_SCALE] = 3;
    r.sysctl.value[KNOB_SCALE] = 6;
    engine_found(r.engine, &r.sysctl);
    r.s.knobs = r.sysctl;
    r.auto_carry_out = false;
    rig_exits(&r, 0, 18, 1024, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);    /* the fraction alone: the scale is pinned */
    assert_false(r.plan.values.has[KNOB_SCALE]); /* nor does a write of its owner matter */
    struct outcome o = {.action = PLAN_SET, .kind = OUTCOME_FOREIGN, .knob = KNOB_FRACTION};
    o.before.has[KNOB_FRACTION] = true;
    o.before.value[KNOB_FRACTION] = 10;
    r.s.knobs.value[KNOB_FRACTION] = 10;
    engine_outcome(r.engine, &r.params, &o, r.now);
    assert_int_equal(rig_step(&r), PLAN_NONE);
}

/* A partial change, then a foreign write at the other knob: what we hold is known, and is not taken
 * for a pin. */
static void test_half_foreign(void **state)
{
    (void)state;
    r.params.target_wait = 50 * US;
    r.params.knob_lo[KNOB_SCALE] = 3;
    r.auto_carry_out = false;
    rig_exits(&r, 0, 18, 1024, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    r.original = (struct knob_values){.has = {true, false}};
    r.sysctl = r.plan.values;
    r.sysctl.value[KNOB_SCALE] = 6;
    answer_set(OUTCOME_FOREIGN, KNOB_SCALE);
    assert_int_equal(rig_step(&r), PLAN_NONE); /* the scale is pinned, the fraction is as wanted */
    rig_exits(&r, 0, 1, 1024, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_NONE);
    assert_int_equal(engine_get_state(r.engine), ENGINE_TUNED);
    rig_freed(&r, 10000);
    rig_pass(&r, 2 * MS);
    rig_gone(&r, 0, 19, 0);
    rig_look(&r);
    rig_pass(&r, 2 * SECOND);
    assert_int_equal(r.plan.action, PLAN_RESTORE);
}

/* At the restore one knob is somebody else's and the other fails: the first one is theirs. */
static void test_foreign_behind_a_failure(void **state)
{
    (void)state;
    r.params.target_wait = 50 * US;
    r.params.knob_lo[KNOB_SCALE] = 3;
    rig_exits(&r, 0, 18, 1024, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    r.auto_carry_out = false;
    r.params.mode = MODE_OFF;
    assert_int_equal(rig_step(&r), PLAN_RESTORE);
    r.original.has[KNOB_FRACTION] = false;
    r.sysctl.value[KNOB_FRACTION] = 10;
    struct outcome o = {.action = PLAN_RESTORE, .kind = OUTCOME_FAILED, .knob = KNOB_SCALE};
    o.before = o.after = r.s.knobs = r.sysctl;
    o.original = r.original;
    engine_outcome(r.engine, &r.params, &o, r.now);
    assert_int_equal(engine_get_state(r.engine), ENGINE_YIELDED);
}

/* Reassert: what somebody wrote is the new original, at the end of a storm too. */
static void test_reassert(void **state)
{
    (void)state;
    r.params.on_foreign = FOREIGN_REASSERT;
    rig_exits(&r, 0, 9, 256, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    rig_pass(&r, 2 * MS);
    rig_freed(&r, 500);
    rig_gone(&r, 0, 9, 0);
    rig_look(&r);
    r.answer = OUTCOME_FOREIGN;
    r.sysctl.value[KNOB_FRACTION] = 64;
    rig_pass(&r, 1100 * MS);
    assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);
    rig_forget(&r);
    r.answer = OUTCOME_DONE;
    rig_exits(&r, 0, 9, 256, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    assert_int_equal(r.original.value[KNOB_FRACTION], 64);
}

/* Two knobs that are changed one after the other need two restores; a write counts whatever came
 * of the rest. */
static void test_budget_of_two_knobs(void **state)
{
    (void)state;
    r.params.knob_lo[KNOB_SCALE] = 3;
    r.params.writes_per_hour = 3;
    r.params.target_wait = 400 * US;
    rig_exits(&r, 0, 18, 1024, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET); /* the scale alone */
    assert_int_equal(r.plan.values.value[KNOB_FRACTION], 0);
    rig_exits(&r, 0, 200, 1024, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_NONE); /* 2 are left: one change and one restore */
    r.params.writes_per_hour = 4;
    assert_int_equal(rig_step(&r), PLAN_SET);
    assert_int_not_equal(r.plan.values.value[KNOB_FRACTION], 0);
}

static void test_budget_of_failures(void **state)
{
    (void)state;
    r.params.knob_lo[KNOB_SCALE] = 3;
    r.params.target_wait = 50 * US;
    r.auto_carry_out = false;
    rig_exits(&r, 0, 18, 1024, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    uint32_t left = r.plan.why.writes_left;
    struct outcome o = {.action = PLAN_SET, .kind = OUTCOME_FAILED, .knob = KNOB_SCALE};
    o.before = r.sysctl;
    o.original.has[KNOB_FRACTION] = true;
    o.after = r.sysctl;
    o.after.value[KNOB_FRACTION] = r.plan.values.value[KNOB_FRACTION];
    r.sysctl = r.s.knobs = o.after;
    r.original = o.original;
    engine_outcome(r.engine, &r.params, &o, r.now);
    r.now += SECOND;
    r.auto_carry_out = true;
    assert_int_equal(rig_look(&r), PLAN_RESTORE);
    rig_freed(&r, 10000);
    rig_pass(&r, 2 * SECOND);
    assert_int_equal(r.acted.action, PLAN_SET);
    assert_int_equal(r.acted.why.writes_left, left - 2);
}

/* What vmstat once showed is not believed for ever: not when it is lost, and not when taskstats was
 * there in between. */
static void test_signals_lost(void **state)
{
    (void)state;
    r.s.signals[SIGNAL_TASKSTATS] = false;
    rig_look(&r);
    r.now += 20 * MS;
    rig_freed(&r, 200);
    rig_look(&r);
    assert_int_equal(r.sets, 1);
    r.s.signals[SIGNAL_VMSTAT] = false;
    r.now += 20 * MS;
    rig_step(&r);
    rig_pass(&r, 2 * SECOND);
    assert_int_equal(r.restores, 1);
    assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);
    assert_int_equal(r.plan.wake_at, UINT64_MAX);

    r.s.signals[SIGNAL_VMSTAT] = true;
    rig_freed(&r, 200);
    r.now += 20 * MS;
    rig_look(&r);
    r.s.signals[SIGNAL_TASKSTATS] = true;
    rig_look(&r);
    rig_pass(&r, 20 * SECOND);
    r.s.signals[SIGNAL_TASKSTATS] = false;
    assert_int_equal(rig_step(&r), PLAN_NONE);
    assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);
}

/* Shorter again after longer: not within the dwell time, and right after it without a message. */
static void test_no_flapping(void **state)
{
    (void)state;
    r.params.target_wait = 150 * US;
    rig_exits(&r, 0, 64, 2048, 600000, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    rig_pass(&r, 2 * MS);
    rig_freed(&r, 2000);
    rig_pass(&r, 20 * MS);
    rig_gone(&r, 0, 54, 0);
    rig_look(&r);
    rig_pass(&r, 1100 * MS);
    assert_int_equal(r.acted.reason, REASON_STORM_SHRANK);
    assert_int_equal(r.sets, 2);
    rig_exits(&r, 0, 90, 2048, 600000, 0);
    assert_int_equal(rig_step(&r), PLAN_NONE);
    rig_pass(&r, 800 * MS);
    assert_int_equal(r.sets, 2);
    rig_pass(&r, 300 * MS);
    assert_int_equal(r.sets, 3);
    assert_int_equal(r.acted.reason, REASON_STORM_GREW);
}

/* A storm that was small for a moment and then outgrows its plan, which cannot be changed: nobody
 * is woken for the moment that is over. */
static void test_small_no_more(void **state)
{
    (void)state;
    r.params.target_wait = 2000 * US;
    rig_exits(&r, 0, 64, 2048, 600000, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    rig_pass(&r, 2 * MS);
    rig_freed(&r, 2000);
    rig_pass(&r, 20 * MS);
    rig_gone(&r, 0, 54, 0);
    rig_look(&r);
    r.params.writes_per_hour = 2;
    rig_exits(&r, 0, 190, 2048, 600000, 0);
    rig_look(&r);
    assert_in_range(rig_pass(&r, 2 * SECOND), 0, 10);
    assert_int_equal(r.sets, 1);
}

/* What is lost to somebody else in a storm, and tuned again, is not ours in between. */
static void test_reassert_in_a_storm(void **state)
{
    (void)state;
    r.params.on_foreign = FOREIGN_REASSERT;
    r.params.target_wait = 400 * US;
    rig_exits(&r, 0, 18, 1024, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    assert_int_equal(engine_get_state(r.engine), ENGINE_TUNED);
    r.auto_carry_out = false;
    rig_exits(&r, 0, 200, 1024, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    r.sysctl.value[KNOB_FRACTION] = 2000000; /* as short as we want them: nothing to reassert */
    r.original = (struct knob_values){0};
    answer_set(OUTCOME_FOREIGN, KNOB_FRACTION);
    assert_int_equal(rig_step(&r), PLAN_NONE);
    assert_int_equal(engine_get_state(r.engine), ENGINE_WATCH);
}

/* A failure long ago does not make the next one's repetition late. Why the originals go back is
 * said when they do. */
static void test_retries_start_anew(void **state)
{
    (void)state;
    r.answer = OUTCOME_FAILED;
    rig_exits(&r, 0, 9, 256, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    r.answer = OUTCOME_DONE;
    rig_pass(&r, 2 * MS);
    rig_freed(&r, 500);
    rig_pass(&r, 1100 * MS);
    assert_int_equal(r.sets, 1);
    rig_gone(&r, 0, 9, 0);
    rig_look(&r);
    r.answer = OUTCOME_FAILED;
    rig_pass(&r, 1050 * MS);
    r.answer = OUTCOME_DONE;
    rig_pass(&r, 1000 * MS);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.acted.reason, REASON_CALM);
}

/* After a false alarm time alone is no proof, memory that goes is. */
static void test_doubt_stays(void **state)
{
    (void)state;
    rig_exits(&r, 0, 9, 512, -1, 0);
    rig_step(&r);
    rig_pass(&r, 5 * SECOND);
    assert_int_equal(r.sets, 1);
    assert_int_equal(r.restores, 1);
    assert_int_equal(engine_get_state(r.engine), ENGINE_WATCH);
    rig_exits(&r, 0, 1, 512, -1, 0); /* looked at closely again */
    rig_step(&r);
    rig_freed(&r, 100);
    rig_pass(&r, 20 * MS);
    assert_int_equal(r.sets, 2);
}

/* As much new memory as is freed: what was freed tells, not what is left. */
static void test_freeing_behind_new_memory(void **state)
{
    (void)state;
    rig_exits(&r, 0, 2, 256, -1, 0);
    rig_step(&r);
    rig_pass(&r, 2 * MS);
    r.truth.pgfree += UINT64_C(200) * PAGES_PER_MIB;
    r.truth.nr_anon += UINT64_C(100) * PAGES_PER_MIB;
    rig_pass(&r, 50 * MS);
    assert_int_equal(r.restores, 0);
}

/* The line about what is left alone comes again when it got worse, and after an hour. */
static void test_told_again(void **state)
{
    (void)state;
    static const struct {
        uint64_t pause;
        uint32_t tasks;
        bool report;
    } table[] = {
        {SECOND, 1, true},  {SECOND, 1, false},       {SECOND, 2, true},
        {SECOND, 1, false}, {3700 * SECOND, 1, true},
    };

    r.params.target_wait = 100 * US;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        rig_pass(&r, table[i].pause);
        rig_exits(&r, 0, table[i].tasks, 512, -1, 0);
        rig_look(&r);
        r.now += 100 * MS;
        rig_freed(&r, 512);
        rig_gone(&r, 0, table[i].tasks, 0);
        rig_look(&r);
        rig_pass(&r, 1100 * MS);
        assert_int_equal(r.plan.reason, REASON_WITHIN_TARGET);
        if (r.plan.report != table[i].report)
            fail_msg("storm %zu: report %d", i, r.plan.report);
        rig_forget(&r);
    }
}

/* A value found at start is the original where the configuration says so. */
static void test_pinned_is_tuned(void **state)
{
    (void)state;
    r.params.on_pinned = PINNED_TUNE;
    r.sysctl.value[KNOB_FRACTION] = 512;
    r.s.knobs = r.sysctl;
    engine_found(r.engine, &r.sysctl);
    rig_exits(&r, 0, 9, 256, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    assert_int_equal(r.original.value[KNOB_FRACTION], 512);
    r.params.mode = MODE_OFF;
    assert_int_equal(rig_step(&r), PLAN_RESTORE);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 512);
}

/* No message for a while: the storm holds, and goes on when the next one comes. */
static void test_hold_and_on(void **state)
{
    (void)state;
    rig_exits(&r, 0, 2, 256, -1, 0);
    rig_step(&r);
    rig_pass(&r, 2 * MS);
    rig_freed(&r, 500);
    rig_gone(&r, 0, 2, 0);
    rig_look(&r);
    rig_pass(&r, 900 * MS);
    assert_int_equal(engine_get_state(r.engine), ENGINE_HOLD);
    rig_exits(&r, 0, 2, 256, -1, 0);
    rig_step(&r);
    assert_int_equal(engine_get_state(r.engine), ENGINE_TUNED);
    rig_pass(&r, 500 * MS);
    assert_int_equal(r.restores, 0);
    rig_gone(&r, 0, 2, 0);
    rig_look(&r);
    rig_pass(&r, 1100 * MS);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.sets, 1);
}

/* Gone for good: as refused. */
static void test_gone(void **state)
{
    (void)state;
    r.answer = OUTCOME_GONE;
    rig_exits(&r, 0, 9, 256, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    assert_int_equal(engine_get_state(r.engine), ENGINE_REFUSED);
}

/* Tasks that hang in their exit and free nothing are looked at ever more rarely. */
static void test_hanging_exits(void **state)
{
    (void)state;
    rig_exits(&r, 0, 9, 512, -1, 0);
    rig_step(&r);
    assert_in_range(rig_pass(&r, 60 * SECOND), 10, 200);
    assert_int_equal(r.restores, 1);
    rig_freed(&r, 100);
    rig_pass(&r, 8 * SECOND);
    assert_int_equal(r.sets, 2);
}

/* Time gives back what was yielded, not what was refused. */
static void test_refused_for_good(void **state)
{
    (void)state;
    r.params.target_wait = 50 * US;
    r.params.knob_lo[KNOB_SCALE] = 3;
    rig_exits(&r, 0, 18, 1024, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    r.params.mode = MODE_OFF;
    r.auto_carry_out = false;
    assert_int_equal(rig_step(&r), PLAN_RESTORE);
    struct outcome o = {.action = PLAN_RESTORE, .kind = OUTCOME_REFUSED, .knob = KNOB_SCALE};
    o.original = r.original;
    o.original.has[KNOB_FRACTION] = false;
    r.sysctl.value[KNOB_FRACTION] = 10;
    o.before = o.after = r.s.knobs = r.sysctl;
    engine_outcome(r.engine, &r.params, &o, r.now);
    r.now += 2 * r.params.rearm_after;
    rig_look(&r);
    assert_int_equal(engine_get_state(r.engine), ENGINE_REFUSED);
    engine_rearm(r.engine);
    assert_int_not_equal(engine_get_state(r.engine), ENGINE_REFUSED);
    assert_int_not_equal(engine_get_state(r.engine), ENGINE_YIELDED);
}

/* Sentences carry their numbers. */
static void test_words(void **state)
{
    (void)state;
    char buf[512];

    rig_exits(&r, 0, 1, 256, 2304, 0);
    rig_step(&r);
    assert_string_equal(
        plan_describe(&r.plan, buf, sizeof(buf)),
        "1 task in flight (1 in this storm, most of docker 000000000000), 65536 pages: "
        "W = 1 x 20ns x 2016 = 40us > 20us; b 2016 -> 500 makes it 20us for 2 tasks, at 0.28% of "
        "throughput");
    for (size_t size = 0; size < sizeof(buf); size++)
        plan_describe(&r.plan, buf, size ? size : 1);
    for (unsigned i = 0; i < REASON_MAX; i++)
        assert_string_not_equal(reason_name((enum reason)i), "unknown");
    for (unsigned i = 0; i < ENGINE_STATES; i++)
        assert_string_not_equal(engine_state_name((enum engine_state)i), "unknown");
}

#define TEST(f, start) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_storm, start_small),
        TEST(test_growth, start_big),
        TEST(test_worth_more, start_r6),
        TEST(test_fewer_cpus, start_big),
        TEST(test_shrink, start_big),
        cmocka_unit_test(test_left_alone),
        TEST(test_false_alarm, start_small),
        TEST(test_no_turn_yet, start_small),
        TEST(test_doubt_time, start_small),
        TEST(test_bounded_by_cgroup, start_small),
        TEST(test_past_peaks, start_small),
        TEST(test_past_peaks_again, start_small),
        cmocka_unit_test(test_lists_since),
        TEST(test_late_base, start_small),
        TEST(test_storm_under_pressure, start_small),
        TEST(test_group_that_stays, start_small),
        TEST(test_foreign, start_small),
        TEST(test_pinned_meanwhile, start_small),
        TEST(test_refused, start_small),
        TEST(test_restore_is_repeated, start_small),
        TEST(test_budget, start_small),
        TEST(test_off, start_small),
        TEST(test_vmstat_alone, start_small),
        TEST(test_one_action_at_a_time, start_small),
        TEST(test_endless, start_small),
        TEST(test_endless_giant, start_big),
        TEST(test_off_is_asleep, start_small),
        TEST(test_yield_is_whole, start_r6),
        TEST(test_pin_ends, start_small),
        TEST(test_pins_are_apart, start_r6),
        TEST(test_half_foreign, start_r6),
        TEST(test_foreign_behind_a_failure, start_r6),
        TEST(test_reassert, start_small),
        TEST(test_budget_of_two_knobs, start_r6),
        TEST(test_budget_of_failures, start_r6),
        TEST(test_signals_lost, start_small),
        TEST(test_no_flapping, start_big),
        TEST(test_small_no_more, start_big),
        TEST(test_reassert_in_a_storm, start_big),
        TEST(test_retries_start_anew, start_small),
        TEST(test_doubt_stays, start_small),
        TEST(test_freeing_behind_new_memory, start_small),
        TEST(test_told_again, start_small),
        TEST(test_pinned_is_tuned, start_small),
        TEST(test_hold_and_on, start_small),
        TEST(test_gone, start_small),
        TEST(test_hanging_exits, start_small),
        TEST(test_refused_for_good, start_r6),
        TEST(test_words, start_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
