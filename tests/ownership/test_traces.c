/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The real src/actuate, walked through runs of ownership.pml that spin draws: after each step of
 * the model, the knob and the journal must be what the model says, and each call must return what
 * the model says. */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "../actuate/fake.h"
#include "journal.h"
#include "macros.h"
#include "plan.h"
#include "steps.h"

#define RUNS 200
#define MORE_OF_ALL "-DTRACES -DKILLS=20 -DFOREIGN=30 -DREBOOTS=2 -DFAULTS=40 -DSTORMS=5"

static const char *const boots[] = {"ee505401-471c-40d1-981e-ce67dbb17684", "0-1"};
static const int values[] = {0, 100, 4509, 777}; /* of the model's 0, 1, 2, 3 */
static const enum outcome_kind kinds[] = {OUTCOME_UNCHANGED, OUTCOME_DONE, OUTCOME_FOREIGN,
                                          OUTCOME_FAILED};

enum { DAEMON, HELPER, OTHERS };

struct line {
    int who;
    char name[24];
    int arg, second;
    bool has_state;
    int knob, held, boot, original, last, next;
};

struct walk {
    struct stepper process[2];
    bool killed[2];
    struct step_report before[2]; /* the step that each stands before, or its return */
    struct recovery {
        bool runs, failed, again; /* failed: one in its write */
    } recovery[2];
    int boot;
};

/* What the runs have to contain, all together: else they show too little. */
static struct kind {
    const char *name;
    int arg; /* -1: any */
    unsigned seen;
} contained[] = {
    {"actuator_open", 0, 0},    {"actuator_open", 1, 0},
    {"journal_read", 0, 0},     {"journal_read", 1, 0},
    {"read_knob", 0, 0},        {"read_knob", 1, 0},
    {"journal_save", 0, 0},     {"journal_save", 1, 0},
    {"write_knob", 0, 0},       {"write_knob", 1, 0},
    {"write_knob", 2, 0},       {"actuator_set", -1, 0},
    {"actuator_restore", 0, 0}, {"actuator_recover", 0, 0},
    {"actuator_recover", 1, 0}, {"actuator_recover", 2, 0},
    {"actuator_yield", 0, 0},   {"return", 0, 0},
    {"return", 1, 0},           {"return", 2, 0},
    {"return", 3, 0},           {"foreign_write", -1, 0},
    {"kill", DAEMON, 0},        {"kill", HELPER, 0},
    {"reboot", 0, 0},           {"gone", 0, 0},
    {"put back again", 0, 0},   {"put back again", 1, 0},
    {"put back again", 2, 0},   {"put back again", 3, 0},
};

static void count(const char *name, int arg)
{
    for (size_t i = 0; i < ARRAY_SIZE(contained); i++) {
        struct kind *k = &contained[i];
        if (strcmp(k->name, name) == 0 && (k->arg < 0 || k->arg == arg)) {
            k->seen++;
            return;
        }
    }
    fail_msg("the model has a step that this test does not know: %s %d", name, arg);
}

/* How a recovery ends that is repeated because the knob could not be written. */
static void count_recovery(struct recovery *r, const struct line *l)
{
    if (strcmp(l->name, "actuator_recover") == 0) {
        r->runs = true;
        r->again = r->failed;
    } else if (strcmp(l->name, "write_knob") == 0) {
        r->failed |= r->runs && l->arg != 0;
    } else if (strcmp(l->name, "return") == 0 && r->runs) {
        if (r->again)
            count("put back again", l->arg);
        r->runs = false;
        r->failed &= kinds[l->arg] == OUTCOME_FAILED;
    } else if (strcmp(l->name, "gone") == 0) {
        *r = (struct recovery){false};
    }
}

/* False: a line that is not for us. */
static bool parse(const char *text, struct line *ret)
{
    struct line l = {.arg = 0};
    const char *state = strchr(text, '|');

    if (sscanf(text, " @ %d %23s %d %d", &l.who, l.name, &l.arg, &l.second) < 2)
        return false;
    l.has_state = state != NULL;
    if (state)
        assert_int_equal(sscanf(state, "| %d %d %d %d %d %d", &l.knob, &l.held, &l.boot,
                                &l.original, &l.last, &l.next),
                         6);
    *ret = l;
    return true;
}

/* --- the world beside the processes --- */

static void remove_journal(void)
{
    assert_true(unlink(FAKE_JOURNAL) == 0 || errno == ENOENT);
}

static void kill_all(struct walk *w)
{
    for (int who = DAEMON; who <= HELPER; who++)
        w->killed[who] = w->process[who].pid != 0;
}

static void others(struct walk *w, const struct line *l)
{
    if (strcmp(l->name, "foreign_write") == 0) {
        fake_set(KNOB_FRACTION, values[l->arg]);
    } else if (strcmp(l->name, "kill") == 0) {
        w->killed[l->arg] = true;
    } else {
        assert_string_equal(l->name, "reboot");
        fake_set(KNOB_FRACTION, 0);
        w->boot = !w->boot;
        kill_all(w);
        if (!l->held)
            remove_journal();
    }
}

