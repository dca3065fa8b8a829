/* SPDX-License-Identifier: GPL-2.0-or-later */

/* In place of vmstat.c where there is no libproc2. Its predecessor libprocps is no help: of
 * /proc/vmstat it exports nothing (library.map of procps 3.3). */

#include "vmstat_text.h"

#include <string.h>

#include "clock.h"
#include "fileio.h"
#include "hostfacts.h"
#include "units.h"
#include "vmstat.h"

struct vmstat {
    uint64_t thp_pages;
    char text[32768]; /* 180 lines and 5 KB in 6.18 */
};

/* Which counter a value is added to. */
static const struct {
    const char *name;
    size_t offset;
} wanted[] = {
#define SUM(name, member)                                                                          \
    {                                                                                              \
        (name), offsetof(struct vm_counters, member)                                               \
    }
    SUM("pgfree", pgfree),
    SUM("pgfault", pgfault),
    SUM("nr_free_pages", nr_free),
    SUM("nr_anon_pages", nr_anon),
    SUM("nr_anon_transparent_hugepages", nr_anon_thp),
    SUM("pgalloc_dma", pgalloc),
    SUM("pgalloc_dma32", pgalloc),
    SUM("pgalloc_normal", pgalloc),
    SUM("pgalloc_high", pgalloc),
    SUM("pgalloc_movable", pgalloc),
    SUM("allocstall_dma", allocstall),
    SUM("allocstall_dma32", allocstall),
    SUM("allocstall_normal", allocstall),
    SUM("allocstall_high", allocstall),
    SUM("allocstall_movable", allocstall),
#undef SUM
};

static int parse_line(const char *p, const char *end, struct vm_counters *c)
{
    const char *space = memchr(p, ' ', (size_t)(end - p));
    uint64_t value;

    for (size_t i = 0; space && i < ARRAY_SIZE(wanted); i++) {
        size_t len = strlen(wanted[i].name);
        if ((size_t)(space - p) != len || memcmp(p, wanted[i].name, len) != 0)
            continue;
        int r = parse_u64_span(space + 1, end, &value);
        if (r < 0)
            return r;
        *(uint64_t *)((char *)c + wanted[i].offset) += value;
        break;
    }
    return 0;
}

int vmstat_parse(const char *text, size_t len, struct vm_counters *ret)
{
    const char *end = text + len;
    struct vm_counters c = {.valid = ret->valid, .at = ret->at};

    while (text < end) {
        const char *eol = memchr(text, '\n', (size_t)(end - text));
        int r = parse_line(text, eol ? eol : end, &c);
        if (r < 0)
            return r;
        text = eol ? eol + 1 : end;
    }
    if (c.pgfree == 0 && c.nr_anon == 0)
        return -EBADMSG;
    *ret = c;
    return 0;
}

int vmstat_open(struct vmstat **ret)
{
    if (access("/proc/vmstat", R_OK) < 0)
        return -errno;
    struct vmstat *v = calloc(1, sizeof(*v));
    if (!v)
        return -ENOMEM;
    v->thp_pages = thp_pages();
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

    ssize_t n = read_file("/proc/vmstat", v->text, sizeof(v->text));
    int r = n < 0 ? (int)n : vmstat_parse(v->text, (size_t)n, &c);
    if (r < 0)
        return r;
    c.nr_anon_thp *= v->thp_pages;
    *ret = c;
    return 0;
}

int meminfo_total(uint64_t *ret)
{
    long pages = sysconf(_SC_PHYS_PAGES);

    if (pages <= 0)
        return -EIO;
    *ret = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return 0;
}
