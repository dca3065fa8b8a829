/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgmount.h"

#include <string.h>

static bool has_option(const char *options, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = options; p; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, name, len) == 0 && (p[len] == '\0' || p[len] == ','))
            return true;
    }
    return false;
}

/* A path that was cut, or has octal escapes in it, is no place where a cgroup is ever mounted. */
static bool plausible(const char *path, size_t size)
{
    return path[0] == '/' && strlen(path) < size - 1 && !strchr(path, '\\');
}

void cgroup_mounts_line(const char *line, struct cgroup_mounts *m)
{
    struct cgroup_mount mount, *dest;
    char type[16], options[512];

    const char *rest = strstr(line, " - ");
    if (!rest || sscanf(line, "%*s %*s %*s %255s %255s", mount.root, mount.point) != 2 ||
        sscanf(rest, " - %15s %*s %511s", type, options) != 2)
        return;
    if (strcmp(type, "cgroup2") == 0)
        dest = &m->unified;
    else if (strcmp(type, "cgroup") == 0 && has_option(options, "memory"))
        dest = &m->memory;
    else
        return;
    if (!dest->point[0] && plausible(mount.root, sizeof(mount.root)) &&
        plausible(mount.point, sizeof(mount.point)))
        *dest = mount;
}

int cgroup_mounts_read(struct cgroup_mounts *ret)
{
    _cleanup_fclose_ FILE *f = fopen("/proc/self/mountinfo", "re");
    _cleanup_free_ char *line = NULL;
    size_t size = 0;

    if (!f)
        return -errno;
    *ret = (struct cgroup_mounts){0};
    while (getline(&line, &size, f) > 0)
        cgroup_mounts_line(line, ret);
    return 0;
}

/* The part of path below the mount's root; NULL where it is not below. */
static const char *below(const struct cgroup_mount *m, const char *path)
{
    size_t len = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);

    if (!m->point[0] || strncmp(path, "/../", 4) == 0 || strncmp(path, m->root, len) != 0 ||
        (path[len] != '\0' && path[len] != '/'))
        return NULL;
    return strcmp(path + len, "/") == 0 ? "" : path + len;
}

static bool is_root(const char *path)
{
    return path[0] == '\0' || strcmp(path, "/") == 0;
}

const char *cgroup_naming_path(const struct cgroup_paths *p, const char *cpuset)
{
    const char *paths[] = {p->unified, p->memory, cpuset, p->named};

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        if (!is_root(paths[i]))
            return paths[i];
    return "/";
}

int cgroup_memory_stat(const struct cgroup_mounts *m, const struct cgroup_paths *p,
                       const char *naming_path, char *buf, size_t size)
{
    bool v1 = p->memory[0] != '\0';
    const char *path = v1 && !is_root(p->memory) ? p->memory : naming_path;
    const struct cgroup_mount *mount = v1 ? &m->memory : &m->unified;

    const char *tail = v1 && is_root(path) ? NULL : below(mount, path);
    if (!tail)
        return -ENOENT;
    int n = snprintf(buf, size, "%s%s/memory.stat", mount->point, tail);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}
