/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "storm_report.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <sys/utsname.h>

#include "cgroup.h"
#include "units.h"

static const char *const phase_names[PHASES] = {"before", "during", "after"};

static void print_time(const char *what, nsec_t ns, FILE *f)
{
    fprintf(f, "  %-12s %" PRIu64 ".%06" PRIu64 " s\n", what, ns / NSEC_PER_SEC,
            ns % NSEC_PER_SEC / NSEC_PER_USEC);
}

static double ms(nsec_t ns)
{
    return (double)ns / (double)NSEC_PER_MSEC;
}

static void print_phase(const char *name, const struct phase_result *p, FILE *f)
{
    char p50[UNITS_BUF];
    char p99[UNITS_BUF];
    char p999[UNITS_BUF];
    char max[UNITS_BUF];

    fprintf(f, "  %-8s %10" PRIu64 " %10.1f %9s %9s %9s %9s  %s\n", name, p->hist.count,
            ms(p->duration), format_duration(p->p50, p50), format_duration(p->p99, p99),
            format_duration(p->p999, p999), format_duration(p->hist.max, max),
            p->exact ? "exact" : "buckets");
}

static void print_bystander(const struct storm_result *r, FILE *f)
{
    fprintf(f, "\nThe bystander's page faults\n  %-8s %10s %10s %9s %9s %9s %9s\n", "", "faults",
            "ms", "p50", "p99", "p99.9", "max");
    for (int i = 0; i < PHASES; i++)
        print_phase(phase_names[i], &r->phase[i], f);
    fprintf(f, "\nDuring the %s\n", r->churn_end_ns ? "thread churn" : "storm");
    hist_print(&r->phase[PHASE_DURING].hist, "nsecs", f);
}

static void print_head(const struct storm_options *o, uint64_t number, FILE *f)
{
    char size[UNITS_BUF];

    format_size(o->size, size);
    fprintf(f, "Storm %" PRIu64 " of %" PRIu64 ": ", number, o->repeat);
    if (o->thread_churn)
        fprintf(f, "%" PRIu64 " threads end in a process of %s\n", o->thread_churn, size);
    else
        fprintf(f, "%" PRIu64 " %s of %s (%s)\n", o->tasks, o->tasks == 1 ? "task" : "tasks", size,
                storm_memory_name(o->memory));
}

void storm_print(const struct storm_options *o, const struct storm_result *r, uint64_t number,
                 FILE *f)
{
    print_head(o, number, f);
    if (r->churn_end_ns) {
        print_time("churn begin", r->churn_begin_ns, f);
        print_time("churn end", r->churn_end_ns, f);
    }
    print_time("kill", r->kill_ns, f);
    print_time("last exit", r->last_exit_ns, f);
    fprintf(f, "  %-12s %.3f ms (signals sent in %.3f ms)\n", "in all",
            ms(r->last_exit_ns - r->kill_ns), ms(r->kill_end_ns - r->kill_ns));
    if (o->bystander.place != BYSTANDER_NONE)
        print_bystander(r, f);
    fputc('\n', f);
}

static void put_u64(struct json_object *o, const char *key, uint64_t v)
{
    json_object_object_add(o, key, json_object_new_uint64(v));
}

static void put_string(struct json_object *o, const char *key, const char *v)
{
    json_object_object_add(o, key, v ? json_object_new_string(v) : NULL);
}

static void put_bool(struct json_object *o, const char *key, bool v)
{
    json_object_object_add(o, key, json_object_new_boolean(v));
}

static struct json_object *json_options(const struct storm_options *o)
{
    struct json_object *j = json_object_new_object();
    char place[32];

    snprintf(place, sizeof(place), o->bystander.place == BYSTANDER_CPU ? "%s:%u" : "%s",
             bystander_place_name(o->bystander.place), o->bystander.cpu);
    put_u64(j, "tasks", o->tasks);
    put_u64(j, "size_bytes", o->size);
    put_string(j, "memory", storm_memory_name(o->memory));
    put_u64(j, "keep_bytes", o->keep);
    put_bool(j, "thp", o->thp);
    put_u64(j, "threads", o->threads);
    put_string(j, "cgroup", o->cgroup);
    put_string(j, "how", storm_how_name(o->how));
    put_u64(j, "stagger_ns", o->stagger);
    put_u64(j, "thread_churn", o->thread_churn);
    put_u64(j, "repeat", o->repeat);
    put_u64(j, "pause_ns", o->pause);
    put_string(j, "bystander", place);
    put_u64(j, "bystander_size_bytes", o->bystander.size);
    put_bool(j, "bystander_fifo", o->bystander.fifo);
    put_u64(j, "busy", o->busy);
    return j;
}

static struct json_object *json_host(void)
{
    struct json_object *j = json_object_new_object();
    struct utsname u;

