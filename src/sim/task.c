/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "state.h"

/* The scheduler's turn on a CPU that several tasks share. */
#define SLICE (3 * NSEC_PER_MSEC)

/* vmstat_update(): a remote node's list is drained after so many intervals without use. */
#define EXPIRE 3

static void push(struct sim *sim, struct queue *q, uint32_t task)
{
    sim->tasks[task].next = NOBODY;
    if (q->head == NOBODY)
        q->head = task;
    else
        sim->tasks[q->tail].next = task;
    q->tail = task;
}

static uint32_t pull(struct sim *sim, struct queue *q)
{
    uint32_t task = q->head;
    if (task != NOBODY)
        q->head = sim->tasks[task].next;
    return task;
}

static uint32_t id_of(const struct sim *sim, const struct task *t)
{
    return (uint32_t)(t - sim->tasks);
}

/* --- the lock ------------------------------------------------------------------------------ */

static void grant(struct sim *sim, struct zone_state *z, struct task *t)
{
    const struct machine *m = &sim->s->machine;
    uint64_t ps = t->alloc ? m->alloc_fixed + m->alloc_page * (uint64_t)(t->want >> t->order)
                           : m->free_fixed + m->free_page * (uint64_t)t->want;

    z->holder = id_of(sim, t);
    t->state = TASK_HOLDING;
    t->granted = sim->now;
    eventq_set(&sim->events, z->holder,
               sim->now + jitter_apply(&sim->jitter, &sim->rng, ps / 1000));
}

static void ask(struct sim *sim, struct task *t, bool alloc, int want, int rest)
{
    struct zone_state *z = &sim->zones[t->zone];

    t->alloc = alloc;
    t->want = want;
    t->rest = rest;
    t->asked = sim->now;
    if (!alloc)
        list_of(sim, t->cpu, t->zone)->count -= want;
    if (z->holder == NOBODY) {
        grant(sim, z, t);
        return;
    }
    t->state = TASK_WAITING;
    eventq_clear(&sim->events, id_of(sim, t));
    push(sim, &z->waiters, id_of(sim, t));
    sim->waiting++;
}

/* From R5 on each batch is a hold of its own (free_frozen_page_commit()). */
static void ask_to_free(struct sim *sim, struct task *t, int pages)
{
    int piece = sim->zones[t->zone].kernel.regime == REGIME_R5
                    ? MIN(pages, list_of(sim, t->cpu, t->zone)->batch)
                    : pages;
    ask(sim, t, false, piece, pages - piece);
}

static void pass_on(struct sim *sim, struct zone_state *z)
{
    uint32_t next = pull(sim, &z->waiters);

    z->holder = NOBODY;
    if (next == NOBODY)
        return;
    sim->waiting--;
    grant(sim, z, &sim->tasks[next]);
}

static void note_hold(struct sim *sim, const struct task *t)
{
    struct sim_result *r = &sim->result;
    nsec_t wait = t->granted - t->asked;

    hist_add(t->alloc ? &r->alloc_bulk : &r->free_bulk, sim->now - t->asked);
    hist_add(&r->hold, sim->now - t->granted);
    r->holds++;
    r->held_ns += sim->now - t->granted;
    *(t->alloc ? &r->allocated_pages : &r->freed_pages) += (uint64_t)t->want;
    r->big_holds += t->want >= 2000;
    r->max_hold = MAX(r->max_hold, (uint32_t)t->want);
    sim->sample.hold = MAX(sim->sample.hold, (uint32_t)t->want);
    if (t->work && t->work->kind == WORK_BYSTANDER) {
        hist_add(&r->wait, wait);
        waits_add(&r->wait_fine, wait);
        if (sim->exiting + sim->starting > 0)
            waits_add(&r->wait_storm, wait);
        sim->sample.wait = MAX(sim->sample.wait, wait);
    }
}

/* --- runs ---------------------------------------------------------------------------------- */

static void plan_run(struct sim *sim, struct task *t, int pages, uint64_t cost, nsec_t since)
{
    t->state = TASK_RUNNING;
    t->run = pages;
    t->run_since = since;
    t->run_cost = cost;
    eventq_set(&sim->events, id_of(sim, t), MAX(sim->now, since + (uint64_t)pages * cost / 1000));
}

