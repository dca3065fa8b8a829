/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "engine.h"

/* A random machine with its tasks, its sysctls, somebody else who writes them, and an actuator
 * between them and the engine. Knows nothing of the engine but its types. All of it follows from
 * one seed. */

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)
#define SECOND (1000 * MS)
#define NEVER UINT64_MAX

#define WORLD_CPUS 512
#define WORLD_NODES 8
#define WORLD_ZONES (2 * WORLD_NODES + 1)
#define WORLD_TASKS 600

struct flight { /* an exiting task */
    uint32_t group, node;
    uint64_t begin, end;
    bool announced;        /* in the snapshot */
    uint64_t pages, freed; /* what it gives back, and so far */
};

enum story { /* what a stretch of time is like */
             STORY_CALM,
             STORY_BURST,   /* a container of equal tasks at once */
             STORY_GROWTH,  /* ever more of them */
             STORY_TRICKLE, /* one after the other, without an end */
             STORY_GIANT,   /* one task, most of memory, for long */
             STORY_SMALL,   /* hundreds of small ones */
             STORY_FALSE,   /* announced, and nothing is freed */
             STORY_MANY,    /* several containers */
             STORY_SILENT,  /* memory goes and no task is announced */
             STORY_STARTS,  /* tasks fault memory in */
             STORY_CHURN,   /* as much is taken as is given back, for long */
             STORY_SHORT,   /* memory is short */
             STORIES,
};

struct job { /* an action on its way through the worker thread */
    bool busy;
    uint64_t ready; /* when its outcome is there */
    struct outcome outcome;
};

struct world {
    uint64_t rng;
    uint64_t now;
    struct host_facts host;
    struct zone zones[WORLD_ZONES];
    struct zone_list lists[WORLD_ZONES * WORLD_CPUS];
    struct zone_table table;
    struct params params;
    struct snapshot s;
    struct vm_counters truth;

    struct flight flights[WORLD_TASKS];
    uint32_t n_flights;
    enum story story;
    uint64_t story_until, trickle_at;

    uint64_t taken, given; /* pages a millisecond: the story's traffic */
    uint64_t high;         /* watermarks of all zones */

    struct knob_values sysctl;
    struct {
        bool held;
        int original, last;
    } journal[KNOB_MAX];
    struct job job;
    bool working, foreigners, quiet; /* quiet: nothing new happens any more */
    uint64_t foreign_writes;
    uint64_t writes[4096]; /* ring of the times of real writes */
    uint32_t n_writes;
};

uint64_t world_random(struct world *w, uint64_t below); /* below 0: any */
bool world_chance(struct world *w, unsigned percent);

void world_start(struct world *w, uint64_t seed);
struct params world_params(struct world *w);

/* Time passes up to `to`: tasks free and end, others begin, others write, an outcome comes. */
void world_advance(struct world *w, uint64_t to);
/* Reads vmstat into the snapshot, where that works. */
void world_look(struct world *w);
/* Something new: exits, a foreign write, signals lost and back, hot-plug. */
void world_event(struct world *w);
/* From now on nothing new happens, and what is written works. */
void world_quiet(struct world *w);
/* As the service does while the engine is calm: forget what is gone, read the knobs again. */
void world_forget(struct world *w);

/* The plan goes to the worker; its writes happen now, its outcome comes later. */
void world_submit(struct world *w, const struct plan *p);
/* True, once, where the outcome of the last one has come. */
bool world_collect(struct world *w, struct outcome *ret);

bool world_owns(const struct world *w);
uint32_t world_writes_since(const struct world *w, uint64_t since);
