/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "metrics.h"
#include "repeat.h"
#include "sdjournal.h"

#define RING 128 /* events; a storm is three */

struct view { /* what the metrics show */
    char path[PARAMS_PATH];
    uint64_t config;
    struct status status;
};

struct report {
    struct report_config config;
    bool terminal;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more, drained;
    struct event ring[RING];
    uint64_t head, tail; /* events put, events written */
    uint64_t dropped;
    struct metrics metrics;
    struct view wanted; /* the newest, while has_wanted */
    bool has_wanted;
    bool stop, ended;
    /* the thread's own */
    struct repeat repeat;
    struct storm_lines storm_lines;
    uint64_t dropped_told;
    bool dry_run; /* as of the last event */
    struct view shown;
    int metrics_error; /* of the last writing */
};

static void write_text(const struct report *r, const struct event *e, const char *sentence)
{
    static const char *const prefix[] = {
        [LEVEL_ERROR] = "error: ", [LEVEL_WARNING] = "warning: ", [LEVEL_NOTICE] = "",
        [LEVEL_INFO] = "",         [LEVEL_DEBUG] = "debug: ",
    };
    char stamp[32] = "";

    if (r->terminal) {
        time_t secs = (time_t)(e->real / NSEC_PER_SEC);
        struct tm tm;
        localtime_r(&secs, &tm);
        strftime(stamp, sizeof(stamp), "%H:%M:%S ", &tm);
    }
    fprintf(stderr, "%s%s%s%s\n", stamp, e->dry_run ? "[dry run] " : "", prefix[e->level],
            sentence);
}

/* Past stdio, vdprintf() included: exit() flushes what is unwritten in any FILE, and would wait for
 * a reader that never reads. */
static void write_all(int fd, const char *s, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, s, len);
        if (n < 0 && errno != EINTR)
            return;
        if (n > 0) {
            s += n;
            len -= (size_t)n;
        }
    }
}

static void write_json(const struct event *e)
{
    static const char lost[] = "pcptuned: an event is lost, out of memory\n";
    _cleanup_free_ char *text = report_json(e);
    if (!text) {
        write_all(STDERR_FILENO, lost, sizeof(lost) - 1);
        return;
    }
    size_t len = strlen(text);
    text[len] = '\n'; /* in place of the NUL, so that it is one write */
    write_all(STDOUT_FILENO, text, len + 1);
}

static bool is_wanted(const struct report *r, const struct event *e)
{
    return r->config.format == REPORT_JSON || e->level <= r->config.level;
}

static void write_line(const struct report *r, const struct event *e)
{
    char sentence[EVENT_TEXT];

    if (r->config.format == REPORT_JOURNAL)
        (void)sdjournal_send(e); /* where there is no journald nobody could be told */
    else
        write_text(r, e, event_describe(e, sentence, sizeof(sentence)));
}

static void write_kept_back(struct report *r)
{
    const struct event *e = repeat_flush(&r->repeat);

    if (e)
        write_line(r, e);
}

static void write_event(struct report *r, const struct event *e)
{
    if (r->config.format == REPORT_JSON) {
        write_json(e);
        return;
    }
    if (r->config.level < LEVEL_DEBUG && !storm_lines_take(&r->storm_lines, e))
        return;
    if (repeat_takes(&r->repeat, e, clock_monotonic()))
        return;
    write_kept_back(r);
    write_line(r, e);
    repeat_told(&r->repeat, e);
}

static _printf_(2, 3) void write_notice(struct report *r, const char *fmt, ...)
{
    struct event e = {.kind = EVENT_NOTICE,
                      .level = LEVEL_WARNING,
                      .mono = clock_monotonic(),
                      .real = clock_realtime(),
                      .dry_run = r->dry_run};
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(e.text, sizeof(e.text), fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&r->lock);
    metrics_note(&r->metrics, &e);
    pthread_mutex_unlock(&r->lock);
    if (is_wanted(r, &e))
        write_event(r, &e);
}

/* --- the thread ----------------------------------------------------------------------------- */

/* Takes the oldest event out and writes it. Called, and returns, with the lock held. */
static void next_event(struct report *r)
{
    struct event e = r->ring[r->tail % RING];
    uint64_t dropped = r->dropped;

    pthread_mutex_unlock(&r->lock);
    r->dry_run = e.dry_run;
    if (dropped != r->dropped_told)
        write_notice(r, "%" PRIu64 " events were dropped in all: whoever reads them is too slow",
                     dropped);
    r->dropped_told = dropped;
    write_event(r, &e);
    pthread_mutex_lock(&r->lock);
    r->tail++;
}

static nsec_t cpu_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (nsec_t)t.tv_sec * NSEC_PER_SEC + (nsec_t)t.tv_nsec;
}

