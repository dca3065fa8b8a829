/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "actuate.h"
#include "macros.h"
#include "plan.h"
#include "snapshot.h"

/* Everything that touches a sysctl, one after the other in a thread of its own: the kernel may
 * hold pcp_batch_high_lock for as long as a memory offline takes. */
struct jobs;

enum job_kind {
    JOB_RECOVER, /* undo what a predecessor left; outcome */
    JOB_READ,    /* values or error */
    JOB_SET,     /* plan; outcome */
    JOB_RESTORE, /* plan; outcome */
};

struct job {
    enum job_kind kind;
    struct plan plan;
    struct knob_values values;
    int error;
    struct outcome outcome;
    nsec_t submitted;
};

/* Takes the actuator over. */
int jobs_new(struct actuator *a, struct jobs **ret);
/* Waits up to patience for the job in progress. False: it hangs still, and thread and actuator are
 * left to the end of the process. */
bool jobs_free(struct jobs *j, nsec_t patience);

/* Runs the job now, or next if one is in progress: a waiting read gives way. -EBUSY: another job
 * waits already. */
int jobs_submit(struct jobs *j, const struct job *job, nsec_t now);

/* A job may come in a moment: its thread is woken beforehand. */
void jobs_rouse(struct jobs *j);

/* The reading of vmstat that the roused thread takes meanwhile, waited for up to patience (a write
 * could not begin earlier either); else an older one, or none. */
void jobs_seen(struct jobs *j, nsec_t patience, struct vm_counters *ret);

/* Readable when jobs_collect() has something. */
int jobs_fd(const struct jobs *j);
bool jobs_collect(struct jobs *j, struct job *ret, nsec_t now);

/* Since when the job in progress runs; 0: none does. */
nsec_t jobs_running_since(const struct jobs *j);

/* Between jobs only (nothing in progress): -EBUSY else. */
int jobs_configure(struct jobs *j, const struct actuator_config *c);

/* Somebody else owns the knob now: before the next job its original is forgotten. */
void jobs_yield(struct jobs *j, enum knob_id knob);
