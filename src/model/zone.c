/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "zone.h"

#include <stdlib.h>

void zone_table_done(struct zone_table *t)
{
    free(t->zones);
    free(t->lists);
    *t = (struct zone_table){0};
}
