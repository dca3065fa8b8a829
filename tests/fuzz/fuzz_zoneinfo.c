/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "zoneinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void check_zone(const struct zone_table *t, const struct zone *z, uint32_t first_list)
{
    check(memchr(z->name, '\0', sizeof(z->name)) != NULL && z->name[0] != '\0');
    check(z->node >= 0);
    check(z->first_list == first_list && z->n_lists <= t->n_lists - first_list);
    check(z->present == 0 || z->n_lists > 0);
    for (uint32_t i = 1; i < z->n_lists; i++)
        check(t->lists[first_list + i - 1].cpu < t->lists[first_list + i].cpu);
    for (uint32_t i = 0; i < z->n_lists; i++)
        check(z->has_high_minmax || t->lists[first_list + i].high_max == 0);
}

static void check_table(const struct zone_table *t)
{
    uint32_t lists = 0;

    check(t->n_zones > 0 && t->n_zones <= t->cap_zones && t->n_lists <= t->cap_lists);
    for (uint32_t i = 0; i < t->n_zones; i++) {
        check(i == 0 || t->zones[i].node >= t->zones[i - 1].node);
        check_zone(t, &t->zones[i], lists);
        lists += t->zones[i].n_lists;
    }
    check(lists == t->n_lists);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct zone_table reused; /* by every input, like the daemon's: nothing may be left */
    struct zone_table fresh = {0};
    struct parse_error e = {0}, again = {0};

    int r = zoneinfo_parse((const char *)data, size, &fresh, &e);
    check(zoneinfo_parse((const char *)data, size, &reused, &again) == r);
    check(fresh.n_zones == reused.n_zones && fresh.n_lists == reused.n_lists);
    if (r == 0) {
        check_table(&fresh);
        check_table(&reused);
        check(fresh.has_boost == reused.has_boost &&
              fresh.has_reserved_ha == reused.has_reserved_ha);
        if (fresh.n_lists > 0)
            check(memcmp(fresh.lists, reused.lists, fresh.n_lists * sizeof(struct zone_list)) == 0);
    } else {
        check(r == -EBADMSG || r == -EFBIG || r == -ENOMEM);
        check(fresh.n_zones == 0 && fresh.n_lists == 0);
        check(e.line >= 1 && e.reason && e.line == again.line && e.reason == again.reason);
    }
    zone_table_done(&fresh);
    return 0;
}
