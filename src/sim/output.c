/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output.h"

#include <inttypes.h>
#include <json.h>

#include "units.h"

static double seconds(nsec_t ns)
{
    return (double)ns / (double)NSEC_PER_SEC;
}

/* A quantile is the upper end of a bucket, which may lie beyond all that was seen. */
static nsec_t quantile(const struct waits *w, double q, const struct sim_result *r)
{
    return MIN(waits_quantile(w, q), r->wait.max);
}

static double rate(uint64_t n, nsec_t time)
{
    return time ? (double)n / seconds(time) : 0;
}

static nsec_t exit_total(const struct sim_result *r)
{
    return r->exit_end > r->exit_begin ? r->exit_end - r->exit_begin : 0;
}

static nsec_t start_total(const struct sim_result *r)
{
    return r->start_end > r->start_begin ? r->start_end - r->start_begin : 0;
}

/* Over the samples. */
static uint64_t lists_mean(const struct sim_result *r)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < r->n_samples; i++)
        sum += r->samples[i].lists;
    return r->n_samples ? sum / r->n_samples : 0;
}

static uint64_t lists_max(const struct sim_result *r)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < r->n_samples; i++)
        most = MAX(most, r->samples[i].lists);
    return most;
}

static const struct {
    const char *key, *title;
    size_t offset;
} hists[] = {
    {"free_bulk", "free_pcppages_bulk(), wait for zone->lock included",
     offsetof(struct sim_result, free_bulk)},
    {"alloc_bulk", "rmqueue_bulk(), wait for zone->lock included",
     offsetof(struct sim_result, alloc_bulk)},
    {"bystander_wait", "bystanders' waits for zone->lock", offsetof(struct sim_result, wait)},
    {"hold", "zone->lock held", offsetof(struct sim_result, hold)},
    {"exit_time", "exits, by task", offsetof(struct sim_result, exit_time)},
    {"start_time", "starts, by task", offsetof(struct sim_result, start_time)},
};

static const struct hist *hist_of(const struct sim_result *r, unsigned i)
{
    return (const struct hist *)((const char *)r + hists[i].offset);
}

/* --- for people ---------------------------------------------------------------------------- */

static void print_machine(const struct scenario *s, FILE *f)
{
    const struct machine *m = &s->machine;

    fprintf(f,
            "%s\n%u CPUs, %u node(s), %s%s, high_fraction %" PRIu64 ", batch scale %" PRIu64
            "%s, seed %" PRIu64 "\n\n",
            s->title[0] ? s->title : "no title", m->cpus, m->nodes, regime_name(s->kernel.regime),
            s->kernel.regime == REGIME_R6 ? " (scale sysctl)" : "", s->kernel.fraction,
            s->kernel.scale, s->loop.on ? ", with pcptuned" : "", s->run.seed);
}

static void print_figures(const struct sim_result *r, FILE *f)
{
    char a[UNITS_BUF], b[UNITS_BUF];

    fprintf(f, "%-34s %s\n", "simulated", format_duration(r->simulated, a));
    fprintf(f, "%-34s %" PRIu64 ", lock busy %.1f %%\n", "holds of zone->lock", r->holds,
            r->simulated ? 100.0 * (double)r->held_ns / (double)r->simulated : 0);
    fprintf(f, "%-34s %u (%" PRIu64 " holds of 2000 or more)\n", "most pages in one hold",
            r->max_hold, r->big_holds);
    fprintf(f, "%-34s %" PRIu64 " freed, %" PRIu64 " allocated\n", "pages through the lock",
            r->freed_pages, r->allocated_pages);
    if (r->exit_time.count)
        fprintf(f, "%-34s %" PRIu64 " exits, %" PRIu64 " pages, %s from the first to the last\n",
                "exits", r->exit_time.count, r->exit_pages, format_duration(exit_total(r), a));
    if (r->start_time.count)
        fprintf(f, "%-34s %" PRIu64 " starts, %s from the first to the last\n", "starts",
                r->start_time.count, format_duration(start_total(r), a));
    fprintf(f, "%-34s %" PRIu64 " pages, at most %" PRIu64 "\n", "in lists, mean of the samples",
            lists_mean(r), lists_max(r));
    if (r->faults)
        fprintf(f, "%-34s %.0f pages/s\n", "page faults", rate(r->faults, r->simulated));
    if (r->bystander_faults)
        fprintf(f, "%-34s %" PRIu64 " of %" PRIu64 " page faults; p99 %s, max %s\n",
                "bystanders needed the lock", r->wait.count, r->bystander_faults,
                format_duration(quantile(&r->wait_fine, 0.99, r), a),
                format_duration(r->wait.max, b));
    if (r->stalls || r->reclaimed)
        fprintf(f, "%-34s %" PRIu64 " pages, %" PRIu64 " direct; PSI memory some %s\n", "reclaimed",
                r->reclaimed, r->stalls, format_duration(r->memory_some, a));
}

static void print_decisions(const struct sim_result *r, FILE *f)
{
    char text[512], at[UNITS_BUF];

    for (uint32_t i = 0; i < r->n_decisions; i++)
        fprintf(f, "\n%s: %s", format_duration(r->decisions[i].at, at),
                plan_describe(&r->decisions[i].plan, text, sizeof(text)));
    if (r->n_decisions)
        fprintf(f, "\n");
}

void output_table(const struct scenario *s, const struct sim_result *r, FILE *f)
{
    print_machine(s, f);
    print_figures(r, f);
    print_decisions(r, f);
    for (unsigned i = 0; i < ARRAY_SIZE(hists); i++) {
        const struct hist *h = hist_of(r, i);
        char mean[UNITS_BUF];
        if (h->count == 0)
            continue;
        fprintf(f, "\n%s: mean %s\n", hists[i].title, format_duration((nsec_t)hist_mean(h), mean));
        hist_print(h, "nsecs", f);
    }
}

