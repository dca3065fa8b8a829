/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fileio.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

static ssize_t read_whole(int fd, char *buf, size_t size, bool from_start)
{
    size_t len = 0;

    while (len < size) {
        ssize_t n = from_start ? pread(fd, buf + len, size - len, (off_t)len)
                               : read(fd, buf + len, size - len);
        if (n < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        if (n == 0) {
            buf[len] = '\0';
            return (ssize_t)len;
        }
        len += (size_t)n;
    }
    return -EFBIG;
}

ssize_t read_fd(int fd, char *buf, size_t size)
{
    return read_whole(fd, buf, size, true);
}

ssize_t read_file(const char *path, char *buf, size_t size)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : read_whole(fd, buf, size, false);
}

ssize_t read_file_grow(int fd, char **buf, size_t *size, size_t limit)
{
    for (;;) {
        if (*size > 0) {
            ssize_t n = read_fd(fd, *buf, *size);
            if (n != -EFBIG)
                return n;
            if (*size >= limit)
                return -EFBIG;
        }
        size_t larger = *size ? MIN(*size * 2, limit) : MIN((size_t)16384, limit);
        char *p = realloc(*buf, larger);
        if (!p)
            return -ENOMEM;
        *buf = p;
        *size = larger;
    }
}

static int write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

/* A left-over of a killed predecessor, or somebody's symbolic link, is removed, not followed. */
static int open_new(int dirfd, const char *name, mode_t mode)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dirfd, name, flags, mode);

    if (fd < 0 && errno == EEXIST) {
        if (unlinkat(dirfd, name, 0) < 0 && errno != ENOENT)
            return -errno;
        fd = openat(dirfd, name, flags, mode);
    }
    return fd < 0 ? -errno : fd;
}

int write_file_atomic(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
                      bool durable)
{
    char tmp[NAME_MAX + 1];
    if (snprintf(tmp, sizeof(tmp), ".%s.tmp", name) >= (int)sizeof(tmp))
        return -ENAMETOOLONG;

    int fd = open_new(dirfd, tmp, mode);
    if (fd < 0)
        return fd;

    int r = write_all(fd, data, len);
    if (r == 0 && durable && fsync(fd) < 0)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && renameat(dirfd, tmp, dirfd, name) < 0)
        r = -errno;
    if (r < 0)
        unlinkat(dirfd, tmp, 0);
    return r;
}
