/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "state.h"

/* kernel/sched/psi.c: each CPU's states, and how they become those of the machine. Waiting for a
 * spin lock is none of them. */

#define EXP_10S 0.8187 /* exp(-2 s / 10 s), as fixed point there */

void pressure_note(struct sim *sim, uint32_t cpu)
{
    struct cpu *c = &sim->cpus[cpu];
    nsec_t passed = sim->now - c->pressure.since;

    c->pressure.since = sim->now;
    if (c->running == NOBODY)
        return;
    c->pressure.busy += passed;
    if (c->runnable.head != NOBODY)
        c->pressure.waited += passed;
}

void pressure_stall(struct sim *sim, uint32_t cpu, nsec_t until)
{
    struct cpu_pressure *p = &sim->cpus[cpu].pressure;
    nsec_t from = MAX(sim->now, p->stalled_until);

    if (until <= from)
        return;
    p->stalled += until - from;
    p->stalled_until = until;
}

/* balance_pgdat() is a memory stall of kswapd. */
void pressure_kswapd(struct sim *sim, uint32_t zone)
{
    struct zone_state *z = &sim->zones[zone];

    sim->cpus[sim->tasks[z->kswapd].cpu].pressure.stalled += sim->now - z->reclaim_since;
    z->reclaim_since = sim->now;
}

/* What of a direct reclaim is still to come is left for the next reading. */
static nsec_t take_stalled(struct sim *sim, struct cpu_pressure *p)
{
    nsec_t to_come = p->stalled_until > sim->now ? p->stalled_until - sim->now : 0;
    nsec_t stalled = p->stalled > to_come ? p->stalled - to_come : 0;

    p->stalled -= stalled;
    return stalled;
}

/* collect_percpu_times(): CPUs count by the time that they were not idle. */
void pressure_collect(struct sim *sim)
{
    double memory = 0, cpu = 0, weights = 0;

    for (uint32_t k = 0; k < sim->s->machine.nodes; k++)
        if (sim->zones[k].kernel.reclaim_active)
            pressure_kswapd(sim, k);
    for (uint32_t i = 0; i < sim->s->machine.cpus; i++) {
        struct cpu_pressure *p = &sim->cpus[i].pressure;
        pressure_note(sim, i);
        nsec_t stalled = take_stalled(sim, p);
        double weight = (double)MAX(p->busy, stalled);
        memory += (double)stalled * weight;
        cpu += (double)p->waited * weight;
        weights += weight;
        p->busy = p->waited = 0;
    }
    if (weights <= 0)
        return;
    sim->memory_some.total += (nsec_t)(memory / weights);
    sim->cpu_some.total += (nsec_t)(cpu / weights);
}

static void average(struct pressure *p)
{
    double share = (double)(p->total - p->at_average) / (double)PRESSURE_PERIOD;

    p->at_average = p->total;
    p->avg10 = p->avg10 * EXP_10S + share * (1 - EXP_10S);
}

void pressure_event(struct sim *sim)
{
    pressure_collect(sim);
    average(&sim->memory_some);
    average(&sim->cpu_some);
    eventq_set(&sim->events, owner(sim, OWNER_PRESSURE), sim->now + PRESSURE_PERIOD);
}
