/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "state.h"

/* Scenarios of which the outcome follows from a line of arithmetic. Costs are in ps. */
static struct scenario plain(enum regime regime, uint32_t cpus)
{
    struct scenario s;

    scenario_init(&s);
    s.machine.cpus = cpus;
    s.machine.managed = UINT64_C(64) << 18;
    s.machine.low = UINT64_C(252) * cpus; /* high at its floor of 4 batches */
    s.machine.free_fixed = UINT64_C(1000000);
    s.machine.free_page = 10000;
    s.machine.free_outside = 0;
    s.kernel.regime = regime;
    s.kernel.filled_is_set = true; /* with nothing */
    s.run.to_exits = true;
    s.n_workloads = 1;
    s.workloads[0] =
        (struct workload){.name = "exits", .kind = WORK_EXIT, .tasks = cpus, .size = 1 << 18};
    return s;
}

static struct sim *run(struct scenario *s)
{
    char error[SCENARIO_ERROR];
    struct sim *sim;

    if (scenario_check(s, error) < 0)
        fail_msg("%s", error);
    assert_int_equal(sim_new(s, &sim), 0);
    sim_run(sim);
    return sim;
}

static uint64_t pages_of(const struct sim *sim)
{
    uint64_t n = 0;

    for (uint32_t k = 0; k < sim->s->machine.nodes; k++) {
        n += sim->zones[k].free;
        for (uint32_t c = 0; c < sim->s->machine.cpus; c++) {
            assert_true(list_of(sim, c, k)->count >= 0);
            n += (uint64_t)list_of(sim, c, k)->count;
        }
    }
    for (uint32_t i = 0; i < sim->n_tasks; i++) {
        const struct task *t = &sim->tasks[i];
        if (t->state == TASK_WAITING || t->state == TASK_HOLDING)
            n += t->alloc ? 0 : (uint64_t)t->want;
        if (t->role == ROLE_USER)
            n += t->freeing ? t->left : t->size - t->left;
    }
    return n - sim->result.reclaimed;
}

/* W = N c b: a saturated lock, no time between holds, the fixed cost beside it. */
static void test_wait_is_n_c_b(void **state)
{
    (void)state;
    static const struct {
        enum regime regime;
        uint32_t tasks, hold;
    } table[] = {{REGIME_R2, 1, 189},
                 {REGIME_R3, 8, 189},
                 {REGIME_R4, 32, 189},
                 {REGIME_R5, 32, 63},
                 {REGIME_R1, 4, 63}};

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct scenario s = plain(table[i].regime, table[i].tasks);
        s.kernel.fraction = table[i].regime == REGIME_R1 ? 0 : INT32_MAX;
        struct sim *sim = run(&s);
        uint64_t w = UINT64_C(1) * table[i].tasks * (1000 + 10 * table[i].hold);
        assert_int_equal(sim->result.max_hold, table[i].hold);
        assert_int_equal(sim->result.free_bulk.max, w);
        assert_true(hist_mean(&sim->result.free_bulk) > 0.99 * (double)w);
        sim_free(sim);
    }
}

/* With z ns a page outside of it a closed queue has N (f + c b) - b z. */
static void test_time_outside(void **state)
{
    (void)state;
    struct scenario s = plain(REGIME_R4, 16);
    s.kernel.fraction = INT32_MAX;
    s.machine.free_outside = 50000;
    struct sim *sim = run(&s);
    double w = 16 * (1000 + 10 * 189) - 189 * 50;
    double mean = hist_mean(&sim->result.free_bulk);
    assert_true(mean > 0.98 * w && mean < 1.02 * w);
    sim_free(sim);
}

/* A lock that nobody else wants is never waited for. */
static void test_alone(void **state)
{
    (void)state;
    struct scenario s = plain(REGIME_R2, 4);
    s.workloads[0].tasks = 1;
    struct sim *sim = run(&s);
    assert_int_equal(sim->result.free_bulk.max, sim->result.hold.max);
    assert_int_equal(sim->result.exit_pages, 1 << 18);
    sim_free(sim);
}

/* Tasks that share a CPU take turns, and so need no more lock than one. */
static void test_shared_cpu(void **state)
{
    (void)state;
    struct scenario s = plain(REGIME_R3, 2);
    s.workloads[0].tasks = 16;
    s.machine.free_outside = 100000;
    struct sim *sim = run(&s);
    assert_int_equal(sim->to_come, 0);
    assert_true(sim->result.free_bulk.max <= UINT64_C(2) * (1000 + 10 * 189));
    sim_free(sim);
}

/* Order-3 frees. R2 and R3: 63 pages at high, then free_factor is 1 and the next block takes the
 * whole list with it. R4: the ninth block comes after 64 pages in a row. */
