/* SPDX-License-Identifier: GPL-2.0-or-later */

/* SIGKILL at each system call boundary, before and after the call: between two of them the process
 * changes nothing outside of itself, so these are all the instructions that matter. */

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "actuate.h"
#include "fake.h"
#include "journal.h"
#include "skips.h"

#define BOOT "ee505401-471c-40d1-981e-ce67dbb17684"
#define FOREIGN_VALUE 777
#define NOBODY (-1)

/* --- what runs in children: no assertion there, the exit status tells --- */

static struct actuator *start(void)
{
    const struct actuator_config c = {
        .state_dir = FAKE_STATE, .boot_id = BOOT, .lo = {8, 0}, .hi = {100000, 6}};
    struct actuator *a = NULL;
    return actuator_open(&c, &a) < 0 ? NULL : a;
}

/* Exit status: the outcome of the recovery, OUTCOME_MAX where it could not even begin. */
static int recover(void)
{
    struct actuator *a = start();
    struct outcome o = {.kind = OUTCOME_MAX};
    if (a)
        actuator_recover(a, &o);
    actuator_close(a);
    return o.error ? (int)OUTCOME_MAX : (int)o.kind;
}

static enum outcome_kind set(struct actuator *a, struct knob_values from, struct knob_values v)
{
    struct outcome o;
    actuator_set(a, &from, &v, &o);
    return o.kind;
}

static int life(struct knob_values original, struct knob_values first, struct knob_values second)
{
    struct actuator *a = start();
    struct outcome o;
    if (!a)
        return 1;
    actuator_recover(a, &o);
    bool ok = set(a, original, first) == OUTCOME_DONE;
    ok = set(a, first, second) == OUTCOME_DONE && ok;
    actuator_restore(a, &o);
    ok = o.kind == OUTCOME_DONE && ok;
    actuator_close(a);
    return ok ? 0 : 1;
}

static int life_from_zero(void)
{
    return life((struct knob_values){{true}, {0}}, (struct knob_values){{true}, {100}},
                (struct knob_values){{true}, {4509}});
}

static int life_from_400(void)
{
    return life((struct knob_values){{true}, {400}}, (struct knob_values){{true}, {100}},
                (struct knob_values){{true}, {4509}});
}

static int life_of_two(void)
{
    return life((struct knob_values){{true, true}, {0, 5}},
                (struct knob_values){{true, true}, {100, 2}},
                (struct knob_values){{true, true}, {4509, 0}});
}

/* --- the tracer --- */

struct tracee {
    pid_t pid;
    int status; /* of the last wait */
};

/* False where tracing is forbidden. */
static bool spawn(int (*fn)(void), struct tracee *ret)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
            _exit(255);
        (void)raise(SIGSTOP);
        _exit(fn());
    }
    assert_true(pid > 0);
    ret->pid = pid;
    assert_int_equal(waitpid(pid, &ret->status, 0), pid);
    if (!WIFSTOPPED(ret->status))
        return false;
    assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL), 0);
    return true;
}

/* To the next entry into or return from a system call. False: it has ended. */
static bool step(struct tracee *t)
{
    assert_int_equal(ptrace(PTRACE_SYSCALL, t->pid, NULL, NULL), 0);
    assert_int_equal(waitpid(t->pid, &t->status, 0), t->pid);
    return WIFSTOPPED(t->status);
}

static void run_to_end(struct tracee *t)
{
    assert_int_equal(ptrace(PTRACE_CONT, t->pid, NULL, NULL), 0);
    assert_int_equal(waitpid(t->pid, &t->status, 0), t->pid);
    assert_true(WIFEXITED(t->status));
}

/* Runs fn for n steps and kills it. False: it ended before. */
static bool run_and_kill(int (*fn)(void), int n)
{
    struct tracee t;
    assert_true(spawn(fn, &t));
    for (int i = 0; i < n; i++)
        if (!step(&t))
            return false;
    kill(t.pid, SIGKILL);
    assert_int_equal(waitpid(t.pid, &t.status, 0), t.pid);
    assert_true(WIFSIGNALED(t.status) && WTERMSIG(t.status) == SIGKILL);
    return true;
}

