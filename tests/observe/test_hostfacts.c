/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <sys/utsname.h>
#include <zlib.h>

#include "fake.h"
#include "fileio.h"
#include "hostfacts.h"
#include "skips.h"

static bool can_fake;

static void need_fake(void)
{
    if (!can_fake)
        skip_for_want("no mount namespace, so no fake kernel files");
}

struct seen {
    unsigned n, first, last;
};

static void note(unsigned cpu, void *arg)
{
    struct seen *s = arg;
    if (s->n++ == 0)
        s->first = cpu;
    s->last = cpu;
}

static void test_cpulist(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int error;
        unsigned count, first, last;
    } table[] = {
        {"", 0, 0, 0, 0},
        {"\n", 0, 0, 0, 0},
        {"0", 0, 1, 0, 0},
        {"0\n", 0, 1, 0, 0},
        {"7", 0, 1, 7, 7},
        {"0-3,8", 0, 5, 0, 8},
        {"0-3,8,10-11\n", 0, 7, 0, 11},
        {"5-5", 0, 1, 5, 5},
        {"0,1,2", 0, 3, 0, 2},
        {"0-8191\n", 0, 8192, 0, 8191},
        {"65535", 0, 1, 65535, 65535},
        {"65536", -EBADMSG, 0, 0, 0},
        {"0-65536", -EBADMSG, 0, 0, 0},
        {"0-4294967295", -EBADMSG, 0, 0, 0},
        {"4294967296", -EBADMSG, 0, 0, 0},
        {"18446744073709551616", -EBADMSG, 0, 0, 0},
        {"3-0", -EBADMSG, 0, 0, 0},
        {"0-3,2", -EBADMSG, 0, 0, 0},
        {"0-3,3-5", -EBADMSG, 0, 0, 0},
        {"4,3", -EBADMSG, 0, 0, 0},
        {"1,1", -EBADMSG, 0, 0, 0},
        {",", -EBADMSG, 0, 0, 0},
        {"0,", -EBADMSG, 0, 0, 0},
        {"0,\n", -EBADMSG, 0, 0, 0},
        {",0", -EBADMSG, 0, 0, 0},
        {"0,,1", -EBADMSG, 0, 0, 0},
        {"-", -EBADMSG, 0, 0, 0},
        {"0-", -EBADMSG, 0, 0, 0},
        {"-3", -EBADMSG, 0, 0, 0},
        {"0-1-2", -EBADMSG, 0, 0, 0},
        {"0 1", -EBADMSG, 0, 0, 0},
        {" 0", -EBADMSG, 0, 0, 0},
        {"+1", -EBADMSG, 0, 0, 0},
        {"0x1", -EBADMSG, 0, 0, 0},
        {"all", -EBADMSG, 0, 0, 0},
        {"0-7:2/4", -EBADMSG, 0, 0, 0},
        {"0\n1", -EBADMSG, 0, 0, 0},
        {"0\n\n", -EBADMSG, 0, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct seen s = {0};
        unsigned count = 4711;
        int r = cpulist_parse(table[i].text, note, &s, &count);
        if (r != table[i].error || count != (r < 0 ? 4711 : table[i].count) ||
            s.n != table[i].count || s.first != table[i].first || s.last != table[i].last)
            fail_msg("'%s': %d, %u CPUs, %u called, %u to %u", table[i].text, r, count, s.n,
                     s.first, s.last);
        assert_int_equal(cpulist_parse(table[i].text, NULL, NULL, &count), table[i].error);
    }
}

/* A kernel configuration of that many lines around one of ours. */
static size_t make_config(char *buf, size_t size, unsigned lines, const char *ours)
{
    size_t n = 0;
    for (unsigned i = 0; i < lines; i++) {
        n += (size_t)snprintf(buf + n, size - n,
                              i % 2 ? "CONFIG_X%u=y\n" : "# CONFIG_X%u is not set\n", i);
        if (i == lines / 2)
            n += (size_t)snprintf(buf + n, size - n, "%s", ours);
    }
    return n;
}

