/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <json.h>
#include <stdint.h>

#include "knob.h"

/* Fields of JSON objects. Out of memory the field is missing. */

static inline void json_add_u64(struct json_object *o, const char *key, uint64_t v)
{
    json_object_object_add(o, key, json_object_new_uint64(v));
}

static inline void json_add_str(struct json_object *o, const char *key, const char *s)
{
    json_object_object_add(o, key, json_object_new_string(s));
}

/* An object with the short name of each knob that v has. */
static inline void json_add_knobs(struct json_object *o, const char *key,
                                  const struct knob_values *v)
{
    struct json_object *knobs = json_object_new_object();

    for (unsigned k = 0; knobs && k < KNOB_MAX; k++) {
        if (v->has[k])
            json_object_object_add(knobs, knob_table[k].key, json_object_new_int(v->value[k]));
    }
    json_object_object_add(o, key, knobs);
}
