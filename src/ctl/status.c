/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "absent.h"
#include "clock.h"
#include "jsonadd.h"
#include "term.h"
#include "told.h"
#include "units.h"
#include "verbs.h"

/* "status": what pcptuned tells, and where none runs what can be said without. */

/* --- text: with pcptuned -------------------------------------------------------------------- */

static const char *ago(uint64_t usec, char buf[static UNITS_BUF])
{
    uint64_t now = clock_realtime() / 1000;
    uint64_t secs = now > usec ? (now - usec) / 1000000 : 0;

    return secs > 0 ? format_duration(secs * NSEC_PER_SEC, buf) : "0s";
}

/* Why none of the knobs is pcptuned's to tune; NULL where one is. */
static const char *not_ours(const struct told *t)
{
    const char *why = "only reports: this kernel has no sysctl to tune";

    for (uint32_t i = 0; i < t->n_knobs; i++) {
        const struct told_knob *k = &t->knobs[i];
        if (!k->exists)
            continue;
        if (strcmp(k->owner, "administrator") == 0)
            why = "only reports, unless Pinned=tune: the sysctl was set before it came";
        else if (strcmp(k->owner, "foreign") == 0)
            why = "only reports: somebody else wrote the sysctl; see pcptunectl re-arm --help";
        else
            return NULL;
    }
    return why;
}

/* Whether it does what it was installed for, in one sentence; *ret_good says so. */
static const char *working(const struct told *t, bool *ret_good)
{
    const char *why = not_ours(t);

    *ret_good = false;
    if (strcmp(t->mode, "off") == 0)
        return "does nothing: its mode is off";
    if (strcmp(t->mode, "dry-run") == 0)
        return "only reports what it would do: its mode is dry-run";
    if (strcmp(t->state, "refused") == 0)
        return "only reports: the kernel refuses its writes; see pcptunectl events";
    if (why)
        return why;
    *ret_good = true;
    return "works: what waits longer than the target in a storm is tuned";
}

static void print_head(const struct told *t)
{
    char when[TERM_TIME], age[UNITS_BUF];
    bool good;
    const char *sentence = working(t, &good);

    printf("%spcptuned %s %s%s\n", good ? term_good(stdout) : term_bad(stdout), t->version,
           sentence, term_end(stdout));
    printf("%s%10s%s  %s, since %s (%s ago)\n", term_faint(stdout), "state", term_end(stdout),
           t->state, term_time(t->since_usec, when), ago(t->since_usec, age));
}

static void print_mode(const struct told *t)
{
    char text[160];

    if (strcmp(t->mode, t->configured_mode) == 0)
        snprintf(text, sizeof(text), "%s", t->mode);
    else
        snprintf(text, sizeof(text), "%s, for now; configured is %s: pcptunectl re-arm", t->mode,
                 t->configured_mode);
    term_field(stdout, "mode", text);
}

static void print_kernel(const struct told *t)
{
    char text[256], size[UNITS_BUF];

    snprintf(text, sizeof(text), "Linux %s, regime %s, %u CPU%s, %u node%s, %s", t->release,
             t->regime, t->cpus, t->cpus == 1 ? "" : "s", t->nodes, t->nodes == 1 ? "" : "s",
             format_size(t->memory_pages * t->page_size, size));
    term_field(stdout, "kernel", text);
}

static void print_wait(const struct told *t)
{
    char text[256], target[UNITS_BUF], wait[UNITS_BUF];
    size_t n =
        (size_t)snprintf(text, sizeof(text), "target %s", format_duration(t->target_wait, target));

    if (t->tasks > 0)
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              "; %s now, with %u task%s exiting and %" PRIu64 " pages to come",
                              format_duration(t->wait, wait), t->tasks, t->tasks == 1 ? "" : "s",
                              t->pages_to_come);
    if (t->pages_per_hold > 0)
        snprintf(text + n, sizeof(text) - n, "; %u pages a hold", t->pages_per_hold);
    term_field(stdout, "wait", text);
}

static void print_signals(const struct told *t)
{
    char text[1024], name[TERM_NAME];
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < t->n_signals && n < sizeof(text); i++) {
        if (t->signals[i].available)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? ", " : "",
                                  t->signals[i].name);
    }
    term_field(stdout, "signals", n ? text : "none");
    for (uint32_t i = 0; i < t->n_signals; i++) {
        const struct told_signal *s = &t->signals[i];
        if (s->available)
            continue;
        snprintf(text, sizeof(text), "%s%s%s", s->name, s->detail[0] ? ": " : "",
                 term_name(s->detail, name));
        term_field(stdout, "missing", text);
    }
}

static void print_pressure(const struct told *t)
{
    char text[512];
    size_t n = 0;

    for (uint32_t i = 0; i < t->n_pressures && n < sizeof(text); i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s some %.2f%%", n ? ", " : "",
                              t->pressures[i].resource, t->pressures[i].some);
    if (n > 0)
        term_field(stdout, "pressure", text);
}

