/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmstat.h"

#include <libproc2/meminfo.h>
#include <libproc2/vmstat.h>

#include "clock.h"
#include "hostfacts.h"

struct vmstat {
    struct vmstat_info *info;
    uint64_t thp_pages; /* base pages of a huge page */
};

/* Which counter a value is added to. The library gives 0 for what the kernel does not print. */
static const struct {
    enum vmstat_item item;
    size_t offset;
} wanted[] = {
#define SUM(item, member)                                                                          \
    {                                                                                              \
        (item), offsetof(struct vm_counters, member)                                               \
    }
    SUM(VMSTAT_PGFREE, pgfree),
    SUM(VMSTAT_PGFAULT, pgfault),
    SUM(VMSTAT_NR_FREE_PAGES, nr_free),
    SUM(VMSTAT_NR_ANON_PAGES, nr_anon),
    SUM(VMSTAT_NR_ANON_TRANSPARENT_HUGEPAGES, nr_anon_thp),
    SUM(VMSTAT_PGALLOC_DMA, pgalloc),
    SUM(VMSTAT_PGALLOC_DMA32, pgalloc),
    SUM(VMSTAT_PGALLOC_NORMAL, pgalloc),
    SUM(VMSTAT_PGALLOC_HIGH, pgalloc),
    SUM(VMSTAT_PGALLOC_MOVABLE, pgalloc),
    SUM(VMSTAT_ALLOCSTALL_DMA, allocstall),
    SUM(VMSTAT_ALLOCSTALL_DMA32, allocstall),
    SUM(VMSTAT_ALLOCSTALL_NORMAL, allocstall),
    SUM(VMSTAT_ALLOCSTALL_HIGH, allocstall),
    SUM(VMSTAT_ALLOCSTALL_MOVABLE, allocstall),
#undef SUM
};

/* vmstat prints nr_anon_transparent_hugepages in huge pages: vmstat_item_print_in_thp(). */
int vmstat_open(struct vmstat **ret)
{
    struct vmstat *v = calloc(1, sizeof(*v));
    if (!v)
        return -ENOMEM;

    int r = procps_vmstat_new(&v->info);
    if (r < 0) {
        free(v);
        return r;
    }
    v->thp_pages = thp_pages();
    *ret = v;
    return 0;
}

void vmstat_close(struct vmstat *v)
{
    if (!v)
        return;
    procps_vmstat_unref(&v->info);
    free(v);
}

int vmstat_read(struct vmstat *v, struct vm_counters *ret)
{
    enum vmstat_item items[ARRAY_SIZE(wanted)];
    struct vm_counters c = {.valid = true, .at = clock_monotonic()};

    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
        items[i] = wanted[i].item;
    errno = 0;
    const struct vmstat_stack *s = procps_vmstat_select(v->info, items, ARRAY_SIZE(items));
    if (!s)
        return errno > 0 ? -errno : -EIO;
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
        *(uint64_t *)((char *)&c + wanted[i].offset) += s->head[i].result.ul_int;

    if (c.pgfree == 0 && c.nr_anon == 0)
        return -EBADMSG;
    c.nr_anon_thp *= v->thp_pages;
    *ret = c;
    return 0;
}

int meminfo_total(uint64_t *ret)
{
    struct meminfo_info *info = NULL;

    int r = procps_meminfo_new(&info);
    if (r < 0)
        return r;
    const struct meminfo_result *total = procps_meminfo_get(info, MEMINFO_MEM_TOTAL);
    r = total ? 0 : -EIO;
    if (total)
        *ret = (uint64_t)total->result.ul_int * 1024;
    procps_meminfo_unref(&info);
    return r;
}
