/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "facts.h"

#include <inttypes.h>

#include "hosttext.h"
#include "pcp.h"
#include "units.h"

void facts_line(const struct snapshot *s, const struct params *p, char *buf, size_t size)
{
    const struct host_facts *h = s->host;
    uint32_t b =
        pcp_hold(h, s->zones, -1, PCP_FREE, pcp_fraction(&s->knobs), pcp_scale(h, &s->knobs));
    char memory[UNITS_BUF], wait[UNITS_BUF], target[UNITS_BUF];
    uint32_t n = h->cpus_online > 1 ? h->cpus_online : 0; /* else nobody waits */
    uint64_t w = (uint64_t)n * p->page_cost * b;

    if (b == 0) {
        snprintf(
            buf, size,
            "Linux %s, regime %s, %u CPU%s, %u node%s, %s; W is not known: no zone's lists are",
            h->release, regime_name(h->regime), h->cpus_online, h->cpus_online == 1 ? "" : "s",
            h->n_nodes, h->n_nodes == 1 ? "" : "s", format_size(h->memory_bytes, memory));
        return;
    }
    snprintf(buf, size,
             "Linux %s, regime %s, %u CPU%s, %u node%s, %s; b = %u pages a hold, so W is at most "
             "%u x %" PRIu64 "ns x %u = %s against a target of %s%s",
             h->release, regime_name(h->regime), h->cpus_online, h->cpus_online == 1 ? "" : "s",
             h->n_nodes, h->n_nodes == 1 ? "" : "s", format_size(h->memory_bytes, memory), b, n,
             p->page_cost, b, format_duration(w, wait), format_duration(p->target_wait, target),
             w <= p->target_wait ? ": no storm can exceed it" : "");
}

static void print_zone(const struct snapshot *s, const struct params *p, uint32_t i, FILE *f)
{
    const struct zone *z = &s->zones->zones[i];
    const struct host_facts *h = s->host;
    struct pcp_zone pz;
    char w[UNITS_BUF];

    if (!pcp_zone_of(h, s->zones, i, &pz))
        return;
    struct pcp_limits l =
        pcp_limits(h->regime, &pz, pcp_fraction(&s->knobs), pcp_scale(h, &s->knobs));
    fprintf(f, "  %4d %-8s %12" PRIu64 " %10u %10u %6u %7u %7u   %s\n", z->node, z->name,
            z->managed, l.high_min, l.high_max, pz.batch, l.free_hold, l.alloc_hold,
            format_duration((uint64_t)pz.cpus * p->page_cost * l.free_hold, w));
}

static void print_signals(const struct snapshot *s, FILE *f)
{
    fprintf(f, "signals  ");
    for (unsigned i = 0; i < SIGNAL_MAX; i++)
        fprintf(f, " %s%s", s->signals[i] ? "" : "no ", signal_name((enum signal_id)i));
    fputc('\n', f);
}

void facts_print(const struct snapshot *s, const struct params *p, FILE *f)
{
    const struct host_facts *h = s->host;
    char target[UNITS_BUF], line[320];

    host_print(h, pcp_scale(h, &s->knobs), f);
    knobs_print(s->knobs_known ? &s->knobs : NULL, f);
    print_signals(s, f);
    fprintf(f, "\n  node zone          managed   high_min   high_max  batch  b free b alloc   W "
               "with every CPU freeing\n");
    for (uint32_t i = 0; i < s->zones->n_zones; i++)
        print_zone(s, p, i, f);
    facts_line(s, p, line, sizeof(line));
    fprintf(f, "\n%s\n", line);
    fprintf(f, "target    %s (TargetWait=), at %" PRIu64 "ns a page (PageCost=)\n",
            format_duration(p->target_wait, target), p->page_cost);
}
