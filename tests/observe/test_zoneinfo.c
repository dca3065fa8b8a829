/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "alloc_count.h"
#include "fileio.h"
#include "synth_zoneinfo.h"
#include "zoneinfo.h"

static char *load(const char *name, const char *suffix, size_t *ret_len)
{
    char path[512];
    char *buf = NULL;
    size_t size = 0;

    snprintf(path, sizeof(path), "%s/inputs/%s%s", TEST_DATA, name, suffix);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail_msg("%s: %s", path, strerror(errno));
    ssize_t n = read_file_grow(fd, &buf, &size, 1 << 24);
    assert_true(n > 0);
    *ret_len = (size_t)n;
    return buf;
}

/* Parses a copy of exactly that size, so that the sanitizer sees a read beyond it. */
static int parse_exact(const char *text, size_t len, struct zone_table *t, struct parse_error *e)
{
    _cleanup_free_ char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    *e = (struct parse_error){0};
    int r = zoneinfo_parse(copy, len, t, e);
    if (r < 0) {
        assert_int_equal(t->n_zones, 0);
        assert_int_equal(t->n_lists, 0);
        assert_non_null(e->reason);
        assert_true(e->line >= 1);
    }
    return r;
}

static bool zones_equal(const struct zone *a, const struct zone *b)
{
    return strcmp(a->name, b->name) == 0 && a->node == b->node &&
           a->has_high_minmax == b->has_high_minmax && a->free == b->free && a->boost == b->boost &&
           a->min == b->min && a->low == b->low && a->high == b->high && a->spanned == b->spanned &&
           a->present == b->present && a->managed == b->managed && a->first_list == b->first_list &&
           a->n_lists == b->n_lists;
}

/* True if t is the first zones of full, each with all its lists. */
static bool is_prefix(const struct zone_table *t, const struct zone_table *full)
{
    if (t->n_zones > full->n_zones || t->n_lists > full->n_lists)
        return false;
    for (uint32_t i = 0; i < t->n_zones; i++)
        if (!zones_equal(&t->zones[i], &full->zones[i]))
            return false;
    return memcmp(t->lists, full->lists, t->n_lists * sizeof(t->lists[0])) == 0;
}

struct sums {
    uint32_t nodes, zones, populated, cpus, lists;
    uint64_t free, managed, low, count, high, batch, high_max;
};

static struct sums sum_table(const struct zone_table *t)
{
    struct sums s = {.zones = t->n_zones, .lists = t->n_lists};

    for (uint32_t i = 0; i < t->n_zones; i++) {
        const struct zone *z = &t->zones[i];
        s.nodes += i == 0 || z->node != t->zones[i - 1].node;
        s.populated += zone_populated(z);
        s.cpus = MAX(s.cpus, z->n_lists);
        s.free += z->free;
        s.managed += z->managed;
        s.low += z->low;
    }
    for (uint32_t i = 0; i < t->n_lists; i++) {
        s.count += t->lists[i].count;
        s.high += t->lists[i].high;
        s.batch += t->lists[i].batch;
        s.high_max += t->lists[i].high_max;
    }
    return s;
}

/* The real dumps. The sums, and the largest zone's last list, were counted by a script of
 * regular expressions that shares nothing with the parser. */
