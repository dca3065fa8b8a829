/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

/* The zone of the 256-CPU machine of tests/measurements, and input 01's Normal zone. */
#define SEED_MANAGED 291974346
#define SEED_LOW 1636352 /* 256 * 6392: what gives the published high of 6392 */

const struct machine MACHINE_SMALL = {"2 CPUs, R4", REGIME_R4, 2, 1, 3571712, 17448, 63, false};
const struct machine MACHINE_R1 = {"256 CPUs, R1", REGIME_R1, 256, 1,
                                   SEED_MANAGED,   SEED_LOW,  63,  false};
const struct machine MACHINE_R2 = {"256 CPUs, R2", REGIME_R2, 256, 1,
                                   SEED_MANAGED,   SEED_LOW,  63,  false};
const struct machine MACHINE_R3 = {"256 CPUs, R3", REGIME_R3, 256, 1,
                                   SEED_MANAGED,   SEED_LOW,  63,  false};
const struct machine MACHINE_R4 = {"256 CPUs, R4", REGIME_R4, 256, 1,
                                   SEED_MANAGED,   SEED_LOW,  63,  false};
const struct machine MACHINE_R5 = {"256 CPUs, R5", REGIME_R5, 256, 1,
                                   SEED_MANAGED,   SEED_LOW,  63,  false};
const struct machine MACHINE_R6 = {"256 CPUs, R6", REGIME_R6, 256, 1,
                                   SEED_MANAGED,   SEED_LOW,  63,  true};
const struct machine MACHINE_NUMA = {"2 x 64 CPUs, R3", REGIME_R3,    128, 2,
                                     SEED_MANAGED / 2,  SEED_LOW / 2, 63,  false};

static struct params test_params(void)
{
    return (struct params){
        .mode = MODE_APPLY,
        .tick = 10 * SECOND,
        .knob_timeout = SECOND,
        .taskstats = true,
        .psi = true,
        .vmstat = true,
        .task_size = 32 << 20,
        .storm_size = 64 << 20,
        .hold = SECOND,
        .task_timeout = 60 * SECOND,
        .target_wait = 100 * US,
        .page_cost = 20,
        .knob_lo = {8, 0},
        .knob_hi = {INT32_MAX, 6},
        .dwell = SECOND,
        .tuned_max = 60 * SECOND,
        .writes_per_hour = 240,
        .start_storms = true,
        .max_loss = 5,
        .max_hoard = 3,
        .churn = true,
        .on_foreign = FOREIGN_YIELD,
        .rearm_after = 3600 * SECOND,
        .on_pinned = PINNED_RESPECT,
    };
}

static void add_zone(struct rig *r, const struct machine *m, uint32_t node)
{
    uint32_t first = r->table.n_lists;

    for (uint32_t c = 0; c < m->cpus && first + c < 1024; c++)
        r->lists[first + c] = (struct zone_list){.cpu = c, .high = 4 * m->batch, .batch = m->batch};
    r->zones[r->table.n_zones++] = (struct zone){.name = "Normal",
                                                 .node = (int)node,
                                                 .low = m->low,
                                                 .managed = m->managed,
                                                 .first_list = first,
                                                 .n_lists = m->cpus};
    r->table.n_lists += m->cpus;
}

void rig_start(struct rig *r, const struct machine *m)
{
    memset(r, 0, sizeof(*r));
    r->host = (struct host_facts){.page_size = 4096,
                                  .cpus_possible = m->cpus,
                                  .cpus_online = m->cpus,
                                  .n_nodes = m->nodes,
                                  .regime = m->regime,
                                  .scale = 5};
    for (uint32_t k = 0; k < m->nodes; k++)
        r->host.node_cpus[k] = m->cpus / m->nodes;
    r->table.zones = r->zones;
    r->table.lists = r->lists;
    for (uint32_t k = 0; k < m->nodes; k++)
        add_zone(r, m, k);
    r->params = test_params();
    r->now = 1000 * SECOND;
    r->sysctl.has[KNOB_FRACTION] = m->regime != REGIME_R1;
    r->sysctl.has[KNOB_SCALE] = m->scale_knob;
    r->sysctl.value[KNOB_SCALE] = m->scale_knob ? 5 : 0;
    r->truth = (struct vm_counters){.valid = true, .nr_anon = UINT64_C(64) << 30 >> 12};
    r->s = (struct snapshot){.host = &r->host, .zones = &r->table, .knobs_known = true};
    memset(r->s.signals, true, sizeof(r->s.signals));
    r->s.knobs = r->sysctl;
    r->auto_carry_out = true;
    assert_int_equal(engine_new(&r->engine), 0);
    engine_found(r->engine, &r->sysctl);
}

