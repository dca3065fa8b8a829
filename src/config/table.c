/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "units.h"

#define US NSEC_PER_USEC
#define MS NSEC_PER_MSEC
#define SEC NSEC_PER_SEC
#define MIN_ (60 * SEC)
#define HOUR (3600 * SEC)
#define MIB (UINT64_C(1) << 20)
#define TIB (UINT64_C(1) << 40)

#define FIELD(f) .offset = offsetof(struct params, f), .size = sizeof(((struct params *)0)->f)
#define KEY(section_, name_, f, type_, min_, max_, ...)                                            \
    {                                                                                              \
        .section = #section_, .name = #name_, FIELD(f), .type = CONFIG_##type_, .min = (min_),     \
        .max = (max_), __VA_ARGS__                                                                 \
    }

/* Defaults: params_default(). The limits keep out what cannot have been meant; why each: */
const struct config_key config_table[] = {
    KEY(Daemon, Mode, mode, MODE, 0, MODE_MAX - 1,
        .help = "tune, only report what would be tuned, or do nothing"),
    /* Faster than 1s is polling; slower than 10min, hot-plugged memory goes unseen too long. */
    KEY(Daemon, Tick, tick, DURATION, SEC, 10 * MIN_,
        .help = "how often the host is looked at in calm"),
    /* An access takes microseconds, a memory offline holds it up for seconds. */
    KEY(Daemon, KnobTimeout, knob_timeout, DURATION, 10 * MS, MIN_,
        .help = "a sysctl access that takes longer is reported as hanging"),

    KEY(Signals, Taskstats, taskstats, BOOL, 0, 1,
        .help = "see tasks exit before they free their memory"),
    KEY(Signals, Psi, psi, BOOL, 0, 1, .help = "wake up on memory pressure"),
    KEY(Signals, Vmstat, vmstat, BOOL, 0, 1, .help = "watch what is freed and allocated"),

    /* 1M (256 pages) fits into the lists of one CPU; 1T is as large as most hosts. */
    KEY(Storm, TaskSize, task_size, SIZE, MIB, TIB,
        .help = "exits of tasks with less memory are not looked at"),
    /* 1M as above; 64T is all that x86-64 addresses with four levels of page tables. */
    KEY(Storm, StormSize, storm_size, SIZE, MIB, 64 * TIB,
        .help = "with less memory to be freed at once there is no storm"),
    /* 10ms: two scheduling periods; more than 1min of short lists is paid for all day. */
    KEY(Storm, Hold, hold, DURATION, 10 * MS, MIN_,
        .help = "calm after the last exit before the knobs are given back"),
    /* 1s frees 200 GiB at 20ns a page; a task that takes 1h hangs. */
    KEY(Storm, TaskTimeout, task_timeout, DURATION, SEC, HOUR,
        .help = "a task that takes longer to exit is no longer waited for"),
    KEY(Storm, StartStorms, start_storms, BOOL, 0, 1,
        .help = "tame tasks too that fault much memory in at the same time"),

    /* 1us is less than one batch of 63 pages takes; 1s is never met by accident. */
    KEY(Policy, TargetWait, target_wait, DURATION, US, SEC,
        .help = "what an allocation may wait for zone->lock in a storm"),
    /* 17 to 45ns are published; no cache miss is shorter than 1ns or longer than 1us. */
    KEY(Policy, PageCost, page_cost, DURATION, 1, US,
        .help = "what freeing one page costs under zone->lock"),
    /* The kernel's bounds: knob_table. */
    KEY(Policy, HighFractionMin, knob_lo[KNOB_FRACTION], NUMBER, 8, INT_MAX,
        .help = "lowest vm.percpu_pagelist_high_fraction to write"),
    KEY(Policy, HighFractionMax, knob_hi[KNOB_FRACTION], NUMBER, 8, INT_MAX,
        .help = "highest vm.percpu_pagelist_high_fraction to write"),
    KEY(Policy, BatchScaleMin, knob_lo[KNOB_SCALE], NUMBER, 0, 6,
        .help = "lowest vm.pcp_batch_scale_max to write"),
    KEY(Policy, BatchScaleMax, knob_hi[KNOB_SCALE], NUMBER, 0, 6,
        .help = "highest vm.pcp_batch_scale_max to write"),
    /* 10ms as for Hold=; after 10min the storm has long been over. */
    KEY(Policy, Dwell, dwell, DURATION, 10 * MS, 10 * MIN_,
        .help = "time between two decisions in opposite directions"),
    /* 1s is what one container takes; after 1h the lists are short for good. */
    KEY(Policy, TunedMax, tuned_max, DURATION, SEC, HOUR,
        .help = "a storm that lasts longer gets the originals back and is left alone"),
    /* A change needs room for its restore; 1000 is one in 3.6s, all day. */
    KEY(Policy, WritesPerHour, writes_per_hour, NUMBER, 2, 1000,
        .help = "changes and restores together"),
    /* 1% is 170 pages a hold: what the kernel's own floor costs. */
    KEY(Policy, MaxLoss, max_loss, PERCENT, 1, 100,
        .help = "throughput that shorter lists may give away"),
    /* Auto-tuning lets the lists hold an eighth. */
    KEY(Policy, MaxHoard, max_hoard, PERCENT, 0, 13,
        .help = "memory that the lists may hold where it is short; 0: as much as they like"),
    KEY(Policy, Churn, churn, BOOL, 0, 1,
        .help = "lengthen lists under sustained traffic on kernels that do not do it themselves"),

    KEY(Conflict, OnForeignWrite, on_foreign, ON_FOREIGN, 0, FOREIGN_MAX - 1,
        .help = "when somebody else writes a knob: leave it, take it back, or stop"),
    /* Taking a knob back within 1s is not yielding; beyond a week (168h) say infinity. */
    KEY(Conflict, RearmAfter, rearm_after, DURATION, SEC, 168 * HOUR, .infinity = true,
        .help = "when a knob left to somebody else is taken up again; infinity: on command"),
    KEY(Conflict, Pinned, on_pinned, ON_PINNED, 0, PINNED_MAX - 1,
        .help = "a knob that is not at its default at start: leave it, or tune it"),

    KEY(Report, MetricsFile, metrics_file, PATH, 0, PARAMS_PATH - 1,
        .help = "metrics for the textfile collector of node_exporter; empty: none"),
};

