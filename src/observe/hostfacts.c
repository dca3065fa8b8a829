/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hostfacts.h"

#include "container.h"
#include "fileio.h"
#include "knobs.h"
#include "units.h"
#include "virt.h"
#include "vmstat.h"

#include <string.h>
#include <sys/utsname.h>
#include <zlib.h>

#define CPU_LIMIT 65536U /* NR_CPUS is at most 8192 today (x86, MAXSMP) */
#define CPULIST_SIZE 65536
#define CONFIG_LIMIT (4L << 20) /* 0.1 MB here, 0.3 MB in distributions */
#define CONFIG_LINES_MIN 100    /* tinyconfig has more than 300 */

static bool take_cpu(const char **s, unsigned *ret)
{
    const char *p = *s;
    unsigned v = 0;

    for (; *p >= '0' && *p <= '9'; p++) {
        v = v * 10 + (unsigned)(*p - '0');
        if (v >= CPU_LIMIT)
            return false;
    }
    if (p == *s)
        return false;
    *s = p;
    *ret = v;
    return true;
}

/* "3" or "3-7". */
static bool take_range(const char **s, unsigned *ret_first, unsigned *ret_last)
{
    if (!take_cpu(s, ret_first))
        return false;
    *ret_last = *ret_first;
    if (**s != '-')
        return true;
    ++*s;
    return take_cpu(s, ret_last) && *ret_first <= *ret_last;
}

static int walk_cpulist(const char *p, void (*fn)(unsigned cpu, void *arg), void *arg,
                        unsigned *ret_count)
{
    unsigned next = 0, count = 0; /* next: the smallest CPU that still ascends */

    while (*p && *p != '\n') {
        unsigned first, last;
        if (count > 0 && *p++ != ',')
            return -EBADMSG;
        if (!take_range(&p, &first, &last) || first < next)
            return -EBADMSG;
        for (unsigned cpu = first; fn && cpu <= last; cpu++)
            fn(cpu, arg);
        count += last - first + 1;
        next = last + 1;
    }
    if (*p == '\n' && p[1] != '\0')
        return -EBADMSG;
    *ret_count = count;
    return 0;
}

int cpulist_parse(const char *text, void (*fn)(unsigned cpu, void *arg), void *arg,
                  unsigned *ret_count)
{
    unsigned count;
    int r = walk_cpulist(text, NULL, NULL, &count);
    if (r < 0)
        return r;
    if (fn)
        walk_cpulist(text, fn, arg, &count);
    *ret_count = count;
    return 0;
}

/* The list in a file of /sys; 0 where there is none. */
static unsigned read_list(const char *path, void (*fn)(unsigned cpu, void *arg), void *arg)
{
    _cleanup_free_ char *buf = malloc(CPULIST_SIZE);
    unsigned count = 0;

    if (!buf || read_file(path, buf, CPULIST_SIZE) < 0 || cpulist_parse(buf, fn, arg, &count) < 0)
        return 0;
    return count;
}

static unsigned cpus_or(unsigned count, int name)
{
    return count > 0 ? count : (unsigned)MAX(sysconf(name), 1L);
}

static void add_node(unsigned node, void *arg)
{
    struct host_facts *h = arg;
    char path[64];

    if (node >= HOST_NODES_MAX)
        return;
    snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", node);
    h->node_cpus[node] = read_list(path, NULL, NULL);
    h->n_nodes = node + 1;
}

static void read_topology(struct host_facts *h)
{
    h->cpus_possible =
        cpus_or(read_list("/sys/devices/system/cpu/possible", NULL, NULL), _SC_NPROCESSORS_CONF);
    h->cpus_online =
        cpus_or(read_list("/sys/devices/system/cpu/online", NULL, NULL), _SC_NPROCESSORS_ONLN);

    h->n_nodes = 0;
    memset(h->node_cpus, 0, sizeof(h->node_cpus));
    read_list("/sys/devices/system/node/online", add_node, h);
    if (h->n_nodes == 0) { /* CONFIG_NUMA=n */
        h->n_nodes = 1;
        h->node_cpus[0] = h->cpus_online;
    }
    if (meminfo_total(&h->memory_bytes) < 0)
        h->memory_bytes = 0;
}

uint64_t thp_pages(void)
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

bool hostfacts_update(struct host_facts *h)
{
    struct host_facts old = *h;
    read_topology(h);
    return old.cpus_possible != h->cpus_possible || old.cpus_online != h->cpus_online ||
           old.n_nodes != h->n_nodes || old.memory_bytes != h->memory_bytes ||
           memcmp(old.node_cpus, h->node_cpus, sizeof(old.node_cpus)) != 0;
}

/* "CONFIG_PCP_BATCH_SCALE_MAX=5" with or without its end of line, or CONFIG_SCALE_ABSENT. */
static int scale_of_line(const char *line)
{
    static const char key[] = "CONFIG_PCP_BATCH_SCALE_MAX=";
    if (strncmp(line, key, sizeof(key) - 1) != 0)
        return CONFIG_SCALE_ABSENT;
    const char *value = line + sizeof(key) - 1;
    return value[0] >= '0' && value[0] <= '6' && (value[1] == '\n' || value[1] == '\0')
               ? value[0] - '0'
               : CONFIG_SCALE_ABSENT;
}