static size_t what_came_of_it(const struct told_storm *s, char *buf, size_t size)
{
    char before[UNITS_BUF], after[UNITS_BUF];

    format_duration(s->wait_before, before);
    if (s->duration == 0 && strcmp(s->reason, "none") == 0)
        return (size_t)snprintf(buf, size, "W %s so far, nothing is decided yet", before);
    if (s->wait_after == s->wait_before)
        return (size_t)snprintf(buf, size, "W %s, left alone: %.64s", before, s->reason);
    return (size_t)snprintf(buf, size, "W %s -> %s, %s: %.64s", before,
                            format_duration(s->wait_after, after),
                            s->dry_run ? "would have been tuned" : "tuned", s->reason);
}

static void print_storm(const struct told *t)
{
    const struct told_storm *s = &t->storm;
    char text[512], when[TERM_TIME], name[TERM_NAME], size[UNITS_BUF], time[UNITS_BUF];

    if (!s->any) {
        term_field(stdout, "last storm", "none since the start");
        return;
    }
    size_t n =
        (size_t)snprintf(text, sizeof(text), "%" PRIu64 " at %s, of %s: %u task%s, %s; ", s->id,
                         term_time(s->began_usec, when), term_name(s->cgroup, name), s->tasks,
                         s->tasks == 1 ? "" : "s", format_size(s->pages * t->page_size, size));
    n += what_came_of_it(s, text + n, sizeof(text) - n);
    if (s->reaction > 0)
        n += (size_t)snprintf(text + n, sizeof(text) - n, ", %s after the first exit",
                              format_duration(s->reaction, time));
    if (s->duration > 0)
        snprintf(text + n, sizeof(text) - n, "; it took %s", format_duration(s->duration, time));
    else
        snprintf(text + n, sizeof(text) - n, "; it is on");
    term_field(stdout, "last storm", text);
}

static const char *number(int32_t value, char buf[static 16])
{
    if (value < 0)
        return "-";
    snprintf(buf, 16, "%d", value);
    return buf;
}

static void print_knobs(const struct told *t)
{
    char a[16], b[16], c[16];

    printf("\n%s%-34s %10s %10s %10s  %s%s\n", term_bold(stdout), "SYSCTL", "CURRENT", "ORIGINAL",
           "WANTED", "OWNER", term_end(stdout));
    for (uint32_t i = 0; i < t->n_knobs; i++) {
        const struct told_knob *k = &t->knobs[i];
        if (k->exists)
            printf("%-34s %10s %10s %10s  %s\n", k->name, number(k->value, a),
                   number(k->original, b), number(k->wanted, c), k->owner);
        else
            printf("%-34s %10s %10s %10s  %s\n", k->name, "-", "-", "-", "not in this kernel");
    }
}

static void print_counters(const struct told *t)
{
    static const char *const shown[] = {"storms", "storms_tuned", "storms_left_alone",
                                        "tasks",  "knob_writes",  "foreign_writes"};
    const char *separator = "\n";

    for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
        for (uint32_t k = 0; k < t->n_counters; k++) {
            if (strcmp(t->counters[k].name, shown[i]) != 0)
                continue;
            printf("%s%s %" PRIu64, separator, shown[i], t->counters[k].value);
            separator = ", ";
        }
    }
    putchar('\n');
}

static void print_told(const struct told *t)
{
    print_head(t);
    print_mode(t);
    print_kernel(t);
    print_wait(t);
    print_signals(t);
    print_pressure(t);
    print_storm(t);
    print_knobs(t);
    print_counters(t);
}

/* --- JSON: with pcptuned --------------------------------------------------------------------- */

static void add_value(struct json_object *o, const char *key, int32_t value)
{
    json_object_object_add(o, key, value < 0 ? NULL : json_object_new_int(value));
}

static void add_bool(struct json_object *o, const char *key, bool value)
{
    json_object_object_add(o, key, json_object_new_boolean(value));
}

static struct json_object *knobs_json(const struct told *t)
{
    struct json_object *list = json_object_new_array();

    for (uint32_t i = 0; i < t->n_knobs; i++) {
        const struct told_knob *k = &t->knobs[i];
        struct json_object *o = json_object_new_object();
        json_add_str(o, "name", k->name);
        add_bool(o, "exists", k->exists);
        add_value(o, "value", k->value);
        add_value(o, "original", k->original);
        add_value(o, "wanted", k->wanted);
        json_add_str(o, "owner", k->owner);
        json_object_array_add(list, o);
    }
    return list;
}

static struct json_object *signals_json(const struct told *t)
{
    struct json_object *list = json_object_new_array();

    for (uint32_t i = 0; i < t->n_signals; i++) {
        struct json_object *o = json_object_new_object();
        json_add_str(o, "name", t->signals[i].name);
        add_bool(o, "available", t->signals[i].available);
        json_add_str(o, "detail", t->signals[i].detail);
        json_object_array_add(list, o);
    }
    return list;
}

