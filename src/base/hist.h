/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* A log2 histogram of nanoseconds, as kernel people print them (bpftrace, bcc's funclatency):
 * bucket k holds values v with floor(log2(v)) == k, bucket 0 also holds 0. */
#define HIST_BUCKETS 64
struct hist {
    uint64_t bucket[HIST_BUCKETS];
    uint64_t count;
    uint64_t sum;
    uint64_t max;
};

void hist_add(struct hist *h, uint64_t v);

/* The bucket with the most entries (the lowest of equals), -1 when the histogram is empty. */
int hist_mode(const struct hist *h);

/* Lower and upper bound (inclusive) of bucket k. */
uint64_t hist_lo(unsigned k);
uint64_t hist_hi(unsigned k);

/* Upper bound of the bucket in which the q-quantile (0..1) lies, cut at max; 0 when empty. */
uint64_t hist_quantile(const struct hist *h, double q);

/* Mean, 0 when empty. */
double hist_mean(const struct hist *h);

/* Prints "nsecs : count distribution" with bars, from the first to the last used bucket. */
void hist_print(const struct hist *h, const char *unit, FILE *f);
