/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alloc_count.h"

#include <stdatomic.h>
#include <stdlib.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || !defined(__GLIBC__)

uint64_t alloc_count(void)
{
    return UINT64_MAX;
}

#else

static _Atomic uint64_t calls;

/* glibc's own names for them: they interpose without dlsym(), which allocates. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
    calls++;
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    calls++;
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    calls++;
    return __libc_realloc(p, size);
}

uint64_t alloc_count(void)
{
    return calls;
}

#endif
