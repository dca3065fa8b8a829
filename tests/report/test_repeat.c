/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "repeat.h"

#define SEC NSEC_PER_SEC

static struct event text_event(enum event_kind k, const char *text)
{
    struct event e = {.kind = k, .level = LEVEL_NOTICE};

    snprintf(e.text, sizeof(e.text), "%s", text);
    return e;
}

static struct event left_alone(uint64_t storm, enum reason r, const char *group)
{
    struct event e = {.kind = EVENT_LEFT_ALONE, .level = LEVEL_DEBUG, .has_plan = true};

    e.plan.reason = r;
    e.plan.why.storm_id = storm;
    snprintf(e.plan.why.group, sizeof(e.plan.why.group), "%s", group);
    return e;
}

static struct event tuned(enum event_kind k, enum plan_action a)
{
    struct event e = {.kind = k, .level = LEVEL_NOTICE, .has_plan = true};

    e.plan.action = a;
    e.plan.reason = REASON_STORM;
    return e;
}

/* What is the same, and what is not. */
static void test_same(void **state)
{
    (void)state;
    struct event other_level = text_event(EVENT_SIGNAL, "lost");
    struct event dry = text_event(EVENT_SIGNAL, "lost");
    other_level.level = LEVEL_INFO;
    dry.dry_run = true;
    const struct {
        struct event a, b;
        bool same;
    } table[] = {
        {text_event(EVENT_SIGNAL, "lost"), text_event(EVENT_SIGNAL, "lost"), true},
        {text_event(EVENT_SIGNAL, "lost"), text_event(EVENT_SIGNAL, "back"), false},
        {text_event(EVENT_SIGNAL, "lost"), text_event(EVENT_NOTICE, "lost"), false},
        {text_event(EVENT_SIGNAL, "lost"), other_level, false},
        {text_event(EVENT_SIGNAL, "lost"), dry, false},
        {left_alone(1, REASON_PRICE, "a"), left_alone(2, REASON_PRICE, "a"), true},
        {left_alone(1, REASON_PRICE, "a"), left_alone(2, REASON_PRICE, "b"), false},
        {left_alone(1, REASON_PRICE, "a"), left_alone(2, REASON_PINNED, "a"), false},
        {tuned(EVENT_STORM, PLAN_SET), tuned(EVENT_STORM, PLAN_SET), false},
        {tuned(EVENT_RESTORED, PLAN_RESTORE), tuned(EVENT_RESTORED, PLAN_RESTORE), false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct repeat r = {0};
        assert_false(repeat_takes(&r, &table[i].a, 0)); /* the first is news */
        repeat_told(&r, &table[i].a);
        if (repeat_takes(&r, &table[i].b, SEC) != table[i].same)
            fail_msg("row %zu", i);
    }
}

/* One a second for a day: the first at once, then counts that come ever more rarely. */
static void test_all_day(void **state)
{
    (void)state;
    struct repeat r = {0};
    uint32_t lines = 1, told = 1;
    struct event e = left_alone(1, REASON_PRICE, "a");

    repeat_told(&r, &e);
    assert_true(repeat_due(&r) == NSEC_INFINITY);
    assert_null(repeat_flush(&r));
    for (uint64_t s = 1; s < 86400; s++) {
        e = left_alone(s + 1, REASON_PRICE, "a");
        assert_true(repeat_takes(&r, &e, s * SEC));
        if (repeat_due(&r) > s * SEC)
            continue;
        const struct event *kept = repeat_flush(&r);
        assert_int_equal(kept->plan.why.storm_id, s + 1); /* the newest stands for them */
        told += kept->repeats;
        lines++;
        if (lines == 2)
            assert_int_equal(kept->repeats, 61); /* due 60 s after the first that was kept back */
    }
    told += repeat_flush(&r)->repeats;
    assert_int_equal(told, 86400); /* none lost, none twice */
    assert_in_range(lines, 20, 32);
}

static void test_news(void **state)
{
    (void)state;
    struct repeat r = {0};
    struct event lost = text_event(EVENT_SIGNAL, "lost"), back = text_event(EVENT_SIGNAL, "back");

    repeat_told(&r, &lost);
    assert_true(repeat_takes(&r, &lost, SEC));
    assert_true(repeat_due(&r) == 61 * SEC);
    assert_false(repeat_takes(&r, &back, 2 * SEC));
    const struct event *kept = repeat_flush(&r); /* before the news */
    assert_int_equal(kept->repeats, 1);
    assert_string_equal(kept->text, "lost");
    char line[EVENT_TEXT];
    assert_string_equal(event_describe(kept, line, sizeof(line)), "lost (repeated 1 time)");
    repeat_told(&r, &back);
    assert_null(repeat_flush(&r));
    assert_false(repeat_takes(&r, &lost, 3 * SEC)); /* back in between: news again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_all_day),
        cmocka_unit_test(test_news),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
