/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "waits.h"

#define SUB_BITS 4

static unsigned bucket_of(nsec_t ns)
{
    if (ns < WAITS_SUB)
        return (unsigned)ns;
    unsigned octave = 63U - (unsigned)__builtin_clzll(ns);
    return octave * WAITS_SUB + (unsigned)(ns >> (octave - SUB_BITS) & (WAITS_SUB - 1));
}

static nsec_t highest(unsigned bucket)
{
    unsigned octave = bucket / WAITS_SUB;

    if (octave < SUB_BITS)
        return bucket;
    nsec_t step = UINT64_C(1) << (octave - SUB_BITS);
    return (UINT64_C(1) << octave) + (bucket % WAITS_SUB) * step + (step - 1);
}

void waits_add(struct waits *w, nsec_t ns)
{
    w->bucket[bucket_of(ns)]++;
    w->count++;
}

nsec_t waits_quantile(const struct waits *w, double q)
{
    double wanted = CLAMP(q, 0.0, 1.0) * (double)w->count;
    uint64_t below = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(w->bucket); i++) {
        below += w->bucket[i];
        if (w->bucket[i] && (double)below >= wanted)
            return highest(i);
    }
    return 0;
}
