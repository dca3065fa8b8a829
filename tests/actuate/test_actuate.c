/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../base/alloc_count.h"
#include "actuate.h"
#include "fake.h"
#include "fileio.h"
#include "journal.h"

#define BOOT "ee505401-471c-40d1-981e-ce67dbb17684"

static struct actuator_config config(bool dry_run)
{
    return (struct actuator_config){
        .state_dir = FAKE_STATE,
        .boot_id = BOOT,
        .dry_run = dry_run,
        .lo = {[KNOB_FRACTION] = 16, [KNOB_SCALE] = 0},
        .hi = {[KNOB_FRACTION] = 100000, [KNOB_SCALE] = 5},
    };
}

static struct actuator *start(bool dry_run)
{
    struct actuator_config c = config(dry_run);
    struct actuator *a = NULL;
    struct outcome o;
    assert_int_equal(actuator_open(&c, &a), 0);
    actuator_recover(a, &o);
    return a;
}

static struct knob_values fraction(int value)
{
    return (struct knob_values){.has = {[KNOB_FRACTION] = true},
                                .value = {[KNOB_FRACTION] = value}};
}

static struct knob_values pair(int high_fraction, int scale)
{
    return (struct knob_values){.has = {true, true}, .value = {high_fraction, scale}};
}

static struct outcome set(struct actuator *a, int from, int value)
{
    struct knob_values f = fraction(from), v = fraction(value);
    struct outcome o;
    actuator_set(a, &f, &v, &o);
    return o;
}

static struct outcome set_pair(struct actuator *a, struct knob_values from, struct knob_values v)
{
    struct outcome o;
    actuator_set(a, &from, &v, &o);
    return o;
}

static struct outcome restore(struct actuator *a)
{
    struct outcome o;
    actuator_restore(a, &o);
    return o;
}

static struct outcome recover(struct actuator *a)
{
    struct outcome o;
    actuator_recover(a, &o);
    return o;
}

