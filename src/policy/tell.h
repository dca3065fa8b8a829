/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

#include "plan.h"

/* Which of the storms that are left alone get a line of their own: a build host has such exits all
 * day. */

struct told { /* the last line */
    enum reason reason;
    uint64_t at, w;
    uint32_t untold; /* storms since */
};

/* A storm ended for which left_alone->reason was the reason. Sets report and why.repeats. */
void tell_left_alone(struct told *t, uint64_t now, struct plan *left_alone);