static const struct dump {
    const char *name;
    struct sums sums;
    bool has_boost, has_reserved_ha;
    struct {
        int node;
        const char *zone;
        uint64_t managed, low, high;
        uint32_t cpu, count, list_high, batch;
    } largest;
} dumps[] = {
    {"01-x86-6.18.44-2cpu-firecracker",
     {1, 5, 3, 2, 6, 2402219, 4348469, 21272, 16781, 18078, 254, 543558},
     true,
     false,
     {0, "Normal", 3571712, 17448, 21019, 1, 8533, 8850, 63}},
    {"02-x86-rhel9-5.14.0-325-1cpu",
     {1, 5, 2, 1, 2, 63022, 197488, 10794, 2862, 10794, 32, 0},
     true,
     false,
     {0, "DMA32", 193648, 10557, 12668, 0, 2862, 10557, 31}},
    {"03-arm64-5.14to5.15-12cpu-64g",
     {1, 4, 2, 12, 24, 7766843, 16087234, 27343, 12916, 29496, 1512, 0},
     false,
     false,
     {0, "Normal", 15579362, 26481, 42054, 11, 343, 2206, 63}},
    {"05-x86-5.14to5.17-8cpu-2node",
     {2, 10, 4, 8, 32, 1052928, 2035432, 28155, 32230, 56304, 1520, 0},
     false,
     false,
     {1, "Normal", 1020184, 14160, 16992, 7, 2816, 3540, 63}},
    {"06-x86-5.12.14-4cpu",
     {1, 4, 3, 4, 12, 3555164, 4082496, 42237, 1616, 3024, 508, 0},
     false,
     false,
     {0, "Normal", 3200037, 33121, 39745, 3, 99, 378, 63}},
    {"07-x86-rhel8.8-4.18.0-477-4cpu",
     {1, 5, 3, 4, 12, 744407, 1325177, 21118, 1128, 1680, 284, 0},
     false,
     false,
     {0, "DMA32", 765904, 12177, 14612, 3, 144, 378, 63}},
    {"08-x86-rhcos-4.18.0-80-2cpu",
     {1, 5, 3, 2, 6, 136835, 2041137, 21118, 285, 456, 78, 0},
     false,
     false,
     {0, "Normal", 1042033, 10855, 13026, 1, 24, 42, 7}},
    {"09-x86-5.6to5.8-8cpu-30g",
     {1, 5, 3, 8, 24, 5071115, 8189106, 25072, 3318, 6048, 1016, 0},
     false,
     false,
     {0, "Normal", 7654794, 23461, 31113, 7, 342, 378, 63}},
    {"10-x86-4.18to5.3-8cpu",
     {1, 5, 3, 8, 24, 226757, 2015473, 34942, 4706, 6048, 1016, 0},
     false,
     false,
     {0, "Normal", 1268711, 13842, 16508, 7, 264, 378, 63}},
    {"11-x86-4.9to4.12-4cpu",
     {1, 3, 3, 4, 12, 816109, 1005245, 21117, 736, 1488, 252, 0},
     false,
     false,
     {0, "DMA32", 757733, 15886, 19063, 3, 0, 186, 31}},
    {"13-x86-4.14to4.18-2cpu",
     {1, 5, 3, 2, 6, 631224, 967899, 21117, 349, 456, 78, 0},
     false,
     false,
     {0, "DMA32", 718717, 15641, 18769, 1, 164, 186, 31}},
    {"14-x86-3.13.0-77-8cpu",
     {1, 3, 3, 8, 24, 1381407, 2032971, 21117, 2142, 2976, 504, 0},
     false,
     false,
     {0, "Normal", 1203593, 12507, 15009, 7, 126, 186, 31}},
    {"15-x86-3.2.0-58-8cpu",
     {1, 3, 3, 8, 24, 1435033, 2050416, 21117, 1543, 2976, 504, 0},
     false,
     false,
     {0, "Normal", 1217664, 12541, 15049, 7, 96, 186, 31}},
    {"17-x86-3.15to3.16-32cpu-2node-128g",
     {2, 4, 4, 32, 128, 21821632, 32957763, 28156, 6165, 17856, 3008, 0},
     false,
     false,
     {1, "Normal", 16514387, 14110, 16932, 31, 177, 186, 31}},
    {"18-arm32-3.4.5-1cpu-highmem",
     {1, 2, 2, 1, 2, 51729, 250650, 1181, 305, 372, 62, 0},
     false,
     false,
     {0, "HighMem", 129238, 311, 496, 0, 160, 186, 31}},
    {"20-arm32-4.1.25-2cpu-router",
     {1, 1, 1, 2, 2, 388, 23603, 382, 13, 36, 6, 0},
     false,
     false,
     {0, "Normal", 23603, 382, 459, 1, 2, 18, 3}},
    {"21-s390x-next20181217-8cpu",
     {1, 3, 2, 8, 16, 1432421, 1542712, 7173, 1107, 3744, 624, 0},
     false,
     false,
     {0, "Normal", 1022150, 4754, 5776, 7, 63, 90, 15}},
    {"25-x86-5.6to5.8-24cpu-96g",
     {1, 5, 3, 24, 72, 1351747, 24720253, 41586, 5753, 18144, 3048, 0},
     false,
     false,
     {0, "Normal", 24247810, 40833, 65078, 23, 338, 378, 63}},
    {"26-android-vendor-4.19-4cpu",
     {1, 3, 1, 4, 4, 133183, 374424, 6006, 971, 1512, 252, 0},
     false,
     false,
     {0, "DMA32", 374424, 6006, 6380, 3, 296, 378, 63}},
    {"27-x86-3.7rc6-4cpu-4g",
     {1, 3, 3, 4, 12, 215020, 1001359, 21116, 1063, 1488, 252, 0},
     false,
     false,
     {0, "DMA32", 874976, 18453, 22144, 3, 136, 186, 31}},
    {"28-arm32-UP-1cpu-router",
     {1, 1, 1, 1, 1, 33393, 41146, 497, 11, 42, 7, 0},
     false,
     false,
     {0, "Normal", 41146, 497, 597, 0, 11, 42, 7}},
    {"29-arm720t-2.6.1x-UP-hotcold",
     {1, 1, 1, 1, 1, 5410, 8192, 226, 2, 6, 1, 0},
     false,
     false,
     {0, "DMA", 8192, 226, 271, 0, 2, 6, 1}},
};