static void write_metrics(struct report *r, const struct metrics *m)
{
    const struct view *v = &r->shown;
    _cleanup_free_ char *text = metrics_format(m, &v->status, cpu_time(), v->config);
    int error = text ? metrics_write(v->path, text) : -ENOMEM;

    if (error < 0 && error != r->metrics_error)
        write_notice(r, "%s cannot be written: %s; tried again with the next metrics, ignoring",
                     v->path, strerror(-error));
    r->metrics_error = error;
}

/* What stays would be scraped for ever as it was. */
static void remove_metrics(const char *path)
{
    if (*path)
        unlink(path);
}

/* Called, and returns, with the lock held. */
static void next_metrics(struct report *r)
{
    char before[PARAMS_PATH] = "";
    struct metrics metrics = r->metrics;

    if (strcmp(r->shown.path, r->wanted.path) != 0)
        memcpy(before, r->shown.path, sizeof(before));
    r->shown = r->wanted;
    r->has_wanted = false;
    pthread_mutex_unlock(&r->lock);
    remove_metrics(before);
    if (r->shown.path[0])
        write_metrics(r, &metrics);
    pthread_mutex_lock(&r->lock);
}

/* Waits for something to do. Called, and returns, with the lock held. */
static void wait_for_more(struct report *r)
{
    nsec_t due = repeat_due(&r->repeat);
    struct timespec until = {.tv_sec = (time_t)(due / NSEC_PER_SEC),
                             .tv_nsec = (long)(due % NSEC_PER_SEC)};

    if (due == NSEC_INFINITY)
        pthread_cond_wait(&r->more, &r->lock);
    else if (pthread_cond_timedwait(&r->more, &r->lock, &until) == ETIMEDOUT) {
        pthread_mutex_unlock(&r->lock);
        write_kept_back(r);
        pthread_mutex_lock(&r->lock);
    }
}

static void *report_thread(void *arg)
{
    struct report *r = arg;

    pthread_mutex_lock(&r->lock);
    for (;;) {
        if (r->tail != r->head)
            next_event(r);
        else if (r->has_wanted)
            next_metrics(r);
        else if (r->stop)
            break;
        else
            wait_for_more(r);
    }
    pthread_mutex_unlock(&r->lock);
    write_kept_back(r);
    pthread_mutex_lock(&r->lock);
    r->ended = true;
    pthread_cond_signal(&r->drained);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static int start_thread(struct report *r)
{
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = pthread_create(&r->thread, NULL, report_thread, r);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -error;
}

/* The loop runs at real-time priority and the writer does not: whoever holds the lock inherits. */
static void init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attr);
    pthread_condattr_destroy(&attr);
}

int report_new(const struct report_config *c, struct report **ret)
{
    _cleanup_free_ struct report *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;

    r->config = *c;
    r->terminal = isatty(STDERR_FILENO);
    if (c->format == REPORT_AUTO)
        r->config.format = sdjournal_is_stderr() ? REPORT_JOURNAL : REPORT_TEXT;
    init_lock(&r->lock);
    init_condition(&r->more);
    init_condition(&r->drained);
    int error = start_thread(r);
    if (error < 0)
        return error;
    *ret = TAKE_PTR(r);
    return 0;
}

void report_free(struct report *r)
{
    struct timespec until;

    if (!r)
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 2;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->more);
    int late = 0;
    while (!r->ended && late == 0)
        late = pthread_cond_timedwait(&r->drained, &r->lock, &until);
    pthread_mutex_unlock(&r->lock);
    if (late != 0)
        return; /* a reader that never reads: the thread and its memory end with the process */
    pthread_join(r->thread, NULL);
    remove_metrics(r->shown.path);
    free(r);
}

void report_put(struct report *r, const struct event *e)
{
    pthread_mutex_lock(&r->lock);
    metrics_note(&r->metrics, e);
    if (!is_wanted(r, e)) {
        /* not worth waking the thread for */
    } else if (r->head - r->tail < RING) {
        r->ring[r->head % RING] = *e;
        r->head++;
        pthread_cond_signal(&r->more);
    } else {
        r->dropped++;
    }
    pthread_mutex_unlock(&r->lock);
}

uint64_t report_dropped(struct report *r)
{
    pthread_mutex_lock(&r->lock);
    uint64_t dropped = r->dropped;
    pthread_mutex_unlock(&r->lock);
    return dropped;
}

void report_metrics(struct report *r, const char *path, uint64_t config, const struct status *s)
{
    pthread_mutex_lock(&r->lock);
    if (path[0] || r->wanted.path[0]) {
        snprintf(r->wanted.path, sizeof(r->wanted.path), "%s", path);
        r->wanted.config = config;
        r->wanted.status = *s;
        r->has_wanted = true;
        pthread_cond_signal(&r->more);
    }
    pthread_mutex_unlock(&r->lock);
}
