/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"
#include "snapshot.h"
#include "taskstats.h"

/* The TASKSTATS sockets: one for each NUMA node with CPUs, numbered as the nodes, each registered
 * for the exits on its CPUs. Possible CPUs that are offline belong to the first. */
struct exitsock;

/* What is known of the kernel's messages, and whether a filter can rely on it. */
struct exitsock_layout {
    bool verified;
    int version; /* of struct taskstats */
    struct taskstats_rule rule;
};

/* Opens and registers; learns nothing and filters nothing yet. -EPERM: no CAP_NET_ADMIN, or not in
 * the initial user or pid namespace. -ENOENT: no TASKSTATS. Else the errno of a socket call. */
int exitsock_open(const struct host_facts *host, struct exitsock **ret);
void exitsock_close(struct exitsock *s); /* deregisters; NULL is accepted */
DEFINE_CLEANUP(struct exitsock *, exitsock_close)

/* Learns where the fields stand from children of ours that touch a known amount of memory and exit,
 * and proves the filter with a child that it must pass and one that it must drop. Costs three
 * forks, 10 ms; messages of others that come meanwhile are lost. -EBADMSG: messages
 * come, but none of a child can be understood. -EPERM: none comes at all: they go to the initial
 * network namespace alone (send_cpu_listeners()). What cannot be proven is !verified, no error. */
int exitsock_learn(struct exitsock *s, uint32_t page_size, uint64_t min_kb,
                   struct exitsock_layout *ret);

/* Attaches the filter of rule to all sockets. */
int exitsock_filter(struct exitsock *s, const struct taskstats_rule *rule);

/* False where CPUs have come to, or left, a node since it was opened. */
bool exitsock_current(const struct exitsock *s, const struct host_facts *host);

/* Descriptor of the node's socket, -1 where it has none. */
int exitsock_fd(const struct exitsock *s, unsigned node);

/* The next message of the node's socket: 1, 0 when there is none. -ENOBUFS: messages were lost
 * before this one, go on. -EBADMSG: one that is of no use, go on. Else the errno of recv(2). */
int exitsock_recv(struct exitsock *s, unsigned node, struct taskstats_exit *ret);