static void expect(const struct outcome *o, enum outcome_kind kind, int error)
{
    if (o->kind != kind || o->error != error)
        print_error("got %s (%d), not %s (%d)\n", outcome_name(o->kind), o->error,
                    outcome_name(kind), error);
    assert_int_equal(o->kind, kind);
    assert_int_equal(o->error, error);
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* --- what is done in which case, for real and in a dry run --- */

#define NOBODY (-1)
struct step {
    enum { END, SET, RESTORE, YIELD } op;
    int foreign; /* somebody writes this before the step */
    int from, value;
    enum outcome_kind kind;
    int error;
    int before, after; /* -1: not reported */
    bool held;         /* afterwards */
    int writes;        /* of this step */
};

#define STEPS 6
static const struct scenario {
    const char *name;
    const char *initial;
    bool apply_only; /* a dry run cannot see that somebody wrote the original */
    struct step steps[STEPS];
} scenarios[] = {
    {"kernel's own choice, and back",
     "0\n",
     false,
     {{SET, NOBODY, 0, 4509, OUTCOME_DONE, 0, 0, 4509, true, 1},
      {RESTORE, NOBODY, 0, 0, OUTCOME_DONE, 0, 4509, 0, false, 1},
      {RESTORE, NOBODY, 0, 0, OUTCOME_UNCHANGED, 0, -1, -1, false, 0}}},
    {"an original of the administrator",
     "400\n",
     false,
     {{SET, NOBODY, 400, 4509, OUTCOME_DONE, 0, 400, 4509, true, 1},
      {SET, NOBODY, 4509, 900, OUTCOME_DONE, 0, 4509, 900, true, 1},
      {RESTORE, NOBODY, 0, 0, OUTCOME_DONE, 0, 900, 400, false, 1}}},
    {"an original outside our own bounds",
     "9\n",
     false,
     {{SET, NOBODY, 9, 100, OUTCOME_DONE, 0, 9, 100, true, 1},
      {RESTORE, NOBODY, 0, 0, OUTCOME_DONE, 0, 100, 9, false, 1}}},
    {"already so",
     "100\n",
     false,
     {{SET, NOBODY, 100, 100, OUTCOME_UNCHANGED, 0, 100, 100, false, 0},
      {RESTORE, NOBODY, 0, 0, OUTCOME_UNCHANGED, 0, -1, -1, false, 0}}},
    {"already ours",
     "0\n",
     false,
     {{SET, NOBODY, 0, 100, OUTCOME_DONE, 0, 0, 100, true, 1},
      {SET, NOBODY, 100, 100, OUTCOME_UNCHANGED, 0, 100, 100, true, 0},
      {SET, NOBODY, 0 /* stale */, 100, OUTCOME_UNCHANGED, 0, 100, 100, true, 0}}},
    {"not what was believed",
     "200\n",
     false,
     {{SET, NOBODY, 0, 100, OUTCOME_FOREIGN, 0, 200, -1, false, 0},
      {SET, NOBODY, 0, 200, OUTCOME_FOREIGN, 0, 200, -1, false, 0}}},
    {"changed since it was read",
     "0\n",
     false,
     {{SET, 300, 0, 100, OUTCOME_FOREIGN, 0, 300, -1, false, 0}}},
    {"taken from us, set",
     "0\n",
     false,
     {{SET, NOBODY, 0, 100, OUTCOME_DONE, 0, 0, 100, true, 1},
      {SET, 300, 100, 200, OUTCOME_FOREIGN, 0, 300, -1, true, 0},
      {SET, NOBODY, 300 /* knowing it */, 200, OUTCOME_FOREIGN, 0, 300, -1, true, 0},
      {RESTORE, NOBODY, 0, 0, OUTCOME_FOREIGN, 0, 300, 300, false, 0},
      {RESTORE, NOBODY, 0, 0, OUTCOME_UNCHANGED, 0, -1, -1, false, 0}}},
    {"taken from us, to what we want next",
     "0\n",
     false,
     {{SET, NOBODY, 0, 100, OUTCOME_DONE, 0, 0, 100, true, 1},
      {SET, 200, 100, 200, OUTCOME_FOREIGN, 0, 200, -1, true, 0}}},
    {"taken from us, to an older value of ours",
     "0\n",
     false,
     {{SET, NOBODY, 0, 100, OUTCOME_DONE, 0, 0, 100, true, 1},
      {SET, NOBODY, 100, 200, OUTCOME_DONE, 0, 100, 200, true, 1},
      {RESTORE, 100, 0, 0, OUTCOME_FOREIGN, 0, 100, 100, false, 0}}},
    {"the original written by somebody else",
     "0\n",
     true,
     {{SET, NOBODY, 0, 100, OUTCOME_DONE, 0, 0, 100, true, 1},
      {SET, 0, 100, 200, OUTCOME_FOREIGN, 0, 0, -1, true, 0},
      {RESTORE, NOBODY, 0, 0, OUTCOME_UNCHANGED, 0, 0, 0, false, 0}}},
    {"yielded, then taken again: theirs is the original",
     "0\n",
     false,
     {{SET, NOBODY, 0, 100, OUTCOME_DONE, 0, 0, 100, true, 1},
      {YIELD, 300, 0, 0, OUTCOME_UNCHANGED, 0, -1, -1, false, 0},
      {RESTORE, NOBODY, 0, 0, OUTCOME_UNCHANGED, 0, -1, -1, false, 0},
      {SET, NOBODY, 300, 100, OUTCOME_DONE, 0, 300, 100, true, 1},
      {RESTORE, NOBODY, 0, 0, OUTCOME_DONE, 0, 100, 300, false, 1}}},
    {"set to the original",
     "20\n",
     false,
     {{SET, NOBODY, 20, 100, OUTCOME_DONE, 0, 20, 100, true, 1},
      {SET, NOBODY, 100, 20, OUTCOME_DONE, 0, 100, 20, true, 1},
      {SET, NOBODY, 20, 50, OUTCOME_DONE, 0, 20, 50, true, 1},
      {SET, NOBODY, 50, 20, OUTCOME_DONE, 0, 50, 20, true, 1},
      {RESTORE, NOBODY, 0, 0, OUTCOME_UNCHANGED, 0, 20, 20, false, 0}}},
    {"bounds of the policy",
     "0\n",
     false,
     {{SET, NOBODY, 0, 15, OUTCOME_REFUSED, -ERANGE, 0, -1, false, 0},
      {SET, NOBODY, 0, 100001, OUTCOME_REFUSED, -ERANGE, 0, -1, false, 0},
      {SET, NOBODY, 0, 100000, OUTCOME_DONE, 0, 0, 100000, true, 1},
      {SET, NOBODY, 100000, 16, OUTCOME_DONE, 0, 100000, 16, true, 1},
      {SET, NOBODY, 16, 15, OUTCOME_REFUSED, -ERANGE, 16, -1, true, 0}}},
    {"bounds of the kernel",
     "50\n",
     false,
     {{SET, NOBODY, 50, 7, OUTCOME_REFUSED, -ERANGE, 50, -1, false, 0},
      {SET, NOBODY, 50, -1, OUTCOME_REFUSED, -ERANGE, 50, -1, false, 0},
      {SET, NOBODY, 50, INT_MIN, OUTCOME_REFUSED, -ERANGE, 50, -1, false, 0},
      {SET, NOBODY, 50, INT_MAX, OUTCOME_REFUSED, -ERANGE, 50, -1, false, 0},
      {SET, NOBODY, 50, 0, OUTCOME_REFUSED, -ERANGE, 50, -1, false, 0}}},
    {"an original that could not be given back",
     "5\n",
     false,
     {{SET, NOBODY, 5, 100, OUTCOME_REFUSED, -ERANGE, 5, -1, false, 0}}},
    {"no newline", "0", false, {{SET, NOBODY, 0, 100, OUTCOME_DONE, 0, 0, 100, true, 1}}},
#define UNREADABLE(text)                                                                           \
    {                                                                                              \
        "unreadable: " text, text, false,                                                          \
        {                                                                                          \
            {                                                                                      \
                SET, NOBODY, 0, 100, OUTCOME_FAILED, -EBADMSG, -1, -1, false, 0                    \
            }                                                                                      \
        }                                                                                          \
    }
    UNREADABLE(""),
    UNREADABLE("\n"),
    UNREADABLE("0\n\n"),
    UNREADABLE("abc\n"),
    UNREADABLE("-1\n"),
    UNREADABLE("1 2\n"),
    UNREADABLE("2147483648\n"),
    {"too long",
     "0000000000000000000000000000000000000000000\n",
     false,
     {{SET, NOBODY, 0, 100, OUTCOME_FAILED, -EFBIG, -1, -1, false, 0}}},
};

static void check_value(const struct knob_values *v, int expected)
{
    assert_int_equal(v->has[KNOB_FRACTION], expected >= 0);
    if (expected >= 0)
        assert_int_equal(v->value[KNOB_FRACTION], expected);
    assert_false(v->has[KNOB_SCALE]);
}

static void check_times(const struct outcome *o, bool wrote)
{
    assert_true(o->started > 0 && o->started <= o->ended);
    if (wrote)
        assert_true(o->started <= o->written && o->written <= o->ended);
    else
        assert_int_equal(o->written, 0);
}

static void run_step(struct actuator *a, const struct step *s, bool dry_run)
{
    uint64_t writes = actuator_writes(a);
    struct outcome o = {.kind = OUTCOME_UNCHANGED};

    if (s->foreign != NOBODY)
        fake_set(KNOB_FRACTION, s->foreign);
    if (s->op == YIELD) {
        actuator_yield(a, KNOB_FRACTION);
    } else {
        o = s->op == SET ? set(a, s->from, s->value) : restore(a);
        assert_int_equal(o.action, s->op == SET ? PLAN_SET : PLAN_RESTORE);
        assert_int_equal(o.simulated, dry_run);
        check_times(&o, s->writes > 0 && !dry_run);
        assert_int_equal(o.original.has[KNOB_FRACTION], s->held);
        check_value(&o.before, s->before);
        check_value(&o.after, s->after);
    }
    expect(&o, s->kind, s->error);
    assert_int_equal(actuator_writes(a) - writes, dry_run ? 0 : s->writes);
    assert_int_equal(exists(FAKE_JOURNAL), s->held && !dry_run);
}

static void run_scenario(const struct scenario *sc, bool dry_run)
{
    fake_reset();
    fake_file(KNOB_FRACTION, sc->initial);
    struct actuator *a = start(dry_run);
    char text[64], expected[64];

    (void)snprintf(expected, sizeof(expected), "%s", sc->initial);
    for (const struct step *s = sc->steps; s < sc->steps + STEPS && s->op != END; s++) {
        print_message("%s, step %d%s\n", sc->name, (int)(s - sc->steps) + 1,
                      dry_run ? ", dry run" : "");
        run_step(a, s, dry_run);
        if (s->foreign != NOBODY)
            (void)snprintf(expected, sizeof(expected), "%d\n", s->foreign);
        if (s->writes > 0 && !dry_run)
            (void)snprintf(expected, sizeof(expected), "%d\n", s->after);
        assert_true(read_file(knob_table[KNOB_FRACTION].path, text, sizeof(text)) >= 0);
        assert_string_equal(text, expected);
    }
    assert_int_equal(exists(FAKE_STATE), !dry_run);
    actuator_close(a);
}

static void test_scenarios(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
        run_scenario(&scenarios[i], false);
        if (!scenarios[i].apply_only)
            run_scenario(&scenarios[i], true);
    }
}

