/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "fake.h"
#include "hostfacts.h"
#include "skips.h"

#define BTF_PATH "/sys/kernel/btf/vmlinux"

static bool can_fake;

static void need(bool condition, const char *why)
{
    if (!condition) {
        printf("SKIP: %s\n", why);
        skip();
    }
}

static void need_btf(void)
{
#ifndef HAVE_LIBBPF
    need(false, "built without libbpf");
#endif
    need(access(BTF_PATH, R_OK) == 0, "this kernel has no BTF");
}

static unsigned open_descriptors(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static long resident_pages(void)
{
    long size, resident;
    FILE *f = fopen("/proc/self/statm", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &size, &resident), 2); // NOLINT(cert-err34-c)
    fclose(f);
    return resident;
}

static void test_this_kernel(void **state)
{
    (void)state;
    struct btf_facts b;
    struct utsname u;
    need_btf();

    assert_int_equal(btf_probe(&b), 0);
    assert_true(b.free_factor != b.high_min || (!b.free_factor && !b.high_min));
    assert_int_equal(uname(&u), 0);
    printf("%s: free_factor %d, high_min %d, commit known %d, returns bool %d\n", u.release,
           b.free_factor, b.high_min, b.commit_known, b.commit_returns_bool);
    if (strncmp(u.release, "6.18.", 5) == 0) {
        assert_true(b.high_min);
        assert_true(b.commit_known);
        assert_false(b.commit_returns_bool);
    }
}

/* The types stay in the child, and nothing of it is left. */
static void test_leaves_nothing(void **state)
{
    (void)state;
    struct btf_facts b;
    need_btf();

    btf_probe(&b);
    unsigned fds = open_descriptors();
    long before = resident_pages();
    for (int i = 0; i < 5; i++)
        assert_int_equal(btf_probe(&b), 0);
    assert_int_equal(open_descriptors(), fds);
    assert_true(resident_pages() - before < (1 << 20) / sysconf(_SC_PAGESIZE));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void test_hostile_file(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "x", "no BTF at all", "\x9f\xeb\x01"};
    struct btf_facts b = {.high_min = true};
    need_btf();
    if (!can_fake)
        skip_for_want("no mount namespace");

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        fake_text(BTF_PATH, texts[i]);
        int r = btf_probe(&b);
        fake_undo(BTF_PATH);
        assert_true(r < 0);
        assert_true(b.high_min); /* filled on success only */
    }
}

/* A FIFO without a writer blocks open(2) for ever: the child is killed. */
static void test_timeout(void **state)
{
    (void)state;
    struct btf_facts b;
    char fifo[256];
    need_btf();
    if (!can_fake)
        skip_for_want("no mount namespace");

    snprintf(fifo, sizeof(fifo), "%s/fifo", fake_dir());
    assert_int_equal(mkfifo(fifo, 0600), 0);
    fake_bind(BTF_PATH, fifo);
    int r = btf_probe(&b);
    fake_undo(BTF_PATH);
    assert_int_equal(r, -ETIMEDOUT);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

#ifdef HAVE_LIBBPF
#include <bpf/btf.h>

enum shape { PLAIN, IN_UNION, IN_DEEP_UNION };

/* A kernel's types, as far as we look at them. */
static struct btf *make_btf(const char *member, enum shape shape, const char *function,
                            const char *returns)
{
    struct btf *btf = btf__new_empty();
    assert_non_null(btf);
    int integer = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
    int boolean = btf__add_typedef(btf, "bool", btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL));

    int inner = integer;
    for (int i = 0; i < (shape == PLAIN ? 0 : shape == IN_UNION ? 1 : 3); i++) {
        int type = inner;
        inner = btf__add_union(btf, "", 4);
        btf__add_field(btf, i == 0 ? member : "", type, 0, 0);
    }
    btf__add_struct(btf, "per_cpu_pages", 12);
    btf__add_field(btf, "count", integer, 0, 0);
    btf__add_field(btf, shape == PLAIN ? member : "", inner, 32, 0);
    btf__add_field(btf, "batch", integer, 64, 0);
    if (function) {
        int type = strcmp(returns, "bool") == 0  ? boolean
                   : strcmp(returns, "int") == 0 ? integer
                                                 : 0;
        int proto = btf__add_func_proto(btf, type);
        btf__add_func(btf, function, BTF_FUNC_STATIC, proto);
    }
    return btf;
}

static void test_parse(void **state)
{
    (void)state;
    static const struct {
        const char *member, *function, *returns;
        enum shape shape;
        struct btf_facts facts;
    } table[] = {
        {"free_factor", "free_unref_page_commit", "void", PLAIN, {true, false, true, false}},
        {"free_factor", NULL, NULL, IN_UNION, {true, false, false, false}},
        {"high_min", "free_frozen_page_commit", "void", PLAIN, {false, true, true, false}},
        {"high_min", "free_frozen_page_commit", "bool", PLAIN, {false, true, true, true}},
        {"high_min", "free_frozen_page_commit", "int", PLAIN, {false, true, true, false}},
        {"high_min", "free_unref_page_commit", "void", IN_UNION, {false, true, true, false}},
        {"high_min", NULL, NULL, IN_DEEP_UNION, {false, true, false, false}},
        {"high_minimum", "other", "bool", PLAIN, {false, false, false, false}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct btf *btf =
            make_btf(table[i].member, table[i].shape, table[i].function, table[i].returns);
        struct btf_facts b;
        unsigned len;
        const void *raw = btf__raw_data(btf, &len);
        assert_non_null(raw);
        assert_int_equal(btf_parse(raw, len, &b), 0);
        if (memcmp(&b, &table[i].facts, sizeof(b)) != 0)
            fail_msg("row %zu: %d %d %d %d", i, b.free_factor, b.high_min, b.commit_known,
                     b.commit_returns_bool);
        assert_true(btf_parse(raw, len - 1, &b) < 0);
        btf__free(btf);
    }
}

static void test_parse_nothing(void **state)
{
    (void)state;
    struct btf *btf = btf__new_empty();
    struct btf_facts b;
    unsigned len;
    btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
    const void *raw = btf__raw_data(btf, &len);
    assert_int_equal(btf_parse(raw, len, &b), -ENOENT);
    assert_true(btf_parse("", 0, &b) < 0);
    btf__free(btf);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef HAVE_LIBBPF
        cmocka_unit_test(test_parse),        cmocka_unit_test(test_parse_nothing),
#endif
        cmocka_unit_test(test_this_kernel),  cmocka_unit_test(test_leaves_nothing),
        cmocka_unit_test(test_hostile_file), cmocka_unit_test(test_timeout),
    };
    can_fake = fake_enter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
