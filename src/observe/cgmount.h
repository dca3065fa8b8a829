/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "container.h"
#include "macros.h"

/* Where the cgroup hierarchies are mounted, and where a cgroup's memory.stat is. */
struct cgroup_mount {
    char root[256];  /* the cgroup that the mount shows: "/" but in containers */
    char point[256]; /* "" where not mounted */
};
struct cgroup_mounts {
    struct cgroup_mount memory;  /* v1 memory controller */
    struct cgroup_mount unified; /* v2 */
};

/* Takes one line of /proc/self/mountinfo into account; the first mount of each kind counts. */
void cgroup_mounts_line(const char *line, struct cgroup_mounts *m);

/* Reads /proc/self/mountinfo. Errors of fopen(3). */
int cgroup_mounts_read(struct cgroup_mounts *ret);

/* The path that names the container: the first of unified, memory, cpuset and named that is not the
 * root. On v1 hierarchies /proc/PID/cgroup shows every exiting task in the root
 * (proc_cgroup_show()); /proc/PID/cpuset does not (proc_cpuset_show()), and container runtimes use
 * one path in all hierarchies. cpuset: the text of that file, "" where it was not read. */
const char *cgroup_naming_path(const struct cgroup_paths *p, const char *cpuset);

/* The path of memory.stat of the cgroup that names the container: v1 where there is a v1 memory
 * controller. -ENOENT: not mounted, outside of what the mount shows ("/../x" in a cgroup
 * namespace), or the root of v1, which may be a lie. -ENAMETOOLONG. */
int cgroup_memory_stat(const struct cgroup_mounts *m, const struct cgroup_paths *p,
                       const char *naming_path, char *buf, size_t size);
