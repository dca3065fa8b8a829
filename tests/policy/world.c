/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "world.h"

#include "pcp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PAGES_PER_MIB 256
#define HOUR (3600 * SECOND)

/* splitmix64 */
static uint64_t next(struct world *w)
{
    uint64_t z = (w->rng += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t world_random(struct world *w, uint64_t below)
{
    uint64_t v = next(w);
    return below ? v % below : v;
}

bool world_chance(struct world *w, unsigned percent)
{
    return world_random(w, 100) < percent;
}

/* Between lo and hi, each order of magnitude as likely. */
static uint64_t spread(struct world *w, uint64_t lo, uint64_t hi)
{
    unsigned bits = 0;
    while (bits < 63 && hi >> bits > lo)
        bits++;
    uint64_t top = hi >> world_random(w, bits + 1);
    return top > lo ? lo + world_random(w, top - lo + 1) : lo;
}

/* --- the machine --------------------------------------------------------------------------- */

static void add_zone(struct world *w, const char *name, int node, uint64_t managed, uint32_t batch,
                     unsigned fill)
{
    uint32_t first = w->table.n_lists;
    uint64_t low = managed / (100 + world_random(w, 900));
    uint64_t most = managed / 8 / w->host.cpus_online;

    for (uint32_t c = 0; c < w->host.cpus_online; c++) {
        struct zone_list l = {.cpu = c, .high = 4 * batch, .batch = batch};
        l.count = (uint32_t)(most * world_random(w, fill + 1) / 100);
        w->lists[first + c] = l;
    }
    struct zone *z = &w->zones[w->table.n_zones++];
    *z = (struct zone){.node = node,
                       .low = low,
                       .high = low + low / 4,
                       .managed = managed,
                       .first_list = first,
                       .n_lists = w->host.cpus_online};
    snprintf(z->name, sizeof(z->name), "%s", name);
    w->table.n_lists += w->host.cpus_online;
}

static void place_cpus(struct world *w, uint32_t cpus)
{
    w->host.cpus_online = cpus;
    memset(w->host.node_cpus, 0, sizeof(w->host.node_cpus));
    for (uint32_t c = 0; c < cpus; c++)
        w->host.node_cpus[c % w->host.n_nodes]++;
}

static void end_story(struct world *w)
{
    w->taken = w->given = 0;
    w->truth.nr_free = w->high * 4;
    for (uint32_t i = 0; i < w->table.n_zones; i++)
        w->truth.nr_free += w->zones[i].managed / 8;
    w->s.psi_memory_some.avg10_centi = 0;
}

static void make_machine(struct world *w)
{
    static const uint32_t batches[] = {1, 7, 15, 63, 63, 63};
    static const enum regime regimes[16] = {
        REGIME_UNKNOWN, REGIME_R1, REGIME_R5, REGIME_R5, REGIME_R2, REGIME_R2, REGIME_R2, REGIME_R3,
        REGIME_R3,      REGIME_R3, REGIME_R4, REGIME_R4, REGIME_R4, REGIME_R6, REGIME_R6, REGIME_R6,
    };
    uint32_t batch = batches[world_random(w, 6)];
    unsigned fill = world_chance(w, 50) ? 0 : (unsigned)world_random(w, 101);

    w->host = (struct host_facts){
        .page_size = batch == 15 ? 65536 : 4096,
        .cpus_possible = WORLD_CPUS,
        .n_nodes = world_chance(w, 60) ? 1 : 1 + (uint32_t)world_random(w, WORLD_NODES),
        .regime = regimes[world_random(w, 16)],
        .scale = (uint8_t)(world_chance(w, 70) ? 5 : world_random(w, 7)),
    };
    place_cpus(w, (uint32_t)spread(w, 1, WORLD_CPUS));
    w->table = (struct zone_table){.zones = w->zones, .lists = w->lists};
    for (uint32_t k = 0; k < w->host.n_nodes; k++) {
        uint64_t managed = spread(w, 1 << 14, UINT64_C(1) << 30);
        if (world_chance(w, 50))
            add_zone(w, "DMA32", (int)k, spread(w, 1000, 1 << 19), batch, fill);
        if (w->table.n_zones < WORLD_ZONES)
            add_zone(w, "Normal", (int)k, managed, batch, fill);
    }
    w->truth = (struct vm_counters){.valid = true, .nr_anon = 0};
    for (uint32_t i = 0; i < w->table.n_zones; i++) {
        w->truth.nr_anon += w->zones[i].managed / 2;
        w->high += w->zones[i].high;
    }
    w->truth.nr_anon_thp = world_chance(w, 50) ? 0 : world_random(w, w->truth.nr_anon + 1);
    end_story(w);
}

struct params world_params(struct world *w)
{
    struct params p = params_default();

    p.mode = world_chance(w, 5) ? MODE_OFF : (enum mode)world_random(w, 2);
    p.task_size = spread(w, 1 << 20, 1 << 28);
    p.storm_size = spread(w, 1 << 20, UINT64_C(1) << 30);
    p.hold = spread(w, 10 * MS, world_chance(w, 10) ? 60 * SECOND : SECOND);
    p.target_wait = spread(w, US, 50 * US);
    p.page_cost = spread(w, 1, US);
    if (world_chance(w, 20)) {
        p.knob_lo[KNOB_FRACTION] = (int)spread(w, 8, INT32_MAX);
        p.knob_hi[KNOB_FRACTION] = (int)spread(w, 8, INT32_MAX);
        p.knob_lo[KNOB_SCALE] = (int)world_random(w, 7);
        p.knob_hi[KNOB_SCALE] = (int)world_random(w, 7);
    }
    p.dwell = spread(w, 10 * MS, world_chance(w, 10) ? 600 * SECOND : SECOND);
    p.tuned_max = spread(w, 10 * SECOND, HOUR);
    p.writes_per_hour = (uint32_t)spread(w, 2, 1000);
    p.start_storms = world_chance(w, 80);
    p.max_loss = (uint32_t)spread(w, 1, 100);
    p.max_hoard = (uint32_t)world_random(w, 14);
    p.churn = world_chance(w, 80);
    p.on_foreign = (enum on_foreign)world_random(w, FOREIGN_MAX);
    p.rearm_after = world_chance(w, 30)
                        ? NEVER
                        : spread(w, SECOND, world_chance(w, 5) ? 168 * HOUR : 60 * SECOND);
    p.on_pinned = (enum on_pinned)world_random(w, PINNED_MAX);
    return p;
}

static int random_value(struct world *w, enum knob_id k)
{
    if (k == KNOB_SCALE)
        return (int)world_random(w, 7);
    return world_chance(w, 30) ? 0 : (int)spread(w, 8, INT32_MAX);
}

void world_start(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof(*w));
    w->rng = seed;
    w->now = SECOND + world_random(w, 1000000) * SECOND;
    make_machine(w);
    w->params = world_params(w);
    for (unsigned k = 0; k < KNOB_MAX; k++)
        w->sysctl.value[k] = world_chance(w, 90) ? knob_table[k].initial : random_value(w, k);
    w->sysctl.has[KNOB_FRACTION] = w->host.regime != REGIME_R1;
    w->sysctl.has[KNOB_SCALE] = w->host.regime == REGIME_R6;
    w->s = (struct snapshot){.host = &w->host, .zones = &w->table};
    w->s.knobs_known = world_chance(w, 90);
    w->s.knobs = w->sysctl;
    memset(w->s.signals, true, sizeof(w->s.signals));
    w->s.signals[SIGNAL_TASKSTATS] = world_chance(w, 85);
    w->s.signals[SIGNAL_VMSTAT] = world_chance(w, 85);
    w->working = world_chance(w, 60);
    w->foreigners = world_chance(w, 40);
}

/* --- tasks --------------------------------------------------------------------------------- */

static void begin_exit(struct world *w, uint32_t g, uint64_t pages, uint64_t frees, uint64_t last)
{
    struct exit_group *group = &w->s.groups[g];

    if (w->n_flights == WORLD_TASKS)
        return;
    uint32_t node = (uint32_t)world_random(w, w->host.n_nodes);
    if (w->host.node_cpus[node] == 0)
        node = 0;
    struct flight f = {.group = g, .node = node, .begin = w->now, .end = w->now + last};
    f.pages = frees;
    w->flights[w->n_flights++] = f;
    if (!w->s.signals[SIGNAL_TASKSTATS])
        return;
    w->flights[w->n_flights - 1].announced = true;
    if (group->id == 0) {
        group->id = 1 + g + 64 * world_random(w, 8);
        snprintf(group->name, sizeof(group->name), "docker %012x", g);
        group->anon = world_chance(w, 40) ? GROUP_PAGES_UNKNOWN : pages * (1 + world_random(w, 64));
        group->anon_thp = world_chance(w, 50) ? 0 : world_random(w, pages + 1);
    }
    if (w->s.n_groups <= g)
        w->s.n_groups = g + 1;
    group->tasks++;
    group->tasks_total++;
    group->announced += pages;
    w->s.tasks++;
    w->s.node_tasks[node]++;
    w->s.message_at = w->now;
}

static void end_exit(struct world *w, uint32_t i)
{
    const struct flight *f = &w->flights[i];

    if (f->announced) {
        w->s.groups[f->group].tasks--;
        w->s.tasks--;
        w->s.node_tasks[f->node]--;
    }
    w->flights[i] = w->flights[--w->n_flights];
}

static void burst(struct world *w, uint32_t g, uint32_t n, uint64_t lo_mib, uint64_t hi_mib,
                  unsigned real)
{
    uint64_t pages = spread(w, lo_mib, hi_mib) * PAGES_PER_MIB;
    uint64_t frees = world_chance(w, real) ? pages : pages / 200;

    for (uint32_t i = 0; i < n; i++)
        begin_exit(w, g, pages, frees, pages * spread(w, 100, 5000) + MS);
}

static void exits(struct world *w)
{
    uint32_t g = (uint32_t)world_random(w, 8);

    switch (w->story) {
    case STORY_CALM:
    case STORIES:
        break;
    case STORY_BURST:
        burst(w, g, (uint32_t)spread(w, 1, 300), 32, 16384, 90);
        break;
    case STORY_GROWTH:
        burst(w, 0, 1 + w->n_flights / 2, 256, 8192, 100);
        break;
    case STORY_TRICKLE:
        w->trickle_at = w->now + spread(w, MS, w->params.hold + w->params.hold / 4);
        burst(w, 1, 1, 64, 4096, 90);
        break;
    case STORY_GIANT:
        begin_exit(w, 2, w->truth.nr_anon / 2, w->truth.nr_anon / 2,
                   spread(w, SECOND, 600 * SECOND));
        break;
    case STORY_SMALL:
        burst(w, g, 1 + (uint32_t)world_random(w, 200), 1, 64, 95);
        break;
    case STORY_FALSE:
        burst(w, g, 1 + (uint32_t)world_random(w, 32), 64, 4096, 0);
        break;
    case STORY_MANY:
        for (g = 0; g < SNAPSHOT_GROUPS; g += 1 + (uint32_t)world_random(w, 9))
            burst(w, g, 1 + (uint32_t)world_random(w, 8), 32, 4096, 70);
        break;
    case STORY_STARTS:
        w->taken = spread(w, 500, 500000);
        break;
    case STORY_CHURN:
        w->taken = w->given = spread(w, 1000, 1000000);
        break;
    case STORY_SHORT:
        w->truth.nr_free = w->high / 2;
        w->s.psi_memory_some.avg10_centi = (uint32_t)world_random(w, 4000);
        break;
    case STORY_SILENT:
        w->truth.pgfree += w->truth.nr_anon / 64;
        w->truth.nr_anon -= w->truth.nr_anon / 64;
        break;
    }
}

static void free_pages(struct world *w, uint64_t pages)
{
    uint64_t gone = pages < w->truth.nr_anon ? pages : w->truth.nr_anon;

    w->truth.pgfree += pages;
    w->truth.nr_anon -= gone;
    if (w->truth.nr_anon_thp > w->truth.nr_anon)
        w->truth.nr_anon_thp = w->truth.nr_anon;
}

void world_advance(struct world *w, uint64_t to)
{
    uint64_t before = w->now;

    w->now = to;
    w->truth.pgfree += (to - before) / MS * (1 + w->given); /* there is always somebody */
    w->truth.pgalloc += (to - before) / MS * w->taken;
    w->truth.pgfault += (to - before) / MS * w->taken;
    for (uint32_t i = w->n_flights; i-- > 0;) {
        struct flight *f = &w->flights[i];
        uint64_t due =
            to >= f->end ? f->pages : f->pages / (f->end - f->begin + 1) * (to - f->begin);
        if (due > f->freed)
            free_pages(w, due - f->freed);
        f->freed = due > f->freed ? due : f->freed;
        if (to >= f->end)
            end_exit(w, i);
    }
}

/* The lists come down to what they may hold: the kernel's arithmetic, and a reading of it. */
static void read_zones(struct world *w)
{
    for (uint32_t i = 0; i < w->table.n_zones; i++) {
        struct pcp_zone z;
        if (!pcp_zone_of(&w->host, &w->table, i, &z))
            continue;
        uint32_t high = pcp_limits(w->host.regime, &z, pcp_fraction(&w->sysctl),
                                   pcp_scale(&w->host, &w->sysctl))
                            .high_max;
        for (uint32_t k = 0; k < w->zones[i].n_lists; k++) {
            struct zone_list *l = &w->lists[w->zones[i].first_list + k];
            l->count = l->count < high ? l->count : high;
        }
    }
    w->s.zones_vm = w->truth;
    w->s.zones_vm.at = w->now;
}

void world_look(struct world *w)
{
    if (!w->s.signals[SIGNAL_VMSTAT])
        return;
    w->s.vm = w->truth;
    w->s.vm.at = w->now;
    if (w->s.tasks == 0 && (w->quiet || world_chance(w, 5)))
        read_zones(w);
}

/* --- events -------------------------------------------------------------------------------- */

static void foreign_write(struct world *w)
{
    enum knob_id k = (enum knob_id)world_random(w, KNOB_MAX);

    if (!w->sysctl.has[k])
        return;
    w->sysctl.value[k] = random_value(w, k);
    w->foreign_writes++;
}

/* Taskstats lost: the service shows no tasks until it is back, and then only new ones. */
static void lose_or_find(struct world *w, enum signal_id s)
{
    w->s.signals[s] = !w->s.signals[s];
    if (s != SIGNAL_TASKSTATS)
        return;
    memset(w->s.groups, 0, sizeof(w->s.groups));
    memset(w->s.node_tasks, 0, sizeof(w->s.node_tasks));
    w->s.n_groups = w->s.tasks = 0;
    for (uint32_t i = 0; i < w->n_flights; i++)
        w->flights[i].announced = false;
}

static void hotplug(struct world *w)
{
    uint32_t cpus = 1 + (uint32_t)world_random(w, w->table.zones[0].n_lists);

    place_cpus(w, cpus);
}

void world_quiet(struct world *w)
{
    w->quiet = w->working = true;
    w->foreigners = false;
    end_story(w);
}

void world_event(struct world *w)
{
    if (w->quiet)
        return;
    if (w->now >= w->story_until) {
        bool rest = w->story != STORY_CALM && world_chance(w, 60);
        end_story(w);
        w->story = rest ? STORY_CALM : (enum story)world_random(w, STORIES);
        w->story_until = w->now + spread(w, MS, rest ? 2 * w->params.hold : 30 * SECOND);
        if (w->story >= STORY_CHURN)
            w->story_until = w->now + spread(w, 10 * SECOND, 120 * SECOND);
        exits(w);
    } else if (w->story == STORY_TRICKLE ? w->now >= w->trickle_at : world_chance(w, 25)) {
        exits(w);
    }
    if (w->foreigners && world_random(w, 60) == 0)
        foreign_write(w);
    if (world_random(w, 400) == 0)
        lose_or_find(w, world_chance(w, 50) ? SIGNAL_TASKSTATS : SIGNAL_VMSTAT);
    if (world_random(w, 1000) == 0)
        hotplug(w);
    if (world_random(w, 200) == 0)
        w->s.knobs = w->sysctl;
    if (world_random(w, 100) == 0)
        w->s.knobs_known = true;
}

void world_forget(struct world *w)
{
    if (w->s.tasks == 0) {
        memset(w->s.groups, 0, sizeof(w->s.groups));
        w->s.n_groups = 0;
    }
}

/* --- the actuator -------------------------------------------------------------------------- */

static const enum outcome_kind failures[] = {OUTCOME_FAILED, OUTCOME_FAILED, OUTCOME_FAILED,
                                             OUTCOME_REFUSED, OUTCOME_GONE};

static void grade(struct outcome *o, enum outcome_kind kind, enum knob_id k)
{
    o->kind = kind;
    o->knob = k;
    o->error = kind == OUTCOME_DONE || kind == OUTCOME_FOREIGN ? 0 : -EIO;
}

static void write_value(struct world *w, enum knob_id k, int value)
{
    w->sysctl.value[k] = value;
    w->journal[k].last = value;
    w->writes[w->n_writes++ % 4096] = w->now;
}

/* One knob as actuate/ does it: looked at, compared with what we left there, then written.
 * Returns whether the other knobs still are to be tried. */
static bool change(struct world *w, enum knob_id k, int believed, int value, struct outcome *o)
{
    int now = w->sysctl.value[k];

    o->before.has[k] = o->after.has[k] = true;
    o->before.value[k] = o->after.value[k] = now;
    if (now != (w->journal[k].held ? w->journal[k].last : believed)) {
        grade(o, OUTCOME_FOREIGN, k);
        return false;
    }
    if (now == value)
        return true;
    if (!w->working && world_chance(w, 10)) {
        grade(o, failures[world_random(w, 5)], k);
        return false;
    }
    if (!w->journal[k].held)
        w->journal[k].original = now;
    w->journal[k].held = true;
    write_value(w, k, value);
    o->after.value[k] = value;
    grade(o, OUTCOME_DONE, k);
    return true;
}

static void set(struct world *w, const struct plan *p, struct outcome *o)
{
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (p->values.has[k] && !change(w, k, p->from.value[k], p->values.value[k], o))
            break;
    }
}

