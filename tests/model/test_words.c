/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "params.h"
#include "plan.h"

/* --- names ---------------------------------------------------------------------------------- */

#define NAMER(f, type)                                                                             \
    static const char *name_##f(int i)                                                             \
    {                                                                                              \
        return f((type)i);                                                                         \
    }
NAMER(reason_name, enum reason)
NAMER(outcome_name, enum outcome_kind)
NAMER(signal_name, enum signal_id)
NAMER(mode_name, enum mode)
NAMER(on_foreign_name, enum on_foreign)
NAMER(on_pinned_name, enum on_pinned)
NAMER(regime_name, enum regime)
NAMER(regime_summary, enum regime)
NAMER(evidence_name, enum evidence)

static const struct namer {
    const char *what;
    const char *(*name)(int);
    int n;
} namers[] = {
    {"reason", name_reason_name, REASON_MAX},
    {"outcome", name_outcome_name, OUTCOME_MAX},
    {"signal", name_signal_name, SIGNAL_MAX},
    {"mode", name_mode_name, MODE_MAX},
    {"on_foreign", name_on_foreign_name, FOREIGN_MAX},
    {"on_pinned", name_on_pinned_name, PINNED_MAX},
    {"regime", name_regime_name, REGIME_MAX},
    {"summary", name_regime_summary, REGIME_MAX},
    {"evidence", name_evidence_name, EVIDENCE_MAX},
};

/* Each has a name of its own, and a value that no enum has does not crash. */
static void test_names(void **state)
{
    (void)state;

    for (size_t i = 0; i < sizeof(namers) / sizeof(namers[0]); i++) {
        const struct namer *n = &namers[i];
        for (int k = 0; k < n->n; k++) {
            const char *name = n->name(k);
            assert_non_null(name);
            if (!name[0] || strchr(name, '\n'))
                fail_msg("%s %d has no name", n->what, k);
            for (int j = 0; j < k; j++)
                if (strcmp(name, n->name(j)) == 0)
                    fail_msg("%s %d and %d are both '%s'", n->what, j, k, name);
        }
        assert_non_null(n->name(n->n));
        assert_non_null(n->name(INT_MAX));
        assert_non_null(n->name(-1));
    }
}

/* What scripts compare with. */
static void test_stable_names(void **state)
{
    (void)state;
    assert_string_equal(reason_name(REASON_YIELD), "low-yield");
    assert_string_equal(reason_name(REASON_STORM), "storm");
    assert_string_equal(reason_name(REASON_BUDGET), "write-budget");
    assert_string_equal(outcome_name(OUTCOME_DONE), "done");
    assert_string_equal(signal_name(SIGNAL_TASKSTATS), "taskstats");
    assert_string_equal(mode_name(MODE_DRY_RUN), "dry-run");
    assert_string_equal(regime_name(REGIME_R4), "R4");
}

/* --- knobs ---------------------------------------------------------------------------------- */

static void test_knobs(void **state)
{
    (void)state;
    static const struct {
        enum knob_id id;
        int value;
        bool accepted;
    } table[] =
        {
            {KNOB_FRACTION, 0, true},        {KNOB_FRACTION, 8, true},
            {KNOB_FRACTION, INT_MAX, true},  {KNOB_FRACTION, 7, false},
            {KNOB_FRACTION, 1, false},       {KNOB_FRACTION, -1, false},
            {KNOB_FRACTION, INT_MIN, false}, {KNOB_SCALE, 0, true},
            {KNOB_SCALE, 6, true},           {KNOB_SCALE, 7, false},
            {KNOB_SCALE, -1, false}, /* "no special value" is no value */
        };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (knob_accepts(table[i].id, table[i].value) != table[i].accepted)
            fail_msg("%s = %d", knob_table[table[i].id].name, table[i].value);
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        const struct knob *knob = &knob_table[k];
        assert_true(knob_accepts((enum knob_id)k, knob->initial));
        assert_true(strncmp(knob->path, "/proc/sys/vm/", 13) == 0);
        assert_true(strncmp(knob->name, "vm.", 3) == 0);
        assert_string_equal(knob->name + 3, knob->path + 13);
        assert_true(knob->key[0]);
    }
}

