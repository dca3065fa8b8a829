/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgroup.h"

#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <string.h>
#include <sys/stat.h>

#include "fileio.h"

struct cgroup {
    char dir[PATH_MAX];
    char path[PATH_MAX];
    int version;
    int procs_fd;
    char named_dir[PATH_MAX]; /* the same path in cgroup2 of a hybrid system, "" where not */
    int named_fd;
};

struct mount {
    char dir[PATH_MAX];
    int version;
};

static bool has_memory_controller(const char *list, size_t len)
{
    for (const char *item = list; item < list + len; item += strcspn(item, ",:") + 1)
        if (strcspn(item, ",:") == strlen("memory") && strncmp(item, "memory", 6) == 0)
            return true;
    return false;
}

/* Lines are ID:CONTROLLERS:PATH; cgroup2 has no controllers in its line. */
int cgroup_own_path(const char *text, int version, char *ret, size_t size)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t len = strcspn(line, "\n");
        const char *list = memchr(line, ':', len);
        const char *path = list ? memchr(list + 1, ':', len - (size_t)(list + 1 - line)) : NULL;
        if (!path)
            continue;
        size_t list_len = (size_t)(path - ++list);
        if (version == 1 ? !has_memory_controller(list, list_len) : list_len > 0)
            continue;
        size_t path_len = len - (size_t)(++path - line);
        if (path_len >= size)
            return -ENAMETOOLONG;
        memcpy(ret, path, path_len);
        ret[path_len] = '\0';
        return 0;
    }
    return -ENOENT;
}

static void fclose_mounts(FILE *f)
{
    endmntent(f);
}
DEFINE_CLEANUP(FILE *, fclose_mounts)

/* v1's memory controller wins: where it is mounted, cgroup2 cannot have it. least: 2 looks for
 * cgroup2 alone. */
static int find_mount(int least, struct mount *ret)
{
    _cleanup_(fclose_mountsp) FILE *f = setmntent("/proc/self/mounts", "re");
    char buf[2 * PATH_MAX];
    struct mntent m;
    int version = 0;

    if (!f)
        return -errno;
    while (version != 1 && getmntent_r(f, &m, buf, sizeof(buf))) {
        int this_one = strcmp(m.mnt_type, "cgroup2") == 0                             ? 2
                       : strcmp(m.mnt_type, "cgroup") == 0 && hasmntopt(&m, "memory") ? 1
                                                                                      : 0;
        if (this_one < least || this_one == version)
            continue;
        version = this_one;
        snprintf(ret->dir, sizeof(ret->dir), "%s", m.mnt_dir);
    }
    ret->version = version;
    return version ? 0 : -ENOENT;
}

static bool has_dotdot(const char *name)
{
    for (const char *p = name; *p; p += strcspn(p, "/"), p += *p == '/')
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == '\0'))
            return true;
    return false;
}

static int join(char *ret, size_t size, const char *a, const char *b)
{
    int n = snprintf(ret, size, "%s/%s", strcmp(a, "/") == 0 ? "" : a, b);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* Fills c->path and c->dir. In a container without a cgroup namespace the mount shows only our own
 * subtree, while /proc/self/cgroup still counts from the host's root. */
static int resolve(struct cgroup *c, const struct mount *m, const char *name)
{
    char text[4 * PATH_MAX]; /* one line for each v1 hierarchy */
    char own[PATH_MAX] = "";
    char parent[PATH_MAX];
    struct stat st;

    if (name[0] != '/') {
        ssize_t n = read_file("/proc/self/cgroup", text, sizeof(text));
        int r = n < 0 ? (int)n : cgroup_own_path(text, m->version, own, sizeof(own));
        if (r < 0)
            return r;
    }
    name += strspn(name, "/");
    int r = join(c->path, sizeof(c->path), own, name);
    if (r < 0)
        return r;
    int n = snprintf(parent, sizeof(parent), "%s%s", m->dir, own);
    if (n < 0 || (size_t)n >= sizeof(parent))
        return -ENAMETOOLONG;
    return join(c->dir, sizeof(c->dir), stat(parent, &st) < 0 ? m->dir : parent, name);
}

static int open_procs(const char *dir)
{
    char path[PATH_MAX];
    int r = join(path, sizeof(path), dir, "cgroup.procs");
    if (r < 0)
        return r;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* A hybrid system has its groups in both hierarchies, and of an exiting task only cgroup2 tells the
 * path: in v1 it is in the root already (proc_cgroup_show()). Where the parent is missing there,
 * the group goes without. */
static void create_named(struct cgroup *c)
{
    struct mount m;
    int n;

    if (c->version != 1 || find_mount(2, &m) < 0)
        return;
    n = snprintf(c->named_dir, sizeof(c->named_dir), "%s%s", m.dir, c->path);
    if (n < 0 || (size_t)n >= sizeof(c->named_dir) || mkdir(c->named_dir, 0755) < 0) {
        c->named_dir[0] = '\0';
        return;
    }
    c->named_fd = open_procs(c->named_dir);
}

static int create(struct cgroup *c, const char *name)
{
    struct mount m = {.version = 0};
    int r = find_mount(1, &m);

    c->version = m.version;
    if (r == 0)
        r = resolve(c, &m, name);
    if (r < 0)
        return r;
    if (mkdir(c->dir, 0755) < 0)
        return -errno;
    c->procs_fd = open_procs(c->dir);
    if (c->procs_fd < 0) {
        rmdir(c->dir);
        return c->procs_fd;
    }
    create_named(c);
    return 0;
}

int cgroup_new(const char *name, struct cgroup **ret)
{
    size_t len = strlen(name);
    if (len == 0 || name[len - 1] == '/' || has_dotdot(name))
        return -EINVAL;
    struct cgroup *c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->named_fd = -1;
    int r = create(c, name);
    if (r < 0)
        free(c);
    else
        *ret = c;
    return r;
}

/* A reaped process leaves its group a moment later (cgroup_release() by RCU). */
static int remove_dir(const char *dir)
{
    int r = -EBUSY;
    for (int i = 0; i < 100 && r == -EBUSY; i++) {
        r = rmdir(dir) < 0 ? -errno : 0;
        if (r == -EBUSY)
            usleep(10000);
    }
    return r;
}

int cgroup_free(struct cgroup *c)
{
    if (!c)
        return 0;
    close(c->procs_fd);
    int r = remove_dir(c->dir);
    if (c->named_dir[0]) {
        closep(&c->named_fd);
        int r2 = remove_dir(c->named_dir);
        r = r < 0 ? r : r2;
    }
    free(c);
    return r;
}

int cgroup_enter(const struct cgroup *c)
{
    if (write(c->procs_fd, "0", 1) < 0)
        return -errno;
    return c->named_fd >= 0 && write(c->named_fd, "0", 1) < 0 ? -errno : 0;
}

const char *cgroup_path(const struct cgroup *c)
{
    return c->path;
}

int cgroup_version(const struct cgroup *c)
{
    return c->version;
}
