/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "budget.h"

#define HOUR_NS (UINT64_C(3600) * 1000000000)

void budget_spend(struct budget *b, uint64_t now, uint32_t writes)
{
    for (uint32_t i = 0; i < writes; i++) {
        b->at[b->next] = now ? now : 1;
        b->next = (b->next + 1) % BUDGET_MAX;
    }
}

uint32_t budget_left(const struct budget *b, uint32_t limit, uint64_t now)
{
    uint32_t spent = 0;

    for (uint32_t i = 0; i < BUDGET_MAX; i++) {
        if (b->at[i] != 0 && now - b->at[i] < HOUR_NS)
            spent++;
    }
    return spent < limit ? limit - spent : 0;
}
