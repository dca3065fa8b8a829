/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* Leaves the test, and says why, where the system does not let us run it: rights, taskstats,
 * ptrace. Fails with PCPTUNED_NO_SKIP=1, which scripts/test sets where nothing of that is missing.
 * A program all of whose tests are skipped, by cmocka's skip() too, ends with 77. */
_printf_(1, 2) void skip_for_want(const char *fmt, ...);
