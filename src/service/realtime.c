/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "realtime.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Microseconds of real-time CPU without a pause: no reaction takes 2 ms. Beyond the first the
 * thread is made an ordinary one, beyond the second the kernel kills us, and the restore is left
 * to ExecStopPost=. */
#define RTTIME_SOFT 200000
#define RTTIME_HARD 2000000

/* RssAnon is 1 MB; a reload needs some 100 kB. */
#define GROWTH (16UL << 20)

static void on_xcpu(int number)
{
    const struct sched_param normal = {0};
    (void)number;

    sched_setscheduler(0, SCHED_OTHER, &normal);
}

static void limit_realtime(void)
{
    const struct rlimit limit = {RTTIME_SOFT, RTTIME_HARD};
    struct sigaction action = {.sa_handler = on_xcpu};

    sigaction(SIGXCPU, &action, NULL);
    setrlimit(RLIMIT_RTTIME, &limit);
}

const char *realtime_enter(void)
{
    const struct sched_param lowest = {.sched_priority = 1};

    mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
    limit_realtime();
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0)
        return NULL;
    if (setpriority(PRIO_PROCESS, 0, -20) == 0)
        return "no real-time priority (CAP_SYS_NICE, or the cpu cgroup has no rt budget): nice -20 "
               "instead, reactions take milliseconds on a busy machine";
    return "no real-time priority and no negative nice (CAP_SYS_NICE is missing): reactions take "
           "milliseconds on a busy machine";
}

void limit_memory(void)
{
#ifndef __SANITIZE_ADDRESS__ /* which keeps what is freed */
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (!f)
        return;
    if (fscanf(f, "%*u %*u %*u %*u %*u %lu", &pages) == 1) {
        unsigned long limit = pages * (unsigned long)sysconf(_SC_PAGESIZE) + GROWTH;
        setrlimit(RLIMIT_DATA, &(struct rlimit){limit, RLIM_INFINITY});
    }
    fclose(f);
#endif
}