/* What is peculiar in them, by tests/inputs/INDEX.md. */
static const struct peculiar {
    const char *name;
    int node;
    const char *zone;
    uint64_t free, min, low, managed;
    bool has_list;
    struct zone_list first;
} peculiarities[] = {
    {"01-x86-6.18.44-2cpu-firecracker", 0, "DMA", 3840, 14, 17, 3840, true, {0, 0, 0, 1, 8, 240}},
    /* high below high_min */
    {"01-x86-6.18.44-2cpu-firecracker",
     0,
     "DMA32",
     772791,
     3003,
     3775,
     772917,
     true,
     {0, 63, 252, 63, 1887, 48307}},
    {"01-x86-6.18.44-2cpu-firecracker", 0, "Movable", 0, 32, 32, 0, false, {0}},
    /* high is the low watermark, and batch is stale */
    {"02-x86-rhel9-5.14.0-325-1cpu",
     0,
     "DMA32",
     59214,
     8446,
     10557,
     193648,
     true,
     {0, 2862, 10557, 31, 0, 0}},
    /* at its floor of 4 batches */
    {"03-arm64-5.14to5.15-12cpu-64g",
     0,
     "DMA",
     503776,
     355,
     862,
     507872,
     true,
     {0, 0, 252, 63, 0, 0}},
    {"05-x86-5.14to5.17-8cpu-2node", 1, "DMA", 0, 0, 0, 0, false, {0}},
    /* free just below low, and batch is stale */
    {"08-x86-rhcos-4.18.0-80-2cpu",
     0,
     "Normal",
     10852,
     8684,
     10855,
     1042033,
     true,
     {0, 38, 42, 7, 0, 0}},
    {"10-x86-4.18to5.3-8cpu",
     0,
     "DMA32",
     204252,
     19510,
     21059,
     742806,
     true,
     {0, 345, 378, 63, 0, 0}},
    /* no managed line: present */
    {"15-x86-3.2.0-58-8cpu",
     0,
     "Normal",
     607278,
     10033,
     12541,
     1217664,
     true,
     {0, 158, 186, 31, 0, 0}},
    {"20-arm32-4.1.25-2cpu-router", 0, "Normal", 388, 306, 382, 23603, true, {0, 11, 18, 3, 0, 0}},
    {"21-s390x-next20181217-8cpu",
     0,
     "Normal",
     912587,
     3732,
     4754,
     1022150,
     true,
     {0, 86, 90, 15, 0, 0}},
    /* the hot list of two */
    {"29-arm720t-2.6.1x-UP-hotcold", 0, "DMA", 5410, 181, 226, 8192, true, {0, 2, 6, 1, 0, 0}},
};

static void test_dumps(void **state)
{
    (void)state;
    struct zone_table t = {0};

    for (size_t i = 0; i < ARRAY_SIZE(dumps); i++) {
        const struct dump *d = &dumps[i];
        struct parse_error e;
        size_t len;
        _cleanup_free_ char *text = load(d->name, ".zoneinfo", &len);
        if (parse_exact(text, len, &t, &e) < 0)
            fail_msg("%s:%u: %s", d->name, e.line, e.reason);

        struct sums s = sum_table(&t);
        if (memcmp(&s, &d->sums, sizeof(s)) != 0)
            fail_msg("%s: %u nodes, %u zones (%u populated), %u CPUs, %u lists, sum of high %lu",
                     d->name, s.nodes, s.zones, s.populated, s.cpus, s.lists,
                     (unsigned long)s.high);
        assert_int_equal(t.has_boost, d->has_boost);
        assert_int_equal(t.has_reserved_ha, d->has_reserved_ha);

        const struct zone *z = &t.zones[0];
        for (uint32_t k = 0; k < t.n_zones; k++)
            if (t.zones[k].n_lists > 0 && t.zones[k].managed > z->managed)
                z = &t.zones[k];
        const struct zone_list *l = &t.lists[z->first_list + z->n_lists - 1];
        assert_int_equal(z->node, d->largest.node);
        assert_string_equal(z->name, d->largest.zone);
        assert_int_equal(z->managed, d->largest.managed);
        assert_int_equal(z->low, d->largest.low);
        assert_int_equal(z->high, d->largest.high);
        assert_int_equal(l->cpu, d->largest.cpu);
        assert_int_equal(l->count, d->largest.count);
        assert_int_equal(l->high, d->largest.list_high);
        assert_int_equal(l->batch, d->largest.batch);
    }
    zone_table_done(&t);
    assert_null(t.zones);
}

static const struct zone *find_zone(const struct zone_table *t, int node, const char *name)
{
    for (uint32_t i = 0; i < t->n_zones; i++)
        if (t->zones[i].node == node && strcmp(t->zones[i].name, name) == 0)
            return &t->zones[i];
    fail_msg("no zone %s in node %d", name, node);
    return NULL;
}

static void test_peculiarities(void **state)
{
    (void)state;
    struct zone_table t = {0};

    for (size_t i = 0; i < ARRAY_SIZE(peculiarities); i++) {
        const struct peculiar *p = &peculiarities[i];
        struct parse_error e;
        size_t len;
        _cleanup_free_ char *text = load(p->name, ".zoneinfo", &len);
        assert_int_equal(parse_exact(text, len, &t, &e), 0);

        const struct zone *z = find_zone(&t, p->node, p->zone);
        assert_int_equal(z->free, p->free);
        assert_int_equal(z->min, p->min);
        assert_int_equal(z->low, p->low);
        assert_int_equal(z->managed, p->managed);
        assert_int_equal(z->n_lists > 0, p->has_list);
        assert_int_equal(z->has_high_minmax, p->first.high_max > 0);
        if (p->has_list)
            assert_memory_equal(&t.lists[z->first_list], &p->first, sizeof(p->first));
    }
    zone_table_done(&t);
}