static int config_of(const void *data, size_t len)
{
    char path[256];
    fake_file("config", data, len, path, sizeof(path));
    return config_scale_read(path);
}

static int gz_config_of(const char *text, size_t len, size_t cut)
{
    static char packed[65536];
    char path[256];

    fake_file("config.gz", "", 0, path, sizeof(path));
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, text, (unsigned)len), len);
    assert_int_equal(gzclose(f), Z_OK);
    ssize_t n = read_file(path, packed, sizeof(packed));
    assert_true(n > (ssize_t)cut);
    return config_of(packed, (size_t)n - cut);
}

static void test_config(void **state)
{
    (void)state;
    static const struct {
        const char *ours;
        int scale;
    } table[] = {
        {"CONFIG_PCP_BATCH_SCALE_MAX=5\n", 5},
        {"CONFIG_PCP_BATCH_SCALE_MAX=0\n", 0},
        {"CONFIG_PCP_BATCH_SCALE_MAX=6\n", 6},
        {"", CONFIG_SCALE_ABSENT},
        {"# CONFIG_PCP_BATCH_SCALE_MAX is not set\n", CONFIG_SCALE_ABSENT},
        {"CONFIG_PCP_BATCH_SCALE_MAX=7\n", CONFIG_SCALE_ABSENT},
        {"CONFIG_PCP_BATCH_SCALE_MAX=\n", CONFIG_SCALE_ABSENT},
        {"CONFIG_PCP_BATCH_SCALE_MAX=55\n", CONFIG_SCALE_ABSENT},
        {"CONFIG_PCP_BATCH_SCALE_MAX=-1\n", CONFIG_SCALE_ABSENT},
        {" CONFIG_PCP_BATCH_SCALE_MAX=5\n", CONFIG_SCALE_ABSENT},
    };
    static char text[65536];

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        size_t len = make_config(text, sizeof(text), 400, table[i].ours);
        assert_int_equal(config_of(text, len), table[i].scale);
        assert_int_equal(gz_config_of(text, len, 0), table[i].scale);
        assert_int_equal(gz_config_of(text, len, 1), CONFIG_SCALE_UNREAD); /* cut */
        assert_int_equal(gz_config_of(text, len, 100), CONFIG_SCALE_UNREAD);
    }
}

static void test_config_hostile(void **state)
{
    (void)state;
    static char text[5 << 20];
    size_t len = make_config(text, sizeof(text), 20, "CONFIG_PCP_BATCH_SCALE_MAX=5\n");

    assert_int_equal(config_scale_read("/nonexistent/config"), CONFIG_SCALE_UNREAD);
    assert_int_equal(config_scale_read(fake_dir()), CONFIG_SCALE_UNREAD);
    assert_int_equal(config_of("", 0), CONFIG_SCALE_UNREAD);
    assert_int_equal(config_of(text, len), CONFIG_SCALE_UNREAD); /* too short to be one */
    assert_int_equal(config_of("\x1f\x8b", 2), CONFIG_SCALE_UNREAD);
    assert_int_equal(config_of("\x1f\x8b\x08\x00zzzzzzzzzzzzzzzzzz", 22), CONFIG_SCALE_UNREAD);

    memset(text, 0, sizeof(text));
    assert_int_equal(config_of(text, sizeof(text)), CONFIG_SCALE_UNREAD);
    memset(text, 'C', sizeof(text));
    assert_int_equal(config_of(text, sizeof(text)), CONFIG_SCALE_UNREAD);
    memset(text, '\n', sizeof(text));
    assert_int_equal(config_of(text, sizeof(text)), CONFIG_SCALE_UNREAD);

    /* Longer than any configuration. */
    len = make_config(text, sizeof(text), 200000, "");
    assert_true(len > (4U << 20) && len < sizeof(text) - 1);
    assert_int_equal(config_of(text, len), CONFIG_SCALE_UNREAD);

    /* Ours as a later piece of a long line is no line of its own. */
    len = make_config(text, sizeof(text), 400, "");
    memset(text + len, 'x', 511);
    len += 511;
    len += (size_t)snprintf(text + len, 64, "CONFIG_PCP_BATCH_SCALE_MAX=5\n");
    assert_int_equal(config_of(text, len), CONFIG_SCALE_ABSENT);
}

