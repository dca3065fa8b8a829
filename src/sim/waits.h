/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* Quantiles of durations to 1/16, where struct hist knows them to a factor of 2. */
#define WAITS_SUB 16
struct waits {
    uint64_t count;
    uint64_t bucket[64 * WAITS_SUB];
};

void waits_add(struct waits *w, nsec_t ns);

/* Upper bound of the bucket in which the q-quantile (0..1) lies; 0 when empty. */
nsec_t waits_quantile(const struct waits *w, double q);
