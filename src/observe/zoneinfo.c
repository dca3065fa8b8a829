/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "zoneinfo.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "fileio.h"

#define ZONES_MAX 4096u
#define LISTS_MAX (1u << 20)

/* 183 bytes a list in 6.13 and later, and as much again for what is not a list. */
#define TEXT_MAX ((size_t)LISTS_MAX * 384)

/* zoneinfo_show_print() prints a block a zone, always in these parts and this order. */
enum part {
    PART_HEAD,     /* after "Node 0, zone DMA": statistics of the node */
    PART_ZONE,     /* after "pages free": watermarks, sizes, counters */
    PART_PAGESETS, /* after "pagesets": a list for each online CPU */
    PART_TAIL,     /* after "start_pfn:" */
};

enum field_id {
    F_COUNT,
    F_HIGH,
    F_BATCH,
    F_HIGH_MIN,
    F_HIGH_MAX,
    F_FREE,
    F_BOOST,
    F_MIN,
    F_LOW,
    F_ZONE_HIGH,
    F_SPANNED,
    F_PRESENT,
    F_MANAGED,
    F_PROTECTION,
    F_PAGESETS,
    F_START_PFN,
    F_RESERVED_HA,
    F_MAX,
};

#define BIT(id) (1u << (id))
#define LIST_FIELDS (BIT(F_COUNT) | BIT(F_HIGH) | BIT(F_BATCH) | BIT(F_HIGH_MIN) | BIT(F_HIGH_MAX))
#define LIST_REQUIRED (BIT(F_COUNT) | BIT(F_HIGH) | BIT(F_BATCH))
#define ZONE_OPTIONAL (BIT(F_BOOST) | BIT(F_MANAGED))
#define ZONE_REQUIRED                                                                              \
    (BIT(F_FREE) | BIT(F_MIN) | BIT(F_LOW) | BIT(F_ZONE_HIGH) | BIT(F_SPANNED) | BIT(F_PRESENT) |  \
     BIT(F_PROTECTION))

enum value { VALUE_NONE, VALUE_CHECKED, VALUE_ZONE, VALUE_LIST };

struct field {
    const char *key;
    uint8_t len;
    uint8_t part; /* where it belongs */
    uint8_t next; /* the part that it begins */
    uint8_t value;
    size_t offset;
    const char *unexpected, *missing;
};

#define FIELD(text, in, then, kind, at)                                                            \
    {                                                                                              \
        .key = (text), .len = sizeof(text) - 1, .part = (in), .next = (then), .value = (kind),     \
        .offset = (at), .unexpected = "\"" text "\" twice or out of place",                        \
        .missing = "no \"" text "\" before this line"                                              \
    }
#define ZONE_NUMBER(text, member)                                                                  \
    FIELD(text, PART_ZONE, PART_ZONE, VALUE_ZONE, offsetof(struct zone, member))
#define LIST_NUMBER(text, member)                                                                  \
    FIELD(text, PART_PAGESETS, PART_PAGESETS, VALUE_LIST, offsetof(struct zone_list, member))

static const struct field fields[F_MAX] = {
    [F_COUNT] = LIST_NUMBER("count:", count),
    [F_HIGH] = LIST_NUMBER("high:", high),
    [F_BATCH] = LIST_NUMBER("batch:", batch),
    [F_HIGH_MIN] = LIST_NUMBER("high_min:", high_min),
    [F_HIGH_MAX] = LIST_NUMBER("high_max:", high_max),
    [F_FREE] = FIELD("pages free", PART_HEAD, PART_ZONE, VALUE_ZONE, offsetof(struct zone, free)),
    [F_BOOST] = ZONE_NUMBER("boost", boost),
    [F_MIN] = ZONE_NUMBER("min", min),
    [F_LOW] = ZONE_NUMBER("low", low),
    [F_ZONE_HIGH] = ZONE_NUMBER("high", high),
    [F_SPANNED] = ZONE_NUMBER("spanned", spanned),
    [F_PRESENT] = ZONE_NUMBER("present", present),
    [F_MANAGED] = ZONE_NUMBER("managed", managed),
    [F_PROTECTION] = FIELD("protection:", PART_ZONE, PART_ZONE, VALUE_NONE, 0),
    [F_PAGESETS] = FIELD("pagesets", PART_ZONE, PART_PAGESETS, VALUE_NONE, 0),
    [F_START_PFN] = FIELD("start_pfn:", PART_PAGESETS, PART_TAIL, VALUE_CHECKED, 0),
    [F_RESERVED_HA] = FIELD("reserved_highatomic:", PART_TAIL, PART_TAIL, VALUE_CHECKED, 0),
};