/* Excerpts out of postings: none is whole, so none may pass for a reading. */
static void test_excerpts(void **state)
{
    static const struct {
        const char *name;
        unsigned line;
        const char *reason;
    } excerpts[] = {
        {"30-PARTIAL-x86-6.1y-256cpu-1T", 29, "start_pfn:"}, /* three CPUs, then "..." */
        {"31-PARTIAL-x86-pmem-cpuless-node-5.13mm", 1, "begin with a \"Node\""},
        {"32-PARTIAL-6.18rc-reserved_highatomic", 1, "begin with a \"Node\""},
        {"33-PARTIAL-android-5.10-samsung", 9, "protection:"},
        {"35-PARTIAL-x86-5.x-8plus-cpu-30g-memstrack", 1, "begin with a \"Node\""},
        {"36-PARTIAL-x86-5.x-32plus-cpu-netdata", 39, "no pageset"},
        {"37-PARTIAL-uek6.12-ol9-32cpu", 1, "begin with a \"Node\""},
    };
    (void)state;
    struct zone_table t = {0};

    for (size_t i = 0; i < ARRAY_SIZE(excerpts); i++) {
        struct parse_error e;
        size_t len;
        _cleanup_free_ char *text = load(excerpts[i].name, ".zoneinfo", &len);
        assert_int_equal(parse_exact(text, len, &t, &e), -EBADMSG);
        if (e.line != excerpts[i].line || !strstr(e.reason, excerpts[i].reason))
            fail_msg("%s:%u: %s", excerpts[i].name, e.line, e.reason);
    }
    zone_table_done(&t);
}

static bool starts(const char *s, const char *word)
{
    return strncmp(s, word, strlen(word)) == 0;
}

/* The end of a block. Lines behind start_pfn that a whole zone can do without do not count, nor
 * does the newline behind "protection: (0, 0)". */
static bool is_border(const char *text, size_t at)
{
    const char *s = text + at;

    if (at > 0 && s[-1] == ')' && *s == '\n')
        s++;
    else if (at > 0 && s[-1] != '\n')
        return *s == '\0';
    for (;;) {
        const char *word = s + strspn(s, " ");
        if (!starts(word, "inactive_ratio:") && !starts(word, "node_inactive_ratio:") &&
            !starts(word, "reserved_highatomic:") && !starts(word, "free_highatomic:"))
            return *s == '\0' || starts(s, "Node ");
        s = strchr(s, '\n') + 1;
    }
}

/* Cut anywhere, a dump is an error or its first whole zones. The time this takes grows with the
 * square of the length: of the few large dumps it tries every 13th byte. */
static void check_truncations(const char *name, const char *text, size_t len)
{
    struct zone_table full = {0}, t = {0};
    struct parse_error e;
    size_t step = len > 6500 ? 13 : 1;

    assert_int_equal(parse_exact(text, len, &full, &e), 0);
    for (size_t cut = 0; cut < len; cut += step) {
        int r = parse_exact(text, cut, &t, &e);
        bool node_next = cut > 0 && starts(text + cut, "Node ");
        if (r < 0 && (r != -EBADMSG || node_next))
            fail_msg("%s cut at %zu: %d, line %u: %s", name, cut, r, e.line, e.reason);
        if (r == 0 && (!is_border(text, cut) || !is_prefix(&t, &full)))
            fail_msg("%s cut at %zu parses to %u zones and %u lists", name, cut, t.n_zones,
                     t.n_lists);
    }
    zone_table_done(&full);
    zone_table_done(&t);
}

static const char *const optional[] = {"boost ", "managed "};
static const char *const optional_tail[] = {"reserved_highatomic:"};
static const char *const known[] = {
    "Node ",
    "pages free ",
    "boost ",
    "min ",
    "low ",
    "high ",
    "spanned ",
    "present ",
    "managed ",
    "pagesets",
    "protection:",
    "cpu:",
    "count:",
    "high:",
    "batch:",
    "high_min:",
    "high_max:",
    "start_pfn:",
    "reserved_highatomic:",
};

static bool is_one_of(const char *line, const char *const *words, size_t n)
{
    line += strspn(line, " ");
    for (size_t i = 0; i < n; i++)
        if (starts(line, words[i]))
            return true;
    return false;
}

/* A line that is lost or doubled is an error, or one that the table does not depend on. The only
 * loss that cannot be seen is that of an optional line in a dump of one such zone. */
static void check_lines(const char *name, const char *text, size_t len)
{
    struct zone_table full = {0}, t = {0};
    struct parse_error e;
    _cleanup_free_ char *edited = malloc(2 * len);
    assert_non_null(edited);

    assert_int_equal(parse_exact(text, len, &full, &e), 0);
    uint32_t populated = sum_table(&full).populated;
    unsigned line = 1;
    for (const char *s = text, *next; s < text + len; s = next, line++) {
        next = strchr(s, '\n');
        next = next ? next + 1 : text + len;
        size_t before = (size_t)(s - text), after = (size_t)(text + len - next);
        size_t size = (size_t)(next - s);
        bool matters = is_one_of(s, known, ARRAY_SIZE(known));
        bool unseen = (full.n_zones == 1 && is_one_of(s, optional, ARRAY_SIZE(optional))) ||
                      (populated == 1 && is_one_of(s, optional_tail, ARRAY_SIZE(optional_tail)));

        memcpy(edited, text, before);
        memcpy(edited + before, next, after);
        int r = parse_exact(edited, before + after, &t, &e);
        if (!unseen &&
            (matters ? r != -EBADMSG : r < 0 || t.n_zones != full.n_zones || !is_prefix(&t, &full)))
            fail_msg("%s without line %u: %d", name, line, r);

        memcpy(edited + before, s, size);
        memcpy(edited + before + size, s, size + after);
        r = parse_exact(edited, len + size, &t, &e);
        if (matters ? r != -EBADMSG : r < 0 || t.n_zones != full.n_zones || !is_prefix(&t, &full))
            fail_msg("%s with line %u twice: %d", name, line, r);
    }
    zone_table_done(&full);
    zone_table_done(&t);
}

