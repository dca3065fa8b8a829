/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "machine.h"

/* The verbs. Each prints to standard output, as text or as one JSON object. */
int explain(const struct machine *m, const struct params *p, bool json); /* 0 or -ENOMEM */
int advise(const struct machine *m, const struct params *p, bool json);  /* recommend */

/* What both say of the machine: "host", "knobs", "knobs_known", "target_ns", "page_cost_ns". NULL:
 * out of memory. */
struct json_object;
struct json_object *machine_json(const struct machine *m, const struct params *p);
int print_json(struct json_object *o); /* takes o */
