/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "cgroup.h"
#include "proc.h"

static void test_proc_field(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int r;
        uint64_t value;
    } table[] = {
        {"Rss: 5 kB\n", 0, 5120},
        {"Threads:\t17\n", 0, 17}, /* key differs, see below */
        {"Pss:  1 kB\nRss:              1728 kB\nRssx: 9 kB\n", 0, UINT64_C(1728) * 1024},
        {"Rss: 18446744073709551615 kB\n", -ERANGE, 0},
        {"Rss: 18446744073709551616\n", -ERANGE, 0},
        {"Rss: 18446744073709551615", 0, UINT64_MAX},
        {"Rss:", -EBADMSG, 0},
        {"Rss: -5 kB\n", -EBADMSG, 0},
        {"Rss: kB\nRss: 3 kB\n", -EBADMSG, 0},
        {"", -ENOENT, 0},
        {"\n\n", -ENOENT, 0},
        {"XRss: 5 kB\n Rss: 5 kB\nRss 5 kB\n", -ENOENT, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        uint64_t value = 0;
        const char *key = strncmp(table[i].text, "Threads", 7) == 0 ? "Threads" : "Rss";
        assert_int_equal(proc_field(table[i].text, key, &value), table[i].r);
        assert_int_equal(value, table[i].value);
    }
}

static void test_usage_of_myself(void **state)
{
    (void)state;
    struct proc_usage u;

    assert_int_equal(proc_usage(getpid(), &u), 0);
    assert_true(u.rss > 0 && u.anon > 0 && u.anon <= u.rss && u.peak > 0);
    assert_true(u.threads >= 1);
    assert_true(proc_usage(-1, &u) < 0);
}

static void test_own_path(void **state)
{
    (void)state;
#define HYBRID "9:name=systemd:/s\n4:cpu,memory:/m/x:y\n3:memoryless:/wrong\n0::/u\n"
    static const struct {
        const char *text;
        int version;
        int r;
        const char *path;
    } table[] = {
        {HYBRID, 1, 0, "/m/x:y"},
        {HYBRID, 2, 0, "/u"},
        {"0::/user.slice", 2, 0, "/user.slice"},
        {"0::/\n", 1, -ENOENT, ""},
        {"3:memoryless:/a\n2:xmemory,memory2:/b\n", 1, -ENOENT, ""},
        {"memory\n:\n4\n4:memory\n", 1, -ENOENT, ""},
        {"4:memory:\n", 1, 0, ""},
        {"", 2, -ENOENT, ""},
        {"0::/0123456789abcdef\n", 2, -ENAMETOOLONG, ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        char path[16] = "";
        assert_int_equal(cgroup_own_path(table[i].text, table[i].version, path, sizeof(path)),
                         table[i].r);
        assert_string_equal(path, table[i].path);
    }
}

static void test_names_that_are_refused(void **state)
{
    (void)state;
    static const char *const table[] = {"", "/", "a/", "..", "../x", "a/../b", "/a/.."};

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct cgroup *c = NULL;
        assert_int_equal(cgroup_new(table[i], &c), -EINVAL);
        assert_null(c);
    }
    assert_int_equal(cgroup_free(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proc_field),
        cmocka_unit_test(test_usage_of_myself),
        cmocka_unit_test(test_own_path),
        cmocka_unit_test(test_names_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
