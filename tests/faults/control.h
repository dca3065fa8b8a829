/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/* A file of 64-bit words that the test and the shim in pcptuned share (FAULT_CONTROL=PATH): the
 * test writes what is to go wrong, the shim what it has seen. faults.py reads the names here. */
enum control {
    MALLOC_CALLS,        /* seen: allocations of the process, its children's not */
    MALLOC_FAIL_AT,      /* the nth of them fails, counted from 1 */
    MALLOC_FAIL_REST,    /* all after it fail too */
    CLOCK_OFFSET,        /* ns that all clocks are ahead */
    REALTIME_OFFSET,     /* besides: that of the day */
    BOOTTIME_OFFSET,     /* besides: the one that goes on while the machine sleeps */
    RECV_ERRNO,          /* of the next reads of an exit socket, */
    RECV_ERRNO_TIMES,    /* so many of them */
    FEED_PID,            /* messages of FAULT_FEED=NAME are told to be of this process */
    FEED_KB,             /* with so much memory */
    FEED_ONLY,           /* messages of others but pcptuned's own children are swallowed */
    STATS_VERSION,       /* of struct taskstats, in all messages */
    STATS_CUT,           /* its length */
    STATS_GROW,          /* bytes more at its end */
    STATS_SHIFT,         /* bytes more before ac_pid: a layout that nobody knows */
    KNOB_READ_ERRNO,     /* open(2) of the sysctl for reading */
    KNOB_OPEN_ERRNO,     /* for writing */
    KNOB_WRITE_ERRNO,    /* write(2) to it */
    KNOB_WRITES,         /* seen */
    JOURNAL_ERRNO,       /* openat(2) of the undo journal */
    PSI_ERRNO,           /* open(2) of /proc/pressure */
    PSI_READ_ERRNO,      /* read(2) of it: where the kernel says that PSI is off */
    PSI_WRITE_ERRNO,     /* write(2) to it: a trigger */
    FAMILY_ERROR,        /* genl_ctrl_resolve(), an NLE_ number */
    REGISTER_ERROR,      /* registering for exits, another */
    SOCKET_ERRNO,        /* socket(2) of netlink */
    FILTER_ERRNO,        /* attaching a filter to a socket */
    PIDFD_ERRNO,         /* pidfd_open(2) */
    HOT_MALLOCS,         /* seen: allocations of loop and writer since the last message */
    HOT_MALLOCS_WRITTEN, /* as they were when the sysctl was written */
    CONTROL_WORDS,
};
