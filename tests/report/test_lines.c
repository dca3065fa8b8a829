/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "message_id.h"
#include "report.h"
#include "rig.h"

/* What an operator reads of storms: the real engine's plans, through the report as the daemon gives
 * them to it. */

static struct rig r;
static struct report *report;

/* As daemon_tell_plan() does. */
static void tell(const struct knob_values *before)
{
    static const enum event_kind kinds[] = {
        [PLAN_NONE] = EVENT_LEFT_ALONE, [PLAN_SET] = EVENT_STORM, [PLAN_RESTORE] = EVENT_RESTORED};
    struct event e = {.kind = kinds[r.plan.action],
                      .level = r.plan.report ? LEVEL_NOTICE : LEVEL_DEBUG,
                      .mono = r.now,
                      .real = r.now,
                      .has_plan = true,
                      .plan = r.plan};

    if (r.plan.reason == REASON_NONE)
        return;
    if (r.plan.action == PLAN_SET && r.plan.reason != REASON_STORM)
        e.kind = EVENT_ADAPTED;
    e.has_outcome = r.plan.action != PLAN_NONE;
    e.outcome = (struct outcome){.before = *before, .after = r.sysctl};
    report_put(report, &e);
}

static void look(void)
{
    struct knob_values before = r.sysctl;

    rig_look(&r);
    tell(&before);
}

static void pass(uint64_t ns)
{
    uint64_t end = r.now + ns;

    while (r.plan.wake_at <= end) {
        r.now = r.plan.wake_at > r.now ? r.plan.wake_at : r.now;
        look();
        if (r.plan.wake_at <= r.now)
            r.now += 1000;
    }
    r.now = end;
}

/* All tasks come one after the other, free, and go. */
static void storm(uint32_t tasks, uint64_t mib)
{
    for (uint32_t i = 0; i < tasks; i++) {
        rig_exits(&r, 0, 1, mib, 600000, 0);
        look();
        r.now += 100 * US;
        rig_freed(&r, mib / 8);
    }
    pass(50 * MS);
    rig_freed(&r, tasks * mib * 7 / 8);
    rig_gone(&r, 0, tasks, 0);
    look();
    pass(2 * SECOND);
    rig_forget(&r);
}

static void one_storm(void)
{
    r.params.target_wait = 100 * US;
    storm(18, 2048);
}

/* Grows to many times what was planned for: a write for each doubling. */
static void growing_storm(void)
{
    r.params.target_wait = 2000 * US;
    storm(256, 2048);
}

/* Ebbs until the originals are back, and swells again, ten times. */
static void swaying_storm(void)
{
    r.params.target_wait = 150 * US;
    rig_exits(&r, 0, 64, 2048, 600000, 0);
    look();
    for (unsigned i = 0; i < 10; i++) {
        pass(2 * MS);
        rig_freed(&r, 5000);
        pass(20 * MS);
        rig_gone(&r, 0, 62, 0);
        look();
        pass(2500 * MS);
        rig_exits(&r, 0, 62, 2048, 600000, 0);
        look();
    }
    rig_freed(&r, 100000);
    rig_gone(&r, 0, 64, 0);
    look();
    pass(3 * SECOND);
}

/* Nothing needs to be done: a hundred storms in two hours, fewer than the ring holds. */
static void harmless_storms(void)
{
    r.params.target_wait = SECOND;
    for (unsigned i = 0; i < 100; i++) {
        rig_exits(&r, 0, 9, 2048, 600000, 0);
        look();
        pass(10 * MS);
        rig_freed(&r, 18000);
        rig_gone(&r, 0, 9, 0);
        look();
        pass(72 * SECOND);
        rig_forget(&r);
    }
}

static void calm(void)
{
    for (unsigned i = 0; i < 8640; i++) { /* the ticks of a day */
        r.now += 10 * SECOND;
        look();
    }
}

/* Runs it in a child with the text format on a pipe, and returns what came out. */
static char *lines_of(void (*body)(void), enum event_level level)
{
    struct report_config c = {.format = REPORT_TEXT, .level = level};
    size_t size = 1 << 20, len = 0;
    char *text = malloc(size);
    int fds[2];
    ssize_t n;

    assert_non_null(text);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(fds[1], STDERR_FILENO);
        if (report_new(&c, &report) < 0)
            _exit(1);
        rig_start(&r, &MACHINE_R3);
        body();
        report_free(report);
        _exit(0);
    }
    close(fds[1]);
    while ((n = read(fds[0], text + len, size - 1 - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    close(fds[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return text;
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;

    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

static void test_lines_a_storm(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        void (*body)(void);
        unsigned min, max;
    } table[] = {
        {"calm", calm, 0, 0},
        {"one storm", one_storm, 2, 3},
        {"a growing storm", growing_storm, 2, 3},
        {"a swaying storm", swaying_storm, 2, 3},
        {"a hundred storms that are left alone", harmless_storms, 1, 3},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_free_ char *text = lines_of(table[i].body, LEVEL_INFO);
        unsigned n = count(text, "\n");
        if (n < table[i].min || n > table[i].max)
            fail_msg("%s: %u lines\n%s", table[i].what, n, text);
    }
}

/* At level debug each change has its line, and the storms that are left alone are counted. */
static void test_debug(void **state)
{
    (void)state;
    _cleanup_free_ char *growing = lines_of(growing_storm, LEVEL_DEBUG);
    _cleanup_free_ char *harmless = lines_of(harmless_storms, LEVEL_DEBUG);

    assert_in_range(count(growing, "\n"), 4, 10);
    assert_in_range(count(harmless, "\n"), 2, 8);
    assert_non_null(strstr(harmless, "(repeated "));
}

/* --- to a journald -------------------------------------------------------------------------- */

/* In a mount namespace with a /run of our own. */
static int own_journal(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "/run/systemd/journal/socket"};

    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", "/run", "tmpfs", 0, NULL) < 0 || mkdir("/run/systemd", 0755) < 0 ||
        mkdir("/run/systemd/journal", 0755) < 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 ? fd : -1;
}

static int journal_storm(void)
{
    struct report_config c = {.format = REPORT_JOURNAL, .level = LEVEL_INFO};
    char entry[8192], id[64];
    int fd = own_journal();
    ssize_t n;

    if (fd < 0)
        return 77;
    if (report_new(&c, &report) < 0)
        return 1;
    rig_start(&r, &MACHINE_R3);
    one_storm();
    report_free(report);
    n = recv(fd, entry, sizeof(entry) - 1, MSG_DONTWAIT);
    if (n <= 0)
        return 2;
    entry[n] = '\0';
    snprintf(id, sizeof(id), "MESSAGE_ID=%s\n", MESSAGE_STORM);
    if (!strstr(entry, id) || !strstr(entry, "PCPTUNED_KNOB=vm.percpu_pagelist_high_fraction\n") ||
        strstr(entry, "CODE_FILE="))
        return 3;
    n = recv(fd, entry, sizeof(entry) - 1, MSG_DONTWAIT);
    entry[n > 0 ? n : 0] = '\0';
    return strstr(entry, MESSAGE_RESTORED) && recv(fd, entry, 1, MSG_DONTWAIT) < 0 ? 0 : 4;
}

static void test_journald(void **state)
{
    (void)state;
    int status;

    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(journal_storm());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("SKIP: no mount namespace of our own (not root?)\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_a_storm),
        cmocka_unit_test(test_debug),
        cmocka_unit_test(test_journald),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
