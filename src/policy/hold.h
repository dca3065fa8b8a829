/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "params.h"
#include "pcp.h"

/* b of W = N c b: how long a hold of zone->lock is on a path, in pages, and which knob makes it
 * shorter. */

/* With the knobs at v, on a node (-1: the machine). A node without memory of its own has the
 * machine's: its tasks free into other nodes' zones. */
uint32_t hold_on(const struct host_facts *host, const struct zone_table *t, int node,
                 enum pcp_path path, const struct knob_values *v);

struct hold_aim {
    enum pcp_path path;
    uint32_t want;  /* no hold longer than this, as far as that goes ... */
    uint32_t least; /* ... without any that is shorter than this */
};

/* want, but not so short that more throughput than MaxLoss= is lost against holds of `before`. */
struct hold_aim hold_aim(const struct params *p, enum pcp_path path, uint32_t want,
                         uint32_t before);

/* Each moves one knob of *v, within bounds, until the aim is met. Returns the hold that results;
 * where that is not shorter than `hold`, *v is left as it is and `hold` returned. */
uint32_t hold_by_scale(const struct params *p, const struct host_facts *host,
                       const struct zone_table *t, const struct hold_aim *aim, uint32_t hold,
                       struct knob_values *v);
uint32_t hold_by_fraction(const struct params *p, const struct host_facts *host,
                          const struct zone_table *t, const struct hold_aim *aim, uint32_t hold,
                          struct knob_values *v);
