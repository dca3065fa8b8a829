/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "storm_options.h"

#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>

#include "units.h"

/* Tasks times threads. Far below any kernel's pid_max of 32768, and the largest host that a storm
 * was reported from had 256 CPUs. */
#define MAX_THREADS 8192
/* A day, so that sums of times stay sums. */
#define MAX_DURATION (UINT64_C(24) * 3600 * NSEC_PER_SEC)

static const char *const how_names[] = {[STORM_KILL] = "kill", [STORM_EXIT] = "exit"};
static const char *const memory_names[] = {
    [STORM_PRIVATE] = "private", [STORM_SHARED] = "shared", [STORM_PEAK] = "peak"};
static const char *const place_names[] = {
    [BYSTANDER_NONE] = "none", [BYSTANDER_SHARED] = "shared", [BYSTANDER_CPU] = "cpu"};

const char *storm_how_name(enum storm_how how)
{
    return how_names[how];
}

const char *storm_memory_name(enum storm_memory memory)
{
    return memory_names[memory];
}

const char *bystander_place_name(enum bystander_place place)
{
    return place_names[place];
}

static int set_count(const char *arg, void *dst)
{
    return parse_u64(arg, dst);
}

static int set_positive(const char *arg, void *dst)
{
    uint64_t n;
    int r = parse_u64(arg, &n);
    if (r < 0)
        return r;
    if (n == 0)
        return -ERANGE;
    *(uint64_t *)dst = n;
    return 0;
}

/* Whole pages, at least one. */
static int set_pages(const char *arg, void *dst)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t bytes;
    int r = parse_size(arg, &bytes);
    if (r < 0)
        return r;
    if (bytes == 0 || bytes > SIZE_MAX / 2)
        return -ERANGE;
    *(uint64_t *)dst = (bytes + page - 1) / page * page;
    return 0;
}

static int set_duration(const char *arg, void *dst)
{
    nsec_t ns;
    int r = parse_duration(arg, &ns);
    if (r < 0)
        return r;
    if (ns > MAX_DURATION)
        return -ERANGE;
    *(nsec_t *)dst = ns;
    return 0;
}

static int set_string(const char *arg, void *dst)
{
    *(const char **)dst = arg;
    return 0;
}

static int set_flag(const char *arg, void *dst)
{
    (void)arg;
    *(bool *)dst = true;
    return 0;
}

static int lookup(const char *arg, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(arg, names[i]) == 0)
            return (int)i;
    return -EINVAL;
}

static int set_how(const char *arg, void *dst)
{
    int i = lookup(arg, how_names, ARRAY_SIZE(how_names));
    if (i < 0)
        return i;
    *(enum storm_how *)dst = (enum storm_how)i;
    return 0;
}

static int set_memory(const char *arg, void *dst)
{
    int i = lookup(arg, memory_names, ARRAY_SIZE(memory_names));
    if (i < 0)
        return i;
    *(enum storm_memory *)dst = (enum storm_memory)i;
    return 0;
}

static int set_bystander(const char *arg, void *dst)
{
    struct bystander_options *b = dst;
    uint64_t cpu;

    if (strncmp(arg, "cpu:", 4) != 0) {
        int i = lookup(arg, place_names, BYSTANDER_CPU);
        if (i >= 0)
            b->place = (enum bystander_place)i;
        return MIN(i, 0);
    }
    int r = parse_u64(arg + 4, &cpu);
    if (r < 0)
        return r;
    if (cpu >= CPU_SETSIZE)
        return -ERANGE;
    b->place = BYSTANDER_CPU;
    b->cpu = (unsigned)cpu;
    return 0;
}

/* The next line of a help text, in its column. */
#define MORE "\n                           "

