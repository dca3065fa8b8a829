/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine.h"

#include <string.h>

#include "knobs.h"
#include "state.h"
#include "units.h"
#include "zoneinfo.h"

#define ZONEINFO_PATH "/proc/zoneinfo"

static void take_knobs(const struct params *p, struct machine *m)
{
    bool has[KNOB_MAX];
    char timeout[UNITS_BUF];

    knobs_probe(has);
    if (!has[KNOB_FRACTION] && !has[KNOB_SCALE]) {
        m->knobs_known = true; /* there are none */
        return;
    }
    int r = state_knobs(p->knob_timeout, &m->knobs);
    m->knobs_known = r == 0;
    if (r == 0)
        return;
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        m->knobs.has[k] = has[k];
        m->knobs.value[k] = has[k] ? knob_table[k].initial : 0;
    }
    if (r == -ETIMEDOUT)
        snprintf(m->knobs_why, sizeof(m->knobs_why),
                 "the sysctls did not answer within %s (a memory offline holds them?)",
                 format_duration(p->knob_timeout, timeout));
    else
        snprintf(m->knobs_why, sizeof(m->knobs_why), "the sysctls cannot be read: %s",
                 strerror(-r));
    fprintf(stderr, "pcptunectl: %s; taking them as the kernel starts with them\n", m->knobs_why);
}

/* A storm may be on right now: what pcptuned has written is nobody's setting. */
static void take_originals(struct machine *m)
{
    struct undo undo;

    m->originals = m->knobs;
    undo_read(&undo);
    if (undo.kind != UNDO_HELD)
        return;
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        const struct journal_entry *e = &undo.journal.knob[k];
        if (!e->held || !m->knobs.has[k] || !journal_ours(e, m->knobs.value[k]))
            continue;
        m->held = true;
        m->originals.value[k] = e->original;
    }
}

int machine_read(const struct params *p, struct machine *ret)
{
    _cleanup_(zoneinfo_closep) struct zoneinfo *z = NULL;
    struct parse_error where = {0};

    *ret = (struct machine){0};
    int r = zoneinfo_open(ZONEINFO_PATH, &z);
    if (r >= 0)
        r = zoneinfo_read(z, &ret->zones, &where);
    if (r < 0) {
        if (where.line > 0)
            fprintf(stderr, "pcptunectl: " ZONEINFO_PATH ":%u: %s\n", where.line, where.reason);
        else
            fprintf(stderr, "pcptunectl: " ZONEINFO_PATH ": %s\n", strerror(-r));
        return r;
    }
    hostfacts_read(&ret->zones, &ret->host);
    take_knobs(p, ret);
    take_originals(ret);
    return 0;
}

void machine_done(struct machine *m)
{
    zone_table_done(&m->zones);
}

const char *machine_proof(const struct host_facts *h)
{
    bool r2 = h->regime == REGIME_R2, r5 = h->regime == REGIME_R5;

    switch (h->regime_by) {
    case EVIDENCE_FILE:
        return h->regime == REGIME_R1 ? "vm.percpu_pagelist_high_fraction does not exist"
                                      : "vm.pcp_batch_scale_max exists";
    case EVIDENCE_BTF:
        if (r5)
            return "free_frozen_page_commit() returns bool in BTF";
        return h->regime == REGIME_R4 ? "high_min in struct per_cpu_pages, and "
                                        "free_frozen_page_commit() returns void, "
                                        "in BTF"
                                      : "free_factor in struct per_cpu_pages, in BTF";
    case EVIDENCE_CONFIG:
        return r2 ? "no CONFIG_PCP_BATCH_SCALE_MAX in the kernel's configuration"
                  : "CONFIG_PCP_BATCH_SCALE_MAX in the kernel's configuration";
    case EVIDENCE_ZONEINFO:
        return r5 ? "reserved_highatomic in /proc/zoneinfo"
                  : "which lines /proc/zoneinfo has, and whether high differs between CPUs";
    case EVIDENCE_VERSION:
        return "the release number alone, which vendors' kernels belie";
    case EVIDENCE_NONE:
    case EVIDENCE_MAX:
        break;
    }
    return "nothing: assumed";
}
