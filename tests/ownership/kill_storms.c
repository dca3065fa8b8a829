/* SPDX-License-Identifier: GPL-2.0-or-later */

/* kill_storms [ROUNDS [SEED]]: storms one after the other through the real src/actuate, on real
 * sysctls of a network namespace of our own that stand for the knobs, killed at a random instant or
 * at a random system call. Then somebody else writes a knob, or nobody; the recovery may be killed
 * as well; and the next start or `pcptuned --restore` puts right what was left. */

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "../actuate/fake.h"
#include "actuate.h"
#include "fileio.h"
#include "journal.h"

#define THEIR_FRACTION 777 /* no value of ours */
#define THEIR_SCALE 6

static unsigned rounds = 500, seed;
static char boot_id[JOURNAL_BOOT_ID_MAX];
static char program[PATH_MAX];

enum phase { STARTING, SETTING, HOLDING, RESTORING, RESTING };

/* What the child says of itself, in memory that outlives it. */
static volatile struct {
    enum phase phase;
    int target[KNOB_MAX]; /* of the set in progress */
    bool started;
} * child;

/* Where the kills fell, as the child's word and what it left on the disk tell. */
enum place {
    AT_REST,
    BEFORE_JOURNAL,
    JOURNAL_TO_KNOB,
    AFTER_KNOB,
    WHILE_HELD,
    RESTORE_BEFORE_KNOB,
    RESTORE_AFTER_KNOB,
    PLACE_MAX
};

static const char *const place_names[PLACE_MAX] = {
    [AT_REST] = "between storms, at the start",
    [BEFORE_JOURNAL] = "in a change, before the journal",
    [JOURNAL_TO_KNOB] = "between journal and knob",
    [AFTER_KNOB] = "after the knob",
    [WHILE_HELD] = "while it was held",
    [RESTORE_BEFORE_KNOB] = "in the restore, before the knob",
    [RESTORE_AFTER_KNOB] = "in the restore, after the knob",
};

static unsigned below(unsigned n)
{
    return (unsigned)random() % n;
}

/* --- in children: no assertion there --- */

static struct actuator *begin(struct outcome *recovered)
{
    const struct actuator_config c = {
        .state_dir = FAKE_STATE, .boot_id = boot_id, .lo = {8, 0}, .hi = {100000, 6}};
    struct actuator *a = NULL;

    if (actuator_open(&c, &a) < 0)
        _exit(1);
    actuator_recover(a, recovered);
    return a;
}

static int next_start(void)
{
    struct outcome o;
    actuator_close(begin(&o));
    return o.kind > OUTCOME_FOREIGN;
}

/* So that some kills fall between two calls. */
static void pause_shortly(void)
{
    (void)nanosleep(&(struct timespec){0, 1}, NULL);
}

static void change(struct actuator *a, const struct knob_values *from, int fraction, int scale)
{
    const struct knob_values v = {{true, true}, {fraction, scale}};
    struct outcome o;

    child->target[KNOB_FRACTION] = fraction;
    child->target[KNOB_SCALE] = scale;
    child->phase = SETTING;
    actuator_set(a, from, &v, &o);
    child->phase = HOLDING;
    if (o.kind != OUTCOME_DONE)
        _exit(1);
    pause_shortly();
}

static struct knob_values found;

static int storms(void)
{
    struct outcome o;
    struct actuator *a = begin(&o);

    for (child->started = true;;) {
        change(a, &found, 100, 2);
        change(a, &found, 4509, 0);
        child->phase = RESTORING;
        actuator_restore(a, &o);
        child->phase = RESTING;
        if (o.kind != OUTCOME_DONE)
            return 1;
        pause_shortly();
    }
}

static int restore_helper(void)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || setenv("RUNTIME_DIRECTORY", FAKE_STATE, 1) < 0)
        return 1;
    execl(program, program, "--restore", "--config=/dev/null", (char *)NULL);
    return 1;
}

/* --- kills --- */

static pid_t spawn(int (*fn)(void), bool traced)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    if (traced && (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0))
        _exit(1);
    _exit(fn());
}

static int reap(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* Kills it there at the latest. False: it has ended before, and well. */
static bool kill_at_call(int (*fn)(void), unsigned stops)
{
    pid_t pid = spawn(fn, true);
    int status = reap(pid);

    assert_true(WIFSTOPPED(status));
    assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL), 0);
    while (stops-- > 0 && WIFSTOPPED(status)) {
        assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
        status = reap(pid);
    }
    if (!WIFSTOPPED(status)) {
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        return false;
    }
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_true(WIFSIGNALED(reap(pid)));
    return true;
}

