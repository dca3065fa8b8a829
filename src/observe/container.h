/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"
#include "snapshot.h"

/* From /proc/PID/cgroup to the name that an operator knows. Pure text. */

/* The paths that matter, out of /proc/PID/cgroup (v1, v2, hybrid), "" where absent. */
#define CGROUP_PATH_MAX 1024
struct cgroup_paths {
    char memory[CGROUP_PATH_MAX];  /* v1 memory controller */
    char unified[CGROUP_PATH_MAX]; /* v2, "0::" */
    char named[CGROUP_PATH_MAX];   /* v1 name=systemd */
};
/* -EBADMSG: not lines of the form ID:LIST:PATH, one that matters is there twice, or its path is too
 * long. The " (deleted)" of a removed v2 cgroup is cut off. */
int cgroup_parse(const char *text, size_t len, struct cgroup_paths *ret);

/* The innermost container of the path: "docker 0123456789ab" (12 digits of the id; the same for
 * containerd, cri-o, podman, nerdctl, and "container" where nothing tells the engine), "nspawn
 * NAME", "qemu 1-NAME" (libvirt), "lxc NAME"; else "pod UID"; else the innermost unit,
 * "NAME.service" or "NAME.scope"; else the path, "/" for the root. What is too long is shown as
 * "..." and its tail. Control characters, quotes and bytes that are not UTF-8 become '?': a hostile
 * path must not forge a log line. Returns ret. */
char *container_name(const char *cgroup_path, char ret[static GROUP_NAME_MAX]);

/* anon and anon_thp of a memory.stat text, in bytes (v1: total_rss and total_rss_huge, which count
 * the groups below too, else rss and rss_huge; rss includes rss_huge). *ret_thp 0 where absent. An
 * unfinished last line is not read. -EBADMSG where neither anon nor rss is there, or one of them is
 * twice or no number. */
int memory_stat_parse(const char *text, size_t len, uint64_t *ret_anon, uint64_t *ret_thp);