static uint64_t cost_of(const struct sim *sim, const struct task *t)
{
    if (t->role == ROLE_KSWAPD)
        return sim->s->machine.reclaim_page;
    if (t->work->interval)
        return t->work->interval * 1000;
    return t->freeing ? sim->s->machine.free_outside : sim->s->machine.alloc_outside;
}

/* Bystanders and such as sleep between page faults hold no CPU. */
static bool needs_cpu(const struct task *t)
{
    return t->role == ROLE_USER && t->work->interval == 0;
}

/* So many pages fit into what is left of the slice, where others wait for the CPU. */
static uint64_t fair_share(const struct sim *sim, const struct task *t, uint64_t cost)
{
    const struct cpu *c = &sim->cpus[t->cpu];

    if (!needs_cpu(t) || c->runnable.head == NOBODY || cost == 0)
        return UINT64_MAX;
    nsec_t end = c->slice_begin + SLICE;
    return MAX(end > sim->now ? (end - sim->now) * 1000 / cost : 0, UINT64_C(1));
}

/* The next pages from or to the list: until the lock is needed, or the round is over. */
static void plan(struct sim *sim, struct task *t, nsec_t since)
{
    const struct zone_state *z = &sim->zones[t->zone];
    struct pcplist *l = list_of(sim, t->cpu, t->zone);
    uint64_t cost = cost_of(sim, t), n = UINT64_C(1) << t->order;

    if (t->freeing && t->order == 0)
        n = (uint64_t)pcplist_room(l, &z->kernel) + 1;
    else if (!t->freeing)
        n = (uint64_t)(l->count >> t->order) << t->order;
    if (n == 0) {
        ask(sim, t, true, pcplist_refill(l, &z->kernel, t->order) << t->order, 0);
        return;
    }
    n = MIN(n, t->left);
    n = MIN(n, fair_share(sim, t, cost));
    if (t->order > 0)
        n = UINT64_C(1) << t->order;
    plan_run(sim, t, (int)MIN(n, (uint64_t)INT32_MAX), cost, since);
}

/* n pages are taken from the list. */
static void commit_take(struct sim *sim, struct task *t, struct pcplist *l, int n)
{
    pcplist_take(l, n >> t->order, t->order);
    t->left -= MIN((uint64_t)n, t->left);
    sim->pgalloc += (uint64_t)n;
    sim->pgfault += (uint64_t)(n >> t->order);
    sim->anon += (uint64_t)n;
    sim->result.faults += (uint64_t)n;
    if (t->work->kind == WORK_BYSTANDER)
        sim->result.bystander_faults += (uint64_t)n;
}

/* n pages are freed into the list. Returns how many are to go to the zone now. */
static int commit_free(struct sim *sim, struct task *t, struct pcplist *l, int n)
{
    const struct pcpstate *k = &sim->zones[t->zone].kernel;
    int many = t->order ? 0 : MIN(n, pcplist_room(l, k)), to_zone = 0;

    pcplist_free_many(l, k, many);
    if (many < n)
        to_zone = pcplist_free(l, k, t->order);
    t->left -= MIN((uint64_t)n, t->left);
    sim->pgfree += (uint64_t)n;
    if (t->role == ROLE_KSWAPD) {
        sim->result.reclaimed += (uint64_t)n;
        return to_zone;
    }
    sim->anon -= MIN((uint64_t)n, sim->anon);
    if (t->work->kind == WORK_EXIT)
        sim->result.exit_pages += (uint64_t)n;
    return to_zone;
}

/* The run is over. A second task on the same list may have made it shorter meanwhile. */
static int commit_run(struct sim *sim, struct task *t)
{
    struct pcplist *l = list_of(sim, t->cpu, t->zone);
    int n = t->run;

    l->expire = EXPIRE;
    if (n == 0)
        return 0;
    if (!t->freeing) {
        commit_take(sim, t, l, MIN(n, l->count));
        return 0;
    }
    if (t->order == 0)
        n = MIN(n, pcplist_room(l, &sim->zones[t->zone].kernel) + 1);
    return commit_free(sim, t, l, n);
}