/* Text not yet consumed, of one line. */
struct span {
    const char *p, *end;
};

struct parser {
    struct zone_table *t;
    struct parse_error *error;
    unsigned line;
    enum part part;
    uint32_t seen;          /* fields of the zone in hand; those of lists: of the list in hand */
    uint32_t like_zone;     /* what the first zone had of ZONE_OPTIONAL, with F_FREE */
    uint32_t like_list;     /* the fields of the first list */
    uint32_t like_tail;     /* what the first tail had, with F_START_PFN */
    uint32_t node_first;    /* index of the first zone of the node in hand */
    struct zone_list *list; /* in hand; NULL before the first "cpu:" of a zone */
    struct zone_list cold;  /* stands in for a list that is not kept */
    bool last_cold;         /* the last list was one of those */
};

static int bad(struct parser *p, const char *reason)
{
    *p->error = (struct parse_error){.line = p->line, .reason = reason};
    return -EBADMSG;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip_blanks(struct span *s)
{
    while (s->p < s->end && is_blank(*s->p))
        s->p++;
}

static bool skip_text(struct span *s, const char *text)
{
    size_t len = strlen(text);
    if ((size_t)(s->end - s->p) < len || memcmp(s->p, text, len) != 0)
        return false;
    s->p += len;
    return true;
}

/* Decimal digits, after blanks, up to max. */
static int take_number(struct parser *p, struct span *s, uint64_t max, uint64_t *ret)
{
    uint64_t v = 0;

    skip_blanks(s);
    const char *start = s->p;
    for (; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++)
        if (__builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*s->p - '0'), &v))
            return bad(p, "number of more than 64 bits");
    if (s->p == start)
        return bad(p, "number expected");
    if (v > max)
        return bad(p, "number of more than 32 bits");
    *ret = v;
    return 0;
}

static int take_last_number(struct parser *p, struct span *s, uint64_t max, uint64_t *ret)
{
    int r = take_number(p, s, max, ret);
    if (r < 0)
        return r;
    return s->p == s->end ? 0 : bad(p, "text after a number");
}

/* The array with room for one more than n; NULL with *ret_error: it is left as it was. */
static void *reserve(struct parser *p, void *array, size_t size, uint32_t n, uint32_t *cap,
                     uint32_t limit, int *ret_error)
{
    if (n < *cap)
        return array;
    if (n >= limit) {
        bad(p, "more zones or lists than any machine has");
        *ret_error = -EFBIG;
        return NULL;
    }

    uint32_t larger = MIN(MAX(*cap * 2, 64u), limit);
    void *grown = reallocarray(array, larger, size);
    if (!grown) {
        bad(p, "out of memory");
        *ret_error = -ENOMEM;
        return NULL;
    }
    *cap = larger;
    return grown;
}

/* The kernel prints the same optional fields for all zones and lists: one that differs has lost
 * a line. *like is 0 until the first. */
static bool same_fields(uint32_t *like, uint32_t has)
{
    if (*like == 0)
        *like = has;
    return *like == has;
}

static int check_required(struct parser *p, uint32_t required)
{
    uint32_t missing = required & ~p->seen;
    return missing == 0 ? 0 : bad(p, fields[__builtin_ctz(missing)].missing);
}

static int list_end(struct parser *p)
{
    if (!p->list)
        return 0;
    int r = check_required(p, LIST_REQUIRED);
    if (r < 0)
        return r;

    uint32_t has = p->seen & LIST_FIELDS;
    bool has_min = has & BIT(F_HIGH_MIN), has_max = has & BIT(F_HIGH_MAX);
    if (has_min != has_max)
        return bad(p, "\"high_min:\" and \"high_max:\" not both before this line");
    if (!same_fields(&p->like_list, has))
        return bad(p, "a pageset whose fields differ from the first one's");
    p->seen &= ~LIST_FIELDS;
    p->list = NULL;
    return 0;
}

/* " 3", or in 2.6 " 3 pcp: 0" (hot) and " 3 pcp: 1" (cold), of a "cpu:" line. */
static int take_cpu(struct parser *p, struct span s, uint32_t *ret_cpu, bool *ret_cold)
{
    uint64_t cpu, pcp = 0;

    int r = take_number(p, &s, INT_MAX, &cpu);
    if (r < 0)
        return r;
    if (s.p < s.end) {
        if (!skip_text(&s, " pcp:"))
            return bad(p, "text after the number of the CPU");
        r = take_last_number(p, &s, UINT32_MAX, &pcp);
        if (r < 0)
            return r;
        if (pcp > 1)
            return bad(p, "a list that is neither hot (0) nor cold (1)");
    }
    *ret_cpu = (uint32_t)cpu;
    *ret_cold = pcp == 1;
    return 0;
}

