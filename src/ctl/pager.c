/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "term.h"

static pid_t pager;

bool pager_runs(void)
{
    return pager > 0;
}

static _Noreturn void become_pager(const char *command, int in, int failed)
{
    dup2(in, STDIN_FILENO);
    setenv("LESS", "FRX", false);
    if (command)
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    else
        execlp("less", "less", (char *)NULL);
    ssize_t n = write(failed, "!", 1);
    _exit(n == 1 ? 127 : 126);
}

/* True once the child has become the pager: the end of a close-on-exec pipe tells. */
static bool started(int failed)
{
    char c;

    return read(failed, &c, 1) == 0;
}

static void start(const char *command, const int data[2], const int failed[2])
{
    pager = fork();
    if (pager == 0)
        become_pager(command, data[0], failed[1]);
    close(failed[1]);
    if (pager > 0 && started(failed[0])) {
        dup2(data[1], STDOUT_FILENO);
        /* The reader's ^C is for the pager, which would stay behind on a raw terminal. */
        signal(SIGINT, SIG_IGN);
    } else if (pager > 0) {
        waitpid(pager, NULL, 0);
        pager = 0;
    }
}

void pager_open(void)
{
    const char *command = getenv("PAGER"), *kind = getenv("TERM");
    int data[2], failed[2];

    if (!isatty(STDOUT_FILENO) || (command && (!command[0] || strcmp(command, "cat") == 0)) ||
        !kind || strcmp(kind, "dumb") == 0)
        return;
    if (pipe2(data, O_CLOEXEC) < 0)
        return;
    if (pipe2(failed, O_CLOEXEC) == 0) {
        start(command, data, failed);
        close(failed[0]);
    }
    close(data[0]);
    close(data[1]);
}

void pager_close(void)
{
    if (pager <= 0)
        return;
    fflush(stdout);
    close(STDOUT_FILENO);
    waitpid(pager, NULL, 0);
    pager = 0;
}
