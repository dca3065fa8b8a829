/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <sys/uio.h>

#include "event.h"

/* Events as entries of the systemd journal: MESSAGE=, MESSAGE_ID=, PRIORITY= and ERRNO= are those
 * of systemd.journal-fields(7), all else begins with PCPTUNED_. pcptuned(8) describes the fields.
 */

#define SDJOURNAL_FIELDS 32
struct sdjournal_entry {
    struct iovec field[SDJOURNAL_FIELDS]; /* "NAME=VALUE", not terminated; into text */
    size_t n;
    char text[4096];
    size_t used;
};

/* Pure. What does not fit is left out; nothing that an event can hold is so long. */
void sdjournal_compose(const struct event *e, struct sdjournal_entry *ret);

/* To journald; waits for it, so not from the loop. Returns 0 or negative errno; 0 also where no
 * journald runs. */
int sdjournal_send(const struct event *e);

/* Whether this program's standard error goes to the journal (JOURNAL_STREAM of systemd.exec(5)). */
bool sdjournal_is_stderr(void);