    put_string(j, "kernel", uname(&u) == 0 ? u.release : NULL);
    put_u64(j, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    put_u64(j, "page_bytes", (uint64_t)sysconf(_SC_PAGESIZE));
    return j;
}

static struct json_object *json_granted(const struct storm *s)
{
    struct json_object *j = json_object_new_object();
    const struct bystander *b = storm_bystander(s);
    const struct cgroup *c = storm_cgroup(s);

    put_bool(j, "bystander_fifo", b && bystander_is_fifo(b));
    put_bool(j, "bystander_locked", b && bystander_is_locked(b));
    put_string(j, "cgroup_path", c ? cgroup_path(c) : NULL);
    put_u64(j, "cgroup_version", c ? (uint64_t)cgroup_version(c) : 0);
    return j;
}

static struct json_object *json_task(const struct task_result *t)
{
    struct json_object *j = json_object_new_object();

    put_u64(j, "pid", (uint64_t)t->pid);
    put_u64(j, "exit_ns", t->exit_ns);
    put_u64(j, "rss_bytes", t->usage.rss);
    put_u64(j, "anon_bytes", t->usage.anon);
    put_u64(j, "thp_bytes", t->usage.thp);
    put_u64(j, "peak_bytes", t->usage.peak);
    put_u64(j, "threads", t->usage.threads);
    return j;
}

static struct json_object *json_bucket(const struct hist *h, unsigned k)
{
    struct json_object *j = json_object_new_object();

    put_u64(j, "lo_ns", hist_lo(k));
    put_u64(j, "hi_ns", hist_hi(k));
    put_u64(j, "count", h->bucket[k]);
    return j;
}

static struct json_object *json_phase(const struct phase_result *p)
{
    struct json_object *j = json_object_new_object();
    struct json_object *buckets = json_object_new_array();

    put_u64(j, "duration_ns", p->duration);
    put_u64(j, "faults", p->hist.count);
    put_u64(j, "sum_ns", p->hist.sum);
    put_u64(j, "p50_ns", p->p50);
    put_u64(j, "p99_ns", p->p99);
    put_u64(j, "p999_ns", p->p999);
    put_u64(j, "max_ns", p->hist.max);
    put_bool(j, "exact", p->exact);
    for (unsigned k = 0; k < HIST_BUCKETS; k++)
        if (p->hist.bucket[k])
            json_object_array_add(buckets, json_bucket(&p->hist, k));
    json_object_object_add(j, "buckets", buckets);
    return j;
}

static struct json_object *json_bystander(const struct storm_result *r)
{
    struct json_object *j = json_object_new_object();

    for (int i = 0; i < PHASES; i++)
        json_object_object_add(j, phase_names[i], json_phase(&r->phase[i]));
    return j;
}

static struct json_object *json_churn(const struct storm_result *r)
{
    struct json_object *j = json_object_new_object();

    put_u64(j, "begin_ns", r->churn_begin_ns);
    put_u64(j, "end_ns", r->churn_end_ns);
    return j;
}

static struct json_object *json_storm(const struct storm_options *o, const struct storm_result *r)
{
    struct json_object *j = json_object_new_object();
    struct json_object *tasks = json_object_new_array();
    bool bystander = o->bystander.place != BYSTANDER_NONE;

    put_u64(j, "ready_ns", r->ready_ns);
    json_object_object_add(j, "churn", r->churn_end_ns ? json_churn(r) : NULL);
    put_u64(j, "kill_ns", r->kill_ns);
    put_u64(j, "kill_end_ns", r->kill_end_ns);
    put_u64(j, "last_exit_ns", r->last_exit_ns);
    put_u64(j, "exit_total_ns", r->last_exit_ns - r->kill_ns);
    for (size_t i = 0; i < r->tasks; i++)
        json_object_array_add(tasks, json_task(&r->task[i]));
    json_object_object_add(j, "tasks", tasks);
    json_object_object_add(j, "bystander", bystander ? json_bystander(r) : NULL);
    return j;
}

int storm_print_json(const struct storm_options *o, const struct storm *s,
                     const struct storm_result *results, size_t n, FILE *f)
{
    struct json_object *j = json_object_new_object();
    struct json_object *storms = json_object_new_array();

    put_string(j, "program", "pcpbench");
    put_string(j, "version", PCPTUNED_VERSION);
    put_string(j, "command", "storm");
    put_u64(j, "format", 1);
    json_object_object_add(j, "host", json_host());
    json_object_object_add(j, "options", json_options(o));
    json_object_object_add(j, "granted", json_granted(s));
    for (size_t i = 0; i < n; i++)
        json_object_array_add(storms, json_storm(o, &results[i]));
    json_object_object_add(j, "storms", storms);

    const char *text =
        json_object_to_json_string_ext(j, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
    int r = !text ? -ENOMEM : fprintf(f, "%s\n", text) < 0 ? -EIO : 0;
    json_object_put(j);
    return r;
}
