/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/* Calls of malloc(), calloc() and realloc() so far, libc's own included; UINT64_MAX where a
 * sanitizer owns the allocator. */
uint64_t alloc_count(void);
