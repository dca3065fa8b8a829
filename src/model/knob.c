/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "knob.h"

#include <limits.h>

const struct knob knob_table[KNOB_MAX] = {
    /* MIN_PERCPU_PAGELIST_HIGH_FRACTION is 8, 0 gives the choice back to the kernel. */
    [KNOB_FRACTION] = {.name = "vm.percpu_pagelist_high_fraction",
                       .path = "/proc/sys/vm/percpu_pagelist_high_fraction",
                       .key = "high_fraction",
                       .min = 8,
                       .max = INT_MAX,
                       .special = 0,
                       .initial = 0},
    /* CONFIG_PCP_BATCH_SCALE_MAX has range 0..6 and default 5. */
    [KNOB_SCALE] = {.name = "vm.pcp_batch_scale_max",
                    .path = "/proc/sys/vm/pcp_batch_scale_max",
                    .key = "batch_scale",
                    .min = 0,
                    .max = 6,
                    .special = -1,
                    .initial = 5},
};

bool knob_accepts(enum knob_id id, int value)
{
    const struct knob *k = &knob_table[id];
    return (value >= k->min && value <= k->max) || (k->special >= 0 && value == k->special);
}

bool knob_values_equal(const struct knob_values *a, const struct knob_values *b)
{
    for (unsigned i = 0; i < KNOB_MAX; i++) {
        if (a->has[i] != b->has[i] || (a->has[i] && a->value[i] != b->value[i]))
            return false;
    }
    return true;
}
