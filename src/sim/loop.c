/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "engine.h"
#include "state.h"

/* pcptuned on the simulated machine: the real policy, with what the daemon around it sees and does,
 * and when. It learns of an exit message_delay after it, and its writes take write_delay. */

struct message {
    nsec_t at; /* the daemon gets it */
    uint32_t task;
    bool begins;
};

struct loop {
    struct engine *engine;
    struct host_facts host;
    struct zone_table table;
    struct snapshot view;
    struct message *messages; /* in the order of time: two for each task at most */
    uint32_t first_message, n_messages;
    uint32_t group_of[SCENARIO_WORKLOADS]; /* index in view.groups + 1, 0: none */
    nsec_t wake_at;

    struct plan plan; /* being carried out */
    nsec_t write_at;  /* NSEC_INFINITY: none is */
    struct knob_values original, ours;
};

/* --- what the daemon sees ------------------------------------------------------------------ */

static void read_zoneinfo(struct sim *sim, struct loop *l)
{
    const struct machine *m = &sim->s->machine;

    tasks_sync(sim);
    for (uint32_t k = 0; k < m->nodes; k++) {
        const struct zone_state *z = &sim->zones[k];
        l->table.zones[k] = (struct zone){.name = "Normal",
                                          .node = (int)k,
                                          .has_high_minmax = z->kernel.regime >= REGIME_R4,
                                          .free = z->free,
                                          .min = z->min,
                                          .low = z->low,
                                          .high = z->high,
                                          .spanned = z->managed,
                                          .present = z->managed,
                                          .managed = z->managed,
                                          .first_list = k * m->cpus,
                                          .n_lists = m->cpus};
        for (uint32_t c = 0; c < m->cpus; c++) {
            const struct pcplist *p = list_of(sim, c, k);
            l->table.lists[k * m->cpus + c] = (struct zone_list){.cpu = c,
                                                                 .count = (uint32_t)p->count,
                                                                 .high = (uint32_t)p->high,
                                                                 .batch = (uint32_t)p->batch,
                                                                 .high_min = (uint32_t)p->high_min,
                                                                 .high_max = (uint32_t)p->high_max};
        }
    }
    l->view.zones_at = sim->now + 1;
}

static void read_vmstat(struct sim *sim, struct loop *l)
{
    uint64_t free = 0;

    tasks_sync(sim);
    for (uint32_t k = 0; k < sim->s->machine.nodes; k++)
        free += sim->zones[k].free;
    l->view.vm = (struct vm_counters){.valid = true,
                                      .at = sim->now,
                                      .pgfree = sim->pgfree,
                                      .pgalloc = sim->pgalloc,
                                      .pgfault = sim->pgalloc,
                                      .allocstall = sim->result.stalls,
                                      .nr_free = free,
                                      .nr_anon = sim->anon};
}

static struct exit_group *group_of(struct sim *sim, struct loop *l, const struct task *t)
{
    uint32_t k = (uint32_t)(t->work - sim->s->workloads);

    if (l->group_of[k] == 0) {
        struct exit_group *g = &l->view.groups[l->view.n_groups++];
        *g = (struct exit_group){.id = k + 1};
        snprintf(g->name, sizeof(g->name), "%s", t->work->name);
        for (uint32_t i = 0; i < sim->n_users; i++) {
            const struct task *other = &sim->tasks[i];
            if (other->work == t->work && other->state != TASK_DONE)
                g->anon += other->left;
        }
        l->group_of[k] = l->view.n_groups;
    }
    return &l->view.groups[l->group_of[k] - 1];
}

static void take_message(struct sim *sim, struct loop *l, const struct message *m)
{
    const struct task *t = &sim->tasks[m->task];
    struct exit_group *g = group_of(sim, l, t);
    uint32_t node = sim->cpus[t->cpu].node;

    if (m->begins) {
        g->tasks++;
        g->tasks_total++;
        g->announced += t->size;
        l->view.tasks++;
        l->view.node_tasks[node]++;
        l->view.message_at = sim->now;
    } else {
        g->tasks--;
        l->view.tasks--;
        l->view.node_tasks[node]--;
    }
}

static void add_message(struct sim *sim, uint32_t task, bool begins)
{
    struct loop *l = sim->loop;

    const struct params *p = &sim->s->loop.params;
    const struct task *t = &sim->tasks[task];

    if (!p->taskstats || t->work->silent)
        return;
    if (t->size < p->task_size / l->host.page_size)
        return; /* the filter in the kernel */
    l->messages[l->n_messages++] = (struct message){
        .at = sim->now + sim->s->loop.message_delay, .task = task, .begins = begins};
}

/* --- what the daemon does ------------------------------------------------------------------ */

static enum outcome_kind write_one(struct sim *sim, struct loop *l, enum knob_id k, int value,
                                   struct outcome *o)
{
    if (sim->knobs.value[k] == value)
        return OUTCOME_UNCHANGED;
    if (sim_write_knob(sim, k, value) < 0) {
        o->knob = k;
        return OUTCOME_REFUSED;
    }
    l->ours.value[k] = value;
    sim->result.knob_writes++;
    return OUTCOME_DONE;
}

/* As actuate/ does it: a knob that is not as we left it is somebody else's. */
static void carry_out(struct sim *sim, struct loop *l, struct outcome *o)
{
    bool set = l->plan.action == PLAN_SET;

    for (unsigned k = 0; k < KNOB_MAX; k++) {
        bool owned = l->original.has[k];
        int want = set ? l->plan.values.value[k] : l->original.value[k];
        if (!sim->knobs.has[k] || !(set ? l->plan.values.has[k] : owned))
            continue;
        int left = owned ? l->ours.value[k] : l->plan.from.value[k];
        if (sim->knobs.value[k] != left) {
            l->original.has[k] = false;
            o->knob = (enum knob_id)k;
            o->kind = OUTCOME_FOREIGN;
            return;
        }
        if (!owned && want != left) {
            l->original.has[k] = true;
            l->original.value[k] = left;
        }
        enum outcome_kind kind = write_one(sim, l, (enum knob_id)k, want, o);
        if (kind != OUTCOME_UNCHANGED)
            o->kind = kind;
        if (!set)
            l->original.has[k] = false;
    }
}