/* Pages of the run that are done at this moment; its last page is left to its own event. */
static int done_of(const struct sim *sim, const struct task *t)
{
    if (t->state != TASK_RUNNING || t->order > 0 || sim->now <= t->run_since)
        return 0;
    const struct pcplist *l = list_of(sim, t->cpu, t->zone);
    uint64_t done = t->run_cost ? (sim->now - t->run_since) * 1000 / t->run_cost : 0;
    int most = t->freeing ? pcplist_room(l, &sim->zones[t->zone].kernel) : l->count;
    int n = done < (uint64_t)t->run ? (int)done : t->run - 1;
    return MAX(MIN(n, most), 0);
}

static void sync_run(struct sim *sim, struct task *t)
{
    struct pcplist *l = list_of(sim, t->cpu, t->zone);
    int n = done_of(sim, t);

    if (n == 0)
        return;
    if (t->freeing)
        commit_free(sim, t, l, n);
    else
        commit_take(sim, t, l, n);
    t->run -= n;
    t->run_since += (uint64_t)n * t->run_cost / 1000;
}

static void plan_again(struct sim *sim, struct task *t)
{
    if (t->state == TASK_RUNNING)
        plan(sim, t, t->run_since);
}

void tasks_sync(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->n_tasks; i++)
        sync_run(sim, &sim->tasks[i]);
}

void tasks_plan_again(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->n_tasks; i++)
        plan_again(sim, &sim->tasks[i]);
}

uint64_t tasks_lists(const struct sim *sim)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < sim->s->machine.cpus * sim->s->machine.nodes; i++)
        n += (uint64_t)sim->lists[i].count;
    for (uint32_t i = 0; i < sim->n_tasks; i++) {
        const struct task *t = &sim->tasks[i];
        uint64_t done = (uint64_t)done_of(sim, t);
        n += t->freeing ? done : -done;
    }
    return n;
}

/* --- the life of a task -------------------------------------------------------------------- */

static void occupy(struct sim *sim, struct task *t)
{
    struct cpu *c = &sim->cpus[t->cpu];

    pressure_note(sim, t->cpu);
    c->running = id_of(sim, t);
    c->slice_begin = sim->now;
}

static void take_cpu(struct sim *sim, struct task *t)
{
    occupy(sim, t);
    /* Memory that others map too is unmapped page by page, but none of it is freed. */
    bool unmap = t->work->shared && t->left == 0;
    plan(sim, t, sim->now + (unmap ? t->size * sim->s->machine.free_outside / 1000 : 0));
}

static void queue(struct sim *sim, struct task *t)
{
    pressure_note(sim, t->cpu);
    t->state = TASK_QUEUED;
    eventq_clear(&sim->events, id_of(sim, t));
    push(sim, &sim->cpus[t->cpu].runnable, id_of(sim, t));
}

void task_move(struct sim *sim, uint32_t task, uint32_t cpu)
{
    struct task *t = &sim->tasks[task];
    struct cpu *from = &sim->cpus[t->cpu];

    sync_run(sim, t);
    if (from->running == task) {
        pressure_note(sim, t->cpu);
        from->running = NOBODY;
    }
    if (t->role == ROLE_KSWAPD && sim->zones[t->zone].kernel.reclaim_active)
        pressure_kswapd(sim, t->zone);
    t->cpu = cpu;
    if (t->state == TASK_SLEEPING)
        return;
    if (!needs_cpu(t)) {
        plan(sim, t, MAX(sim->now, t->run_since));
    } else if (sim->cpus[cpu].running != NOBODY) {
        queue(sim, t);
    } else if (t->state == TASK_QUEUED) {
        take_cpu(sim, t);
    } else { /* what it had begun, a direct reclaim say, it ends there */
        occupy(sim, t);
        plan(sim, t, MAX(sim->now, t->run_since));
    }
}

static void leave_cpu(struct sim *sim, struct task *t)
{
    struct cpu *c = &sim->cpus[t->cpu];

    pressure_note(sim, t->cpu);
    uint32_t next = pull(sim, &c->runnable);
    c->running = NOBODY;
    if (next != NOBODY)
        take_cpu(sim, &sim->tasks[next]);
}