/* The hot list is the one that pages go through first, and the only one that later kernels have:
 * it is kept, the cold one is not. */
static int list_begin(struct parser *p, struct span s)
{
    struct zone_table *t = p->t;
    struct zone *z = &t->zones[t->n_zones - 1];
    uint32_t cpu;
    bool cold;

    if (p->part != PART_PAGESETS)
        return bad(p, "\"cpu:\" out of place");
    int r = list_end(p);
    if (r < 0)
        return r;
    r = take_cpu(p, s, &cpu, &cold);
    if (r < 0)
        return r;

    const struct zone_list *last = z->n_lists ? &t->lists[t->n_lists - 1] : NULL;
    if (cold) {
        if (!last || last->cpu != cpu || p->last_cold)
            return bad(p, "cold list without a hot one before it");
        p->list = &p->cold;
    } else {
        if (last && last->cpu >= cpu)
            return bad(p, "CPU twice in a zone, or not in order");
        struct zone_list *lists =
            reserve(p, t->lists, sizeof(*lists), t->n_lists, &t->cap_lists, LISTS_MAX, &r);
        if (!lists)
            return r;
        t->lists = lists;
        p->list = &t->lists[t->n_lists++];
        *p->list = (struct zone_list){.cpu = cpu};
        z->n_lists++;
    }
    p->last_cold = cold;
    return 0;
}

static int zone_end(struct parser *p)
{
    struct zone_table *t = p->t;
    if (t->n_zones == 0)
        return 0;

    struct zone *z = &t->zones[t->n_zones - 1];
    int r = list_end(p);
    if (r < 0)
        return r;
    r = check_required(p, ZONE_REQUIRED);
    if (r < 0)
        return r;
    if (!same_fields(&p->like_zone, p->seen & (ZONE_OPTIONAL | BIT(F_FREE))))
        return bad(p, "a zone whose fields differ from the first one's");
    if (!(p->seen & BIT(F_MANAGED)))
        z->managed = z->present;

    /* populated_zone() decides whether the kernel prints pagesets, and it looks at present. */
    bool pagesets = p->seen & BIT(F_PAGESETS);
    if (z->n_lists == 0 && (pagesets || z->present > 0))
        return bad(p, "a zone with memory has no pageset before this line");
    if (!pagesets)
        return 0;
    r = check_required(p, BIT(F_START_PFN));
    if (r < 0)
        return r;
    if (!same_fields(&p->like_tail, p->seen & (BIT(F_START_PFN) | BIT(F_RESERVED_HA))))
        return bad(p, "a zone whose fields differ from the first one's");
    z->has_high_minmax = p->like_list & BIT(F_HIGH_MIN);
    return 0;
}

static int take_name(struct parser *p, struct span s, struct zone *z)
{
    skip_blanks(&s);
    if (s.p == s.end)
        return bad(p, "zone without a name");
    for (const char *c = s.p; c < s.end; c++)
        if (*c <= ' ' || *c > '~')
            return bad(p, "zone name that is not one printable word");
    size_t n = MIN((size_t)(s.end - s.p), sizeof(z->name) - 1);
    memcpy(z->name, s.p, n);
    z->name[n] = '\0';
    return 0;
}

/* The kernel walks the nodes in ascending order, and each node's zones once. */
static int check_unique(struct parser *p, const struct zone *z)
{
    const struct zone_table *t = p->t;

    if (t->n_zones == 0)
        return 0;
    int last = t->zones[t->n_zones - 1].node;
    if (z->node < last)
        return bad(p, "nodes not in order");
    if (z->node > last) {
        p->node_first = t->n_zones;
        return 0;
    }
    for (uint32_t i = p->node_first; i < t->n_zones; i++)
        if (strcmp(t->zones[i].name, z->name) == 0)
            return bad(p, "zone twice in a node");
    return 0;
}

/* "Node 0, zone   Normal", of which "Node " is consumed. */
static int zone_begin(struct parser *p, struct span s)
{
    struct zone_table *t = p->t;
    struct zone z = {.first_list = t->n_lists};
    uint64_t node;

    int r = zone_end(p);
    if (r < 0)
        return r;
    r = take_number(p, &s, INT_MAX, &node);
    if (r < 0)
        return r;
    if (!skip_text(&s, ", zone "))
        return bad(p, "\"Node\" line without a zone");
    z.node = (int)node;
    r = take_name(p, s, &z);
    if (r < 0)
        return r;
    r = check_unique(p, &z);
    if (r < 0)
        return r;

    struct zone *zones =
        reserve(p, t->zones, sizeof(*zones), t->n_zones, &t->cap_zones, ZONES_MAX, &r);
    if (!zones)
        return r;
    t->zones = zones;
    t->zones[t->n_zones++] = z;
    p->part = PART_HEAD;
    p->seen = 0;
    return 0;
}