static void test_high_order(void **state)
{
    (void)state;
    for (enum regime regime = REGIME_R2; regime <= REGIME_R4; regime++) {
        struct scenario s = plain(regime, 1);
        s.workloads[0].order = 3;
        s.machine.low = 20000;
        struct sim *sim = run(&s);
        assert_int_equal(sim->result.max_hold, regime == REGIME_R4 ? 72 : 20000 - 63 + 8);
        sim_free(sim);
    }
}

static struct scenario mixed(enum regime regime)
{
    struct scenario s = plain(regime, 8);

    s.machine.nodes = 2;
    s.machine.jitter = 50;
    s.machine.stat_interval = 10 * NSEC_PER_MSEC;
    s.machine.low = 20000;
    s.machine.free = 60000;
    s.run.to_exits = false;
    s.run.time = NSEC_PER_SEC;
    s.n_workloads = 4;
    s.workloads[0].tasks = 6;
    s.workloads[0].spread = 500 * NSEC_PER_MSEC;
    s.workloads[1] = (struct workload){
        .name = "loops", .kind = WORK_LOOP, .tasks = 5, .size = 20000, .size_spread = 50};
    s.workloads[2] = (struct workload){.name = "bystander",
                                       .kind = WORK_BYSTANDER,
                                       .tasks = 3,
                                       .size = 3000,
                                       .interval = 3 * NSEC_PER_USEC,
                                       .node = 1,
                                       .node_is_set = true};
    s.workloads[3] = (struct workload){.name = "start", .kind = WORK_START, .size = 1 << 17};
    s.n_writes = 2;
    s.writes[0] = (struct write){.at = 200 * NSEC_PER_MSEC, .value = INT32_MAX};
    s.writes[1] = (struct write){.at = 400 * NSEC_PER_MSEC, .value = 0};
    return s;
}

/* No page is lost or made, whatever happens at the same time; kswapd's are counted. */
static void test_pages_are_conserved(void **state)
{
    (void)state;
    for (enum regime regime = REGIME_R1; regime < REGIME_MAX; regime++) {
        char error[SCENARIO_ERROR];
        struct scenario s = mixed(regime);
        struct sim *sim;
        assert_int_equal(scenario_check(&s, error), 0);
        assert_int_equal(sim_new(&s, &sim), 0);
        uint64_t before = pages_of(sim);
        sim_run(sim);
        assert_true(sim->result.reclaimed > 0);
        assert_true(sim->result.bystander_faults > 100000);
        assert_int_equal(pages_of(sim), before);
        sim_free(sim);
    }
}

static void test_repeatable(void **state)
{
    (void)state;
    struct scenario s = mixed(REGIME_R4), t = mixed(REGIME_R4), u = mixed(REGIME_R4);
    u.run.seed = 2;
    struct sim *a = run(&s), *b = run(&t), *c = run(&u);

    assert_memory_equal(a->result.samples, b->result.samples,
                        a->result.n_samples * sizeof(struct sample));
    assert_memory_equal(&a->result.free_bulk, &b->result.free_bulk, sizeof(struct hist));
    assert_memory_equal(&a->result.wait, &b->result.wait, sizeof(struct hist));
    assert_int_equal(a->result.held_ns, b->result.held_ns);
    assert_int_not_equal(a->result.held_ns, c->result.held_ns);
    sim_free(a);
    sim_free(b);
    sim_free(c);
}

/* A write changes high at once, in the middle of runs, and the excess goes with the next frees. */
static void test_write_in_a_run(void **state)
{
    (void)state;
    struct scenario s = plain(REGIME_R4, 1);
    s.machine.free_outside = 100000;
    s.machine.managed = UINT64_C(8) << 20; /* room for the whole exit below high_max */
    s.kernel.filled = 100;
    s.n_writes = 1;
    s.writes[0] = (struct write){.at = NSEC_PER_MSEC, .value = INT32_MAX};
    struct sim *sim = run(&s);
    const struct pcplist *l = list_of(sim, 0, 0);

    assert_int_equal(l->high, 252);
    assert_true(l->count < 252);
    assert_int_equal(sim->result.max_hold, 2016); /* before the write: batch << 5 */
    assert_true(sim->result.freed_pages > (UINT64_C(8) << 20) / 8);
    sim_free(sim);
}

static void test_decay_drains(void **state)
{
    (void)state;
    struct scenario s = plain(REGIME_R4, 2);
    s.machine.managed = UINT64_C(2) << 20;
    s.kernel.filled = 100;
    s.machine.stat_interval = NSEC_PER_MSEC;
    s.run.to_exits = false;
    s.workloads[0].tasks = 1;
    s.workloads[0].size = 1;
    struct sim *sim = run(&s);
    for (uint32_t c = 0; c < 2; c++)
        assert_in_range(list_of(sim, c, 0)->count, 0, 252);
    assert_int_equal(sim->result.max_hold, 2016);
    sim_free(sim);
}

