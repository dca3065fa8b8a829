/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rng.h"

#include <math.h>

static uint64_t rotl(uint64_t x, unsigned k)
{
    return (x << k) | (x >> (64 - k));
}

void rng_seed(struct rng *r, uint64_t seed)
{
    for (unsigned i = 0; i < 4; i++) {
        uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        r->s[i] = z ^ (z >> 31);
    }
}

uint64_t rng_next(struct rng *r)
{
    uint64_t *s = r->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)rng_next(r) * n) >> 64);
}

/* The x with a standard normal distribution function of p, by halving. */
static double probit(double p)
{
    double lo = -8, hi = 8;

    for (unsigned i = 0; i < 60; i++) {
        double mid = (lo + hi) / 2;
        if (0.5 * erfc(-mid / M_SQRT2) < p)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

void jitter_init(struct jitter *j, unsigned sigma_centi)
{
    double quantile[JITTER_QUANTILES];
    double sum = 0;

    for (unsigned i = 0; i < JITTER_QUANTILES; i++) {
        quantile[i] = exp(sigma_centi / 100.0 * probit((i + 0.5) / JITTER_QUANTILES));
        sum += quantile[i];
    }
    for (unsigned i = 0; i < JITTER_QUANTILES; i++)
        j->factor[i] = (uint32_t)lrint(quantile[i] * JITTER_QUANTILES / sum * JITTER_ONE);
}

uint64_t jitter_apply(const struct jitter *j, struct rng *r, uint64_t ns)
{
    return ns * j->factor[rng_next(r) >> 54] / JITTER_ONE;
}
