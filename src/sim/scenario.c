/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scenario.h"

#include <ini.h>
#include <limits.h>
#include <string.h>

#include "fileio.h"
#include "units.h"

#define FILE_LIMIT ((size_t)256 << 10)
#define PS_PER_NS UINT64_C(1000)
#define PS_PER_US UINT64_C(1000000)
#define MANY UINT64_C(1000000000000) /* more than any count here has reason to be */

enum key_type {
    KEY_COUNT,    /* a whole number */
    KEY_COUNT32,  /* the same in 32 bits */
    KEY_PAGES,    /* a size, kept in pages of 4 KiB until scenario_check() */
    KEY_DURATION, /* "100us" */
    KEY_COST,     /* ns with up to three decimals, kept in ps */
    KEY_BOOL,
    KEY_WORD, /* one of words[], kept as its index */
    KEY_TEXT,
    KEY_RANGE, /* "3" or "64-127" */
};

static const char *const regimes[] = {"R1", "R2", "R3", "R4", "R5", "R6", NULL};
static const char *const works[] = {"exit", "start", "loop", "bystander", NULL};
static const char *const knobs[] = {"fraction", "scale", NULL};
static const char *const untils[] = {"time", "exits", NULL};

struct key {
    const char *section, *name;
    enum key_type type;
    size_t offset;
    uint64_t min, max;
    const char *const *words; /* KEY_WORD */
    size_t is_set;            /* offset of a bool, 0: none */
};

#define COUNT(section, name, of, field, min, max)                                                  \
    {                                                                                              \
        section, name, KEY_COUNT, offsetof(of, field), min, max, NULL, 0                           \
    }
#define COST(name, field)                                                                          \
    {                                                                                              \
        "Machine", name, KEY_COST, offsetof(struct scenario, machine.field), 0,                    \
            UINT64_C(1000000000), NULL, 0                                                          \
    }
#define TIME(section, name, of, field, min)                                                        \
    {                                                                                              \
        section, name, KEY_DURATION, offsetof(of, field), min, UINT64_C(3600) * NSEC_PER_SEC,      \
            NULL, 0                                                                                \
    }
#define SC struct scenario
#define WL struct workload