static void test_knob_values(void **state)
{
    (void)state;
    struct knob_values a = {.has = {true, false}, .value = {8, 1}};
    struct knob_values b = {.has = {true, false}, .value = {8, 2}};

    assert_true(knob_values_equal(&a, &b)); /* of an absent knob the value is nothing */
    b.value[0] = 9;
    assert_false(knob_values_equal(&a, &b));
    b = a;
    b.has[1] = true;
    assert_false(knob_values_equal(&a, &b));
}

/* --- sentences ------------------------------------------------------------------------------ */

static struct plan storm(enum plan_action action, enum reason reason)
{
    return (struct plan){.action = action,
                         .reason = reason,
                         .why = {.storm_id = 3,
                                 .tasks = 9,
                                 .tasks_total = 12,
                                 .pages = 589824,
                                 .announced = 600000,
                                 .freed = 580000,
                                 .n_now = 2,
                                 .n_planned = 2,
                                 .b_before = 2016,
                                 .b_after = 189,
                                 .w_before = 80640,
                                 .w_after = 7560,
                                 .target = 20000,
                                 .page_cost = 20,
                                 .excess = 4242,
                                 .loss = 89,
                                 .held = 271000,
                                 .may_hold = 30000,
                                 .traffic = 5000000,
                                 .since = 1234000000,
                                 .writes_left = 5,
                                 .group = "docker 3f2a9c01d2ab"}};
}

#define THREAT                                                                                     \
    "9 tasks in flight (12 in this storm, most of docker 3f2a9c01d2ab), 589824 pages: "            \
    "W = 2 x 20ns x 2016 = 80us"

static const struct {
    enum plan_action action;
    enum reason reason;
    const char *start, *has; /* what the sentence begins with, and what it says besides */
} sentences[] = {
    {PLAN_NONE, REASON_NONE, "nothing to do", ""},
    {PLAN_SET, REASON_STORM, THREAT,
     "> 20us; b 2016 -> 189 makes it 7.5us for 2 tasks, at 0.89% of throughput"},
    {PLAN_SET, REASON_STORM_GREW, THREAT, "b 2016 -> 189"},
    {PLAN_SET, REASON_STORM_SHRANK, THREAT, "b 2016 -> 189"},
    {PLAN_SET, REASON_HOARD, "on this small machine the CPUs' lists hold 271000 pages",
     "may hold 30000 now"},
    {PLAN_SET, REASON_PRESSURE, "memory is short, and the CPUs' lists hold 271000 pages of it",
     "may hold 30000 now"},
    {PLAN_SET, REASON_CHURN, "5000000 pages a second are taken and given back",
     "may hold 30000 now"},
    {PLAN_NONE, REASON_WITHIN_TARGET, THREAT, "<= 20us: left alone"},
    {PLAN_NONE, REASON_NO_GAIN, THREAT, "no knob value within bounds"},
    {PLAN_NONE, REASON_PRICE, THREAT, "drain 4242 pages of the CPUs' lists"},
    {PLAN_NONE, REASON_YIELD, THREAT, "600000 pages were announced"},
    {PLAN_NONE, REASON_BUDGET, THREAT, "5 writes are left this hour"},
    {PLAN_NONE, REASON_NO_KNOB, THREAT, "no knob"},
    {PLAN_NONE, REASON_UNREAD, THREAT, "not known"},
    {PLAN_NONE, REASON_PINNED, THREAT, "set by somebody else before"},
    {PLAN_NONE, REASON_YIELDED, THREAT, "somebody else owns"},
    {PLAN_NONE, REASON_UNWRITABLE, THREAT, "cannot be written"},
    {PLAN_RESTORE, REASON_CALM, "over after 1234ms: 12 tasks announced 600000 pages",
     "580000 pages were freed"},
    {PLAN_RESTORE, REASON_FALSE_ALARM, "false alarm: 12 tasks announced 600000 pages",
     "580000 were freed"},
    {PLAN_RESTORE, REASON_TOO_LONG, "no end after 1234ms: 12 tasks announced 600000 pages",
     "left alone until it is over"},
    {PLAN_RESTORE, REASON_EASED, "it has eased after 1s", "originals restored"},
    {PLAN_RESTORE, REASON_NO_HELP, "longer lists made the traffic no faster, now 5000000",
     "not tried again for an hour"},
    {PLAN_RESTORE, REASON_OFF, "originals restored", "off"},
    {PLAN_RESTORE, REASON_TOO_LONG, "no end after 1234ms: 12 tasks announced 600000 pages",
     "left alone until it is over"},
};