static void test_no_belief(void **state)
{
    (void)state;
    fake_reset();
    fake_file(KNOB_FRACTION, "0\n");
    struct actuator *a = start(false);
    struct outcome o = set_pair(a, (struct knob_values){0}, fraction(100));
    expect(&o, OUTCOME_FOREIGN, 0);
    o = set_pair(a, fraction(0), (struct knob_values){0}); /* nothing is wanted */
    expect(&o, OUTCOME_UNCHANGED, 0);
    assert_int_equal(actuator_writes(a), 0);
    actuator_close(a);
}

/* --- errors of the system --- */

static void test_vanished_knob(void **state)
{
    (void)state;
    fake_reset();
    struct actuator *a = start(false);
    struct outcome o = set(a, 0, 100);
    expect(&o, OUTCOME_GONE, -ENOENT);

    fake_file(KNOB_FRACTION, "0\n");
    o = set(a, 0, 100);
    expect(&o, OUTCOME_DONE, 0);
    fake_reset(); /* takes the journal as well, as the end of a RuntimeDirectory= does */
    o = restore(a);
    expect(&o, OUTCOME_GONE, -ENOENT);
    assert_true(o.original.has[KNOB_FRACTION]);
    actuator_close(a);
}

static void test_read_only_knob(void **state)
{
    (void)state;
    fake_reset();
    fake_file(KNOB_FRACTION, "0\n");
    fake_read_only(KNOB_FRACTION);

    struct actuator *a = start(false);
    struct outcome o = set(a, 0, 100);
    expect(&o, OUTCOME_REFUSED, -EROFS);
    assert_false(exists(FAKE_JOURNAL));
    assert_false(o.original.has[KNOB_FRACTION]);
    assert_int_equal(actuator_writes(a), 0);
    actuator_close(a);

    a = start(true); /* never opens it for writing */
    o = set(a, 0, 100);
    expect(&o, OUTCOME_DONE, 0);
    o = restore(a);
    expect(&o, OUTCOME_DONE, 0);
    actuator_close(a);
}