static void test_damage(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(dumps); i++) {
        size_t len;
        _cleanup_free_ char *text = load(dumps[i].name, ".zoneinfo", &len);
        check_truncations(dumps[i].name, text, len);
        if (text[len - 1] == '\n') /* an edit of 08 would join two lines */
            check_lines(dumps[i].name, text, len);
    }
}

/* The layout of 7.x and that of 6.18, small enough to be cut at each byte. */
static void test_damage_synthetic(void **state)
{
    static const struct synth_zone zones[] = {
        {"DMA", 1, 4095, 3998, 3840, 14, 0},
        {"Normal", 1048576, 5505024, 5505024, 3571712, 13877, 10},
        {.name = "Movable"},
        {0},
    };
    static const struct synth_node nodes[] = {{0, 2, zones}, {3, 1, zones}, {0}};
    static const struct synth_machine machines[] = {
        {"SYNTHETIC-small-7.2", SYNTH_7_2, 4096, 0, 2, 1, "", nodes},
        {"SYNTHETIC-small-6.18", SYNTH_6_18, 4096, 8, 1, 1, "nr_vendor", nodes},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        size_t len;
        _cleanup_free_ char *text = synth_zoneinfo(&machines[i], &len);
        assert_non_null(text);
        check_truncations(machines[i].name, text, len);
        check_lines(machines[i].name, text, len);
    }
}

#define ZONE_OF(node, name, present)                                                               \
    "Node " node ", zone " name "\n  pages free     10\n        min      1\n        low      2\n"  \
    "        high     3\n        spanned  9\n        present  " present "\n"                       \
    "        managed  8\n        protection: (0, 0)\n"
#define ZONE ZONE_OF("0", "  Normal", "9") "  pagesets\n" /* ends at line 10 */
#define FIELDS "              count: 1\n              high:  6\n              batch: 1\n"
#define CPU(n) "    cpu: " n "\n" FIELDS
#define TAIL "  start_pfn:           1\n"

