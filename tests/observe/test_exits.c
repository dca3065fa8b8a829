/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Against the real kernel: needs CAP_NET_ADMIN in the initial namespaces, and changes nothing. */

#include "exits.h"

#include "alloc_count.h"
#include "clock.h"
#include "exitsock.h"
#include "fileio.h"
#include "hostfacts.h"
#include "skips.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define TASK_SIZE (48 * MIB)
#define LARGE (64 * MIB)
#define HUGE_TASK (256 * MIB)        /* 16 ms and more to tear down */
#define PATIENCE (20 * NSEC_PER_SEC) /* for a machine that is busy with other things */
#define TIMEOUT (60 * NSEC_PER_SEC)

static struct host_facts host;

static struct exits *open_exits(uint64_t task_size)
{
    const struct exits_config c = {
        .task_size = task_size, .task_timeout = TIMEOUT, .page_size = host.page_size};
    struct exits *x = NULL;

    int r = exits_open(&c, &host, &x);
    if (r == -EPERM || r == -ENOENT)
        skip_for_want("no TASKSTATS for us here (%s): run as root, outside of containers",
                      strerror(-r));
    assert_int_equal(r, 0);
    return x;
}

/* Children. Each says 'r' when it is ready, and then waits for its end. */

static void touch(size_t size)
{
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        _exit(1);
    (void)madvise(p, size, MADV_NOHUGEPAGE); /* EINVAL where there are none */
    memset(p, 1, size);
}

static void *wait_for_ever(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static void *end_at_once(void *arg)
{
    return arg;
}

/* What children join before they touch their memory. */
static const char *cgroups[2];

static void join_cgroups(void)
{
    char path[256];

    for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++) {
        if (!cgroups[i])
            continue;
        snprintf(path, sizeof(path), "%s/cgroup.procs", cgroups[i]);
        FILE *f = fopen(path, "we");
        if (!f || fputs("0", f) < 0 || fclose(f) != 0)
            _exit(1);
    }
}

enum kind { PLAIN, THREADED, CHURNING, LEADERLESS };

static void *end_after_leader(void *arg)
{
    usleep(200000);
    _exit(0);
    return arg;
}

static void add_threads(enum kind kind)
{
    pthread_t t;

    for (int i = 0; kind == THREADED && i < 16; i++)
        if (pthread_create(&t, NULL, wait_for_ever, NULL) != 0)
            _exit(1);
    for (int i = 0; kind == CHURNING && i < 200; i++)
        if (pthread_create(&t, NULL, end_at_once, NULL) != 0 || pthread_join(t, NULL) != 0)
            _exit(1);
    if (kind == LEADERLESS && pthread_create(&t, NULL, end_after_leader, NULL) != 0)
        _exit(1);
}

static pid_t start(enum kind kind, size_t size, const char *comm)
{
    char ready = 'r';
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)prctl(PR_SET_NAME, comm);
        join_cgroups();
        touch(size);
        add_threads(kind);
        if (write(fds[1], &ready, 1) != 1)
            _exit(1);
        if (kind == LEADERLESS)
            pthread_exit(NULL);
        wait_for_ever(NULL);
    }
    close(fds[1]);
    assert_int_equal(read(fds[0], &ready, 1), 1);
    close(fds[0]);
    return pid;
}

