/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "scenario.h"

#define WORK "[Workload w]\nKind=exit\n"

static int parse(const char *text, struct scenario *s, char *error)
{
    error[0] = '\0';
    scenario_init(s);
    int r = scenario_parse("dir/t.ini", text, strlen(text), s, error);
    return r < 0 ? r : scenario_check(s, error);
}

static void test_good(void **state)
{
    (void)state;
    static const char text[] =
        "# comment\n[Run]\nTitle=a title; with more\nSeed=18446744073709551615\n"
        "Until=exits\n  # indented\n[Machine]\nCpus=256\nNodes=2\n"
        "FreePageNs=28.7\nFreeFixedNs=518.115\nPageSize=65536\n"
        "[Regime]\nRegime=R6\nScale=0\nFraction=2147483647\n"
        "[Policy]\nDaemon=yes\nTargetWait=50us\n"
        "[Workload a]\nKind=exit\nTasks=18\nSize=6G\n"
        "[Workload b]\nKind=bystander\nInterval=20us\nNode=1\nSize=64K\n"
        "[Write x]\nAt=1s\nKnob=scale\nValue=3\n"
        "[Hotplug y]\nAt=2s\nCpus=64-127\nOnline=no\n[Hotplug z]\nCpu=3\nOnline=yes\n";
    char error[SCENARIO_ERROR];
    struct scenario s;

    if (parse(text, &s, error) < 0)
        fail_msg("%s", error);
    assert_int_equal(s.run.seed, UINT64_MAX);
    assert_true(s.run.to_exits);
    assert_int_equal(s.machine.free_page, 28700);
    assert_int_equal(s.machine.free_fixed, 518115);
    assert_int_equal(s.kernel.regime, REGIME_R6);
    assert_int_equal(s.n_workloads, 2);
    assert_int_equal(s.workloads[0].size, 98304); /* pages of 64 KiB */
    assert_int_equal(s.workloads[1].size, 1);
    assert_true(s.workloads[1].node_is_set && !s.workloads[0].node_is_set);
    assert_int_equal(s.loop.params.target_wait, 50000);
    assert_int_equal(s.writes[0].knob, KNOB_SCALE);
    assert_int_equal(s.writes[0].at, NSEC_PER_SEC);
    assert_int_equal(s.n_hotplugs, 2);
    assert_int_equal(s.hotplugs[0].at, 2 * NSEC_PER_SEC);
    assert_int_equal(s.hotplugs[0].cpus.first, 64);
    assert_int_equal(s.hotplugs[0].cpus.last, 127);
    assert_int_equal(s.hotplugs[1].cpus.last, 3);
    assert_true(s.hotplugs[1].online && !s.hotplugs[0].online);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error; /* its beginning */
    } table[] = {
        {"", "[Workload]: there is none"},
        {"Cpus=1\n", "dir/t.ini:1: []: unknown section"},
        {"[Machine\nCpus=1\n", "dir/t.ini:1: \"[Machine\" is neither [Section] nor Key=Value"},
        {"[Machin]\nCpus=1\n", "dir/t.ini:2: [Machin]: unknown section"},
        {"[Machine x]\nCpus=1\n", "dir/t.ini:2: [Machine x]: unknown section"},
        {"[Workload]\nKind=exit\n", "dir/t.ini:2: [Workload]: unknown section"},
        {"[Machine]\n\n\nCups=1\n", "dir/t.ini:4: [Machine] Cups=: unknown key"},
        {"[Machine]\nCpus=0\n", "dir/t.ini:2: [Machine] Cpus=0: accepted is a number from 1 to"},
        {"[Machine]\nCpus=-1\n", "dir/t.ini:2: [Machine] Cpus=-1: accepted is a number"},
        {"[Machine]\nCpus=18446744073709551616\n", "dir/t.ini:2: [Machine] Cpus=184467"},
        {"[Machine]\nCpus\n", "dir/t.ini:2: \"Cpus\" is neither"},
        {"[Machine]\nFreePageNs=1.2345\n", "dir/t.ini:2: [Machine] FreePageNs=1.2345: accepted is"},
        {"[Machine]\nFreePageNs=.\n", "dir/t.ini:2: [Machine] FreePageNs=.: accepted is"},
        {"[Machine]\nFreePageNs=1.\n", "dir/t.ini:2: [Machine] FreePageNs=1.: accepted is"},
        {"[Machine]\nFreePageNs=1e3\n", "dir/t.ini:2: [Machine] FreePageNs=1e3: accepted is"},
        {"[Machine]\nType=../x\n", "dir/t.ini:2: [Machine] Type=../x: no name"},
        {"[Machine]\nType=none\n", "dir/t.ini:2: [Machine] Type=: dir/machines/none.ini: No such"},
        {"[Regime]\nRegime=R7\n", "dir/t.ini:2: [Regime] Regime=R7: accepted is one of R1 R2"},
        {"[Regime]\nFraction=7\n" WORK, "[Regime] Fraction=: the kernel accepts 0"},
        {"[Regime]\nRegime=R1\nFraction=8\n" WORK, "[Regime] Fraction=: not in R1"},
        {"[Run]\nTime=1\n", "dir/t.ini:2: [Run] Time=1: accepted is a duration"},
        {"[Run]\nTime=1h\nSample=1us\n" WORK, "[Run] Sample=: more than"},
        {"[Machine]\nCpus=3\nNodes=2\n" WORK, "[Machine] Cpus=: no multiple"},
        {"[Machine]\nLowPages=4194304\n" WORK, "[Machine] FreePages= or LowPages="},
        {WORK "FirstCpu=1\n", "[Workload w] FirstCpu= or Node=: not on this machine"},
        {WORK "Node=1\n", "[Workload w] FirstCpu= or Node=: not on this machine"},
        {WORK "Interval=1us\n", "[Workload w] Interval=: an exit has none"},
        {"[Workload w]\nKind=bystander\n", "[Workload w] Interval=: a bystander needs one"},
        {WORK "Pause=1s\n", "[Workload w] Pause=: for a loop only"},
        {"[Machine]\nAllocFixedNs=0\nAllocPageNs=0\nAllocOutsideNs=0\n[Workload w]\nKind=loop\n",
         "[Workload w] Pause=: a loop whose pages cost nothing needs one"},
        {WORK "[Hotplug h]\nCpus=0\n[Hotplug i]\nCpu=1\n", "[Hotplug i] Cpus=: not on this"},
        {WORK "[Hotplug h]\nCpus=2-1\n",
         "dir/t.ini:4: [Hotplug h] Cpus=2-1: accepted is CPUs such"},
        {WORK "[Hotplug h]\nCpus=-1\n", "dir/t.ini:4: [Hotplug h] Cpus=-1: accepted is CPUs"},
        {WORK "[Hotplug h]\nCpus=1-\n", "dir/t.ini:4: [Hotplug h] Cpus=1-: accepted is CPUs"},
        {WORK "[Hotplug h]\nCpus=0-4096\n", "dir/t.ini:4: [Hotplug h] Cpus=0-4096: accepted"},
        {WORK "[Hotplug h]\nCpus=0-18446744073709551616\n", "dir/t.ini:4: [Hotplug h] Cpus=0-18"},
        {WORK "[Hotplug h]\nCpus=1-2-3\n", "dir/t.ini:4: [Hotplug h] Cpus=1-2-3: accepted is"},
        {WORK "[Hotplug h]\nOnline=maybe\n", "dir/t.ini:4: [Hotplug h] Online=maybe: accepted"},
        {WORK "[Hotplug]\nCpu=1\n", "dir/t.ini:4: [Hotplug]: unknown section"},
        {"[Regime]\nRegime=R1\n" WORK "Order=1\n", "[Workload w] Order=: R1 keeps"},
        {WORK "[Write w]\nKnob=scale\nValue=1\n", "[Write w] Knob=scale: only in R6"},
    };
    char error[SCENARIO_ERROR];
    struct scenario s;

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        assert_true(parse(table[i].text, &s, error) < 0);
        if (strncmp(error, table[i].error, strlen(table[i].error)) != 0)
            fail_msg("\"%s\" gives\n\"%s\", not\n\"%s\"", table[i].text, error, table[i].error);
    }
}

