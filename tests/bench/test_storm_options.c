/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "storm_options.h"

#define MAX_ARGS 8
#define Q (UINT64_C(256) << 20) /* the default --size */
#define M (UINT64_C(1) << 20)
#define G (UINT64_C(1) << 30)

static int parse(const char *const *args, struct storm_options *ret)
{
    char *argv[MAX_ARGS + 2] = {(char *)"pcpbench storm"};
    int argc = 1;

    for (; args[argc - 1]; argc++)
        argv[argc] = (char *)args[argc - 1];
    return storm_options_parse(argc, argv, ret);
}

static void test_defaults(void **state)
{
    (void)state;
    struct storm_options o;

    assert_int_equal(parse((const char *[]){NULL}, &o), 0);
    assert_int_equal(o.tasks, 9);
    assert_int_equal(o.size, 256 * M);
    assert_int_equal(o.threads, 1);
    assert_int_equal(o.keep, 5 * M);
    assert_int_equal(o.repeat, 1);
    assert_int_equal(o.pause, NSEC_PER_SEC);
    assert_int_equal(o.stagger, 0);
    assert_int_equal(o.thread_churn, 0);
    assert_int_equal(o.how, STORM_KILL);
    assert_int_equal(o.memory, STORM_PRIVATE);
    assert_int_equal(o.bystander.place, BYSTANDER_SHARED);
    assert_int_equal(o.bystander.size, 64 * M);
    assert_null(o.cgroup);
    assert_false(o.thp || o.json || o.bystander.fifo);
}

static void test_values(void **state)
{
    (void)state;
    struct storm_options o;

    assert_int_equal(parse((const char *[]){"--tasks=18", "--size=6G", "--stagger=250us", "--thp",
                                            "--cgroup=/a/b", "--bystander=cpu:7", NULL},
                           &o),
                     0);
    assert_int_equal(o.tasks, 18);
    assert_int_equal(o.size, 6 * G);
    assert_int_equal(o.stagger, 250 * NSEC_PER_USEC);
    assert_true(o.thp);
    assert_string_equal(o.cgroup, "/a/b");
    assert_int_equal(o.bystander.place, BYSTANDER_CPU);
    assert_int_equal(o.bystander.cpu, 7);

    assert_int_equal(
        parse((const char *[]){"--memory", "peak", "--keep", "1", "--how", "exit", "--json", NULL},
              &o),
        0);
    assert_int_equal(o.memory, STORM_PEAK);
    assert_int_equal(o.keep, sysconf(_SC_PAGESIZE)); /* rounded up to pages */
    assert_int_equal(o.how, STORM_EXIT);
    assert_true(o.json);

    assert_int_equal(parse((const char *[]){"--thread-churn=1000", "--bystander=none", NULL}, &o),
                     0);
    assert_int_equal(o.tasks, 1);
}

static void test_refusals(void **state)
{
    (void)state;
    static const char *const table[][MAX_ARGS] = {
        {"--nonsense"},
        {"-t"},
        {"extra"},
        {"--tasks"},
        {"--tasks="},
        {"--tasks=0"},
        {"--tasks=-1"},
        {"--tasks=+1"},
        {"--tasks= 1"},
        {"--tasks=1 "},
        {"--tasks=0x10"},
        {"--tasks=9x"},
        {"--tasks=18446744073709551616"},
        {"--size=0"},
        {"--size=M"},
        {"--size=1Q"},
        {"--size=-5M"},
        {"--size=18446744073709551615"},
        {"--size=99999999999T"},
        {"--threads=0"},
        {"--repeat=0"},
        {"--busy=many"},
        {"--stagger=5"},
        {"--stagger=-5ms"},
        {"--pause=200h"},
        {"--how=maybe"},
        {"--how="},
        {"--memory=Shared"},
        {"--memory=shared "},
        {"--keep=5M"},
        {"--keep=1G", "--memory=peak"},
        {"--bystander=cpu"},
        {"--bystander=cpu:"},
        {"--bystander=cpu:x"},
        {"--bystander=cpu:-1"},
        {"--bystander=cpu:4294967296"},
        {"--bystander=everywhere"},
        {"--bystander=none", "--bystander-fifo"},
        {"--bystander=none", "--bystander-size=1M"},
        {"--cgroup="},
        {"--thread-churn=5", "--tasks=2"},
        {"--thread-churn=5", "--stagger=1ms"},
        {"--thp=yes"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct storm_options o = {.tasks = 12345};
        if (parse(table[i], &o) != -EINVAL || o.tasks != 12345)
            fail_msg("accepted, or touched the result: %s %s", table[i][0],
                     table[i][1] ? table[i][1] : "");
    }
}

static void test_fits(void **state)
{
    (void)state;
    /* The bystander takes its buffers, 64M, and a margin of 5 % of the total. */
    static const struct {
        const char *args[MAX_ARGS];
        uint64_t total;
        uint64_t available;
        bool fits;
    } table[] = {
        {{"--bystander=none"}, 4 * G, 4 * G, true},
        {{"--bystander=none"}, 4 * G, 9 * Q + 4 * G / 20, true},
        {{"--bystander=none"}, 4 * G, 9 * Q + 4 * G / 20 - 1, false},
        {{"--bystander=shared"}, 4 * G, 9 * Q + 4 * G / 20 + 64 * M, false},
        {{"--bystander=shared"}, 4 * G, 9 * Q + 4 * G / 20 + 128 * M, true},
        {{"--bystander=none", "--memory=peak"}, 4 * G, 2 * G, false},
        {{"--bystander=none", "--memory=shared"}, 4 * G, 1 * G, true},
        {{"--bystander=none", "--size=1K", "--tasks=1"}, 64 * M, 64 * M, false},
        {{"--bystander=none", "--size=1K", "--tasks=8192"}, 64 * G, 64 * G, true},
        {{"--bystander=none", "--size=1K", "--tasks=8193"}, 64 * G, 64 * G, false},
        {{"--size=1K", "--tasks=4096", "--threads=3"}, 64 * G, 64 * G, false},
        {{"--size=1K", "--tasks=4294967296", "--threads=4294967296"}, 64 * G, 64 * G, false},
        {{"--busy=8193", "--size=1K"}, 64 * G, 64 * G, false},
        {{"--size=8388607T", "--tasks=4096"}, 64 * G, 64 * G, false},
        {{"--bystander-size=8388607T", "--tasks=1", "--size=8388607T"}, 64 * G, 64 * G, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct storm_options o;
        char why[160] = "";
        assert_int_equal(parse(table[i].args, &o), 0);
        int r = storm_fits(&o, table[i].total, table[i].available, why, sizeof(why));
        if (r != (table[i].fits ? 0 : -E2BIG) || (why[0] == '\0') != table[i].fits)
            fail_msg("row %zu: %d, \"%s\"", i, r, why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
