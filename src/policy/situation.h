/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "pcp.h"
#include "recommend.h"

/* The numbers behind recommendations: W = N c b on the node where it is largest, with every CPU
 * freeing or with as many tasks as were seen. */

struct situation { /* the node where W is largest */
    uint32_t n, cpus;
    uint32_t b, b_alloc;
    uint64_t w;
};

/* With the knobs at v. b is 0 where no zone's lists are known. */
struct situation situation_now(const struct recommend_input *in, const struct knob_values *v);

/* With the knobs as they are and a kernel of another regime. */
struct situation situation_in(const struct recommend_input *in, enum regime regime);

/* The values that the daemon would write then, starting from base, the scale first as it does.
 * False: no value within bounds makes a hold shorter, and *ret is base. */
bool situation_choose(const struct recommend_input *in, const struct situation *now,
                      const struct knob_values *base, struct knob_values *ret);
