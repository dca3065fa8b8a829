/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "jsonadd.h"
#include "pcp.h"
#include "recommend.h"
#include "term.h"
#include "told.h"
#include "units.h"
#include "verbs.h"

#define SYSCTL_FILE "/etc/sysctl.d/60-pcptuned.conf"
#define CONF_FILE "/etc/pcptuned/pcptuned.conf.d/50-recommended.conf"

/* --- text ---------------------------------------------------------------------------------- */

static void print_effect(const struct recommendation *r)
{
    char before[UNITS_BUF], after[UNITS_BUF];

    if (r->w_after != r->w_before)
        printf("    W           %s -> %s with %u task%s freeing at once\n",
               format_duration(r->w_before, before), format_duration(r->w_after, after), r->n,
               r->n == 1 ? "" : "s");
    if (r->cost.worst > 0)
        printf("    cost        %u.%02u%% of throughput, at worst %u.%02u%%, %s\n",
               r->cost.typical / 100, r->cost.typical % 100, r->cost.worst / 100,
               r->cost.worst % 100, r->cost_always ? "always" : "while a storm lasts");
    printf("    confidence  %s\n", confidence_name(r->confidence));
}

static void print_paste(const struct recommendation *r, const char *file, const char *text)
{
    if (!text[0])
        return;
    printf("\n    # %s: %s\n", file, r->id);
    term_lines(stdout, 4, text);
}

static void print_recommendation(const struct recommendation *r)
{
    printf("\n%s%s%s: %s\n\n", term_bold(stdout), r->id, term_end(stdout), r->title);
    term_fill(stdout, 4, r->evidence);
    putchar('\n');
    print_effect(r);
    print_paste(r, SYSCTL_FILE, r->sysctl);
    print_paste(r, CONF_FILE, r->conf);
}

static void print_advice(const struct machine *m, const struct recommendations *list)
{
    const struct host_facts *h = &m->host;
    char memory[UNITS_BUF];

    printf("Linux %s, regime %s (known by %s), %u CPU%s, %u node%s, %s\n", h->release,
           regime_name(h->regime), evidence_name(h->regime_by), h->cpus_online,
           h->cpus_online == 1 ? "" : "s", h->n_nodes, h->n_nodes == 1 ? "" : "s",
           format_size(h->memory_bytes, memory));
    if (h->assumed[0])
        printf("assumed: %s\n", h->assumed);
    if (m->held)
        printf("pcptuned holds a knob for a storm just now: advice is for its original value\n");
    for (uint32_t i = 0; i < list->n; i++)
        print_recommendation(&list->item[i]);
}

/* --- JSON ---------------------------------------------------------------------------------- */

struct json_object *machine_json(const struct machine *m, const struct params *p)
{
    const struct host_facts *h = &m->host;
    struct json_object *o = json_object_new_object(), *host = json_object_new_object();

    json_add_str(host, "release", h->release);
    json_add_str(host, "regime", regime_name(h->regime));
    json_add_str(host, "regime_by", evidence_name(h->regime_by));
    json_add_str(host, "regime_proof", machine_proof(h));
    json_add_u64(host, "scale", pcp_scale(h, &m->knobs));
    json_add_str(host, "scale_by", evidence_name(h->scale_by));
    json_add_u64(host, "cpus_online", h->cpus_online);
    json_add_u64(host, "nodes", h->n_nodes);
    json_add_u64(host, "memory_bytes", h->memory_bytes);
    json_add_u64(host, "page_size", h->page_size);
    json_add_str(host, "assumed", h->assumed);
    json_object_object_add(o, "host", host);
    json_object_object_add(o, "knobs_known", json_object_new_boolean(m->knobs_known));
    json_add_knobs(o, "knobs", &m->knobs);
    json_object_object_add(o, "held", json_object_new_boolean(m->held));
    json_add_u64(o, "target_ns", p->target_wait);
    json_add_u64(o, "page_cost_ns", p->page_cost);
    return o;
}

int print_json(struct json_object *o)
{
    const char *text =
        json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);

    if (text)
        puts(text);
    json_object_put(o);
    return text ? 0 : -ENOMEM;
}

static struct json_object *recommendation_json(const struct recommendation *r)
{
    struct json_object *o = json_object_new_object();

    json_add_str(o, "id", r->id);
    json_add_str(o, "title", r->title);
    json_add_str(o, "evidence", r->evidence);
    json_add_str(o, "confidence", confidence_name(r->confidence));
    json_add_knobs(o, "setting", &r->setting);
    json_add_u64(o, "n", r->n);
    json_add_u64(o, "b_before", r->b_before);
    json_add_u64(o, "b_after", r->b_after);
    json_add_u64(o, "wait_before_ns", r->w_before);
    json_add_u64(o, "wait_after_ns", r->w_after);
    json_object_object_add(o, "cost_percent", json_object_new_double(r->cost.typical / 100.0));
    json_object_object_add(o, "cost_percent_worst", json_object_new_double(r->cost.worst / 100.0));
    json_object_object_add(o, "cost_always", json_object_new_boolean(r->cost_always));
    json_add_str(o, "sysctl", r->sysctl);
    json_add_str(o, "conf", r->conf);
    return o;
}

static int print_advice_json(const struct machine *m, const struct params *p,
                             const struct recommendations *list)
{
    struct json_object *o = machine_json(m, p), *items = json_object_new_array();

    for (uint32_t i = 0; i < list->n; i++)
        json_object_array_add(items, recommendation_json(&list->item[i]));
    json_object_object_add(o, "recommendations", items);
    return print_json(o);
}

/* What a pcptuned that runs here has seen of this machine's storms. */
static struct seen seen_here(const struct call *c, const struct machine *m)
{
    static struct told t;
    _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
    struct seen seen = {0};

    if (told_ask(c->address, &error, &t) < 0)
        return seen;
    if (strcmp(t.release, m->host.release) == 0 && t.largest_tasks > 0)
        seen = (struct seen){.storms = told_counter(&t, "storms"),
                             .n_max = t.largest_tasks,
                             .pages_max = t.largest_pages};
    told_done(&t);
    return seen;
}

static int advise(const struct machine *m, const struct params *p, const struct call *c)
{
    const struct recommend_input in = {.host = &m->host,
                                       .zones = &m->zones,
                                       .params = p,
                                       .knobs_known = m->knobs_known,
                                       .knobs = m->originals,
                                       .seen = seen_here(c, m)};
    struct recommendations list;

    recommend(&in, &list);
    if (c->json)
        return print_advice_json(m, p, &list);
    print_advice(m, &list);
    return 0;
}

int verb_recommend(const struct call *c)
{
    return call_local(c, advise);
}
