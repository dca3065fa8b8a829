/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view.h"

#include <string.h>

#define STALL (50 * NSEC_PER_MSEC) /* service/watch.c: PSI_STALL */

/* Pages of a hold that waits or is under way have left our list, and the kernel's only one by one
 * under the lock (free_pcppages_bulk()). */
static void count_holds(struct sim *sim, int sign)
{
    for (uint32_t i = 0; i < sim->n_tasks; i++) {
        const struct task *t = &sim->tasks[i];
        if ((t->state == TASK_WAITING || t->state == TASK_HOLDING) && !t->alloc)
            list_of(sim, t->cpu, t->zone)->count += sign * t->want;
    }
}

/* pagesets are printed for_each_online_cpu() (zoneinfo_show_print()). */
static void read_lists(struct view *v, const struct sim *sim, uint32_t zone, struct zone *z)
{
    z->first_list = v->table.n_lists;
    for (uint32_t c = 0; c < sim->s->machine.cpus; c++) {
        const struct pcplist *p = list_of(sim, c, zone);
        if (!sim->cpus[c].online)
            continue;
        v->table.lists[v->table.n_lists++] = (struct zone_list){.cpu = c,
                                                                .count = (uint32_t)p->count,
                                                                .high = (uint32_t)p->high,
                                                                .batch = (uint32_t)p->batch,
                                                                .high_min = (uint32_t)p->high_min,
                                                                .high_max = (uint32_t)p->high_max};
    }
    z->n_lists = v->table.n_lists - z->first_list;
}

void view_read_zoneinfo(struct view *v, struct sim *sim)
{
    tasks_sync(sim);
    count_holds(sim, 1);
    v->table.n_lists = 0;
    for (uint32_t k = 0; k < v->table.n_zones; k++) {
        const struct zone_state *z = &sim->zones[k];
        v->table.zones[k] = (struct zone){.name = "Normal",
                                          .node = (int)k,
                                          .has_high_minmax = z->kernel.regime >= REGIME_R4,
                                          .free = z->free,
                                          .min = z->min,
                                          .low = z->low,
                                          .high = z->high,
                                          .spanned = z->managed,
                                          .present = z->managed,
                                          .managed = z->managed};
        read_lists(v, sim, k, &v->table.zones[k]);
    }
    count_holds(sim, -1);
    v->s.zones_at = sim->now + 1;
    view_read_vmstat(v, sim);
    v->s.zones_vm = v->s.vm;
}

void view_read_vmstat(struct view *v, struct sim *sim)
{
    uint64_t free = 0;

    tasks_sync(sim);
    for (uint32_t k = 0; k < v->table.n_zones; k++)
        free += sim->zones[k].free;
    v->s.vm = (struct vm_counters){.valid = true,
                                   .at = sim->now,
                                   .pgfree = sim->pgfree,
                                   .pgalloc = sim->pgalloc,
                                   .pgfault = sim->pgfault,
                                   .allocstall = sim->result.stalls,
                                   .nr_free = free,
                                   .nr_anon = sim->anon};
}

static struct psi_line line_of(const struct pressure *p)
{
    return (struct psi_line){.total_us = p->total / NSEC_PER_USEC,
                             .avg10_centi = (uint32_t)(p->avg10 * 10000)};
}

void view_read_pressure(struct view *v, struct sim *sim)
{
    pressure_collect(sim);
    v->s.psi_memory_some = line_of(&sim->memory_some);
    v->s.psi_cpu_some = line_of(&sim->cpu_some);
}

bool view_update_host(struct view *v, const struct sim *sim)
{
    struct host_facts before = v->host;

    v->host.cpus_online = 0;
    memset(v->host.node_cpus, 0, sizeof(v->host.node_cpus));
    for (uint32_t c = 0; c < sim->s->machine.cpus; c++) {
        v->host.cpus_online += sim->cpus[c].online;
        v->host.node_cpus[sim->cpus[c].node] += sim->cpus[c].online;
    }
    return memcmp(before.node_cpus, v->host.node_cpus, sizeof(before.node_cpus)) != 0;
}

