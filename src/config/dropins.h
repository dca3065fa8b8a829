/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* The drop-in files in the order in which they are read. */

struct dropin {
    char *path;       /* below root */
    const char *name; /* by which it is sorted: the last part of path; path where error is set */
    unsigned rank;    /* of its directory; the lowest wins */
    int error;        /* negative errno: path is a directory that cannot be listed */
};

struct dropin_list {
    struct dropin *items;
    size_t n;
};
void dropin_list_done(struct dropin_list *l);

/* 0 or -ENOMEM. Directories that do not exist are passed over, and so are hidden files. */
int dropin_list_find(const char *root, struct dropin_list *ret);
