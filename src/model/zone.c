/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "zone.h"

#include <stdlib.h>

uint64_t zone_table_managed(const struct zone_table *t)
{
    uint64_t managed = 0;

    for (uint32_t i = 0; i < t->n_zones; i++)
        managed += t->zones[i].managed;
    return managed;
}

void zone_table_done(struct zone_table *t)
{
    free(t->zones);
    free(t->lists);
    *t = (struct zone_table){0};
}