static void restore(struct world *w, struct outcome *o)
{
    enum outcome_kind worst = OUTCOME_UNCHANGED;
    enum knob_id which = 0;

    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (!w->journal[k].held)
            continue;
        o->kind = OUTCOME_UNCHANGED;
        if (w->sysctl.value[k] != w->journal[k].original)
            change(w, k, 0, w->journal[k].original, o);
        if (o->kind <= OUTCOME_FOREIGN)
            w->journal[k].held = false;
        if (worst <= OUTCOME_FOREIGN && (o->kind > worst || worst == OUTCOME_UNCHANGED)) {
            worst = o->kind;
            which = k;
        }
    }
    grade(o, worst, which);
}

void world_submit(struct world *w, const struct plan *p)
{
    struct outcome *o = &w->job.outcome;

    *o = (struct outcome){.action = p->action, .kind = OUTCOME_UNCHANGED, .started = w->now};
    if (p->action == PLAN_SET)
        set(w, p, o);
    else
        restore(w, o);
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        o->original.has[k] = w->journal[k].held;
        o->original.value[k] = w->journal[k].original;
    }
    w->job.busy = true;
    w->job.ready = w->now + (world_chance(w, 97) ? spread(w, US, MS) : spread(w, US, 200 * SECOND));
}

bool world_collect(struct world *w, struct outcome *ret)
{
    struct outcome *o = &w->job.outcome;

    if (!w->job.busy || w->now < w->job.ready)
        return false;
    w->job.busy = false;
    *ret = *o;
    if (o->kind == OUTCOME_FOREIGN)
        w->journal[o->knob].held = false;
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (o->after.has[k])
            w->s.knobs.value[k] = o->after.value[k];
    }
    return true;
}

bool world_owns(const struct world *w)
{
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (w->journal[k].held)
            return true;
    }
    return false;
}

uint32_t world_writes_since(const struct world *w, uint64_t since)
{
    uint32_t n = 0;

    for (uint32_t i = w->n_writes;
         i-- > 0 && w->n_writes - i <= 4096 && w->writes[i % 4096] > since;)
        n++;
    return n;
}
