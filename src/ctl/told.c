/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "told.h"

#include <string.h>

#include "api.h"

#define PATIENCE (5 * NSEC_PER_SEC)

/* Elements beyond what there is room for are read and dropped. */
#define READ_ARRAY(m, t, type, field, n, struct_types, ...)                                        \
    __extension__({                                                                                \
        __typeof__((t)->field[0]) e = {0};                                                         \
        int rr_ = sd_bus_message_enter_container(m, 'a', type);                                    \
        while (rr_ >= 0 && (rr_ = sd_bus_message_read(m, struct_types, __VA_ARGS__)) > 0)          \
            if ((t)->n < ARRAY_SIZE((t)->field))                                                   \
                (t)->field[(t)->n++] = e;                                                          \
        rr_ < 0 ? rr_ : sd_bus_message_exit_container(m);                                          \
    })

static int read_knobs(sd_bus_message *m, struct told *t)
{
    return READ_ARRAY(m, t, "(sbiiis)", knobs, n_knobs, "(sbiiis)", &e.name, &e.exists, &e.value,
                      &e.original, &e.wanted, &e.owner);
}

static int read_signals(sd_bus_message *m, struct told *t)
{
    return READ_ARRAY(m, t, "(sbs)", signals, n_signals, "(sbs)", &e.name, &e.available, &e.detail);
}

static int read_pressures(sd_bus_message *m, struct told *t)
{
    return READ_ARRAY(m, t, "(sdd)", pressures, n_pressures, "(sdd)", &e.resource, &e.some,
                      &e.full);
}

static int read_zones(sd_bus_message *m, struct told *t)
{
    return READ_ARRAY(m, t, "(ustutuuu)", zones, n_zones, "(ustutuuu)", &e.node, &e.name,
                      &e.managed, &e.lists, &e.count, &e.high_min, &e.high_max, &e.batch);
}

static int read_counters(sd_bus_message *m, struct told *t)
{
    return READ_ARRAY(m, t, "{st}", counters, n_counters, "{st}", &e.name, &e.value);
}

/* A value whose type is ours goes into its field, any other is passed over: the API may grow. */
struct field {
    const char *name, *type;
    size_t offset;
    int (*read)(sd_bus_message *m, struct told *t); /* arrays */
};

static const struct field storm_fields[] = {
    {"id", "t", offsetof(struct told_storm, id), NULL},
    {"cgroup", "s", offsetof(struct told_storm, cgroup), NULL},
    {"tasks", "u", offsetof(struct told_storm, tasks), NULL},
    {"pages", "t", offsetof(struct told_storm, pages), NULL},
    {"pages_freed", "t", offsetof(struct told_storm, freed), NULL},
    {"wait_before_nsec", "t", offsetof(struct told_storm, wait_before), NULL},
    {"wait_after_nsec", "t", offsetof(struct told_storm, wait_after), NULL},
    {"reason", "s", offsetof(struct told_storm, reason), NULL},
    {"tuned", "b", offsetof(struct told_storm, tuned), NULL},
    {"dry_run", "b", offsetof(struct told_storm, dry_run), NULL},
    {"began_usec", "t", offsetof(struct told_storm, began_usec), NULL},
    {"duration_nsec", "t", offsetof(struct told_storm, duration), NULL},
    {"reaction_nsec", "t", offsetof(struct told_storm, reaction), NULL},
};

static const struct field *find(const struct field *fields, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    }
    return NULL;
}

/* The variant that comes next, into base. */
static int read_variant(sd_bus_message *m, const struct field *f, void *base, struct told *t)
{
    const char *type;
    int r = sd_bus_message_peek_type(m, NULL, &type);

    if (r < 0)
        return r;
    if (!f || strcmp(f->type, type) != 0)
        return sd_bus_message_skip(m, "v");
    r = sd_bus_message_enter_container(m, 'v', type);
    if (r < 0)
        return r;
    r = f->read ? f->read(m, t) : sd_bus_message_read_basic(m, *type, (char *)base + f->offset);
    return r < 0 ? r : sd_bus_message_exit_container(m);
}

