/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine.h"
#include "view.h"

/* pcptuned on the simulated machine: the real policy, with what the daemon around it does, and
 * when. It learns of an exit message_delay after it, and its writes take write_delay. */

#define CALM_READ_EVERY (60 * NSEC_PER_SEC) /* service/step.c */

struct message {
    nsec_t at; /* the daemon gets it */
    uint32_t task;
    bool begins;
};

struct loop {
    struct engine *engine;
    struct view view;
    struct message *messages; /* in the order of time: two for each task at most */
    uint32_t first_message, n_messages;
    nsec_t wake_at, tick_at, read_at;

    struct plan plan; /* being carried out */
    nsec_t write_at;  /* NSEC_INFINITY: none is */
    struct knob_values original, ours;
};

static void add_message(struct sim *sim, uint32_t task, bool begins)
{
    struct loop *l = sim->loop;
    const struct params *p = &sim->s->loop.params;
    const struct task *t = &sim->tasks[task];

    if (!p->taskstats || t->work->silent)
        return;
    if (t->size < p->task_size / l->view.host.page_size)
        return; /* the filter in the kernel */
    l->messages[l->n_messages++] = (struct message){
        .at = sim->now + sim->s->loop.message_delay, .task = task, .begins = begins};
}

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
    l->view.s.knobs = sim->knobs;
    engine_outcome(l->engine, &sim->s->loop.params, &o, sim->now);
}

static void remember(struct sim *sim, const struct plan *p)
{
    struct sim_result *r = &sim->result;

    if ((p->action != PLAN_NONE || p->report) && r->n_decisions < SIM_DECISIONS)
        r->decisions[r->n_decisions++] = (struct decision){.at = sim->now, .plan = *p};
}

/* As the service does it: in calm groups are forgotten, and the lists are read again once the storm
 * is over. */
static void calm_down(struct sim *sim, struct loop *l)
{
    if (l->view.s.tasks > 0 || l->view.s.n_groups == 0 || !engine_idle(l->engine))
        return;
    view_forget(&l->view);
    view_read_zoneinfo(&l->view, sim);
}

static void step(struct sim *sim, struct loop *l)
{
    struct plan plan;

    engine_step(l->engine, &sim->s->loop.params, &l->view.s, sim->now, &plan);
    l->wake_at = plan.wake_at;
    remember(sim, &plan);
    if (plan.action != PLAN_NONE) {
        l->plan = plan;
        l->write_at = sim->now + sim->s->loop.write_delay;
    }
    calm_down(sim, l);
}

static void set_next(struct sim *sim, const struct loop *l)
{
    nsec_t at = MIN(l->wake_at, l->write_at);

    at = MIN(at, l->tick_at);
    if (l->first_message < l->n_messages)
        at = MIN(at, l->messages[l->first_message].at);
    /* A loop needs time to come round. */
    eventq_set(&sim->events, owner(sim, OWNER_LOOP), MAX(at, sim->now + NSEC_PER_USEC));
}

/* True where there was one. */
static bool take_messages(struct sim *sim, struct loop *l)
{
    uint32_t first = l->first_message;

    for (; l->first_message < l->n_messages; l->first_message++) {
        const struct message *m = &l->messages[l->first_message];
        if (m->at > sim->now)
            break;
        view_exit(&l->view, sim, &sim->tasks[m->task], m->begins);
    }
    return l->first_message > first;
}

/* The slow tick: only now a daemon notices hot-plug, and other writers of the knob. */
static void tick(struct sim *sim, struct loop *l)
{
    bool calm = engine_idle(l->engine) && l->view.s.tasks == 0;
    bool changed = view_update_host(&l->view, sim) && l->view.s.tasks == 0;

    l->tick_at = sim->now + sim->s->loop.params.tick;
    view_read_pressure(&l->view, sim);
    if (calm && sim->now - l->read_at >= CALM_READ_EVERY) {
        l->read_at = sim->now;
        l->view.s.knobs = sim->knobs;
        changed = true;
    }
    if (changed)
        view_read_zoneinfo(&l->view, sim);
    else
        view_read_vmstat(&l->view, sim);
}

void loop_event(struct sim *sim)
{
    struct loop *l = sim->loop;
    bool was_idle = engine_idle(l->engine);

    /* Where lists float, what they hold now decides whether acting is worth its price. */
    if (take_messages(sim, l) && was_idle && l->view.host.regime >= REGIME_R4)
        view_read_vmstat(&l->view, sim);
    if (l->write_at <= sim->now)
        write_knobs(sim, l);
    if (l->tick_at <= sim->now)
        tick(sim, l);
    else if (l->wake_at <= sim->now)
        view_read_vmstat(&l->view, sim);
    step(sim, l);
    set_next(sim, l);
}

void loop_trigger(struct sim *sim)
{
    struct loop *l = sim->loop;

    eventq_set(&sim->events, owner(sim, OWNER_TRIGGER), sim->now + VIEW_POLL);
    if (!view_triggered(&l->view, sim))
        return;
    view_read_pressure(&l->view, sim);
    view_read_vmstat(&l->view, sim);
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

int loop_new(struct sim *sim)
{
    struct loop *l = sim->loop = calloc(1, sizeof(*l));
    if (!l)
        return -ENOMEM;

    l->messages = calloc(2 * (size_t)sim->n_users, sizeof(*l->messages));
    if (!l->messages || view_init(&l->view, sim) < 0 || engine_new(&l->engine) < 0)
        return -ENOMEM; /* sim_free() frees what there is */
    l->write_at = NSEC_INFINITY;
    l->tick_at = sim->s->loop.params.tick;
    l->wake_at = 1; /* the daemon starts */
    view_read_zoneinfo(&l->view, sim);
    engine_found(l->engine, &sim->knobs);
    set_next(sim, l);
    if (sim->s->loop.params.psi)
        eventq_set(&sim->events, owner(sim, OWNER_TRIGGER), VIEW_POLL);
    return 0;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    engine_free(l->engine);
    free(l->messages);
    view_done(&l->view);
    free(l);
}