static enum field_id find_field(const struct span *s)
{
    size_t len = (size_t)(s->end - s->p);

    for (enum field_id id = 0; id < F_MAX; id++) {
        const struct field *f = &fields[id];
        if (f->key[0] == s->p[0] && f->len <= len && memcmp(f->key, s->p, f->len) == 0 &&
            (f->len == len || is_blank(s->p[f->len])))
            return id;
    }
    return F_MAX;
}

static int take_field(struct parser *p, enum field_id id, struct span s)
{
    const struct field *f = &fields[id];
    struct zone_table *t = p->t;
    uint64_t v = 0;

    if (p->part != f->part || (p->seen & BIT(id)))
        return bad(p, f->unexpected);
    p->seen |= BIT(id);
    p->part = f->next;
    s.p += f->len;
    if (f->value == VALUE_NONE)
        return 0;

    int r = take_last_number(p, &s, f->value == VALUE_LIST ? UINT32_MAX : UINT64_MAX, &v);
    if (r < 0)
        return r;
    if (f->value == VALUE_ZONE) {
        memcpy((char *)&t->zones[t->n_zones - 1] + f->offset, &v, sizeof(v));
    } else if (f->value == VALUE_LIST) {
        uint32_t v32 = (uint32_t)v;
        if (!p->list)
            return bad(p, "field of a pageset before any \"cpu:\"");
        memcpy((char *)p->list + f->offset, &v32, sizeof(v32));
    }
    return 0;
}

static int parse_line(struct parser *p, struct span s)
{
    if (skip_text(&s, "Node "))
        return zone_begin(p, s);
    if (p->t->n_zones == 0)
        return bad(p, "does not begin with a \"Node\" line");

    skip_blanks(&s);
    if (s.p == s.end)
        return 0;
    if (skip_text(&s, "cpu:"))
        return list_begin(p, s);
    enum field_id id = find_field(&s);
    return id == F_MAX ? 0 : take_field(p, id, s);
}

static int parse_text(struct parser *p, const char *text, size_t len)
{
    const char *end = text + len;

    while (text < end) {
        const char *nl = memchr(text, '\n', (size_t)(end - text));
        p->line++;
        /* A number without its newline may have lost digits; "protection: (0, 0)" has not. */
        if (!nl && end[-1] != ')')
            return bad(p, "the last line is cut off");
        int r = parse_line(p, (struct span){text, nl ? nl : end});
        if (r < 0)
            return r;
        text = nl ? nl + 1 : end;
    }

    if (p->t->n_zones == 0) {
        p->line = 1;
        return bad(p, "no zone");
    }
    return zone_end(p);
}

int zoneinfo_parse(const char *text, size_t len, struct zone_table *t,
                   struct parse_error *ret_error)
{
    struct parser p = {.t = t, .error = ret_error};

    t->n_zones = t->n_lists = 0;
    int r = parse_text(&p, text, len);
    if (r < 0)
        t->n_zones = t->n_lists = 0;
    t->has_boost = r == 0 && (p.like_zone & BIT(F_BOOST));
    t->has_reserved_ha = r == 0 && (p.like_tail & BIT(F_RESERVED_HA));
    return r;
}

struct zoneinfo {
    int fd;
    char *buf;
    size_t size;
    uint64_t reads;
};

int zoneinfo_open(const char *path, struct zoneinfo **ret)
{
    struct zoneinfo *z = malloc(sizeof(*z));
    if (!z)
        return -ENOMEM;

    *z = (struct zoneinfo){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (z->fd < 0) {
        int r = -errno;
        free(z);
        return r;
    }
    *ret = z;
    return 0;
}

void zoneinfo_close(struct zoneinfo *z)
{
    if (!z)
        return;
    close(z->fd);
    free(z->buf);
    free(z);
}

int zoneinfo_read(struct zoneinfo *z, struct zone_table *t, struct parse_error *ret_error)
{
    ssize_t n = read_file_grow(z->fd, &z->buf, &z->size, TEXT_MAX);
    z->reads++;
    if (n < 0) {
        *ret_error = (struct parse_error){.reason = "the file could not be read"};
        t->n_zones = t->n_lists = 0;
        return (int)n;
    }
    return zoneinfo_parse(z->buf, (size_t)n, t, ret_error);
}

uint64_t zoneinfo_reads(const struct zoneinfo *z)
{
    return z->reads;
}