/* --- for programs -------------------------------------------------------------------------- */

static int add(struct json_object *o, const char *key, struct json_object *v)
{
    if (!v)
        return -ENOMEM;
    return json_object_object_add(o, key, v) < 0 ? -ENOMEM : 0;
}

static struct json_object *number(uint64_t n)
{
    return json_object_new_uint64(n);
}

static struct json_object *json_buckets(const struct hist *h)
{
    struct json_object *a = json_object_new_array();

    for (unsigned k = 0; a && k < HIST_BUCKETS; k++) {
        struct json_object *o;
        if (h->bucket[k] == 0)
            continue;
        o = json_object_new_object();
        if (!o)
            continue;
        add(o, "lo_ns", number(hist_lo(k)));
        add(o, "hi_ns", number(hist_hi(k)));
        add(o, "count", number(h->bucket[k]));
        json_object_array_add(a, o);
    }
    return a;
}

static struct json_object *json_hist(const struct hist *h)
{
    struct json_object *o = json_object_new_object();
    if (!o)
        return NULL;
    add(o, "count", number(h->count));
    add(o, "sum_ns", number(h->sum));
    add(o, "mean_ns", json_object_new_double(hist_mean(h)));
    add(o, "mode_lo_ns", number(h->count ? hist_lo((unsigned)hist_mode(h)) : 0));
    add(o, "p50_ns", number(hist_quantile(h, 0.5)));
    add(o, "p99_ns", number(hist_quantile(h, 0.99)));
    add(o, "p999_ns", number(hist_quantile(h, 0.999)));
    add(o, "max_ns", number(h->max));
    add(o, "buckets", json_buckets(h));
    return o;
}

static struct json_object *json_samples(const struct sim_result *r)
{
    struct json_object *a = json_object_new_array();

    for (uint32_t i = 0; a && i < r->n_samples; i++) {
        const struct sample *x = &r->samples[i];
        struct json_object *o = json_object_new_object();
        if (!o)
            continue;
        add(o, "at_ns", number(x->at));
        add(o, "exiting", number(x->exiting));
        add(o, "waiting", number(x->waiting));
        add(o, "hold_pages", number(x->hold));
        add(o, "fraction", json_object_new_int(x->fraction));
        add(o, "scale", json_object_new_int(x->scale));
        add(o, "bystander_wait_ns", number(x->wait));
        add(o, "lists_pages", number(x->lists));
        add(o, "free_pages", number(x->free));
        json_object_array_add(a, o);
    }
    return a;
}

static struct json_object *json_decisions(const struct sim_result *r)
{
    struct json_object *a = json_object_new_array();
    char text[512];

    for (uint32_t i = 0; a && i < r->n_decisions; i++) {
        const struct plan *p = &r->decisions[i].plan;
        struct json_object *o = json_object_new_object();
        if (!o)
            continue;
        add(o, "at_ns", number(r->decisions[i].at));
        add(o, "reason", json_object_new_string(reason_name(p->reason)));
        add(o, "writes", json_object_new_boolean(p->action != PLAN_NONE));
        add(o, "text", json_object_new_string(plan_describe(p, text, sizeof(text))));
        json_object_array_add(a, o);
    }
    return a;
}

static void add_figures(struct json_object *o, const struct sim_result *r)
{
    add(o, "simulated_ns", number(r->simulated));
    add(o, "holds", number(r->holds));
    add(o, "held_ns", number(r->held_ns));
    add(o, "big_holds", number(r->big_holds));
    add(o, "max_hold_pages", number(r->max_hold));
    add(o, "freed_pages", number(r->freed_pages));
    add(o, "allocated_pages", number(r->allocated_pages));
    add(o, "exit_pages", number(r->exit_pages));
    add(o, "exit_total_ns", number(exit_total(r)));
    add(o, "start_total_ns", number(start_total(r)));
    add(o, "unfinished", number(r->unfinished));
    add(o, "lists_mean_pages", number(lists_mean(r)));
    add(o, "lists_max_pages", number(lists_max(r)));
    add(o, "faults", number(r->faults));
    add(o, "faults_per_s", json_object_new_double(rate(r->faults, r->simulated)));
    add(o, "bystander_faults", number(r->bystander_faults));
    add(o, "bystander_wait_p50_ns", number(quantile(&r->wait_fine, 0.5, r)));
    add(o, "bystander_wait_p99_ns", number(quantile(&r->wait_fine, 0.99, r)));
    add(o, "bystander_storm_waits", number(r->wait_storm.count));
    add(o, "bystander_storm_p50_ns", number(quantile(&r->wait_storm, 0.5, r)));
    add(o, "bystander_storm_p99_ns", number(quantile(&r->wait_storm, 0.99, r)));
    add(o, "knob_writes", number(r->knob_writes));
    add(o, "direct_reclaims", number(r->stalls));
    add(o, "reclaimed_pages", number(r->reclaimed));
    add(o, "psi_memory_some_ns", number(r->memory_some));
    add(o, "psi_cpu_some_ns", number(r->cpu_some));
}

int output_json(const struct scenario *s, const struct sim_result *r, FILE *f)
{
    struct json_object *o = json_object_new_object();
    if (!o)
        return -ENOMEM;
    int ret = add(o, "title", json_object_new_string(s->title));

    add(o, "seed", number(s->run.seed));
    add_figures(o, r);
    for (unsigned i = 0; i < ARRAY_SIZE(hists); i++)
        add(o, hists[i].key, json_hist(hist_of(r, i)));
    add(o, "decisions", json_decisions(r));
    add(o, "timeline", json_samples(r));
    fprintf(f, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
    json_object_put(o);
    return ret;
}
