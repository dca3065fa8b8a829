/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>

#include "clock.h"

/* From a storm's first message to its write it is about 150 us: then no job will come. */
#define ROUSED_FOR (300 * NSEC_PER_USEC)

struct worker {
    pthread_t thread;
    void (*fn)(void *arg);
    void (*warm_up)(void *arg); /* NULL: nothing */
    void *arg;
    int fd;
    bool busy; /* the submitting thread's own: from submit to collect */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake;  /* CLOCK_MONOTONIC; of the thread, or at the end of worker_free() */
    atomic_bool queued;   /* a job that the thread has not begun; the roused thread polls it */
    bool roused;          /* a job will come soon */
    int roused_by;        /* CPU of the submitting thread then */
    bool done;            /* a job that has ended and was not collected */
    bool quit;            /* no more jobs will come */
    bool ended;           /* the thread does not touch this any more */
    bool abandoned;       /* worker_free() gave up: the thread frees this itself */
};

static void destroy(struct worker *w)
{
    if (w->fd >= 0)
        close(w->fd);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

/* Not on the CPU of whoever is to submit the job: that would keep it from coming. */
static void await_soon(struct worker *w, int not_on)
{
    nsec_t until = clock_monotonic() + ROUSED_FOR;

    if (w->warm_up && sched_getcpu() != not_on)
        w->warm_up(w->arg);
    while (!w->queued && sched_getcpu() != not_on && clock_monotonic() < until)
        ;
}

/* True with a job begun. A job queued before the end is still run: it may be the restore. */
static bool take_job(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->queued && !w->quit) {
        if (!w->roused) {
            pthread_cond_wait(&w->wake, &w->lock);
            continue;
        }
        int by = w->roused_by;
        w->roused = false;
        pthread_mutex_unlock(&w->lock);
        await_soon(w, by);
        pthread_mutex_lock(&w->lock);
    }
    w->roused = false;
    bool job = w->queued;
    w->queued = false;
    pthread_mutex_unlock(&w->lock);
    return job;
}

static void end_job(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    w->done = true;
    /* Under the lock, so that descriptor and flag never disagree; a counter of 1 cannot block. */
    (void)eventfd_write(w->fd, 1);
    pthread_mutex_unlock(&w->lock);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    while (take_job(w)) {
        w->fn(w->arg);
        end_job(w);
    }
    pthread_mutex_lock(&w->lock);
    w->ended = true;
    bool mine = w->abandoned;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    if (mine)
        destroy(w);
    return NULL;
}

static int start_thread(struct worker *w, int rt_priority)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* inherited: no signal can hit the new thread */
    int r = pthread_create(&w->thread, NULL, worker_main, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (r == 0 && rt_priority > 0) {
        struct sched_param param = {.sched_priority = rt_priority};
        (void)pthread_setschedparam(w->thread, SCHED_FIFO, &param);
    }
    return -r;
}

static void init_wake(pthread_cond_t *wake)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(wake, &attr);
    pthread_condattr_destroy(&attr);
}

int worker_new(void (*fn)(void *arg), void (*warm_up)(void *arg), void *arg, int rt_priority,
               struct worker **ret)
{
    struct worker *w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    w->fn = fn;
    w->warm_up = warm_up;
    w->arg = arg;
    pthread_mutex_init(&w->lock, NULL);
    init_wake(&w->wake);
    w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    int r = w->fd < 0 ? -errno : start_thread(w, rt_priority);
    if (r < 0) {
        destroy(w);
        return r;
    }
    *ret = w;
    return 0;
}

static struct timespec deadline(nsec_t patience)
{
    nsec_t now = clock_monotonic();
    nsec_t until = now + MIN(patience, (nsec_t)INT64_MAX - now);
    return (struct timespec){.tv_sec = (time_t)(until / NSEC_PER_SEC),
                             .tv_nsec = (long)(until % NSEC_PER_SEC)};
}

bool worker_free(struct worker *w, nsec_t patience)
{
    if (!w)
        return true;
    pthread_t thread = w->thread; /* once abandoned, w may be gone at any time */
    struct timespec until = deadline(patience);

    pthread_mutex_lock(&w->lock);
    w->quit = true;
    pthread_cond_signal(&w->wake);
    for (int r = 0; !w->ended && r == 0;)
        r = pthread_cond_timedwait(&w->wake, &w->lock, &until);
    bool ended = w->ended;
    w->abandoned = !ended;
    pthread_mutex_unlock(&w->lock);

    if (!ended) {
        pthread_detach(thread);
        return false;
    }
    pthread_join(thread, NULL);
    destroy(w);
    return true;
}

void worker_rouse(struct worker *w)
{
    if (w->busy)
        return;
    pthread_mutex_lock(&w->lock);
    w->roused = true;
    w->roused_by = sched_getcpu();
    pthread_mutex_unlock(&w->lock); /* first, or the thread wakes only to wait for it */
    pthread_cond_signal(&w->wake);
}

int worker_submit(struct worker *w)
{
    if (w->busy)
        return -EBUSY;
    w->busy = true;
    pthread_mutex_lock(&w->lock);
    w->queued = true;
    pthread_mutex_unlock(&w->lock);
    pthread_cond_signal(&w->wake);
    return 0;
}

int worker_fd(const struct worker *w)
{
    return w->fd;
}

bool worker_collect(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    bool done = w->done;
    if (done) {
        eventfd_t count;
        (void)eventfd_read(w->fd, &count);
        w->done = false;
        w->busy = false;
    }
    pthread_mutex_unlock(&w->lock);
    return done;
}

bool worker_busy(const struct worker *w)
{
    return w->busy;
}