/* One row an option: the parser, the help and the defaults cannot disagree. */
static const struct row {
    const char *name;
    const char *arg; /* NULL: a flag */
    const char *preset;
    int (*set)(const char *arg, void *dst);
    size_t at;
    const char *help;
} rows[] = {
#define AT(field) offsetof(struct storm_options, field)
    {"tasks", "N", "9", set_positive, AT(tasks), "processes that end together"},
    {"size", "BYTES", "256M", set_pages, AT(size), "memory that each of them has touched"},
    {"memory", "KIND", "private", set_memory, AT(memory),
     "private; shared: one mapping for all, kept by pcpbench;" MORE
     "peak: given back before the storm, all but --keep"},
    {"keep", "BYTES", "5M", set_pages, AT(keep), "what is left of --memory=peak"},
    {"thp", NULL, NULL, set_flag, AT(thp), "ask for huge pages (else they are refused)"},
    {"threads", "K", "1", set_positive, AT(threads), "threads in each task"},
    {"cgroup", "NAME", NULL, set_string, AT(cgroup),
     "create a control group for the tasks below our own," MORE
     "or /PATH, from the root of the hierarchy"},
    {"how", "HOW", "kill", set_how, AT(how), "kill: SIGKILL; exit: they leave by themselves"},
    {"stagger", "DURATION", "0", set_duration, AT(stagger), "between one end and the next"},
    {"thread-churn", "COUNT", "0", set_count, AT(thread_churn),
     "instead: so many threads of one process end, one by one;" MORE
     "the process itself ends --pause later"},
    {"repeat", "R", "1", set_positive, AT(repeat), "storms"},
    {"pause", "DURATION", "1s", set_duration, AT(pause), "between storms"},
    {"bystander", "WHERE", "shared", set_bystander, AT(bystander),
     "none; shared: on any CPU; cpu:N: on that one"},
    {"bystander-size", "BYTES", "64M", set_pages, AT(bystander.size),
     "the region that the bystander touches and gives back"},
    {"bystander-fifo", NULL, NULL, set_flag, AT(bystander.fifo),
     "SCHED_FIFO 1 for the bystander where permitted"},
    {"busy", "N", "0", set_count, AT(busy), "busy loops beside"},
    {"json", NULL, NULL, set_flag, AT(json), "one JSON object instead of text"},
#undef AT
};
#define ROWS ARRAY_SIZE(rows)

static void print_help(void)
{
    puts("Usage: pcpbench storm [OPTION...]\n\n"
         "Processes with much memory end together; a bystander times its page faults meanwhile.\n");
    for (size_t i = 0; i < ROWS; i++) {
        char left[64];
        snprintf(left, sizeof(left), "--%s%s%s", rows[i].name, rows[i].arg ? "=" : "",
                 rows[i].arg ? rows[i].arg : "");
        printf("  %-24s %s", left, rows[i].help);
        if (rows[i].preset)
            printf(" (%s)", rows[i].preset);
        putchar('\n');
    }
    puts("  --help                   this text\n\n"
         "BYTES take K, M, G, T; DURATION takes ns, us, ms, s, min, h.\n"
         "Quantiles are exact (nearest rank) up to 4194304 faults in the storm and 524288 in each\n"
         "of the 100 ms before and after, else upper bounds of log2 buckets; the output says "
         "which.\n"
         "Times are CLOCK_MONOTONIC. The keys of --json are in src/bench/README.md.\n"
         "Exit status: 0 done, 1 failed, 2 usage, 3 does not fit into this machine.");
}

static int complain(const char *name, const char *arg, int error)
{
    fprintf(stderr, "pcpbench storm: --%s: \"%s\" %s\n", name, arg,
            error == -ERANGE ? "is out of range" : "is not understood");
    return -EINVAL;
}

static int refuse(const char *why)
{
    fprintf(stderr, "pcpbench storm: %s\n", why);
    return -EINVAL;
}

static bool was_given(const bool *given, const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return given[i];
    return false;
}

