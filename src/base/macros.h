/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Cleanup attributes and the few macros that every room uses. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Time is nanoseconds in a uint64_t throughout: CLOCK_MONOTONIC unless a name says otherwise. */
typedef uint64_t nsec_t;
#define NSEC_PER_USEC UINT64_C(1000)
#define NSEC_PER_MSEC UINT64_C(1000000)
#define NSEC_PER_SEC UINT64_C(1000000000)
#define NSEC_INFINITY UINT64_MAX

#define _cleanup_(f) __attribute__((__cleanup__(f)))
#define _printf_(fmt, args) __attribute__((__format__(__printf__, fmt, args)))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define MIN(a, b)                                                                                  \
    __extension__({                                                                                \
        __auto_type min_a_ = (a);                                                                  \
        __auto_type min_b_ = (b);                                                                  \
        min_a_ < min_b_ ? min_a_ : min_b_;                                                         \
    })
#define MAX(a, b)                                                                                  \
    __extension__({                                                                                \
        __auto_type max_a_ = (a);                                                                  \
        __auto_type max_b_ = (b);                                                                  \
        max_a_ > max_b_ ? max_a_ : max_b_;                                                         \
    })
#define CLAMP(x, lo, hi) MIN(MAX(x, lo), hi)

#define TAKE_FD(fd)                                                                                \
    __extension__({                                                                                \
        int take_fd_ = (fd);                                                                       \
        (fd) = -1;                                                                                 \
        take_fd_;                                                                                  \
    })
#define TAKE_PTR(p)                                                                                \
    __extension__({                                                                                \
        __auto_type take_ptr_ = (p);                                                               \
        (p) = NULL;                                                                                \
        take_ptr_;                                                                                 \
    })

/* Defines x_freep() for _cleanup_(x_freep), for a destructor that accepts NULL. */
#define DEFINE_CLEANUP(type, func)                                                                 \
    static inline void func##p(type *p)                                                            \
    {                                                                                              \
        if (*p)                                                                                    \
            func(*p);                                                                              \
    }

static inline void freep(void *p)
{
    free(*(void **)p);
}

static inline void closep(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

DEFINE_CLEANUP(FILE *, fclose)

#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(closep)
#define _cleanup_fclose_ _cleanup_(fclosep)