static const struct key keys[] = {
    {"Run", "Title", KEY_TEXT, offsetof(SC, title), 0, sizeof(((SC *)0)->title), NULL, 0},
    COUNT("Run", "Seed", SC, run.seed, 0, UINT64_MAX),
    TIME("Run", "Time", SC, run.time, 1),
    {"Run", "Until", KEY_WORD, offsetof(SC, run.to_exits), 0, 0, untils, 0},
    TIME("Run", "Sample", SC, run.sample, 1000),

    {"Machine", "Cpus", KEY_COUNT32, offsetof(SC, machine.cpus), 1, 4096, NULL, 0},
    {"Machine", "Nodes", KEY_COUNT32, offsetof(SC, machine.nodes), 1, SCENARIO_NODES, NULL, 0},
    {"Machine", "PageSize", KEY_COUNT32, offsetof(SC, machine.page_size), 4096, 65536, NULL, 0},
    COUNT("Machine", "ManagedPages", SC, machine.managed, 1024, MANY),
    COUNT("Machine", "LowPages", SC, machine.low, 1, MANY),
    COUNT("Machine", "FreePages", SC, machine.free, 0, MANY),
    {"Machine", "Batch", KEY_COUNT32, offsetof(SC, machine.batch), 1, 65536, NULL, 0},
    TIME("Machine", "StatInterval", SC, machine.stat_interval, NSEC_PER_MSEC),
    COST("FreeFixedNs", free_fixed),
    COST("FreePageNs", free_page),
    COST("FreeOutsideNs", free_outside),
    COST("AllocFixedNs", alloc_fixed),
    COST("AllocPageNs", alloc_page),
    COST("AllocOutsideNs", alloc_outside),
    COST("ReclaimPageNs", reclaim_page),
    COUNT("Machine", "JitterPercent", SC, machine.jitter, 0, 200),

    {"Regime", "Regime", KEY_WORD, offsetof(SC, kernel.regime), 0, 0, regimes, 0},
    COUNT("Regime", "Scale", SC, kernel.scale, 0, 6),
    COUNT("Regime", "Fraction", SC, kernel.fraction, 0, INT_MAX),
    {"Regime", "FilledPercent", KEY_COUNT, offsetof(SC, kernel.filled), 0, 100, NULL,
     offsetof(SC, kernel.filled_is_set)},

    {"Policy", "Daemon", KEY_BOOL, offsetof(SC, loop.on), 0, 0, NULL, 0},
    {"Policy", "Taskstats", KEY_BOOL, offsetof(SC, loop.params.taskstats), 0, 0, NULL, 0},
    TIME("Policy", "MessageDelay", SC, loop.message_delay, 0),
    TIME("Policy", "WriteDelay", SC, loop.write_delay, 0),
    TIME("Policy", "TargetWait", SC, loop.params.target_wait, 1000),
    TIME("Policy", "PageCost", SC, loop.params.page_cost, 1),
    TIME("Policy", "Hold", SC, loop.params.hold, 0),

    {"Workload", "Kind", KEY_WORD, offsetof(WL, kind), 0, 0, works, 0},
    COUNT("Workload", "Tasks", WL, tasks, 1, 4096),
    {"Workload", "Size", KEY_PAGES, offsetof(WL, size), 1, MANY, NULL, 0},
    COUNT("Workload", "SizeSpreadPercent", WL, size_spread, 0, 100),
    COUNT("Workload", "Order", WL, order, 0, 3),
    TIME("Workload", "Start", WL, start, 0),
    TIME("Workload", "Every", WL, every, 0),
    TIME("Workload", "Spread", WL, spread, 0),
    TIME("Workload", "Interval", WL, interval, 0),
    TIME("Workload", "Pause", WL, pause, 0),
    {"Workload", "FirstCpu", KEY_COUNT, offsetof(WL, first_cpu), 0, 4095, NULL,
     offsetof(WL, first_cpu_is_set)},
    {"Workload", "Node", KEY_COUNT, offsetof(WL, node), 0, SCENARIO_NODES - 1, NULL,
     offsetof(WL, node_is_set)},
    {"Workload", "FilledPercent", KEY_COUNT, offsetof(WL, filled), 0, 100, NULL,
     offsetof(WL, filled_is_set)},
    {"Workload", "Silent", KEY_BOOL, offsetof(WL, silent), 0, 0, NULL, 0},
    {"Workload", "Shared", KEY_BOOL, offsetof(WL, shared), 0, 0, NULL, 0},

    TIME("Write", "At", struct write, at, 0),
    {"Write", "Knob", KEY_WORD, offsetof(struct write, knob), 0, 0, knobs, 0},
    COUNT("Write", "Value", struct write, value, 0, INT_MAX),

    TIME("Hotplug", "At", struct hotplug, at, 0),
    {"Hotplug", "Cpu", KEY_RANGE, offsetof(struct hotplug, cpus), 0, 4095, NULL, 0},
    {"Hotplug", "Cpus", KEY_RANGE, offsetof(struct hotplug, cpus), 0, 4095, NULL, 0},
    {"Hotplug", "Online", KEY_BOOL, offsetof(struct hotplug, online), 0, 0, NULL, 0},
};

const char *work_name(enum work w)
{
    return (unsigned)w < WORK_MAX ? works[w] : "unknown";
}

void scenario_init(struct scenario *s)
{
    *s = (struct scenario){
        .machine = {.cpus = 1,
                    .nodes = 1,
                    .page_size = 4096,
                    .managed = 4 << 20,
                    .low = 16384,
                    .stat_interval = NSEC_PER_SEC,
                    .free_fixed = PS_PER_US,
                    .free_page = 30 * PS_PER_NS,
                    .free_outside = 100 * PS_PER_NS,
                    .alloc_fixed = PS_PER_US,
                    .alloc_page = 30 * PS_PER_NS,
                    .alloc_outside = 500 * PS_PER_NS,
                    .reclaim_page = 500 * PS_PER_NS},
        .kernel = {.regime = REGIME_R4, .scale = 5},
        .loop = {.message_delay = 200 * NSEC_PER_USEC,
                 .write_delay = 100 * NSEC_PER_USEC,
                 .params = params_default()},
        .run = {.seed = 1, .time = 10 * NSEC_PER_SEC, .sample = 10 * NSEC_PER_MSEC},
    };
}

