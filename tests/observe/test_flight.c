/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct flight *new_flight(void)
{
    struct flight *f;

    assert_int_equal(flight_new(&f), 0);
    return f;
}

static struct flight_task *add(struct flight *f, pid_t tgid, unsigned group, unsigned node)
{
    static nsec_t now;
    const struct flight_task t = {.tgid = tgid,
                                  .pidfd = tgid + 1,
                                  .since = ++now,
                                  .node = (uint8_t)node,
                                  .group = (uint8_t)group};
    return flight_add(f, &t, 10);
}

static unsigned group(struct flight *f, const char *path, const char *comm)
{
    bool is_new;

    return flight_group(f, path, comm, &is_new);
}

static void test_empty(void **state)
{
    _cleanup_(flight_freep) struct flight *f = new_flight();
    struct snapshot s = {.tasks = 9, .n_groups = 9};

    (void)state;
    assert_null(flight_oldest(f));
    assert_null(flight_find(f, 1));
    assert_null(flight_at(f, 0));
    assert_null(flight_at(f, FLIGHT_MAX));
    assert_false(flight_full(f));
    flight_forget(f);
    flight_snapshot(f, &s);
    assert_int_equal(s.tasks, 0);
    assert_int_equal(s.n_groups, 0);
    flight_free(NULL);
}

static void test_order_is_age(void **state)
{
    _cleanup_(flight_freep) struct flight *f = new_flight();
    static const pid_t pids[] = {7, 7 + 1024, 7 + 2048, 8, 9}; /* three of one bucket */
    unsigned g = group(f, "/a", "x");

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
        assert_non_null(add(f, pids[i], g, 0));
    flight_remove(f, flight_find(f, 7 + 1024)); /* from the middle of chain and list */
    assert_null(flight_find(f, 7 + 1024));
    assert_int_equal(flight_find(f, 7)->pidfd, 8);
    assert_int_equal(flight_find(f, 7 + 2048)->pidfd, 8 + 2048);
    assert_int_equal(flight_oldest(f)->tgid, 7);
    assert_int_equal(flight_next(f, flight_oldest(f))->tgid, 7 + 2048);
    flight_remove(f, flight_find(f, 9)); /* the newest */
    assert_non_null(add(f, 10, g, 0));
    assert_int_equal(flight_next(f, flight_find(f, 8))->tgid, 10);
    assert_null(flight_next(f, flight_find(f, 10)));
    while (flight_oldest(f))
        flight_remove(f, flight_oldest(f));
    assert_non_null(add(f, 11, g, 0));
    assert_int_equal(flight_oldest(f)->tgid, 11);
}

static void test_full(void **state)
{
    _cleanup_(flight_freep) struct flight *f = new_flight();
    unsigned g = group(f, "/a", "x");
    struct snapshot s;

    (void)state;
    for (pid_t pid = 1; pid <= FLIGHT_MAX; pid++) {
        assert_false(flight_full(f));
        struct flight_task *t = add(f, pid, g, 1);
        assert_ptr_equal(flight_at(f, flight_slot(f, t)), t);
    }
    assert_true(flight_full(f));
    assert_null(add(f, FLIGHT_MAX + 1, g, 1));
    flight_snapshot(f, &s);
    assert_int_equal(s.tasks, FLIGHT_MAX);
    assert_int_equal(s.groups[0].tasks_total, FLIGHT_MAX); /* the refused one is not counted */
    flight_remove(f, flight_find(f, 17));
    assert_non_null(add(f, FLIGHT_MAX + 1, g, 1));
    assert_true(flight_full(f));
}

static void test_groups(void **state)
{
    static const struct {
        const char *path, *comm;
        unsigned expect;
    } cases[] = {
        {"/a", "x", 0}, {"/a", "y", 1}, {"/b", "x", 2}, {"/a", "x", 0},
        {"/ax", "", 3}, {"", "/ax", 4}, {"/b", "x", 2}, {"", "", 5},
    };
    _cleanup_(flight_freep) struct flight *f = new_flight();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(group(f, cases[i].path, cases[i].comm), cases[i].expect);
    add(f, 1, 0, 3);
    add(f, 2, 0, 5);
    add(f, 3, 2, 5);
    flight_remove(f, flight_find(f, 1));

    struct snapshot s;
    flight_snapshot(f, &s);
    assert_int_equal(s.tasks, 2);
    assert_int_equal(s.n_groups, 6);
    assert_int_equal(s.node_tasks[3], 0);
    assert_int_equal(s.node_tasks[5], 2);
    assert_int_equal(s.groups[0].tasks, 1);
    assert_int_equal(s.groups[0].tasks_total, 2);
    assert_int_equal(s.groups[0].announced, 20);
    assert_true(s.groups[0].anon == GROUP_PAGES_UNKNOWN);
    assert_string_equal(s.groups[0].comm, "x");

    flight_forget(f);
    flight_snapshot(f, &s);
    assert_int_equal(s.n_groups, 2);
    assert_true(flight_group_used(f, 2));
    assert_false(flight_group_used(f, 1));
    bool is_new;
    assert_int_equal(flight_group(f, "/b", "x", &is_new), 2);
    assert_false(is_new);
    assert_int_equal(flight_group(f, "/c", "x", &is_new), 1);
    assert_true(is_new);
    flight_snapshot(f, &s);
    assert_int_equal(s.groups[1].tasks_total, 0); /* nothing is left of whom it belonged to */
}

