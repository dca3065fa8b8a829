/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "account.h"
#include "hosttext.h"
#include "jsonadd.h"
#include "term.h"
#include "units.h"
#include "verbs.h"

/* --- text ---------------------------------------------------------------------------------- */

static void print_seen(const struct step *s)
{
    if (!s->has_seen)
        return;
    if (s->seen_min == s->value && s->seen_max == s->value) {
        printf(", as zoneinfo shows");
        return;
    }
    printf("; DIFFERS: zoneinfo shows %u", s->seen_min);
    if (s->seen_max != s->seen_min)
        printf(" to %u", s->seen_max);
}

/* The formula, the same with numbers, the value: "min(63, 4)" and "4" where they are not equal. */
static void print_step(const struct step *s)
{
    char value[16];

    printf("  %-14s = %-48s %s%s%s\n", s->name, s->formula, term_faint(stdout), s->function,
           term_end(stdout));
    if (s->value == UINT32_MAX)
        return;
    snprintf(value, sizeof(value), "%u", s->value);
    printf("  %-14s = %s", "", s->filled);
    if (strcmp(value, s->filled) != 0)
        printf(" = %s", value);
    print_seen(s);
    putchar('\n');
}

static void print_waits(const struct account *a, uint64_t c)
{
    char now[UNITS_BUF], other[UNITS_BUF];

    if (a->n_waits == 0) {
        printf("\n  Nothing tells how this kernel goes on from there.\n");
        return;
    }
    printf("\n  W = N * c * b, c = %" PRIu64 "ns\n  %8s %12s %12s", c, "N", "b_free", "b_alloc");
    if (a->has_floor)
        printf(" %12s", "floor_free");
    if (a->has_scale)
        printf(" %12s", "scale at 0");
    putchar('\n');
    for (uint32_t i = 0; i < a->n_waits; i++) {
        printf("  %8u %12s %12s", a->waits[i].n, format_duration(a->waits[i].now, now),
               format_duration(a->waits[i].alloc, other));
        if (a->has_floor)
            printf(" %12s", format_duration(a->waits[i].floor, other));
        if (a->has_scale)
            printf(" %12s", format_duration(a->waits[i].scale0, other));
        putchar('\n');
    }
}

static void print_zone(const struct machine *m, const struct params *p, const struct account *a)
{
    char size[UNITS_BUF];

    printf("\n%szone %s of node %d%s: managed %" PRIu64 " pages (%s), low watermark %" PRIu64
           ", cpus %u, batch %u\n\n",
           term_bold(stdout), a->zone->name, a->zone->node, term_end(stdout), a->z.managed,
           format_size(a->z.managed * m->host.page_size, size), a->z.low, a->z.cpus, a->z.batch);
    for (uint32_t i = 0; i < a->n_steps; i++)
        print_step(&a->steps[i]);
    print_waits(a, p->page_cost);
}

/* A zone that has memory and is left out, and why. */
static void print_skipped(const struct zone *z)
{
    if (zone_populated(z))
        printf("\nzone %s of node %d: its lists are off (high 0 and batch 1): a tiny zone before "
               "5.14, or a\nmemory offline in progress, zone_pcp_disable()\n",
               z->name, z->node);
}

static void print_assumptions(const struct machine *m, const struct params *p)
{
    char text[512];

    printf("\n%sassumed%s\n", term_bold(stdout), term_end(stdout));
    snprintf(text, sizeof(text),
             "PageCost=%" PRIu64 "ns: 17 to 20ns fit the four published histograms; it is not "
             "measured here.",
             p->page_cost);
    term_fill(stdout, 2, text);
    term_fill(stdout, 2,
              "N tasks free pages of one zone at the same moment, at most one on each "
              "CPU of the node, and a waiting CPU is served after all of them.");
    term_fill(stdout, 2,
              "Pages of order 0. A huge page is one list entry for 512 pages, so memory "
              "in huge pages waits far less.");
    term_fill(stdout, 2,
              "Where zoneinfo differs, the kernel computed its value when the watermark "
              "or the zone was another, or has not touched that CPU's list since.");
    if (m->host.assumed[0])
        term_fill(stdout, 2, m->host.assumed);
    if (!m->knobs_known)
        term_fill(stdout, 2, m->knobs_why);
}

static void print_explanation(const struct machine *m, const struct params *p)
{
    struct account a;

    host_print(&m->host, pcp_scale(&m->host, &m->knobs), stdout);
    printf("proof     %s\n", machine_proof(&m->host));
    knobs_print(m->knobs_known ? &m->knobs : NULL, stdout);
    if (m->held)
        printf("held      by pcptuned, for the time of a storm\n");
    for (uint32_t i = 0; i < m->zones.n_zones; i++) {
        if (account_zone(m, p, i, &a))
            print_zone(m, p, &a);
        else
            print_skipped(&m->zones.zones[i]);
    }
    print_assumptions(m, p);
}

/* --- JSON ---------------------------------------------------------------------------------- */

static struct json_object *step_json(const struct step *s)
{
    struct json_object *o = json_object_new_object();

    json_add_str(o, "name", s->name);
    json_add_str(o, "formula", s->formula);
    json_add_str(o, "numbers", s->filled);
    if (s->value == UINT32_MAX)
        json_object_object_add(o, "value", NULL);
    else
        json_add_u64(o, "value", s->value);
    json_add_str(o, "function", s->function);
    if (s->has_seen) {
        json_add_u64(o, "seen_min", s->seen_min);
        json_add_u64(o, "seen_max", s->seen_max);
    }
    return o;
}

static struct json_object *waits_json(const struct account *a)
{
    struct json_object *waits = json_object_new_array();

    for (uint32_t i = 0; i < a->n_waits; i++) {
        struct json_object *o = json_object_new_object();
        json_add_u64(o, "n", a->waits[i].n);
        json_add_u64(o, "wait_ns", a->waits[i].now);
        json_add_u64(o, "wait_alloc_ns", a->waits[i].alloc);
        if (a->has_floor)
            json_add_u64(o, "wait_floor_ns", a->waits[i].floor);
        if (a->has_scale)
            json_add_u64(o, "wait_scale_0_ns", a->waits[i].scale0);
        json_object_array_add(waits, o);
    }
    return waits;
}

static struct json_object *zone_json(const struct account *a)
{
    struct json_object *o = json_object_new_object(), *steps = json_object_new_array();

    json_object_object_add(o, "node", json_object_new_int(a->zone->node));
    json_add_str(o, "zone", a->zone->name);
    json_add_u64(o, "managed", a->z.managed);
    json_add_u64(o, "low", a->z.low);
    json_add_u64(o, "cpus", a->z.cpus);
    json_add_u64(o, "batch", a->z.batch);
    for (uint32_t i = 0; i < a->n_steps; i++)
        json_object_array_add(steps, step_json(&a->steps[i]));
    json_object_object_add(o, "steps", steps);
    json_object_object_add(o, "waits", waits_json(a));
    return o;
}

static int explain(const struct machine *m, const struct params *p, const struct call *c)
{
    struct account a;

    if (!c->json) {
        print_explanation(m, p);
        return 0;
    }
    struct json_object *o = machine_json(m, p), *zones = json_object_new_array();
    for (uint32_t i = 0; i < m->zones.n_zones; i++) {
        if (account_zone(m, p, i, &a))
            json_object_array_add(zones, zone_json(&a));
    }
    json_object_object_add(o, "zones", zones);
    return print_json(o);
}

int verb_explain(const struct call *c)
{
    return call_local(c, explain);
}
