/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "control.h"

/* Preloaded into pcptuned: the C library between it and the kernel, with the faults of control.h.
 * Without FAULT_CONTROL nothing is different. */

#define PRESSURE "/proc/pressure/"
#define KNOB "/proc/sys/vm/percpu_pagelist_high_fraction"
#define NSEC_PER_SEC INT64_C(1000000000)

#define ATTR_HEADER sizeof(struct nlattr) /* NLA_HDRLEN is signed */

/* Offsets in struct taskstats, which the header that we are built with may not have. */
enum { AT_VERSION = 0, AT_COMM = 80, AT_PID = 128, AT_PPID = 132, AT_HIWATER = 200, AT_TGID = 368 };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static _Atomic int64_t nothing[CONTROL_WORDS], *word = nothing;
static pid_t self;
static const char *feeder; /* the name of processes whose exits are told as those of others */
static atomic_int knob_fd = -1;
static atomic_bool submitting; /* the loop has a message and has not handed the write over yet */
static __thread bool is_writer __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void open_control(void)
{
    const char *path = getenv("FAULT_CONTROL");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0) : -1;

    if (fd < 0)
        return;
    void *p = mmap(NULL, sizeof(nothing), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        abort();
    self = getpid();
    feeder = getenv("FAULT_FEED");
    word = p;
}

/* Resolved at the first call, which is early: dlsym() itself may allocate. */
#define REAL(name)                                                                                 \
    static __typeof__(&(name)) real;                                                               \
    if (!real)                                                                                     \
    real = (__typeof__(&(name)))dlsym(RTLD_NEXT, #name)

/* --- memory --- */

static bool no_memory(void)
{
    if (word == nothing || getpid() != self)
        return false;
    int64_t at = word[MALLOC_FAIL_AT], n = ++word[MALLOC_CALLS];
    if (is_writer || (submitting && gettid() == self))
        word[HOT_MALLOCS]++;
    if (at == 0 || n < at || (n > at && !word[MALLOC_FAIL_REST]))
        return false;
    errno = ENOMEM;
    return true;
}

#ifndef FAULT_NO_MALLOC
void *malloc(size_t size)
{
    return no_memory() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return no_memory() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return no_memory() ? NULL : __libc_realloc(p, size);
}
#endif

/* --- clocks --- */

int clock_gettime(clockid_t id, struct timespec *ts)
{
    REAL(clock_gettime);
    int r = real(id, ts);

    if (id == CLOCK_MONOTONIC || id == CLOCK_REALTIME || id == CLOCK_BOOTTIME)
        ts->tv_sec += word[CLOCK_OFFSET] / NSEC_PER_SEC;
    if (id == CLOCK_REALTIME)
        ts->tv_sec += word[REALTIME_OFFSET] / NSEC_PER_SEC;
    if (id == CLOCK_BOOTTIME)
        ts->tv_sec += word[BOOTTIME_OFFSET] / NSEC_PER_SEC;
    return r;
}

/* The kernel's timers know nothing of the offset. A time that has passed is now. */
static struct timespec to_kernel(const struct timespec *ts)
{
    struct timespec t = *ts;

    if (t.tv_sec == 0 && t.tv_nsec == 0)
        return t;
    t.tv_sec -= word[CLOCK_OFFSET] / NSEC_PER_SEC;
    return t.tv_sec > 0 ? t : (struct timespec){.tv_nsec = 1};
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
    REAL(timerfd_settime);
    struct itimerspec t = *new;

    if (flags & TFD_TIMER_ABSTIME)
        t.it_value = to_kernel(&new->it_value);
    return real(fd, flags, &t, old);
}

int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
    REAL(pthread_cond_timedwait);
    struct timespec t = to_kernel(until);

    return real(c, m, &t);
}

/* This one counts in the time of the day. */
int pthread_timedjoin_np(pthread_t thread, void **ret, const struct timespec *until)
{
    REAL(pthread_timedjoin_np);
    struct timespec t = to_kernel(until);

    t.tv_sec -= word[REALTIME_OFFSET] / NSEC_PER_SEC;
    return real(thread, ret, &t);
}

/* The first after a message hands the write over to its thread. */
int pthread_cond_signal(pthread_cond_t *c)
{
    REAL(pthread_cond_signal);

    if (submitting && gettid() == self)
        submitting = false;
    return real(c);
}

/* --- files --- */

static int open_fault(const char *path, int flags)
{
    if (strncmp(path, PRESSURE, strlen(PRESSURE)) == 0)
        return (int)word[PSI_ERRNO];
    if (strcmp(path, KNOB) != 0)
        return 0;
    return (int)word[(flags & O_ACCMODE) == O_RDONLY ? KNOB_READ_ERRNO : KNOB_OPEN_ERRNO];
}

