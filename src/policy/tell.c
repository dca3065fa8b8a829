/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tell.h"

/* Once in this time, unless the reason is new or W has doubled since. */
#define REPEAT_AFTER (3600 * UINT64_C(1000000000))

void tell_left_alone(struct told *t, uint64_t now, struct plan *left_alone)
{
    uint64_t w = left_alone->why.w_before;

    left_alone->report =
        left_alone->reason != t->reason || (w > 0 && w >= 2 * t->w) || now - t->at >= REPEAT_AFTER;
    left_alone->why.repeats = t->untold;
    if (left_alone->report)
        *t = (struct told){.reason = left_alone->reason, .at = now, .w = w};
    else
        t->untold++;
}
