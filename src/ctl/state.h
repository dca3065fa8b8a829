/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <sys/types.h>

#include "journal.h"

/* What pcptuned leaves in its state directory, and the sysctls: the evidence that needs no bus. */

const char *state_dir(void); /* $RUNTIME_DIRECTORY as for pcptuned, else /run/pcptuned */

enum undo_kind {
    UNDO_NONE,       /* nothing is held */
    UNDO_HELD,       /* a journal of this boot */
    UNDO_STALE,      /* of an earlier boot: nothing of it is in force */
    UNDO_TORN,       /* not what pcptuned writes */
    UNDO_UNREADABLE, /* error says why */
};

const char *undo_name(enum undo_kind k); /* "none", "held": stable, for JSON */

struct undo {
    enum undo_kind kind;
    int error; /* negative errno */
    struct journal journal;
};
void undo_read(struct undo *ret);

/* The process that owns the knobs, from /proc/locks: 0 nobody, or a dry run. Asking the lock itself
 * could turn a pcptuned away that starts just then. */
pid_t state_owner(void);

/* In a child, for the kernel may hold pcp_batch_high_lock for as long as a memory offline takes,
 * and a thread that sleeps in it would keep us from ending. -ETIMEDOUT; errors of knobs_read(). */
int state_knobs(nsec_t timeout, struct knob_values *ret);
