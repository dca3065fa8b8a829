/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <systemd/sd-journal.h>

#define RING 128 /* events; a storm is three */

struct report {
    struct report_config config;
    bool terminal;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more, drained;
    struct event ring[RING];
    uint64_t head, tail; /* events put, events written */
    uint64_t dropped, dropped_told;
    bool stop;
};

/* JOURNAL_STREAM=DEV:INO names the socket that systemd gave us as stderr (systemd.exec(5)). */
static bool stderr_is_journal(void)
{
    const char *env = getenv("JOURNAL_STREAM");
    unsigned long long dev, ino;
    struct stat st;

    return env && sscanf(env, "%llu:%llu", &dev, &ino) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
           st.st_dev == dev && st.st_ino == ino;
}

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

static void write_journal(const struct event *e, const char *sentence)
{
    const struct evidence_numbers *w = &e->plan.why;

    if (!e->has_plan) {
        sd_journal_send("MESSAGE=%s", sentence, "PRIORITY=%d", (int)e->level, "PCPTUNED_EVENT=%s",
                        event_name(e->kind), "PCPTUNED_DRY_RUN=%d", e->dry_run, NULL);
        return;
    }
    sd_journal_send("MESSAGE=%s", sentence, "PRIORITY=%d", (int)e->level, "PCPTUNED_EVENT=%s",
                    event_name(e->kind), "PCPTUNED_DRY_RUN=%d", e->dry_run, "PCPTUNED_REASON=%s",
                    reason_name(e->plan.reason), "PCPTUNED_STORM_ID=%" PRIu64, w->storm_id,
                    "PCPTUNED_CGROUP=%s", w->group, "PCPTUNED_TASKS=%" PRIu32, w->tasks_total,
                    "PCPTUNED_PAGES=%" PRIu64, w->pages, "PCPTUNED_WAIT_BEFORE_USEC=%" PRIu64,
                    w->w_before / NSEC_PER_USEC, "PCPTUNED_WAIT_AFTER_USEC=%" PRIu64,
                    w->w_after / NSEC_PER_USEC, NULL);
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
    _cleanup_free_ char *text = report_json(e);
    if (!text)
        return;
    size_t len = strlen(text);
    text[len] = '\n'; /* in place of the NUL, so that it is one write */
    write_all(STDOUT_FILENO, text, len + 1);
}

static void write_event(const struct report *r, const struct event *e)
{
    char sentence[1024];

    if (r->config.format == REPORT_JSON) {
        write_json(e);
        return;
    }
    if (e->level > r->config.level)
        return;
    event_describe(e, sentence, sizeof(sentence));
    if (r->config.format == REPORT_JOURNAL)
        write_journal(e, sentence);
    else
        write_text(r, e, sentence);
}

static void tell_dropped(const struct report *r, uint64_t dropped, const struct event *next)
{
    struct event e = {.kind = EVENT_NOTICE,
                      .level = LEVEL_WARNING,
                      .mono = next->mono,
                      .real = next->real,
                      .dry_run = next->dry_run};

    snprintf(e.text, sizeof(e.text),
             "%" PRIu64 " events were dropped in all: whoever reads them is too slow", dropped);
    write_event(r, &e);
}

static void *report_thread(void *arg)
{
    struct report *r = arg;
    struct event e;

    pthread_mutex_lock(&r->lock);
    for (;;) {
        while (r->tail == r->head && !r->stop)
            pthread_cond_wait(&r->more, &r->lock);
        if (r->tail == r->head)
            break;
        e = r->ring[r->tail % RING];
        uint64_t dropped = r->dropped;
        pthread_mutex_unlock(&r->lock);
        if (dropped != r->dropped_told)
            tell_dropped(r, dropped, &e);
        write_event(r, &e);
        pthread_mutex_lock(&r->lock);
        r->dropped_told = dropped;
        r->tail++;
    }
    r->stop = true;
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

int report_new(const struct report_config *c, struct report **ret)
{
    _cleanup_free_ struct report *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;

    r->config = *c;
    r->terminal = isatty(STDERR_FILENO);
    if (c->format == REPORT_AUTO)
        r->config.format = stderr_is_journal() ? REPORT_JOURNAL : REPORT_TEXT;
    init_lock(&r->lock);
    pthread_cond_init(&r->more, NULL);
    pthread_cond_init(&r->drained, NULL);
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
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 2;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->more);
    int late = 0;
    while (r->tail != r->head && late == 0)
        late = pthread_cond_timedwait(&r->drained, &r->lock, &until);
    pthread_mutex_unlock(&r->lock);
    if (late != 0)
        return; /* a reader that never reads: the thread and its memory end with the process */
    pthread_join(r->thread, NULL);
    free(r);
}

void report_put(struct report *r, const struct event *e)
{
    pthread_mutex_lock(&r->lock);
    if (r->head - r->tail < RING) {
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
