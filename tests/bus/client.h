/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "macros.h"

/* Clients of the private socket, good and bad. */

/* Authenticated. NULL where the server has closed the connection. */
sd_bus *client_open(const char *dir);

/* What a message holds, as text: "s:apply b:1 [(s:x u:2)]". From the present position on. */
char *client_dump(sd_bus_message *m, char *buf, size_t size);

/* A property as such text; "error NAME" where there is one. */
char *client_get(sd_bus *bus, const char *property, char *buf, size_t size);

/* A connection that says nothing by itself; -1: it cannot connect. */
int client_raw(const char *dir);
/* Sends all, whatever becomes of it. */
void client_send(int fd, const void *data, size_t len);
void client_authenticate(int fd);
/* The server closes the connection within ms; what it sends meanwhile is read, or left unread. */
bool client_is_closed(int fd, bool reading, int ms);
