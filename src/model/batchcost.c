/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "batchcost.h"

/* k in 1/100 page, from the throughputs at 63 and at the largest batch: Sapphire Rapids 167, Ice
 * Lake 187, Cascade Lake 405, Comet Lake 200, Coffee Lake 120. */
#define K_TYPICAL 187 /* the median */
#define K_WORST 405

/* 1 - (1 + k / before) / (1 + k / after) = k (before - after) / (before (after + k)) */
static uint32_t loss(uint64_t k, uint32_t before, uint32_t after)
{
    uint64_t divisor = (uint64_t)before * (100 * (uint64_t)after + k);
    return (uint32_t)((10000 * k * (before - after) + divisor / 2) / divisor);
}

struct batch_cost batch_cost(uint32_t b_before, uint32_t b_after)
{
    if (b_after == 0 || b_after >= b_before)
        return (struct batch_cost){0};
    return (struct batch_cost){loss(K_TYPICAL, b_before, b_after),
                               loss(K_WORST, b_before, b_after)};
}

/* From loss <= L, of 10000: after >= k before (1 - L) / (L before + k). */
uint32_t batch_least(uint32_t b_before, uint32_t max_loss)
{
    uint64_t loss = max_loss > 10000 ? 10000 : max_loss;
    uint64_t above = K_TYPICAL * (uint64_t)b_before * (10000 - loss);
    uint64_t below = 100 * loss * b_before + UINT64_C(10000) * K_TYPICAL;

    uint64_t least = (above + below - 1) / below;
    return least < b_before ? (uint32_t)least : b_before;
}
