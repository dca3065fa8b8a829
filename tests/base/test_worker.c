/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_count.h"
#include "worker.h"

#define FOREVER (600 * NSEC_PER_SEC) /* far beyond any slow machine; never waited for */

struct job {
    sem_t go; /* the job waits for it where hang is set */
    bool hang;
    int runs, warm_ups;
    sigset_t blocked;
    pthread_t thread;
    int policy;
};

static void run_job(void *arg)
{
    struct job *j = arg;
    struct sched_param param;

    if (j->hang)
        while (sem_wait(&j->go) < 0)
            ;
    pthread_sigmask(SIG_BLOCK, NULL, &j->blocked);
    pthread_getschedparam(pthread_self(), &j->policy, &param);
    j->thread = pthread_self();
    j->runs++;
}

static struct worker *start(struct job *j, bool hang, int rt_priority)
{
    struct worker *w = NULL;
    *j = (struct job){.hang = hang};
    sem_init(&j->go, 0, 0);
    assert_int_equal(worker_new(run_job, NULL, j, rt_priority, &w), 0);
    return w;
}

static bool readable(const struct worker *w, int timeout)
{
    struct pollfd p = {.fd = worker_fd(w), .events = POLLIN};
    return poll(&p, 1, timeout) == 1 && p.revents == POLLIN;
}

static void finish_job(struct worker *w)
{
    assert_true(readable(w, -1));
    assert_true(worker_collect(w));
}

static void count_warm_up(void *arg)
{
    struct job *j = arg;
    __atomic_add_fetch(&j->warm_ups, 1, __ATOMIC_RELEASE);
}

/* A roused thread takes the job that comes, and goes back to sleep when none does. */
static void test_rouse(void **state)
{
    (void)state;
    struct worker *w = NULL;
    struct job j = {.warm_ups = 0};
    cpu_set_t all, one;

    sched_getaffinity(0, sizeof(all), &all);
    assert_int_equal(worker_new(run_job, count_warm_up, &j, 0, &w), 0);
    for (int i = 1; i <= 100; i++) {
        worker_rouse(w);
        if (i % 2)
            usleep(500);
        assert_int_equal(worker_submit(w), 0);
        worker_rouse(w); /* busy: nothing */
        finish_job(w);
        assert_int_equal(j.runs, i);
    }
    assert_true(j.warm_ups <= 100);

    /* Where both share a CPU it must not poll, or the job would never come. */
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(one), &one), 0);
    worker_rouse(w);
    assert_int_equal(worker_submit(w), 0);
    finish_job(w);
    pthread_setaffinity_np(pthread_self(), sizeof(all), &all);
    worker_rouse(w);
    assert_true(worker_free(w, NSEC_INFINITY));
}

static int nth_cpu(const cpu_set_t *set, int n)
{
    int cpu = 0;
    while (!CPU_ISSET((unsigned)cpu, set) || n-- > 0)
        cpu++;
    return cpu;
}

static void pin(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)cpu, &one);
    assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(one), &one), 0);
}

/* With a CPU of its own the roused thread warms up, job or not. */
static void test_warm_up(void **state)
{
    (void)state;
    struct worker *w = NULL;
    struct job j = {.warm_ups = 0};
    cpu_set_t all;

    sched_getaffinity(0, sizeof(all), &all);
    if (CPU_COUNT(&all) < 2) {
        puts("SKIP: one CPU, and a thread that shares it does not warm up");
        skip();
    }
    pin(nth_cpu(&all, 0)); /* which the new thread inherits */
    assert_int_equal(worker_new(run_job, count_warm_up, &j, 0, &w), 0);
    pin(nth_cpu(&all, 1));
    worker_rouse(w);
    for (int ms = 0; ms < 10000 && __atomic_load_n(&j.warm_ups, __ATOMIC_ACQUIRE) == 0; ms++)
        usleep(1000);
    assert_int_equal(__atomic_load_n(&j.warm_ups, __ATOMIC_ACQUIRE), 1);
    pthread_setaffinity_np(pthread_self(), sizeof(all), &all);
    assert_true(worker_free(w, NSEC_INFINITY));
}

static void test_submit_collect(void **state)
{
    (void)state;
    struct job j;
    struct worker *w = start(&j, false, 0);

    assert_false(worker_busy(w));
    assert_false(worker_collect(w));
    for (int i = 1; i <= 1000; i++) {
        assert_int_equal(worker_submit(w), 0);
        assert_true(worker_busy(w));
        finish_job(w);
        assert_int_equal(j.runs, i);
        assert_false(worker_busy(w));
        assert_false(worker_collect(w)); /* once a job */
        assert_false(readable(w, 0));
    }
    assert_false(pthread_equal(j.thread, pthread_self()));
    assert_true(worker_free(w, FOREVER));
}

