/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "params.h"
#include "snapshot.h"

/* What the CPUs' lists hold now, without the lock under which zoneinfo would say it. */

/* All lists together, in pages. */
uint64_t lists_hold(const struct snapshot *s);

/* Of that, what is above high once these values are written: pcp_excess() brought up to now. */
uint64_t lists_excess(const struct snapshot *s, const struct knob_values *v);
