/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A fuzzer's bytes, taken one after the other as values; 0 once there are none left. */

struct take {
    const uint8_t *data;
    size_t left;
};

static inline uint64_t take_bytes(struct take *t, size_t n)
{
    uint64_t v = 0;

    for (; n > 0; n--) {
        v = v << 8 | (t->left > 0 ? *t->data : 0);
        t->data += t->left > 0;
        t->left -= t->left > 0;
    }
    return v;
}

static inline bool take_bool(struct take *t)
{
    return take_bytes(t, 1) & 1;
}

/* 0 to n - 1, n up to 256. */
static inline unsigned take_below(struct take *t, unsigned n)
{
    return (unsigned)take_bytes(t, 1) % n;
}

/* Of any magnitude, the ends of the types more often than chance has them. */
static inline uint64_t take_any(struct take *t)
{
    static const uint64_t ends[] = {0,          1,         UINT32_MAX, (uint64_t)UINT32_MAX + 1,
                                    UINT64_MAX, INT64_MAX, INT32_MAX,  (uint64_t)INT64_MAX + 1};
    unsigned how = take_below(t, 16);

    return how < 8 ? take_bytes(t, how + 1) : ends[how - 8];
}

static inline void require(bool holds)
{
    if (!holds)
        abort();
}
