/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What is known of the machine and its kernel; read at start and after hot-plug. */

/* How the kernel computes high and how much it frees per hold of zone->lock: one regime for all
 * kernels with the same mm/page_alloc.c in this respect. */
enum regime {
    REGIME_UNKNOWN,
    REGIME_R1, /* before 5.14: no knob, reported on, never tuned */
    REGIME_R2, /* 5.14 to 6.0, 5.15.y, 6.1.1-103, 6.2-6.6.44: frees up to high - batch */
    REGIME_R3, /* 6.1.104+, 6.6.45+: the same, capped at batch << scale */
    REGIME_R4, /* 6.7 to 6.18: auto-tuned high */
    REGIME_R5, /* 6.19 and later: freeing drops the lock after each batch */
    REGIME_R6, /* R4 with vm.pcp_batch_scale_max */
    REGIME_MAX,
};

const char *regime_name(enum regime r);    /* "R4"; "unknown" */
const char *regime_summary(enum regime r); /* one line for people */

/* How a fact was found, the surest first. */
enum evidence {
    EVIDENCE_NONE,    /* assumed */
    EVIDENCE_VERSION, /* kernel release: a hint only */
    EVIDENCE_ZONEINFO,
    EVIDENCE_CONFIG,
    EVIDENCE_BTF,
    EVIDENCE_FILE,
    EVIDENCE_MAX,
};
const char *evidence_name(enum evidence e);

#define HOST_NODES_MAX 64

struct host_facts {
    char release[96];      /* uname -r */
    char virt[24];         /* "none", "kvm", "qemu", ... */
    char container[24];    /* "" or "docker", "lxc", ... when we run in one */
    char boot_id[40];      /* /proc/sys/kernel/random/boot_id */
    uint32_t page_size;    /* bytes */
    uint64_t memory_bytes; /* MemTotal */
    uint32_t cpus_possible, cpus_online;
    uint32_t n_nodes;                   /* highest online node id + 1, at most HOST_NODES_MAX */
    uint32_t node_cpus[HOST_NODES_MAX]; /* online CPUs of each node; 0: memory only, or no node */
    enum regime regime;
    enum evidence regime_by;
    uint8_t scale; /* CONFIG_PCP_BATCH_SCALE_MAX, 0..6; the sysctl's value in R6 */
    enum evidence scale_by;
    bool cgroup_v1, cgroup_v2; /* a memory controller of v1; a v2 hierarchy: both means hybrid */
    char assumed[160];         /* what of the above is assumed and why; "" if nothing */
};

/* CPUs that the kernel divides a zone's high by: those of the node, all online if it has none
 * (zone_highsize(), mm/page_alloc.c). */
uint32_t host_zone_cpus(const struct host_facts *h, int node);
