/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "batchcost.h"
#include "host.h"
#include "knob.h"
#include "params.h"
#include "zone.h"

/* What an expert would set on a machine, and why: values, for whoever prints or acts. Pure. */

struct seen { /* of this machine's storms; all 0: nothing yet, and then every CPU may free at once
               */
    uint64_t storms;
    uint32_t n_max;     /* most tasks that were freeing at the same moment */
    uint64_t pages_max; /* most that one storm freed */
};

struct recommend_input {
    const struct host_facts *host;
    const struct zone_table *zones;
    const struct params *params;
    bool knobs_known;
    struct knob_values knobs; /* as they are now; ignored unless known */
    struct seen seen;
};

enum confidence {
    CONFIDENCE_GUESS, /* the regime or the knobs are assumed, or a release number is all there is */
    CONFIDENCE_MODEL, /* the kernel's arithmetic with this machine's numbers */
    CONFIDENCE_MEASURED, /* the same for storms that were seen here */
    CONFIDENCE_MAX,
};
const char *confidence_name(enum confidence c);

#define RECOMMEND_TEXT 768
#define RECOMMEND_PASTE 160
struct recommendation {
    const char *id; /* "PCP-STORM-TUNE": stable, documented in pcptunectl(1) */
    char title[96];
    char evidence[RECOMMEND_TEXT]; /* sentences with the numbers */
    enum confidence confidence;
    struct knob_values setting;   /* has[]: what to set, and to what; none: nothing */
    uint32_t n;                   /* tasks freeing at once that the figures below are for */
    uint32_t b_before, b_after;   /* pages per hold of zone->lock; 0: not known */
    uint64_t w_before, w_after;   /* ns */
    struct batch_cost cost;       /* of throughput; 0: none */
    bool cost_always;             /* not only while a storm lasts */
    char sysctl[RECOMMEND_PASTE]; /* text of a file in sysctl.d; "": none */
    char conf[RECOMMEND_PASTE];   /* text of a file in pcptuned.conf.d; "": none */
};

#define RECOMMENDATIONS_MAX 10
struct recommendations {
    uint32_t n; /* at least 1: the first is the verdict, the others are further advice */
    struct recommendation item[RECOMMENDATIONS_MAX];
};

void recommend(const struct recommend_input *in, struct recommendations *ret);
