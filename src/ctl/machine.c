/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "journal.h"
#include "knobs.h"
#include "units.h"
#include "zoneinfo.h"

#define STATE_DIR "/run/pcptuned"
#define ZONEINFO_PATH "/proc/zoneinfo"

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

/* In a child: the kernel may hold pcp_batch_high_lock for as long as a memory offline takes, and
 * a thread that sleeps in it would keep us from ending. -ETIMEDOUT; errors of knobs_read(). */
static int read_knobs(nsec_t timeout, struct knob_values *ret)
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

static void take_knobs(const struct params *p, struct machine *m)
{
    bool has[KNOB_MAX];
    char timeout[UNITS_BUF];

    knobs_probe(has);
    if (!has[KNOB_FRACTION] && !has[KNOB_SCALE]) {
        m->knobs_known = true; /* there are none */
        return;
    }
    int r = read_knobs(p->knob_timeout, &m->knobs);
    m->knobs_known = r == 0;
    if (r == 0)
        return;
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        m->knobs.has[k] = has[k];
        m->knobs.value[k] = has[k] ? knob_table[k].initial : 0;
    }
    if (r == -ETIMEDOUT)
        snprintf(m->knobs_why, sizeof(m->knobs_why),
                 "the sysctls did not answer within %s (a memory offline holds them?)",
                 format_duration(p->knob_timeout, timeout));
    else
        snprintf(m->knobs_why, sizeof(m->knobs_why), "the sysctls cannot be read: %s",
                 strerror(-r));
    fprintf(stderr, "pcptunectl: %s; taking them as the kernel starts with them\n", m->knobs_why);
}

/* A storm may be on right now: what pcptuned has written is nobody's setting. */
static void take_originals(struct machine *m)
{
    struct journal j;

    m->originals = m->knobs;
    _cleanup_close_ int dir = open(STATE_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || journal_read(dir, &j) < 0 || strcmp(j.boot_id, m->host.boot_id) != 0)
        return;
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (!j.knob[k].held || !m->knobs.has[k] || !journal_ours(&j.knob[k], m->knobs.value[k]))
            continue;
        m->held = true;
        m->originals.value[k] = j.knob[k].original;
    }
}

int machine_read(const struct params *p, struct machine *ret)
{
    _cleanup_(zoneinfo_closep) struct zoneinfo *z = NULL;
    struct parse_error where = {0};

    *ret = (struct machine){0};
    int r = zoneinfo_open(ZONEINFO_PATH, &z);
    if (r >= 0)
        r = zoneinfo_read(z, &ret->zones, &where);
    if (r < 0) {
        if (where.line > 0)
            fprintf(stderr, "pcptunectl: " ZONEINFO_PATH ":%u: %s\n", where.line, where.reason);
        else
            fprintf(stderr, "pcptunectl: " ZONEINFO_PATH ": %s\n", strerror(-r));
        return r;
    }
    hostfacts_read(&ret->zones, &ret->host);
    take_knobs(p, ret);
    take_originals(ret);
    return 0;
}

void machine_done(struct machine *m)
{
    zone_table_done(&m->zones);
}

const char *machine_proof(const struct host_facts *h)
{
    bool r2 = h->regime == REGIME_R2, r5 = h->regime == REGIME_R5;

    switch (h->regime_by) {
    case EVIDENCE_FILE:
        return h->regime == REGIME_R1 ? "vm.percpu_pagelist_high_fraction does not exist"
                                      : "vm.pcp_batch_scale_max exists";
    case EVIDENCE_BTF:
        if (r5)
            return "free_frozen_page_commit() returns bool in BTF";
        return h->regime == REGIME_R4 ? "high_min in struct per_cpu_pages, and "
                                        "free_frozen_page_commit() returns void, "
                                        "in BTF"
                                      : "free_factor in struct per_cpu_pages, in BTF";
    case EVIDENCE_CONFIG:
        return r2 ? "no CONFIG_PCP_BATCH_SCALE_MAX in the kernel's configuration"
                  : "CONFIG_PCP_BATCH_SCALE_MAX in the kernel's configuration";
    case EVIDENCE_ZONEINFO:
        return r5 ? "reserved_highatomic in /proc/zoneinfo"
                  : "which lines /proc/zoneinfo has, and whether high differs between CPUs";
    case EVIDENCE_VERSION:
        return "the release number alone, which vendors' kernels belie";
    case EVIDENCE_NONE:
    case EVIDENCE_MAX:
        break;
    }
    return "nothing: assumed";
}
