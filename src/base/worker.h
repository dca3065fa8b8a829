/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* One thread that runs one job at a time, for calls that the kernel may block for minutes (sysctl
 * reads and writes during a memory offline). The loop submits, goes on, and is told through a
 * descriptor. Nothing is allocated after worker_new(). All functions are for one thread: the loop;
 * what the job did is visible to it once worker_collect() has returned true. */
struct worker;

/* fn runs in the thread with arg; warm_up may be NULL. rt_priority > 0 asks for SCHED_FIFO of that
 * priority, and lives without it where that is refused. The thread has all signals blocked. */
int worker_new(void (*fn)(void *arg), void (*warm_up)(void *arg), void *arg, int rt_priority,
               struct worker **ret);

/* Waits up to patience for the job in progress, then gives the thread up: it is detached, frees the
 * worker if it ever returns, and may still touch arg until then. Returns true if the thread ended.
 * NULL is accepted. */
bool worker_free(struct worker *w, nsec_t patience);

/* A job will come in a moment: wakes the thread now, which polls for it for 300 us where it has a
 * CPU of its own. Hides the wake-up, 30 to 50 us between the CPUs of a virtual machine. */
void worker_rouse(struct worker *w);

/* Starts fn(arg) once. -EBUSY while the last job has not been collected. */
int worker_submit(struct worker *w);

/* An eventfd that is readable when a job has ended. */
int worker_fd(const struct worker *w);

/* After the descriptor was readable: true once for each job that has ended. */
bool worker_collect(struct worker *w);

/* True from submit to collect. */
bool worker_busy(const struct worker *w);