static struct json_object *pressure_json(const struct told *t)
{
    struct json_object *list = json_object_new_array();

    for (uint32_t i = 0; i < t->n_pressures; i++) {
        struct json_object *o = json_object_new_object();
        json_add_str(o, "resource", t->pressures[i].resource);
        json_object_object_add(o, "some_percent", json_object_new_double(t->pressures[i].some));
        json_object_object_add(o, "full_percent", json_object_new_double(t->pressures[i].full));
        json_object_array_add(list, o);
    }
    return list;
}

static struct json_object *zones_json(const struct told *t)
{
    struct json_object *list = json_object_new_array();

    for (uint32_t i = 0; i < t->n_zones; i++) {
        const struct told_zone *z = &t->zones[i];
        struct json_object *o = json_object_new_object();
        json_add_u64(o, "node", z->node);
        json_add_str(o, "zone", z->name);
        json_add_u64(o, "managed", z->managed);
        json_add_u64(o, "lists", z->lists);
        json_add_u64(o, "count", z->count);
        json_add_u64(o, "high_min", z->high_min);
        json_add_u64(o, "high_max", z->high_max);
        json_add_u64(o, "batch", z->batch);
        json_object_array_add(list, o);
    }
    return list;
}

static struct json_object *storm_json(const struct told_storm *s)
{
    if (!s->any)
        return NULL;
    struct json_object *o = json_object_new_object();
    json_add_u64(o, "id", s->id);
    json_add_str(o, "cgroup", s->cgroup);
    json_add_u64(o, "tasks", s->tasks);
    json_add_u64(o, "pages", s->pages);
    json_add_u64(o, "pages_freed", s->freed);
    json_add_u64(o, "wait_before_ns", s->wait_before);
    json_add_u64(o, "wait_after_ns", s->wait_after);
    json_add_str(o, "reason", s->reason);
    add_bool(o, "tuned", s->tuned);
    add_bool(o, "dry_run", s->dry_run);
    json_add_u64(o, "began_usec", s->began_usec);
    json_add_u64(o, "duration_ns", s->duration);
    json_add_u64(o, "reaction_ns", s->reaction);
    return o;
}

static struct json_object *counters_json(const struct told *t)
{
    struct json_object *o = json_object_new_object();

    for (uint32_t i = 0; i < t->n_counters; i++)
        json_add_u64(o, t->counters[i].name, t->counters[i].value);
    return o;
}

static int print_told_json(const struct told *t)
{
    struct json_object *o = json_object_new_object();
    bool good;

    add_bool(o, "running", true);
    json_add_str(o, "summary", working(t, &good));
    add_bool(o, "working", good);
    json_add_str(o, "version", t->version);
    json_add_str(o, "mode", t->mode);
    json_add_str(o, "configured_mode", t->configured_mode);
    json_add_str(o, "state", t->state);
    json_add_u64(o, "state_since_usec", t->since_usec);
    json_add_str(o, "release", t->release);
    json_add_str(o, "regime", t->regime);
    json_add_u64(o, "cpus", t->cpus);
    json_add_u64(o, "nodes", t->nodes);
    json_add_u64(o, "memory_pages", t->memory_pages);
    json_add_u64(o, "page_size", t->page_size);
    json_add_u64(o, "target_ns", t->target_wait);
    json_add_u64(o, "tasks_in_flight", t->tasks);
    json_add_u64(o, "pages_to_come", t->pages_to_come);
    json_add_u64(o, "pages_per_hold", t->pages_per_hold);
    json_add_u64(o, "wait_ns", t->wait);
    json_object_object_add(o, "sysctls", knobs_json(t));
    json_object_object_add(o, "signals", signals_json(t));
    json_object_object_add(o, "pressure", pressure_json(t));
    json_object_object_add(o, "zones", zones_json(t));
    json_add_u64(o, "zones_read_usec", t->zones_read_usec);
    json_object_object_add(o, "last_storm", storm_json(&t->storm));
    json_object_object_add(o, "counters", counters_json(t));
    return print_json(o);
}

/* ------------------------------------------------------------------------------------------- */

/* A configuration that keeps pcptuned from starting is told, and no reason to say nothing. */
static int without(const struct call *c)
{
    _cleanup_(config_result_done) struct config_result config;
    _cleanup_(machine_done) struct machine m;
    const struct params defaults = params_default();

    int r = call_config(c, &config);
    if (r == -ENOMEM)
        return EXIT_FAILURE;
    r = machine_read(r < 0 ? &defaults : &config.params, &m);
    if (r >= 0)
        r = absent_status(&m, c->json);
    return r < 0 ? EXIT_FAILURE : EXIT_NO_DAEMON;
}

int verb_status(const struct call *c)
{
    _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
    struct told t;
    int r = told_ask(c->address, &error, &t);

    if (client_absent(r, &error))
        return without(c);
    if (r < 0)
        return client_complain(c->address, r, &error);
    if (c->json)
        r = print_told_json(&t);
    else
        print_told(&t);
    told_done(&t);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