static void test_hostile(void **state)
{
    static const struct {
        const char *text;
        unsigned line; /* 0: it parses */
        const char *reason;
    } cases[] = {
        {ZONE CPU("0") TAIL, 0, NULL},
        {ZONE CPU("0") CPU("4095") TAIL, 0, NULL},
        {ZONE_OF("0", "Movable", "0"), 0, NULL},
        {ZONE_OF("0", "  averyveryverylongname", "0"), 0, NULL},
        /* the kernel's word for it is INT_MAX, ours 32 bits */
        {ZONE "    cpu: 2147483647\n" FIELDS TAIL, 0, NULL},
        /* unknown lines, with and without indentation, are skipped */
        {ZONE CPU("0") "nr_gpu_heap 7\n\n   \n\t9 9\n  vm stats threshold: 4\n" TAIL "...\n", 0,
         NULL},
        {ZONE CPU("0") TAIL "Nodes\n", 0, NULL},

        {"", 1, "no zone"},
        {"\n", 1, "begin with a \"Node\""},
        {" Node 0, zone Normal\n", 1, "begin with a \"Node\""},
        {"Node 0, zone Normal", 1, "cut off"},
        {"Node\n", 1, "begin with a \"Node\""},
        {"Node 0\n", 1, "without a zone"},
        {"Node 0, zone\n", 1, "without a zone"},
        {"Node 0, zone \n", 1, "without a name"},
        {"Node 0, zone    \n", 1, "without a name"},
        {"Node 0, zone Nor mal\n", 1, "printable"},
        {"Node 0, zone Nor\x1b[2Jmal\n", 1, "printable"},
        {"Node 0, zone Norm\xc3\xa4l\n", 1, "printable"},
        {"Node -1, zone Normal\n", 1, "number expected"},
        {"Node 2147483648, zone Normal\n", 1, "32 bits"},
        {"Node 99999999999999999999, zone Normal\n", 1, "64 bits"},

        {ZONE "    cpu: 0\n" TAIL, 12, "no \"count:\""},
        {ZONE "    cpu: 0\n              count: 1\n" CPU("1") TAIL, 13, "no \"high:\""},
        {ZONE FIELDS TAIL, 11, "before any \"cpu:\""},
        {ZONE TAIL, 11, "no pageset"},
        {ZONE CPU("0"), 14, "no \"start_pfn:\""},
        {ZONE CPU("0") CPU("0") TAIL, 15, "CPU twice"},
        {ZONE CPU("1") CPU("0") TAIL, 15, "CPU twice"},
        {ZONE CPU("-1") TAIL, 11, "number expected"},
        {ZONE CPU("2147483648") TAIL, 11, "32 bits"},
        {ZONE CPU("0 x") TAIL, 11, "after the number of the CPU"},
        {ZONE CPU("0") TAIL CPU("1"), 16, "\"cpu:\" out of place"},
        {ZONE CPU("0") TAIL FIELDS, 16, "\"count:\" twice or out of place"},
        {ZONE CPU("0") TAIL TAIL, 16, "\"start_pfn:\" twice"},
        {ZONE CPU("0") FIELDS TAIL, 15, "\"count:\" twice"},
        {ZONE CPU("0") "        min      1\n" TAIL, 15, "\"min\" twice or out of place"},
        {ZONE CPU("0") "  pagesets\n" TAIL, 15, "\"pagesets\" twice"},
        {ZONE CPU("0") "  pages free     1\n" TAIL, 15, "\"pages free\" twice"},
        {ZONE CPU("0") "              high_min: 1\n" TAIL, 16, "\"high_max:\" not both"},
        {ZONE CPU("0") CPU("1") "              high_min: 1\n              high_max: 2\n" TAIL, 21,
         "pageset whose fields differ"},
        {ZONE CPU("0") TAIL
         "  reserved_highatomic: 1\n" ZONE_OF("0", "Other", "9") "  pagesets\n" CPU("0") TAIL,
         31, "zone whose fields differ"},

        {ZONE "    cpu: 0\n              count: 4294967296\n", 12, "32 bits"},
        {ZONE "    cpu: 0\n              count: 18446744073709551616\n", 12, "64 bits"},
        {ZONE "    cpu: 0\n              count: 99999999999999999999999999\n", 12, "64 bits"},
        {ZONE "    cpu: 0\n              count: -1\n", 12, "number expected"},
        {ZONE "    cpu: 0\n              count:\n", 12, "number expected"},
        {ZONE "    cpu: 0\n              count: 1x\n", 12, "text after a number"},
        {ZONE "    cpu: 0\n              count: 1 2\n", 12, "text after a number"},
        {ZONE "    cpu: 0\n              count: 1\r\n", 12, "text after a number"},
        {"Node 0, zone Normal\n  pages free     18446744073709551616\n", 2, "64 bits"},
        {"Node 0, zone Normal\n  pages free     1e3\n", 2, "text after a number"},

        {ZONE CPU("0") TAIL ZONE CPU("0") TAIL, 16, "zone twice"},
        {ZONE_OF("1", "Normal", "0") ZONE_OF("0", "Normal", "0"), 10, "nodes not in order"},
        {ZONE_OF("0", "Normal", "0") ZONE_OF("1", "Normal", "0") ZONE_OF("0", "DMA", "0"), 19,
         "nodes not in order"},
        {ZONE_OF("0", "Normal", "1"), 9, "no pageset"},
        {"Node 0, zone DMA\nNode 0, zone Normal\n", 2, "no \"pages free\""},
        {"Node 0, zone DMA\n        min      1\n", 2, "\"min\" twice or out of place"},

        /* 2.6: the cold list is read, and forgotten */
        {ZONE CPU("0 pcp: 0") CPU("0 pcp: 1") CPU("1 pcp: 0") CPU("1 pcp: 1") TAIL, 0, NULL},
        {ZONE CPU("0 pcp: 1") TAIL, 11, "without a hot one"},
        {ZONE CPU("0 pcp: 0") CPU("0 pcp: 0") TAIL, 15, "CPU twice"},
        {ZONE CPU("0 pcp: 0") CPU("0 pcp: 1") CPU("0 pcp: 1") TAIL, 19, "without a hot one"},
        {ZONE CPU("0 pcp: 0") CPU("1 pcp: 1") TAIL, 15, "without a hot one"},
        {ZONE CPU("0 pcp: 2") TAIL, 11, "neither hot"},
        {ZONE CPU("0 pcp: 0") "    cpu: 0 pcp: 1\n" TAIL, 16, "no \"count:\""},
    };
    (void)state;
    struct zone_table t = {0};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct parse_error e;
        int r = parse_exact(cases[i].text, strlen(cases[i].text), &t, &e);
        if (cases[i].reason == NULL && r < 0)
            fail_msg("case %zu: line %u: %s", i, e.line, e.reason);
        if (cases[i].reason != NULL &&
            (r != -EBADMSG || e.line != cases[i].line || !strstr(e.reason, cases[i].reason)))
            fail_msg("case %zu: %d, line %u: %s; expected line %u: %s", i, r, e.line,
                     e.reason ? e.reason : "none", cases[i].line, cases[i].reason);
    }
    zone_table_done(&t);
}

static void test_hot_list(void **state)
{
    static const char text[] =
        ZONE CPU("0 pcp: 0") "    cpu: 0 pcp: 1\n              count: 77\n"
                             "              high:  77\n              batch: 77\n" TAIL;
    static const struct zone_list hot = {.count = 1, .high = 6, .batch = 1};
    (void)state;
    struct zone_table t = {0};
    struct parse_error e;

    assert_int_equal(parse_exact(text, strlen(text), &t, &e), 0);
    assert_int_equal(t.n_lists, 1);
    assert_int_equal(t.zones[0].n_lists, 1);
    assert_memory_equal(&t.lists[0], &hot, sizeof(hot));
    zone_table_done(&t);
}

