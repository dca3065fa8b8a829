/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <json.h>

#include "term.h"

/* The JSON of an event, as pcptuned sends it. */

/* "" where it has no such key. */
const char *event_text(struct json_object *o, const char *key);

/* Its wall clock, which is UTC, in local time as term_time() has it. Returns buf. */
char *event_time(struct json_object *o, char buf[static TERM_TIME]);
