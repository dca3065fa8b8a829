/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "config.h"
#include "machine.h"

/* Exit codes, as in pcptunectl(1). */
enum {
    EXIT_USAGE = 2,
    EXIT_NO_DAEMON = 3,
    EXIT_DENIED = 4,
    EXIT_REFUSED = 5,      /* by pcptuned, which says why, or it is busy with another order */
    EXIT_DIFFERS = 10,     /* of verify: a knob is not what is believed */
    EXIT_LEFT_BEHIND = 11, /* a killed pcptuned left a knob tuned, and none runs */
    EXIT_UNDO_LOST = 12,   /* no journal that could be restored from */
};

/* The command line. Strings are NULL where not given. */
struct call {
    const char *config, *address, *since;
    const char *argument; /* of the verb: "apply" */
    bool json, follow;
};

/* The verbs. Each prints to standard output, as text or as JSON, and returns an exit code. */
int verb_status(const struct call *c);
int verb_top(const struct call *c);
int verb_events(const struct call *c);
int verb_recommend(const struct call *c);
int verb_explain(const struct call *c);
int verb_config(const struct call *c);
int verb_verify(const struct call *c);
int verb_mode(const struct call *c);
int verb_rearm(const struct call *c);
int verb_restore(const struct call *c);
int verb_reload(const struct call *c);

/* The configuration as pcptuned would load it; its errors go to standard error. To be freed with
 * config_result_done() in each case. */
int call_config(const struct call *c, struct config_result *ret);

/* Configuration and machine for one of the verbs that need both; run returns 0 or -ENOMEM. */
int call_local(const struct call *c,
               int (*run)(const struct machine *m, const struct params *p, const struct call *c));

/* What they say of the machine: "host", "knobs", "knobs_known", "held", "target_ns",
 * "page_cost_ns". NULL: out of memory. */
struct json_object;
struct json_object *machine_json(const struct machine *m, const struct params *p);
int print_json(struct json_object *o); /* takes o; 0 or -ENOMEM */
