/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "fileio.h"
#include "psi.h"

#define LINE(name, rest) name " avg10=0.00 avg60=0.00 avg300=0.00 total=" rest "\n"

static void test_files(void **state)
{
    static const struct {
        const char *name;
        int error;
        struct psi psi;
    } files[] = {
        {"01-x86-6.18.44-2cpu-firecracker.pressure-cpu", 0, {true, true, {391629174, 1}, {0, 0}}},
        {"01-x86-6.18.44-2cpu-firecracker.pressure-io",
         0,
         {true, true, {5551143, 0}, {3876407, 0}}},
        {"01-x86-6.18.44-2cpu-firecracker.pressure-memory", 0, {true, true, {0, 0}, {0, 0}}},
        /* before 5.13 cpu has no "full" */
        {"40-pcp-qa-001.pressure-cpu", 0, {true, false, {157656722, 204}, {0, 0}}},
        {"40-pcp-qa-001.pressure-io", 0, {true, true, {55963282, 1024}, {30048725, 759}}},
        {"40-pcp-qa-001.pressure-memory", 0, {true, true, {3559632828, 7024}, {3300487258, 5759}}},
        {"41-pcp-qa-002.pressure-cpu", 0, {true, true, {424932863, 0}, {387245317, 0}}},
        {"41-pcp-qa-002.pressure-irq", 0, {false, true, {0, 0}, {100648410, 0}}},
        {"41-pcp-qa-002.pressure-memory", 0, {true, true, {168828, 0}, {154404, 0}}},
        {"42-node_exporter-fixture.pressure-cpu", 0, {true, true, {14036781, 0}, {0, 0}}},
        {"42-node_exporter-fixture.pressure-io", 0, {true, true, {159886802, 18}, {159229614, 18}}},
        /* its newline was lost on the way, and who knows what else */
        {"42-node_exporter-fixture.pressure-irq", -EBADMSG, {0}},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        char path[512], text[1024];
        struct psi psi = {0};
        snprintf(path, sizeof(path), "%s/inputs/%s", TEST_DATA, files[i].name);
        ssize_t n = read_file(path, text, sizeof(text));
        if (n < 0)
            fail_msg("%s: %s", path, strerror((int)-n));
        assert_int_equal(psi_parse(text, (size_t)n, &psi), files[i].error);
        const struct psi *e = &files[i].psi;
        if (psi.has_some != e->has_some || psi.has_full != e->has_full ||
            psi.some.total_us != e->some.total_us || psi.full.total_us != e->full.total_us ||
            psi.some.avg10_centi != e->some.avg10_centi ||
            psi.full.avg10_centi != e->full.avg10_centi)
            fail_msg("%s: some %u %lu, full %u %lu", files[i].name, psi.some.avg10_centi,
                     (unsigned long)psi.some.total_us, psi.full.avg10_centi,
                     (unsigned long)psi.full.total_us);
    }
}

static void test_hostile(void **state)
{
    static const struct {
        const char *text;
        int error;
    } cases[] = {
        {LINE("some", "0"), 0},
        {LINE("full", "18446744073709551615"), 0},
        {LINE("some", "1") "other avg10=x total=\n\n", 0},
        {"some total=1 avg10=100.00\n", 0},
        {"some  avg10=1.00  pig=2 cow total=1 \n", 0},
        {"some avg10=42949671.99 total=1\n", 0},

        {"", -EBADMSG},
        {"\n", -EBADMSG},
        {"other avg10=0.00 total=0\n", -EBADMSG},
        {"Some avg10=0.00 total=0\n", -EBADMSG},
        {" some avg10=0.00 total=0\n", -EBADMSG},
        {"some\n", -EBADMSG},
        {"some avg10=0.00\n", -EBADMSG},
        {"some total=0\n", -EBADMSG},
        {"some avg10=0.00 total=0", -EBADMSG},
        {"some avg10=0.00 total=\n", -EBADMSG},
        {"some avg10=0.00 total\n", -EBADMSG},
        {"some avg10 total=0\n", -EBADMSG},
        {"some avg10=0.00 total=-1\n", -EBADMSG},
        {"some avg10=0.00 total=1.0\n", -EBADMSG},
        {"some avg10=0.00 total=1=1\n", -EBADMSG},
        {"some avg10=0.00 total=1\r\n", -EBADMSG},
        {"some avg10=0.00 total=18446744073709551616\n", -EBADMSG},
        {"some avg10=0.00 total=99999999999999999999999\n", -EBADMSG},
        {"some avg10=0.00 total=0 total=0\n", -EBADMSG},
        {"some avg10=0.00 avg10=0.00 total=0\n", -EBADMSG},
        {"some avg10=0 total=0\n", -EBADMSG},
        {"some avg10=0.0 total=0\n", -EBADMSG},
        {"some avg10=0.000 total=0\n", -EBADMSG},
        {"some avg10=.00 total=0\n", -EBADMSG},
        {"some avg10=0.0x total=0\n", -EBADMSG},
        {"some avg10=-0.00 total=0\n", -EBADMSG},
        {"some avg10=0,00 total=0\n", -EBADMSG},
        {"some avg10=42949672.95 total=0\n", -EBADMSG},
        {"some avg10=18446744073709551616.00 total=0\n", -EBADMSG},
        {LINE("some", "0") LINE("some", "0"), -EBADMSG},
        {LINE("full", "0") LINE("some", "0") LINE("full", "0"), -EBADMSG},
        {LINE("some", "0") LINE("full", "x"), -EBADMSG},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct psi psi = {.has_some = true, .some.total_us = 4711};
        size_t len = strlen(cases[i].text);
        _cleanup_free_ char *copy = malloc(len + 1);
        assert_non_null(copy);
        char *exact = copy + 1; /* ends where the allocation ends, for the sanitizer */
        memcpy(exact, cases[i].text, len);
        int r = psi_parse(exact, len, &psi);
        if (r != cases[i].error)
            fail_msg("case %zu: %d for %s", i, r, cases[i].text);
        if (r < 0)
            assert_int_equal(psi.some.total_us, 4711);
    }
}