static void test_more_groups_than_room(void **state)
{
    _cleanup_(flight_freep) struct flight *f = new_flight();
    char path[16];

    (void)state;
    for (int i = 0; i < 200; i++) {
        snprintf(path, sizeof(path), "/%d", i);
        unsigned g = group(f, path, "x");
        assert_int_equal(g, MIN(i, SNAPSHOT_GROUPS - 1));
        assert_non_null(add(f, i + 1, g, 0));
    }
    struct snapshot s;
    flight_snapshot(f, &s);
    assert_int_equal(s.n_groups, SNAPSHOT_GROUPS);
    const struct exit_group *others = &s.groups[SNAPSHOT_GROUPS - 1];
    assert_string_equal(others->name, "others");
    assert_int_equal(others->tasks, 200 - (SNAPSHOT_GROUPS - 1));
    assert_true(others->id != 0 && others->anon == GROUP_PAGES_UNKNOWN);
    for (unsigned i = 0; i < s.n_groups; i++)
        for (unsigned k = 0; k < i; k++)
            assert_true(s.groups[i].id != s.groups[k].id);
}

static void test_hostile_command(void **state)
{
    static const struct {
        const char *comm, *shown;
    } cases[] = {
        {"a\nb", "a?b"},
        {"\x1b[31m", "?[31m"},
        {"say \"hi\"", "say ?hi?"},
        {"\xff\xc3\xa9", "???"},
        {"123456789012345", "123456789012345"},
        {"1234567890123456789", "123456789012345"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(flight_freep) struct flight *f = new_flight();
        unsigned g = group(f, "/", cases[i].comm);
        assert_string_equal(flight_group_at(f, g)->comm, cases[i].shown);
    }
}

/* Against the plainest table there is, with numbers from a fixed seed. */
static void test_against_array(void **state)
{
    enum { PIDS = 3000, GROUPS = 5 };
    static int in[PIDS]; /* group + 1, or 0 */
    _cleanup_(flight_freep) struct flight *f = new_flight();
    uint32_t seed = 1, count = 0;
    struct snapshot s;

    (void)state;
    for (unsigned g = 0; g < GROUPS; g++)
        assert_int_equal(group(f, (const char[]){(char)('a' + g), '\0'}, "x"), g);
    for (int i = 0; i < 100000; i++) {
        seed = seed * 1103515245 + 12345;
        unsigned pid = (seed >> 8) % PIDS, g = (seed >> 24) % GROUPS;
        struct flight_task *t = flight_find(f, (pid_t)pid);
        assert_int_equal(t != NULL, in[pid] != 0);
        if (t) {
            assert_int_equal(t->group + 1, in[pid]);
            flight_remove(f, t);
            in[pid] = 0;
            count--;
        } else {
            assert_non_null(add(f, (pid_t)pid, g, g));
            in[pid] = (int)g + 1;
            count++;
        }
    }
    uint32_t walked = 0;
    nsec_t last = 0;
    for (struct flight_task *t = flight_oldest(f); t; t = flight_next(f, t), walked++) {
        assert_true(t->since > last);
        last = t->since;
    }
    flight_snapshot(f, &s);
    assert_int_equal(walked, count);
    assert_int_equal(s.tasks, count);
    for (unsigned g = 0; g < GROUPS; g++) {
        uint32_t n = 0;
        for (unsigned pid = 0; pid < PIDS; pid++)
            n += in[pid] == (int)g + 1;
        assert_int_equal(s.groups[g].tasks, n);
        assert_int_equal(s.node_tasks[g], n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_order_is_age),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_more_groups_than_room),
        cmocka_unit_test(test_hostile_command),
        cmocka_unit_test(test_against_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
