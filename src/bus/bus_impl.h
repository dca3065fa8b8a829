/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "board.h"

/* The thread's state, shared by the files that are the bus: bus.c runs it, object.c shows the
 * status, call.c takes calls, emit.c sends signals, private.c and system.c are the two ways in. */

struct client {  /* of the private socket */
    sd_bus *bus; /* NULL: free */
    sd_event_source *patience;
    uid_t uid;
    bool called; /* it has got as far as a call */
    bool doomed; /* to be closed when none of its messages is being handled */
};

struct bus {
    struct bus_config config;
    struct board *board;
    pthread_t thread;
    sd_event *event;

    struct status now, told; /* as last looked at; as last told */
    uint64_t events, events_told;
    sd_bus_message *call; /* waits for the loop's answer */
    uint64_t denied;

    struct client clients[API_CLIENTS];
    uint64_t accepted, refused, dropped;
    sd_event_source *listen, *reap;
    char path[108]; /* of the socket, once it is ours */

    sd_bus *system;
    bool on_system; /* the name is ours */
    bool system_told;
    sd_event_source *retry;
};

/* object.c: adds the object to a connection, with the checks that each message passes. */
int bus_add_object(struct bus *b, sd_bus *bus);
/* For a connection to which an object at path could not be added. Where memory runs out on the way
 * there sd-bus (systemd 252) keeps the nodes above it, and aborts the process when it frees a
 * connection that has nodes. Another object at path takes them along; where not even that can be
 * had the connection is closed and never freed. Returns NULL. */
sd_bus *bus_discard(sd_bus *bus, const char *path);
void bus_look(struct bus *b);

/* call.c */
int bus_call_set_mode(sd_bus_message *m, void *arg, sd_bus_error *e);
int bus_call_reload(sd_bus_message *m, void *arg, sd_bus_error *e);
int bus_call_rearm(sd_bus_message *m, void *arg, sd_bus_error *e);
int bus_call_restore(sd_bus_message *m, void *arg, sd_bus_error *e);
int bus_call_events(sd_bus_message *m, void *arg, sd_bus_error *e);
void bus_collect(struct bus *b); /* passes the loop's answer on */

/* emit.c: tells everybody what is new since the last time. */
void bus_emit(struct bus *b);

/* private.c */
void bus_listen(struct bus *b);
void bus_unlisten(struct bus *b);
struct client *bus_client(struct bus *b, const sd_bus *bus); /* NULL: it is the system bus */
void bus_drop(struct bus *b, struct client *c);              /* the client's own fault */

/* system.c */
void bus_open_system(struct bus *b);
void bus_close_system(struct bus *b);
