/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exitsock.h"

#include "fileio.h"
#include "hostfacts.h"

#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define CPUS_MAX 8192 /* CONFIG_NR_CPUS of x86 with MAXSMP, the largest there is */
#define NO_NODE UINT8_MAX
/* A message with its skb is accounted with some 2 KB: room for 4000 exits that nobody reads. */
#define CPULIST_SIZE ((size_t)6 * CPUS_MAX) /* "0-3,8": as much as the kernel takes */
#define RECEIVE_BUFFER (4 << 20)
#define LEARN_TRIES 3
#define CHILD_COMM "pcptuned-probe"

struct exitsock {
    struct nl_sock *sock[HOST_NODES_MAX];
    uint16_t family;
    uint8_t cpu_node[CPUS_MAX]; /* whose socket hears of it; NO_NODE: not a possible CPU */
    char cpus[CPULIST_SIZE];    /* the list that is being sent */
    /* A message of 7.x has 1.2 KB at most, with both aggregates. */
    _Alignas(8) char buf[8192];
};

static int errno_of(int nle)
{
    switch (-nle) {
    case NLE_PERM:
    case NLE_NOACCESS:
    case NLE_INVAL: /* add_del_listener(): not the initial user or pid namespace */
        return -EPERM;
    case NLE_OBJ_NOTFOUND:
        return -ENOENT;
    case NLE_NOMEM:
        return -ENOMEM;
    default:
        return -EIO;
    }
}

/* CPUs and nodes */

struct cpu_assign {
    uint8_t *cpu_node;
    uint8_t node;
};

static void assign_cpu(unsigned cpu, void *arg)
{
    struct cpu_assign *a = arg;

    if (cpu < CPUS_MAX)
        a->cpu_node[cpu] = a->node;
}

static int assign_list(const char *path, uint8_t *cpu_node, unsigned node)
{
    struct cpu_assign a = {.cpu_node = cpu_node, .node = (uint8_t)node};
    char list[16384];
    unsigned count;

    ssize_t n = read_file(path, list, sizeof(list));
    if (n < 0)
        return (int)n;
    list[strcspn(list, "\n")] = '\0';
    return cpulist_parse(list, assign_cpu, &a, &count);
}

static unsigned first_node(const struct host_facts *host)
{
    for (unsigned n = 0; n < host->n_nodes && n < HOST_NODES_MAX; n++)
        if (host->node_cpus[n] > 0)
            return n;
    return 0;
}

static void map_cpus(const struct host_facts *host, uint8_t cpu_node[static CPUS_MAX])
{
    unsigned first = first_node(host);
    char path[64];

    memset(cpu_node, NO_NODE, CPUS_MAX);
    if (assign_list("/sys/devices/system/cpu/possible", cpu_node, first) < 0)
        for (unsigned cpu = 0; cpu < host->cpus_possible && cpu < CPUS_MAX; cpu++)
            cpu_node[cpu] = (uint8_t)first;
    for (unsigned n = first + 1; n < host->n_nodes && n < HOST_NODES_MAX; n++) {
        snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", n);
        if (host->node_cpus[n] > 0)
            (void)assign_list(path, cpu_node, n); /* gone since: its CPUs are the first node's */
    }
}

/* The CPUs of the node into s->cpus; "" if there are none. */
static void format_cpus(struct exitsock *s, unsigned node)
{
    char *p = s->cpus;

    *p = '\0';
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
        unsigned from = cpu;
        while (cpu < CPUS_MAX && s->cpu_node[cpu] == node)
            cpu++;
        if (cpu == from)
            continue;
        p += sprintf(p, "%s%u", p == s->cpus ? "" : ",", from);
        if (cpu - from > 1)
            p += sprintf(p, "-%u", cpu - 1);
    }
}

/* Sockets */

static struct nl_msg *new_command(const struct exitsock *s, int attr)
{
    struct nl_msg *msg = nlmsg_alloc_size(NLMSG_HDRLEN + GENL_HDRLEN + 64 + strlen(s->cpus));

    if (msg &&
        genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, s->family, 0, 0, TASKSTATS_CMD_GET,
                    TASKSTATS_GENL_VERSION) &&
        nla_put_string(msg, attr, s->cpus) == 0)
        return msg;
    nlmsg_free(msg);
    return NULL;
}

