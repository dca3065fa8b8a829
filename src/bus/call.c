/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "bus_impl.h"
#include "report.h"
#include "utf8.h"

/* The kernel's word on a private connection, the bus daemon's on the system bus. */
static int caller(struct bus *b, sd_bus_message *m, uid_t *ret)
{
    __attribute__((cleanup(sd_bus_creds_unrefp))) sd_bus_creds *creds = NULL;
    const struct client *c = bus_client(b, sd_bus_message_get_bus(m));

    if (c) {
        *ret = c->uid;
        return 0;
    }
    int r = sd_bus_query_sender_creds(m, SD_BUS_CREDS_EUID, &creds);
    return r < 0 ? r : sd_bus_creds_get_euid(creds, ret);
}

static int authorise(struct bus *b, sd_bus_message *m, sd_bus_error *e)
{
    const char *method = sd_bus_message_get_member(m);
    uid_t uid;

    int r = caller(b, m, &uid);
    if (r >= 0 && uid == 0)
        return 0;
    b->denied++;
    if (r < 0)
        return sd_bus_error_setf(e, API_ERROR_DENIED,
                                 "%s is for root, and who asks cannot be told: %s", method,
                                 strerror(-r));
    return sd_bus_error_setf(e, API_ERROR_DENIED, "%s is for root, and uid %u asks", method, uid);
}

/* To the loop; the answer comes in bus_collect(). */
static int pass_on(struct bus *b, sd_bus_message *m, const struct bus_command *c, sd_bus_error *e)
{
    int r = authorise(b, m, e);
    if (r < 0)
        return r;
    if (b->call || board_command(b->board, c) < 0)
        return sd_bus_error_setf(e, API_ERROR_BUSY,
                                 "%s has to wait: another command is under way, for as long as a "
                                 "sysctl hangs at most",
                                 sd_bus_message_get_member(m));
    b->call = sd_bus_message_ref(m);
    return 1;
}

void bus_collect(struct bus *b)
{
    const char *error;
    char text[BOARD_TEXT];

    if (!board_collect(b->board, &error, text))
        return;
    /* Whoever asked may be gone. */
    if (error)
        (void)sd_bus_reply_method_errorf(b->call, error, "%s", utf8_repair(text));
    else
        (void)sd_bus_reply_method_return(b->call, NULL);
    b->call = sd_bus_message_unref(b->call);
}

int bus_call_set_mode(sd_bus_message *m, void *arg, sd_bus_error *e)
{
    struct bus_command c = {.verb = BUS_SET_MODE};
    const char *mode;

    int r = sd_bus_message_read(m, "s", &mode);
    if (r < 0)
        return r;
    for (c.mode = MODE_APPLY; c.mode < MODE_MAX; c.mode++) {
        if (strcmp(mode_name(c.mode), mode) == 0)
            return pass_on(arg, m, &c, e);
    }
    return sd_bus_error_set(e, API_ERROR_ARGS,
                            "there is no such mode; accepted are apply, dry-run and off");
}

int bus_call_reload(sd_bus_message *m, void *arg, sd_bus_error *e)
{
    return pass_on(arg, m, &(struct bus_command){.verb = BUS_RELOAD}, e);
}

int bus_call_rearm(sd_bus_message *m, void *arg, sd_bus_error *e)
{
    return pass_on(arg, m, &(struct bus_command){.verb = BUS_REARM}, e);
}

int bus_call_restore(sd_bus_message *m, void *arg, sd_bus_error *e)
{
    return pass_on(arg, m, &(struct bus_command){.verb = BUS_RESTORE}, e);
}

/* The number of the first of the newest max events since then. */
static uint64_t first_event(struct bus *b, uint64_t since_usec, uint32_t max)
{
    uint64_t kept = MIN(b->events, (uint64_t)API_EVENTS);
    uint64_t first = b->events - (max == 0 ? kept : MIN(kept, (uint64_t)max));
    struct event e;

    while (first < b->events &&
           (!board_event(b->board, first, &e) || e.real / NSEC_PER_USEC < since_usec))
        first++;
    return first;
}

static int append_event(sd_bus_message *m, const struct event *e)
{
    _cleanup_free_ char *text = report_json(e);

    return text ? sd_bus_message_append(m, "s", text) : -ENOMEM;
}

static int append_events(struct bus *b, sd_bus_message *m, uint64_t since_usec, uint32_t max)
{
    int r = sd_bus_message_open_container(m, 'a', "s");
    struct event e;

    for (uint64_t i = first_event(b, since_usec, max); i < b->events && r >= 0; i++) {
        if (board_event(b->board, i, &e))
            r = append_event(m, &e);
    }
    return r < 0 ? r : sd_bus_message_close_container(m);
}

int bus_call_events(sd_bus_message *m, void *arg, sd_bus_error *e)
{
    __attribute__((cleanup(sd_bus_message_unrefp))) sd_bus_message *reply = NULL;
    struct bus *b = arg;
    uint64_t since_usec;
    uint32_t max;
    (void)e;

    int r = sd_bus_message_read(m, "tu", &since_usec, &max);
    if (r >= 0)
        r = sd_bus_message_new_method_return(m, &reply);
    if (r >= 0)
        r = append_events(b, reply, since_usec, max);
    return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}