static void reap(pid_t pid)
{
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool reapable(pid_t pid)
{
    siginfo_t info = {0};

    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid == pid;
}

/* Other processes of this machine may exit too: only what is called as our children counts. */
static struct exit_group find(const struct exits *x, const char *comm)
{
    static struct snapshot s;

    exits_snapshot(x, &s);
    for (unsigned i = 0; i < s.n_groups; i++)
        if (strcmp(s.groups[i].comm, comm) == 0)
            return s.groups[i];
    return (struct exit_group){0};
}

/* Processes until the group has `tasks` in flight of `total`, or patience is at its end. */
static struct exit_group process_until(struct exits *x, const char *comm, uint32_t tasks,
                                       uint32_t total)
{
    nsec_t end = clock_monotonic() + PATIENCE;
    struct exit_group g = find(x, comm);

    while ((g.tasks != tasks || g.tasks_total != total) && clock_monotonic() < end) {
        struct pollfd p = {.fd = exits_fd(x), .events = POLLIN};
        assert_true(poll(&p, 1, 100) >= 0);
        assert_true(exits_process(x, clock_monotonic()) >= 0);
        g = find(x, comm);
    }
    assert_int_equal(g.tasks, tasks);
    assert_int_equal(g.tasks_total, total);
    return g;
}

/* Until nothing at all is in flight, of others neither. */
static void process_all(struct exits *x)
{
    static struct snapshot s;
    nsec_t end = clock_monotonic() + PATIENCE;

    do {
        assert_true(exits_process(x, clock_monotonic()) >= 0);
        exits_snapshot(x, &s);
    } while (s.tasks > 0 && clock_monotonic() < end);
    assert_int_equal(s.tasks, 0);
}

static unsigned count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* The tests */

static void test_filter_is_on(void **state)
{
    _cleanup_(exits_closep) struct exits *x = open_exits(TASK_SIZE);
    struct exits_stats st = exits_get_stats(x);

    (void)state;
    print_message("struct taskstats version %d, filter in the kernel %s\n", st.version,
                  st.filtered ? "on" : "off");
    assert_true(st.version >= 10);
    assert_true(st.filtered);
    assert_true(exits_deadline(x) == NSEC_INFINITY);
    assert_int_equal(exits_last_message(x), 0);
}

/* A busy machine may run us too late to see it, so the best of some attempts counts. */
static void test_announced_before_it_is_gone(void **state)
{
    _cleanup_(exits_closep) struct exits *x = open_exits(TASK_SIZE);
    nsec_t best_wait = NSEC_INFINITY, best_lead = 0;
    unsigned early = 0;

    (void)state;
    for (uint32_t i = 1; i <= 10; i++) {
        pid_t pid = start(PLAIN, HUGE_TASK, "lead");
        nsec_t killed = clock_monotonic();
        kill(pid, SIGKILL);
        struct exit_group g = process_until(x, "lead", 1, i);
        nsec_t announced = clock_monotonic();
        assert_true(exits_last_message(x) >= killed && exits_last_message(x) <= announced);
        assert_true(exits_deadline(x) <= announced + TIMEOUT);
        early += !reapable(pid);
        process_until(x, "lead", 0, i); /* the pidfd tells the end, while nobody has reaped it */
        nsec_t ended = clock_monotonic();
        assert_true(reapable(pid));
        reap(pid);
        assert_true(g.announced >= i * (250 * MIB) / host.page_size);
        assert_true(g.announced <= i * (300 * MIB) / host.page_size);
        best_wait = MIN(best_wait, announced - killed);
        best_lead = MAX(best_lead, ended - announced);
    }
    print_message("256 MiB: announced %.3f ms after SIGKILL, %.3f ms before the end, "
                  "%u of 10 before they were reapable\n",
                  (double)best_wait / 1e6, (double)best_lead / 1e6, early);
    assert_true(early > 0);
    process_all(x);
    assert_true(exits_deadline(x) == NSEC_INFINITY);
}

static void test_threads_count_once(void **state)
{
    _cleanup_(exits_closep) struct exits *x = open_exits(TASK_SIZE);
    pid_t pid = start(THREADED, LARGE, "threads");

    (void)state;
    kill(pid, SIGKILL);
    process_until(x, "threads", 1, 1);
    process_until(x, "threads", 0, 1);
    reap(pid);
    (void)exits_process(x, clock_monotonic());
    assert_int_equal(find(x, "threads").tasks_total, 1);
}

static void test_live_process_whose_threads_end(void **state)
{
    _cleanup_(exits_closep) struct exits *x = open_exits(TASK_SIZE);
    pid_t pid = start(CHURNING, LARGE, "churn");

    (void)state;
    assert_true(exits_process(x, clock_monotonic()) >= 0);
    assert_int_equal(find(x, "churn").tasks_total, 0);
    assert_true(exits_get_stats(x).ignored < 100); /* in the kernel already */
    kill(pid, SIGKILL);
    process_until(x, "churn", 0, 1);
    reap(pid);
}

static void test_leader_that_ends_first(void **state)
{
    _cleanup_(exits_closep) struct exits *x = open_exits(TASK_SIZE);
    pid_t pid = start(LEADERLESS, LARGE, "leaderless");

    (void)state;
    assert_true(exits_process(x, clock_monotonic()) >= 0);
    process_until(x, "leaderless", 0, 1);
    assert_true(reapable(pid));
    reap(pid);
}

static void run_small_exits(int n)
{
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        if (pid > 0)
            waitpid(pid, NULL, 0);
    }
    _exit(0);
}

