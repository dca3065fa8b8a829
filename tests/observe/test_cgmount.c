/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgmount.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define V1(root, point) "35 31 0:32 " root " " point " rw,relatime shared:9 - cgroup cgroup "
#define V2(root, point) "41 31 0:38 " root " " point " rw,nosuid - cgroup2 cgroup2 rw\n"
#define POINT "/sys/fs/cgroup/memory"

static void test_mountinfo(void **state)
{
    static const struct {
        const char *line, *memory, *unified;
    } cases[] = {
        {V2("/", "/sys/fs/cgroup"), "", "/sys/fs/cgroup"},
        {V2("/", "/sys/fs/cgroup/unified"), "", "/sys/fs/cgroup/unified"},
        {V1("/", POINT) "rw,memory\n", POINT, ""},
        {V1("/", POINT) "rw,cpu,memory,cpuset", POINT, ""},
        {V1("/", POINT) "memory,rw", POINT, ""},
        {V1("/", POINT) "rw,name=memory\n", "", ""},
        {V1("/", POINT) "rw,memoryx\n", "", ""},
        {V1("/", POINT) "rw,cpuset\n", "", ""},
        {"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755,memory\n", "", ""},
        {"1 2 3:4 / / rw master:1 propagate_from:2 - cgroup2 none rw", "", "/"},
        {V2("/", "/mnt/my\\040cgroups"), "", ""},
        {"41 31 0:38 / /sys/fs/cgroup rw cgroup2 cgroup2 rw", "", ""},
        {"41 - cgroup2 cgroup2 rw", "", ""},
        {" - ", "", ""},
        {"", "", ""},
        {"41 31 0:38 / /p rw - cgroup2", "", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cgroup_mounts m = {0};
        cgroup_mounts_line(cases[i].line, &m);
        assert_string_equal(m.memory.point, cases[i].memory);
        assert_string_equal(m.unified.point, cases[i].unified);
    }
}

static void test_first_mount_counts(void **state)
{
    struct cgroup_mounts m = {0};

    (void)state;
    cgroup_mounts_line(V2("/", "/a"), &m);
    cgroup_mounts_line(V2("/x", "/b"), &m);
    assert_string_equal(m.unified.point, "/a");
    assert_string_equal(m.unified.root, "/");
}

static void test_long_paths(void **state)
{
    struct cgroup_mounts m = {0};
    char line[1024], path[400];

    (void)state;
    for (size_t len = 250; len < sizeof(path); len++) {
        memset(path, 'a', len);
        path[0] = '/';
        path[len] = '\0';
        m = (struct cgroup_mounts){0};
        snprintf(line, sizeof(line), "1 2 3:4 / %s rw - cgroup2 cgroup2 rw", path);
        cgroup_mounts_line(line, &m);
        assert_string_equal(m.unified.point, len < 255 ? path : ""); /* whole or not at all */
    }
}

static void test_own_mountinfo(void **state)
{
    struct cgroup_mounts m;

    (void)state;
    assert_int_equal(cgroup_mounts_read(&m), 0);
    assert_true(m.unified.point[0] == '\0' || m.unified.point[0] == '/');
}

static void test_naming_path(void **state)
{
    static const struct {
        struct cgroup_paths p;
        const char *cpuset, *expect;
    } cases[] = {
        {{.unified = "/system.slice/a.service"}, "", "/system.slice/a.service"},
        {{.unified = "/"}, "", "/"},
        {{.unified = ""}, "", "/"},
        {{.memory = "/", .unified = "/u"}, "/c", "/u"},
        {{.memory = "/", .unified = "/", .named = "/n"}, "/docker/c", "/docker/c"},
        {{.memory = "/", .unified = "/", .named = "/n"}, "/", "/n"},
        {{.memory = "/m", .unified = "/", .named = "/n"}, "/c", "/m"},
        {{.memory = "/", .named = "/"}, "/", "/"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_string_equal(cgroup_naming_path(&cases[i].p, cases[i].cpuset), cases[i].expect);
}

static void test_memory_stat(void **state)
{
    static const struct {
        const char *name;
        struct cgroup_mount memory, unified;
        struct cgroup_paths p;
        const char *path, *expect; /* NULL: -ENOENT */
    } cases[] = {
        {"v2", {"", ""}, {"/", "/c"}, {.unified = "/a/b"}, "/a/b", "/c/a/b/memory.stat"},
        {"v2, root", {"", ""}, {"/", "/c"}, {.unified = "/"}, "/", "/c/memory.stat"},
        {"v2, not mounted", {"", ""}, {"", ""}, {.unified = "/a"}, "/a", NULL},
        {"v2, subtree", {"", ""}, {"/a", "/c"}, {.unified = "/a/b"}, "/a/b", "/c/b/memory.stat"},
        {"v2, subtree itself", {"", ""}, {"/a", "/c"}, {.unified = "/a"}, "/a", "/c/memory.stat"},
        {"v2, beside the subtree", {"", ""}, {"/a", "/c"}, {.unified = "/ab"}, "/ab", NULL},
        {"cgroup namespace", {"", ""}, {"/", "/c"}, {.unified = "/../x"}, "/../x", NULL},
        {"cgroup namespace, mount", {"", ""}, {"/..", "/c"}, {.unified = "/../x"}, "/../x", NULL},
        {"v1", {"/", "/m"}, {"", ""}, {.memory = "/a"}, "/a", "/m/a/memory.stat"},
        {"v1, exiting, root", {"/", "/m"}, {"", ""}, {.memory = "/"}, "/", NULL},
        {"v1, by cpuset", {"/", "/m"}, {"", ""}, {.memory = "/"}, "/d/c", "/m/d/c/memory.stat"},
        {"hybrid",
         {"/", "/m"},
         {"/", "/u"},
         {.memory = "/", .unified = "/s"},
         "/s",
         "/m/s/memory.stat"},
        {"v1, not mounted", {"", ""}, {"/", "/u"}, {.memory = "/a", .unified = "/a"}, "/a", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct cgroup_mounts m = {cases[i].memory, cases[i].unified};
        char buf[64] = "";
        int r = cgroup_memory_stat(&m, &cases[i].p, cases[i].path, buf, sizeof(buf));
        if (r != (cases[i].expect ? 0 : -ENOENT))
            fail_msg("%s: %d", cases[i].name, r);
        if (cases[i].expect)
            assert_string_equal(buf, cases[i].expect);
    }
    const struct cgroup_mounts m = {.unified = {"/", "/c"}};
    char tiny[8];
    assert_int_equal(
        cgroup_memory_stat(&m, &(struct cgroup_paths){.unified = "/a"}, "/a", tiny, sizeof(tiny)),
        -ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mountinfo),   cmocka_unit_test(test_first_mount_counts),
        cmocka_unit_test(test_long_paths),  cmocka_unit_test(test_own_mountinfo),
        cmocka_unit_test(test_naming_path), cmocka_unit_test(test_memory_stat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
