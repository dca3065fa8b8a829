/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flight.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#define BUCKETS 1024
#define NONE UINT16_MAX
#define OTHERS (SNAPSHOT_GROUPS - 1)
#define OTHERS_ID UINT64_MAX

static_assert(FLIGHT_MAX < NONE, "slots are uint16_t");
static_assert(SNAPSHOT_GROUPS <= UINT8_MAX, "groups are uint8_t");

struct slot {
    struct flight_task task; /* first: slot and task share an address */
    uint16_t older, newer;   /* list by age; newer also links the free slots */
    uint16_t chain;          /* of the bucket */
    bool used;
};

struct flight {
    struct slot slots[FLIGHT_MAX];
    uint16_t buckets[BUCKETS];
    uint16_t oldest, newest, free;
    uint32_t tasks;
    uint32_t node_tasks[HOST_NODES_MAX];
    struct exit_group groups[SNAPSHOT_GROUPS]; /* id 0: unused */
};

int flight_new(struct flight **ret)
{
    struct flight *f = calloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    for (unsigned i = 0; i < FLIGHT_MAX; i++)
        f->slots[i].newer = i + 1 < FLIGHT_MAX ? (uint16_t)(i + 1) : NONE;
    for (unsigned i = 0; i < BUCKETS; i++)
        f->buckets[i] = NONE;
    f->oldest = f->newest = NONE;
    *ret = f;
    return 0;
}

void flight_free(struct flight *f)
{
    free(f);
}

/* FNV-1a (Fowler, Noll, Vo), with the terminating NULs so that the two strings cannot run into one
 * another. */
static uint64_t group_id(const char *path, const char *comm)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    const char *strings[] = {path, comm};

    for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
        for (const char *p = strings[i];; p++) {
            h = (h ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
            if (!*p)
                break;
        }
    return h == 0 || h == OTHERS_ID ? 1 : h;
}

/* Whoever prints the command must not be fooled by a newline in it: prctl(PR_SET_NAME) takes any
 * byte. */
static void new_group(struct exit_group *g, uint64_t id, const char *comm)
{
    *g = (struct exit_group){.id = id, .anon = GROUP_PAGES_UNKNOWN};
    size_t len = strnlen(comm, sizeof(g->comm) - 1);
    for (size_t i = 0; i < len; i++)
        g->comm[i] = isprint((unsigned char)comm[i]) && comm[i] != '"' ? comm[i] : '?';
}

unsigned flight_group(struct flight *f, const char *cgroup_path, const char *comm, bool *ret_new)
{
    uint64_t id = group_id(cgroup_path, comm);
    unsigned vacant = OTHERS;

    *ret_new = false;
    for (unsigned i = 0; i < OTHERS; i++) {
        if (f->groups[i].id == id)
            return i;
        if (f->groups[i].id == 0 && vacant == OTHERS)
            vacant = i;
    }
    if (vacant < OTHERS) {
        new_group(&f->groups[vacant], id, comm);
        *ret_new = true;
    } else if (f->groups[OTHERS].id == 0) {
        new_group(&f->groups[OTHERS], OTHERS_ID, "");
        memcpy(f->groups[OTHERS].name, "others", sizeof("others"));
    }
    return vacant;
}

struct exit_group *flight_group_at(struct flight *f, unsigned group)
{
    return &f->groups[group];
}

bool flight_group_used(const struct flight *f, unsigned group)
{
    return f->groups[group].id != 0;
}

static uint16_t *bucket_of(struct flight *f, pid_t tgid)
{
    return &f->buckets[(uint32_t)tgid % BUCKETS];
}

static void link_newest(struct flight *f, uint16_t i)
{
    struct slot *s = &f->slots[i];

    s->older = f->newest;
    s->newer = NONE;
    if (f->newest == NONE)
        f->oldest = i;
    else
        f->slots[f->newest].newer = i;
    f->newest = i;
}

static void unlink_age(struct flight *f, const struct slot *s)
{
    if (s->older == NONE)
        f->oldest = s->newer;
    else
        f->slots[s->older].newer = s->newer;
    if (s->newer == NONE)
        f->newest = s->older;
    else
        f->slots[s->newer].older = s->older;
}

struct flight_task *flight_add(struct flight *f, const struct flight_task *task, uint64_t pages)
{
    uint16_t i = f->free, *bucket = bucket_of(f, task->tgid);
    struct exit_group *g = &f->groups[task->group];

    if (i == NONE)
        return NULL;
    struct slot *s = &f->slots[i];
    f->free = s->newer;
    s->task = *task;
    s->used = true;
    s->chain = *bucket;
    *bucket = i;
    link_newest(f, i);

    f->tasks++;
    f->node_tasks[task->node]++;
    g->tasks++;
    g->tasks_total++;
    g->announced += pages;
    return &s->task;
}

void flight_remove(struct flight *f, struct flight_task *t)
{
    uint16_t i = (uint16_t)flight_slot(f, t);
    struct slot *s = &f->slots[i];

    uint16_t *p = bucket_of(f, t->tgid);
    while (*p != i)
        p = &f->slots[*p].chain;
    *p = s->chain;
    unlink_age(f, s);

    f->tasks--;
    f->node_tasks[t->node]--;
    f->groups[t->group].tasks--;
    s->used = false;
    s->newer = f->free;
    f->free = i;
}

struct flight_task *flight_find(const struct flight *f, pid_t tgid)
{
    for (uint16_t i = f->buckets[(uint32_t)tgid % BUCKETS]; i != NONE; i = f->slots[i].chain)
        if (f->slots[i].task.tgid == tgid)
            return (struct flight_task *)&f->slots[i].task;
    return NULL;
}

struct flight_task *flight_at(struct flight *f, unsigned slot)
{
    return slot < FLIGHT_MAX && f->slots[slot].used ? &f->slots[slot].task : NULL;
}

unsigned flight_slot(const struct flight *f, const struct flight_task *t)
{
    return (unsigned)((const struct slot *)t - f->slots);
}

static struct flight_task *task_or_null(const struct flight *f, uint16_t i)
{
    return i == NONE ? NULL : (struct flight_task *)&f->slots[i].task;
}

struct flight_task *flight_oldest(const struct flight *f)
{
    return task_or_null(f, f->oldest);
}

struct flight_task *flight_next(const struct flight *f, const struct flight_task *t)
{
    return task_or_null(f, f->slots[flight_slot(f, t)].newer);
}

bool flight_full(const struct flight *f)
{
    return f->free == NONE;
}

void flight_snapshot(const struct flight *f, struct snapshot *s)
{
    s->tasks = f->tasks;
    memcpy(s->node_tasks, f->node_tasks, sizeof(s->node_tasks));
    s->n_groups = 0;
    for (unsigned i = 0; i < SNAPSHOT_GROUPS; i++)
        if (f->groups[i].id != 0)
            s->groups[s->n_groups++] = f->groups[i];
}

void flight_forget(struct flight *f)
{
    for (unsigned i = 0; i < SNAPSHOT_GROUPS; i++)
        if (f->groups[i].tasks == 0)
            f->groups[i].id = 0;
}