static void test_embedded_nul(void **state)
{
    static const char text[] = ZONE "    cpu: 0\n              count: 1\0\n" FIELDS TAIL;
    (void)state;
    struct zone_table t = {0};
    struct parse_error e;

    assert_int_equal(parse_exact(text, sizeof(text) - 1, &t, &e), -EBADMSG);
    assert_int_equal(e.line, 12);
    zone_table_done(&t);
}

static char *repeat(const char *head, const char *format, unsigned n, const char *tail,
                    size_t *ret_len)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, ret_len);
    assert_non_null(f);
    fputs(head, f);
    for (unsigned i = 0; i < n; i++) {
        const char *number = strstr(format, "%u");
        fprintf(f, "%.*s%u%s", (int)(number - format), format, i, number + 2);
    }
    fputs(tail, f);
    assert_int_equal(fclose(f), 0);
    return text;
}

static void check_limit(const char *head, const char *format, unsigned limit, const char *tail)
{
    struct zone_table t = {0};
    struct parse_error e;

    for (unsigned over = 0; over <= 1; over++) {
        size_t len;
        _cleanup_free_ char *text = repeat(head, format, limit + over, tail, &len);
        assert_int_equal(zoneinfo_parse(text, len, &t, &e), over ? -EFBIG : 0);
        assert_int_equal(t.n_zones == 0, over);
    }
    assert_non_null(strstr(e.reason, "more zones or lists"));
    zone_table_done(&t);
}

static void test_limits(void **state)
{
    (void)state;
    check_limit("", ZONE_OF("%u", "DMA", "0"), 4096, "");
    check_limit(ZONE, CPU("%u"), 1u << 20, TAIL);
}

static void check_synthetic(const struct synth_machine *m)
{
    struct zone_table t = {0};
    struct parse_error e;
    uint32_t i = 0, cpus = synth_cpus(m);
    size_t len;

    _cleanup_free_ char *text = synth_zoneinfo(m, &len);
    assert_non_null(text);
    if (parse_exact(text, len, &t, &e) < 0)
        fail_msg("%s:%u: %s", m->name, e.line, e.reason);
    assert_true(t.has_boost);
    assert_int_equal(t.has_reserved_ha, m->layout == SYNTH_7_2);

    for (const struct synth_node *n = m->nodes; n->zones; n++) {
        for (const struct synth_zone *s = n->zones; s->name; s++, i++) {
            const struct zone *z = &t.zones[i];
            struct synth_list expected = synth_list(m, n, s);
            assert_int_equal(z->node, n->id);
            assert_string_equal(z->name, s->name);
            assert_int_equal(z->managed, s->managed);
            assert_int_equal(z->spanned, s->spanned);
            assert_int_equal(z->boost, s->boost);
            assert_int_equal(z->min, s->min + s->boost);
            assert_int_equal(z->n_lists, s->present ? cpus : 0);
            assert_int_equal(z->has_high_minmax, s->present && m->layout != SYNTH_6_1);
            for (uint32_t k = 0; k < z->n_lists; k++) {
                const struct zone_list *l = &t.lists[z->first_list + k];
                assert_int_equal(l->cpu, synth_cpu(m, k));
                assert_int_equal(l->batch, expected.batch);
                assert_int_equal(l->high_min, expected.high_min);
                assert_int_equal(l->high_max, expected.high_max);
                assert_true(l->high == expected.high || (l->high == 0 && z->has_high_minmax));
                assert_true(l->count <= l->high);
            }
        }
    }
    assert_int_equal(i, t.n_zones);
    zone_table_done(&t);
}

static void test_synthetic(void **state)
{
    (void)state;
    for (const struct synth_machine *m = synth_machines; m->name; m++)
        check_synthetic(m);
}

/* The generator itself, against figures of real machines. */
static void test_generator(void **state)
{
    static const struct {
        const char *name;
        unsigned node, zone, first_gap;
        struct synth_list list;
    } cases[] = {
        /* tests/inputs/30 */
        {"SYNTHETIC-x86-6.1-256cpu-1T", 0, 2, 255, {63, 6392, 0, 0}},
        {"SYNTHETIC-x86-6.1-256cpu-1T-floor", 0, 2, 255, {63, 252, 0, 0}},
        {"SYNTHETIC-x86-6.18-256cpu-1T", 0, 2, 255, {63, 74478, 6392, 142565}},
        {"SYNTHETIC-ppc64le-6.1-64k-120cpu", 2, 0, 3, {3, 44, 0, 0}},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct synth_machine *m = synth_machine(cases[i].name);
        assert_non_null(m);
        const struct synth_node *n = &m->nodes[cases[i].node];
        struct synth_list l = synth_list(m, n, &n->zones[cases[i].zone]);
        if (memcmp(&l, &cases[i].list, sizeof(l)) != 0)
            fail_msg("%s: batch %u, high %u, %u to %u", m->name, l.batch, l.high, l.high_min,
                     l.high_max);
        assert_int_equal(synth_cpu(m, cases[i].first_gap), cases[i].first_gap);
    }
    /* SMT4 of 8 threads a core */
    assert_int_equal(synth_cpu(synth_machine("SYNTHETIC-ppc64le-6.1-64k-120cpu"), 4), 8);
    assert_null(synth_machine("none"));
}

