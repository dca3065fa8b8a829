/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/* What shorter holds of zone->lock cost in throughput. Taking the lock costs as much as k pages, so
 * a page costs (1 + k / b): k is fitted to the throughputs published with commit 52166607ecc9 for
 * batch 63 to 2047 on five machines (https://lkml.kernel.org/r/20231016053002.756205-5-ying.huang
 * @intel.com; tests/measurements/huang_batch_latency.csv). It is will-it-scale/page_fault1, which
 * does nothing but fault and free: an upper bound for programs that also work. Beyond 2047 pages
 * the formula goes on, flat. */

struct batch_cost { /* loss of throughput, in 1/100 of a percent */
    uint32_t typical, worst;
};

/* Holds of b_after pages instead of b_before; 0 where they are not shorter. */
struct batch_cost batch_cost(uint32_t b_before, uint32_t b_after);

/* The inverse: the least b_after whose typical loss is at most max_loss (1/100 of a percent). */
uint32_t batch_least(uint32_t b_before, uint32_t max_loss);

/* What a fixed high loses besides, where the kernel would tune it: 8 kernel builds on 224 CPUs take
 * 98.4 without auto-tuning and 94.9 with it (patches 5 and 7 of https://lore.kernel.org/linux-mm
 * /20230926060911.266511-1-ying.huang@intel.com/; tests/measurements/pcp_autotune_v2_cover.csv). */
#define AUTOTUNE_COST 356 /* 1/100 of a percent: 1 - 94.9 / 98.4 */