static void check_sane(const struct host_facts *h)
{
    struct utsname u;
    assert_int_equal(uname(&u), 0);
    assert_string_equal(h->release, u.release);
    assert_true(strlen(h->virt) > 0);
    assert_int_equal(h->page_size, sysconf(_SC_PAGESIZE));
    assert_true(h->memory_bytes > (1U << 20));
    assert_true(h->cpus_online >= 1 && h->cpus_online <= h->cpus_possible);
    assert_true(h->n_nodes >= 1 && h->n_nodes <= HOST_NODES_MAX);
    uint32_t cpus = 0;
    for (uint32_t i = 0; i < h->n_nodes; i++)
        cpus += h->node_cpus[i];
    assert_int_equal(cpus, h->cpus_online);
    assert_int_equal(strlen(h->boot_id), 36);
    assert_true(h->regime > REGIME_UNKNOWN && h->regime < REGIME_MAX);
    assert_true(h->scale <= 6);
}

static void test_this_machine(void **state)
{
    (void)state;
    struct host_facts h, again;
    memset(&h, 0xa5, sizeof(h));

    hostfacts_read(NULL, &h);
    printf("%s, %s%s%s, %u CPUs of %u, %u nodes, %s by %s, scale %u by %s, assumed '%s'\n",
           h.release, h.virt, h.container[0] ? " in " : "", h.container, h.cpus_online,
           h.cpus_possible, h.n_nodes, regime_name(h.regime), evidence_name(h.regime_by), h.scale,
           evidence_name(h.scale_by), h.assumed);
    check_sane(&h);
    hostfacts_read(NULL, &again);
    assert_memory_equal(&h, &again, sizeof(h));
}

/* Two nodes with CPUs, one of memory only, a hole, and then one CPU less. */
static void make_nodes(const char *online, const char *node0)
{
    static const char *const names[] = {"nodes/node1/cpulist", "nodes/node3/cpulist"};
    static const char *const lists[] = {"\n", "4-6\n"};
    char path[256];

    fake_file("nodes/online", online, strlen(online), path, sizeof(path));
    fake_file("nodes/node0/cpulist", node0, strlen(node0), path, sizeof(path));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        fake_file(names[i], lists[i], strlen(lists[i]), path, sizeof(path));
}

static void test_topology(void **state)
{
    (void)state;
    struct host_facts h;
    char nodes[256];
    need_fake();
    if (access("/sys/devices/system/node", F_OK) < 0) {
        printf("SKIP: a kernel without NUMA has no directory to put nodes over\n");
        skip();
    }
    hostfacts_read(NULL, &h);

    make_nodes("0-1,3\n", "0-3\n");
    snprintf(nodes, sizeof(nodes), "%s/nodes", fake_dir());
    fake_bind("/sys/devices/system/node", nodes);
    fake_text("/sys/devices/system/cpu/possible", "0-255\n");
    fake_text("/sys/devices/system/cpu/online", "0-6\n");
    fake_text("/proc/meminfo", "MemTotal:       1048576 kB\nMemFree: 1 kB\n");

    assert_true(hostfacts_update(&h));
    assert_int_equal(h.cpus_possible, 256);
    assert_int_equal(h.cpus_online, 7);
    assert_int_equal(h.n_nodes, 4);
    assert_int_equal(h.node_cpus[0], 4);
    assert_int_equal(h.node_cpus[1], 0);
    assert_int_equal(h.node_cpus[2], 0);
    assert_int_equal(h.node_cpus[3], 3);
    assert_int_equal(host_zone_cpus(&h, 1), 7);
    assert_int_equal(h.memory_bytes, UINT64_C(1) << 30);
    assert_false(hostfacts_update(&h));

    make_nodes("0-1,3\n", "0-2\n");
    assert_true(hostfacts_update(&h));
    assert_int_equal(h.node_cpus[0], 3);

    make_nodes("0-1023\n", "0-2\n"); /* more than we keep */
    hostfacts_update(&h);
    assert_int_equal(h.n_nodes, HOST_NODES_MAX);

    make_nodes("garbage\n", "0-2\n"); /* as if there were none */
    assert_true(hostfacts_update(&h));
    assert_int_equal(h.n_nodes, 1);
    assert_int_equal(h.node_cpus[0], 7);

    fake_undo("/proc/meminfo");
    fake_undo("/sys/devices/system/cpu/online");
    fake_undo("/sys/devices/system/cpu/possible");
    fake_undo("/sys/devices/system/node");
    assert_true(hostfacts_update(&h));
    check_sane(&h);
}