/* --- values -------------------------------------------------------------------------------- */

/* "28.7" in ns to ps. */
static int parse_cost(const char *value, uint64_t *ret)
{
    char whole[32], decimals[4] = "000";
    const char *dot = strchr(value, '.');
    size_t len = dot ? (size_t)(dot - value) : strlen(value);
    size_t n = dot ? strlen(dot + 1) : 3;
    uint64_t a, b;

    if (len >= sizeof(whole) || n < 1 || n > 3)
        return -EINVAL;
    memcpy(whole, value, len);
    whole[len] = '\0';
    if (dot)
        memcpy(decimals, dot + 1, n);
    if (parse_u64(whole, &a) < 0 || parse_u64(decimals, &b) < 0 || a > MANY)
        return -EINVAL;
    *ret = a * 1000 + b;
    return 0;
}

static int parse_word(const char *value, const char *const *words, uint64_t *ret)
{
    for (unsigned i = 0; words[i]; i++) {
        if (strcmp(words[i], value) == 0) {
            *ret = words == regimes ? i + REGIME_R1 : i;
            return 0;
        }
    }
    return -EINVAL;
}

static int parse_number(const struct key *k, const char *value, uint64_t *ret)
{
    switch (k->type) {
    case KEY_PAGES: {
        int r = parse_size(value, ret);
        *ret /= r < 0 ? 1 : 4096;
        return r;
    }
    case KEY_DURATION:
        return parse_duration(value, ret);
    case KEY_COST:
        return parse_cost(value, ret);
    case KEY_COUNT:
    case KEY_COUNT32:
    case KEY_BOOL:
    case KEY_WORD:
    case KEY_TEXT:
    case KEY_RANGE:
        break;
    }
    return parse_u64(value, ret);
}

static int store_word(const struct key *k, const char *value, char *at)
{
    uint64_t word;
    int r = parse_word(value, k->words, &word);

    if (r < 0)
        return r;
    if (k->words == untils)
        *(bool *)at = word != 0;
    else
        *(unsigned *)at = (unsigned)word;
    return 0;
}

static int store_range(const struct key *k, const char *value, struct cpu_range *at)
{
    const char *dash = strchr(value, '-');
    size_t len = dash ? (size_t)(dash - value) : strlen(value);
    uint64_t first, last;
    char text[32];

    if (len >= sizeof(text))
        return -EINVAL;
    memcpy(text, value, len);
    text[len] = '\0';
    if (parse_u64(text, &first) < 0 || parse_u64(dash ? dash + 1 : text, &last) < 0)
        return -EINVAL;
    if (first > last || last > k->max)
        return -ERANGE;
    *at = (struct cpu_range){.first = (uint32_t)first, .last = (uint32_t)last};
    return 0;
}

static int store(const struct key *k, const char *value, char *base)
{
    char *at = base + k->offset;
    uint64_t number = 0;
    int r;

    if (k->type == KEY_BOOL)
        return parse_bool(value, (bool *)at);
    if (k->type == KEY_WORD)
        return store_word(k, value, at);
    if (k->type == KEY_RANGE)
        return store_range(k, value, (struct cpu_range *)at);
    if (k->type == KEY_TEXT) {
        if (strlen(value) >= k->max)
            return -ERANGE;
        memcpy(at, value, strlen(value) + 1);
        return 0;
    }
    r = parse_number(k, value, &number);
    if (r < 0)
        return r;
    if (number < k->min || number > k->max)
        return -ERANGE;
    if (k->type == KEY_COUNT32)
        *(uint32_t *)at = (uint32_t)number;
    else
        *(uint64_t *)at = number;
    if (k->is_set)
        *(bool *)(base + k->is_set) = true;
    return 0;
}

