/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "state.h"

/* zone_highsize() divides by the CPUs of the node, or by all where it has none. */
static uint32_t split_cpus(const struct sim *sim, uint32_t node)
{
    uint32_t here = 0, all = 0;

    for (uint32_t c = 0; c < sim->s->machine.cpus; c++) {
        all += sim->cpus[c].online;
        here += sim->cpus[c].online && sim->cpus[c].node == node;
    }
    return here ? here : all;
}

static void set_limits(struct sim *sim, uint32_t k)
{
    struct zone_state *z = &sim->zones[k];
    struct pcp_zone p = {
        .managed = z->managed, .low = z->low, .cpus = split_cpus(sim, k), .batch = z->batch};

    if (sim->knobs.has[KNOB_SCALE])
        z->kernel.scale = (unsigned)sim->knobs.value[KNOB_SCALE];
    z->limits = pcp_limits(z->kernel.regime, &p, sim->knobs.value[KNOB_FRACTION], z->kernel.scale);
    for (uint32_t c = 0; c < sim->s->machine.cpus; c++)
        pcplist_set_limits(list_of(sim, c, k), &z->kernel, &z->limits, z->batch);
}

void sim_set_limits(struct sim *sim)
{
    tasks_sync(sim);
    for (uint32_t k = 0; k < sim->s->machine.nodes; k++)
        set_limits(sim, k);
    tasks_plan_again(sim);
}

int sim_write_knob(struct sim *sim, enum knob_id knob, int value)
{
    if (!sim->knobs.has[knob] || !knob_accepts(knob, value))
        return -EINVAL;
    if (sim->knobs.value[knob] == value) /* "No change?": nothing is recomputed */
        return 0;
    sim->knobs.value[knob] = value;
    sim_set_limits(sim);
    return 0;
}

static void plug(struct sim *sim, const struct hotplug *h)
{
    for (uint32_t c = h->cpus.first; c <= h->cpus.last; c++) {
        if (h->online)
            cpu_online(sim, c);
        else
            cpu_offline(sim, c); /* the last one stays */
    }
}

/* --- setting up ---------------------------------------------------------------------------- */

static void set_zone(struct sim *sim, uint32_t k)
{
    const struct machine *m = &sim->s->machine;
    const struct kernel *kernel = &sim->s->kernel;
    struct zone_state *z = &sim->zones[k];

    *z = (struct zone_state){
        .kernel = {.regime = kernel->regime, .scale = (unsigned)kernel->scale},
        .kswapd = sim->n_users + k,
        .managed = m->managed,
        .min = m->low * 4 / 5, /* __setup_per_zone_wmarks(): low and high are 5/4 and 6/4 of min */
        .low = m->low,
        .high = m->low * 6 / 5,
        .free = m->free ? m->free : m->managed / 2,
        .batch = m->batch ? m->batch : pcp_batchsize(m->managed, m->page_size),
        .holder = NOBODY,
        .waiters = {NOBODY, NOBODY},
    };
    set_limits(sim, k);
}

static void fill_to(struct pcplist *l, uint64_t percent)
{
    l->count = (int)((uint64_t)l->high_max * percent / 100);
    l->high = MAX(l->high_min, l->count);
}

/* Lists of a machine that has run for a while: high has decayed, and something is in them. */
static void fill_list(struct sim *sim, struct pcplist *l, const struct zone_state *z, bool own)
{
    const struct kernel *kernel = &sim->s->kernel;

    l->high = (int)z->limits.high_min;
    if (!own)
        return;
    l->count = (int)rng_below(&sim->rng, z->limits.high_min);
    if (kernel->filled_is_set)
        fill_to(l, kernel->filled);
}

static void set_cpus(struct sim *sim)
{
    const struct machine *m = &sim->s->machine;

    for (uint32_t c = 0; c < m->cpus; c++)
        sim->cpus[c] = (struct cpu){.node = c / (m->cpus / m->nodes),
                                    .online = true,
                                    .running = NOBODY,
                                    .runnable = {NOBODY, NOBODY},
                                    .worker = sim->n_users + m->nodes + c};
}

