/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"
#include "zone.h"

/* /proc/zoneinfo: kernels 2.6 to 7.x. The kernel formats it under zone->lock with interrupts off
 * (walk_zones_in_node()), so each read is counted, and nobody reads it in a storm. */

struct parse_error {
    unsigned line;      /* from 1 */
    const char *reason; /* static text, "pageset without count" */
};

/* Parses len bytes (no NUL needed) into *t, whose arrays grow when they must and are reused:
 * no allocation once warm. Unknown lines are skipped. Truncated or contradictory text is -EBADMSG,
 * and so is a file without any zone; -ENOMEM; -EFBIG (beyond 4096 zones or 2^20 lists). On errors
 * *ret_error is filled and *t is empty. Text that ends with a whole zone is whole. Of the hot and
 * the cold list of 2.6 ("cpu: 0 pcp: 0", "pcp: 1") the hot one is taken. */
int zoneinfo_parse(const char *text, size_t len, struct zone_table *t,
                   struct parse_error *ret_error);

/* A reader that keeps descriptor and buffer, so that seq_file's grown buffer is kept too. */
struct zoneinfo;
int zoneinfo_open(const char *path, struct zoneinfo **ret);
void zoneinfo_close(struct zoneinfo *z);
DEFINE_CLEANUP(struct zoneinfo *, zoneinfo_close)

/* One read and parse. Errors as above, or of pread(2): *ret_error then has line 0. */
int zoneinfo_read(struct zoneinfo *z, struct zone_table *t, struct parse_error *ret_error);

/* Reads so far, failed ones included. */
uint64_t zoneinfo_reads(const struct zoneinfo *z);
