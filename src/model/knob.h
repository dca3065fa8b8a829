/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The knobs, one row each. A new knob is a row here, an id, and a rule in policy/. */

enum knob_id {
    KNOB_FRACTION, /* vm.percpu_pagelist_high_fraction, 5.14 and later */
    KNOB_SCALE,    /* vm.pcp_batch_scale_max, kernels that carry that patch */
    KNOB_MAX,
};

struct knob {
    const char *name; /* sysctl(8) name */
    const char *path;
    const char *key; /* short name in journals, JSON and events */
    int min, max;    /* accepted by the kernel; special is accepted too */
    int initial;     /* the kernel's value when nobody has written it */
    int special;     /* a value outside [min, max] that means "the kernel's own choice"; -1: none */
};

/* knob_table[id]; percpu_pagelist_high_fraction_sysctl_handler() accepts 0 and 8..INT_MAX. */
extern const struct knob knob_table[KNOB_MAX];

/* True where the kernel accepts value (special included). */
bool knob_accepts(enum knob_id id, int value);

/* A set of values. A knob that the kernel lacks is absent (has = false). */
struct knob_values {
    bool has[KNOB_MAX];
    int value[KNOB_MAX];
};

bool knob_values_equal(const struct knob_values *a, const struct knob_values *b);
