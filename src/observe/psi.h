/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"
#include "snapshot.h"

/* Pressure stall information: Documentation/accounting/psi.rst. */

enum psi_resource { PSI_CPU, PSI_MEMORY, PSI_IO, PSI_RESOURCES };

struct psi {
    bool has_some, has_full;
    struct psi_line some, full;
};

/* Parses the text of a /proc/pressure file. Unknown lines and fields are skipped; a line that
 * lacks avg10 or total, or says one twice, is -EBADMSG, and so are a line that comes twice, a text
 * with neither "some" nor "full", and one that does not end with a newline. */
int psi_parse(const char *text, size_t len, struct psi *ret);

/* -ENOENT: compiled out (no /proc/pressure); -EOPNOTSUPP: switched off (psi=0). */
int psi_read(enum psi_resource r, struct psi *ret);

/* A descriptor that polls POLLPRI when `some` stalls exceed `stall` within `window`. Without
 * CAP_SYS_RESOURCE the window must be a multiple of 2 s: where the one asked for is refused, 2 s
 * with the stall scaled is tried, and *ret_window says what was got. -EINVAL, -EOPNOTSUPP, -ENOENT,
 * -EACCES, -EPERM (before 6.1 without that capability) as the kernel says: poll the totals instead.
 * POLLERR on the descriptor: it is void. */
int psi_trigger(enum psi_resource r, nsec_t stall, nsec_t window, nsec_t *ret_window);