static const char *enum_name(enum config_type type, uint64_t v)
{
    switch (type) {
    case CONFIG_MODE:
        return mode_name((enum mode)v);
    case CONFIG_ON_FOREIGN:
        return on_foreign_name((enum on_foreign)v);
    default:
        return on_pinned_name((enum on_pinned)v);
    }
}

static int parse_value(const struct config_key *k, const char *s, uint64_t *ret)
{
    bool b;

    switch (k->type) {
    case CONFIG_BOOL:
        if (parse_bool(s, &b) < 0)
            return -EINVAL;
        *ret = b;
        return 0;
    case CONFIG_NUMBER:
        return parse_u64(s, ret);
    case CONFIG_PERCENT:
        return parse_percent(s, ret);
    case CONFIG_DURATION:
        return parse_duration(s, ret);
    case CONFIG_SIZE:
        return parse_size(s, ret);
    default:
        for (uint64_t v = k->min; v <= k->max; v++)
            if (strcmp(s, enum_name(k->type, v)) == 0) {
                *ret = v;
                return 0;
            }
        return -EINVAL;
    }
}

static void print_value(const struct config_key *k, uint64_t v, char buf[CONFIG_TEXT])
{
    char text[UNITS_BUF];

    switch (k->type) {
    case CONFIG_BOOL:
        snprintf(buf, CONFIG_TEXT, "%s", v ? "yes" : "no");
        break;
    case CONFIG_NUMBER:
        snprintf(buf, CONFIG_TEXT, "%" PRIu64, v);
        break;
    case CONFIG_PERCENT:
        snprintf(buf, CONFIG_TEXT, "%" PRIu64 "%%", v);
        break;
    case CONFIG_DURATION:
        snprintf(buf, CONFIG_TEXT, "%s", format_duration_exact(v, text));
        break;
    case CONFIG_SIZE:
        snprintf(buf, CONFIG_TEXT, "%s", format_size_exact(v, text));
        break;
    default:
        snprintf(buf, CONFIG_TEXT, "%s", enum_name(k->type, v));
    }
}