static void describe(const struct key *k, char *buf, size_t size)
{
    static const char *const what[] = {
        [KEY_COUNT] = "a number",
        [KEY_COUNT32] = "a number",
        [KEY_PAGES] = "a size",
        [KEY_DURATION] = "a duration such as 100us",
        [KEY_COST] = "ns such as 28.7",
        [KEY_BOOL] = "yes or no",
        [KEY_WORD] = "one of",
        [KEY_TEXT] = "a short text",
        [KEY_RANGE] = "CPUs such as 3 or 64-127",
    };
    int n = snprintf(buf, size, "%s", what[k->type]);

    if (k->type == KEY_COUNT || k->type == KEY_COUNT32)
        snprintf(buf + n, size - (size_t)n, " from %llu to %llu", (unsigned long long)k->min,
                 (unsigned long long)k->max);
    for (unsigned i = 0; k->words && k->words[i] && n > 0 && (size_t)n < size; i++)
        n += snprintf(buf + n, size - (size_t)n, " %s", k->words[i]);
}

/* --- lines --------------------------------------------------------------------------------- */

struct source {
    const char *path, *pos, *end;
    unsigned line;
    char section[96]; /* the last one seen */
    char *base;       /* of the struct that its keys go to */
    struct scenario *s;
    char *error;
    int r;
};

/* The end of a long path says more than its beginning, and leaves room for what is wrong. */
#define PATH_SHOWN 100

static const char *path_end(const char *path)
{
    size_t len = strlen(path);
    return len > PATH_SHOWN ? path + len - PATH_SHOWN : path;
}

#define fail(src, format, ...)                                                                     \
    ((src)->r = -EINVAL, (void)snprintf((src)->error, SCENARIO_ERROR, "%.100s:%u: " format,        \
                                        path_end((src)->path), (src)->line, __VA_ARGS__))

static bool is_word(const char *s, size_t len, const char *word)
{
    return strlen(word) == len && memcmp(s, word, len) == 0;
}

static bool known_section(const char *section, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (is_word(section, len, keys[i].section))
            return true;
    return false;
}

/* Sections with a name: each adds one. */
static char *add_named(struct scenario *s, const char *section, size_t len, const char *name)
{
    if (is_word(section, len, "Workload") && s->n_workloads < SCENARIO_WORKLOADS) {
        struct workload *w = &s->workloads[s->n_workloads++];
        *w = (struct workload){.tasks = 1, .size = 1024};
        snprintf(w->name, sizeof(w->name), "%s", name);
        return (char *)w;
    }
    if (is_word(section, len, "Write") && s->n_writes < SCENARIO_WRITES) {
        struct write *w = &s->writes[s->n_writes++];
        *w = (struct write){.at = 0};
        snprintf(w->name, sizeof(w->name), "%s", name);
        return (char *)w;
    }
    if (is_word(section, len, "Hotplug") && s->n_hotplugs < SCENARIO_HOTPLUGS) {
        struct hotplug *h = &s->hotplugs[s->n_hotplugs++];
        *h = (struct hotplug){.at = 0};
        snprintf(h->name, sizeof(h->name), "%s", name);
        return (char *)h;
    }
    return NULL;
}

static bool is_named(const char *section, size_t len)
{
    return is_word(section, len, "Workload") || is_word(section, len, "Write") ||
           is_word(section, len, "Hotplug");
}

static void enter_section(struct source *src, const char *section)
{
    struct scenario *s = src->s;
    const char *space = strchr(section, ' ');
    size_t len = space ? (size_t)(space - section) : strlen(section);

    if (!known_section(section, len) || (space != NULL) != is_named(section, len)) {
        fail(src,
             "[%s]: unknown section; accepted are Run, Machine, Regime, Policy, Workload NAME, "
             "Write NAME and Hotplug NAME",
             section);
        return;
    }
    snprintf(src->section, sizeof(src->section), "%s", section);
    src->base = (char *)s;
    if (!space)
        return;
    src->base = strlen(space) > 63 ? NULL : add_named(s, section, len, space + 1);
    if (!src->base)
        fail(src, "[%s]: too many of them, or too long a name", section);
}

