/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "budget.h"
#include "claim.h"
#include "engine.h"
#include "estimate.h"
#include "start.h"
#include "steady.h"
#include "storm.h"
#include "tell.h"

/* What the files of the engine share, and nobody else includes: engine.c (the step and its
 * outcome), course.c (a storm's turns), decide.c (plans) and wake.c (the time of the next step). */

#define NEVER UINT64_MAX

struct engine {
    enum engine_state state;
    bool pending;        /* a plan with an action is being carried out */
    bool pending_steady; /* ... that is none of a storm's */
    enum reason pending_reason;
    uint32_t pending_n;

    struct claim claim;
    enum reason must_restore; /* an action failed while we own a knob, and why it is to go back */
    uint64_t retry_at, retry_delay;

    struct storm storm;
    uint64_t storms;
    struct budget budget;
    struct yields yields;
    struct start start;
    struct steady steady;
    struct told told;

    struct vm_counters seen; /* the last reading, for the estimate without taskstats */
    struct estimate vm_estimate;
    bool vm_fresh; /* this step brought a new reading */
};

/* One engine_step(): what it is about, and the plan that comes of it. */
struct step {
    struct engine *e;
    const struct params *p;
    const struct snapshot *s;
    struct estimate est;
    uint64_t now;
    struct plan *plan; /* PLAN_NONE until one of these functions fills it in */
};

/* A storm is on: it goes on, ebbs or ends, and e->state follows. */
void course_step(const struct step *x);

/* Longer lists were our last decision in this storm: the opposite one waits. */
bool course_must_dwell(const struct engine *e, const struct params *p, uint64_t now);

/* Weighs W with the originals against what could be done about it, and plans a write where it is
 * worth one, for `reason`; else keeps why not for the line at the storm's end. */
void decide(const struct step *x, enum reason reason);

/* Plans that everything goes back. */
void decide_restore(const struct step *x, enum reason reason);

/* Calm: what the lists hold, and the traffic through them, watched over many ticks. */
void steady_step(const struct step *x);

/* When the next step is due at the latest, NEVER if only an event can bring news. */
uint64_t wake_at(const struct step *x);
