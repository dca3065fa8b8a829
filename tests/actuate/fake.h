/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

#include "knob.h"

/* A kernel of our own: private mount and network namespaces (and a user namespace where we are not
 * root), a tmpfs on /proc/sys/vm that holds the knobs, and a tmpfs for the state directory. */

/* Once, before any thread. False with a line "SKIP: ..." on stdout where the system forbids it. */
bool fake_enter(void);

/* Leaves the test when fake_enter() had failed; empties the state parent and removes all knobs. */
void fake_reset(void);

/* A directory on a tmpfs of 64 KiB. */
#define FAKE_RUN "/proc/sys/vm/run"
#define FAKE_STATE FAKE_RUN "/pcptuned"
#define FAKE_JOURNAL FAKE_STATE "/knobs.journal"

/* The knob is a file with this text. */
void fake_file(enum knob_id id, const char *text);

/* The knob is a real int sysctl of our network namespace: writes are as atomic as the kernel's, and
 * it refuses with EINVAL what it does not like. Leaves the test where there is no such sysctl. */
void fake_sysctl(enum knob_id id, const char *path);
#define FAKE_ANY_INT "/proc/sys/net/ipv4/tcp_max_syn_backlog"
#define FAKE_ANY_INT_TOO "/proc/sys/net/ipv4/tcp_base_mss"
#define FAKE_1_TO_255 "/proc/sys/net/ipv4/ip_default_ttl"

/* Remounts the knob read-only, as a sandbox does. */
void fake_read_only(enum knob_id id);

/* What somebody else reads and writes there. */
int fake_get(enum knob_id id);
void fake_set(enum knob_id id, int value);
