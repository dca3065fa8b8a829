/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "params.h"
#include "plan.h"
#include "snapshot.h"

/* The product: snapshot -> plan. Pure: no clock, no file, no log; no allocation after
 * engine_new(). `now` never goes back; a jump forward (suspend) is allowed. */
struct engine;

enum engine_state {
    ENGINE_CALM,    /* nothing in flight, the originals are in force */
    ENGINE_WATCH,   /* a storm that is left alone, and why is known */
    ENGINE_TUNED,   /* a storm, and the knobs are ours */
    ENGINE_HOLD,    /* its last task is gone, the hold time runs */
    ENGINE_STEADY,  /* no storm; the lists are bounded or lengthened for as long as calm needs it */
    ENGINE_YIELDED, /* a foreign writer owns a knob: nothing is written until re-armed */
    ENGINE_REFUSED, /* the sysctl cannot be written: permanent until a reload */
    ENGINE_STATES,
};
const char *engine_state_name(enum engine_state s);

int engine_new(struct engine **ret); /* -ENOMEM */
void engine_free(struct engine *e);  /* NULL is accepted */

/* One step. *ret is always filled; ret->action other than PLAN_NONE is carried out by the caller,
 * who reports back through engine_outcome() before a plan with an action is made again. */
void engine_step(struct engine *e, const struct params *p, const struct snapshot *s, uint64_t now,
                 struct plan *ret);

/* What came of the last plan with an action. Where a knob turned out to be somebody else's, *o
 * says so and the caller tells the actuator to forget it. */
void engine_outcome(struct engine *e, const struct params *p, const struct outcome *o,
                    uint64_t now);

/* The knobs were read at start (after recovery): a value that is not the kernel's default is
 * somebody's pin. */
void engine_found(struct engine *e, const struct knob_values *found);

/* They were read again in calm: a pin is over once the default is back. */
void engine_seen(struct engine *e, const struct knob_values *now);

/* The operator's command: take yielded or refused knobs up again. */
void engine_rearm(struct engine *e);

enum engine_state engine_get_state(const struct engine *e);

/* The storm that is on, counted from 1; 0: none is. */
uint64_t engine_storm(const struct engine *e);

/* No storm is on, nothing is held for one and nothing under way, whoever owns the knobs: the time
 * for what must not be done in a storm. */
bool engine_idle(const struct engine *e);