static void kill_at_instant(void)
{
    const struct timespec moment = {0, below(1000000)};
    pid_t pid = spawn(storms, false);

    while (!child->started)
        sched_yield();
    (void)nanosleep(&moment, NULL);
    assert_int_equal(kill(pid, SIGKILL), 0);
    int status = reap(pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static bool may_trace(void)
{
    pid_t pid = spawn(next_start, true);
    int status = reap(pid);

    if (!WIFSTOPPED(status))
        return false;
    assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
    return reap(pid) == 0;
}

/* --- where it fell, and what is left --- */

static bool journal_left(struct journal *ret)
{
    _cleanup_close_ int dir = open(FAKE_STATE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = dir < 0 ? -ENOENT : journal_read(dir, ret);
    assert_true(r == 0 || r == -ENOENT); /* never torn */
    return r == 0;
}

static enum place in_change(const struct journal *j)
{
    for (enum knob_id id = 0; id < KNOB_MAX; id++) {
        if (!j->knob[id].held || j->knob[id].next != child->target[id])
            return BEFORE_JOURNAL;
        if (fake_get(id) != child->target[id])
            return JOURNAL_TO_KNOB;
    }
    return AFTER_KNOB;
}

static enum place in_restore(const struct knob_values *original)
{
    for (enum knob_id id = 0; id < KNOB_MAX; id++)
        if (fake_get(id) != original->value[id])
            return RESTORE_BEFORE_KNOB;
    return RESTORE_AFTER_KNOB;
}

static enum place where(const struct knob_values *original)
{
    struct journal j = {.boot_id = ""};
    (void)journal_left(&j);
    switch (child->phase) {
    case SETTING:
        return in_change(&j);
    case HOLDING:
        return WHILE_HELD;
    case RESTORING:
        return in_restore(original);
    default:
        return AT_REST;
    }
}

static void check(const struct knob_values *expected, unsigned round, enum place place)
{
    struct journal j;
    for (enum knob_id id = 0; id < KNOB_MAX; id++) {
        int now = fake_get(id);
        if (now != expected->value[id])
            print_error("round %u, seed %u, killed %s: %s is %d, not %d\n", round, seed,
                        place_names[place], knob_table[id].name, now, expected->value[id]);
        assert_int_equal(now, expected->value[id]);
    }
    assert_false(journal_left(&j));
}

static struct {
    unsigned place[PLACE_MAX], at_call, theirs, recovery_killed, by_helper;
} seen;

/* Somebody writes a knob, and `expected` is told. */
static void write_theirs(struct knob_values *expected)
{
    enum knob_id id = (enum knob_id)below(KNOB_MAX);
    expected->value[id] = id == KNOB_FRACTION ? THEIR_FRACTION : THEIR_SCALE;
    fake_set(id, expected->value[id]);
    seen.theirs++;
}

static void one_round(unsigned round, bool traces)
{
    int (*recovery)(void) = below(2) ? next_start : restore_helper;
    struct knob_values expected = found =
        (struct knob_values){{true, true}, {below(2) ? 0 : 400, below(2) ? 5 : 3}};

    fake_set(KNOB_FRACTION, found.value[KNOB_FRACTION]);
    fake_set(KNOB_SCALE, found.value[KNOB_SCALE]);
    child->phase = STARTING;
    child->started = false;
    bool at_call = traces && below(2);
    if (at_call)
        assert_true(kill_at_call(storms, 1 + below(400)));
    else
        kill_at_instant();
    enum place place = where(&found);
    seen.place[place]++;
    seen.at_call += at_call;
    if (below(3) == 0)
        write_theirs(&expected);
    if (traces && below(4) == 0)
        seen.recovery_killed += kill_at_call(next_start, 1 + below(60));
    seen.by_helper += recovery == restore_helper;
    assert_int_equal(reap(spawn(recovery, false)), 0);
    check(&expected, round, place);
}

static void test_kills(void **state)
{
    (void)state;
    fake_reset();
    fake_sysctl(KNOB_FRACTION, FAKE_ANY_INT);
    fake_sysctl(KNOB_SCALE, FAKE_ANY_INT_TOO);
    bool traces = may_trace();
    if (!traces)
        print_message("SKIP: no ptrace here: kills fall at random instants only\n");
    for (unsigned i = 0; i < rounds; i++)
        one_round(i, traces);
    for (enum place p = 0; p < PLACE_MAX; p++)
        print_message("killed %-32s %6u\n", place_names[p], seen.place[p]);
    print_message("%u kills (%u at a system call; seed %u), %u followed by a foreign write, "
                  "%u recoveries killed as well; %u by --restore\n",
                  rounds, seen.at_call, seed, seen.theirs, seen.recovery_killed, seen.by_helper);
    for (enum place p = 0; p < PLACE_MAX && rounds >= 500; p++)
        assert_true(seen.place[p] > 0);
}

static bool find_program(void)
{
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - sizeof("pcptuned"));
    if (n <= 0)
        return false;
    program[n] = '\0';
    memcpy(strrchr(program, '/') + 1, "pcptuned", sizeof("pcptuned"));
    return access(program, X_OK) == 0;
}

static bool read_boot_id(void)
{
    if (read_file("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id)) <= 0)
        return false;
    boot_id[strcspn(boot_id, "\n")] = '\0';
    return true;
}

int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kills)};

    rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : rounds;
    seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : (unsigned)time(NULL);
    srandom(seed);
    child = mmap(NULL, sizeof(*child), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (child == MAP_FAILED || !find_program() || !read_boot_id())
        return 1;
    fake_enter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