int open(const char *path, int flags, ...)
{
    REAL(open);
    va_list ap;

    va_start(ap, flags);
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    errno = open_fault(path, flags);
    if (errno != 0)
        return -1;
    /* In the place of a trigger: an end of a pipe, whose other end decides when it is void. */
    const char *trigger = getenv("FAULT_TRIGGER");
    if (trigger && (flags & O_ACCMODE) == O_RDWR && strncmp(path, PRESSURE, strlen(PRESSURE)) == 0)
        return real(trigger, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    bool knob = (flags & O_ACCMODE) != O_RDONLY && strcmp(path, KNOB) == 0;
    if (knob && word[KNOB_WRITE_ERRNO] != 0)
        flags &= ~O_TRUNC; /* a sysctl that refuses a value keeps its own */
    int fd = real(path, flags, mode);
    if (knob)
        knob_fd = fd;
    return fd;
}

int openat(int dir, const char *path, int flags, ...)
{
    REAL(openat);
    va_list ap;

    va_start(ap, flags);
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    errno = strstr(path, "knobs.journal") ? (int)word[JOURNAL_ERRNO] : 0;
    return errno != 0 ? -1 : real(dir, path, flags, mode);
}

static bool is_pressure(int fd)
{
    char link[32], path[32];

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path));
    return n > (ssize_t)strlen(PRESSURE) && strncmp(path, PRESSURE, strlen(PRESSURE)) == 0;
}

ssize_t read(int fd, void *buf, size_t size)
{
    REAL(read);
    int64_t error = word[PSI_READ_ERRNO];

    if (error == 0 || !is_pressure(fd))
        return real(fd, buf, size);
    errno = (int)error;
    return -1;
}

ssize_t write(int fd, const void *data, size_t len)
{
    REAL(write);

    if (word[PSI_WRITE_ERRNO] != 0 && is_pressure(fd)) {
        errno = (int)word[PSI_WRITE_ERRNO];
        return -1;
    }
    if (fd != knob_fd)
        return real(fd, data, len);
    knob_fd = -1;
    is_writer = true;
    if (word[KNOB_WRITE_ERRNO] != 0) {
        errno = (int)word[KNOB_WRITE_ERRNO];
        return -1;
    }
    word[KNOB_WRITES]++;
    word[HOT_MALLOCS_WRITTEN] = word[HOT_MALLOCS];
    return real(fd, data, len);
}

/* --- taskstats --- */

struct message {
    struct nlmsghdr *hdr;
    struct nlattr *aggregate, *pid, *stats;
};

static struct nlattr *find(void *from, void *end, int type)
{
    for (char *p = from; p + ATTR_HEADER <= (char *)end;) {
        struct nlattr *a = (struct nlattr *)p;
        if (a->nla_len < ATTR_HEADER)
            return NULL;
        if ((a->nla_type & NLA_TYPE_MASK) == type)
            return a;
        p += ((size_t)a->nla_len + 3) / 4 * 4;
    }
    return NULL;
}

static void *inside(struct nlattr *a)
{
    return (char *)a + ATTR_HEADER;
}

static bool find_stats(void *buf, size_t len, struct message *m)
{
    m->hdr = buf;
    if (len < NLMSG_HDRLEN + GENL_HDRLEN || m->hdr->nlmsg_type < NLMSG_MIN_TYPE)
        return false;
    m->aggregate =
        find((char *)buf + NLMSG_HDRLEN + GENL_HDRLEN, (char *)buf + len, TASKSTATS_TYPE_AGGR_PID);
    if (!m->aggregate)
        return false;
    char *end = (char *)m->aggregate + m->aggregate->nla_len;
    m->pid = find(inside(m->aggregate), end, TASKSTATS_TYPE_PID);
    m->stats = find(inside(m->aggregate), end, TASKSTATS_TYPE_STATS);
    return m->pid && m->stats;
}

/* Gap of so many bytes at `at` of the struct; negative: that many are taken out. */
static ssize_t move_rest(struct message *m, ssize_t n, size_t at, ssize_t by, size_t size)
{
    char *p = (char *)inside(m->stats) + at, *end = (char *)m->hdr + n;
    char *from = by < 0 ? p - by : p, *to = by < 0 ? p : p + by;

    if (n + by > (ssize_t)size)
        return n;
    memmove(to, from, (size_t)(end - from));
    if (by > 0)
        memset(p, 0, (size_t)by);
    m->stats->nla_len = (uint16_t)(m->stats->nla_len + by);
    m->aggregate->nla_len = (uint16_t)(m->aggregate->nla_len + by);
    m->hdr->nlmsg_len = (uint32_t)((ssize_t)m->hdr->nlmsg_len + by);
    return n + by;
}