static int load_type(struct source *src, const char *type)
{
    const char *slash = strrchr(src->path, '/');
    int dir = slash ? (int)(slash - src->path) : 1;
    char path[PATH_MAX], error[SCENARIO_ERROR];

    if (strchr(type, '/')) {
        fail(src, "[Machine] Type=%s: no name of a machine type", type);
        return -EINVAL;
    }
    snprintf(path, sizeof(path), "%.*s/machines/%s.ini", dir, slash ? src->path : ".", type);
    int r = scenario_load(path, src->s, error);
    if (r < 0)
        fail(src, "[Machine] Type=: %.300s", error);
    return r;
}

static void assign(struct source *src, const char *section, const char *name, const char *value)
{
    size_t len = strcspn(section, " ");
    char accepted[128];

    if (strcmp(section, "Machine") == 0 && strcmp(name, "Type") == 0) {
        load_type(src, value);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct key *k = &keys[i];
        if (!is_word(section, len, k->section) || strcmp(k->name, name) != 0)
            continue;
        if (store(k, value, src->base) < 0) {
            describe(k, accepted, sizeof(accepted));
            fail(src, "[%s] %s=%.40s: accepted is %s", section, name, value, accepted);
        }
        return;
    }
    fail(src, "[%s] %.40s=: unknown key", section, name);
}

static int handle(void *user, const char *section, const char *name, const char *value)
{
    struct source *src = user;

    if (src->r < 0)
        return 0;
    if (!src->base || strcmp(section, src->section) != 0)
        enter_section(src, section);
    if (src->r == 0)
        assign(src, section, name, value);
    return src->r == 0;
}

/* fgets() for inih that counts lines, drops comments and indentation (which would continue the
 * line before), and refuses what inih would cut in two. */
static char *read_line(char *buf, int size, void *stream)
{
    struct source *src = stream;
    if (src->pos == src->end || src->r < 0)
        return NULL;

    const char *newline = memchr(src->pos, '\n', (size_t)(src->end - src->pos));
    const char *end = newline ? newline : src->end, *line = src->pos;
    src->pos = newline ? newline + 1 : src->end;
    src->line++;
    while (line < end && (*line == ' ' || *line == '\t'))
        line++;
    size_t len = (size_t)(end - line);
    if (len > 0 && (*line == '#' || *line == ';'))
        len = 0;
    if (len > (size_t)size - 2 || memchr(line, '\0', len)) {
        fail(src, "line of %zu bytes, or not of text", len);
        return NULL;
    }
    while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t' || line[len - 1] == '\r'))
        len--;
    if (len > 0 && (*line == '[' ? line[len - 1] != ']' : !memchr(line, '=', len))) {
        fail(src, "\"%.*s\" is neither [Section] nor Key=Value", (int)MIN(len, (size_t)40), line);
        return NULL;
    }
    memcpy(buf, line, len);
    memcpy(buf + len, "\n", 2);
    return buf;
}

int scenario_parse(const char *path, const char *text, size_t len, struct scenario *s,
                   char error[static SCENARIO_ERROR])
{
    struct source src = {.path = path, .pos = text, .end = text + len, .s = s, .error = error};
    int line = ini_parse_stream(read_line, &src, handle, &src);

    if (src.r == 0 && line != 0)
        fail(&src, "%s", "not of the form [Section] or Key=Value");
    return src.r;
}

int scenario_load(const char *path, struct scenario *s, char error[static SCENARIO_ERROR])
{
    _cleanup_free_ char *text = malloc(FILE_LIMIT);
    ssize_t n = text ? read_file(path, text, FILE_LIMIT) : -ENOMEM;

    if (n < 0) {
        snprintf(error, SCENARIO_ERROR, "%s: %s", path, strerror((int)-n));
        return (int)n;
    }
    return scenario_parse(path, text, (size_t)n, s, error);
}

