/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "task.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "cgroup.h"
#include "child.h"
#include "clock.h"

/* These threads have no depth, and thousands of default stacks would be address space. */
#define STACK_SIZE ((size_t)256 << 10)

struct slice {
    volatile char *start;
    size_t size;
    size_t page;
    pthread_barrier_t *touched;
};

static void touch(const struct slice *s)
{
    for (size_t at = 0; at < s->size; at += s->page)
        s->start[at] = 1;
}

static void *touch_and_stay(void *arg)
{
    struct slice *s = arg;

    touch(s);
    pthread_barrier_wait(s->touched);
    for (;;)
        pause();
    return NULL;
}

static pthread_t start_thread(const struct task_plan *plan, void *(*fn)(void *), void *arg)
{
    pthread_attr_t attr;
    pthread_t thread;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    int r = pthread_create(&thread, &attr, fn, arg);
    pthread_attr_destroy(&attr);
    if (r != 0)
        child_fail(plan->report_fd, -r, "a thread");
    return thread;
}

/* Slices of whole pages; the last one may be shorter, or empty. They are never freed: their
 * threads live as long as the process. */
static void touch_in_threads(const struct task_plan *plan, char *base, size_t size)
{
    size_t n = (size_t)plan->o->threads;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t share = (size / page + n - 1) / n * page;
    static struct slice *slices;
    static pthread_barrier_t touched;

    slices = calloc(n, sizeof(*slices));
    if (!slices)
        child_fail(plan->report_fd, -ENOMEM, "the list of threads");
    pthread_barrier_init(&touched, NULL, (unsigned)n);
    for (size_t i = 0; i < n; i++) {
        size_t at = MIN(i * share, size);
        size_t len = MIN(share, size - at);
        slices[i] = (struct slice){base + at, len, page, &touched};
    }
    for (size_t i = 1; i < n; i++)
        start_thread(plan, touch_and_stay, &slices[i]);
    touch(&slices[0]);
    pthread_barrier_wait(&touched);
}

static void take_memory(const struct task_plan *plan)
{
    const struct storm_options *o = plan->o;
    size_t size = (size_t)o->size;
    char *base = plan->shared;

    if (!base) {
        base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED)
            child_fail(plan->report_fd, -errno, "memory");
    }
    /* A kernel without huge pages refuses both, and has what the second asks for. */
    if (madvise(base, size, o->thp ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) < 0 && o->thp)
        child_fail(plan->report_fd, -errno, "huge pages");
    touch_in_threads(plan, base, size);
    if (o->memory == STORM_PEAK &&
        madvise(base + o->keep, size - (size_t)o->keep, MADV_DONTNEED) < 0)
        child_fail(plan->report_fd, -errno, "giving back memory");
}

static void *end_at_once(void *arg)
{
    return arg;
}

static void churn(const struct task_plan *plan)
{
    nsec_t begin = clock_monotonic();

    for (uint64_t i = 0; i < plan->o->thread_churn; i++)
        pthread_join(start_thread(plan, end_at_once, NULL), NULL);
    child_say(plan->report_fd, begin, clock_monotonic());
}

static void await_signal(void)
{
    sigset_t set;
    int sig;

    sigemptyset(&set);
    sigaddset(&set, TASK_SIGNAL);
    while (sigwait(&set, &sig) != 0)
        ;
}

/* Where it does not fit after all, these are to die, and nothing else. */
static void volunteer_for_oom(void)
{
    _cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "1000", 4) < 0)
        return;
}

void task_main(void *arg)
{
    const struct task_plan *plan = arg;

    int r = plan->cgroup ? cgroup_enter(plan->cgroup) : 0;
    if (r < 0)
        child_fail(plan->report_fd, r, "entering the control group");
    volunteer_for_oom();
    take_memory(plan);
    child_say(plan->report_fd, 0, 0);
    if (plan->o->thread_churn) {
        await_signal();
        churn(plan);
    }
    await_signal();
}
