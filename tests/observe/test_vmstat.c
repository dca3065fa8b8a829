/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "alloc_count.h"
#include "clock.h"
#include "fake.h"
#include "skips.h"
#include "vmstat.h"

#define VMSTAT "/proc/vmstat"
#define HPAGE "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"
#define HPAGE_PAGES 2048u /* of the fake huge page, in base pages: not this machine's own */

static bool faked;

static void need_fakes(void)
{
    if (!faked)
        skip_for_want("needs a mount namespace of its own");
}

/* Makes HPAGE say HPAGE_PAGES where the kernel has the file. */
static bool fake_hpage(void)
{
    char text[32];

    if (access(HPAGE, F_OK) < 0)
        return false;
    snprintf(text, sizeof(text), "%lu\n", HPAGE_PAGES * (unsigned long)sysconf(_SC_PAGESIZE));
    fake_text(HPAGE, text);
    return true;
}

/* Counted by awk; nr_anon_thp in huge pages, as the file says it. */
static const struct {
    const char *name;
    struct vm_counters c;
} files[] = {
    {"01-x86-6.18.44-2cpu-firecracker",
     {.pgfree = 71849442,
      .pgalloc = 69430503,
      .pgfault = 68401308,
      .nr_free = 2402219,
      .nr_anon = 1845}},
    {"02-x86-rhel9-5.14.0-325-1cpu",
     {.pgfree = 1962168,
      .pgalloc = 1886297,
      .pgfault = 2045076,
      .nr_free = 63022,
      .nr_anon = 14631,
      .nr_anon_thp = 6}},
    {"05-x86-5.14to5.17-8cpu-2node",
     {.pgfree = 6538253,
      .pgalloc = 5408355,
      .pgfault = 5527692,
      .nr_free = 1052928,
      .nr_anon = 32897}},
    {"07-x86-rhel8.8-4.18.0-477-4cpu",
     {.pgfree = 6485532,
      .pgalloc = 5739998,
      .pgfault = 4870749,
      .nr_free = 744407,
      .nr_anon = 94841,
      .nr_anon_thp = 103}},
    {"08-x86-rhcos-4.18.0-80-2cpu",
     {.pgfree = 4137094,
      .pgalloc = 3923715,
      .pgfault = 1677493,
      .nr_free = 213021,
      .nr_anon = 82162,
      .nr_anon_thp = 69}},
    {"09-x86-5.6to5.8-8cpu-30g",
     {.pgfree = 2938719870,
      .pgalloc = 2899009104,
      .pgfault = 2320168809,
      .nr_free = 977769,
      .nr_anon = 713633,
      .nr_anon_thp = 556}},
    {"11-x86-4.9to4.12-4cpu",
     {.pgfree = 1599432,
      .pgalloc = 782567,
      .pgfault = 986124,
      .nr_free = 816140,
      .nr_anon = 68395}},
    {"13-x86-4.14to4.18-2cpu",
     {.pgfree = 455857227,
      .pgalloc = 455225660,
      .pgfault = 456254498,
      .nr_free = 631224,
      .nr_anon = 25241,
      .nr_anon_thp = 7}},
    {"14-x86-3.13.0-77-8cpu",
     {.pgfree = 222350685,
      .pgalloc = 220800785,
      .pgfault = 442617297,
      .nr_free = 1381407,
      .nr_anon = 43367,
      .nr_anon_thp = 17}},
    {"15-x86-3.2.0-58-8cpu",
     {.pgfree = 66989121,
      .pgalloc = 65552551,
      .pgfault = 68973334,
      .nr_free = 1435033,
      .nr_anon = 18722}},
    {"17-x86-3.15to3.16-32cpu-2node-128g",
     {.pgfree = 1040204715,
      .pgalloc = 1018376862,
      .pgfault = 1891461678,
      .nr_free = 21821632,
      .nr_anon = 118522,
      .nr_anon_thp = 5020}},
    {"18-arm32-3.4.5-1cpu-highmem",
     {.pgfree = 592983, .pgalloc = 540983, .pgfault = 5342442, .nr_free = 51698, .nr_anon = 67608}},
    {"20-arm32-4.1.25-2cpu-router",
     {.pgfree = 130706, .pgalloc = 130191, .pgfault = 57311, .nr_free = 504, .nr_anon = 3126}},
    {"28-arm32-UP-1cpu-router",
     {.pgfree = 65906, .pgalloc = 30084, .pgfault = 60317, .nr_free = 33393, .nr_anon = 302}},
    {"29-arm720t-2.6.1x-UP-hotcold",
     {.pgfree = 11124, .pgalloc = 5712, .pgfault = 5536, .nr_free = 0, .nr_anon = 0}},
};

static void check_counters(const char *name, const struct vm_counters *c,
                           const struct vm_counters *e, uint64_t thp_pages)
{
    if (!c->valid || c->pgfree != e->pgfree || c->pgalloc != e->pgalloc ||
        c->pgfault != e->pgfault || c->allocstall != e->allocstall || c->nr_free != e->nr_free ||
        c->nr_anon != e->nr_anon || c->nr_anon_thp != e->nr_anon_thp * thp_pages)
        fail_msg("%s: pgfree %lu pgalloc %lu pgfault %lu allocstall %lu nr_free %lu nr_anon %lu "
                 "nr_anon_thp %lu",
                 name, (unsigned long)c->pgfree, (unsigned long)c->pgalloc,
                 (unsigned long)c->pgfault, (unsigned long)c->allocstall, (unsigned long)c->nr_free,
                 (unsigned long)c->nr_anon, (unsigned long)c->nr_anon_thp);
}