static void test_small_exits_wake_nobody(void **state)
{
    _cleanup_(exits_closep) struct exits *x = open_exits(1024 * MIB);
    unsigned wakeups = 0;

    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        run_small_exits(2000);
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        struct pollfd p = {.fd = exits_fd(x), .events = POLLIN};
        wakeups += poll(&p, 1, 20) > 0;
        assert_true(exits_process(x, clock_monotonic()) >= 0);
    }
    print_message("2000 small exits: %u wake-ups\n", wakeups);
    assert_true(wakeups <= 10);
}

static void test_storm(void **state)
{
    enum { N = 16 };
    _cleanup_(exits_closep) struct exits *x = open_exits(TASK_SIZE);
    unsigned fds = count_fds();
    nsec_t spent = 0;
    pid_t pids[N];

    (void)state;
    for (int i = 0; i < N; i++)
        pids[i] = start(PLAIN, LARGE, "storm");
    uint64_t allocs = alloc_count(), messages = exits_get_stats(x).messages;
    for (int i = 0; i < N; i++)
        kill(pids[i], SIGKILL);
    for (struct exit_group g = {0}; g.tasks != 0 || g.tasks_total != N; g = find(x, "storm")) {
        struct pollfd p = {.fd = exits_fd(x), .events = POLLIN};
        assert_int_equal(poll(&p, 1, (int)(PATIENCE / NSEC_PER_MSEC)), 1);
        nsec_t before = clock_monotonic();
        assert_true(exits_process(x, before) >= 0);
        spent += clock_monotonic() - before;
    }
    if (alloc_count() == UINT64_MAX)
        print_message("SKIP: a sanitizer owns the allocator, allocations are not counted\n");
    else
        assert_int_equal(alloc_count(), allocs);
    struct exits_stats st = exits_get_stats(x);
    messages = st.messages - messages;
    print_message("%.1f us for each of %u tasks from message to end\n",
                  (double)spent / 1e3 / (double)messages, (unsigned)messages);
    assert_int_equal(st.overruns + st.timeouts + st.no_pidfd, 0);
    process_all(x);
    exits_forget(x);
    assert_int_equal(find(x, "storm").tasks_total, 0);
    assert_int_equal(count_fds(), fds);
    for (int i = 0; i < N; i++)
        reap(pids[i]);
}

/* The first of many must be acted upon before the last is looked at. */
static void test_bounded_work(void **state)
{
    enum { N = 40 };
    _cleanup_(exits_closep) struct exits *x = open_exits(8 * MIB);
    pid_t pids[N];

    (void)state;
    for (int i = 0; i < N; i++)
        pids[i] = start(PLAIN, 16 * MIB, "many");
    for (int i = 0; i < N; i++)
        kill(pids[i], SIGKILL);
    for (int i = 0; i < N; i++)
        while (!reapable(pids[i]))
            usleep(1000);
    assert_true(exits_process(x, clock_monotonic()) >= 1);
    assert_true(find(x, "many").tasks_total < N / 2);
    process_until(x, "many", 0, N);
    for (int i = 0; i < N; i++)
        reap(pids[i]);
}

static void test_descriptors_return(void **state)
{
    unsigned fds = count_fds();
    struct exits *x = open_exits(TASK_SIZE);
    pid_t pid = start(PLAIN, LARGE, "left");

    (void)state;
    kill(pid, SIGKILL);
    process_until(x, "left", 1, 1);
    exits_close(x); /* with a task in flight */
    reap(pid);
    exits_close(NULL);
    assert_int_equal(count_fds(), fds);
}

/* A name like a log entry; and a newline in it must not look like a name that has changed. */
static void test_hostile_name(void **state)
{
    _cleanup_(exits_closep) struct exits *x = open_exits(TASK_SIZE);
    pid_t pid = start(PLAIN, LARGE, "a\nroot: \"x\"\n");

    (void)state;
    kill(pid, SIGKILL);
    process_until(x, "a?root: ?x??", 0, 1);
    reap(pid);
}

