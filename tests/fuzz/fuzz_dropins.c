/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "take.h"

/* A tree of configuration files: names, links, masks, what is no file at all, and sizes. It is
 * never waited for, is read in order of name, each name once, and what is wrong is said. */

#define ENTRIES 12
#define NAMES 10

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const dirs[] = {
    "/etc/pcptuned/pcptuned.conf.d",
    "/run/pcptuned/pcptuned.conf.d",
    "/usr/local/lib/pcptuned/pcptuned.conf.d",
    "/usr/lib/pcptuned/pcptuned.conf.d",
};
static const char *const names[NAMES] = {
    "10-a.conf", "90-z.conf", "A.conf",      ".conf",       ".h.conf",
    "x.conf~",   "x.config",  "\xff\n.conf", "10-a.conf.d", "é.conf",
};
static char root[64];

/* tests/fuzz runs in a directory of memory where there is one. */
static void make_dirs(void)
{
    static const char *const parts[] = {"/etc",
                                        "/etc/pcptuned",
                                        "/run",
                                        "/run/pcptuned",
                                        "/usr",
                                        "/usr/lib",
                                        "/usr/local",
                                        "/usr/local/lib",
                                        "/usr/lib/pcptuned",
                                        "/usr/local/lib/pcptuned"};
    char path[256];

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", root, parts[i]);
        require(mkdir(path, 0700) == 0);
    }
}

static void remove_root(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", root);
    (void)!system(command);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    snprintf(root, sizeof(root), "%s/pcptuned-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    require(mkdtemp(root) != NULL);
    atexit(remove_root);
    make_dirs();
    return 0;
}

static void clear_dir(const char *dir)
{
    char path[512];

    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(path, sizeof(path), "%s%s/%s", root, dir, names[i]);
        if (unlink(path) < 0)
            (void)rmdir(path);
    }
    snprintf(path, sizeof(path), "%s%s", root, dir);
    if (rmdir(path) < 0)
        (void)unlink(path);
}

static void write_text(const char *path, struct take *in)
{
    size_t len = take_bytes(in, 1);
    FILE *f = fopen(path, "wxe"); /* never what is there: a FIFO would hold us up */

    if (!f)
        return;
    len = len < in->left ? len : in->left;
    (void)fwrite(in->data, 1, len, f);
    in->data += len;
    in->left -= len;
    if (take_below(in, 64) == 63)
        (void)ftruncate(fileno(f), (1 << 20) + 2 - (off_t)take_below(in, 4));
    fclose(f);
}

static void add_entry(struct take *in, const char *dir)
{
    const char *name = names[take_below(in, NAMES)];
    char path[512];

    snprintf(path, sizeof(path), "%s%s/%s", root, dir, name);
    switch (take_below(in, 8)) {
    case 0:
        (void)!symlink("/dev/null", path);
        break;
    case 1: /* itself, another of the directory, or nothing */
        (void)!symlink(names[take_below(in, NAMES)], path);
        break;
    case 2:
        (void)mkfifo(path, 0600);
        break;
    case 3:
        (void)mkdir(path, 0700);
        break;
    case 4:
        (void)!symlink("/dev/zero", path);
        break;
    default:
        write_text(path, in);
        break;
    }
}

static void add_dir(struct take *in, const char *dir)
{
    char path[512];
    unsigned what = take_below(in, 8);

    snprintf(path, sizeof(path), "%s%s", root, dir);
    if (what == 0)
        (void)!symlink("/dev/null", path);
    else if (what == 1)
        write_text(path, in);
    else if (what > 2)
        (void)mkdir(path, 0700);
}

static const char *base(const char *path)
{
    return strrchr(path, '/') + 1;
}

static void check(const struct config_result *r, int error)
{
    require(error == (r->n_errors ? -EINVAL : 0) && r->n_errors <= CONFIG_ERRORS_MAX + 1);
    for (size_t i = 0; i < r->n_files; i++) {
        const char *name = base(r->files[i]);
        size_t len = strlen(name);
        if (i == 0 && strcmp(name, "pcptuned.conf") == 0)
            continue;
        require(name[0] != '.' && len > 5 && strcmp(name + len - 5, ".conf") == 0);
        if (i > 0 && strcmp(base(r->files[i - 1]), "pcptuned.conf") != 0)
            require(strcmp(base(r->files[i - 1]), name) < 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct take in = {data, size};
    struct config_result r;
    char path[512];

    for (unsigned i = 0; i < 4; i++)
        add_dir(&in, dirs[i]);
    snprintf(path, sizeof(path), "%s/etc/pcptuned/pcptuned.conf", root);
    if (take_below(&in, 4))
        write_text(path, &in);
    for (unsigned i = 0; i < ENTRIES && in.left > 0; i++)
        add_entry(&in, dirs[take_below(&in, 4)]);
    int error = config_load(root, NULL, &r);
    check(&r, error);
    config_result_done(&r);
    (void)unlink(path);
    for (unsigned i = 0; i < 4; i++)
        clear_dir(dirs[i]);
    return 0;
}
