/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host.h"

static const struct {
    const char *name;
    const char *summary;
} regimes[REGIME_MAX] = {
    [REGIME_UNKNOWN] = {"unknown", "nothing tells how this kernel sizes its per-CPU lists"},
    [REGIME_R1] = {"R1", "no vm.percpu_pagelist_high_fraction: reported on, never tuned"},
    [REGIME_R2] = {"R2", "fixed high; frees up to high - batch pages in one hold of zone->lock"},
    [REGIME_R3] = {"R3", "fixed high; frees up to batch << scale pages in one hold of zone->lock"},
    [REGIME_R4] = {"R4", "self-tuned high; frees up to batch << scale pages in one hold of "
                         "zone->lock"},
    [REGIME_R5] = {"R5", "self-tuned high; freeing drops zone->lock after each batch, allocating "
                         "does not"},
    [REGIME_R6] = {"R6", "self-tuned high; vm.pcp_batch_scale_max bounds what one hold of "
                         "zone->lock frees"},
};

static const char *const evidence_names[EVIDENCE_MAX] = {
    [EVIDENCE_NONE] = "assumed",  [EVIDENCE_VERSION] = "version", [EVIDENCE_ZONEINFO] = "zoneinfo",
    [EVIDENCE_CONFIG] = "config", [EVIDENCE_BTF] = "BTF",         [EVIDENCE_FILE] = "file",
};

const char *regime_name(enum regime r)
{
    return regimes[r < REGIME_MAX ? r : REGIME_UNKNOWN].name;
}

const char *regime_summary(enum regime r)
{
    return regimes[r < REGIME_MAX ? r : REGIME_UNKNOWN].summary;
}

const char *evidence_name(enum evidence e)
{
    return evidence_names[e < EVIDENCE_MAX ? e : EVIDENCE_NONE];
}

uint32_t host_zone_cpus(const struct host_facts *h, int node)
{
    if (node >= 0 && (uint32_t)node < h->n_nodes && h->node_cpus[node] > 0)
        return h->node_cpus[node];
    return h->cpus_online > 0 ? h->cpus_online : 1;
}