static void start(struct sim *sim, struct task *t)
{
    struct cpu *c = &sim->cpus[t->cpu];
    struct sim_result *r = &sim->result;

    t->started = sim->now;
    if (t->work->kind == WORK_EXIT) {
        sim->exiting++;
        r->exit_begin = MIN(r->exit_begin, sim->now);
        t->node_begun = c->node;
        loop_exit_begins(sim, id_of(sim, t));
    } else if (t->work->kind == WORK_START) {
        sim->starting++;
        r->start_begin = MIN(r->start_begin, sim->now);
    }
    if (!needs_cpu(t)) {
        plan(sim, t, sim->now);
    } else if (c->running == NOBODY) {
        take_cpu(sim, t);
    } else {
        queue(sim, t);
    }
}

static void finish(struct sim *sim, struct task *t)
{
    struct sim_result *r = &sim->result;

    t->state = TASK_DONE;
    eventq_clear(&sim->events, id_of(sim, t));
    sim->to_come--;
    if (t->work->kind == WORK_START) {
        sim->starting--;
        hist_add(&r->start_time, sim->now - t->started);
        r->start_end = sim->now;
    } else {
        sim->exiting--;
        hist_add(&r->exit_time, sim->now - t->started);
        r->exit_end = sim->now;
        loop_exit_ends(sim, id_of(sim, t));
    }
    if (needs_cpu(t))
        leave_cpu(sim, t);
}

static void sleep_kswapd(struct sim *sim, struct task *t)
{
    t->state = TASK_SLEEPING;
    eventq_clear(&sim->events, id_of(sim, t));
    tasks_sync(sim);
    pressure_kswapd(sim, t->zone);
    sim->zones[t->zone].kernel.reclaim_active = false;
    tasks_plan_again(sim);
}

static void take_pause(struct sim *sim, struct task *t)
{
    nsec_t pause = t->work->pause / 2 + rng_below(&sim->rng, t->work->pause + 1);

    t->state = TASK_SLEEPING;
    eventq_set(&sim->events, id_of(sim, t), sim->now + pause);
    if (needs_cpu(t))
        leave_cpu(sim, t);
}

static void round_over(struct sim *sim, struct task *t)
{
    if (t->work->kind == WORK_EXIT || t->work->kind == WORK_START) {
        finish(sim, t);
        return;
    }
    t->freeing = !t->freeing;
    t->left = t->size;
    if (t->work->pause && !t->freeing)
        take_pause(sim, t);
    else
        plan(sim, t, sim->now);
}

static void go_on(struct sim *sim, struct task *t)
{
    struct cpu *c = &sim->cpus[t->cpu];

    if (t->role == ROLE_WORKER) {
        t->state = TASK_SLEEPING;
        eventq_clear(&sim->events, id_of(sim, t));
        cpu_die(sim, t->cpu);
    } else if (t->role == ROLE_KSWAPD && sim->zones[t->zone].free > sim->zones[t->zone].high) {
        sleep_kswapd(sim, t);
    } else if (t->role == ROLE_USER && t->left == 0) {
        round_over(sim, t);
    } else if (needs_cpu(t) && c->runnable.head != NOBODY && sim->now >= c->slice_begin + SLICE) {
        queue(sim, t);
        leave_cpu(sim, t);
    } else {
        plan(sim, t, sim->now);
    }
}

/* --- memory -------------------------------------------------------------------------------- */

/* Wakes kswapd under the low watermark; ZONE_BELOW_HIGH is set by get_page_from_freelist(). */
static void note_low(struct sim *sim, struct zone_state *z)
{
    bool below = z->kernel.regime >= REGIME_R4 && z->free < z->high;
    bool wake = z->free < z->low && !z->kernel.reclaim_active;

    if (!wake && below == z->kernel.below_high)
        return;
    tasks_sync(sim);
    z->kernel.below_high = below;
    if (wake) {
        struct task *kswapd = &sim->tasks[z->kswapd];
        z->kernel.reclaim_active = true;
        z->reclaim_since = sim->now;
        kswapd->left = UINT64_MAX;
        plan(sim, kswapd, sim->now);
    }
    tasks_plan_again(sim);
}

