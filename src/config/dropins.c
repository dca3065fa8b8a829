/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dropins.h"

#include <dirent.h>
#include <string.h>

/* As in systemd-system.conf(5): the administrator's, then the run time's, then the vendor's. */
static const char *const dirs[] = {
    "/etc/pcptuned/pcptuned.conf.d",
    "/run/pcptuned/pcptuned.conf.d",
    "/usr/local/lib/pcptuned/pcptuned.conf.d",
    "/usr/lib/pcptuned/pcptuned.conf.d",
};

void dropin_list_done(struct dropin_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->items[i].path);
    free(l->items);
    *l = (struct dropin_list){0};
}

static int list_add(struct dropin_list *l, const char *dir, const char *name, unsigned rank,
                    int error)
{
    struct dropin *items = reallocarray(l->items, l->n + 1, sizeof(*items));
    if (!items)
        return -ENOMEM;
    l->items = items;

    struct dropin *d = &items[l->n];
    if (asprintf(&d->path, "%s%s%s", dir, name ? "/" : "", name ? name : "") < 0)
        return -ENOMEM;
    d->name = name ? d->path + strlen(dir) + 1 : d->path;
    d->rank = rank;
    d->error = error;
    l->n++;
    return 0;
}

static bool is_dropin(const char *name)
{
    size_t len = strlen(name);
    return name[0] != '.' && len > 5 && strcmp(name + len - 5, ".conf") == 0;
}

DEFINE_CLEANUP(DIR *, closedir)

static int list_add_dir(struct dropin_list *l, const char *root, unsigned rank)
{
    _cleanup_free_ char *path = NULL;
    if (asprintf(&path, "%s%s", root, dirs[rank]) < 0) {
        path = NULL;
        return -ENOMEM;
    }

    _cleanup_(closedirp) DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? 0 : list_add(l, path, NULL, rank, -errno);
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(dir);
        if (!e)
            return errno ? list_add(l, path, NULL, rank, -errno) : 0;
        if (!is_dropin(e->d_name))
            continue;
        int r = list_add(l, path, e->d_name, rank, 0);
        if (r < 0)
            return r;
    }
}

static int compare(const void *a, const void *b)
{
    const struct dropin *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : (x->rank > y->rank) - (x->rank < y->rank);
}

static void drop_overridden(struct dropin_list *l)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->n; i++)
        if (kept > 0 && strcmp(l->items[kept - 1].name, l->items[i].name) == 0)
            free(l->items[i].path);
        else
            l->items[kept++] = l->items[i];
    l->n = kept;
}

int dropin_list_find(const char *root, struct dropin_list *ret)
{
    struct dropin_list l = {0};

    for (unsigned rank = 0; rank < ARRAY_SIZE(dirs); rank++) {
        int r = list_add_dir(&l, root, rank);
        if (r < 0) {
            dropin_list_done(&l);
            return r;
        }
    }
    if (l.n > 0)
        qsort(l.items, l.n, sizeof(l.items[0]), compare);
    drop_overridden(&l);
    *ret = l;
    return 0;
}