static void test_files(void **state)
{
    (void)state;
    need_fakes();
    bool hpage = fake_hpage();

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        char path[512];
        struct vmstat *v = NULL;
        struct vm_counters c = {0};
        snprintf(path, sizeof(path), "%s/inputs/%s.vmstat", TEST_DATA, files[i].name);
        fake_bind(VMSTAT, path);
        int r = vmstat_open(&v);
        if (r == 0)
            r = vmstat_read(v, &c);
        vmstat_close(v);
        fake_undo(VMSTAT);
        assert_int_equal(r, 0);
        if (hpage || files[i].c.nr_anon_thp == 0)
            check_counters(files[i].name, &c, &files[i].c, HPAGE_PAGES);
    }
    if (hpage)
        fake_undo(HPAGE);
}

static int read_text(const char *text, struct vm_counters *ret)
{
    struct vmstat *v = NULL;

    fake_text(VMSTAT, text);
    int r = vmstat_open(&v);
    if (r == 0)
        r = vmstat_read(v, ret);
    vmstat_close(v);
    fake_undo(VMSTAT);
    return r;
}

static void test_sums(void **state)
{
    static const char text[] =
        "nr_free_pages 5\nnr_anon_pages 6\nunknown 7\nallocstall_dma 1\nallocstall_dma32 2\n"
        "allocstall_normal 4\nallocstall_high 8\nallocstall_movable 16\npgalloc_dma 100\n"
        "pgalloc_dma32 200\npgalloc_normal 18446744073000000000\npgalloc_high 800\n"
        "pgalloc_movable 1600\npgfree 3\npgfault 4\n";
    static const struct vm_counters expected = {
        .pgfree = 3,
        .pgalloc = UINT64_C(18446744073000002700),
        .pgfault = 4,
        .allocstall = 31,
        .nr_free = 5,
        .nr_anon = 6,
    };
    (void)state;
    struct vm_counters c;

    need_fakes();
    nsec_t before = clock_monotonic();
    assert_int_equal(read_text(text, &c), 0);
    check_counters("sums", &c, &expected, 1);
    assert_true(c.at >= before && c.at <= clock_monotonic());
}

static void test_hostile(void **state)
{
    static const struct {
        const char *text;
        int error; /* 0: it reads; 1: any error will do */
    } cases[] = {
        {"", 1},
        {"pgfault 5\n", -EBADMSG},
        {"pgfree\nnr_anon_pages\n", -EBADMSG},
        {"pgfree 0\nnr_anon_pages 0\n", -EBADMSG},
        {"pgfree 1\n", 0},
        {"nr_anon_pages 1\n", 0},
    };
    (void)state;

    need_fakes();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct vm_counters c = {.pgfault = 4711};
        int r = read_text(cases[i].text, &c);
        if (cases[i].error == 1 ? r >= 0 : r != cases[i].error)
            fail_msg("case %zu: %d", i, r);
        assert_int_equal(c.valid, r == 0);
        assert_int_equal(c.pgfault, r == 0 ? 0 : 4711);
    }
}

static void test_absent(void **state)
{
    char file[256];
    (void)state;
    struct vmstat *v = NULL;
    uint64_t total = 0;

    need_fakes();
    fake_file("proc/nothing", "", 0, file, sizeof(file));
    *strrchr(file, '/') = '\0';
    fake_bind("/proc", file);
    int r = vmstat_open(&v);
    int r_total = meminfo_total(&total);
    fake_undo("/proc");
    assert_int_equal(r, -ENOENT);
    assert_null(v);
    assert_true(r_total == -ENOENT || (r_total == 0 && total > 0)); /* sysinfo(2) needs no file */
}

static void test_live(void **state)
{
    (void)state;
    struct vmstat *v = NULL;
    struct vm_counters a, b;
    uint64_t total = 0;

    int r = vmstat_open(&v);
    if (r < 0) {
        print_message("SKIP: this machine shows no /proc/vmstat: %s\n", strerror(-r));
        skip();
    }
    assert_int_equal(vmstat_read(v, &a), 0);
    uint64_t warm = alloc_count();
    for (int i = 0; i < 10; i++)
        assert_int_equal(vmstat_read(v, &b), 0);
    if (warm == UINT64_MAX)
        print_message("SKIP: a sanitizer owns malloc(): allocations cannot be counted\n");
    assert_int_equal(alloc_count(), warm);
    assert_true(b.at >= a.at && b.pgfault >= a.pgfault);
    vmstat_close(v);
    vmstat_close(NULL);

    assert_int_equal(meminfo_total(&total), 0);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    assert_true(total > b.nr_free * page && total > b.nr_anon * page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),  cmocka_unit_test(test_sums), cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_absent), cmocka_unit_test(test_live),
    };
    faked = fake_enter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