static void test_cgroup_versions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool v1, v2;
    } table[] = {
        {"0::/\n", false, true},
        {"4:memory:/x\n1:name=systemd:/\n", true, false},
        {"4:memory:/x\n0::/\n", true, true},
        {"4:cpu:/x\n1:name=systemd:/\n", false, false},
        {"", false, false},
        {"garbage\n", false, false},
    };
    need_fake();
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct host_facts h;
        char path[64]; /* a bind mount follows the link that "self" is */
        snprintf(path, sizeof(path), "/proc/%d/cgroup", getpid());
        fake_text(path, table[i].text);
        hostfacts_read(NULL, &h);
        fake_undo(path);
        assert_int_equal(h.cgroup_v1, table[i].v1);
        assert_int_equal(h.cgroup_v2, table[i].v2);
    }
}

/* Zoneinfo alone, where BTF and the configuration are covered up. */
static void test_zones(void **state)
{
    (void)state;
    struct zone_list same[] = {{.high = 378}, {.high = 378}, {.high = 0}};
    struct zone_list differ[] = {{.high = 0}, {.high = 378}, {.high = 900}};
    struct zone zone = {.name = "Normal", .managed = 1, .n_lists = 3};
    struct zone_table t = {.zones = &zone, .n_zones = 1, .n_lists = 3, .lists = same};
    struct host_facts h;

    need_fake();
    if (access("/sys/kernel/btf/vmlinux", F_OK) < 0 || access("/proc/config.gz", F_OK) < 0 ||
        access("/proc/sys/vm/percpu_pagelist_high_fraction", F_OK) < 0) {
        printf("SKIP: no BTF, config.gz or high_fraction to cover up\n");
        skip();
    }
    fake_text("/sys/kernel/btf/vmlinux", "no BTF");
    fake_text("/proc/config.gz", "no config");

    hostfacts_read(&t, &h);
    assert_int_equal(h.regime_by, EVIDENCE_VERSION); /* between R2 and R4 */
    assert_non_null(strstr(h.assumed, "R2 to R4"));
    t.lists = differ;
    hostfacts_read(&t, &h);
    assert_non_null(strstr(h.assumed, "R4 to R5"));
    t.lists = same;
    zone.has_high_minmax = true;
    hostfacts_read(&t, &h);
    assert_non_null(strstr(h.assumed, "R4 to R5"));
    t.has_reserved_ha = true;
    hostfacts_read(&t, &h);
    assert_int_equal(h.regime, REGIME_R5);
    assert_int_equal(h.regime_by, EVIDENCE_ZONEINFO);

    fake_undo("/proc/config.gz");
    fake_undo("/sys/kernel/btf/vmlinux");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpulist),        cmocka_unit_test(test_config),
        cmocka_unit_test(test_config_hostile), cmocka_unit_test(test_this_machine),
        cmocka_unit_test(test_topology),       cmocka_unit_test(test_cgroup_versions),
        cmocka_unit_test(test_zones),
    };
    can_fake = fake_enter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
