/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <linux/filter.h>

#include "macros.h"

/* What taskstats_exit() (kernel/taskstats.c) sends when a task exits, and the classic BPF program
 * that lets only those messages through which matter. Pure: no socket here. */

enum taskstats_last {
    TASKSTATS_LAST_NO,      /* a thread of a process that lives on, or of which others remain */
    TASKSTATS_LAST_YES,     /* the memory of the process goes now */
    TASKSTATS_LAST_UNKNOWN, /* before version 12: a process of one thread, or any thread */
};

struct taskstats_exit {
    uint16_t version;
    enum taskstats_last last;
    uint32_t pid;            /* of the thread */
    uint32_t tgid;           /* of its process; pid where the message does not say */
    uint64_t hiwater_kb;     /* peak RSS of the process */
    char comm[16];           /* of the thread */
    uint32_t flag_offset;    /* where ac_flag and hiwater_rss stand, in bytes from the header */
    uint32_t hiwater_offset; /* of the netlink message: differs by version and architecture */
};

/* Parses one datagram (aligned to 4 bytes) of the given generic netlink family. -ENOMSG: another
 * kind of message. -EBADMSG: malformed, too short for its version, or of a layout that is not
 * known (the pid inside struct taskstats must be the one beside it). */
int taskstats_parse(const void *msg, size_t len, uint16_t family, struct taskstats_exit *ret);

struct taskstats_rule {
    uint16_t family;
    uint32_t flag_offset, hiwater_offset;
    bool agroup;     /* ask for AGROUP too: version 12 and later */
    uint64_t min_kb; /* smallest hiwater_rss that passes; above 4 TiB it is taken for 4 TiB */
};

/* The program for SO_ATTACH_FILTER. Messages of other families pass: acknowledgements come through
 * the same socket. big_endian: the byte order of the messages. */
#define TASKSTATS_FILTER_MAX 24
struct taskstats_filter {
    struct sock_filter insn[TASKSTATS_FILTER_MAX];
    uint16_t len;
};
void taskstats_filter_build(const struct taskstats_rule *rule, bool big_endian,
                            struct taskstats_filter *ret);
