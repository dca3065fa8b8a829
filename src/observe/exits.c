/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exits.h"

#include "cgmount.h"
#include "clock.h"
#include "exitsock.h"
#include "fileio.h"
#include "flight.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Work in one call, so that the knob is written after half a millisecond even when hundreds end at
 * once: messages that are dropped (1 us each), of which a task taken weighs 32 (pidfd and /proc).
 * The first of a storm weighs all: what it says is acted on before the next is looked at. */
#define BUDGET 512
#define TASK_WEIGHT 32
#define EVENTS 64
#define SOCKET_TAG (UINT64_C(1) << 32) /* epoll data: SOCKET_TAG + node, or a slot of the table */
/* A read of memory.stat that took longer flushed the statistics of hundreds of CPUs. */
#define SLOW_READ (200 * NSEC_PER_USEC)
#define BLIND_POLL (20 * NSEC_PER_MSEC) /* how often tasks without pidfd are looked for */

struct exits {
    struct exits_config config;
    uint64_t min_kb;
    int epfd;
    struct exitsock *sock;
    struct exitsock_layout layout;
    struct flight *flight;
    struct cgroup_mounts mounts;
    struct exits_stats stats;
    nsec_t now; /* of the last exits_process() */
    nsec_t last_message;
    unsigned blind;     /* tasks in flight without pidfd */
    nsec_t blind_check; /* when to look for them next */
    bool first;         /* nothing was in flight when this call began */
    pid_t unsettled;    /* the storm's first task, see settle_first(); 0 */
    char unsettled_comm[16];
    bool slow_stat;               /* the last read of a memory.stat was slow: defer them */
    int stat_fd[SNAPSHOT_GROUPS]; /* memory.stat of groups whose anon is still to be read, or -1 */
    unsigned deferred;            /* how many of those there are */
    struct cgroup_paths paths;
    char cpuset[CGROUP_PATH_MAX];
    char text[16384]; /* of whatever file is being read: memory.stat is 2 KB, cgroup up to 15 paths
                       */
};

/* Open and close */

static int watch_sockets(struct exits *x)
{
    for (unsigned node = 0; node < HOST_NODES_MAX; node++) {
        struct epoll_event ev = {.events = EPOLLIN, .data.u64 = SOCKET_TAG + node};
        int fd = exitsock_fd(x->sock, node);
        if (fd >= 0 && epoll_ctl(x->epfd, EPOLL_CTL_ADD, fd, &ev) < 0)
            return -errno;
    }
    return 0;
}

static int open_all(struct exits *x, const struct host_facts *host)
{
    int r = flight_new(&x->flight);
    if (r < 0)
        return r;
    (void)cgroup_mounts_read(&x->mounts); /* without it anon stays unknown */
    x->epfd = epoll_create1(EPOLL_CLOEXEC);
    if (x->epfd < 0)
        return -errno;
    r = exitsock_open(host, &x->sock);
    if (r < 0)
        return r;
    r = exitsock_learn(x->sock, x->config.page_size, x->min_kb, &x->layout);
    if (r < 0)
        return r;
    x->stats.filtered = x->layout.verified;
    x->stats.version = x->layout.version;
    return watch_sockets(x);
}

int exits_open(const struct exits_config *c, const struct host_facts *host, struct exits **ret)
{
    _cleanup_(exits_closep) struct exits *x = calloc(1, sizeof(*x));

    if (!x)
        return -ENOMEM;
    x->config = *c;
    x->min_kb = c->task_size / 1024 + (c->task_size % 1024 != 0);
    x->epfd = -1;
    for (unsigned i = 0; i < SNAPSHOT_GROUPS; i++)
        x->stat_fd[i] = -1;
    int r = open_all(x, host);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(x);
    return 0;
}

void exits_close(struct exits *x)
{
    if (!x)
        return;
    for (struct flight_task *t = x->flight ? flight_oldest(x->flight) : NULL; t;
         t = flight_next(x->flight, t))
        closep(&t->pidfd);
    for (unsigned i = 0; i < SNAPSHOT_GROUPS; i++)
        closep(&x->stat_fd[i]);
    closep(&x->epfd);
    exitsock_close(x->sock);
    flight_free(x->flight);
    free(x);
}

/* What /proc says of a task. Only files whose reading takes no reference to the memory of the task
 * (get_task_mm()): stat, statm and status do, and whoever drops the last reference frees all the
 * pages: that would be us, at real-time priority. */

static ssize_t read_task(struct exits *x, pid_t tgid, const char *name)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)tgid, name);
    return read_file(path, x->text, sizeof(x->text));
}