static void set_workers(struct sim *sim)
{
    const struct machine *m = &sim->s->machine;

    for (uint32_t c = 0; c < m->cpus; c++) {
        sim->tasks[sim->cpus[c].worker] = (struct task){.role = ROLE_WORKER, .cpu = c};
        for (uint32_t k = 0; k < m->nodes; k++)
            fill_list(sim, list_of(sim, c, k), &sim->zones[k], k == sim->cpus[c].node);
        eventq_set(&sim->events, owner_of_cpu(sim, c), rng_below(&sim->rng, m->stat_interval));
    }
    for (uint32_t k = 0; k < m->nodes; k++)
        sim->tasks[sim->n_users + k] = (struct task){.role = ROLE_KSWAPD,
                                                     .cpu = (k + 1) * (m->cpus / m->nodes) - 1,
                                                     .zone = k,
                                                     .freeing = true};
}

static uint64_t draw_size(struct sim *sim, const struct workload *w)
{
    uint64_t spread = w->size * w->size_spread / 100;
    return MAX(w->size - spread + rng_below(&sim->rng, 2 * spread + 1), UINT64_C(1));
}

static void set_task(struct sim *sim, const struct workload *w, uint32_t id, uint64_t i,
                     uint32_t cpu)
{
    struct task *t = &sim->tasks[id];
    nsec_t start = w->start + i * w->every + rng_below(&sim->rng, w->spread + 1);

    *t = (struct task){
        .work = w,
        .cpu = cpu,
        .zone = w->node_is_set ? (uint32_t)w->node : sim->cpus[cpu].node,
        .order = (unsigned)w->order,
        .freeing = w->kind == WORK_EXIT,
        .size = draw_size(sim, w),
    };
    t->left = w->shared ? 0 : t->size;
    if (w->filled_is_set)
        fill_to(list_of(sim, cpu, t->zone), w->filled);
    sim->to_come += w->kind == WORK_EXIT || w->kind == WORK_START;
    if (w->kind == WORK_EXIT)
        sim->anon += t->left;
    eventq_set(&sim->events, id, start);
}

static void set_tasks(struct sim *sim)
{
    const struct scenario *s = sim->s;
    uint32_t id = 0;
    uint64_t cpu = 0;

    for (uint32_t k = 0; k < s->n_workloads; k++) {
        const struct workload *w = &s->workloads[k];
        if (w->first_cpu_is_set)
            cpu = w->first_cpu;
        for (uint64_t i = 0; i < w->tasks; i++)
            set_task(sim, w, id++, i, (uint32_t)(cpu++ % s->machine.cpus));
    }
}

static void set_owners(struct sim *sim)
{
    const struct scenario *s = sim->s;

    eventq_set(&sim->events, owner(sim, OWNER_SAMPLE), s->run.sample);
    eventq_set(&sim->events, owner(sim, OWNER_PRESSURE), PRESSURE_PERIOD);
    for (uint32_t i = 0; i < s->n_writes; i++)
        eventq_set(&sim->events, owner(sim, OWNER_WRITES) + i, s->writes[i].at);
    for (uint32_t i = 0; i < s->n_hotplugs; i++)
        eventq_set(&sim->events, owner(sim, OWNER_HOTPLUGS) + i, s->hotplugs[i].at);
}

static int allocate(struct sim *sim)
{
    const struct scenario *s = sim->s;

    for (uint32_t k = 0; k < s->n_workloads; k++)
        sim->n_users += (uint32_t)s->workloads[k].tasks;
    sim->n_tasks = sim->n_users + s->machine.nodes + s->machine.cpus;
    sim->zones = calloc(s->machine.nodes, sizeof(*sim->zones));
    sim->cpus = calloc(s->machine.cpus, sizeof(*sim->cpus));
    sim->lists = calloc((size_t)s->machine.cpus * s->machine.nodes, sizeof(*sim->lists));
    sim->tasks = calloc(sim->n_tasks, sizeof(*sim->tasks));
    sim->result.samples = calloc(s->run.time / s->run.sample + 1, sizeof(struct sample));
    if (!sim->zones || !sim->cpus || !sim->lists || !sim->tasks || !sim->result.samples)
        return -ENOMEM;
    return eventq_init(&sim->events, owner(sim, OWNER_MAX));
}