static void test_hostile(void **state)
{
    (void)state;
    static char text[5000];
    char error[SCENARIO_ERROR];
    struct scenario s;

    memset(text, 'x', sizeof(text) - 1);
    assert_true(parse(text, &s, error) < 0);
    assert_non_null(strstr(error, "t.ini:1: line of 4999 bytes"));

    scenario_init(&s);
    assert_true(scenario_parse("t.ini", "[Run]\0\nSeed=1", 13, &s, error) < 0);

    /* A path as long as they come leaves room for what is wrong. */
    memset(text, 'd', sizeof(text) - 1);
    assert_true(scenario_parse(text, "[Run]\nX=1\n", 10, &s, error) < 0);
    assert_non_null(strstr(error, "d:2: [Run] X=: unknown key"));

    size_t len = 0;
    for (unsigned i = 0; i <= SCENARIO_WORKLOADS; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "[Workload w%u]\nTasks=1\n", i);
    assert_true(parse(text, &s, error) < 0);
    assert_non_null(strstr(error, "too many"));
}

static void test_set(void **state)
{
    (void)state;
    static const struct {
        const char *assignment;
        int r;
    } table[] = {
        {"Machine.Cpus=7", 0},
        {"w.Tasks=3", 0},
        {"Machine.Cpus=x", -EINVAL},
        {"x.Tasks=3", -EINVAL},
        {"Workload.Tasks=3", -EINVAL},
        {"Machine", -EINVAL},
        {"Write.At=1s", -EINVAL},
        {"Workload w.Tasks=3", -EINVAL},
        {"=.", -EINVAL},
        {".=", -EINVAL},
        {"Machine.Cpus", -EINVAL},
        {"w.Cpus=3", -EINVAL},
    };
    char error[SCENARIO_ERROR];
    struct scenario s;

    assert_int_equal(parse(WORK, &s, error), 0);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (scenario_set(&s, table[i].assignment, "dir/t.ini", error) != table[i].r)
            fail_msg("%s: %s", table[i].assignment, error);
    assert_int_equal(s.machine.cpus, 7);
    assert_int_equal(s.workloads[0].tasks, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
