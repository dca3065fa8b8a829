/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "storm.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "cgroup.h"
#include "child.h"
#include "clock.h"
#include "task.h"

/* Long enough for some 100,000 faults to compare the storm with. */
#define AROUND_NS (100 * NSEC_PER_MSEC)
/* A bystander that does not get through one fault in this time is not measuring any more. */
#define IDLE_PATIENCE_NS (30 * NSEC_PER_SEC)

struct storm {
    const struct storm_options *o;
    struct cgroup *cgroup;
    struct bystander *bystander;
    void *shared;
    pid_t *busy;
    size_t busy_count;
    int signal_fd;
    int report_rx;
    int report_tx;
    sigset_t old_mask;

    struct storm_result *now; /* the storm in progress */
    size_t alive;
    bool striking; /* tasks may end */
    size_t reports;
    struct child_report last;

    void (*progress)(size_t ready, size_t all, void *arg);
    void *progress_arg;

    int signo;
    char error[160];
};

static int _printf_(3, 4) fail(struct storm *s, int error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int n = vsnprintf(s->error, sizeof(s->error), format, args);
    va_end(args);
    if (error && n >= 0 && (size_t)n < sizeof(s->error))
        snprintf(s->error + n, sizeof(s->error) - (size_t)n, ": %s", strerror(-error));
    return error ? error : -ECHILD;
}

static struct task_result *find_task(struct storm *s, pid_t pid)
{
    for (size_t i = 0; s->now && i < s->now->tasks; i++)
        if (s->now->task[i].pid == pid)
            return &s->now->task[i];
    return NULL;
}

static const char *death(int status, char *buf, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(buf, size, "died of signal %d", WTERMSIG(status));
    else
        snprintf(buf, size, "exited with status %d", WEXITSTATUS(status));
    return buf;
}

static int note_exit(struct storm *s, pid_t pid, int status, nsec_t now)
{
    char how[48];
    struct task_result *t = find_task(s, pid);

    if (t) {
        t->exit_ns = now;
        s->alive--;
        if (s->striking)
            return 0;
    }
    return fail(s, 0, "%s (pid %d) %s before its time",
                t ? "a task" : "the bystander or a busy loop", pid,
                death(status, how, sizeof(how)));
}

static int reap(struct storm *s)
{
    int status;
    pid_t pid;
    int r = 0;

    while (r == 0 && (pid = waitpid(-1, &status, WNOHANG)) > 0)
        r = note_exit(s, pid, status, clock_monotonic());
    return r;
}

static int take_signal(struct storm *s)
{
    struct signalfd_siginfo info;

    if (read(s->signal_fd, &info, sizeof(info)) != sizeof(info))
        return 0;
    if (info.ssi_signo == SIGCHLD)
        return reap(s);
    s->signo = (int)info.ssi_signo;
    return fail(s, -EINTR, "signal %d", s->signo);
}

static int take_report(struct storm *s)
{
    if (read(s->report_rx, &s->last, sizeof(s->last)) != sizeof(s->last))
        return 0;
    if (s->last.error)
        return fail(s, s->last.error, "process %d: %.*s", s->last.pid, (int)sizeof(s->last.what),
                    s->last.what);
    s->reports++;
    return 0;
}

/* Waits for the next event, or until the deadline (NSEC_INFINITY: none). Signals wait until all
 * reports are read: a child that fails says why before it dies. */
static int wait_event(struct storm *s, nsec_t deadline)
{
    struct pollfd fds[] = {{s->report_rx, POLLIN, 0}, {s->signal_fd, POLLIN, 0}};
    nsec_t now = deadline == NSEC_INFINITY ? 0 : clock_monotonic();
    nsec_t left = deadline > now ? deadline - now : 0;
    struct timespec ts = {(time_t)(left / NSEC_PER_SEC), (long)(left % NSEC_PER_SEC)};

    if (ppoll(fds, ARRAY_SIZE(fds), deadline == NSEC_INFINITY ? NULL : &ts, NULL) < 0)
        return errno == EINTR ? 0 : fail(s, -errno, "ppoll");
    if (fds[0].revents)
        return take_report(s);
    return fds[1].revents ? take_signal(s) : 0;
}

static int wait_until(struct storm *s, nsec_t deadline)
{
    int r = 0;
    while (r == 0 && clock_monotonic() < deadline)
        r = wait_event(s, deadline);
    return r;
}

static int wait_reports(struct storm *s, size_t n)
{
    int r = 0;
    while (r == 0 && s->reports < n) {
        r = wait_event(s, NSEC_INFINITY);
        if (s->progress)
            s->progress(s->reports, n, s->progress_arg);
    }
    s->reports = 0;
    return r;
}

