/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "params.h"
#include "pcp.h"

/* b of W = N c b: how long a hold of zone->lock is, in pages, and which knob makes it shorter. */

/* With the knobs at v, on a node (-1: the machine). A node without memory of its own has the
 * machine's: its tasks free into other nodes' zones. */
uint32_t hold_on(const struct host_facts *host, const struct zone_table *t, int node,
                 const struct knob_values *v);

/* Each moves one knob of *v, within bounds, until no hold of the machine is longer than `want`, or
 * as far as it goes. Returns the hold that results; where that is not shorter than `hold`, *v is
 * left as it is and `hold` returned. */
uint32_t hold_by_scale(const struct params *p, const struct host_facts *host,
                       const struct zone_table *t, uint32_t want, uint32_t hold,
                       struct knob_values *v);
uint32_t hold_by_fraction(const struct params *p, const struct host_facts *host,
                          const struct zone_table *t, uint32_t want, uint32_t hold,
                          struct knob_values *v);
