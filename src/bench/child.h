/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <sys/types.h>

#include "macros.h"

/* Processes that end with their parent, and the pipe on which they report. */

/* One message, written in one piece (smaller than PIPE_BUF). error is a negative errno with `what`
 * it happened to; 0 says ready. begin_ns and end_ns tell when a thread churn ran. */
struct child_report {
    pid_t pid;
    int error;
    char what[48];
    nsec_t begin_ns;
    nsec_t end_ns;
};

/* Forks a child that runs fn(arg) and exits. It gets SIGKILL when the parent ends, and keeps the
 * parent's signal mask. The caller has one thread. Returns the pid or negative errno. */
pid_t child_spawn(void (*fn)(void *arg), void *arg);

/* SIGKILL, and waits until the child is reaped. pid <= 0 is accepted, and one reaped before. */
void child_end(pid_t pid);

/* In the child: sends its report. child_fail() also exits. */
void child_say(int fd, nsec_t begin, nsec_t end);
_Noreturn void child_fail(int fd, int error, const char *what);