int sim_new(const struct scenario *s, struct sim **ret)
{
    struct sim *sim = calloc(1, sizeof(*sim));
    if (!sim)
        return -ENOMEM;

    sim->s = s;
    int r = allocate(sim);
    if (r < 0) {
        sim_free(sim);
        return r;
    }
    rng_seed(&sim->rng, s->run.seed);
    jitter_init(&sim->jitter, (unsigned)s->machine.jitter);
    sim->result.exit_begin = sim->result.start_begin = NSEC_INFINITY;
    sim->knobs.has[KNOB_FRACTION] = s->kernel.regime != REGIME_R1;
    sim->knobs.value[KNOB_FRACTION] = (int)s->kernel.fraction;
    sim->knobs.has[KNOB_SCALE] = s->kernel.regime == REGIME_R6;
    sim->knobs.value[KNOB_SCALE] = sim->knobs.has[KNOB_SCALE] ? (int)s->kernel.scale : 0;
    set_cpus(sim);
    for (uint32_t k = 0; k < s->machine.nodes; k++)
        set_zone(sim, k);
    set_workers(sim);
    set_tasks(sim);
    set_owners(sim);
    if (s->loop.on)
        r = loop_new(sim);
    if (r < 0) {
        sim_free(sim);
        return r;
    }
    *ret = sim;
    return 0;
}

void sim_free(struct sim *sim)
{
    if (!sim)
        return;
    loop_free(sim->loop);
    eventq_done(&sim->events);
    free(sim->result.samples);
    free(sim->tasks);
    free(sim->lists);
    free(sim->cpus);
    free(sim->zones);
    free(sim);
}

/* --- running ------------------------------------------------------------------------------- */

static void take_sample(struct sim *sim)
{
    struct sample *x = &sim->sample;

    x->at = sim->now;
    x->exiting = sim->exiting;
    x->waiting = sim->waiting;
    x->fraction = sim->knobs.value[KNOB_FRACTION];
    x->scale = (int)sim->zones[0].kernel.scale;
    x->lists = tasks_lists(sim);
    for (uint32_t k = 0; k < sim->s->machine.nodes; k++)
        x->free += sim->zones[k].free;
    sim->result.samples[sim->result.n_samples++] = *x;
    *x = (struct sample){0};
    eventq_set(&sim->events, owner(sim, OWNER_SAMPLE), sim->now + sim->s->run.sample);
}

static void dispatch(struct sim *sim, uint32_t id)
{
    if (id < sim->n_tasks) {
        task_event(sim, id);
    } else if (id < owner(sim, OWNER_SAMPLE)) {
        cpu_tick(sim, id - sim->n_tasks);
    } else if (id == owner(sim, OWNER_SAMPLE)) {
        take_sample(sim);
    } else if (id == owner(sim, OWNER_PRESSURE)) {
        pressure_event(sim);
    } else if (id == owner(sim, OWNER_LOOP)) {
        loop_event(sim);
    } else if (id == owner(sim, OWNER_TRIGGER)) {
        loop_trigger(sim);
    } else if (id < owner(sim, OWNER_HOTPLUGS)) {
        const struct write *w = &sim->s->writes[id - owner(sim, OWNER_WRITES)];
        eventq_clear(&sim->events, id);
        sim_write_knob(sim, w->knob, (int)w->value);
    } else {
        eventq_clear(&sim->events, id);
        plug(sim, &sim->s->hotplugs[id - owner(sim, OWNER_HOTPLUGS)]);
    }
}

void sim_run(struct sim *sim)
{
    uint32_t id;
    nsec_t at;

    while (eventq_first(&sim->events, &at, &id) && at <= sim->s->run.time) {
        sim->now = at;
        dispatch(sim, id);
        if (sim->s->run.to_exits && sim->to_come == 0)
            break;
    }
    tasks_sync(sim);
    pressure_collect(sim);
    sim->result.unfinished = sim->to_come;
    sim->result.memory_some = sim->memory_some.total;
    sim->result.cpu_some = sim->cpu_some.total;
    if (sim->exiting > 0)
        sim->result.exit_end = sim->now;
    if (sim->starting > 0)
        sim->result.start_end = sim->now;
    sim->result.simulated = sim->now;
}

const struct sim_result *sim_get_result(const struct sim *sim)
{
    return &sim->result;
}
