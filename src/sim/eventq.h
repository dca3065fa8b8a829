/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* What happens next: a binary heap with one place for each of n owners, so that a new plan of an
 * owner replaces the old one and nothing is allocated after eventq_init(). Events of the same time
 * come in the order in which they were set. */
struct eventq {
    struct eventq_entry {
        nsec_t at;
        uint64_t seq;
        uint32_t owner;
    } * heap;
    uint32_t *place; /* of each owner in heap, UINT32_MAX: none */
    uint32_t n;
    uint64_t seq;
};

int eventq_init(struct eventq *q, uint32_t owners); /* -ENOMEM */
void eventq_done(struct eventq *q);

void eventq_set(struct eventq *q, uint32_t owner, nsec_t at);
void eventq_clear(struct eventq *q, uint32_t owner);

/* The next event stays in the queue until its owner sets or clears it. False: none left. */
bool eventq_first(const struct eventq *q, nsec_t *ret_at, uint32_t *ret_owner);
