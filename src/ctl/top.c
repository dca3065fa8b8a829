/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "api.h"
#include "clock.h"
#include "eventjson.h"
#include "screen.h"
#include "verbs.h"

#define EVERY NSEC_PER_SEC
/* What happens is shown at once, and a storm of events is no reason to draw without end. */
#define AT_MOST_EVERY (100 * NSEC_PER_MSEC)

struct top {
    const char *address;
    struct client client;
    bool connected;
    struct told told;
    struct view view;
    uint64_t began_usec; /* CLOCK_REALTIME */
    nsec_t asked, next;
};

static volatile sig_atomic_t ended;

static void on_end(int number)
{
    (void)number;
    ended = 1;
}

/* --- events -------------------------------------------------------------------------------- */

static void remember(struct view *v, const char *json)
{
    struct json_object *o = json_tokener_parse(json);
    char when[TERM_TIME] = "";

    if (!o)
        return;
    if (v->n_events == VIEW_EVENTS) {
        memmove(v->events, v->events + 1, (VIEW_EVENTS - 1) * sizeof(v->events[0]));
        v->n_events--;
    }
    struct view_event *e = &v->events[v->n_events++];
    event_time(o, when);
    snprintf(e->when, sizeof(e->when), "%.8s", when + strlen("2026-11-30 "));
    snprintf(e->text, sizeof(e->text), "%s", event_text(o, "message"));
    json_object_put(o);
}

static int on_event(sd_bus_message *m, void *arg, sd_bus_error *ret_error)
{
    struct top *t = arg;
    const char *json;
    (void)ret_error;

    int r = sd_bus_message_read(m, "s", &json);
    if (r < 0)
        return r;
    remember(&t->view, json);
    t->next = MIN(t->next, t->asked + AT_MOST_EVERY);
    return 0;
}

/* --- the connection ------------------------------------------------------------------------ */

static int connect_to(struct top *t)
{
    int r = client_open(t->address, &t->client);

    if (r >= 0)
        r = sd_bus_match_signal(t->client.bus, NULL, t->client.destination, API_PATH, API_INTERFACE,
                                "Event", on_event, t);
    if (r < 0)
        client_close(&t->client);
    t->connected = r >= 0;
    return r;
}

static void forget(struct top *t)
{
    if (t->view.told)
        told_done(&t->told);
    t->view.told = NULL;
}

/* A storm is often over within a second: what it would have cost stays. */
static void see_worst(struct top *t)
{
    const struct told_storm *s = &t->told.storm;

    t->view.worst = MAX(t->view.worst, t->told.wait);
    if (s->any && s->began_usec >= t->began_usec)
        t->view.worst = MAX(t->view.worst, s->wait_before);
}

/* Negative errno where pcptuned is not there: it is looked for again. */
static int ask(struct top *t, sd_bus_error *error)
{
    int r = t->connected ? 0 : connect_to(t);

    forget(t);
    t->asked = clock_monotonic();
    t->next = t->asked + EVERY;
    if (r >= 0)
        r = told_get(&t->client, error, &t->told);
    t->view.now_usec = clock_realtime() / 1000;
    if (r >= 0) {
        t->view.told = &t->told;
        see_worst(t);
        return 0;
    }
    t->view.trouble = client_absent(r, error) ? "nothing answers" : strerror(-r);
    client_close(&t->client);
    t->connected = false;
    return r;
}

static void ask_again(struct top *t)
{
    _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

    ask(t, &error);
}

/* Sleeps until a key, a signal, a message or the next look. */
static void wait_for_something(struct top *t)
{
    nsec_t now = clock_monotonic();
    int ms = now < t->next ? (int)((t->next - now) / NSEC_PER_MSEC) + 1 : 0;
    struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = -1}};

    if (t->connected) {
        int events = sd_bus_get_events(t->client.bus);
        fds[1].fd = sd_bus_get_fd(t->client.bus);
        fds[1].events = (short)(events < 0 ? POLLIN : events);
    }
    if (poll(fds, ARRAY_SIZE(fds), ms) > 0 && (fds[0].revents & (POLLHUP | POLLERR)))
        ended = 1; /* the terminal is gone */
}

static void take_messages(struct top *t)
{
    int r = 1;

    while (t->connected && r > 0)
        r = sd_bus_process(t->client.bus, NULL);
    if (r < 0) {
        forget(t);
        client_close(&t->client);
        t->connected = false;
        t->view.trouble = "it closed the connection";
        screen_draw(&t->view);
    }
}

static void take_keys(struct top *t)
{
    for (;;) {
        switch (screen_key()) {
        case SCREEN_NONE:
            return;
        case SCREEN_QUIT:
            ended = 1;
            return;
        case SCREEN_REFRESH:
            t->next = MIN(t->next, t->asked + AT_MOST_EVERY);
            break;
        case SCREEN_DRAW:
            screen_draw(&t->view);
            break;
        }
    }
}

static void run(struct top *t)
{
    screen_draw(&t->view);
    while (!ended) {
        wait_for_something(t);
        take_keys(t);
        take_messages(t);
        if (clock_monotonic() < t->next)
            continue;
        ask_again(t);
        screen_draw(&t->view);
    }
}

/* What happened before is of interest where not much happens now. */
static void remember_past(struct top *t)
{
    _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
    sd_bus_message *reply = NULL;
    const char *json;

    int r = client_call(&t->client, "Events", EVERY, &error, &reply, "tu", UINT64_C(0),
                        (uint32_t)VIEW_EVENTS);
    if (r >= 0)
        r = sd_bus_message_enter_container(reply, 'a', "s");
    while (r >= 0 && sd_bus_message_read(reply, "s", &json) > 0)
        remember(&t->view, json);
    sd_bus_message_unref(reply);
}

static void catch_ends(void)
{
    const struct sigaction end = {.sa_handler = on_end};

    sigaction(SIGINT, &end, NULL);
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGHUP, &end, NULL);
}

int verb_top(const struct call *c)
{
    _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
    struct top t = {.address = c->address, .began_usec = clock_realtime() / 1000};
    int code = EXIT_SUCCESS;

    int r = ask(&t, &error);
    if (r < 0)
        return client_complain(c->address, r, &error);
    remember_past(&t);
    catch_ends();
    if (screen_open() < 0) {
        fprintf(stderr, "pcptunectl: top wants a terminal; see pcptunectl status\n");
        code = EXIT_FAILURE;
    } else {
        run(&t);
        screen_close();
    }
    forget(&t);
    client_close(&t.client);
    return code;
}
