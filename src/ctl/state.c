/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "state.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "fileio.h"
#include "knobs.h"

const char *state_dir(void)
{
    const char *dir = getenv("RUNTIME_DIRECTORY");

    return dir && dir[0] ? dir : "/run/pcptuned";
}

const char *undo_name(enum undo_kind k)
{
    static const char *const names[] = {
        [UNDO_NONE] = "none",
        [UNDO_HELD] = "held",
        [UNDO_STALE] = "stale",
        [UNDO_TORN] = "torn",
        [UNDO_UNREADABLE] = "unreadable",
    };
    return (unsigned)k < ARRAY_SIZE(names) ? names[k] : "unknown";
}

static bool of_this_boot(const struct journal *j)
{
    char boot_id[64];

    if (read_file("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id)) < 0)
        return false;
    boot_id[strcspn(boot_id, "\n")] = '\0';
    return strcmp(j->boot_id, boot_id) == 0;
}

void undo_read(struct undo *ret)
{
    *ret = (struct undo){0};
    _cleanup_close_ int dir = open(state_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ret->error = dir < 0 ? -errno : journal_read(dir, &ret->journal);
    if (ret->error == -ENOENT)
        ret->kind = UNDO_NONE;
    else if (ret->error == -EBADMSG)
        ret->kind = UNDO_TORN;
    else if (ret->error < 0)
        ret->kind = UNDO_UNREADABLE;
    else
        ret->kind = of_this_boot(&ret->journal) ? UNDO_HELD : UNDO_STALE;
}

/* "1: FLOCK  ADVISORY  WRITE 1234 00:1a:567 0 EOF" (lock_get_status(), fs/locks.c). */
static pid_t owner_in(FILE *locks, const struct stat *st)
{
    char line[160];

    while (fgets(line, sizeof(line), locks)) {
        unsigned major_id, minor_id;
        unsigned long inode;
        int pid;
        if (sscanf(line, "%*d: FLOCK ADVISORY WRITE %d %x:%x:%lu", &pid, &major_id, &minor_id,
                   &inode) == 4 &&
            inode == st->st_ino && major_id == major(st->st_dev) && minor_id == minor(st->st_dev))
            return pid;
    }
    return 0;
}

pid_t state_owner(void)
{
    char path[4096];
    struct stat st;

    snprintf(path, sizeof(path), "%s/lock", state_dir());
    if (stat(path, &st) < 0)
        return 0;
    _cleanup_fclose_ FILE *locks = fopen("/proc/locks", "re");
    return locks ? owner_in(locks, &st) : 0;
}

struct knobs_answer {
    int error;
    struct knob_values values;
};

static _Noreturn void answer_knobs(int fd)
{
    struct knobs_answer a = {0};

    /* Whoever waits for the end of our output must not wait for this. */
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        close(i);
    a.error = knobs_read(&a.values);
    _exit(write(fd, &a, sizeof(a)) == (ssize_t)sizeof(a) ? EXIT_SUCCESS : EXIT_FAILURE);
}

int state_knobs(nsec_t timeout, struct knob_values *ret)
{
    struct knobs_answer a = {0};
    int fds[2];

    if (pipe(fds) < 0)
        return -errno;
    _cleanup_close_ int in = fds[0];
    pid_t pid = fork();
    if (pid == 0)
        answer_knobs(fds[1]);
    close(fds[1]);
    if (pid < 0)
        return -EAGAIN;
    struct pollfd p = {.fd = in, .events = POLLIN};
    if (poll(&p, 1, (int)(timeout / NSEC_PER_MSEC)) <= 0) {
        kill(pid, SIGKILL); /* init takes it, when the kernel lets it go */
        return -ETIMEDOUT;
    }
    ssize_t n = read(in, &a, sizeof(a));
    waitpid(pid, NULL, 0);
    if (n != (ssize_t)sizeof(a))
        return -EIO;
    if (a.error == 0)
        *ret = a.values;
    return a.error;
}