/* The name of the process: its threads are named as they like ("GC Thread#3"). For a process of one
 * thread, it must be the name in the message, or the pid belongs to somebody else by now. */
static int read_comm(struct exits *x, const struct taskstats_exit *e, char comm[static 16])
{
    memcpy(comm, e->comm, 16);
    if (x->first && e->pid == e->tgid) {
        memcpy(x->unsettled_comm, comm, sizeof(x->unsettled_comm));
        x->unsettled = (pid_t)e->tgid;
        return 0;
    }
    ssize_t n = read_task(x, (pid_t)e->tgid, "comm");
    if (n <= 0)
        return 0;          /* gone, or hidden from us: the message will do */
    x->text[n - 1] = '\0'; /* the line's end; a name may hold others */
    if (e->pid == e->tgid && strncmp(x->text, e->comm, 15) != 0)
        return -ESRCH;
    memcpy(comm, x->text, 15);
    comm[15] = '\0';
    return 0;
}

/* NULL where it cannot be known. The path lives in x until the next call. */
static const char *read_cgroup(struct exits *x, pid_t tgid)
{
    ssize_t n = read_task(x, tgid, "cgroup");

    if (n <= 0 || cgroup_parse(x->text, (size_t)n, &x->paths) < 0)
        return NULL;
    x->cpuset[0] = '\0';
    const char *path = cgroup_naming_path(&x->paths, "");
    if (strcmp(path, "/") != 0 || !x->paths.memory[0])
        return path;
    n = read_task(x, tgid, "cpuset");
    if (n > 1 && (size_t)n < sizeof(x->cpuset)) {
        memcpy(x->cpuset, x->text, (size_t)n);
        x->cpuset[n - 1] = '\0'; /* the line's end */
    }
    return cgroup_naming_path(&x->paths, x->cpuset);
}

/* Before version 12 a message of a process of one thread looks like one of a thread of many.
 * st_nlink of the directory is 2 and one for each thread (proc_task_getattr()). */
static bool has_other_threads(pid_t tgid)
{
    char path[32];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)tgid);
    return stat(path, &st) == 0 && st.st_nlink > 3;
}

/* Groups */

static void read_anon(struct exits *x, unsigned group)
{
    struct exit_group *g = flight_group_at(x->flight, group);
    uint64_t anon, thp;

    nsec_t start = clock_monotonic();
    ssize_t n = read_fd(x->stat_fd[group], x->text, sizeof(x->text));
    x->slow_stat = clock_monotonic() - start > SLOW_READ;
    if (n > 0 && memory_stat_parse(x->text, (size_t)n, &anon, &thp) == 0) {
        g->anon = anon / x->config.page_size;
        g->anon_thp = thp / x->config.page_size;
    }
    close(TAKE_FD(x->stat_fd[group]));
}

static void read_deferred(struct exits *x)
{
    for (unsigned i = 0; i < SNAPSHOT_GROUPS; i++)
        if (x->stat_fd[i] >= 0) {
            x->deferred--;
            read_anon(x, i);
            return;
        }
}

static void fill_group(struct exits *x, unsigned group, const char *path)
{
    struct exit_group *g = flight_group_at(x->flight, group);

    if (!path) {
        memcpy(g->name, "unknown", sizeof("unknown"));
        return;
    }
    container_name(path, g->name);
    if (cgroup_memory_stat(&x->mounts, &x->paths, path, x->text, sizeof(x->text)) < 0)
        return;
    x->stat_fd[group] = open(x->text, O_RDONLY | O_CLOEXEC);
    if (x->stat_fd[group] < 0)
        return;
    if (x->slow_stat)
        x->deferred++;
    else
        read_anon(x, group);
}

static unsigned find_group(struct exits *x, pid_t tgid, const char *comm)
{
    const char *path = read_cgroup(x, tgid);
    bool is_new;

    unsigned group = flight_group(x->flight, path ? path : "", comm, &is_new);
    if (is_new)
        fill_group(x, group, path);
    return group;
}

/* Tasks */

static int end_task(struct exits *x, struct flight_task *t)
{
    if (t->pidfd < 0) {
        x->blind--;
    } else {
        /* close() alone would leave it in the set if a child of ours still holds a copy */
        (void)epoll_ctl(x->epfd, EPOLL_CTL_DEL, t->pidfd, NULL);
        close(TAKE_FD(t->pidfd));
    }
    flight_remove(x->flight, t);
    return 1;
}

/* -1: there are no descriptors left, the task can only be polled for. -ESRCH: it is gone. */
static int open_pidfd(pid_t tgid)
{
    int fd = (int)syscall(SYS_pidfd_open, tgid, 0);

    if (fd >= 0)
        return fd;
    return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -1 : -ESRCH;
}

