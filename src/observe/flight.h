/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <sys/types.h>

#include "macros.h"
#include "snapshot.h"

/* The tasks that are exiting now, and the groups (container and program) that they belong to.
 * A table of fixed size: nothing is allocated after flight_new(), every operation but
 * flight_snapshot() is O(1) or O(SNAPSHOT_GROUPS). No system call here. */
#define FLIGHT_MAX 4096 /* a pidfd each: the unit's LimitNOFILE= must be larger */
struct flight;

struct flight_task {
    pid_t tgid;
    int pidfd; /* -1: none could be had; the caller's to close */
    nsec_t since;
    uint8_t node, group;
};

int flight_new(struct flight **ret);
void flight_free(struct flight *f); /* NULL is accepted; descriptors stay open */
DEFINE_CLEANUP(struct flight *, flight_free)

/* The group of that cgroup path and command, made anew where there is none. The last of the
 * SNAPSHOT_GROUPS holds all for which there is no room. A new group has the id, the command and
 * anon unknown; the caller fills in the name and the rest through the pointer. */
unsigned flight_group(struct flight *f, const char *cgroup_path, const char *comm, bool *ret_new);
struct exit_group *flight_group_at(struct flight *f, unsigned group);

/* Adds a task that is not yet in the table; since must not run backwards. NULL: the table is full.
 */
struct flight_task *flight_add(struct flight *f, const struct flight_task *task, uint64_t pages);
void flight_remove(struct flight *f, struct flight_task *t);

/* NULL where there is none. flight_at(): slots are numbered 0 to FLIGHT_MAX - 1. */
struct flight_task *flight_find(const struct flight *f, pid_t tgid);
struct flight_task *flight_at(struct flight *f, unsigned slot);
unsigned flight_slot(const struct flight *f, const struct flight_task *t);

/* From the oldest on; flight_next() before the removal of t. */
struct flight_task *flight_oldest(const struct flight *f);
struct flight_task *flight_next(const struct flight *f, const struct flight_task *t);
bool flight_full(const struct flight *f);

/* Fills tasks, node_tasks, groups and n_groups. */
void flight_snapshot(const struct flight *f, struct snapshot *s);

/* Forgets the groups with nothing in flight; their numbers are free then. */
void flight_forget(struct flight *f);
bool flight_group_used(const struct flight *f, unsigned group);
