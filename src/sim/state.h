/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "eventq.h"
#include "pcplist.h"
#include "rng.h"
#include "sim.h"

/* What sim.c, task.c and loop.c share of a simulated machine. */

#define NOBODY UINT32_MAX

struct queue { /* of tasks, by task.next */
    uint32_t head, tail;
};

struct zone_state {
    struct pcpstate kernel;
    uint32_t kswapd; /* task */
    uint64_t managed, min, low, high, free;
    nsec_t reclaim_since; /* kswapd's time is accounted until then */
    uint32_t batch;
    struct pcp_limits limits;
    uint32_t holder; /* of the lock */
    struct queue waiters;
};

/* What psi_group_change() accounts on a CPU until collect_percpu_times() takes it. */
struct cpu_pressure {
    nsec_t since;         /* accounted until then */
    nsec_t stalled_until; /* the end of the last direct reclaim */
    nsec_t busy;          /* a task ran */
    nsec_t waited;        /* of that, another one waited for the CPU */
    nsec_t stalled;       /* a task was in reclaim */
};

struct cpu {
    uint32_t node;
    bool online;
    bool dying;       /* offline, and not drained yet */
    uint32_t running; /* task */
    struct queue runnable;
    nsec_t slice_begin;
    uint32_t worker; /* task that does vmstat_update() on it */
    struct cpu_pressure pressure;
};

enum role { ROLE_USER, ROLE_KSWAPD, ROLE_WORKER };
enum task_state {
    TASK_SLEEPING, /* its event starts it */
    TASK_QUEUED,   /* waits for its CPU */
    TASK_RUNNING,  /* takes or frees pages of its list; its event ends the run */
    TASK_WAITING,  /* spins for the lock */
    TASK_HOLDING,  /* its event releases the lock */
    TASK_DONE,
};

struct task {
    const struct workload *work; /* ROLE_USER */
    enum role role;
    enum task_state state;
    uint32_t cpu, zone, next;
    uint32_t node_begun; /* where it was when its exit began */
    unsigned order;
    bool freeing;        /* else: allocating */
    uint64_t size, left; /* pages of a round, and still to do of it */
    nsec_t started;

    /* the run: pages of the list that are worked on without the lock */
    int run;
    nsec_t run_since;
    uint64_t run_cost; /* ps a page */

    /* the hold */
    bool alloc;
    int want; /* pages in this hold */
    int rest; /* of one free_unref_page_commit() in R5, in further holds */
    nsec_t asked, granted;
};

struct pressure {             /* a line of /proc/pressure */
    nsec_t total, at_average; /* stalled since the start; until the last update of the average */
    double avg10;             /* share */
};

struct loop;

struct sim {
    const struct scenario *s;
    nsec_t now;
    struct rng rng;
    struct jitter jitter;
    struct eventq events; /* owners: tasks, then CPUs, then the OWNER_* */
    struct zone_state *zones;
    struct cpu *cpus;
    struct pcplist *lists; /* [cpu * nodes + zone] */
    struct task *tasks;
    uint32_t n_users, n_tasks, exiting, starting, to_come, waiting; /* tasks */
    struct knob_values knobs;
    uint64_t pgfree, pgalloc, pgfault, anon; /* as of the last commit of each run */
    struct pressure memory_some, cpu_some;
    struct sample sample;
    struct loop *loop; /* NULL: no daemon */
    struct sim_result result;
};

enum owner {
    OWNER_SAMPLE,
    OWNER_LOOP,
    OWNER_PRESSURE,
    OWNER_TRIGGER,
    OWNER_WRITES,
    OWNER_HOTPLUGS = OWNER_WRITES + SCENARIO_WRITES,
    OWNER_MAX = OWNER_HOTPLUGS + SCENARIO_HOTPLUGS
};

static inline uint32_t owner_of_cpu(const struct sim *sim, uint32_t cpu)
{
    return sim->n_tasks + cpu;
}

static inline uint32_t owner(const struct sim *sim, enum owner o)
{
    return sim->n_tasks + sim->s->machine.cpus + (uint32_t)o;
}

static inline struct pcplist *list_of(const struct sim *sim, uint32_t cpu, uint32_t zone)
{
    return &sim->lists[cpu * sim->s->machine.nodes + zone];
}

/* task.c: the event of a task; the tick of a CPU's vmstat_update(). */
void task_event(struct sim *sim, uint32_t task);
void cpu_tick(struct sim *sim, uint32_t cpu);

/* task.c, for hotplug.c: a task that is in no queue moves to another CPU; the first in the queue of
 * a CPU, NOBODY; so many pages of the worker's CPU's list go to the zone in one hold. */
void task_move(struct sim *sim, uint32_t task, uint32_t cpu);
uint32_t task_pull(struct sim *sim, uint32_t cpu);
void task_drain(struct sim *sim, uint32_t worker, uint32_t zone, int pages);

/* hotplug.c: a CPU goes or comes; its tasks move. -EBUSY: it is the last one. */
int cpu_offline(struct sim *sim, uint32_t cpu);
void cpu_online(struct sim *sim, uint32_t cpu);
void cpu_leave(struct sim *sim, uint32_t task); /* it held a lock when its CPU went */
void cpu_die(struct sim *sim, uint32_t cpu);    /* once all have left; nothing happens before */

/* Commits what all runs have done until now; plans the rest of them anew, after limits changed. */
void tasks_sync(struct sim *sim);
void tasks_plan_again(struct sim *sim);

/* Pages in all lists at this moment, runs included. */
uint64_t tasks_lists(const struct sim *sim);

/* pressure.c: a task on that CPU runs or waits no more, or not yet; it is in direct reclaim until
 * then; kswapd of the zone was, until now. */
void pressure_note(struct sim *sim, uint32_t cpu);
void pressure_stall(struct sim *sim, uint32_t cpu, nsec_t until);
void pressure_kswapd(struct sim *sim, uint32_t zone);

/* Brings the totals up to now: a reading of /proc/pressure, or psi_avgs_work(). */
void pressure_collect(struct sim *sim);
void pressure_event(struct sim *sim); /* each PRESSURE_PERIOD: the averages */
#define PRESSURE_PERIOD (2 * NSEC_PER_SEC)

/* sim.c: zone_set_pageset_high_and_batch() of all zones, for the CPUs that are online. */
void sim_set_limits(struct sim *sim);

/* sim.c: the sysctl is written; -EINVAL as the kernel says so. */
int sim_write_knob(struct sim *sim, enum knob_id knob, int value);

/* loop.c: pcptuned on the machine. All accept a sim without one. */
int loop_new(struct sim *sim); /* -ENOMEM */
void loop_free(struct loop *l);
void loop_exit_begins(struct sim *sim, uint32_t task);
void loop_exit_ends(struct sim *sim, uint32_t task);
void loop_event(struct sim *sim);
void loop_trigger(struct sim *sim);
