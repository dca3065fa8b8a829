/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client.h"

#include <stdarg.h>
#include <string.h>

#include "api.h"
#include "clock.h"
#include "state.h"
#include "verbs.h"

#define PATIENCE (5 * NSEC_PER_SEC)

/* sd_bus_call() would wait without end for a pcptuned that does not get to authentication. */
static int wait_until_ready(sd_bus *bus)
{
    nsec_t now = clock_monotonic(), end = now + PATIENCE;

    for (;;) {
        int r = sd_bus_is_ready(bus);
        if (r != 0)
            return r;
        r = sd_bus_process(bus, NULL);
        if (r > 0)
            continue;
        if (r == 0 && (now = clock_monotonic()) >= end)
            return -ETIMEDOUT;
        if (r == 0)
            r = sd_bus_wait(bus, (end - now) / NSEC_PER_USEC);
        if (r < 0 && r != -EINTR)
            return r;
    }
}

static int open_peer(const char *address, struct client *c)
{
    int r = sd_bus_new(&c->bus);

    if (r >= 0)
        r = sd_bus_set_address(c->bus, address);
    if (r >= 0)
        r = sd_bus_start(c->bus);
    if (r >= 0)
        r = wait_until_ready(c->bus);
    if (r < 0)
        c->bus = sd_bus_close_unref(c->bus);
    return r;
}

static int open_system(struct client *c)
{
    c->destination = API_NAME;
    int r = sd_bus_open_system(&c->bus);
    if (r >= 0)
        r = wait_until_ready(c->bus);
    if (r >= 0)
        r = sd_bus_set_allow_interactive_authorization(c->bus, true);
    if (r < 0)
        c->bus = sd_bus_close_unref(c->bus);
    return r;
}

/* In an address other characters are %xx ("Server Addresses" of the D-Bus specification). */
static char *socket_address(void)
{
    const char *dir = state_dir();
    char *address = malloc(3 * strlen(dir) + 32), *to = address;

    if (!address)
        return NULL;
    to += sprintf(to, "unix:path=");
    for (const char *c = dir; *c; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                     (*c >= '0' && *c <= '9') || strchr("-_/.\\", *c);
        to += sprintf(to, plain ? "%c" : "%%%02x", (unsigned char)*c);
    }
    sprintf(to, "/" API_SOCKET_NAME);
    return address;
}

int client_open(const char *address, struct client *ret)
{
    *ret = (struct client){0};
    if (address && strcmp(address, "system") == 0)
        return open_system(ret);
    if (address)
        return open_peer(address, ret);
    _cleanup_free_ char *own = socket_address();
    int r = own ? open_peer(own, ret) : -ENOMEM;
    bool elsewhere = r == -ENOENT || r == -ECONNREFUSED || r == -EACCES;
    if (elsewhere && open_system(ret) >= 0)
        return 0;
    if (elsewhere)
        ret->destination = NULL;
    return MIN(r, 0);
}

void client_close(struct client *c)
{
    /* No flush: all that was sent has been answered, and a pcptuned that hangs would never read. */
    c->bus = sd_bus_close_unref(c->bus);
}

int client_call(struct client *c, const char *method, nsec_t timeout, sd_bus_error *ret_error,
                sd_bus_message **ret_reply, const char *types, ...)
{
    sd_bus_message *m = NULL;
    bool all = strcmp(method, "GetAll") == 0;
    va_list ap;

    int r = sd_bus_message_new_method_call(c->bus, &m, c->destination, API_PATH,
                                           all ? "org.freedesktop.DBus.Properties" : API_INTERFACE,
                                           method);
    if (r < 0)
        return r;
    va_start(ap, types);
    r = types ? sd_bus_message_appendv(m, types, ap) : 0;
    va_end(ap);
    if (r >= 0) /* a look at it is no reason to start it */
        r = sd_bus_message_set_auto_start(m, false);
    if (r >= 0)
        r = sd_bus_call(c->bus, m, timeout / NSEC_PER_USEC, ret_error, ret_reply);
    sd_bus_message_unref(m);
    return r;
}

static bool denied(int r, const sd_bus_error *error)
{
    return r == -EACCES || r == -EPERM || sd_bus_error_has_name(error, API_ERROR_DENIED) ||
           sd_bus_error_has_name(error, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED);
}

bool client_absent(int r, const sd_bus_error *error)
{
    return r == -ENOENT || r == -ECONNREFUSED ||
           sd_bus_error_has_name(error, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
           sd_bus_error_has_name(error, SD_BUS_ERROR_NAME_HAS_NO_OWNER);
}

int client_complain(const char *address, int r, const sd_bus_error *error)
{
    if (client_absent(r, error)) {
        if (address)
            fprintf(stderr, "pcptunectl: no pcptuned runs: nothing answers at %s\n", address);
        else
            fprintf(stderr,
                    "pcptunectl: no pcptuned runs: nothing answers at %s/" API_SOCKET_NAME
                    ", nor on the system bus\n",
                    state_dir());
        return EXIT_NO_DAEMON;
    }
    if (denied(r, error)) {
        fprintf(stderr, "pcptunectl: denied: %s\n",
                sd_bus_error_is_set(error) && error->message ? error->message : strerror(-r));
        return EXIT_DENIED;
    }
    if (sd_bus_error_has_name(error, API_ERROR_REFUSED) ||
        sd_bus_error_has_name(error, API_ERROR_BUSY)) {
        fprintf(stderr, "pcptunectl: refused: %s\n", error->message ? error->message : error->name);
        return EXIT_REFUSED;
    }
    if (r == -ETIMEDOUT)
        fprintf(stderr, "pcptunectl: pcptuned did not answer in time\n");
    else if (r == -ECONNRESET || r == -ENOTCONN || r == -EPIPE)
        fprintf(stderr, "pcptunectl: pcptuned closed the connection: it ended, or has too many "
                        "clients\n");
    else if (sd_bus_error_is_set(error))
        fprintf(stderr, "pcptunectl: %s\n", error->message ? error->message : error->name);
    else
        fprintf(stderr, "pcptunectl: %s\n", strerror(-r));
    return EXIT_FAILURE;
}
