/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "host.h"
#include "macros.h"
#include "params.h"

/* What is simulated: machine, kernel, workloads, policy; read from an INI file (README.md lists
 * the keys). Sizes are in base pages, times in ns, costs by page in ps. */

#define SCENARIO_WORKLOADS 16
#define SCENARIO_WRITES 16
#define SCENARIO_HOTPLUGS 16
#define SCENARIO_NODES 16

struct machine {
    uint32_t cpus, nodes;  /* CPUs are shared out evenly, the first nodes' come first */
    uint32_t page_size;    /* bytes */
    uint64_t managed, low; /* pages of the one zone of each node, and its low watermark */
    uint64_t free;         /* pages free at the start; 0: half of managed */
    uint32_t batch;        /* 0: the kernel's zone_batchsize() */
    nsec_t stat_interval;  /* vm.stat_interval */
    uint64_t free_fixed;   /* ps under the lock for each hold of free_pcppages_bulk() */
    uint64_t free_page;    /* ... for each page of it */
    uint64_t free_outside; /* ps a page that an exit takes outside the lock */
    uint64_t alloc_fixed;  /* the same of rmqueue_bulk() and of a page fault */
    uint64_t alloc_page;
    uint64_t alloc_outside;
    uint64_t reclaim_page; /* ps to reclaim a page */
    uint64_t jitter;       /* hundredths: sigma of the log-normal factor on each hold */
};

struct kernel {
    enum regime regime;
    uint64_t scale;     /* CONFIG_PCP_BATCH_SCALE_MAX */
    uint64_t fraction;  /* of vm.percpu_pagelist_high_fraction at the start */
    uint64_t filled;    /* percent of high_max that lists hold at the start */
    bool filled_is_set; /* else: a random part of high_min */
};

enum work {
    WORK_EXIT,      /* frees what it has and is gone */
    WORK_START,     /* faults its memory in and is gone, without freeing it */
    WORK_LOOP,      /* mmap, touch, munmap for ever */
    WORK_BYSTANDER, /* the same, slowly; what it waits for the lock is what others suffer */
    WORK_MAX,
};
const char *work_name(enum work w);

struct workload {
    char name[64];
    enum work kind;
    uint64_t tasks;
    uint64_t size;        /* pages that a task frees, or faults in for each round */
    uint64_t size_spread; /* percent by which sizes differ: uniform in size +- so much */
    uint64_t order;       /* of its blocks */
    nsec_t start, every;  /* the first task's start, and from each task to the next */
    nsec_t spread;        /* and a random delay up to this */
    nsec_t interval;      /* between two page faults; 0: as fast as the machine is */
    nsec_t pause;         /* of a loop after each round: uniform in half to one and a half of it */
    uint64_t first_cpu;   /* of its tasks, which are dealt to CPUs in order, round and round */
    uint64_t node;        /* whose memory it uses */
    bool first_cpu_is_set, node_is_set; /* else: after the workload before; the CPU's own */
    uint64_t filled; /* percent of high_max in its CPUs' lists, where the regime's is not meant */
    bool filled_is_set;
    bool silent; /* the daemon hears nothing of its exits */
    bool shared; /* the memory is mapped by others too: announced, but not freed */
};

struct write { /* somebody writes a knob */
    char name[64];
    nsec_t at;
    enum knob_id knob;
    uint64_t value;
};

struct hotplug { /* CPUs go offline, or come back */
    char name[64];
    nsec_t at;
    struct cpu_range {
        uint32_t first, last;
    } cpus;
    bool online;
};

struct closed_loop { /* pcptuned on the machine */
    bool on;
    nsec_t message_delay; /* from the exit's begin or end until the daemon runs */
    nsec_t write_delay;   /* from its decision until the sysctl is written */
    struct params params;
};

struct run {
    uint64_t seed;
    nsec_t time;   /* simulated at most */
    bool to_exits; /* ends when the last exit or start is over */
    nsec_t sample; /* of the timeline */
};

struct scenario {
    char title[128];
    struct machine machine;
    struct kernel kernel;
    struct workload workloads[SCENARIO_WORKLOADS];
    uint32_t n_workloads;
    struct write writes[SCENARIO_WRITES];
    uint32_t n_writes;
    struct hotplug hotplugs[SCENARIO_HOTPLUGS];
    uint32_t n_hotplugs;
    struct closed_loop loop;
    struct run run;
};

#define SCENARIO_ERROR 512

void scenario_init(struct scenario *s); /* the defaults */

/* Reads the file at path over *s. A line "Type=NAME" in [Machine] reads machines/NAME.ini beside
 * it first. -EINVAL, or what opening gave, with "FILE:LINE: [Section] Key=: why" in error. */
int scenario_load(const char *path, struct scenario *s, char error[static SCENARIO_ERROR]);

/* One text, as of the file `path`, whose directory is where machine types are looked for. */
int scenario_parse(const char *path, const char *text, size_t len, struct scenario *s,
                   char error[static SCENARIO_ERROR]);

/* "Section.Key=Value" from the command line, over what file said; a workload's section is its name.
 */
int scenario_set(struct scenario *s, const char *assignment, const char *file,
                 char error[static SCENARIO_ERROR]);

/* What only shows when all is read. */
int scenario_check(struct scenario *s, char error[static SCENARIO_ERROR]);
