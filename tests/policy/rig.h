/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "engine.h"

/* A machine on paper with an engine on it: what a test changes are fields, what the kernel and the
 * actuator would do is done by the functions. Pages are 4 KiB. */

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)
#define SECOND (1000 * MS)
#define PAGES_PER_MIB 256

struct rig {
    struct host_facts host;
    struct zone zones[4];
    struct zone_list lists[1024];
    struct zone_table table;
    struct params params;
    struct snapshot s;
    struct engine *engine;
    struct plan plan;
    struct plan acted; /* the last plan with an action */
    uint64_t now;
    uint64_t vm_read_at;
    /* what an actuator would answer */
    struct knob_values sysctl, original;
    enum outcome_kind answer; /* OUTCOME_DONE unless a test says otherwise */
    unsigned sets, restores;
    bool auto_carry_out; /* outcomes come at once */
    struct vm_counters truth;
};

struct machine {
    const char *name;
    enum regime regime;
    uint32_t cpus, nodes;
    uint64_t managed, low; /* of the one big zone of each node */
    uint32_t batch;
    bool scale_knob;
};
extern const struct machine MACHINE_SMALL; /* 2 CPUs, 24 GB, R4: the numbers of input 01 */
extern const struct machine MACHINE_R2;    /* 256 CPUs, 1 TB, one node, the seed machine */
extern const struct machine MACHINE_R3, MACHINE_R4, MACHINE_R5, MACHINE_R6, MACHINE_R1;
extern const struct machine MACHINE_NUMA; /* R3, 2 nodes of 64 CPUs */

void rig_start(struct rig *r, const struct machine *m);
void rig_stop(struct rig *r);

/* n tasks of mib each begin to exit in group g (0..), on node k. anon: what the cgroup holds in
 * MiB, -1 unknown. */
void rig_exits(struct rig *r, unsigned g, uint32_t n, uint64_t mib, int64_t anon_mib, int node);
/* n of the tasks of group g are gone. */
void rig_gone(struct rig *r, unsigned g, uint32_t n, int node);
/* The kernel frees so many MiB of anonymous memory. */
void rig_freed(struct rig *r, uint64_t mib);
/* All groups without tasks are forgotten, as the service does when the engine is calm. */
void rig_forget(struct rig *r);

/* A step now, without and with a fresh reading of vmstat; an action is carried out where
 * auto_carry_out is set. Returns the action. */
enum plan_action rig_step(struct rig *r);
enum plan_action rig_look(struct rig *r);
/* Carries out the last plan: outcome of kind r->answer. */
void rig_carry_out(struct rig *r);
/* Time passes; the engine is stepped whenever it asked to be. Returns the number of steps. */
unsigned rig_pass(struct rig *r, uint64_t ns);
