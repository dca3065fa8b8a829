/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "eventq.h"

#define NOWHERE UINT32_MAX

int eventq_init(struct eventq *q, uint32_t owners)
{
    *q = (struct eventq){.heap = calloc(owners, sizeof(*q->heap)),
                         .place = calloc(owners, sizeof(*q->place))};
    if (!q->heap || !q->place) {
        eventq_done(q);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < owners; i++)
        q->place[i] = NOWHERE;
    return 0;
}

void eventq_done(struct eventq *q)
{
    free(q->heap);
    free(q->place);
    *q = (struct eventq){0};
}

static bool before(const struct eventq_entry *a, const struct eventq_entry *b)
{
    return a->at < b->at || (a->at == b->at && a->seq < b->seq);
}

static void put(struct eventq *q, uint32_t i, struct eventq_entry e)
{
    q->heap[i] = e;
    q->place[e.owner] = i;
}

/* Moves the entry e, whose place i is free, to where it belongs. */
static void settle(struct eventq *q, uint32_t i, struct eventq_entry e)
{
    while (i > 0 && before(&e, &q->heap[(i - 1) / 2])) {
        put(q, i, q->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    for (uint32_t child = 2 * i + 1; child < q->n; child = 2 * i + 1) {
        if (child + 1 < q->n && before(&q->heap[child + 1], &q->heap[child]))
            child++;
        if (!before(&q->heap[child], &e))
            break;
        put(q, i, q->heap[child]);
        i = child;
    }
    put(q, i, e);
}

void eventq_set(struct eventq *q, uint32_t owner, nsec_t at)
{
    struct eventq_entry e = {.at = at, .seq = q->seq++, .owner = owner};
    uint32_t i = q->place[owner];

    settle(q, i != NOWHERE ? i : q->n++, e);
}

void eventq_clear(struct eventq *q, uint32_t owner)
{
    uint32_t i = q->place[owner];

    if (i == NOWHERE)
        return;
    q->place[owner] = NOWHERE;
    struct eventq_entry last = q->heap[--q->n];
    if (i < q->n)
        settle(q, i, last);
}

bool eventq_first(const struct eventq *q, nsec_t *ret_at, uint32_t *ret_owner)
{
    if (q->n == 0)
        return false;
    *ret_at = q->heap[0].at;
    *ret_owner = q->heap[0].owner;
    return true;
}
