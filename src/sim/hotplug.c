/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "state.h"

/* CPU hot-plug: tasks leave, page_alloc_cpu_dead() drains the lists, and high is recomputed for
 * those that are left; page_alloc_cpu_online() the other way round. */

/* An idle CPU of that node, else one where others wait, else one of another node. */
static uint32_t other_cpu(const struct sim *sim, uint32_t cpu)
{
    uint32_t n = sim->s->machine.cpus, best = NOBODY;
    int best_rank = -1;

    for (uint32_t i = 1; i < n && best_rank < 3; i++) {
        uint32_t to = (cpu + i) % n;
        const struct cpu *c = &sim->cpus[to];
        int rank = (c->node == sim->cpus[cpu].node ? 2 : 0) + (c->running == NOBODY);
        if (!c->online || rank <= best_rank)
            continue;
        best = to;
        best_rank = rank;
    }
    return best;
}

static bool has_left(const struct task *t)
{
    return t->role == ROLE_WORKER ? t->state == TASK_SLEEPING : t->state == TASK_DONE;
}

static bool has_tasks(const struct sim *sim, uint32_t cpu)
{
    for (uint32_t i = 0; i < sim->n_tasks; i++)
        if (sim->tasks[i].cpu == cpu && !has_left(&sim->tasks[i]))
            return true;
    return false;
}

void cpu_die(struct sim *sim, uint32_t cpu)
{
    struct cpu *c = &sim->cpus[cpu];

    if (!c->dying || has_tasks(sim, cpu))
        return;
    for (uint32_t zone = 0; zone < sim->s->machine.nodes; zone++) {
        const struct pcplist *l = list_of(sim, cpu, zone);
        uint32_t most = sim->zones[zone].limits.drain_hold;
        if (l->count > 0) { /* drain_pages_zone() */
            task_drain(sim, c->worker, zone, (uint32_t)l->count < most ? l->count : (int)most);
            return;
        }
    }
    c->dying = false;
    sim_set_limits(sim);
}

static uint32_t online_cpus(const struct sim *sim)
{
    uint32_t n = 0;

    for (uint32_t c = 0; c < sim->s->machine.cpus; c++)
        n += sim->cpus[c].online;
    return n;
}

/* Who waits for a lock, or holds it, cannot be moved: task.c does it afterwards. */
static bool can_move(const struct task *t)
{
    return t->role != ROLE_WORKER && t->state != TASK_DONE && t->state != TASK_WAITING &&
           t->state != TASK_HOLDING;
}

int cpu_offline(struct sim *sim, uint32_t cpu)
{
    struct cpu *c = &sim->cpus[cpu];

    if (!c->online)
        return 0;
    if (online_cpus(sim) == 1)
        return -EBUSY;
    pressure_note(sim, cpu);
    c->online = false;
    c->dying = true;
    c->runnable = (struct queue){NOBODY, NOBODY}; /* all of them move now */
    eventq_clear(&sim->events, owner_of_cpu(sim, cpu));
    for (uint32_t i = 0; i < sim->n_tasks; i++)
        if (sim->tasks[i].cpu == cpu && can_move(&sim->tasks[i]))
            task_move(sim, i, other_cpu(sim, cpu));
    cpu_die(sim, cpu);
    return 0;
}

void cpu_leave(struct sim *sim, uint32_t task)
{
    uint32_t cpu = sim->tasks[task].cpu;

    task_move(sim, task, other_cpu(sim, cpu));
    cpu_die(sim, cpu);
}

void cpu_online(struct sim *sim, uint32_t cpu)
{
    struct cpu *c = &sim->cpus[cpu];

    if (c->online)
        return;
    c->online = true;
    c->dying = false;
    c->pressure.since = sim->now;
    eventq_set(&sim->events, owner_of_cpu(sim, cpu),
               sim->now + rng_below(&sim->rng, sim->s->machine.stat_interval));
    sim_set_limits(sim);
    for (uint32_t from = 0; from < sim->s->machine.cpus; from++) {
        uint32_t task = sim->cpus[from].node == c->node ? task_pull(sim, from) : NOBODY;
        if (task == NOBODY)
            continue;
        task_move(sim, task, cpu);
        return; /* sched_balance_newidle() */
    }
}