int config_scale_read(const char *path)
{
    char line[512]; /* longer ones come in pieces, of which only the first can match */
    int scale = CONFIG_SCALE_ABSENT, error = Z_OK;
    unsigned lines = 0;
    bool start = true;

    gzFile f = gzopen(path, "rbe"); /* reads plain files too */
    if (!f)
        return CONFIG_SCALE_UNREAD;
    while (gztell(f) < CONFIG_LIMIT && gzgets(f, line, sizeof(line))) {
        if (start && scale == CONFIG_SCALE_ABSENT)
            scale = scale_of_line(line);
        lines += start && (strncmp(line, "CONFIG_", 7) == 0 || strncmp(line, "# CONFIG_", 9) == 0);
        size_t len = strlen(line);
        start = len > 0 && line[len - 1] == '\n';
    }
    gzerror(f, &error);
    bool whole = gzeof(f) && error == Z_OK;
    if (gzclose(f) != Z_OK || !whole || lines < CONFIG_LINES_MIN)
        return CONFIG_SCALE_UNREAD;
    return scale;
}

static int find_config_scale(const char *release)
{
    char boot[128], modules[128];
    snprintf(boot, sizeof(boot), "/boot/config-%s", release);
    snprintf(modules, sizeof(modules), "/lib/modules/%s/config", release);
    const char *const paths[] = {"/proc/config.gz", boot, modules};

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        int scale = config_scale_read(paths[i]);
        if (scale != CONFIG_SCALE_UNREAD)
            return scale;
    }
    return CONFIG_SCALE_UNREAD;
}

static int read_cmdline_scale(void)
{
    char buf[4096]; /* COMMAND_LINE_SIZE is 2048 on x86, 4096 at most elsewhere */
    return read_file("/proc/cmdline", buf, sizeof(buf)) < 0 ? -1 : cmdline_scale_parse(buf);
}

/* R2 and R3 give every CPU of a zone the same high. 0 is a list that zone_pcp_disable() or boot
 * left so. */
static bool high_differs(const struct zone_table *t, const struct zone *z)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < z->n_lists; i++) {
        uint32_t high = t->lists[z->first_list + i].high;
        if (seen > 0 && high > 0 && high != seen)
            return true;
        seen = high > 0 ? high : seen;
    }
    return false;
}

static void signs_of_zones(const struct zone_table *zones, struct regime_signs *s)
{
    if (!zones || zones->n_zones == 0)
        return;
    s->zoneinfo_known = true;
    s->zoneinfo_reserved_ha = zones->has_reserved_ha;
    for (uint32_t i = 0; i < zones->n_zones; i++) {
        s->zoneinfo_minmax |= zones->zones[i].has_high_minmax;
        s->list_high_differs |= high_differs(zones, &zones->zones[i]);
    }
}

static void read_regime(const struct zone_table *zones, struct host_facts *ret)
{
    struct regime_signs s = {
        .config_scale = find_config_scale(ret->release),
        .cmdline_scale = read_cmdline_scale(),
        .sysctl_scale = -1,
        .release = ret->release,
    };
    bool has[KNOB_MAX];

    knobs_probe(has);
    s.has_fraction = has[KNOB_FRACTION];
    s.has_scale = has[KNOB_SCALE];
    if (s.has_scale && knob_read(KNOB_SCALE, &s.sysctl_scale) < 0)
        s.sysctl_scale = -1;
    s.btf_known = s.has_fraction && btf_probe(&s.btf) == 0;
    signs_of_zones(zones, &s);
    regime_decide(&s, ret);
}

static void read_cgroup_versions(struct host_facts *ret)
{
    char buf[16384];
    struct cgroup_paths paths;
    ssize_t n = read_file("/proc/self/cgroup", buf, sizeof(buf));

    if (n < 0 || cgroup_parse(buf, (size_t)n, &paths) < 0)
        return;
    ret->cgroup_v1 = paths.memory[0] != '\0';
    ret->cgroup_v2 = paths.unified[0] != '\0';
}

void hostfacts_read(const struct zone_table *zones, struct host_facts *ret)
{
    struct utsname u;

    *ret = (struct host_facts){.page_size = (uint32_t)sysconf(_SC_PAGESIZE)};
    if (uname(&u) == 0)
        snprintf(ret->release, sizeof(ret->release), "%s", u.release);
    snprintf(ret->virt, sizeof(ret->virt), "%s", virt_read());
    container_read(ret->container);
    if (read_file("/proc/sys/kernel/random/boot_id", ret->boot_id, sizeof(ret->boot_id)) < 0)
        ret->boot_id[0] = '\0';
    ret->boot_id[strcspn(ret->boot_id, "\n")] = '\0';
    read_topology(ret);
    read_cgroup_versions(ret);
    read_regime(zones, ret);
}