int scenario_set(struct scenario *s, const char *assignment, const char *file,
                 char error[static SCENARIO_ERROR])
{
    char path[PATH_MAX], section[64], key[64];
    const char *dot = strchr(assignment, '.'), *eq = strchr(assignment, '=');
    struct source src = {.path = path, .base = (char *)s, .s = s, .error = error};

    const char *slash = strrchr(file, '/');
    snprintf(path, sizeof(path), "%.*s--set", slash ? (int)(slash - file) + 1 : 0, file);
    if (!dot || !eq || dot > eq || dot - assignment > 63 || eq - dot > 63) {
        snprintf(error, SCENARIO_ERROR, "%s: accepted is Section.Key=Value", assignment);
        return -EINVAL;
    }
    snprintf(section, sizeof(section), "%.*s", (int)(dot - assignment), assignment);
    snprintf(key, sizeof(key), "%.*s", (int)(eq - dot - 1), dot + 1);
    for (uint32_t i = 0; i < s->n_workloads; i++) {
        if (strcmp(s->workloads[i].name, section) == 0) {
            src.base = (char *)&s->workloads[i];
            snprintf(section, sizeof(section), "Workload");
        }
    }
    if (src.base == (char *)s && (strchr(section, ' ') || is_named(section, strlen(section))))
        fail(&src, "%s: a workload is set by its name, a write or hot-plug in the file only",
             section);
    else
        assign(&src, section, key, eq + 1);
    return src.r;
}

/* --- the whole ----------------------------------------------------------------------------- */

static const char *wrong(const struct scenario *s)
{
    const struct machine *m = &s->machine;

    if (m->cpus % m->nodes != 0)
        return "[Machine] Cpus=: no multiple of Nodes=";
    if (m->page_size & (m->page_size - 1))
        return "[Machine] PageSize=: no power of two";
    if (m->free > m->managed || m->low > m->managed / 4)
        return "[Machine] FreePages= or LowPages=: too much for ManagedPages=";
    if (!knob_accepts(KNOB_FRACTION, (int)s->kernel.fraction))
        return "[Regime] Fraction=: the kernel accepts 0, and 8 and more";
    if (s->kernel.regime == REGIME_R1 && s->kernel.fraction)
        return "[Regime] Fraction=: not in R1";
    if (s->run.time / s->run.sample > 100000)
        return "[Run] Sample=: more than 100000 of them in Time=";
    if (s->n_workloads == 0)
        return "[Workload]: there is none";
    return NULL;
}

static const char *wrong_workload(const struct scenario *s, const struct workload *w)
{
    if (w->first_cpu >= s->machine.cpus || (w->node_is_set && w->node >= s->machine.nodes))
        return "FirstCpu= or Node=: not on this machine";
    if (w->order > 0 && s->kernel.regime == REGIME_R1)
        return "Order=: R1 keeps no high orders in lists";
    if (w->kind == WORK_BYSTANDER && w->interval == 0)
        return "Interval=: a bystander needs one";
    if (w->kind == WORK_EXIT && w->interval != 0)
        return "Interval=: an exit has none";
    if (w->kind != WORK_LOOP && w->pause != 0)
        return "Pause=: for a loop only";
    const struct machine *m = &s->machine;
    if (w->kind == WORK_LOOP && w->pause == 0 &&
        !(m->alloc_fixed | m->alloc_page | m->alloc_outside))
        return "Pause=: a loop whose pages cost nothing needs one";
    return NULL;
}

int scenario_check(struct scenario *s, char error[static SCENARIO_ERROR])
{
    const char *why = wrong(s);

    if (why) {
        snprintf(error, SCENARIO_ERROR, "%s", why);
        return -EINVAL;
    }
    for (uint32_t i = 0; i < s->n_workloads; i++) {
        struct workload *w = &s->workloads[i];
        why = wrong_workload(s, w);
        if (why) {
            snprintf(error, SCENARIO_ERROR, "[Workload %s] %s", w->name, why);
            return -EINVAL;
        }
        w->size = MAX(w->size * 4096 / s->machine.page_size, UINT64_C(1));
    }
    for (uint32_t i = 0; i < s->n_writes; i++) {
        const struct write *w = &s->writes[i];
        if (w->knob == KNOB_SCALE && s->kernel.regime != REGIME_R6) {
            snprintf(error, SCENARIO_ERROR, "[Write %s] Knob=scale: only in R6", w->name);
            return -EINVAL;
        }
    }
    for (uint32_t i = 0; i < s->n_hotplugs; i++) {
        const struct hotplug *h = &s->hotplugs[i];
        if (h->cpus.last >= s->machine.cpus) {
            snprintf(error, SCENARIO_ERROR, "[Hotplug %s] Cpus=: not on this machine", h->name);
            return -EINVAL;
        }
    }
    return 0;
}
