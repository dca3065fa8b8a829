/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "clock.h"

#include <time.h>

static nsec_t read_clock(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (nsec_t)ts.tv_sec * NSEC_PER_SEC + (nsec_t)ts.tv_nsec;
}

nsec_t clock_monotonic(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

nsec_t clock_realtime(void)
{
    return read_clock(CLOCK_REALTIME);
}