static int run_plainly(int (*fn)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(fn());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* --- the fake kernel: real sysctls, whose writes are as atomic as those that they stand for --- */

struct fake_values {
    int fraction, scale; /* scale NOBODY: the kernel has only the fraction */
};

static void reset(struct fake_values v)
{
    fake_reset();
    fake_sysctl(KNOB_FRACTION, FAKE_ANY_INT);
    fake_set(KNOB_FRACTION, v.fraction);
    if (v.scale == NOBODY)
        return;
    fake_sysctl(KNOB_SCALE, FAKE_ANY_INT_TOO);
    fake_set(KNOB_SCALE, v.scale);
}

static void set_all(struct fake_values v)
{
    if (v.fraction != NOBODY)
        fake_set(KNOB_FRACTION, v.fraction);
    if (v.scale != NOBODY)
        fake_set(KNOB_SCALE, v.scale);
}

static void expect_all(struct fake_values v, int kill_point)
{
    int fraction = fake_get(KNOB_FRACTION);
    if (fraction != v.fraction)
        print_error("killed at step %d: %d is left there\n", kill_point, fraction);
    assert_int_equal(fraction, v.fraction);
    if (v.scale != NOBODY)
        assert_int_equal(fake_get(KNOB_SCALE), v.scale);
}

static bool has_journal(void)
{
    struct stat st;
    return lstat(FAKE_JOURNAL, &st) == 0;
}

static void need_ptrace(void)
{
    struct tracee t;
    fake_reset();
    if (spawn(recover, &t)) {
        run_to_end(&t);
        return;
    }
    skip_for_want("no ptrace here: nothing is killed");
}

/* --- tests --- */

static const struct lifetime {
    const char *name;
    int (*fn)(void);
    struct fake_values original;
} lifetimes[] = {
    {"original 0", life_from_zero, {0, NOBODY}},
    {"original 400", life_from_400, {400, NOBODY}},
    {"two knobs", life_of_two, {0, 5}},
};

/* Kills at each point, lets somebody write (or nobody), recovers, and expects `left`. Returns the
 * number of kill points, *ret_journaled at how many of them there was a journal. */
static int kill_everywhere(const struct lifetime *l, struct fake_values foreign,
                           struct fake_values left, int *ret_journaled)
{
    int n = 1;
    *ret_journaled = 0;
    for (;; n++) {
        reset(l->original);
        if (!run_and_kill(l->fn, n))
            return n - 1;
        bool journaled = has_journal();
        set_all(foreign);
        int kind = run_plainly(recover);
        if (foreign.fraction == FOREIGN_VALUE)
            assert_int_equal(kind, journaled ? OUTCOME_FOREIGN : OUTCOME_UNCHANGED);
        else
            assert_true(kind == OUTCOME_UNCHANGED || (journaled && kind == OUTCOME_DONE));
        expect_all(left, n);
        assert_false(has_journal());
        *ret_journaled += journaled;
    }
}

static void test_kill_and_recover(void **state)
{
    (void)state;
    need_ptrace();
    for (size_t i = 0; i < ARRAY_SIZE(lifetimes); i++) {
        const struct lifetime *l = &lifetimes[i];
        int journaled;
        reset(l->original);
        assert_int_equal(run_plainly(l->fn), 0); /* and it does all it should when left alone */
        int n = kill_everywhere(l, (struct fake_values){NOBODY, NOBODY}, l->original, &journaled);
        print_message("%s: %d kill points, %d with a journal: all restored\n", l->name, n,
                      journaled);
        assert_true(n > 60 && journaled > n / 3);
    }
}

static void test_kill_then_foreign_write(void **state)
{
    (void)state;
    need_ptrace();
    for (size_t i = 0; i < ARRAY_SIZE(lifetimes); i++) {
        const struct lifetime *l = &lifetimes[i];
        struct fake_values foreign = {FOREIGN_VALUE, l->original.scale == NOBODY ? NOBODY : 6};
        int journaled;
        int n = kill_everywhere(l, foreign, foreign, &journaled);
        print_message("%s: %d kill points with a foreign write after: none touched\n", l->name, n);
        n = kill_everywhere(l, l->original, l->original, &journaled);
        assert_true(n > 60);
    }
}

static void leave_journal(int original, int last, int next)
{
    struct journal j = {.boot_id = BOOT, .knob = {[KNOB_FRACTION] = {true, original, last, next}}};
    assert_int_equal(mkdir(FAKE_STATE, 0755), 0);
    _cleanup_close_ int fd = open(FAKE_STATE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(journal_save(fd, &j), 0);
}

/* The recovery is killed as well, and the next one has to do. */
static void test_kill_recovery(void **state)
{
    (void)state;
    need_ptrace();
    for (int n = 1;; n++) {
        reset((struct fake_values){200, NOBODY});
        leave_journal(0, 100, 200);
        bool killed = run_and_kill(recover, n);
        if (killed) {
            int kind = run_plainly(recover);
            assert_true(kind == OUTCOME_DONE || kind == OUTCOME_UNCHANGED);
        }
        expect_all((struct fake_values){0, NOBODY}, n);
        assert_false(has_journal());
        if (!killed) {
            print_message("%d kill points of the recovery: all restored\n", n - 1);
            assert_true(n > 25);
            return;
        }
    }
}

/* Somebody writes at each step of a run that goes on. Between our read and our write the kernel
 * offers no way to notice; everywhere else theirs must stay, and nothing of ours ever does. */
static void test_foreign_write_everywhere(void **state)
{
    (void)state;
    need_ptrace();
    int lost = 0;
    for (int n = 1;; n++) {
        struct tracee t;
        reset(lifetimes[0].original);
        assert_true(spawn(lifetimes[0].fn, &t));
        for (int i = 0; i < n; i++)
            if (!step(&t)) {
                print_message("%d foreign writes, %d of them between read and write\n", n - 1,
                              lost);
                assert_true(lost > 0 && lost < (n - 1) / 2);
                return;
            }
        fake_set(KNOB_FRACTION, FOREIGN_VALUE);
        run_to_end(&t);
        int now = fake_get(KNOB_FRACTION);
        assert_true(now == FOREIGN_VALUE || now == 0);
        lost += now == 0;
        assert_false(has_journal());
    }
}

/* A kernel on which our write has no effect: the value is put back right after it. */
static int set_once(void)
{
    struct actuator *a = start();
    struct outcome o;
    if (!a)
        return 1;
    actuator_recover(a, &o);
    struct knob_values from = {{true}, {0}}, v = {{true}, {100}};
    actuator_set(a, &from, &v, &o);
    actuator_close(a);
    return o.kind == OUTCOME_FAILED && o.error == -EIO && !o.original.has[KNOB_FRACTION] ? 0 : 1;
}

static void test_write_without_effect(void **state)
{
    (void)state;
    need_ptrace();
    struct tracee t;
    reset((struct fake_values){0, NOBODY});
    assert_true(spawn(set_once, &t));
    while (fake_get(KNOB_FRACTION) == 0)
        assert_true(step(&t));
    assert_true(has_journal());
    fake_set(KNOB_FRACTION, 0);
    run_to_end(&t);
    assert_int_equal(WEXITSTATUS(t.status), 0);
    assert_false(has_journal());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kill_and_recover),
        cmocka_unit_test(test_kill_then_foreign_write),
        cmocka_unit_test(test_kill_recovery),
        cmocka_unit_test(test_foreign_write_everywhere),
        cmocka_unit_test(test_write_without_effect),
    };
    fake_enter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
