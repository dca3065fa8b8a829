/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmstat.h"

#include "clock.h"

#ifdef HAVE_LIBPROC2

#include <libproc2/meminfo.h>
#include <libproc2/vmstat.h>

#include "fileio.h"
#include "units.h"

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

/* vmstat prints nr_anon_transparent_hugepages in huge pages (vmstat_item_print_in_thp()), and
 * their size differs: 2 MiB on x86, 512 MiB on arm64 with 64K pages. */
static uint64_t thp_pages(void)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes;
    char buf[32];

    ssize_t n = read_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", buf, sizeof(buf));
    if (n > 0 && buf[n - 1] == '\n')
        buf[n - 1] = '\0';
    if (n > 0 && parse_u64(buf, &bytes) == 0 && bytes >= page)
        return bytes / page;
    return page / sizeof(uint64_t); /* what a page of page-table entries maps */
}

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

#else /* libprocps 3.3, whose counters are global variables */

#include <proc/sysinfo.h>
#include <pthread.h>

static pthread_mutex_t globals = PTHREAD_MUTEX_INITIALIZER;

struct vmstat {
    uint64_t page_kb;
};

int vmstat_open(struct vmstat **ret)
{
    /* The library ends the process where it cannot open these. */
    if (access("/proc/vmstat", R_OK) < 0 || access("/proc/meminfo", R_OK) < 0)
        return -errno;
    struct vmstat *v = malloc(sizeof(*v));
    if (!v)
        return -ENOMEM;
    v->page_kb = (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
    *ret = v;
    return 0;
}

void vmstat_close(struct vmstat *v)
{
    free(v);
}

int vmstat_read(struct vmstat *v, struct vm_counters *ret)
{
    struct vm_counters c = {.valid = true, .at = clock_monotonic()};

    pthread_mutex_lock(&globals);
    vminfo();
    meminfo();
    c.pgfree = vm_pgfree;
    c.pgalloc = vm_pgalloc;
    c.pgfault = vm_pgfault;
    c.allocstall = vm_allocstall;
    c.nr_free = kb_main_free / v->page_kb;
    /* It keeps anonymous pages to itself: all pages on the LRU lists are an upper bound. */
    c.nr_anon = (kb_active + kb_inactive) / v->page_kb;
    pthread_mutex_unlock(&globals);
    if (c.pgfree == 0 && c.nr_anon == 0)
        return -EBADMSG;
    *ret = c;
    return 0;
}

int meminfo_total(uint64_t *ret)
{
    if (access("/proc/meminfo", R_OK) < 0)
        return -errno;
    meminfo();
    *ret = (uint64_t)kb_main_total * 1024;
    return 0;
}

#endif