static void test_without_descriptors(void **state)
{
    _cleanup_(exits_closep) struct exits *x = open_exits(TASK_SIZE);
    struct rlimit old, none;
    pid_t zombie = start(PLAIN, LARGE, "zombie"), pid = start(PLAIN, LARGE, "blind");

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 3; /* poll(2) refuses more descriptors than that too */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    kill(pid, SIGKILL);
    kill(zombie, SIGKILL);
    process_until(x, "zombie", 1, 1);
    process_until(x, "blind", 1, 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);

    assert_string_equal(find(x, "blind").name, "unknown");
    assert_true(exits_get_stats(x).no_pidfd >= 2);
    assert_true(exits_deadline(x) < clock_monotonic() + NSEC_PER_SEC);
    reap(pid);
    assert_true(exits_process(x, exits_deadline(x)) >= 1);
    assert_int_equal(find(x, "blind").tasks, 0);
    assert_int_equal(find(x, "zombie").tasks, 1);

    nsec_t later = exits_last_message(x) + TIMEOUT;
    assert_true(exits_process(x, later) >= 1); /* nobody reaps it: the timeout ends it */
    assert_int_equal(find(x, "zombie").tasks, 0);
    assert_true(exits_get_stats(x).timeouts >= 1);
    assert_true(exits_deadline(x) == NSEC_INFINITY);
    reap(zombie);
}

/* On v2, or the v2 hierarchy of a hybrid one. */
static void test_names_the_unit(void **state)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    _cleanup_(exits_closep) struct exits *x = open_exits(TASK_SIZE);
    char unit[64], dir[128], file[160];
    size_t i;

    (void)state;
    snprintf(unit, sizeof(unit), "pcptuned-test-%d.service", (int)getpid());
    for (i = 0; i < ARRAY_SIZE(mounts); i++) {
        snprintf(file, sizeof(file), "%s/cgroup.procs", mounts[i]);
        snprintf(dir, sizeof(dir), "%s/%s", mounts[i], unit);
        if (access(file, W_OK) == 0 && mkdir(dir, 0755) == 0)
            break;
    }
    if (i == ARRAY_SIZE(mounts)) {
        print_message("SKIP: no cgroup v2 hierarchy in which we may make a cgroup\n");
        skip();
    }
    cgroups[0] = dir;
    pid_t pid = start(PLAIN, LARGE, "unit");
    cgroups[0] = NULL;
    kill(pid, SIGKILL);
    struct exit_group g = process_until(x, "unit", 0, 1);
    reap(pid);
    assert_int_equal(rmdir(dir), 0);
    assert_string_equal(g.name, unit);
}

static void copy_line(const char *dir, const char *name)
{
    char path[256], text[256];
    ssize_t n;

    snprintf(path, sizeof(path), "%s/../%s", dir, name);
    n = read_file(path, text, sizeof(text));
    assert_true(n > 0);
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* A v1 hierarchy shows the exiting in its root; the path comes from cpuset then. */
static void test_v1_anon(void **state)
{
    _cleanup_(exits_closep) struct exits *x = open_exits(TASK_SIZE);
    char memory[128], cpuset[128];
    uint64_t most = 0;

    (void)state;
    snprintf(memory, sizeof(memory), "/sys/fs/cgroup/memory/pcptuned-test-%d", (int)getpid());
    snprintf(cpuset, sizeof(cpuset), "/sys/fs/cgroup/cpuset/pcptuned-test-%d", (int)getpid());
    if (mkdir(memory, 0755) < 0) {
        print_message("SKIP: no v1 memory hierarchy in which we may make a cgroup\n");
        skip();
    }
    assert_int_equal(mkdir(cpuset, 0755), 0);
    copy_line(cpuset, "cpuset.cpus");
    copy_line(cpuset, "cpuset.mems");
    cgroups[0] = memory;
    cgroups[1] = cpuset;
    for (int i = 0; i < 10 && most < HUGE_TASK / 4; i++) { /* a busy machine runs us late */
        pid_t pid = start(PLAIN, HUGE_TASK, "v1");
        kill(pid, SIGKILL);
        process_until(x, "v1", 1, 1);
        assert_true(exits_process(x, clock_monotonic()) >= 0); /* where the read was deferred */
        struct exit_group g = process_until(x, "v1", 0, 1);
        reap(pid);
        assert_true(strstr(g.name, "pcptuned-test") != NULL);
        if (g.anon != GROUP_PAGES_UNKNOWN)
            most = MAX(most, g.anon * host.page_size);
        exits_forget(x);
    }
    memset(cgroups, 0, sizeof(cgroups));
    assert_int_equal(rmdir(memory), 0);
    assert_int_equal(rmdir(cpuset), 0);
    print_message("anonymous memory of a v1 cgroup: %.1f MiB\n", (double)most / (double)MIB);
    assert_true(most >= HUGE_TASK / 4 && most <= HUGE_TASK + 16 * MIB);
}

/* Facts that claim another node make the sockets move; nothing may be lost by that. */
/* In place of the C library's: the kernel's refusals (ENOSPC: fs.epoll.max_user_watches). */
static int epoll_error;

int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
    if (op == EPOLL_CTL_ADD && epoll_error != 0) {
        errno = epoll_error;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, epfd, op, fd, event);
}

