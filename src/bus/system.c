/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "bus_impl.h"

/* No bus daemon after so long is worth a line, once. Until there is one, inotify waits
 * (sd_bus_set_watch_bind()): a machine without one costs no wake-up. */
#define ABSENT_AFTER (5 * NSEC_PER_SEC)

/* After a bus daemon has gone, or refused the name. */
#define RETRY_AFTER (10 * NSEC_PER_SEC)

/* Who calls is asked of the bus daemon (GetConnectionUnixUser), and clients wait meanwhile. */
#define ASK_PATIENCE (1 * NSEC_PER_SEC)

#define ADDRESS "unix:path=/run/dbus/system_bus_socket"

static int open_system(struct bus *b);

static void say(struct bus *b, const char *what, const char *why)
{
    char text[320];

    if (b->system_told)
        return;
    b->system_told = true;
    snprintf(text, sizeof(text), "%s: %s; the private socket works all the same", what, why);
    b->config.say(b->config.arg, LEVEL_INFO, text);
}

static void disconnect(struct bus *b)
{
    b->on_system = false;
    if (!b->system)
        return;
    sd_bus_detach_event(b->system);
    b->system = sd_bus_close_unref(b->system);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *arg)
{
    struct bus *b = arg;
    (void)source, (void)usec;

    if (b->system && b->on_system)
        return 0;
    if (b->system && sd_bus_is_open(b->system) > 0 && sd_bus_is_ready(b->system) <= 0) {
        say(b, "not on the system bus", "there is no bus daemon");
        return 0;
    }
    disconnect(b);
    int r = open_system(b);
    if (r < 0)
        say(b, "not on the system bus", strerror(-r));
    return 0;
}

static void retry_in(struct bus *b, nsec_t delay)
{
    if (sd_event_source_set_time_relative(b->retry, delay / NSEC_PER_USEC) >= 0)
        sd_event_source_set_enabled(b->retry, SD_EVENT_ONESHOT);
}

static int on_disconnected(sd_bus_message *m, void *arg, sd_bus_error *e)
{
    struct bus *b = arg;
    (void)m, (void)e;

    b->on_system = false;
    say(b, "not on the system bus any more", "its daemon has gone");
    retry_in(b, RETRY_AFTER);
    return 0;
}

static int on_name(sd_bus_message *m, void *arg, sd_bus_error *e)
{
    struct bus *b = arg;
    uint32_t reply = 0;
    (void)e;

    if (sd_bus_message_is_method_error(m, NULL)) {
        say(b, "the system bus refuses the name " API_NAME, sd_bus_message_get_error(m)->message);
        retry_in(b, RETRY_AFTER * 6);
        return 0;
    }
    if (sd_bus_message_read(m, "u", &reply) < 0 || reply != 1 /* primary owner */) {
        say(b, "not on the system bus", "another pcptuned is " API_NAME);
        retry_in(b, RETRY_AFTER * 6);
        return 0;
    }
    (void)sd_bus_set_method_call_timeout(b->system, ASK_PATIENCE / NSEC_PER_USEC);
    b->on_system = true;
    if (b->system_told)
        b->config.say(b->config.arg, LEVEL_INFO, "on the system bus as " API_NAME);
    b->system_told = false;
    return 0;
}

static int start(sd_bus *bus)
{
    const char *address = getenv("DBUS_SYSTEM_BUS_ADDRESS");

    int r = sd_bus_set_address(bus, address ? address : ADDRESS);
    if (r >= 0)
        r = sd_bus_set_bus_client(bus, true);
    if (r >= 0)
        r = sd_bus_set_watch_bind(bus, true);
    return r < 0 ? r : sd_bus_start(bus);
}

static int add_object(struct bus *b)
{
    int r = bus_add_object(b, b->system);

    if (r < 0)
        b->system = bus_discard(b->system, API_PATH);
    return r;
}

static int open_system(struct bus *b)
{
    int r = sd_bus_new(&b->system);
    if (r < 0)
        return r;
    (void)sd_bus_set_description(b->system, "system");
    r = start(b->system);
    if (r >= 0)
        r = add_object(b);
    if (r >= 0)
        r = sd_bus_match_signal_async(b->system, NULL, "org.freedesktop.DBus.Local",
                                      "/org/freedesktop/DBus/Local", "org.freedesktop.DBus.Local",
                                      "Disconnected", on_disconnected, NULL, b);
    if (r >= 0)
        r = sd_bus_request_name_async(b->system, NULL, API_NAME, 0, on_name, b);
    if (r >= 0)
        r = sd_bus_attach_event(b->system, b->event, SD_EVENT_PRIORITY_NORMAL);
    if (r < 0)
        disconnect(b);
    return r;
}

void bus_open_system(struct bus *b)
{
    int r = sd_event_add_time_relative(b->event, &b->retry, CLOCK_MONOTONIC,
                                       ABSENT_AFTER / NSEC_PER_USEC, 0, on_retry, b);
    if (r >= 0)
        r = open_system(b);
    if (r < 0)
        say(b, "not on the system bus", strerror(-r));
}

void bus_close_system(struct bus *b)
{
    disconnect(b);
    b->retry = sd_event_source_disable_unref(b->retry);
}