static void set_buffer_and_timeout(int fd)
{
    int size = RECEIVE_BUFFER;
    struct timeval timeout = {.tv_sec = 2};

    /* an acknowledgement that an overrun swallowed must not be waited for for ever */
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    /* FORCE passes net.core.rmem_max; without the capability take what that allows */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

static int open_socket(struct exitsock *s, unsigned node)
{
    struct nl_sock *sock = nl_socket_alloc();

    if (!sock)
        return -ENOMEM;
    s->sock[node] = sock;
    nl_socket_disable_seq_check(sock); /* messages of exits are numbered by CPU */
    errno = 0;                         /* it says more than the library: EMFILE, EAFNOSUPPORT */
    int r = genl_connect(sock);
    if (r < 0)
        return errno > 0 ? -errno : errno_of(r);
    set_buffer_and_timeout(nl_socket_get_fd(sock));
    if (s->family == 0) {
        r = genl_ctrl_resolve(sock, TASKSTATS_GENL_NAME);
        if (r < 0)
            return errno_of(r);
        s->family = (uint16_t)r;
    }
    return 0;
}

static int open_node(struct exitsock *s, unsigned node)
{
    format_cpus(s, node);
    if (!s->cpus[0])
        return 0;
    int r = open_socket(s, node);
    if (r < 0)
        return r;
    struct nl_msg *msg = new_command(s, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK);
    if (!msg)
        return -ENOMEM;
    r = nl_send_sync(s->sock[node], msg);
    return r < 0 ? errno_of(r) : 0;
}

int exitsock_open(const struct host_facts *host, struct exitsock **ret)
{
    _cleanup_(exitsock_closep) struct exitsock *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    map_cpus(host, s->cpu_node);
    for (unsigned node = 0; node < HOST_NODES_MAX; node++) {
        int r = open_node(s, node);
        if (r < 0)
            return r;
    }
    *ret = TAKE_PTR(s);
    return 0;
}

/* The kernel drops a dead listener by itself only when its CPU next sees an exit; until then a new
 * socket with the same port would hear of CPUs that are not its own. sendmsg(2) returns when it is
 * done, so nobody waits for the acknowledgement. */
static void deregister(struct exitsock *s, unsigned node)
{
    format_cpus(s, node);
    struct nl_msg *msg = new_command(s, TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK);
    if (msg)
        (void)nl_send_auto(s->sock[node], msg);
    nlmsg_free(msg);
}

void exitsock_close(struct exitsock *s)
{
    if (!s)
        return;
    for (unsigned node = 0; node < HOST_NODES_MAX; node++) {
        if (exitsock_fd(s, node) >= 0)
            deregister(s, node);
        nl_socket_free(s->sock[node]);
    }
    free(s);
}

bool exitsock_current(const struct exitsock *s, const struct host_facts *host)
{
    uint8_t cpu_node[CPUS_MAX];

    map_cpus(host, cpu_node);
    return memcmp(s->cpu_node, cpu_node, sizeof(cpu_node)) == 0;
}

int exitsock_fd(const struct exitsock *s, unsigned node)
{
    return s->sock[node] ? nl_socket_get_fd(s->sock[node]) : -1;
}

int exitsock_recv(struct exitsock *s, unsigned node, struct taskstats_exit *ret)
{
    struct sockaddr_nl from = {0};
    socklen_t from_len = sizeof(from);
    ssize_t n;

    do {
        n = recvfrom(exitsock_fd(s, node), s->buf, sizeof(s->buf), MSG_DONTWAIT | MSG_TRUNC,
                     (struct sockaddr *)&from, &from_len);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? 0 : -errno;
    /* port 0 is the kernel: what another process sends us is a lie */
    if (from.nl_pid != 0 || (size_t)n > sizeof(s->buf))
        return -EBADMSG;
    return taskstats_parse(s->buf, (size_t)n, s->family, ret) < 0 ? -EBADMSG : 1;
}

int exitsock_filter(struct exitsock *s, const struct taskstats_rule *rule)
{
    struct taskstats_filter f;

    taskstats_filter_build(rule, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, &f);
    struct sock_fprog prog = {.len = f.len, .filter = f.insn};
    for (unsigned node = 0; node < HOST_NODES_MAX; node++) {
        int fd = exitsock_fd(s, node);
        if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) < 0)
            return -errno;
    }
    return 0;
}

/* Learning */

/* Since 6.2 the kernel counts RSS in batches of max(32, 2 * CPUs) pages for each CPU, and
 * hiwater_rss is off by as much: four batches stand out of that. */
static size_t marker_bytes(const struct exitsock *s, uint32_t page_size)
{
    size_t cpus = 0;

    for (unsigned i = 0; i < CPUS_MAX; i++)
        cpus += s->cpu_node[i] != NO_NODE;
    size_t batch = MAX((size_t)32, 2 * cpus) * page_size;
    return CLAMP(4 * batch, (size_t)8 << 20, (size_t)128 << 20);
}

_Noreturn static void run_child(size_t bytes)
{
    (void)prctl(PR_SET_NAME, CHILD_COMM);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                   -1, 0);
    _exit(p == MAP_FAILED);
}