void rig_stop(struct rig *r)
{
    engine_free(r->engine);
}

void rig_exits(struct rig *r, unsigned g, uint32_t n, uint64_t mib, int64_t anon_mib, int node)
{
    struct exit_group *group = &r->s.groups[g];

    if (group->id == 0) {
        snprintf(group->name, sizeof(group->name), "docker %012x", g);
        group->id = g + 1;
        group->anon = anon_mib < 0 ? GROUP_PAGES_UNKNOWN : (uint64_t)anon_mib * PAGES_PER_MIB;
    }
    if (r->s.n_groups <= g)
        r->s.n_groups = g + 1;
    group->tasks += n;
    group->tasks_total += n;
    group->announced += n * mib * PAGES_PER_MIB;
    r->s.tasks += n;
    r->s.node_tasks[node] += n;
    r->s.message_at = r->now;
}

void rig_gone(struct rig *r, unsigned g, uint32_t n, int node)
{
    assert_true(r->s.groups[g].tasks >= n);
    r->s.groups[g].tasks -= n;
    r->s.tasks -= n;
    r->s.node_tasks[node] -= n;
}

void rig_freed(struct rig *r, uint64_t mib)
{
    r->truth.pgfree += mib * PAGES_PER_MIB;
    r->truth.nr_anon -= mib * PAGES_PER_MIB;
}

void rig_forget(struct rig *r)
{
    if (r->s.tasks == 0) {
        memset(r->s.groups, 0, sizeof(r->s.groups));
        r->s.n_groups = 0;
    }
}

static void answer(struct rig *r, struct outcome *o)
{
    const struct knob_values *want = r->plan.action == PLAN_SET ? &r->plan.values : &r->original;

    for (unsigned k = 0; k < KNOB_MAX; k++) {
        bool touch = want->has[k] &&
                     (r->plan.action == PLAN_RESTORE || want->value[k] != r->sysctl.value[k]);
        if (!r->sysctl.has[k] || !touch)
            continue;
        if (r->plan.action == PLAN_SET && !r->original.has[k]) {
            r->original.has[k] = true;
            r->original.value[k] = r->sysctl.value[k];
        }
        r->sysctl.value[k] = want->value[k];
    }
    if (r->plan.action == PLAN_RESTORE)
        memset(&r->original, 0, sizeof(r->original));
    o->kind = OUTCOME_DONE;
}

void rig_carry_out(struct rig *r)
{
    struct outcome o = {.action = r->plan.action, .kind = r->answer, .before = r->sysctl};

    if (r->plan.action == PLAN_NONE)
        return;
    if (r->answer == OUTCOME_DONE)
        answer(r, &o);
    else if (r->answer == OUTCOME_FOREIGN)
        memset(&r->original, 0, sizeof(r->original));
    o.after = r->sysctl;
    o.original = r->original;
    r->s.knobs = r->sysctl;
    r->sets += r->plan.action == PLAN_SET && o.kind == OUTCOME_DONE;
    r->restores += r->plan.action == PLAN_RESTORE && o.kind == OUTCOME_DONE;
    engine_outcome(r->engine, &r->params, &o, r->now);
}

enum plan_action rig_step(struct rig *r)
{
    engine_step(r->engine, &r->params, &r->s, r->now, &r->plan);
    enum plan_action action = r->plan.action;
    if (action != PLAN_NONE)
        r->acted = r->plan;
    if (action != PLAN_NONE && r->auto_carry_out) {
        struct plan carried = r->plan;
        rig_carry_out(r);
        engine_step(r->engine, &r->params, &r->s, r->now, &r->plan);
        uint64_t wake = r->plan.wake_at;
        assert_int_equal(r->plan.action, PLAN_NONE);
        r->plan = carried;
        r->plan.wake_at = wake;
    }
    return action;
}

enum plan_action rig_look(struct rig *r)
{
    r->s.vm = r->truth;
    r->s.vm.at = r->now;
    return rig_step(r);
}

unsigned rig_pass(struct rig *r, uint64_t ns)
{
    uint64_t end = r->now + ns;
    unsigned steps = 0;

    while (r->plan.wake_at <= end) {
        uint64_t wake = r->plan.wake_at;
        if (wake > r->now)
            r->now = wake;
        rig_look(r);
        assert_true(++steps < 100000);
        if (r->plan.wake_at <= r->now)
            r->now += 1000; /* a loop needs time to come round */
    }
    r->now = end;
    return steps;
}