/* Fields are a bool, an int, an enum or a uint32_t, or a uint64_t: told apart by their size. */
static void store(const struct config_key *k, uint64_t v, struct params *p)
{
    char *field = (char *)p + k->offset;
    bool b = v;
    uint32_t u = (uint32_t)v;

    memcpy(field,
           k->size == sizeof(b)   ? (void *)&b
           : k->size == sizeof(u) ? (void *)&u
                                  : &v,
           k->size);
}

static uint64_t fetch(const struct config_key *k, const struct params *p)
{
    const char *field = (const char *)p + k->offset;
    bool b;
    uint32_t u;
    uint64_t v;

    if (k->size == sizeof(b))
        return memcpy(&b, field, sizeof(b)), b;
    if (k->size == sizeof(u))
        return memcpy(&u, field, sizeof(u)), u;
    return memcpy(&v, field, sizeof(v)), v;
}

static bool is_metrics_file(const char *s)
{
    size_t len = strlen(s);

    for (const char *c = s; *c; c++)
        if (*c <= ' ' || *c > '~' || strchr("\"#;\\", *c))
            return false;
    return *s == '/' && len > strlen("/.prom") && strcmp(s + len - strlen(".prom"), ".prom") == 0;
}

static int set_path(const struct config_key *k, const char *value, struct params *p)
{
    char *field = (char *)p + k->offset;

    if (*value && !is_metrics_file(value))
        return -EINVAL;
    if (strlen(value) > k->max)
        return -ERANGE;
    memset(field, 0, k->size);
    memcpy(field, value, strlen(value) + 1);
    return 0;
}

int config_set(const struct config_key *k, const char *value, struct params *p)
{
    struct params defaults = params_default();
    uint64_t v = 0;

    if (k->type == CONFIG_PATH)
        return set_path(k, value, p);
    v = fetch(k, &defaults);
    if (*value) {
        int r = parse_value(k, value, &v);
        if (r < 0)
            return r;
        if ((v < k->min || v > k->max) && !(k->infinity && v == NSEC_INFINITY))
            return -ERANGE;
    }
    store(k, v, p);
    return 0;
}

char *config_format(const struct config_key *k, const struct params *p, char buf[CONFIG_TEXT])
{
    if (k->type == CONFIG_PATH)
        snprintf(buf, CONFIG_TEXT, "%s", (const char *)p + k->offset);
    else
        print_value(k, fetch(k, p), buf);
    return buf;
}

static char *enum_range(const struct config_key *k, char buf[CONFIG_TEXT])
{
    size_t len = 0;

    for (uint64_t v = k->min; v <= k->max; v++) {
        const char *sep = v == k->min ? "" : v == k->max ? " or " : ", ";
        len += (size_t)snprintf(buf + len, CONFIG_TEXT - len, "%s%s", sep, enum_name(k->type, v));
    }
    return buf;
}

char *config_range(const struct config_key *k, char buf[CONFIG_TEXT])
{
    char lo[CONFIG_TEXT], hi[CONFIG_TEXT];

    if (k->type >= CONFIG_MODE)
        return enum_range(k, buf);
    if (k->type == CONFIG_PATH) {
        snprintf(buf, CONFIG_TEXT, "an absolute path that ends in .prom");
        return buf;
    }
    print_value(k, k->min, lo);
    print_value(k, k->max, hi);
    if (k->type == CONFIG_BOOL)
        snprintf(buf, CONFIG_TEXT, "%.20s or %.20s", hi, lo);
    else
        snprintf(buf, CONFIG_TEXT, "%.20s to %.20s%s", lo, hi, k->infinity ? ", or infinity" : "");
    return buf;
}