static void test_knobs(void **state)
{
    (void)state;
    struct scenario s = plain(REGIME_R4, 4);
    char error[SCENARIO_ERROR];
    struct sim *sim;
    assert_int_equal(scenario_check(&s, error), 0);
    assert_int_equal(sim_new(&s, &sim), 0);
    assert_int_equal(sim_write_knob(sim, KNOB_FRACTION, 7), -EINVAL);
    assert_int_equal(sim_write_knob(sim, KNOB_SCALE, 0), -EINVAL); /* not this kernel */
    assert_int_equal(sim_write_knob(sim, KNOB_FRACTION, 8), 0);
    const struct pcplist *l = list_of(sim, 3, 0);
    assert_int_equal(l->high_min, (UINT64_C(64) << 18) / 8 / 4);
    assert_int_equal(l->high_max, l->high_min);
    sim_free(sim);
}

/* A CPU counts by the time that it was not idle; what of a stall is to come comes later. */
static void test_pressure(void **state)
{
    (void)state;
    struct scenario s = plain(REGIME_R4, 4);
    struct sim *sim;
    char error[SCENARIO_ERROR];

    assert_int_equal(scenario_check(&s, error), 0);
    assert_int_equal(sim_new(&s, &sim), 0);
    sim->cpus[0].running = 0;
    sim->cpus[1].running = 1;
    sim->cpus[1].runnable.head = 2;
    sim->now = 1000;
    pressure_stall(sim, 0, 1400);
    pressure_stall(sim, 0, 1300); /* no longer than it lasts already */
    sim->now = 1200;
    pressure_collect(sim);
    assert_int_equal(sim->memory_some.total, 200 / 2); /* of two CPUs; the others are idle */
    assert_int_equal(sim->cpu_some.total, 1200 / 2);
    sim->cpus[1].running = NOBODY;
    sim->now = 2200;
    pressure_collect(sim);
    assert_int_equal(sim->memory_some.total, 100 + 200);
    assert_int_equal(sim->cpu_some.total, 600);
    sim_free(sim);
}

/* kswapd is in a memory stall while it runs; its average moves each two seconds. */
static void test_pressure_of_kswapd(void **state)
{
    (void)state;
    struct scenario s = plain(REGIME_R4, 2);
    struct sim *sim;
    char error[SCENARIO_ERROR];

    assert_int_equal(scenario_check(&s, error), 0);
    assert_int_equal(sim_new(&s, &sim), 0);
    sim->zones[0].kernel.reclaim_active = true;
    sim->now = PRESSURE_PERIOD / 2;
    sim->zones[0].reclaim_since = sim->now;
    sim->now = PRESSURE_PERIOD;
    pressure_event(sim);
    assert_int_equal(sim->memory_some.total, PRESSURE_PERIOD / 2);
    assert_in_range((uint64_t)(sim->memory_some.avg10 * 10000), 906, 907); /* (1 - e^-0.2) / 2 */
    sim_free(sim);
}

/* A loop that rests needs its CPU no more: another one has it meanwhile. */
static void test_pause(void **state)
{
    (void)state;
    struct scenario s = plain(REGIME_R4, 1);
    s.run.to_exits = false;
    s.run.time = NSEC_PER_SEC;
    s.workloads[0] = (struct workload){
        .name = "rests", .kind = WORK_LOOP, .tasks = 1, .size = 1000, .pause = 10 * NSEC_PER_MSEC};
    struct sim *sim = run(&s);
    uint64_t alone = sim->result.faults;
    sim_free(sim);
    assert_in_range(alone, 1000 * 80, 1000 * 110); /* a round takes half a ms */

    s.workloads[0].tasks = 4;
    sim = run(&s);
    assert_in_range(sim->result.faults, 35 * alone / 10, 45 * alone / 10);
    sim_free(sim);
}

/* Whatever CPUs do meanwhile, no page is lost or made, and all exits end; what is off is empty. */
static void test_hotplug_conserves(void **state)
{
    (void)state;
    for (enum regime regime = REGIME_R1; regime < REGIME_MAX; regime++) {
        char error[SCENARIO_ERROR];
        struct scenario s = mixed(regime);
        struct sim *sim;
        for (uint32_t i = 0; i < 16; i++) /* the first node altogether, then the second's */
            s.hotplugs[s.n_hotplugs++] =
                (struct hotplug){.at = (50 + i * 40) * NSEC_PER_MSEC,
                                 .cpus = {i < 8 ? 0 : 4, i < 8 ? i % 4 : 4 + i % 4},
                                 .online = i % 4 == 3 || i == 15};
        assert_int_equal(scenario_check(&s, error), 0);
        assert_int_equal(sim_new(&s, &sim), 0);
        uint64_t before = pages_of(sim);
        assert_int_equal(cpu_offline(sim, 1), 0);
        sim_run(sim);
        assert_int_equal(pages_of(sim), before);
        assert_int_equal(sim->exiting, 0);
        assert_true(sim->result.bystander_faults > 100000);
        for (uint32_t c = 0; c < s.machine.cpus; c++)
            for (uint32_t k = 0; k < 2; k++)
                assert_true(sim->cpus[c].online || list_of(sim, c, k)->count == 0);
        sim_free(sim);
    }
}

