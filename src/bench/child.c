/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "child.h"

#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

_Static_assert(sizeof(struct child_report) <= PIPE_BUF, "reports are not interleaved");

pid_t child_spawn(void (*fn)(void *arg), void *arg)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid < 0)
        return -errno;
    if (pid > 0)
        return pid;
    /* A parent that died before the prctl() would never be noticed. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(EXIT_FAILURE);
    fn(arg);
    _exit(EXIT_SUCCESS);
}

void child_end(pid_t pid)
{
    /* Not ours any more: its number may be somebody else's by now. */
    if (pid <= 0 || waitpid(pid, NULL, WNOHANG) != 0)
        return;
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void send_report(int fd, const struct child_report *report)
{
    while (write(fd, report, sizeof(*report)) < 0 && errno == EINTR)
        ;
}

void child_say(int fd, nsec_t begin, nsec_t end)
{
    struct child_report report = {.pid = getpid(), .begin_ns = begin, .end_ns = end};
    send_report(fd, &report);
}

void child_fail(int fd, int error, const char *what)
{
    struct child_report report = {.pid = getpid(), .error = error};
    snprintf(report.what, sizeof(report.what), "%s", what);
    send_report(fd, &report);
    _exit(EXIT_FAILURE);
}
