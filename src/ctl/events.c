/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "api.h"
#include "client.h"
#include "clock.h"
#include "eventjson.h"
#include "since.h"
#include "verbs.h"

/* What Events() returned, for the signals that came meanwhile are among it. */
struct past {
    sd_bus_message *reply;
    const char *json[API_EVENTS];
    uint32_t n;
};

struct printer {
    const struct past *past;
    bool json, filled;
    int error; /* standard output's */
};

static const char *colour_of(struct json_object *o)
{
    struct json_object *level;

    if (json_object_object_get_ex(o, "level", &level) && json_object_get_int(level) <= 4)
        return term_bad(stdout);
    return term_bold(stdout);
}

/* A line an event where programs read, filled where people do. */
static void print_event(const struct printer *p, const char *json)
{
    struct json_object *o = p->json ? NULL : json_tokener_parse(json);
    char when[TERM_TIME];

    if (!o) {
        puts(json);
        return;
    }
    event_time(o, when);
    printf("%s%s %s%s", colour_of(o), when, event_text(o, "event"), term_end(stdout));
    if (p->filled) {
        putchar('\n');
        term_fill(stdout, 4, event_text(o, "message"));
    } else {
        printf(": %s\n", event_text(o, "message"));
    }
    json_object_put(o);
}

static bool is_past(const struct past *past, const char *json)
{
    for (uint32_t i = 0; i < past->n; i++) {
        if (strcmp(past->json[i], json) == 0)
            return true;
    }
    return false;
}

static int on_event(sd_bus_message *m, void *arg, sd_bus_error *ret_error)
{
    struct printer *p = arg;
    const char *json;
    (void)ret_error;

    int r = sd_bus_message_read(m, "s", &json);
    if (r < 0 || is_past(p->past, json))
        return r < 0 ? r : 0;
    print_event(p, json);
    if (fflush(stdout) != 0)
        p->error = -errno;
    return 0;
}

static int read_past(sd_bus_message *reply, struct past *ret)
{
    const char *json;
    int r = sd_bus_message_enter_container(reply, 'a', "s");

    while (r >= 0 && (r = sd_bus_message_read(reply, "s", &json)) > 0) {
        if (ret->n < ARRAY_SIZE(ret->json))
            ret->json[ret->n++] = json;
    }
    return r;
}

static int follow(struct client *c, struct printer *p)
{
    int r = fflush(stdout) == 0 ? 0 : -errno;

    while (r >= 0 && p->error == 0) {
        r = sd_bus_process(c->bus, NULL);
        if (r == 0)
            r = sd_bus_wait(c->bus, UINT64_MAX);
        if (r == -EINTR)
            r = 0;
    }
    return p->error < 0 ? 0 : r; /* main() says what is wrong with standard output */
}

static int show(const struct call *call, struct client *c, uint64_t since, sd_bus_error *error)
{
    struct past past = {0};
    struct printer p = {
        .past = &past, .json = call->json, .filled = isatty(STDOUT_FILENO) || pager_runs()};
    int r = 0;

    if (call->follow) /* before Events(): no event falls between the two */
        r = sd_bus_match_signal(c->bus, NULL, c->destination, API_PATH, API_INTERFACE, "Event",
                                on_event, &p);
    if (r >= 0)
        r = client_call(c, "Events", 0, error, &past.reply, "tu", since, 0);
    if (r >= 0)
        r = read_past(past.reply, &past);
    for (uint32_t i = 0; i < past.n; i++)
        print_event(&p, past.json[i]);
    if (r >= 0 && past.n == 0 && !call->json && !call->follow)
        printf(
            "nothing%s; what an earlier pcptuned did is in the journal: journalctl -u pcptuned\n",
            call->since ? " since then" : " yet");
    if (r >= 0 && call->follow)
        r = follow(c, &p);
    sd_bus_message_unref(past.reply);
    return r;
}

int verb_events(const struct call *call)
{
    _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
    struct client c;
    uint64_t since = 0;

    if (call->since && since_parse(call->since, clock_realtime() / 1000, &since) < 0) {
        fprintf(stderr, "pcptunectl: --since=%s is no time; see pcptunectl events --help\n",
                call->since);
        return EXIT_USAGE;
    }
    int r = client_open(call->address, &c);
    if (r >= 0)
        r = show(call, &c, since, &error);
    int code = r < 0 ? client_complain(call->address, r, &error) : EXIT_SUCCESS;
    client_close(&c);
    return code;
}
