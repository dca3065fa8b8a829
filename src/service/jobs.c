/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobs.h"

#include <pthread.h>
#include <stdatomic.h>

#include "clock.h"
#include "knobs.h"
#include "vmstat.h"
#include "worker.h"

/* That of the loop, so that the scheduler wakes it on another CPU (select_task_rq_rt()): a higher
 * one would preempt the loop where it is roused. */
#define WRITER_PRIORITY 1

struct jobs {
    struct worker *worker;
    struct actuator *actuator;
    struct job current, next;
    bool has_next;
    struct vmstat *vmstat; /* the thread's own; NULL: none */
    pthread_mutex_t lock;  /* of vm, which the roused thread reads while the loop is at the exits */
    struct vm_counters vm;
    atomic_uint asked, answered; /* readings of vm */
    bool yield[KNOB_MAX];        /* to be handed over before the next job */
};

static void run(void *arg)
{
    struct jobs *j = arg;
    struct job *job = &j->current;

    switch (job->kind) {
    case JOB_RECOVER:
        actuator_recover(j->actuator, &job->outcome);
        break;
    case JOB_READ:
        job->error = knobs_read(&job->values);
        break;
    case JOB_SET:
        actuator_set(j->actuator, &job->plan.from, &job->plan.values, &job->outcome);
        break;
    case JOB_RESTORE:
        actuator_restore(j->actuator, &job->outcome);
        break;
    }
}

/* What a write will need has been touched then: half of its time with cold caches. */
static void warm_up(void *arg)
{
    struct jobs *j = arg;
    struct knob_values v;
    struct vm_counters vm = {.valid = false};
    unsigned asked = j->asked;

    if (j->vmstat && vmstat_read(j->vmstat, &vm) >= 0) {
        pthread_mutex_lock(&j->lock);
        j->vm = vm;
        pthread_mutex_unlock(&j->lock);
    }
    j->answered = asked;
    (void)knobs_read(&v);
}

int jobs_new(struct actuator *a, struct jobs **ret)
{
    _cleanup_free_ struct jobs *j = calloc(1, sizeof(*j));

    if (!j)
        return -ENOMEM;
    pthread_mutex_init(&j->lock, NULL);
    (void)vmstat_open(&j->vmstat); /* without it the loop's own readings must do */
    int r = worker_new(run, warm_up, j, WRITER_PRIORITY, &j->worker);
    if (r < 0) {
        vmstat_close(j->vmstat);
        return r;
    }
    j->actuator = a;
    *ret = TAKE_PTR(j);
    return 0;
}

bool jobs_free(struct jobs *j, nsec_t patience)
{
    if (!j)
        return true;
    if (!worker_free(j->worker, patience))
        return false;
    actuator_close(j->actuator);
    vmstat_close(j->vmstat);
    free(j);
    return true;
}

static int start(struct jobs *j, const struct job *job, nsec_t now)
{
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (j->yield[k])
            actuator_yield(j->actuator, (enum knob_id)k);
        j->yield[k] = false;
    }
    j->current = *job;
    j->current.submitted = now;
    return worker_submit(j->worker);
}

int jobs_submit(struct jobs *j, const struct job *job, nsec_t now)
{
    if (!worker_busy(j->worker))
        return start(j, job, now);
    if (j->has_next && j->next.kind != JOB_READ)
        return -EBUSY;
    j->next = *job;
    j->has_next = true;
    return 0;
}

void jobs_rouse(struct jobs *j)
{
    j->asked++;
    worker_rouse(j->worker);
}

void jobs_seen(struct jobs *j, nsec_t patience, struct vm_counters *ret)
{
    nsec_t until = clock_monotonic() + patience;

    while (j->answered != j->asked && clock_monotonic() < until)
        ;
    pthread_mutex_lock(&j->lock);
    *ret = j->vm;
    pthread_mutex_unlock(&j->lock);
}

int jobs_fd(const struct jobs *j)
{
    return worker_fd(j->worker);
}

bool jobs_collect(struct jobs *j, struct job *ret, nsec_t now)
{
    if (!worker_collect(j->worker))
        return false;
    *ret = j->current;
    if (j->has_next) {
        j->has_next = false;
        start(j, &j->next, now);
    }
    return true;
}

nsec_t jobs_running_since(const struct jobs *j)
{
    return worker_busy(j->worker) ? j->current.submitted : 0;
}

int jobs_configure(struct jobs *j, const struct actuator_config *c)
{
    return worker_busy(j->worker) ? -EBUSY : actuator_configure(j->actuator, c);
}

void jobs_yield(struct jobs *j, enum knob_id knob)
{
    if (worker_busy(j->worker))
        j->yield[knob] = true;
    else
        actuator_yield(j->actuator, knob);
}
