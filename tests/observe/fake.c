/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

static char dir[] = "/tmp/pcptuned-fake-XXXXXX";
static bool dir_made;
static pid_t owner;

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    abort();
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static void remove_dir(void)
{
    if (getpid() == owner)
        nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

const char *fake_dir(void)
{
    if (!dir_made) {
        must(mkdtemp(dir) != NULL, dir);
        dir_made = true;
        owner = getpid();
        atexit(remove_dir);
    }
    return dir;
}

void fake_file(const char *name, const void *data, size_t len, char *ret_path, size_t size)
{
    int n = snprintf(ret_path, size, "%s/%s", fake_dir(), name);
    must(n > 0 && (size_t)n < size, name);
    for (char *slash = strchr(ret_path + sizeof(dir), '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        must(mkdir(ret_path, 0700) == 0 || errno == EEXIST, ret_path);
        *slash = '/';
    }
    int fd = open(ret_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(fd >= 0, ret_path);
    must(write(fd, data, len) == (ssize_t)len && close(fd) == 0, ret_path);
}

static bool write_line(const char *path, const char *line)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line);
    if (fd >= 0)
        close(fd);
    return ok;
}

bool fake_enter(void)
{
    unsigned uid = getuid(), gid = getgid();
    char uids[48], gids[48];
    const char *refused = NULL;

    snprintf(uids, sizeof(uids), "%u %u 1", uid, uid);
    snprintf(gids, sizeof(gids), "%u %u 1", gid, gid);
    if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0)
        refused = "unshare";
    else if (uid != 0 &&
             (!write_line("/proc/self/setgroups", "deny") ||
              !write_line("/proc/self/uid_map", uids) || !write_line("/proc/self/gid_map", gids)))
        refused = "user namespace";
    else if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        refused = "mount";
    if (refused)
        printf("SKIP: tests with fake kernel files: %s: %s\n", refused, strerror(errno));
    return !refused;
}

void fake_bind(const char *path, const char *source)
{
    must(mount(source, path, NULL, MS_BIND, NULL) == 0, path);
}

void fake_text(const char *path, const char *text)
{
    static unsigned serial;
    char name[32], file[PATH_MAX];

    snprintf(name, sizeof(name), "text%u", serial++);
    fake_file(name, text, strlen(text), file, sizeof(file));
    fake_bind(path, file);
}

void fake_undo(const char *path)
{
    must(umount2(path, MNT_DETACH) == 0, path);
}
