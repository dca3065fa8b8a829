/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "state.h"
#include "told.h"

/* The sysctls as three witnesses have them: the kernel, the undo journal and pcptuned, if it runs.
 */

struct witness {
    bool known; /* else the kernel did not say, and why is the negative errno */
    int why;
    struct knob_values now;
    struct undo undo;
    const struct told *told; /* NULL: no pcptuned answers */
    pid_t owner;             /* the pcptuned that owns the knobs by its lock; 0: none */
};

enum verdict {
    VERDICT_AS_BELIEVED,
    VERDICT_DIFFERS,
    VERDICT_LEFT_BEHIND,
    VERDICT_UNDO_LOST,
    VERDICT_UNKNOWN,
};
const char *verdict_name(enum verdict v); /* "as-believed": stable, for JSON */

/* One sysctl; *ret_expected is the value that is believed, -1 for none. */
enum verdict sysctl_verdict(const struct witness *w, enum knob_id k, int *ret_expected);

/* The worst of them and of the journal. */
enum verdict witness_verdict(const struct witness *w);

/* Who the value belongs to: as pcptuned says, unless it is another one than it knows of
 * ("foreign"); without it, as the value tells: "kernel-default", "administrator", "left-behind",
 * "unknown", "none" for a sysctl that does not exist. */
const char *sysctl_owner(const struct witness *w, enum knob_id k);

/* pcptuned's row of that sysctl. NULL: none. */
const struct told_knob *told_knob(const struct told *t, enum knob_id k);
