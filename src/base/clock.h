/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* CLOCK_MONOTONIC now, and CLOCK_REALTIME now for what people read. Only programs and observers
 * call these: the policy takes `now` as an argument. */
nsec_t clock_monotonic(void);
nsec_t clock_realtime(void);