static int check(struct storm_options *o, const bool *given)
{
    if (was_given(given, "keep") && o->memory != STORM_PEAK)
        return refuse("--keep is for --memory=peak");
    if (o->memory == STORM_PEAK && o->keep > o->size)
        return refuse("--keep is more than --size");
    if (was_given(given, "cgroup") && !*o->cgroup)
        return refuse("--cgroup needs a name");
    if (o->bystander.place == BYSTANDER_NONE &&
        (o->bystander.fifo || was_given(given, "bystander-size")))
        return refuse("there is no bystander to have a size or SCHED_FIFO");
    if (!o->thread_churn)
        return 0;
    if ((was_given(given, "tasks") && o->tasks != 1) || o->stagger)
        return refuse("--thread-churn is about one process: no --tasks, no --stagger");
    o->tasks = 1;
    return 0;
}

/* What getopt_long() returns for rows[0]; smaller values are its own. */
#define FIRST_ROW 256
#define HELP (FIRST_ROW + (int)ROWS)

static void fill_long_options(struct option *longs)
{
    for (size_t i = 0; i < ROWS; i++)
        longs[i] = (struct option){rows[i].name, rows[i].arg ? required_argument : no_argument,
                                   NULL, FIRST_ROW + (int)i};
    longs[ROWS] = (struct option){"help", no_argument, NULL, HELP};
    longs[ROWS + 1] = (struct option){0};
}

static int set_presets(struct storm_options *o)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].preset && rows[i].set(rows[i].preset, (char *)o + rows[i].at) < 0)
            return complain(rows[i].name, rows[i].preset, -EINVAL);
    return 0;
}

int storm_options_parse(int argc, char **argv, struct storm_options *ret)
{
    struct option longs[ROWS + 2];
    struct storm_options o = {0};
    bool given[ROWS] = {false};
    int c;

    fill_long_options(longs);
    int r = set_presets(&o);
    optind = 0;
    while (r == 0 && (c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c == HELP) {
            print_help();
            return 1;
        }
        if (c < FIRST_ROW)
            return -EINVAL;
        const struct row *row = &rows[c - FIRST_ROW];
        given[c - FIRST_ROW] = true;
        r = row->set(optarg, (char *)&o + row->at);
        if (r < 0)
            return complain(row->name, optarg, r);
    }
    if (r == 0 && optind < argc)
        r = refuse("takes options only, no arguments");
    if (r == 0)
        r = check(&o, given);
    if (r == 0)
        *ret = o;
    return r;
}

/* Page tables, stacks, and what must stay free so that the machine itself is not in trouble. */
static uint64_t margin(uint64_t total)
{
    return MAX(total / 20, UINT64_C(64) << 20);
}

int storm_fits(const struct storm_options *o, uint64_t total, uint64_t available, char *why,
               size_t why_size)
{
    char need_text[UNITS_BUF] = "more than 16 EiB";
    char have_text[UNITS_BUF];
    uint64_t threads;
    uint64_t need;

    if (__builtin_mul_overflow(o->tasks, o->threads, &threads) || threads > MAX_THREADS ||
        o->busy > MAX_THREADS) {
        snprintf(why, why_size,
                 "%" PRIu64 " tasks of %" PRIu64 " threads and %" PRIu64
                 " busy loops: at most %d threads and as many loops",
                 o->tasks, o->threads, o->busy, MAX_THREADS);
        return -E2BIG;
    }
    uint64_t copies = o->memory == STORM_SHARED ? 1 : o->tasks;
    uint64_t beside = margin(total);
    if (o->bystander.place != BYSTANDER_NONE)
        beside += bystander_overhead() + o->bystander.size;
    bool overflow = __builtin_mul_overflow(copies, o->size, &need) ||
                    __builtin_add_overflow(need, beside, &need);
    if (!overflow && need <= available)
        return 0;
    if (!overflow)
        format_size(need, need_text);
    snprintf(why, why_size, "needs %s (a margin of 5 %% included), available are %s", need_text,
             format_size(available, have_text));
    return -E2BIG;
}