/* Cut anywhere, a file is an error or its first line. */
static void test_truncation(void **state)
{
    static const char text[] = LINE("some", "391629174") LINE("full", "1234");
    size_t first = strlen(LINE("some", "391629174"));
    (void)state;

    for (size_t cut = 0; cut < strlen(text); cut++) {
        struct psi psi = {0};
        assert_int_equal(psi_parse(text, cut, &psi), cut == first ? 0 : -EBADMSG);
        assert_int_equal(psi.some.total_us, cut == first ? 391629174 : 0);
        assert_false(psi.has_full);
    }
}

/* Says why where the kernel has no PSI, and skips. */
static void need_psi(void)
{
    struct psi psi;

    int r = psi_read(PSI_MEMORY, &psi);
    if (r < 0) {
        print_message("SKIP: no pressure stall information here: %s\n", strerror(-r));
        skip();
    }
}

static void test_read(void **state)
{
    (void)state;
    struct psi before, after;

    assert_int_equal(psi_read(PSI_RESOURCES, &before), -EINVAL);
    need_psi();
    for (enum psi_resource r = 0; r < PSI_RESOURCES; r++) {
        assert_int_equal(psi_read(r, &before), 0);
        assert_int_equal(psi_read(r, &after), 0);
        assert_true(before.has_some);
        assert_true(after.some.total_us >= before.some.total_us);
    }
}

static void test_trigger_arguments(void **state)
{
    static const struct {
        enum psi_resource r;
        nsec_t stall, window;
    } cases[] = {
        {PSI_RESOURCES, 100 * NSEC_PER_MSEC, NSEC_PER_SEC},
        {PSI_MEMORY, 0, NSEC_PER_SEC},
        {PSI_MEMORY, 2 * NSEC_PER_SEC, NSEC_PER_SEC},
        {PSI_MEMORY, 0, 0},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        nsec_t window = 4711;
        assert_int_equal(psi_trigger(cases[i].r, cases[i].stall, cases[i].window, &window),
                         -EINVAL);
        assert_int_equal(window, 4711);
    }
}

/* Takes CAP_SYS_RESOURCE from this process, for good. */
static bool drop_cap_sys_resource(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    if (syscall(SYS_capget, &head, data) < 0)
        return false;
    data[0].effective &= ~(1u << CAP_SYS_RESOURCE);
    data[0].permitted &= ~(1u << CAP_SYS_RESOURCE);
    return syscall(SYS_capset, &head, data) == 0;
}

enum { CHILD_OK, CHILD_NO_CAPSET, CHILD_REFUSED, CHILD_WINDOW, CHILD_POLL };

/* In a child, for it gives a capability away: asks for 0.5 s, of which 2 s are to be made. */
static int unprivileged_trigger(void)
{
    nsec_t window = 0;

    if (!drop_cap_sys_resource())
        return CHILD_NO_CAPSET;
    _cleanup_close_ int fd =
        psi_trigger(PSI_MEMORY, 400 * NSEC_PER_MSEC, 500 * NSEC_PER_MSEC, &window);
    if (fd < 0)
        return CHILD_REFUSED;
    if (window != 2 * NSEC_PER_SEC)
        return CHILD_WINDOW;
    struct pollfd p = {.fd = fd, .events = POLLPRI};
    return poll(&p, 1, 0) < 0 || (p.revents & POLLERR) ? CHILD_POLL : CHILD_OK;
}

static void test_trigger_fallback(void **state)
{
    int status;
    (void)state;

    need_psi();
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(unprivileged_trigger());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == CHILD_NO_CAPSET || WEXITSTATUS(status) == CHILD_REFUSED) {
        print_message("SKIP: this kernel (before 6.1?) lets nobody without CAP_SYS_RESOURCE set "
                      "a trigger\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), CHILD_OK);
}

static void test_trigger(void **state)
{
    (void)state;
    nsec_t window = 0;

    need_psi();
    int fd = psi_trigger(PSI_CPU, 400 * NSEC_PER_MSEC, NSEC_PER_SEC, &window);
    if (fd == -EPERM || fd == -EACCES) {
        print_message("SKIP: no trigger without CAP_SYS_RESOURCE here: %s\n", strerror(-fd));
        skip();
    }
    assert_true(fd >= 0);
    assert_true(window == NSEC_PER_SEC || window == 2 * NSEC_PER_SEC);
    struct pollfd p = {.fd = fd, .events = POLLPRI};
    assert_true(poll(&p, 1, 0) >= 0);
    assert_int_equal(p.revents & (POLLERR | POLLNVAL), 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);

    /* Longer than the kernel allows: the stall is scaled with the window. */
    fd = psi_trigger(PSI_CPU, 30 * NSEC_PER_SEC, 60 * NSEC_PER_SEC, &window);
    assert_true(fd >= 0);
    assert_int_equal(window, 2 * NSEC_PER_SEC);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_trigger_arguments),
        cmocka_unit_test(test_trigger_fallback),
        cmocka_unit_test(test_trigger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