static void compare(const struct line *l)
{
    struct journal j = {.boot_id = ""};
    const struct journal_entry *e = &j.knob[KNOB_FRACTION];
    _cleanup_close_ int dir = open(FAKE_STATE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = dir < 0 ? -ENOENT : journal_read(dir, &j);

    assert_int_equal(r, l->held ? 0 : -ENOENT);
    assert_int_equal(fake_get(KNOB_FRACTION), values[l->knob]);
    if (!l->held)
        return;
    assert_string_equal(j.boot_id, boots[l->boot]);
    assert_int_equal(e->original, values[l->original]);
    assert_int_equal(e->last, values[l->last]);
    assert_int_equal(e->next, values[l->next]);
}

/* --- the processes --- */

static void hear(struct walk *w, int who)
{
    stepper_hear(&w->process[who], &w->before[who]);
}

static bool call(struct walk *w, const struct line *l)
{
    static const char *const calls[] = {
        [CALL_END] = "",
        [CALL_SET] = "actuator_set",
        [CALL_RESTORE] = "actuator_restore",
        [CALL_RECOVER] = "actuator_recover",
        [CALL_YIELD] = "actuator_yield",
    };
    struct step_order order = {.call = CALL_SET};

    while (order.call <= CALL_YIELD && strcmp(l->name, calls[order.call]) != 0)
        order.call++;
    if (order.call > CALL_YIELD)
        return false;
    if (order.call == CALL_SET) {
        order.from = values[l->arg];
        order.value = values[l->second];
    }
    stepper_order(&w->process[l->who], &order);
    hear(w, l->who);
    return true;
}

static void start(struct walk *w, const struct line *l)
{
    stepper_start(&w->process[l->who], boots[w->boot]);
    hear(w, l->who);
    assert_int_equal(w->before[l->who].error, l->arg ? -EBUSY : 0);
}

static void end(struct walk *w, int who)
{
    /* Who found the lock taken has ended by itself. */
    if (w->process[who].pid)
        stepper_end(&w->process[who], w->killed[who] && w->before[who].error == 0);
    w->killed[who] = false;
}

static void returned(const struct walk *w, const struct line *l)
{
    const struct step_report *r = &w->before[l->who];
    assert_string_equal(r->name, "return");
    assert_int_equal(r->kind, kinds[l->arg]);
    assert_int_equal(r->held, l->second);
}

static void step(struct walk *w, const struct line *l)
{
    if (l->who == OTHERS) {
        others(w, l);
    } else if (strcmp(l->name, "actuator_open") == 0) {
        start(w, l);
    } else if (strcmp(l->name, "gone") == 0) {
        end(w, l->who);
    } else if (strcmp(l->name, "return") == 0) {
        returned(w, l);
    } else if (!call(w, l)) {
        assert_string_equal(w->before[l->who].name, l->name);
        stepper_go(&w->process[l->who], (enum step_fault)l->arg);
        hear(w, l->who);
    }
}

static unsigned walk(FILE *trace)
{
    struct walk w = {.boot = 0};
    struct line l;
    char text[256], done[40][256];
    unsigned n = 0;

    fake_reset();
    fake_file(KNOB_FRACTION, "0\n");
    while (fgets(text, sizeof(text), trace)) {
        if (!parse(text, &l))
            continue;
        (void)snprintf(done[n++ % ARRAY_SIZE(done)], sizeof(done[0]), "%s", text);
        count(l.name, l.arg);
        if (l.who != OTHERS)
            count_recovery(&w.recovery[l.who], &l);
        step(&w, &l);
        if (l.has_state)
            compare(&l);
    }
    kill_all(&w);
    end(&w, DAEMON);
    end(&w, HELPER);
    return n;
}

static bool has_spin(void)
{
    FILE *f = popen("command -v spin", "r"); /* NOLINT(cert-env33-c) */
    char text[256];
    bool has = f && fgets(text, sizeof(text), f);
    if (f)
        pclose(f);
    return has;
}

static void test_walk(void **state)
{
    (void)state;
    unsigned steps = 0;
    fake_reset();
    for (int seed = 1; seed <= RUNS; seed++) {
        char command[512];
        (void)snprintf(command, sizeof(command),
                       "spin -T -n%d -u4000 " MORE_OF_ALL "%s " TEST_DATA
                       "/ownership/ownership.pml",
                       seed, seed % 4 ? " -DRECOVERIES" : "");
        FILE *f = popen(command, "r"); /* NOLINT(cert-env33-c) */
        assert_non_null(f);
        steps += walk(f);
        pclose(f);
    }
    for (size_t i = 0; i < ARRAY_SIZE(contained); i++) {
        print_message("%-18s %2d: %u times\n", contained[i].name, contained[i].arg,
                      contained[i].seen);
        assert_true(contained[i].seen > 0);
    }
    print_message("%d runs of the model, %u steps: the code does each\n", RUNS, steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_walk)};
    char dir[] = "/tmp/pcptuned-traces-XXXXXX";

    if (!has_spin()) {
        printf("SKIP: no spin here: the code is not walked through the model\n");
        return 77;
    }
    fake_enter();
    if (!mkdtemp(dir) || chdir(dir) < 0) /* spin leaves files where it runs */
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink("_spin_nvr.tmp");
    (void)rmdir(dir);
    return failed;
}
