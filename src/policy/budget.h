/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/* Writes within the last hour, for a limit that holds in every window of that length. */
#define BUDGET_MAX 1000 /* the largest WritesPerHour= */

struct budget {
    uint64_t at[BUDGET_MAX]; /* ring of times; 0: never */
    uint32_t next;
};

void budget_spend(struct budget *b, uint64_t now, uint32_t writes);

/* What is left of limit (at most BUDGET_MAX) at now. */
uint32_t budget_left(const struct budget *b, uint32_t limit, uint64_t now);
