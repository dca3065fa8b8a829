/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <poll.h>
#include <string.h>

#include "board.h"

static bool rings(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

static int setup(void **state)
{
    return board_new((struct board **)state);
}

static int teardown(void **state)
{
    board_free(*state);
    return 0;
}

static void status_is_as_last_put(void **state)
{
    struct board *b = *state;
    struct status s, got;

    status_init(&s);
    s.tasks = 7;
    board_put_status(b, &s, false);
    assert_false(rings(board_thread_fd(b)));
    s.tasks = 8;
    board_put_status(b, &s, true);
    assert_true(rings(board_thread_fd(b)));
    board_acknowledge(b);
    assert_false(rings(board_thread_fd(b)));
    assert_int_equal(board_look(b, &got), 0);
    assert_int_equal(got.tasks, 8);
}

static void the_last_events_are_there(void **state)
{
    struct board *b = *state;
    struct status s;
    struct event e = {.kind = EVENT_NOTICE};

    assert_false(board_event(b, 0, &e));
    for (unsigned i = 0; i < API_EVENTS + 3; i++) {
        e.mono = i;
        board_put_event(b, &e);
    }
    assert_int_equal(board_look(b, &s), API_EVENTS + 3);
    assert_false(board_event(b, 2, &e));
    assert_true(board_event(b, 3, &e));
    assert_int_equal(e.mono, 3);
    assert_true(board_event(b, API_EVENTS + 2, &e));
    assert_int_equal(e.mono, API_EVENTS + 2);
    assert_false(board_event(b, API_EVENTS + 3, &e));
    assert_false(board_event(b, UINT64_MAX, &e));
}

static void a_command_is_answered_once(void **state)
{
    struct board *b = *state;
    struct bus_command c = {.verb = BUS_SET_MODE, .mode = MODE_OFF}, got = {0};
    char text[BOARD_TEXT];
    const char *error = NULL;

    assert_false(board_take_command(b, &got));
    board_answer(b, API_ERROR_BUSY, "to nobody");
    assert_false(board_collect(b, &error, text));

    assert_int_equal(board_command(b, &c), 0);
    assert_true(rings(board_loop_fd(b)));
    board_answer(b, NULL, NULL); /* not taken yet: not answered */
    assert_false(board_collect(b, &error, text));
    assert_int_equal(board_command(b, &c), -EBUSY);
    assert_true(board_take_command(b, &got));
    assert_int_equal(got.verb, BUS_SET_MODE);
    assert_int_equal(got.mode, MODE_OFF);
    assert_false(rings(board_loop_fd(b)));
    assert_false(board_take_command(b, &got));
    assert_int_equal(board_command(b, &c), -EBUSY);

    board_answer(b, API_ERROR_REFUSED, "why");
    assert_true(rings(board_thread_fd(b)));
    assert_int_equal(board_command(b, &c), -EBUSY);
    assert_true(board_collect(b, &error, text));
    assert_string_equal(error, API_ERROR_REFUSED);
    assert_string_equal(text, "why");
    assert_false(board_collect(b, &error, text));
    assert_int_equal(board_command(b, &c), 0);
}

static void a_long_text_is_cut(void **state)
{
    struct board *b = *state;
    struct bus_command c = {.verb = BUS_RELOAD}, got;
    char text[BOARD_TEXT], lines[2 * BOARD_TEXT];
    const char *error;

    memset(lines, 'x', sizeof(lines));
    lines[sizeof(lines) - 1] = '\0';
    assert_int_equal(board_command(b, &c), 0);
    assert_true(board_take_command(b, &got));
    board_answer(b, API_ERROR_REFUSED, lines);
    assert_true(board_collect(b, &error, text));
    assert_int_equal(strlen(text), BOARD_TEXT - 1);
}

static void stop_rings(void **state)
{
    struct board *b = *state;

    assert_false(board_stopped(b));
    board_stop(b);
    assert_true(rings(board_thread_fd(b)));
    assert_true(board_stopped(b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(status_is_as_last_put, setup, teardown),
        cmocka_unit_test_setup_teardown(the_last_events_are_there, setup, teardown),
        cmocka_unit_test_setup_teardown(a_command_is_answered_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_long_text_is_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(stop_rings, setup, teardown),
    };
    board_free(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