int storm_sleep(struct storm *s, nsec_t duration)
{
    return wait_until(s, clock_monotonic() + duration);
}

static void spin(void *arg)
{
    (void)arg;
    for (volatile unsigned n = 0;; n++)
        ;
}

static int start_busy(struct storm *s)
{
    s->busy = calloc((size_t)s->o->busy + 1, sizeof(*s->busy));
    if (!s->busy)
        return fail(s, -ENOMEM, "busy loops");
    for (; s->busy_count < s->o->busy; s->busy_count++) {
        pid_t pid = child_spawn(spin, NULL);
        if (pid < 0)
            return fail(s, pid, "fork of busy loop %zu", s->busy_count + 1);
        s->busy[s->busy_count] = pid;
    }
    return 0;
}

static int start_bystander(struct storm *s)
{
    if (s->o->bystander.place == BYSTANDER_NONE)
        return 0;
    int r = bystander_new(&s->o->bystander, s->report_tx, &s->bystander);
    return r < 0 ? fail(s, r, "the bystander") : wait_reports(s, 1);
}

/* The tasks touch it, and we keep it: their ends free none of it. */
static int map_shared(struct storm *s)
{
    if (s->o->memory != STORM_SHARED)
        return 0;
    void *p = mmap(NULL, (size_t)s->o->size, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return fail(s, -errno, "the shared mapping");
    s->shared = p;
    madvise(p, (size_t)s->o->size, s->o->thp ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return 0;
}

static int make_cgroup(struct storm *s)
{
    if (!s->o->cgroup)
        return 0;
    int r = cgroup_new(s->o->cgroup, &s->cgroup);
    return r < 0 ? fail(s, r, "control group \"%s\"", s->o->cgroup) : 0;
}

static int open_channels(struct storm *s)
{
    sigset_t set;
    int fds[2];

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signal_fd < 0)
        return fail(s, -errno, "signalfd");
    if (pipe2(fds, O_CLOEXEC) < 0)
        return fail(s, -errno, "pipe");
    s->report_rx = fds[0];
    s->report_tx = fds[1];
    sigaddset(&set, TASK_SIGNAL); /* inherited by the tasks, which sigwait() for it */
    sigprocmask(SIG_BLOCK, &set, &s->old_mask);
    return 0;
}

int storm_new(const struct storm_options *o, struct storm **ret)
{
    struct storm *s = calloc(1, sizeof(*s));

    *ret = s;
    if (!s)
        return -ENOMEM;
    s->o = o;
    s->signal_fd = s->report_rx = s->report_tx = -1;
    sigprocmask(SIG_BLOCK, NULL, &s->old_mask);
    int r = open_channels(s);
    if (r == 0)
        r = make_cgroup(s);
    if (r == 0)
        r = map_shared(s);
    if (r == 0)
        r = start_busy(s);
    if (r == 0)
        r = start_bystander(s);
    return r;
}

static void end_tasks(struct storm *s)
{
    struct storm_result *now = s->now;

    for (size_t i = 0; now && i < now->tasks; i++)
        if (now->task[i].pid > 0 && now->task[i].exit_ns == 0)
            kill(now->task[i].pid, SIGKILL);
    for (size_t i = 0; now && i < now->tasks; i++)
        if (now->task[i].exit_ns == 0)
            child_end(now->task[i].pid);
    s->now = NULL;
}

int storm_free(struct storm *s)
{
    if (!s)
        return 0;
    end_tasks(s);
    s->bystander = bystander_free(s->bystander);
    for (size_t i = 0; i < s->busy_count; i++)
        child_end(s->busy[i]);
    free(s->busy);
    int r = cgroup_free(s->cgroup);
    if (s->shared)
        munmap(s->shared, (size_t)s->o->size);
    closep(&s->signal_fd);
    closep(&s->report_rx);
    closep(&s->report_tx);
    sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
    free(s);
    return r;
}

static int start_tasks(struct storm *s)
{
    struct task_plan plan = {
        .o = s->o, .shared = s->shared, .cgroup = s->cgroup, .report_fd = s->report_tx};

    for (uint64_t i = 0; i < s->o->tasks; i++) {
        pid_t pid = child_spawn(task_main, &plan);
        if (pid < 0)
            return fail(s, pid, "fork of task %" PRIu64, i + 1);
        s->now->task[s->now->tasks++].pid = pid;
        s->alive++;
    }
    return wait_reports(s, (size_t)s->o->tasks);
}

static int look_at_tasks(struct storm *s)
{
    for (size_t i = 0; i < s->now->tasks; i++) {
        int r = proc_usage(s->now->task[i].pid, &s->now->task[i].usage);
        if (r == -ESRCH || r == -ENOENT)
            return fail(s, 0, "a task (pid %d) ended before its time", s->now->task[i].pid);
        if (r < 0)
            return fail(s, r, "memory of task %d", s->now->task[i].pid);
    }
    s->now->ready_ns = clock_monotonic();
    return 0;
}

static void enter_phase(struct storm *s, enum phase phase)
{
    bystander_phase(s->bystander, phase, clock_monotonic());
}

static int watch_calm(struct storm *s)
{
    return s->bystander ? storm_sleep(s, AROUND_NS) : 0;
}

/* Each signal wakes a task that would take our CPU from us: 4 signals took 1.9 ms on 2 CPUs, and
 * reaping waited for exiting tasks. */
static void hurry(bool on)
{
    struct sched_param param = {.sched_priority = on ? 1 : 0};
    if (sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &param) < 0)
        return; /* without the privilege the output shows how long it took */
}