/* Returns the pid of a child that has exited: its message is in a socket then, because
 * taskstats_exit() comes before exit_notify(). */
static int run_and_reap(size_t bytes)
{
    pid_t pid = fork();

    if (pid < 0)
        return -errno;
    if (pid == 0)
        run_child(bytes);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return (int)pid;
}

struct heard {
    struct taskstats_exit child;
    bool of_child, lost;
    unsigned messages; /* of anybody, understood or not */
};

static int drain_for(struct exitsock *s, unsigned node, pid_t pid, struct heard *h)
{
    struct taskstats_exit got = {0};

    if (exitsock_fd(s, node) < 0)
        return 0;
    for (int left = 1 << 16; left > 0; left--) {
        int r = exitsock_recv(s, node, &got);
        if (r == 0)
            return 0;
        if (r < 0 && r != -ENOBUFS && r != -EBADMSG)
            return r;
        h->lost = h->lost || r == -ENOBUFS;
        h->messages += r != -ENOBUFS;
        if (r > 0 && got.pid == (uint32_t)pid) {
            h->child = got;
            h->of_child = true;
        }
    }
    return 0;
}

/* What is heard when a child that touches `bytes` exits. -ENOBUFS: perhaps not all of it. */
static int observe_child(struct exitsock *s, size_t bytes, struct heard *ret)
{
    for (int i = 0; i < LEARN_TRIES; i++) {
        *ret = (struct heard){0};
        pid_t pid = run_and_reap(bytes);
        if (pid < 0)
            return pid;
        for (unsigned node = 0; node < HOST_NODES_MAX; node++) {
            int r = drain_for(s, node, pid, ret);
            if (r < 0)
                return r;
        }
        if (ret->of_child || !ret->lost)
            return 0;
    }
    return -ENOBUFS;
}

/* The child starts with copies of our pages. */
static uint64_t our_peak_kb(void)
{
    struct rusage u;

    return getrusage(RUSAGE_SELF, &u) < 0 ? 0 : (uint64_t)u.ru_maxrss;
}

static bool plausible(const struct taskstats_exit *e, size_t marker, uint64_t ours_kb)
{
    uint64_t marker_kb = marker / 1024;

    return e->tgid == e->pid && e->last != TASKSTATS_LAST_NO && strcmp(e->comm, CHILD_COMM) == 0 &&
           e->hiwater_kb >= marker_kb / 2 && e->hiwater_kb <= 2 * marker_kb + ours_kb;
}

/* A filter must pass the child when it asks for a quarter of the marker, and drop it when it asks
 * for more than the child can have. */
static bool filter_works(struct exitsock *s, const struct taskstats_rule *rule, size_t marker,
                         uint64_t ours_kb)
{
    struct taskstats_rule low = *rule, high = *rule;
    struct heard h;

    low.min_kb = marker / 1024 / 4;
    high.min_kb = 4 * (uint64_t)marker / 1024 + 2 * ours_kb;
    return exitsock_filter(s, &low) == 0 && observe_child(s, marker, &h) == 0 && h.of_child &&
           exitsock_filter(s, &high) == 0 && observe_child(s, marker, &h) == 0 && !h.of_child;
}

static void remove_filter(struct exitsock *s)
{
    int unused = 0;

    for (unsigned node = 0; node < HOST_NODES_MAX; node++)
        if (exitsock_fd(s, node) >= 0)
            (void)setsockopt(exitsock_fd(s, node), SOL_SOCKET, SO_DETACH_FILTER, &unused,
                             sizeof(unused));
}

int exitsock_learn(struct exitsock *s, uint32_t page_size, uint64_t min_kb,
                   struct exitsock_layout *ret)
{
    size_t marker = marker_bytes(s, page_size);
    uint64_t ours_kb = our_peak_kb();
    struct heard h;

    *ret = (struct exitsock_layout){0};
    int r = observe_child(s, marker, &h);
    if (r < 0)
        return 0; /* no child to be had, or its message was lost: nothing is known */
    if (!h.of_child)
        return h.messages > 0 ? -EBADMSG : -EPERM;
    ret->version = h.child.version;
    ret->rule = (struct taskstats_rule){
        .family = s->family,
        .flag_offset = h.child.flag_offset,
        .hiwater_offset = h.child.hiwater_offset,
        .agroup = h.child.last == TASKSTATS_LAST_YES,
        .min_kb = min_kb,
    };
    ret->verified = plausible(&h.child, marker, ours_kb) &&
                    filter_works(s, &ret->rule, marker, ours_kb) &&
                    exitsock_filter(s, &ret->rule) == 0;
    if (!ret->verified)
        remove_filter(s);
    return 0;
}
