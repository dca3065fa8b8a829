/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* A control group of our own: a directory under the v1 memory controller where that is mounted
 * (on a hybrid system one of the same path under cgroup2 too), else under cgroup2. Controllers are
 * as the parent hands them down. */
struct cgroup;

/* Creates it. A name that starts with '/' counts from the root of the hierarchy, any other from
 * our own group; its parent must exist. -EEXIST: never takes over what it has not made; -EINVAL:
 * empty, or has a ".." in it; -ENOENT: no hierarchy, or no such parent. */
int cgroup_new(const char *name, struct cgroup **ret);

/* Removes the directory, which must be empty of processes. Returns 0 or negative errno, and frees
 * c in any case. NULL is accepted. */
int cgroup_free(struct cgroup *c);

/* The calling process enters it. */
int cgroup_enter(const struct cgroup *c);

/* The path as /proc/PID/cgroup prints it for those inside, and 1 or 2. */
const char *cgroup_path(const struct cgroup *c);
int cgroup_version(const struct cgroup *c);

/* From the text of /proc/self/cgroup: the path in the v1 hierarchy that has the memory controller
 * (version 1), or in cgroup2 (version 2). -ENOENT: no such line; -ENAMETOOLONG. */
int cgroup_own_path(const char *text, int version, char *ret, size_t size);
