/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "engine.h"
#include "take.h"

/* The bytes are a machine, a configuration that config/ would take, and a course of snapshots and
 * outcomes, however absurd: counters that run backwards, zones of 2^64 pages, knobs that the kernel
 * cannot have. Whatever comes, a plan keeps its promises. */

#define ZONES 4
#define LISTS 4
#define STEPS 96

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
    struct take in;
    struct params params;
    struct host_facts host;
    struct zone_table table;
    struct zone zones[ZONES];
    struct zone_list lists[ZONES * LISTS];
    struct snapshot s;
    uint64_t now;
    struct engine *engine;
    struct plan sent; /* PLAN_NONE: nothing is under way */
    bool held[KNOB_MAX];
    int original[KNOB_MAX];
};

static void take_param(struct world *w, const struct config_key *k)
{
    char *field = (char *)&w->params + k->offset;
    uint64_t v = take_any(&w->in), n = k->max - k->min + 1;

    if (k->infinity && v == UINT64_MAX)
        n = 0; /* as it is */
    v = n ? k->min + v % n : v;
    if (k->type == CONFIG_PATH)
        return;
    if (k->size == sizeof(uint64_t))
        memcpy(field, &v, sizeof(v));
    else if (k->size == sizeof(uint32_t))
        memcpy(field, &(uint32_t){(uint32_t)v}, sizeof(uint32_t));
    else
        *field = (char)(v & 1);
}

static void take_params(struct world *w)
{
    static const int modes[] = {MODE_APPLY, MODE_APPLY, MODE_DRY_RUN, MODE_OFF};

    w->params = params_default();
    for (unsigned n = take_below(&w->in, 4); n > 0; n--) {
        const struct config_key *k = &config_table[take_below(&w->in, CONFIG_KEYS)];
        if (k->type < CONFIG_MODE)
            take_param(w, k);
    }
    for (unsigned k = 0; k < KNOB_MAX; k++)
        if (w->params.knob_lo[k] > w->params.knob_hi[k])
            w->params.knob_lo[k] = w->params.knob_hi[k];
    w->params.mode = (enum mode)modes[take_below(&w->in, 4)];
    w->params.on_foreign = (enum on_foreign)take_below(&w->in, FOREIGN_MAX);
    w->params.on_pinned = (enum on_pinned)take_below(&w->in, PINNED_MAX);
}

static void take_host(struct world *w)
{
    w->host.regime = (enum regime)take_below(&w->in, REGIME_MAX);
    w->host.page_size = 4096U << 2 * take_below(&w->in, 3);
    w->host.cpus_online = 1 + (uint32_t)take_bytes(&w->in, 2) % 8192;
    w->host.cpus_possible = w->host.cpus_online;
    w->host.n_nodes = 1 + take_below(&w->in, HOST_NODES_MAX);
    for (unsigned i = 0; i < w->host.n_nodes && i < 4; i++)
        w->host.node_cpus[i] = (uint32_t)take_bytes(&w->in, 2) % (w->host.cpus_online + 1);
    w->host.scale = (uint8_t)take_below(&w->in, 7);
    w->host.memory_bytes = take_any(&w->in);
}

static void take_list(struct world *w, struct zone_list *l, uint32_t cpu)
{
    *l = (struct zone_list){.cpu = cpu,
                            .count = (uint32_t)take_any(&w->in),
                            .high = (uint32_t)take_any(&w->in),
                            .batch = (uint32_t)take_any(&w->in),
                            .high_min = (uint32_t)take_any(&w->in),
                            .high_max = (uint32_t)take_any(&w->in)};
}

/* In the order that zoneinfo_parse() vouches for; the numbers are anything. */
static void take_zones(struct world *w)
{
    struct zone_table *t = &w->table;
    int node = 0;

    *t = (struct zone_table){.zones = w->zones, .lists = w->lists};
    for (unsigned n = take_below(&w->in, ZONES + 1); n > 0; n--) {
        struct zone *z = &w->zones[t->n_zones++];
        node += (int)take_below(&w->in, 3);
        *z = (struct zone){.name = "Normal", .node = node, .first_list = t->n_lists};
        z->managed = take_any(&w->in);
        z->present = z->spanned = z->managed;
        z->low = take_any(&w->in);
        z->free = take_any(&w->in);
        z->has_high_minmax = take_bool(&w->in);
        z->n_lists = take_below(&w->in, LISTS + 1);
        for (uint32_t i = 0; i < z->n_lists; i++)
            take_list(w, &w->lists[t->n_lists++], i);
    }
    w->s.zones_at = w->now;
    w->s.zones_vm = w->s.vm;
}

static void take_counters(struct world *w)
{
    uint64_t *const counters[] = {&w->s.vm.pgfree,     &w->s.vm.pgalloc, &w->s.vm.pgfault,
                                  &w->s.vm.allocstall, &w->s.vm.nr_free, &w->s.vm.nr_anon,
                                  &w->s.vm.nr_anon_thp};

    w->s.vm.valid = !take_bool(&w->in) || w->s.vm.valid;
    w->s.vm.at = w->now;
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
        uint64_t v = take_any(&w->in);
        *counters[i] = take_bool(&w->in) ? *counters[i] + (v & UINT32_MAX) : v;
    }
}