/* a{sv}; the number of entries. */
static int read_dict(sd_bus_message *m, const struct field *fields, size_t n, void *base,
                     struct told *t)
{
    int r = sd_bus_message_enter_container(m, 'a', "{sv}"), entries = 0;
    const char *name;

    if (r < 0)
        return r;
    while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
        r = sd_bus_message_read(m, "s", &name);
        if (r >= 0)
            r = read_variant(m, find(fields, n, name), base, t);
        if (r >= 0)
            r = sd_bus_message_exit_container(m);
        if (r < 0)
            return r;
        entries++;
    }
    if (r >= 0)
        r = sd_bus_message_exit_container(m);
    return r < 0 ? r : entries;
}

static int read_storm(sd_bus_message *m, struct told *t)
{
    int r = read_dict(m, storm_fields, ARRAY_SIZE(storm_fields), &t->storm, t);

    t->storm.any = r > 0;
    return r;
}

static const struct field fields[] = {
    {"Version", "s", offsetof(struct told, version), NULL},
    {"Release", "s", offsetof(struct told, release), NULL},
    {"PageSize", "u", offsetof(struct told, page_size), NULL},
    {"Mode", "s", offsetof(struct told, mode), NULL},
    {"ConfiguredMode", "s", offsetof(struct told, configured_mode), NULL},
    {"State", "s", offsetof(struct told, state), NULL},
    {"StateSince", "t", offsetof(struct told, since_usec), NULL},
    {"Regime", "s", offsetof(struct told, regime), NULL},
    {"Cpus", "u", offsetof(struct told, cpus), NULL},
    {"Nodes", "u", offsetof(struct told, nodes), NULL},
    {"MemoryPages", "t", offsetof(struct told, memory_pages), NULL},
    {"TargetWaitNSec", "t", offsetof(struct told, target_wait), NULL},
    {"LargestTasks", "u", offsetof(struct told, largest_tasks), NULL},
    {"LargestPages", "t", offsetof(struct told, largest_pages), NULL},
    {"TasksInFlight", "u", offsetof(struct told, tasks), NULL},
    {"PagesToCome", "t", offsetof(struct told, pages_to_come), NULL},
    {"PagesPerHold", "u", offsetof(struct told, pages_per_hold), NULL},
    {"WaitNSec", "t", offsetof(struct told, wait), NULL},
    {"ZonesRead", "t", offsetof(struct told, zones_read_usec), NULL},
    {"Knobs", API_TYPE_KNOBS, 0, read_knobs},
    {"Signals", API_TYPE_SIGNALS, 0, read_signals},
    {"Pressure", API_TYPE_PRESSURE, 0, read_pressures},
    {"Zones", API_TYPE_ZONES, 0, read_zones},
    {"LastStorm", API_TYPE_STORM, 0, read_storm},
    {"Counters", API_TYPE_COUNTERS, 0, read_counters},
};

int told_get(struct client *c, sd_bus_error *ret_error, struct told *ret)
{
    *ret = (struct told){.version = "",
                         .release = "",
                         .mode = "",
                         .configured_mode = "",
                         .state = "",
                         .regime = "",
                         .storm = {.cgroup = "", .reason = ""}};
    int r = client_call(c, "GetAll", PATIENCE, ret_error, &ret->reply, "s", API_INTERFACE);
    if (r >= 0)
        r = read_dict(ret->reply, fields, ARRAY_SIZE(fields), ret, ret);
    if (r < 0)
        told_done(ret);
    return r < 0 ? r : 0;
}

void told_done(struct told *t)
{
    t->reply = sd_bus_message_unref(t->reply);
}

uint64_t told_counter(const struct told *t, const char *name)
{
    for (uint32_t i = 0; i < t->n_counters; i++) {
        if (strcmp(t->counters[i].name, name) == 0)
            return t->counters[i].value;
    }
    return 0;
}

int told_ask(const char *address, sd_bus_error *ret_error, struct told *ret)
{
    struct client c;
    int r = client_open(address, &c);

    if (r >= 0)
        r = told_get(&c, ret_error, ret);
    client_close(&c);
    return r;
}