static void test_refused_by_kernel(void **state)
{
    (void)state;
    fake_reset();
    fake_sysctl(KNOB_FRACTION, FAKE_1_TO_255);
    fake_set(KNOB_FRACTION, 64);
    struct actuator *a = start(false);

    struct outcome o = set(a, 64, 300);
    expect(&o, OUTCOME_REFUSED, -EINVAL);
    assert_false(o.original.has[KNOB_FRACTION]);
    assert_false(exists(FAKE_JOURNAL));
    assert_int_equal(fake_get(KNOB_FRACTION), 64);

    o = set(a, 64, 100);
    expect(&o, OUTCOME_DONE, 0);
    o = set(a, 100, 300); /* refused while held: still what it was, and ours */
    expect(&o, OUTCOME_REFUSED, -EINVAL);
    assert_true(exists(FAKE_JOURNAL));
    assert_int_equal(fake_get(KNOB_FRACTION), 100);
    o = restore(a);
    expect(&o, OUTCOME_DONE, 0);
    assert_int_equal(fake_get(KNOB_FRACTION), 64);
    actuator_close(a);
}

static void fill_state_fs(void)
{
    static const char zeros[4096];
    _cleanup_close_ int fd =
        open(FAKE_RUN "/fill", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    while (write(fd, zeros, sizeof(zeros)) > 0)
        ;
    assert_int_equal(errno, ENOSPC);
}

static void test_disk_full(void **state)
{
    (void)state;
    fake_reset();
    fake_file(KNOB_FRACTION, "0\n");
    struct actuator *a = start(false);

    fill_state_fs();
    struct outcome o = set(a, 0, 100);
    expect(&o, OUTCOME_FAILED, -ENOSPC);
    assert_int_equal(fake_get(KNOB_FRACTION), 0);
    assert_int_equal(actuator_writes(a), 0);
    assert_false(o.original.has[KNOB_FRACTION]);

    assert_int_equal(unlink(FAKE_RUN "/fill"), 0);
    o = set(a, 0, 100);
    expect(&o, OUTCOME_DONE, 0);
    fill_state_fs();
    o = set(a, 100, 200);
    expect(&o, OUTCOME_FAILED, -ENOSPC);
    assert_int_equal(fake_get(KNOB_FRACTION), 100);
    o = restore(a); /* a full disk never keeps us from going back */
    expect(&o, OUTCOME_DONE, 0);
    assert_int_equal(fake_get(KNOB_FRACTION), 0);
    assert_false(exists(FAKE_JOURNAL));
    actuator_close(a);
}

/* --- two knobs --- */

static void test_two_knobs(void **state)
{
    (void)state;
    fake_reset();
    fake_file(KNOB_FRACTION, "0\n");
    fake_file(KNOB_SCALE, "5\n");
    struct actuator *a = start(false);

    struct outcome o = set_pair(a, pair(0, 5), pair(100, 1));
    expect(&o, OUTCOME_DONE, 0);
    assert_int_equal(actuator_writes(a), 2);
    assert_int_equal(fake_get(KNOB_FRACTION), 100);
    assert_int_equal(fake_get(KNOB_SCALE), 1);
    assert_true(knob_values_equal(&o.original, &(struct knob_values){{true, true}, {0, 5}}));

    o = set_pair(a, pair(100, 1), pair(100, 0)); /* one is right already */
    expect(&o, OUTCOME_DONE, 0);
    assert_int_equal(actuator_writes(a), 3);

    fake_set(KNOB_SCALE, 4);
    o = restore(a); /* one goes back, the other is somebody's */
    expect(&o, OUTCOME_FOREIGN, 0);
    assert_int_equal(o.knob, KNOB_SCALE);
    assert_int_equal(fake_get(KNOB_FRACTION), 0);
    assert_int_equal(fake_get(KNOB_SCALE), 4);
    assert_false(exists(FAKE_JOURNAL));
    actuator_close(a);
}

static void test_second_knob_fails(void **state)
{
    (void)state;
    fake_reset();
    fake_file(KNOB_FRACTION, "0\n");
    fake_file(KNOB_SCALE, "5\n");
    fake_read_only(KNOB_SCALE);
    struct actuator *a = start(false);

    struct outcome o = set_pair(a, pair(0, 5), pair(100, 1));
    expect(&o, OUTCOME_REFUSED, -EROFS);
    assert_int_equal(o.knob, KNOB_SCALE);
    assert_true(knob_values_equal(&o.original, &(struct knob_values){{true, false}, {0, 0}}));
    assert_true(exists(FAKE_JOURNAL));
    o = restore(a);
    expect(&o, OUTCOME_DONE, 0);
    assert_int_equal(fake_get(KNOB_FRACTION), 0);
    actuator_close(a);
}

static void test_first_knob_fails(void **state)
{
    (void)state;
    fake_reset();
    fake_file(KNOB_FRACTION, "30\n");
    fake_file(KNOB_SCALE, "5\n");
    struct actuator *a = start(false);

    struct outcome o = set_pair(a, pair(0, 5), pair(100, 1));
    expect(&o, OUTCOME_FOREIGN, 0);
    assert_int_equal(o.knob, KNOB_FRACTION);
    assert_int_equal(fake_get(KNOB_SCALE),
                     5); /* a plan that does not hold is not half carried out */
    assert_int_equal(actuator_writes(a), 0);
    actuator_close(a);
}

static void test_one_knob_cannot_go_back(void **state)
{
    (void)state;
    fake_reset();
    fake_file(KNOB_FRACTION, "0\n");
    fake_file(KNOB_SCALE, "5\n");
    struct actuator *a = start(false);

    struct outcome o = set_pair(a, pair(0, 5), pair(100, 1));
    fake_read_only(KNOB_FRACTION);
    o = restore(a);
    expect(&o, OUTCOME_REFUSED, -EROFS);
    assert_int_equal(o.knob, KNOB_FRACTION);
    assert_true(knob_values_equal(&o.original, &(struct knob_values){{true, false}, {0, 0}}));
    assert_int_equal(fake_get(KNOB_SCALE), 5); /* the other one does */
    assert_true(exists(FAKE_JOURNAL));
    actuator_close(a);

    fake_file(KNOB_FRACTION, "100\n"); /* --restore, outside of the sandbox */
    struct actuator_config c = config(false);
    assert_int_equal(actuator_open(&c, &a), 0);
    o = recover(a);
    expect(&o, OUTCOME_DONE, 0);
    assert_int_equal(fake_get(KNOB_FRACTION), 0);
    assert_false(exists(FAKE_JOURNAL));
    actuator_close(a);
}

/* --- recovery --- */

static struct actuator *unrecovered(void)
{
    struct actuator_config c = config(false);
    struct actuator *a = NULL;
    assert_int_equal(actuator_open(&c, &a), 0);
    return a;
}

static void leave_journal(const char *boot_id, int original, int last, int next)
{
    struct journal j = {.knob = {[KNOB_FRACTION] = {true, original, last, next}}};
    (void)snprintf(j.boot_id, sizeof(j.boot_id), "%s", boot_id);
    mkdir(FAKE_STATE, 0755);
    _cleanup_close_ int fd = open(FAKE_STATE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(journal_save(fd, &j), 0);
}

static void test_recover(void **state)
{
    (void)state;
    static const struct {
        int original, last, next, now;
        enum outcome_kind kind;
        int value;
    } table[] = {
        /* killed around the first write */
        {0, 0, 100, 0, OUTCOME_UNCHANGED, 0},
        {0, 0, 100, 100, OUTCOME_DONE, 0},
        {0, 0, 100, 50, OUTCOME_FOREIGN, 50},
        /* around the second */
        {0, 100, 200, 100, OUTCOME_DONE, 0},
        {0, 100, 200, 200, OUTCOME_DONE, 0},
        {0, 100, 200, 0, OUTCOME_UNCHANGED, 0},
        {0, 100, 200, 8, OUTCOME_FOREIGN, 8},
        /* originals of other kinds */
        {400, 400, 200, 200, OUTCOME_DONE, 400},
        {9, 100, 200, 200, OUTCOME_DONE, 9},
        {INT_MAX, 100, 200, 200, OUTCOME_DONE, INT_MAX},
        {400, 200, 400, 400, OUTCOME_UNCHANGED, 400},
    };
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        fake_reset();
        fake_file(KNOB_FRACTION, "");
        fake_set(KNOB_FRACTION, table[i].now);
        leave_journal(BOOT, table[i].original, table[i].last, table[i].next);
        struct actuator *a = unrecovered();
        struct outcome o = recover(a);
        expect(&o, table[i].kind, 0);
        assert_int_equal(o.action, PLAN_RESTORE);
        assert_int_equal(o.before.value[KNOB_FRACTION], table[i].now);
        assert_int_equal(fake_get(KNOB_FRACTION), table[i].value);
        assert_int_equal(actuator_writes(a), table[i].kind == OUTCOME_DONE);
        assert_false(exists(FAKE_JOURNAL));
        o = recover(a); /* again: nothing */
        expect(&o, OUTCOME_UNCHANGED, 0);
        actuator_close(a);
    }
}

static void test_recover_nothing(void **state)
{
    (void)state;
    fake_reset();
    struct actuator *a = unrecovered();
    struct outcome o = recover(a);
    expect(&o, OUTCOME_UNCHANGED, 0);
    actuator_close(a);
}

static void test_recover_other_boot(void **state)
{
    (void)state;
    fake_reset();
    fake_file(KNOB_FRACTION, "200\n");
    leave_journal("00000000-0000-0000-0000-000000000000", 0, 100, 200);
    struct actuator *a = unrecovered();
    struct outcome o = recover(a);
    expect(&o, OUTCOME_UNCHANGED, -ESTALE);
    assert_int_equal(fake_get(KNOB_FRACTION), 200);
    assert_int_equal(actuator_writes(a), 0);
    assert_false(exists(FAKE_JOURNAL));
    o = set(a, 200, 100);
    expect(&o, OUTCOME_DONE, 0);
    actuator_close(a);
}

static void test_recover_torn_at_every_byte(void **state)
{
    (void)state;
    fake_reset();
    fake_file(KNOB_FRACTION, "200\n");
    leave_journal(BOOT, 0, 100, 200);
    struct stat st;
    assert_int_equal(stat(FAKE_JOURNAL, &st), 0);

    for (off_t len = 0; len < st.st_size; len++) {
        leave_journal(BOOT, 0, 100, 200);
        assert_int_equal(truncate(FAKE_JOURNAL, len), 0);
        struct actuator *a = unrecovered();
        struct outcome o = recover(a);
        expect(&o, OUTCOME_UNCHANGED, -EBADMSG);
        assert_int_equal(fake_get(KNOB_FRACTION), 200);
        assert_false(exists(FAKE_JOURNAL));
        actuator_close(a);
    }
}

/* The journal of a predecessor holds the only copy of the original. */
static void test_nothing_before_recover(void **state)
{
    (void)state;
    fake_reset();
    fake_file(KNOB_FRACTION, "200\n");
    leave_journal(BOOT, 0, 100, 200);
    struct actuator *a = unrecovered();
    struct outcome o = set(a, 200, 300);
    expect(&o, OUTCOME_FAILED, -EUCLEAN);
    o = restore(a);
    expect(&o, OUTCOME_FAILED, -EUCLEAN);
    actuator_yield(a, KNOB_FRACTION);
    assert_true(exists(FAKE_JOURNAL));
    o = recover(a);
    expect(&o, OUTCOME_DONE, 0);
    actuator_close(a);
}

static void test_recover_unreadable(void **state)
{
    (void)state;
    fake_reset();
    fake_file(KNOB_FRACTION, "200\n");
    struct actuator *a = unrecovered();
    assert_int_equal(mkdir(FAKE_JOURNAL, 0755), 0);
    struct outcome o = recover(a);
    expect(&o, OUTCOME_FAILED, -EISDIR);
    o = set(a, 200, 300);
    expect(&o, OUTCOME_FAILED, -EUCLEAN);
    assert_int_equal(rmdir(FAKE_JOURNAL), 0);
    o = recover(a);
    expect(&o, OUTCOME_UNCHANGED, 0);
    actuator_close(a);
}

static void test_recover_vanished_knob(void **state)
{
    (void)state;
    fake_reset();
    leave_journal(BOOT, 0, 100, 200);
    struct actuator *a = unrecovered();
    struct outcome o = recover(a);
    expect(&o, OUTCOME_GONE, -ENOENT);
    assert_true(exists(FAKE_JOURNAL));
    actuator_close(a);

    fake_file(KNOB_FRACTION, "200\n");
    a = unrecovered();
    o = recover(a);
    expect(&o, OUTCOME_DONE, 0);
    assert_int_equal(fake_get(KNOB_FRACTION), 0);
    actuator_close(a);
}

/* A running daemon's journal is nothing to a dry run beside it. */
static void test_dry_run_beside_owner(void **state)
{
    (void)state;
    fake_reset();
    fake_file(KNOB_FRACTION, "0\n");
    struct actuator *owner = start(false);
    struct outcome o = set(owner, 0, 100);
    expect(&o, OUTCOME_DONE, 0);

    struct actuator *dry = start(true);
    o = recover(dry);
    expect(&o, OUTCOME_UNCHANGED, 0);
    assert_true(o.simulated);
    o = set(dry, 100, 200);
    expect(&o, OUTCOME_DONE, 0);
    o = restore(dry);
    expect(&o, OUTCOME_DONE, 0);
    actuator_close(dry);

    assert_int_equal(fake_get(KNOB_FRACTION), 100);
    assert_true(exists(FAKE_JOURNAL));
    o = restore(owner);
    expect(&o, OUTCOME_DONE, 0);
    assert_int_equal(fake_get(KNOB_FRACTION), 0);
    actuator_close(owner);
}

/* --- the state directory and the mode --- */

static int open_error(const struct actuator_config *c)
{
    struct actuator *a = NULL;
    int r = actuator_open(c, &a);
    assert_null(r < 0 ? (void *)a : NULL);
    actuator_close(a);
    return r;
}

static void test_state_dir_made(void **state)
{
    (void)state;
    fake_reset();
    struct actuator_config c = config(false);
    mode_t mask = umask(0);
    struct stat st;
    assert_int_equal(open_error(&c), 0);
    umask(mask);
    assert_int_equal(stat(FAKE_STATE, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    c.state_dir = FAKE_RUN "/no/such";
    assert_int_equal(open_error(&c), -ENOENT);
}

static void test_state_dir_refused(void **state)
{
    (void)state;
    fake_reset();
    struct actuator_config c = config(false);

    assert_int_equal(symlink("/tmp", FAKE_STATE), 0);
    int r = open_error(&c);
    assert_true(r == -ELOOP || r == -ENOTDIR);
    unlink(FAKE_STATE);
    assert_int_equal(symlink(FAKE_RUN "/dangling", FAKE_STATE), 0);
    r = open_error(&c);
    assert_true(r == -ELOOP || r == -ENOTDIR);
    assert_false(exists(FAKE_RUN "/dangling"));
    unlink(FAKE_STATE);
    close(open(FAKE_STATE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_int_equal(open_error(&c), -ENOTDIR);
    unlink(FAKE_STATE);

    assert_int_equal(mkdir(FAKE_STATE, 0755), 0);
    for (mode_t mode = 0; mode <= 0777; mode++) {
        assert_int_equal(chmod(FAKE_STATE, mode | 0700), 0);
        assert_int_equal(open_error(&c), (mode & 022) ? -EPERM : 0);
    }
    unlink(FAKE_STATE "/lock");
    assert_int_equal(symlink("/dev/null", FAKE_STATE "/lock"), 0);
    assert_int_equal(chmod(FAKE_STATE, 0755), 0);
    assert_int_equal(open_error(&c), -ELOOP);
}

static void test_state_dir_of_another_user(void **state)
{
    (void)state;
    fake_reset();
    struct actuator_config c = config(false);
    assert_int_equal(mkdir(FAKE_STATE, 0755), 0);
    if (chown(FAKE_STATE, 1, 1) < 0) {
        print_message("SKIP: no second user here (%s): foreign state directory not tested\n",
                      strerror(errno));
        skip();
    }
    assert_int_equal(open_error(&c), -EPERM);
}

static void test_two_actuators(void **state)
{
    (void)state;
    fake_reset();
    struct actuator_config c = config(false);
    struct actuator *a = start(false);
    assert_int_equal(open_error(&c), -EBUSY);
    actuator_close(a);
    assert_int_equal(open_error(&c), 0);
}

static void test_bad_boot_id(void **state)
{
    (void)state;
    fake_reset();
    struct actuator_config c = config(false);
    static const char *const bad[] = {"", "x", BOOT "\n", BOOT BOOT};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        c.boot_id = bad[i];
        assert_int_equal(open_error(&c), -EINVAL);
    }
    assert_false(exists(FAKE_STATE));
}

static void test_configure(void **state)
{
    (void)state;
    fake_reset();
    fake_file(KNOB_FRACTION, "0\n");
    struct actuator_config wet = config(false), dry = config(true);
    struct actuator *a = start(false), *b = start(true);

    struct outcome o = set(b, 0, 50); /* simulated ... */
    assert_int_equal(actuator_configure(b, &wet), -EBUSY);
    o = set(b, 0, 60);
    assert_true(o.simulated);

    wet.lo[KNOB_FRACTION] = 1000;
    assert_int_equal(actuator_configure(a, &wet), 0);
    o = set(a, 0, 100);
    expect(&o, OUTCOME_REFUSED, -ERANGE);
    o = set(a, 0, 1000);
    expect(&o, OUTCOME_DONE, 0);
    assert_int_equal(actuator_configure(a, &dry), -EBUSY); /* held: restore first */
    o = restore(a);
    expect(&o, OUTCOME_DONE, 0);
    assert_int_equal(actuator_configure(a, &dry), 0); /* and lets go of the lock */

    assert_int_equal(actuator_configure(b, &wet), 0);
    o = set(b, 0, 2000);
    expect(&o, OUTCOME_FAILED, -EUCLEAN);
    o = recover(b);
    expect(&o, OUTCOME_UNCHANGED, 0);
    assert_false(o.original.has[KNOB_FRACTION]); /* ... and forgotten */
    o = set(b, 0, 2000);
    expect(&o, OUTCOME_DONE, 0);
    assert_false(o.simulated);
    actuator_close(a);
    actuator_close(b);
}

/* --- budgets --- */

static int open_descriptors(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void test_no_descriptor_leaks(void **state)
{
    (void)state;
    fake_reset();
    fake_file(KNOB_FRACTION, "0\n");
    int before = open_descriptors();
    struct actuator *a = start(false);
    int held = open_descriptors();
    struct actuator_config c = config(false);

    assert_int_equal(open_error(&c), -EBUSY);
    set(a, 0, 100);
    set(a, 0, 5);
    restore(a);
    recover(a);
    assert_int_equal(open_descriptors(), held);
    actuator_close(a);
    actuator_close(NULL);
    assert_int_equal(open_descriptors(), before);

    unlink(FAKE_STATE "/lock");
    assert_int_equal(symlink("/dev/null", FAKE_STATE "/lock"), 0);
    open_error(&c);
    assert_int_equal(chmod(FAKE_STATE, 0777), 0);
    open_error(&c);
    assert_int_equal(open_descriptors(), before);
}

static void test_no_allocation_after_open(void **state)
{
    (void)state;
    fake_reset();
    if (alloc_count() == UINT64_MAX) {
        print_message("SKIP: allocations cannot be counted under a sanitizer\n");
        skip();
    }
    fake_file(KNOB_FRACTION, "0\n");
    leave_journal(BOOT, 0, 100, 200);
    struct actuator *a = unrecovered();
    struct actuator_config c = config(false);
    uint64_t before = alloc_count();
    assert_true(before > 0);

    recover(a);
    set(a, 0, 100);
    set(a, 100, 5);
    set(a, 7, 200);
    actuator_configure(a, &c);
    restore(a);
    set(a, 0, 100);
    actuator_yield(a, KNOB_FRACTION);
    assert_int_equal(actuator_writes(a), 4);
    assert_true(alloc_count() == before);
    actuator_close(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenarios),
        cmocka_unit_test(test_no_belief),
        cmocka_unit_test(test_vanished_knob),
        cmocka_unit_test(test_read_only_knob),
        cmocka_unit_test(test_refused_by_kernel),
        cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_two_knobs),
        cmocka_unit_test(test_second_knob_fails),
        cmocka_unit_test(test_first_knob_fails),
        cmocka_unit_test(test_one_knob_cannot_go_back),
        cmocka_unit_test(test_recover),
        cmocka_unit_test(test_recover_nothing),
        cmocka_unit_test(test_recover_other_boot),
        cmocka_unit_test(test_recover_torn_at_every_byte),
        cmocka_unit_test(test_nothing_before_recover),
        cmocka_unit_test(test_recover_unreadable),
        cmocka_unit_test(test_recover_vanished_knob),
        cmocka_unit_test(test_dry_run_beside_owner),
        cmocka_unit_test(test_state_dir_made),
        cmocka_unit_test(test_state_dir_refused),
        cmocka_unit_test(test_state_dir_of_another_user),
        cmocka_unit_test(test_two_actuators),
        cmocka_unit_test(test_bad_boot_id),
        cmocka_unit_test(test_configure),
        cmocka_unit_test(test_no_descriptor_leaks),
        cmocka_unit_test(test_no_allocation_after_open),
    };
    fake_enter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
