/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/* xoshiro256** of Blackman and Vigna, seeded by splitmix64: the same numbers on every machine. */
struct rng {
    uint64_t s[4];
};

void rng_seed(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n); /* 0 .. n - 1; 0 for n = 0 */

/* Factors around 1 with a log-normal distribution of mean 1, as fixed-point numbers. They come from
 * a table of quantiles, so that drawing one needs no libm, whose last bit differs by machine. */
#define JITTER_ONE 65536u
#define JITTER_QUANTILES 1024u
struct jitter {
    uint32_t factor[JITTER_QUANTILES];
};

/* sigma: standard deviation of the logarithm, in hundredths; 0 makes all factors 1. */
void jitter_init(struct jitter *j, unsigned sigma_centi);
uint64_t jitter_apply(const struct jitter *j, struct rng *r, uint64_t ns);