static void test_no_allocation_once_warm(void **state)
{
    (void)state;
    if (alloc_count() == UINT64_MAX) {
        print_message("SKIP: a sanitizer owns malloc(): allocations cannot be counted\n");
        skip();
    }
    struct zone_table t = {0};
    struct parse_error e;
    size_t len, small_len;
    _cleanup_free_ char *text = synth_zoneinfo(synth_machine("SYNTHETIC-x86-6.18-256cpu-1T"), &len);
    _cleanup_free_ char *small = load("01-x86-6.18.44-2cpu-firecracker", ".zoneinfo", &small_len);

    uint64_t cold = alloc_count();
    assert_int_equal(zoneinfo_parse(text, len, &t, &e), 0);
    uint64_t warm = alloc_count();
    assert_true(warm > cold);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(zoneinfo_parse(small, small_len, &t, &e), 0);
        assert_int_equal(zoneinfo_parse(text, len - 9, &t, &e), -EBADMSG);
        assert_int_equal(zoneinfo_parse(text, len, &t, &e), 0);
    }
    assert_int_equal(alloc_count(), warm);
    zone_table_done(&t);
}

static int temp_file(char *path)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    return fd;
}

static void put(int fd, const char *text, size_t len)
{
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, text, len, 0), len);
}

static void test_read(void **state)
{
    char path[] = "/tmp/test_zoneinfo.XXXXXX";
    (void)state;
    struct zone_table t = {0};
    struct parse_error e = {0};
    struct zoneinfo *z = NULL;
    size_t len, small_len;
    _cleanup_free_ char *text = synth_zoneinfo(synth_machine("SYNTHETIC-x86-6.1-256cpu-1T"), &len);
    _cleanup_free_ char *small = load("28-arm32-UP-1cpu-router", ".zoneinfo", &small_len);
    _cleanup_close_ int fd = temp_file(path);

    assert_int_equal(zoneinfo_open("/tmp/test_zoneinfo.none/x", &z), -ENOENT);
    assert_null(z);
    assert_int_equal(zoneinfo_open(path, &z), 0);
    assert_int_equal(unlink(path), 0); /* from here on only the descriptor counts */
    assert_int_equal(zoneinfo_reads(z), 0);

    assert_int_equal(zoneinfo_read(z, &t, &e), -EBADMSG);
    put(fd, small, small_len);
    assert_int_equal(zoneinfo_read(z, &t, &e), 0);
    assert_int_equal(t.n_lists, 1);
    put(fd, text, len); /* larger than the buffer */
    assert_int_equal(zoneinfo_read(z, &t, &e), 0);
    assert_int_equal(t.n_lists, 768);
    uint64_t warm = alloc_count();
    put(fd, small, small_len);
    assert_int_equal(zoneinfo_read(z, &t, &e), 0);
    put(fd, text, len - 2);
    assert_int_equal(zoneinfo_read(z, &t, &e), -EBADMSG);
    assert_int_equal(t.n_lists, 0);
    put(fd, text, len);
    assert_int_equal(zoneinfo_read(z, &t, &e), 0);
    if (warm == UINT64_MAX)
        print_message("SKIP: a sanitizer owns malloc(): allocations cannot be counted\n");
    assert_int_equal(alloc_count(), warm);
    assert_int_equal(zoneinfo_reads(z), 6);

    zoneinfo_close(z);
    zoneinfo_close(NULL);
    zone_table_done(&t);
}

static void test_read_fails(void **state)
{
    (void)state;
    struct zone_table t = {0};
    struct parse_error e = {.line = 7};
    struct zoneinfo *z;

    assert_int_equal(zoneinfo_open("/", &z), 0);
    assert_int_equal(zoneinfo_read(z, &t, &e), -EISDIR);
    assert_int_equal(e.line, 0);
    assert_non_null(e.reason);
    assert_int_equal(zoneinfo_reads(z), 1);
    zoneinfo_close(z);
}

static void test_live(void **state)
{
    (void)state;
    struct zone_table t = {0};
    struct parse_error e = {0};
    struct zoneinfo *z = NULL;

    int r = zoneinfo_open("/proc/zoneinfo", &z);
    if (r == -ENOENT || r == -EACCES) {
        print_message("SKIP: this machine shows no /proc/zoneinfo: %s\n", strerror(-r));
        skip();
    }
    assert_int_equal(r, 0);
    for (int i = 0; i < 3; i++) {
        if (zoneinfo_read(z, &t, &e) < 0)
            fail_msg("/proc/zoneinfo:%u: %s", e.line, e.reason);
        assert_true(sum_table(&t).populated > 0);
    }
    zoneinfo_close(z);
    zone_table_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dumps),
        cmocka_unit_test(test_peculiarities),
        cmocka_unit_test(test_excerpts),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_damage_synthetic),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_hot_list),
        cmocka_unit_test(test_embedded_nul),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_synthetic),
        cmocka_unit_test(test_generator),
        cmocka_unit_test(test_no_allocation_once_warm),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_read_fails),
        cmocka_unit_test(test_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