/* Without --stagger nothing comes between the signals. */
static int strike(struct storm *s)
{
    struct storm_result *now = s->now;
    int sig = s->o->how == STORM_KILL ? SIGKILL : TASK_SIGNAL;
    int r = 0;

    s->striking = true;
    now->kill_ns = clock_monotonic();
    for (size_t i = 0; i < now->tasks && r == 0; i++) {
        if (s->o->stagger && i > 0)
            r = wait_until(s, now->kill_ns + i * s->o->stagger);
        kill(now->task[i].pid, sig);
    }
    now->kill_end_ns = clock_monotonic();
    while (r == 0 && s->alive > 0)
        r = wait_event(s, NSEC_INFINITY);
    for (size_t i = 0; i < now->tasks; i++)
        now->last_exit_ns = MAX(now->last_exit_ns, now->task[i].exit_ns);
    return r;
}

static int run_churn(struct storm *s)
{
    kill(s->now->task[0].pid, TASK_SIGNAL);
    int r = wait_reports(s, 1);
    s->now->churn_begin_ns = s->last.begin_ns;
    s->now->churn_end_ns = s->last.end_ns;
    return r;
}

static int collect(struct storm *s)
{
    if (!s->bystander)
        return 0;
    nsec_t deadline = clock_monotonic() + IDLE_PATIENCE_NS;
    enter_phase(s, PHASE_IDLE);
    while (!bystander_is_idle(s->bystander)) {
        int r = storm_sleep(s, NSEC_PER_MSEC);
        if (r < 0)
            return r;
        if (clock_monotonic() > deadline)
            return fail(s, -ETIMEDOUT, "the bystander hangs in a page fault");
    }
    bystander_collect(s->bystander, s->now->phase);
    return 0;
}

/* The phases of the bystander around what is measured: the storm, or the churn. */
static int measure(struct storm *s, int (*what)(struct storm *s))
{
    enter_phase(s, PHASE_BEFORE);
    int r = watch_calm(s);
    if (r < 0)
        return r;
    hurry(true);
    enter_phase(s, PHASE_DURING);
    r = what(s);
    enter_phase(s, PHASE_AFTER);
    hurry(false);
    if (r == 0)
        r = watch_calm(s);
    return r < 0 ? r : collect(s);
}

static int storm_steps(struct storm *s)
{
    int r = start_tasks(s);
    if (r == 0)
        r = look_at_tasks(s);
    if (r < 0)
        return r;
    if (!s->o->thread_churn)
        return measure(s, strike);
    r = measure(s, run_churn);
    if (r == 0)
        r = storm_sleep(s, s->o->pause);
    return r < 0 ? r : strike(s);
}

int storm_once(struct storm *s, struct storm_result *ret)
{
    *ret = (struct storm_result){.task = calloc((size_t)s->o->tasks, sizeof(*ret->task))};
    if (!ret->task)
        return fail(s, -ENOMEM, "the list of tasks");
    s->now = ret;
    s->alive = 0;
    s->striking = false;
    int r = storm_steps(s);
    end_tasks(s);
    return r;
}

void storm_on_progress(struct storm *s, void (*fn)(size_t ready, size_t all, void *arg), void *arg)
{
    s->progress = fn;
    s->progress_arg = arg;
}

const char *storm_error(const struct storm *s)
{
    return s ? s->error : "out of memory";
}

int storm_signal(const struct storm *s)
{
    return s->signo;
}

const struct bystander *storm_bystander(const struct storm *s)
{
    return s->bystander;
}

const struct cgroup *storm_cgroup(const struct storm *s)
{
    return s->cgroup;
}