/* zone_highsize(): by the online CPUs of the node, by all of them where it has none. */
static void test_hotplug_limits(void **state)
{
    (void)state;
    static const struct {
        uint32_t off, high[2]; /* CPUs 0 to off - 1 of 8 on two nodes */
    } table[] = {
        {1, {26666, 20000}}, {3, {80000, 20000}}, {4, {20000, 20000}}, {6, {40000, 40000}}};

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct scenario s = plain(REGIME_R2, 8);
        char error[SCENARIO_ERROR];
        struct sim *sim;
        s.machine.nodes = 2;
        s.machine.low = 80000;
        assert_int_equal(scenario_check(&s, error), 0);
        assert_int_equal(sim_new(&s, &sim), 0);
        for (uint32_t c = 0; c < table[i].off; c++)
            assert_int_equal(cpu_offline(sim, c), 0);
        for (uint32_t k = 0; k < 2; k++)
            assert_int_equal(list_of(sim, 7, k)->high, table[i].high[k]);
        for (uint32_t c = 0; c < table[i].off; c++)
            cpu_online(sim, c);
        assert_int_equal(list_of(sim, 7, 0)->high, 20000);
        sim_free(sim);
    }
}

/* drain_pages() takes the lock by hand, R3 and later in pieces; the last CPU stays. */
static void test_hotplug_drains(void **state)
{
    (void)state;
    for (enum regime regime = REGIME_R2; regime <= REGIME_R5; regime++) {
        struct scenario s = plain(regime, 2);
        s.machine.low = 20000;
        s.kernel.filled = 100;
        s.workloads[0] = (struct workload){
            .name = "late", .kind = WORK_EXIT, .tasks = 1, .size = 1, .start = NSEC_PER_SEC};
        s.n_hotplugs = 1;
        s.hotplugs[0] = (struct hotplug){.at = NSEC_PER_MSEC, .cpus = {0, 1}};
        struct sim *sim = run(&s);
        assert_int_equal(sim->result.max_hold, regime == REGIME_R2 ? 10000 : 2016);
        assert_int_equal(list_of(sim, 0, 0)->count, 0);
        assert_true(!sim->cpus[0].online && sim->cpus[1].online);
        assert_int_equal(cpu_offline(sim, 1), -EBUSY);
        assert_int_equal(sim->tasks[0].cpu, 1);
        sim_free(sim);
    }
}

/* Twenty tasks of one CPU go on on the other one, and come back as it does. */
static void test_hotplug_moves_tasks(void **state)
{
    (void)state;
    struct scenario s = plain(REGIME_R4, 2);
    s.workloads[0].tasks = 20;
    s.machine.free_outside = 100000;
    s.n_hotplugs = 2;
    s.hotplugs[0] = (struct hotplug){.at = 20 * NSEC_PER_MSEC, .cpus = {0, 0}};
    s.hotplugs[1] = (struct hotplug){.at = 40 * NSEC_PER_MSEC, .cpus = {0, 0}, .online = true};
    struct sim *sim = run(&s);
    assert_int_equal(sim->to_come, 0);
    assert_int_equal(sim->result.exit_pages, UINT64_C(20) << 18);
    uint32_t on_first = 0;
    for (uint32_t i = 0; i < 20; i++)
        on_first += sim->tasks[i].cpu == 0;
    assert_int_equal(on_first, 1); /* an idle CPU pulls one task; there is no other balancing */
    sim_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait_is_n_c_b),
        cmocka_unit_test(test_time_outside),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_shared_cpu),
        cmocka_unit_test(test_high_order),
        cmocka_unit_test(test_pages_are_conserved),
        cmocka_unit_test(test_repeatable),
        cmocka_unit_test(test_write_in_a_run),
        cmocka_unit_test(test_decay_drains),
        cmocka_unit_test(test_knobs),
        cmocka_unit_test(test_pressure),
        cmocka_unit_test(test_pressure_of_kswapd),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_hotplug_conserves),
        cmocka_unit_test(test_hotplug_limits),
        cmocka_unit_test(test_hotplug_drains),
        cmocka_unit_test(test_hotplug_moves_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