/* The old sockets stay in use, and the next try succeeds. */
static void test_hotplug_refused(void **state)
{
    _cleanup_(exits_closep) struct exits *x = open_exits(TASK_SIZE);
    struct host_facts moved = host;

    (void)state;
    process_all(x);
    unsigned fds = count_fds();
    memset(moved.node_cpus, 0, sizeof(moved.node_cpus));
    moved.n_nodes = HOST_NODES_MAX;
    moved.node_cpus[HOST_NODES_MAX - 1] = host.cpus_online;
    for (unsigned i = 0; i < 3; i++) {
        epoll_error = ENOSPC;
        assert_int_equal(exits_hotplug(x, &moved), -ENOSPC);
        epoll_error = 0;
        assert_int_equal(count_fds(), fds);
    }
    pid_t task = start(PLAIN, LARGE, "refused");
    kill(task, SIGKILL);
    process_until(x, "refused", 1, 1);
    process_until(x, "refused", 0, 1);
    reap(task);
    assert_int_equal(exits_hotplug(x, &moved), 0);
    assert_int_equal(exits_hotplug(x, &moved), 0);
    process_all(x);
    assert_int_equal(count_fds(), fds);
}

static void test_hotplug(void **state)
{
    _cleanup_(exits_closep) struct exits *x = open_exits(TASK_SIZE);
    static struct snapshot s;
    struct host_facts moved = host;
    unsigned node = HOST_NODES_MAX - 1;

    (void)state;
    assert_int_equal(exits_hotplug(x, &host), 0);
    process_all(x);
    exits_forget(x);
    unsigned fds = count_fds();
    memset(moved.node_cpus, 0, sizeof(moved.node_cpus));
    moved.n_nodes = HOST_NODES_MAX;
    moved.node_cpus[node] = host.cpus_online;

    pid_t before = start(PLAIN, LARGE, "hotplug");
    kill(before, SIGKILL);
    while (!reapable(before)) /* its message waits in the old socket */
        usleep(1000);
    assert_int_equal(exits_hotplug(x, &moved), 0);
    process_until(x, "hotplug", 0, 1);
    process_all(x);
    exits_forget(x);
    assert_int_equal(count_fds(), fds);

    pid_t after = start(PLAIN, LARGE, "hotplug");
    kill(after, SIGKILL);
    process_until(x, "hotplug", 1, 1);
    exits_snapshot(x, &s);
    assert_true(s.node_tasks[node] >= 1);
    process_until(x, "hotplug", 0, 1);
    reap(before);
    reap(after);
    assert_true(exits_get_stats(x).filtered);
}

static bool write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    return f && fputs(text, f) >= 0 && fclose(f) == 0;
}

