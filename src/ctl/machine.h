/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hostfacts.h"
#include "knob.h"
#include "params.h"

/* This machine as it is now: what the verbs that need no daemon work on. */
struct machine {
    struct host_facts host;
    struct zone_table zones;
    bool knobs_known; /* else knobs are what the kernel starts with */
    struct knob_values knobs;
    char knobs_why[128];          /* why they are not known */
    bool held;                    /* a pcptuned holds some of them for the time of a storm */
    struct knob_values originals; /* what they are when it does not */
};

/* Says on standard error what cannot be read. Negative errno where nothing can be said without
 * it: zoneinfo. To be freed with machine_done() in each case. */
int machine_read(const struct params *p, struct machine *ret);
void machine_done(struct machine *m);

/* What showed the regime: "free_frozen_page_commit() returns void in BTF". */
const char *machine_proof(const struct host_facts *h);