static void write_knobs(struct sim *sim, struct loop *l)
{
    struct outcome o = {.action = l->plan.action,
                        .kind = OUTCOME_UNCHANGED,
                        .before = sim->knobs,
                        .written = sim->now};

    l->write_at = NSEC_INFINITY;
    carry_out(sim, l, &o);
    o.after = sim->knobs;
    o.original = l->original;
    l->view.knobs = sim->knobs;
    engine_outcome(l->engine, &sim->s->loop.params, &o, sim->now);
}

static void remember(struct sim *sim, const struct plan *p)
{
    struct sim_result *r = &sim->result;

    if ((p->action != PLAN_NONE || p->report) && r->n_decisions < SIM_DECISIONS)
        r->decisions[r->n_decisions++] = (struct decision){.at = sim->now, .plan = *p};
}

/* As the service does it: groups without tasks are forgotten, and the lists are read again, once
 * the storm is over. */
static void calm_down(struct sim *sim, struct loop *l)
{
    if (l->view.tasks > 0 || l->view.n_groups == 0)
        return;
    l->view.n_groups = 0;
    memset(l->group_of, 0, sizeof(l->group_of));
    read_zoneinfo(sim, l);
}

static void step(struct sim *sim, struct loop *l)
{
    struct plan plan;

    engine_step(l->engine, &sim->s->loop.params, &l->view, sim->now, &plan);
    l->wake_at = plan.wake_at;
    remember(sim, &plan);
    if (plan.action != PLAN_NONE) {
        l->plan = plan;
        l->write_at = sim->now + sim->s->loop.write_delay;
    } else if (engine_get_state(l->engine) == ENGINE_CALM) {
        calm_down(sim, l);
    }
}

static void set_next(struct sim *sim, const struct loop *l)
{
    nsec_t at = MIN(l->wake_at, l->write_at);

    if (l->first_message < l->n_messages)
        at = MIN(at, l->messages[l->first_message].at);
    if (at == NSEC_INFINITY)
        eventq_clear(&sim->events, owner(sim, OWNER_LOOP));
    else /* a loop needs time to come round */
        eventq_set(&sim->events, owner(sim, OWNER_LOOP), MAX(at, sim->now + NSEC_PER_USEC));
}

void loop_event(struct sim *sim)
{
    struct loop *l = sim->loop;

    while (l->first_message < l->n_messages && l->messages[l->first_message].at <= sim->now)
        take_message(sim, l, &l->messages[l->first_message++]);
    if (l->write_at <= sim->now)
        write_knobs(sim, l);
    if (l->wake_at <= sim->now)
        read_vmstat(sim, l);
    step(sim, l);
    set_next(sim, l);
}

void loop_exit_begins(struct sim *sim, uint32_t task)
{
    if (!sim->loop)
        return;
    add_message(sim, task, true);
    set_next(sim, sim->loop);
}

void loop_exit_ends(struct sim *sim, uint32_t task)
{
    if (!sim->loop)
        return;
    add_message(sim, task, false);
    set_next(sim, sim->loop);
}

/* --- life ---------------------------------------------------------------------------------- */

static void set_view(struct sim *sim, struct loop *l)
{
    const struct machine *m = &sim->s->machine;

    l->host = (struct host_facts){.page_size = m->page_size,
                                  .memory_bytes = m->managed * m->nodes * m->page_size,
                                  .cpus_possible = m->cpus,
                                  .cpus_online = m->cpus,
                                  .n_nodes = m->nodes,
                                  .regime = sim->s->kernel.regime,
                                  .scale = (uint8_t)sim->s->kernel.scale};
    for (uint32_t k = 0; k < m->nodes; k++)
        l->host.node_cpus[k] = m->cpus / m->nodes;
    l->table.n_zones = m->nodes;
    l->table.n_lists = m->nodes * m->cpus;
    l->view.host = &l->host;
    l->view.zones = &l->table;
    l->view.knobs_known = true;
    l->view.knobs = sim->knobs;
    memset(l->view.signals, true, sizeof(l->view.signals));
    l->view.signals[SIGNAL_TASKSTATS] = sim->s->loop.params.taskstats;
    l->write_at = NSEC_INFINITY;
    l->wake_at = 1; /* the daemon starts */
    eventq_set(&sim->events, owner(sim, OWNER_LOOP), l->wake_at);
}

int loop_new(struct sim *sim)
{
    const struct machine *m = &sim->s->machine;
    struct loop *l = sim->loop = calloc(1, sizeof(*l));
    if (!l)
        return -ENOMEM;

    l->table.zones = calloc(m->nodes, sizeof(*l->table.zones));
    l->table.lists = calloc((size_t)m->nodes * m->cpus, sizeof(*l->table.lists));
    l->messages = calloc(2 * (size_t)sim->n_users, sizeof(*l->messages));
    if (!l->table.zones || !l->table.lists || !l->messages || engine_new(&l->engine) < 0)
        return -ENOMEM; /* sim_free() frees what there is */
    set_view(sim, l);
    read_zoneinfo(sim, l);
    engine_found(l->engine, &sim->knobs);
    return 0;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    engine_free(l->engine);
    free(l->messages);
    zone_table_done(&l->table);
    free(l);
}
