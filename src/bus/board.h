/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "api.h"
#include "bus.h"

/* What the loop and the thread of the bus share, and nothing else is: one lock, held for a copy.
 * The lock passes the priority of the real-time loop on to the thread that holds it. */
struct board;

int board_new(struct board **ret); /* -ENOMEM, -EMFILE */
void board_free(struct board *b);
DEFINE_CLEANUP(struct board *, board_free)

/* The loop's side. */
void board_put_status(struct board *b, const struct status *s, bool changed);
void board_put_event(struct board *b, const struct event *e);
int board_loop_fd(const struct board *b); /* readable: board_take_command() */
bool board_take_command(struct board *b, struct bus_command *ret);
void board_answer(struct board *b, const char *error, const char *text);
void board_stop(struct board *b);

/* The thread's side. board_look() returns the number of events ever put; the last API_EVENTS of
 * them are there. */
int board_thread_fd(const struct board *b); /* readable: something is new */
void board_acknowledge(struct board *b);
uint64_t board_look(struct board *b, struct status *ret);
bool board_event(struct board *b, uint64_t number, struct event *ret); /* false: not there */
bool board_stopped(struct board *b);

/* -EBUSY: the last one has not been answered. */
int board_command(struct board *b, const struct bus_command *c);

/* True once for an answer; *ret_error NULL: good. */
#define BOARD_TEXT 4096
bool board_collect(struct board *b, const char **ret_error, char text[BOARD_TEXT]);