static void test_sentences(void **state)
{
    (void)state;
    bool seen[REASON_MAX] = {false};
    char text[512];

    for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
        struct plan p = storm(sentences[i].action, sentences[i].reason);
        assert_ptr_equal(plan_describe(&p, text, sizeof(text)), text);
        if (strncmp(text, sentences[i].start, strlen(sentences[i].start)) != 0 ||
            !strstr(text, sentences[i].has) || strchr(text, '\n') ||
            strlen(text) + 1 == sizeof(text))
            fail_msg("%s: %s", reason_name(p.reason), text);
        seen[p.reason] = true;
    }
    for (int r = 0; r < REASON_MAX; r++)
        if (!seen[r])
            fail_msg("no sentence for %s is tested", reason_name((enum reason)r));
}

static void test_start_storms(void **state)
{
    (void)state;
    char text[512];

    struct plan p = storm(PLAN_SET, REASON_STORM);
    p.why.starting = true;
    assert_string_equal(
        plan_describe(&p, text, sizeof(text)),
        "about 9 tasks fault memory in, 589824 pages so far: W = 2 x 20ns x 2016 = 80us > 20us; b "
        "2016 -> 189 makes it 7.5us for 2 tasks, at 0.89% of throughput");
    p.action = PLAN_RESTORE;
    p.reason = REASON_CALM;
    assert_string_equal(plan_describe(&p, text, sizeof(text)),
                        "over after 1234ms: up to 12 tasks have faulted 600000 pages in; originals "
                        "restored");
}

static void test_grammar(void **state)
{
    (void)state;
    struct plan p = storm(PLAN_SET, REASON_STORM);
    char text[512];

    p.why.tasks = p.why.n_planned = 1;
    plan_describe(&p, text, sizeof(text));
    assert_non_null(strstr(text, "1 task in flight"));
    assert_non_null(strstr(text, "for 1 task"));
    assert_null(strstr(text, "for 1 tasks"));

    p.why.w_after = 25000;
    assert_non_null(
        strstr(plan_describe(&p, text, sizeof(text)), "the best that is worth its price"));
    p.why.group[0] = '\0';
    assert_non_null(strstr(plan_describe(&p, text, sizeof(text)), "most of unknown"));

    p = storm(PLAN_NONE, REASON_WITHIN_TARGET);
    p.why.repeats = 7;
    assert_non_null(strstr(plan_describe(&p, text, sizeof(text)), "(and 7 more like it"));
}

/* The largest numbers there can be, in any buffer: always terminated, never beyond its end. */
static void test_small_buffers(void **state)
{
    (void)state;
    char whole[1024];

    for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
        struct plan p = storm(sentences[i].action, sentences[i].reason);
        memset(&p.why, 0xff, sizeof(p.why));
        p.why.starting = i % 2;
        memset(p.why.group, 'g', sizeof(p.why.group) - 1);
        p.why.group[sizeof(p.why.group) - 1] = '\0';
        plan_describe(&p, whole, sizeof(whole));
        assert_true(strlen(whole) + 1 < sizeof(whole));
        for (size_t size = 1; size <= strlen(whole) + 1; size++) {
            char *buf = malloc(size); /* of exactly that size, for the sanitizer */
            assert_non_null(buf);
            memset(buf, 'x', size);
            plan_describe(&p, buf, size);
            assert_non_null(memchr(buf, '\0', size));
            assert_true(strncmp(buf, whole, size - 1) == 0);
            free(buf);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),        cmocka_unit_test(test_stable_names),
        cmocka_unit_test(test_knobs),        cmocka_unit_test(test_knob_values),
        cmocka_unit_test(test_start_storms), cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_grammar),      cmocka_unit_test(test_small_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