/* rmqueue_bulk() took pages; under the min watermark the task has to reclaim as many itself. */
static nsec_t take_pages(struct sim *sim, struct zone_state *z, uint64_t n)
{
    nsec_t penalty = 0;

    if (z->free < z->min + n) {
        z->free += n;
        sim->result.stalls++;
        sim->result.reclaimed += n;
        sim->pgfree += n;
        penalty = n * sim->s->machine.reclaim_page / 1000;
    }
    z->free -= MIN(n, z->free);
    return penalty;
}

/* Its CPU went offline while it spun: it goes on elsewhere, and R5 leaves the rest of a batch. */
static void depart(struct sim *sim, struct task *t, nsec_t penalty)
{
    t->state = TASK_RUNNING;
    t->run = 0;
    t->run_since = sim->now + penalty;
    cpu_leave(sim, id_of(sim, t));
}

static void released(struct sim *sim, struct task *t)
{
    struct zone_state *z = &sim->zones[t->zone];
    nsec_t penalty = 0;

    note_hold(sim, t);
    if (t->alloc) {
        penalty = take_pages(sim, z, (uint64_t)t->want);
        pressure_stall(sim, t->cpu, sim->now + penalty);
        list_of(sim, t->cpu, t->zone)->count += t->want;
    } else {
        z->free += (uint64_t)t->want;
    }
    t->state = TASK_SLEEPING; /* until it has gone on: no run to be planned again */
    pass_on(sim, z);
    note_low(sim, z);
    int rest = MIN(t->rest, list_of(sim, t->cpu, t->zone)->count);
    if (t->role != ROLE_WORKER && !sim->cpus[t->cpu].online)
        depart(sim, t, penalty);
    else if (rest > 0)
        ask_to_free(sim, t, rest);
    else if (penalty)
        plan(sim, t, sim->now + penalty);
    else
        go_on(sim, t);
}

uint32_t task_pull(struct sim *sim, uint32_t cpu)
{
    pressure_note(sim, cpu);
    return pull(sim, &sim->cpus[cpu].runnable);
}

void task_drain(struct sim *sim, uint32_t worker, uint32_t zone, int pages)
{
    struct task *t = &sim->tasks[worker];

    t->zone = zone;
    ask(sim, t, false, pages, 0);
}

void task_event(struct sim *sim, uint32_t task)
{
    struct task *t = &sim->tasks[task];
    int to_zone;

    switch (t->state) {
    case TASK_SLEEPING:
        start(sim, t);
        break;
    case TASK_HOLDING:
        released(sim, t);
        break;
    case TASK_RUNNING:
        to_zone = commit_run(sim, t);
        if (to_zone > 0)
            ask_to_free(sim, t, to_zone);
        else
            go_on(sim, t);
        break;
    case TASK_QUEUED:
    case TASK_WAITING:
    case TASK_DONE:
        break;
    }
}

/* refresh_cpu_vm_stats() for one list: what the worker is to drain. */
static int tick_list(struct sim *sim, uint32_t cpu, uint32_t zone)
{
    struct pcplist *l = list_of(sim, cpu, zone);
    int drain = pcplist_decay(l, &sim->zones[zone].kernel);

    if (drain > 0 || zone == sim->cpus[cpu].node || l->expire == 0 || l->count == 0)
        return drain;
    return --l->expire == 0 ? MIN(l->count, l->batch) : 0; /* drain_zone_pages() */
}

void cpu_tick(struct sim *sim, uint32_t cpu)
{
    struct task *worker = &sim->tasks[sim->cpus[cpu].worker];

    eventq_set(&sim->events, owner_of_cpu(sim, cpu), sim->now + sim->s->machine.stat_interval);
    if (worker->state != TASK_SLEEPING)
        return;
    for (uint32_t i = 0; i < sim->n_tasks; i++)
        if (sim->tasks[i].cpu == cpu)
            sync_run(sim, &sim->tasks[i]);
    for (uint32_t zone = 0; zone < sim->s->machine.nodes; zone++) {
        int drain = tick_list(sim, cpu, zone);
        if (drain > 0 && worker->state == TASK_SLEEPING) {
            worker->zone = zone;
            ask_to_free(sim, worker, drain);
        }
    }
    for (uint32_t i = 0; i < sim->n_tasks; i++)
        if (sim->tasks[i].cpu == cpu)
            plan_again(sim, &sim->tasks[i]);
}
