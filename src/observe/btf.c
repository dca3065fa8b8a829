/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hostfacts.h"

#include "clock.h"
#include "fileio.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#ifdef HAVE_LIBBPF
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#define BTF_PATH "/sys/kernel/btf/vmlinux"
#define BTF_LIMIT ((size_t)64 << 20)   /* 5.5 MB on 6.18; distribution kernels have up to 10 */
#define BTF_TIMEOUT (3 * NSEC_PER_SEC) /* 12 ms on 6.18 */
#define NESTING_LIMIT 8

DEFINE_CLEANUP(struct btf *, btf__free)

/* Vendors wrap members in anonymous unions to keep their module ABI (RH_KABI_REPLACE()). */
static bool has_member(const struct btf *btf, const struct btf_type *t, const char *name,
                       unsigned depth)
{
    const struct btf_member *m = btf_members(t);
    for (unsigned i = 0; i < btf_vlen(t); i++) {
        const char *member = btf__name_by_offset(btf, m[i].name_off);
        if (member && strcmp(member, name) == 0)
            return true;
        if (member && *member == '\0' && depth < NESTING_LIMIT) {
            const struct btf_type *inner = btf__type_by_id(btf, m[i].type);
            if (inner && btf_is_composite(inner) && has_member(btf, inner, name, depth + 1))
                return true;
        }
    }
    return false;
}

/* False where the function is not listed (inlined, or its signature was optimised). */
static bool returns_bool(const struct btf *btf, const char *function, bool *ret)
{
    int id = btf__find_by_name_kind(btf, function, BTF_KIND_FUNC);
    const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (unsigned)id) : NULL;
    t = t ? btf__type_by_id(btf, t->type) : NULL;
    if (!t || !btf_is_func_proto(t))
        return false;

    int type = btf__resolve_type(btf, t->type); /* bool is a typedef of _Bool */
    t = type > 0 ? btf__type_by_id(btf, (unsigned)type) : NULL;
    *ret = t && btf_is_int(t) && (btf_int_encoding(t) & BTF_INT_BOOL);
    return true;
}

int btf_parse(const void *data, size_t len, struct btf_facts *ret)
{
    if (len > BTF_LIMIT)
        return -EFBIG;
    libbpf_set_print(NULL);
    _cleanup_(btf__freep) struct btf *btf = btf__new(data, (unsigned)len);
    if (!btf)
        return -errno;

    int id = btf__find_by_name_kind(btf, "per_cpu_pages", BTF_KIND_STRUCT);
    const struct btf_type *pages = id > 0 ? btf__type_by_id(btf, (unsigned)id) : NULL;
    if (!pages)
        return -ENOENT;

    bool is_bool = false;
    bool known = returns_bool(btf, "free_frozen_page_commit", &is_bool) ||
                 returns_bool(btf, "free_unref_page_commit", &is_bool);
    *ret = (struct btf_facts){
        .free_factor = has_member(btf, pages, "free_factor", 0),
        .high_min = has_member(btf, pages, "high_min", 0),
        .commit_known = known,
        .commit_returns_bool = known && is_bool,
    };
    return 0;
}

struct answer {
    int error;
    struct btf_facts facts;
};

static _Noreturn void child(int fd)
{
    struct answer answer = {0};
    char *text = NULL;
    size_t size = 0;

    /* This is not reaction: it must not run at the daemon's real-time priority, nor outlive it. */
    sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
    prctl(PR_SET_PDEATHSIG, SIGKILL);

    int btf_fd = open(BTF_PATH, O_RDONLY | O_CLOEXEC);
    ssize_t n = btf_fd < 0 ? -errno : read_file_grow(btf_fd, &text, &size, BTF_LIMIT);
    answer.error = n < 0 ? (int)n : btf_parse(text, (size_t)n, &answer.facts);
    if (write(fd, &answer, sizeof(answer)) != sizeof(answer))
        _exit(EXIT_FAILURE);
    _exit(EXIT_SUCCESS);
}

/* The answer is shorter than PIPE_BUF, so it comes whole or not at all. */
static int receive(int fd, struct answer *ret)
{
    nsec_t deadline = clock_monotonic() + BTF_TIMEOUT;

    for (nsec_t now = clock_monotonic(); now < deadline; now = clock_monotonic()) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int r = poll(&p, 1, (int)((deadline - now) / NSEC_PER_MSEC) + 1);
        if (r < 0 && errno != EINTR)
            return -errno;
        if (r > 0)
            return read(fd, ret, sizeof(*ret)) == sizeof(*ret) ? 0 : -EIO;
    }
    return -ETIMEDOUT;
}

int btf_probe(struct btf_facts *ret)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    _cleanup_close_ int in = fds[0];
    _cleanup_close_ int out = fds[1];

    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        child(out);
    close(TAKE_FD(out));

    struct answer answer = {0};
    int r = receive(in, &answer);
    if (r < 0)
        kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (r == 0)
        r = answer.error;
    if (r == 0)
        *ret = answer.facts;
    return r;
}

#else

int btf_parse(const void *data, size_t len, struct btf_facts *ret)
{
    (void)data;
    (void)len;
    (void)ret;
    return -EOPNOTSUPP;
}

int btf_probe(struct btf_facts *ret)
{
    (void)ret;
    return -EOPNOTSUPP;
}

#endif
