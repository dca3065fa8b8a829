/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"
#include "snapshot.h"

/* Process exits: TASKSTATS (generic netlink) announces them before exit_mm() frees the first page,
 * a pidfd of each tells when its teardown is over. One socket per NUMA node, registered for the
 * CPUs of that node, so a message says where its task exits. Linux 5.14 and later (struct taskstats
 * version 10 to 16 and newer). */
struct exits;

struct exits_config {
    uint64_t task_size;  /* bytes; smaller exits are dropped, in the kernel where possible */
    nsec_t task_timeout; /* a task that takes longer is taken out of flight */
    uint32_t page_size;
};

struct exits_stats {
    uint64_t messages;   /* datagrams received */
    uint64_t tasks;      /* taken into flight */
    uint64_t ignored;    /* threads that are not the last of their group, small ones, duplicates */
    uint64_t overruns;   /* ENOBUFS: messages were lost; or 4096 tasks are in flight already */
    uint64_t lost_races; /* gone before pidfd_open, or the pid belonged to somebody else by then */
    uint64_t timeouts;   /* taken out of flight by task_timeout */
    uint64_t no_pidfd;   /* in flight without pidfd (out of descriptors): ended by a timer */
    bool filtered;       /* the filter in the kernel is on: layout was verified */
    int version;         /* of struct taskstats */
};

/* Sets everything up, and learns the kernel's messages from three children that it forks (10 ms,
 * see exitsock.h); no allocation after this, exits_hotplug() apart. Each task in flight takes a
 * descriptor, up to 4096. -EPERM (CAP_NET_ADMIN is missing, or not in the initial user, pid
 * and network namespaces), -ENOENT (kernel without TASKSTATS), -EBADMSG (a struct taskstats that we
 * do not know), or another errno. */
int exits_open(const struct exits_config *c, const struct host_facts *host, struct exits **ret);
void exits_close(struct exits *x);
DEFINE_CLEANUP(struct exits *, exits_close)

/* One descriptor for everything: readable when exits_process() has something to do. */
int exits_fd(const struct exits *x);

/* Receives what there is, opens pidfds, drops ended tasks. The work of a call is bounded (some 16
 * new tasks): what is left keeps exits_fd() readable. Returns the number of tasks that came into or
 * went out of flight, or negative errno when the signal is lost. */
int exits_process(struct exits *x, nsec_t now);

/* Time of the first message of the last exits_process() that brought a task; 0: none yet. */
nsec_t exits_last_message(const struct exits *x);

/* Fills tasks, node_tasks, groups and n_groups of the snapshot. A group whose cgroup cannot be read
 * is called "unknown"; its anon is GROUP_PAGES_UNKNOWN then, and on a v1 hierarchy where neither
 * the v2 nor the cpuset path tells the container. */
void exits_snapshot(const struct exits *x, struct snapshot *s);

/* Forgets the groups that have nothing in flight: called when a storm is over. */
void exits_forget(struct exits *x);

/* When exits_process() must be called even if exits_fd() stays silent: a task runs into its
 * timeout, tasks without pidfd are to be looked for, or the anon of a group, put off because such
 * reads are slow here, is to be read (a time in the past: at once, but after the write). */
nsec_t exits_deadline(const struct exits *x);

/* CPUs came or went: registers anew where the nodes' CPUs changed. */
int exits_hotplug(struct exits *x, const struct host_facts *host);

struct exits_stats exits_get_stats(const struct exits *x);