/* As if CPU 0 were one node and the others another, for this process. */
static void pretend_two_nodes(struct host_facts *ret)
{
    const char *nodes = "/sys/devices/system/node";
    char others[16];

    if (host.cpus_online < 2 || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("nodes", nodes, "tmpfs", 0, NULL) < 0) {
        print_message("SKIP: needs two CPUs, and root with a mount namespace of its own\n");
        skip();
    }
    snprintf(others, sizeof(others), "1-%u\n", host.cpus_online - 1);
    assert_int_equal(chdir(nodes), 0);
    assert_int_equal(mkdir("node0", 0755) | mkdir("node1", 0755), 0);
    assert_true(write_text("node0/cpulist", "0\n") && write_text("node1/cpulist", others));
    assert_int_equal(chdir("/"), 0);
    *ret = host;
    ret->n_nodes = 2;
    ret->node_cpus[0] = 1;
    ret->node_cpus[1] = host.cpus_online - 1;
}

/* Both sockets have a first message at once: the end of either task is seen. */
static void test_two_nodes(void **state)
{
    _cleanup_(exits_closep) struct exits *x = open_exits(TASK_SIZE);
    struct host_facts two;
    pid_t pids[2];

    (void)state;
    pretend_two_nodes(&two);
    assert_int_equal(exits_hotplug(x, &two), 0);
    process_all(x);
    exits_forget(x);
    for (unsigned i = 0; i < ARRAY_SIZE(pids); i++) {
        cpu_set_t cpu;
        CPU_ZERO(&cpu);
        CPU_SET(i, &cpu);
        pids[i] = start(PLAIN, LARGE, "two nodes");
        assert_int_equal(sched_setaffinity(pids[i], sizeof(cpu), &cpu), 0);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(pids); i++)
        kill(pids[i], SIGKILL);
    for (unsigned i = 0; i < ARRAY_SIZE(pids); i++)
        while (!reapable(pids[i]))
            usleep(1000);
    process_until(x, "two nodes", 0, 2);
    for (unsigned i = 0; i < ARRAY_SIZE(pids); i++)
        reap(pids[i]);
}

/* Without filter, and with a buffer for some ten messages. */
static void test_overrun(void **state)
{
    _cleanup_(exitsock_closep) struct exitsock *s = NULL;
    struct taskstats_exit e = {0};
    unsigned node = 0, lost = 0, got = 0;
    int size = 1, r;

    (void)state;
    exits_close(open_exits(TASK_SIZE)); /* skips where nothing would come */
    r = exitsock_open(&host, &s);
    assert_int_equal(r, 0);
    while (exitsock_fd(s, node) < 0)
        node++;
    assert_int_equal(setsockopt(exitsock_fd(s, node), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)),
                     0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        run_small_exits(500);
    reap(pid);
    for (int i = 0; i < 1000 && (r = exitsock_recv(s, node, &e)) != 0; i++) {
        assert_true(r == 1 || r == -ENOBUFS);
        lost += r == -ENOBUFS;
        got += r == 1;
    }
    assert_true(lost >= 1);
    assert_true(got >= 1);
    r = 0;
    for (int i = 0; i < 50 && r != 1; i++) { /* others may fill so small a buffer again */
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(0);
        reap(pid);
        do {
            r = exitsock_recv(s, node, &e);
        } while (r != 0 && !(r == 1 && e.pid == (uint32_t)pid));
    }
    assert_int_equal(r, 1); /* it goes on after the loss */
}

static int setup(void **state)
{
    (void)state;
    hostfacts_read(NULL, &host);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter_is_on),
        cmocka_unit_test(test_announced_before_it_is_gone),
        cmocka_unit_test(test_threads_count_once),
        cmocka_unit_test(test_live_process_whose_threads_end),
        cmocka_unit_test(test_leader_that_ends_first),
        cmocka_unit_test(test_small_exits_wake_nobody),
        cmocka_unit_test(test_storm),
        cmocka_unit_test(test_bounded_work),
        cmocka_unit_test(test_descriptors_return),
        cmocka_unit_test(test_hostile_name),
        cmocka_unit_test(test_without_descriptors),
        cmocka_unit_test(test_names_the_unit),
        cmocka_unit_test(test_v1_anon),
        cmocka_unit_test(test_hotplug),
        cmocka_unit_test(test_hotplug_refused),
        cmocka_unit_test(test_overrun),
        cmocka_unit_test(test_two_nodes), /* last: it changes what this process sees of /sys */
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