static struct exit_group *group_of(struct view *v, const struct sim *sim, const struct task *t)
{
    uint32_t k = (uint32_t)(t->work - sim->s->workloads);

    if (v->group_of[k] == 0) {
        struct exit_group *g = &v->s.groups[v->s.n_groups++];
        *g = (struct exit_group){.id = k + 1};
        snprintf(g->name, sizeof(g->name), "%s", t->work->name);
        snprintf(g->comm, sizeof(g->comm), "%.15s", t->work->name);
        for (uint32_t i = 0; i < sim->n_users; i++) {
            const struct task *other = &sim->tasks[i];
            if (other->work == t->work && other->state != TASK_DONE)
                g->anon += other->left;
        }
        v->group_of[k] = v->s.n_groups;
    }
    return &v->s.groups[v->group_of[k] - 1];
}

void view_exit(struct view *v, const struct sim *sim, const struct task *t, bool begins)
{
    struct exit_group *g = group_of(v, sim, t);

    if (begins) {
        g->tasks++;
        g->tasks_total++;
        g->announced += t->size;
        v->s.tasks++;
        v->s.node_tasks[t->node_begun]++;
        v->s.message_at = sim->now;
    } else {
        g->tasks--;
        v->s.tasks--;
        v->s.node_tasks[t->node_begun]--;
    }
}

void view_forget(struct view *v)
{
    v->s.n_groups = 0;
    memset(v->group_of, 0, sizeof(v->group_of));
}

/* window_update(): what came in the window before counts by the share of it that is still seen. */
static nsec_t window_growth(struct view *v, nsec_t now, nsec_t value)
{
    nsec_t elapsed = now - v->trigger.begin, growth = value - v->trigger.value;

    if (elapsed <= VIEW_WINDOW)
        return growth + v->trigger.growth * (VIEW_WINDOW - elapsed) / VIEW_WINDOW;
    v->trigger.begin = now;
    v->trigger.value = value;
    v->trigger.growth = growth;
    return growth;
}

bool view_triggered(struct view *v, struct sim *sim)
{
    pressure_collect(sim);
    if (window_growth(v, sim->now, sim->memory_some.total) < STALL ||
        sim->now < v->trigger.last_event + VIEW_WINDOW)
        return false;
    v->trigger.last_event = sim->now;
    return true;
}

int view_init(struct view *v, const struct sim *sim)
{
    const struct machine *m = &sim->s->machine;
    const struct params *p = &sim->s->loop.params;

    v->table.zones = calloc(m->nodes, sizeof(*v->table.zones));
    v->table.lists = calloc((size_t)m->nodes * m->cpus, sizeof(*v->table.lists));
    if (!v->table.zones || !v->table.lists)
        return -ENOMEM;
    v->table.n_zones = m->nodes;
    v->host = (struct host_facts){.release = "simulated",
                                  .virt = "none",
                                  .page_size = m->page_size,
                                  .memory_bytes = m->managed * m->nodes * m->page_size,
                                  .cpus_possible = m->cpus,
                                  .n_nodes = m->nodes,
                                  .regime = sim->s->kernel.regime,
                                  .regime_by = EVIDENCE_BTF,
                                  .scale = (uint8_t)sim->s->kernel.scale,
                                  .scale_by = EVIDENCE_CONFIG,
                                  .cgroup_v2 = true};
    view_update_host(v, sim);
    v->s.host = &v->host;
    v->s.zones = &v->table;
    v->s.knobs_known = true;
    v->s.knobs = sim->knobs;
    v->s.signals[SIGNAL_TASKSTATS] = p->taskstats;
    v->s.signals[SIGNAL_PSI] = p->psi;
    v->s.signals[SIGNAL_VMSTAT] = p->vmstat;
    v->s.signals[SIGNAL_ZONEINFO] = true;
    return 0;
}

void view_done(struct view *v)
{
    zone_table_done(&v->table);
}