static void watch_task(struct exits *x, struct flight_task *t)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.u64 = flight_slot(x->flight, t)};

    if (t->pidfd >= 0 && epoll_ctl(x->epfd, EPOLL_CTL_ADD, t->pidfd, &ev) < 0)
        close(TAKE_FD(t->pidfd)); /* no memory, or fs.epoll.max_user_watches */
    if (t->pidfd < 0) {
        x->stats.no_pidfd++;
        if (x->blind++ == 0)
            x->blind_check = t->since + BLIND_POLL;
    }
}

static bool wanted(const struct exits *x, const struct taskstats_exit *e)
{
    return e->last != TASKSTATS_LAST_NO && e->hiwater_kb >= x->min_kb &&
           !flight_find(x->flight, (pid_t)e->tgid) &&
           (e->last == TASKSTATS_LAST_YES || !has_other_threads((pid_t)e->tgid));
}

static bool take_task(struct exits *x, const struct taskstats_exit *e, unsigned node, nsec_t now)
{
    struct flight_task task = {.tgid = (pid_t)e->tgid, .since = now, .node = (uint8_t)node};
    char comm[16];

    if (!wanted(x, e)) {
        x->stats.ignored++;
        return false;
    }
    if (flight_full(x->flight)) {
        x->stats.overruns++;
        return false;
    }
    bool later = x->first && e->pid == e->tgid;
    task.pidfd = later ? -1 : open_pidfd(task.tgid);
    if (task.pidfd == -ESRCH || read_comm(x, e, comm) < 0) {
        closep(&task.pidfd);
        x->stats.lost_races++;
        return false;
    }
    task.group = (uint8_t)find_group(x, task.tgid, comm);
    uint64_t pages = e->hiwater_kb / (x->config.page_size / 1024);
    struct flight_task *t = flight_add(x->flight, &task, pages);
    if (later)
        x->first = false; /* one at a time is unsettled */
    else
        watch_task(x, t);
    x->stats.tasks++;
    return true;
}

/* A storm's first task is taken on the word of the message: its pidfd and its name cost 40 us with
 * cold caches, a fifth of the way from message to write. They are had here, after the write is
 * under way. */
static int settle_first(struct exits *x)
{
    struct flight_task *t = x->unsettled ? flight_find(x->flight, x->unsettled) : NULL;

    x->unsettled = 0;
    if (!t)
        return 0;
    int fd = open_pidfd(t->tgid);
    ssize_t n = fd == -ESRCH ? 0 : read_task(x, t->tgid, "comm");
    if (n > 0)
        x->text[n - 1] = '\0';
    if (fd != -ESRCH && (n <= 0 || strncmp(x->text, x->unsettled_comm, 15) == 0)) {
        t->pidfd = fd;
        watch_task(x, t);
        return 0;
    }
    closep(&fd);
    flight_remove(x->flight, t);
    x->stats.lost_races++;
    return 1;
}

/* Returns how many tasks the messages of one socket brought. */
static int drain(struct exits *x, struct exitsock *sock, unsigned node, nsec_t now, int budget,
                 int weight)
{
    struct taskstats_exit e;
    int taken = 0;

    while (budget > 0) {
        int r = exitsock_recv(sock, node, &e);
        if (r == 0)
            break;
        budget--;
        if (r == -ENOBUFS) {
            x->stats.overruns++; /* the pidfds still tell the ends of those that we know */
            continue;
        }
        if (r < 0 && r != -EBADMSG)
            return r;
        x->stats.messages++;
        if (r > 0 && take_task(x, &e, node, now)) {
            taken++;
            budget -= weight;
        } else {
            x->stats.ignored += r < 0;
        }
    }
    return taken;
}

static int drain_ready(struct exits *x, uint64_t nodes, nsec_t now)
{
    int budget = BUDGET, taken = 0;

    x->first = !flight_oldest(x->flight);
    if (nodes != 0)
        budget /= __builtin_popcountll(nodes); /* a busy node must not starve others */
    /* What other nodes say waits for the first task's write as the rest of its node's does. */
    for (unsigned node = 0; node < HOST_NODES_MAX && !x->unsettled; node++) {
        if (!(nodes & UINT64_C(1) << node))
            continue;
        int r = drain(x, x->sock, node, now, budget, x->first ? BUDGET : TASK_WEIGHT);
        if (r < 0)
            return r;
        taken += r;
    }
    if (taken > 0)
        x->last_message = now;
    return taken;
}