static ssize_t reshape(struct message *m, ssize_t n, size_t size)
{
    size_t length = m->stats->nla_len - ATTR_HEADER;
    int64_t cut = word[STATS_CUT];

    if (word[STATS_VERSION] != 0) {
        uint16_t version = (uint16_t)word[STATS_VERSION];
        memcpy((char *)inside(m->stats) + AT_VERSION, &version, sizeof(version));
    }
    if (cut > 0 && (size_t)cut < length)
        n = move_rest(m, n, (size_t)cut, -(ssize_t)(length - (size_t)cut), size);
    if (word[STATS_GROW] > 0)
        n = move_rest(m, n, length, (ssize_t)word[STATS_GROW], size);
    if (word[STATS_SHIFT] > 0)
        n = move_rest(m, n, AT_PID, (ssize_t)word[STATS_SHIFT], size);
    return n;
}

static void feed(struct message *m)
{
    char *stats = inside(m->stats);
    uint64_t kb = (uint64_t)word[FEED_KB];
    uint32_t pid = (uint32_t)word[FEED_PID];

    if (pid == 0)
        return;
    memcpy(inside(m->pid), &pid, sizeof(pid));
    memcpy(stats + AT_PID, &pid, sizeof(pid));
    memcpy(stats + AT_TGID, &pid, sizeof(pid));
    memcpy(stats + AT_HIWATER, &kb, sizeof(kb));
    word[HOT_MALLOCS] = 0;
    submitting = true;
}

/* Not that of another pcptuned which starts at the same time. */
static bool is_own_child(struct message *m)
{
    uint32_t parent;

    memcpy(&parent, (char *)inside(m->stats) + AT_PPID, sizeof(parent));
    return parent == (uint32_t)self;
}

/* False: swallowed. */
static bool change(void *buf, ssize_t *n, size_t size)
{
    struct message m;

    if (*n > (ssize_t)size || !find_stats(buf, (size_t)*n, &m))
        return true;
    const char *comm = (char *)inside(m.stats) + AT_COMM;
    if (feeder && strncmp(comm, feeder, 16) == 0)
        feed(&m);
    else if (word[FEED_ONLY] && !is_own_child(&m))
        return false;
    *n = reshape(&m, *n, size);
    return true;
}

ssize_t recvfrom(int fd, void *restrict buf, size_t size, int flags, struct sockaddr *restrict from,
                 socklen_t *restrict from_len)
{
    REAL(recvfrom);
    ssize_t n;

    if (word == nothing || !from) /* who sent it is asked of exit sockets alone */
        return real(fd, buf, size, flags, from, from_len);
    if (word[RECV_ERRNO_TIMES] > 0) {
        word[RECV_ERRNO_TIMES]--;
        errno = (int)word[RECV_ERRNO];
        return -1;
    }
    do {
        n = real(fd, buf, size, flags, from, from_len);
    } while (n > 0 && from->sa_family == AF_NETLINK && !change(buf, &n, size));
    return n;
}

int genl_ctrl_resolve(void *sock, const char *name)
{
    REAL(genl_ctrl_resolve);

    return word[FAMILY_ERROR] ? -(int)word[FAMILY_ERROR] : real(sock, name);
}

int nl_send_sync(void *sock, void *msg)
{
    REAL(nl_send_sync);

    return word[REGISTER_ERROR] ? -(int)word[REGISTER_ERROR] : real(sock, msg);
}

int socket(int domain, int type, int protocol)
{
    REAL(socket);

    if (domain == AF_NETLINK && word[SOCKET_ERRNO]) {
        errno = (int)word[SOCKET_ERRNO];
        return -1;
    }
    return real(domain, type, protocol);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
    REAL(setsockopt);

    if (level == SOL_SOCKET && name == SO_ATTACH_FILTER && word[FILTER_ERRNO]) {
        errno = (int)word[FILTER_ERRNO];
        return -1;
    }
    return real(fd, level, name, value, len);
}

long syscall(long number, ...)
{
    REAL(syscall);
    va_list ap;
    long a[6];

    va_start(ap, number);
    for (unsigned i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (number == SYS_pidfd_open && word[PIDFD_ERRNO]) {
        errno = (int)word[PIDFD_ERRNO];
        return -1;
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
