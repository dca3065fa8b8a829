/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "knob.h"
#include "macros.h"

/* Reads the sysctls. It may block for as long as a memory offline takes (pcp_batch_high_lock):
 * only a worker thread may call it. A knob whose file does not exist is absent, which is no error.
 * -EBADMSG: not a number. Other errors: of open(2), read(2). */
int knobs_read(struct knob_values *ret);

/* One of them; -ENOENT where it does not exist. The scale is a plain integer in the patch known,
 * so reading that one does not block. */
int knob_read(enum knob_id id, int *ret);

/* Which exist, by access(2) alone: never blocks. */
void knobs_probe(bool ret_has[static KNOB_MAX]);