static int end_overdue(struct exits *x, nsec_t now)
{
    struct flight_task *t;
    int ended = 0;

    while ((t = flight_oldest(x->flight)) && now - t->since >= x->config.task_timeout) {
        ended += end_task(x, t);
        x->stats.timeouts++;
    }
    return ended;
}

/* A zombie counts as alive here, since no file tells it from the living without its memory; the
 * timeout bounds that. */
static int end_blind(struct exits *x, nsec_t now)
{
    int ended = 0;

    if (x->blind == 0 || now < x->blind_check)
        return 0;
    for (struct flight_task *t = flight_oldest(x->flight), *next; t; t = next) {
        next = flight_next(x->flight, t);
        if (t->pidfd < 0 && t->tgid != x->unsettled && kill(t->tgid, 0) < 0 && errno == ESRCH)
            ended += end_task(x, t);
    }
    x->blind_check = now + BLIND_POLL;
    return ended;
}

int exits_process(struct exits *x, nsec_t now)
{
    struct epoll_event events[EVENTS];
    unsigned deferred_before = x->deferred;
    uint64_t nodes = 0;
    int changed = 0;

    x->now = now;
    int n = epoll_wait(x->epfd, events, EVENTS, 0);
    if (n < 0 && errno != EINTR)
        return -errno;
    /* Ends come first: a slot that is taken anew below must not be found by an old event. */
    for (int i = 0; i < n; i++) {
        struct flight_task *t;
        if (events[i].data.u64 >= SOCKET_TAG)
            nodes |= UINT64_C(1) << (events[i].data.u64 - SOCKET_TAG);
        else if ((t = flight_at(x->flight, (unsigned)events[i].data.u64)))
            changed += end_task(x, t);
    }
    changed += settle_first(x);
    int r = drain_ready(x, nodes, now);
    if (r < 0)
        return r;
    changed += r + end_overdue(x, now) + end_blind(x, now);
    if (deferred_before > 0)
        read_deferred(x);
    return changed;
}

/* The rest */

int exits_fd(const struct exits *x)
{
    return x->epfd;
}

nsec_t exits_last_message(const struct exits *x)
{
    return x->last_message;
}

void exits_snapshot(const struct exits *x, struct snapshot *s)
{
    flight_snapshot(x->flight, s);
}

void exits_forget(struct exits *x)
{
    flight_forget(x->flight);
    for (unsigned i = 0; i < SNAPSHOT_GROUPS; i++)
        if (x->stat_fd[i] >= 0 && !flight_group_used(x->flight, i)) {
            close(TAKE_FD(x->stat_fd[i]));
            x->deferred--;
        }
}

static nsec_t timeout_of_oldest(const struct exits *x)
{
    const struct flight_task *t = flight_oldest(x->flight);

    if (!t || x->config.task_timeout > NSEC_INFINITY - t->since)
        return NSEC_INFINITY;
    return t->since + x->config.task_timeout;
}

nsec_t exits_deadline(const struct exits *x)
{
    nsec_t deadline = timeout_of_oldest(x);

    if (x->blind > 0)
        deadline = MIN(deadline, x->blind_check);
    return x->deferred > 0 || x->unsettled ? MIN(deadline, x->now) : deadline;
}

static void retire_sockets(struct exits *x, struct exitsock *old)
{
    for (unsigned node = 0; node < HOST_NODES_MAX; node++) {
        int fd = exitsock_fd(old, node);
        if (fd < 0)
            continue;
        (void)epoll_ctl(x->epfd, EPOLL_CTL_DEL, fd, NULL);
        while (drain(x, old, node, x->now, BUDGET, TASK_WEIGHT) > 0)
            ;
    }
    exitsock_close(old);
}

int exits_hotplug(struct exits *x, const struct host_facts *host)
{
    _cleanup_(exitsock_closep) struct exitsock *fresh = NULL;
    int r = 0;

    if (exitsock_current(x->sock, host))
        return 0;
    r = exitsock_open(host, &fresh);
    if (r < 0)
        return r;
    if (x->layout.verified)
        r = exitsock_filter(fresh, &x->layout.rule);
    if (r < 0)
        return r;
    /* For a moment both hear everything, so nothing is lost; the table drops the duplicates. */
    struct exitsock *old = x->sock;
    x->sock = fresh;
    r = watch_sockets(x);
    if (r < 0) {
        x->sock = old; /* which is watched still; the caller tries again */
        return r;
    }
    fresh = NULL;
    retire_sockets(x, old);
    return 0;
}

struct exits_stats exits_get_stats(const struct exits *x)
{
    return x->stats;
}
