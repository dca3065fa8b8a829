/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "params.h"

#include <limits.h>

#define USEC UINT64_C(1000)
#define SEC UINT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)

const char *mode_name(enum mode m)
{
    static const char *const names[MODE_MAX] = {
        [MODE_APPLY] = "apply",
        [MODE_DRY_RUN] = "dry-run",
        [MODE_OFF] = "off",
    };
    return (unsigned)m < MODE_MAX ? names[m] : "unknown";
}

const char *on_foreign_name(enum on_foreign f)
{
    static const char *const names[FOREIGN_MAX] = {
        [FOREIGN_YIELD] = "yield",
        [FOREIGN_REASSERT] = "reassert",
        [FOREIGN_EXIT] = "exit",
    };
    return (unsigned)f < FOREIGN_MAX ? names[f] : "unknown";
}

const char *on_pinned_name(enum on_pinned p)
{
    static const char *const names[PINNED_MAX] = {
        [PINNED_RESPECT] = "respect",
        [PINNED_TUNE] = "tune",
    };
    return (unsigned)p < PINNED_MAX ? names[p] : "unknown";
}

struct params params_default(void)
{
    return (struct params){
        .mode = MODE_APPLY,
        .tick = 10 * SEC, /* six wake-ups a minute, fewer than any peer that polls */
        .knob_timeout = SEC,

        .taskstats = true,
        .psi = true,
        .vmstat = true,

        /* 32 MiB are 8192 pages, 0.16 ms under the lock at 20 ns each: smaller exits do not add up
         * to a storm before they are over. */
        .task_size = 32 * MIB,
        .storm_size = 64 * MIB,
        .hold = SEC,
        .task_timeout = 60 * SEC,
        .start_storms = true,

        .target_wait = 100 * USEC,
        .page_cost = 20, /* 17 to 20 ns fit the four published histograms of lock holds */
        .knob_lo = {[KNOB_FRACTION] = 8, [KNOB_SCALE] = 0}, /* the kernel's own bounds */
        .knob_hi = {[KNOB_FRACTION] = INT_MAX, [KNOB_SCALE] = 6},
        .dwell = SEC,
        /* One lock passes 11 TiB in a minute, at 20 ns a page: what lasts longer is no storm but
         * the host's daily work, and short lists would tax it for ever. */
        .tuned_max = 60 * SEC,
        .writes_per_hour = 240, /* 120 storms: one each 30 s */
        .max_loss = 5,          /* 36 pages a hold: less than any floor but that of 64K pages */
        .max_hoard = 3,         /* a quarter of what auto-tuning allows */
        .churn = true,

        .on_foreign = FOREIGN_YIELD,
        .rearm_after = 3600 * SEC,
        .on_pinned = PINNED_RESPECT,
    };
}
