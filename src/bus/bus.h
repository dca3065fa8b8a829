/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "event.h"
#include "macros.h"
#include "status.h"

/* The API on the bus (api.h), from a thread of ordinary priority: the loop copies a status and an
 * event under a lock that is held for a memcpy, and goes on, whatever clients do. All functions but
 * bus_new() and bus_free() are for the loop; none of those blocks, allocates or touches a client.
 */
struct bus;

enum bus_verb { BUS_SET_MODE, BUS_RELOAD, BUS_REARM, BUS_RESTORE };
struct bus_command {
    enum bus_verb verb;
    enum mode mode; /* of BUS_SET_MODE */
};

struct bus_config {
    const char *dir; /* of the private socket; made 0755 where missing */
    /* Called in the thread: what is missing and what works all the same. */
    void (*say)(void *arg, enum event_level level, const char *text);
    void *arg;
};

/* Starts the thread. A socket or bus that cannot be had is said and lived with. -ENOMEM, -EMFILE
 * or what pthread_create() says. */
int bus_new(const struct bus_config *c, struct bus **ret);

/* Tells what is left to be told, for at most patience; false: the thread hangs and is left to the
 * end of the process. NULL is accepted. */
bool bus_free(struct bus *b, nsec_t patience);

/* For whoever asks next; changed: the clients are told now. */
void bus_status(struct bus *b, const struct status *s, bool changed);

void bus_event(struct bus *b, const struct event *e);

/* Readable when a client that may has given a command, which is then to be answered once: error
 * NULL, or one of api.h and the text of why. One at a time. */
int bus_command_fd(const struct bus *b);
bool bus_command(struct bus *b, struct bus_command *ret);
void bus_answer(struct bus *b, const char *error, const char *text);