static void test_busy_until_collected(void **state)
{
    (void)state;
    struct job j;
    struct worker *w = start(&j, true, 0);

    assert_int_equal(worker_submit(w), 0);
    assert_int_equal(worker_submit(w), -EBUSY);
    assert_false(worker_collect(w));
    assert_false(readable(w, 0));
    sem_post(&j.go);
    assert_true(readable(w, -1));
    assert_int_equal(worker_submit(w), -EBUSY); /* ended, not collected */
    assert_true(worker_busy(w));
    assert_true(worker_collect(w));
    sem_post(&j.go);
    assert_int_equal(worker_submit(w), 0);
    finish_job(w);
    assert_int_equal(j.runs, 2);
    assert_true(worker_free(w, FOREVER));
}

static void test_free_waits_for_job(void **state)
{
    (void)state;
    struct job j;
    struct worker *w = start(&j, true, 0);

    assert_int_equal(worker_submit(w), 0);
    sem_post(&j.go);
    assert_true(worker_free(w, FOREVER));
    assert_int_equal(j.runs, 1); /* a submitted job is not lost: it may be the restore */
    assert_true(worker_free(NULL, 0));
    w = start(&j, false, 0);
    assert_true(worker_free(w, UINT64_MAX)); /* infinite patience does not overflow */
}

static bool has_descriptor(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void test_hung_job_is_given_up(void **state)
{
    (void)state;
    static struct job j; /* the thread still uses it after worker_free() */
    struct worker *w = start(&j, true, 0);
    int fd = worker_fd(w);

    assert_int_equal(worker_submit(w), 0);
    assert_false(worker_free(w, NSEC_PER_MSEC));
    assert_true(has_descriptor(fd)); /* what the thread may touch is kept ... */
    sem_post(&j.go);
    for (int i = 0; i < 60000 && has_descriptor(fd); i++)
        poll(NULL, 0, 1);
    assert_false(has_descriptor(fd)); /* ... and freed by the thread when it returns */
}

static void test_thread_takes_no_signal(void **state)
{
    (void)state;
    sigset_t none, after;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    struct job j;
    struct worker *w = start(&j, false, 0);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_int_equal(worker_submit(w), 0);
    finish_job(w);

    for (int sig = 1; sig < SIGRTMAX; sig++) {
        bool possible = sig != SIGKILL && sig != SIGSTOP && (sig < 32 || sig >= SIGRTMIN);
        assert_int_equal(sigismember(&j.blocked, sig), possible);
        assert_false(sigismember(&after, sig) == 1); /* ours are as they were */
    }
    assert_true(worker_free(w, FOREVER));
}

static void test_realtime_is_a_wish(void **state)
{
    (void)state;
    struct job j;
    struct worker *w = start(&j, false, 1);
    assert_int_equal(worker_submit(w), 0);
    finish_job(w);
    assert_true(worker_free(w, FOREVER));

    struct sched_param param = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &param) < 0) {
        print_message("SKIP: real-time scheduling is refused here, only the fallback was tested\n");
        skip();
    }
    param.sched_priority = 0;
    sched_setscheduler(0, SCHED_OTHER, &param);
    assert_int_equal(j.policy, SCHED_FIFO);
}

static void test_no_allocation_after_new(void **state)
{
    (void)state;
    if (alloc_count() == UINT64_MAX) {
        print_message("SKIP: allocations cannot be counted under a sanitizer\n");
        skip();
    }
    struct job j;
    struct worker *w = start(&j, false, 0);
    uint64_t before = alloc_count();
    assert_true(before > 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(worker_submit(w), 0);
        finish_job(w);
    }
    assert_true(alloc_count() == before);
    assert_true(worker_free(w, FOREVER));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rouse),
        cmocka_unit_test(test_warm_up),
        cmocka_unit_test(test_submit_collect),
        cmocka_unit_test(test_busy_until_collected),
        cmocka_unit_test(test_free_waits_for_job),
        cmocka_unit_test(test_hung_job_is_given_up),
        cmocka_unit_test(test_thread_takes_no_signal),
        cmocka_unit_test(test_realtime_is_a_wish),
        cmocka_unit_test(test_no_allocation_after_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
