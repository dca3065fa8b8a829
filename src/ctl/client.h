/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "macros.h"

/* The client's end of bus/api.h. */

struct client {
    sd_bus *bus;
    const char *destination; /* NULL: the private socket, where there are no names */
};

/* address as for --address=: a D-Bus address, "system", or NULL: the private socket, then the
 * system bus. Negative errno, of the private socket where both fail. */
int client_open(const char *address, struct client *ret);
void client_close(struct client *c);

/* A method of the manager with its arguments. timeout 0: sd-bus's own, 25 s. */
int client_call(struct client *c, const char *method, nsec_t timeout, sd_bus_error *ret_error,
                sd_bus_message **ret_reply, const char *types, ...);

/* Says why on standard error, and returns the exit code that goes with it. error may be empty. */
int client_complain(const char *address, int r, const sd_bus_error *error);

/* What client_open() and calls end with where no pcptuned runs, as against one that fails. */
bool client_absent(int r, const sd_bus_error *error);