static void take_groups(struct world *w)
{
    w->s.n_groups = take_below(&w->in, 4);
    w->s.tasks = 0;
    for (uint32_t i = 0; i < w->s.n_groups; i++) {
        struct exit_group *g = &w->s.groups[i];
        *g = (struct exit_group){.id = 1 + take_below(&w->in, 4), .name = "nginx.service"};
        g->tasks = (uint32_t)take_bytes(&w->in, 2) % 1024;
        g->tasks_total = g->tasks + (uint32_t)take_bytes(&w->in, 2);
        g->announced = take_any(&w->in) >> 12; /* pages of a byte count */
        g->anon = take_any(&w->in);
        g->anon_thp = take_any(&w->in);
        w->s.tasks += g->tasks;
    }
    w->s.node_tasks[0] = w->s.tasks;
    w->s.message_at = w->now;
}

static void take_knob(struct world *w)
{
    enum knob_id k = (enum knob_id)take_below(&w->in, KNOB_MAX);

    w->s.knobs.has[k] = take_below(&w->in, 8) > 0;
    w->s.knobs.value[k] = take_bool(&w->in) ? knob_table[k].initial : (int)take_any(&w->in);
}

static void check(const struct world *w, const struct plan *p)
{
    enum engine_state state = engine_get_state(w->engine);
    char text[640];

    require(state < ENGINE_STATES && p->reason < REASON_MAX && p->action <= PLAN_RESTORE);
    plan_describe(p, text, sizeof(text));
    require(memchr(text, '\0', sizeof(text)) != NULL && strpbrk(text, "\n\033") == NULL);
    if (p->action == PLAN_NONE)
        return;
    require(w->sent.action == PLAN_NONE && p->reason != REASON_NONE);
    if (p->action != PLAN_SET)
        return;
    require(state != ENGINE_YIELDED && state != ENGINE_REFUSED && w->params.mode != MODE_OFF);
    require(w->s.knobs_known && w->host.regime > REGIME_R1);
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        int v = p->values.value[k];
        if (!p->values.has[k] || v == p->from.value[k] || (w->held[k] && v == w->original[k]))
            continue;
        require(w->s.knobs.has[k] && knob_accepts((enum knob_id)k, v));
        require(v >= w->params.knob_lo[k] && v <= w->params.knob_hi[k]);
    }
}

/* As actuate/ would leave it, where it worked. */
static void carry_out(struct world *w)
{
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (w->sent.action == PLAN_RESTORE && w->held[k]) {
            w->s.knobs.value[k] = w->original[k];
            w->held[k] = false;
        } else if (w->sent.action == PLAN_SET && w->sent.values.has[k]) {
            if (!w->held[k])
                w->original[k] = w->s.knobs.value[k];
            w->held[k] = true;
            w->s.knobs.value[k] = w->sent.values.value[k];
        }
    }
}

static void answer(struct world *w)
{
    struct outcome o = {.action = w->sent.action, .before = w->s.knobs};

    if (w->sent.action == PLAN_NONE || take_below(&w->in, 4) == 0)
        return;
    o.kind = take_bool(&w->in) ? OUTCOME_DONE : (enum outcome_kind)take_below(&w->in, OUTCOME_MAX);
    o.knob = (enum knob_id)take_below(&w->in, KNOB_MAX);
    if (o.kind == OUTCOME_DONE)
        carry_out(w);
    else if (o.kind == OUTCOME_FOREIGN)
        w->held[o.knob] = false;
    o.error = o.kind > OUTCOME_FOREIGN ? -(int)take_below(&w->in, 134) : 0;
    o.simulated = w->params.mode == MODE_DRY_RUN;
    o.after = w->s.knobs;
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        o.original.has[k] = w->held[k];
        o.original.value[k] = w->original[k];
    }
    o.started = o.written = o.ended = w->now;
    w->sent = (struct plan){0};
    engine_outcome(w->engine, &w->params, &o, w->now);
}

static void step(struct world *w)
{
    struct plan p;
    unsigned what = (unsigned)take_bytes(&w->in, 1);

    w->now += take_bytes(&w->in, 1 + take_below(&w->in, 6));
    if (what & 1)
        take_counters(w);
    if (what & 2)
        take_groups(w);
    if (what & 4)
        w->s.knobs_known = true, take_knob(w);
    if ((what & 0x18) == 0x18)
        take_zones(w);
    if ((what & 0x60) == 0x60)
        w->s.signals[take_below(&w->in, SIGNAL_MAX)] ^= true;
    if ((what & 0x90) == 0x90)
        w->s.psi_memory_some = (struct psi_line){take_any(&w->in), (uint32_t)take_any(&w->in)};
    if ((what & 0xa4) == 0xa4)
        engine_rearm(w->engine);
    answer(w);
    engine_step(w->engine, &w->params, &w->s, w->now, &p);
    check(w, &p);
    if (p.action != PLAN_NONE)
        w->sent = p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world w;

    w = (struct world){.in = {data, size}, .now = 1000000000};
    if (engine_new(&w.engine) < 0)
        return 0;
    w.s.host = &w.host;
    w.s.zones = &w.table;
    memset(w.s.signals, 1, sizeof(w.s.signals));
    take_params(&w);
    take_host(&w);
    take_zones(&w);
    for (unsigned k = 0; k < KNOB_MAX; k++)
        w.s.knobs.has[k] = true, w.s.knobs.value[k] = knob_table[k].initial;
    w.s.knobs_known = take_below(&w.in, 8) > 0;
    if (w.s.knobs_known)
        engine_found(w.engine, &w.s.knobs);
    for (unsigned i = 0; i < STEPS && w.in.left > 0; i++)
        step(&w);
    engine_free(w.engine);
    return 0;
}
