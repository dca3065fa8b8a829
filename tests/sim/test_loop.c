/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <glob.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "state.h"
#include "view.h"

#define SCENARIOS TEST_DATA "/../src/sim/scenarios/"

static struct sim *begin(struct scenario *s, const char *file)
{
    char error[SCENARIO_ERROR], path[512];
    struct sim *sim;

    snprintf(path, sizeof(path), SCENARIOS "%s.ini", file);
    scenario_init(s);
    if (scenario_load(path, s, error) < 0 || scenario_check(s, error) < 0)
        fail_msg("%s", error);
    assert_int_equal(sim_new(s, &sim), 0);
    return sim;
}

static struct sim *run(struct scenario *s, const char *file)
{
    struct sim *sim = begin(s, file);

    sim_run(sim);
    return sim;
}

/* What the daemon must do whatever it thinks: act or not, and leave the knob as it belongs. */
static void test_knob_is_left_as_it_belongs(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        bool acts;
        int fraction; /* at the end */
    } table[] = {
        {"closed-a", true, 0},      {"closed-a-loops", true, 0},   {"closed-g", false, 0},
        {"storm-overlap", true, 0}, {"storm-grow", true, 0},       {"numa", true, 0},
        {"vmstat-only", true, 0},   {"noise-shared", false, 0},    {"signal-lost", false, 0},
        {"noise-loops", false, 0},  {"foreign-write", true, 1000}, {"hotplug", true, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct scenario s;
        struct sim *sim = run(&s, table[i].file);
        if (sim->knobs.value[KNOB_FRACTION] != table[i].fraction)
            fail_msg("%s: fraction is %d at the end", table[i].file,
                     sim->knobs.value[KNOB_FRACTION]);
        if ((sim->result.knob_writes > 0) != table[i].acts)
            fail_msg("%s: %d writes", table[i].file, (int)sim->result.knob_writes);
        sim_free(sim);
    }
}

static nsec_t p99(const struct sim *sim)
{
    return waits_quantile(&sim->result.wait_storm, 0.99);
}

/* The product: on the machine of the published case bystanders wait a tenth. */
static void test_bystanders_wait_less(void **state)
{
    (void)state;
    struct scenario s, t;
    struct sim *with = run(&s, "closed-a");
    char error[SCENARIO_ERROR];
    struct sim *without;

    scenario_init(&t);
    assert_int_equal(scenario_load(SCENARIOS "closed-a.ini", &t, error), 0);
    assert_int_equal(scenario_set(&t, "Policy.Daemon=no", SCENARIOS "x", error), 0);
    assert_int_equal(scenario_check(&t, error), 0);
    assert_int_equal(sim_new(&t, &without), 0);
    sim_run(without);
    assert_true(p99(without) >= 10 * p99(with));
    assert_true(p99(with) <= 2 * s.loop.params.target_wait);
    assert_int_equal(with->result.exit_pages, without->result.exit_pages);
    sim_free(with);
    sim_free(without);
}

/* The write comes as late after the exit as the scenario says. */
static void test_delays(void **state)
{
    (void)state;
    struct scenario s;
    struct sim *sim = run(&s, "closed-a");
    nsec_t first = sim->result.exit_begin;

    assert_true(sim->result.n_decisions > 0);
    assert_true(sim->result.decisions[0].at >= first + s.loop.message_delay);
    for (uint32_t i = 0; i < sim->result.n_samples; i++)
        if (sim->result.samples[i].at <= first)
            assert_int_equal(sim->result.samples[i].fraction, 0);
    sim_free(sim);
}

static uint64_t sum_of_lists(const struct view *v)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < v->table.n_lists; i++)
        sum += v->table.lists[i].count;
    return sum;
}

/* What vmstat says between two readings of zoneinfo is what the lists have grown by. */
static void test_counters_know_the_lists(void **state)
{
    (void)state;
    struct scenario s;
    struct sim *sim = begin(&s, "numa");
    struct view v = {0};

    assert_int_equal(view_init(&v, sim), 0);
    struct vm_counters then = {0};
    uint64_t before = 0;
    for (unsigned i = 0; i < 2; i++) {
        s.run.time = (1 + i) * NSEC_PER_SEC; /* in the midst of the storm, and after it */
        sim_run(sim);
        view_read_zoneinfo(&v, sim);
        assert_memory_equal(&v.s.zones_vm, &v.s.vm, sizeof(v.s.vm));
        if (i == 1) {
            const struct vm_counters *now = &v.s.zones_vm;
            uint64_t grown = (now->pgfree - then.pgfree) - (now->pgalloc - then.pgalloc) -
                             (now->nr_free - then.nr_free);
            assert_int_equal(sum_of_lists(&v) - before, grown);
        }
        then = v.s.zones_vm;
        before = sum_of_lists(&v);
        assert_int_equal(cpu_offline(sim, 200), 0); /* its lists become free pages */
    }
    assert_int_equal(v.table.n_lists, 2 * 255); /* pagesets of online CPUs */
    assert_true(view_update_host(&v, sim));
    assert_false(view_update_host(&v, sim));
    assert_int_equal(v.host.cpus_online, 255);
    assert_int_equal(v.host.node_cpus[1], 127);
    view_done(&v);
    sim_free(sim);
}

/* 50 ms of a window of 500 ms, reported once in it. */
static void test_trigger(void **state)
{
    (void)state;
    struct scenario s;
    struct sim *sim = begin(&s, "hoard");
    struct view v = {0};
    unsigned events = 0;

    assert_int_equal(view_init(&v, sim), 0);
    sim->now = 10 * NSEC_PER_SEC;
    assert_false(view_triggered(&v, sim)); /* the window begins */
    for (unsigned i = 0; i < 40; i++) {
        sim->now += VIEW_POLL;
        sim->memory_some.total += VIEW_POLL / 5;
        events += view_triggered(&v, sim);
    }
    assert_in_range(events, 3, 4); /* in two seconds */
    for (unsigned i = 0; i < 40; i++) {
        sim->now += VIEW_POLL;
        sim->memory_some.total += VIEW_POLL / 20;
        events = view_triggered(&v, sim) && i > 20;
        assert_int_equal(events, 0); /* 5 % is not enough, once the window has forgotten */
    }
    view_done(&v);
    sim_free(sim);
}

static void test_all_scenarios_load(void **state)
{
    (void)state;
    glob_t g;

    assert_int_equal(glob(SCENARIOS "*.ini", 0, NULL, &g), 0);
    assert_true(g.gl_pathc > 15);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        char error[SCENARIO_ERROR];
        struct scenario s;
        scenario_init(&s);
        if (scenario_load(g.gl_pathv[i], &s, error) < 0 || scenario_check(&s, error) < 0)
            fail_msg("%s", error);
        assert_true(s.title[0] != '\0');
    }
    globfree(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_knob_is_left_as_it_belongs),
        cmocka_unit_test(test_bystanders_wait_less),
        cmocka_unit_test(test_delays),
        cmocka_unit_test(test_counters_know_the_lists),
        cmocka_unit_test(test_trigger),
        cmocka_unit_test(test_all_scenarios_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
