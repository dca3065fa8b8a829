/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "dropins.h"
#include "fileio.h"
#include "result.h"

#define MAIN_FILE "/etc/pcptuned/pcptuned.conf"
#define FILE_MAX (1U << 20) /* bytes; the documented example has 4 KiB */

static size_t key_at(size_t offset)
{
    size_t i = 0;
    while (i < CONFIG_KEYS - 1 && config_table[i].offset != offset)
        i++;
    return i;
}

/* Where this happens both have been set, for the defaults are the ends of the range. */
static int check_bounds(struct config_result *r, size_t lo, size_t hi)
{
    const struct config_key *k_lo = &config_table[lo], *k_hi = &config_table[hi];
    const struct config_origin *at_lo = &r->origins[lo], *at_hi = &r->origins[hi];
    char min[CONFIG_TEXT], max[CONFIG_TEXT];

    return result_add_error(
        r, "%s:%u: [%s] %s=: %s is above %s=%s (%s:%u); accepted is a minimum up to it",
        at_lo->file, at_lo->line, k_lo->section, k_lo->name, config_format(k_lo, &r->params, min),
        k_hi->name, config_format(k_hi, &r->params, max), at_hi->file, at_hi->line);
}

int config_check(struct config_result *r)
{
    for (size_t id = 0; id < KNOB_MAX; id++) {
        if (r->params.knob_lo[id] <= r->params.knob_hi[id])
            continue;
        int error = check_bounds(r, key_at(offsetof(struct params, knob_lo) + id * sizeof(int)),
                                 key_at(offsetof(struct params, knob_hi) + id * sizeof(int)));
        if (error < 0)
            return error;
    }
    return 0;
}

/* What the administrator has to mend. Anything else, like no memory, no descriptor or a disk's
 * error, is none of the configuration's and may pass. */
static bool is_lasting(int error)
{
    switch (error) {
    case -ENOENT:
    case -ENOTDIR:
    case -EISDIR:
    case -ELOOP:
    case -ENAMETOOLONG:
    case -EACCES:
    case -EPERM:
    case -ENXIO:
    case -ENODEV:
    case -EINVAL:
    case -EFBIG:
        return true;
    default:
        return false;
    }
}

static int file_error(struct config_result *r, const char *path, int error)
{
    if (!is_lasting(error)) {
        (void)result_add_error(r, "%s: cannot be read: %s", path, strerror(-error));
        return error;
    }
    const char *what = error == -EFBIG    ? "Larger than 1 MiB"
                       : error == -EINVAL ? "Not a regular file"
                                          : strerror(-error);
    return result_add_error(r, "%s: cannot be read: %s; accepted is a regular file up to 1 MiB",
                            path, what);
}

/* Returns the length; 0 for /dev/null, which masks a drop-in. A FIFO must not hold us up, nor a
 * terminal become ours. */
static ssize_t read_config(const char *path, char **buf)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    size_t size = 0;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))
        return 0;
    if (!S_ISREG(st.st_mode))
        return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
    return read_file_grow(fd, buf, &size, FILE_MAX + 1);
}

static int load_file(const char *path, bool optional, struct config_result *r)
{
    _cleanup_free_ char *text = NULL;
    ssize_t len = read_config(path, &text);

    if (len == -ENOENT && optional)
        return 0;
    if (len < 0)
        return file_error(r, path, (int)len);
    return len ? config_parse(path, text, (size_t)len, r) : 0;
}

static int load_main(const char *root, struct config_result *r)
{
    char *path;
    if (asprintf(&path, "%s" MAIN_FILE, root) < 0)
        return -ENOMEM;
    int error = load_file(path, true, r);
    free(path);
    return error;
}

static int load_dropins(const char *root, struct config_result *r)
{
    struct dropin_list l;
    int error = dropin_list_find(root, &l);
    if (error < 0)
        return error;
    for (size_t i = 0; i < l.n && error == 0; i++)
        error = l.items[i].error ? file_error(r, l.items[i].path, l.items[i].error)
                                 : load_file(l.items[i].path, false, r);
    dropin_list_done(&l);
    return error;
}

int config_load(const char *root, const char *main_file, struct config_result *r)
{
    config_result_init(r);
    int error = main_file ? load_file(main_file, false, r) : load_main(root, r);
    if (error == 0)
        error = load_dropins(root, r);
    if (error == 0)
        error = config_check(r);
    return error < 0 ? error : r->n_errors ? -EINVAL : 0;
}

void config_print(const struct config_result *r, FILE *f)
{
    const char *section = "";

    for (size_t i = 0; i < r->n_files; i++)
        fprintf(f, "# %s\n", r->files[i]);
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const struct config_key *k = &config_table[i];
        const struct config_origin *o = &r->origins[i];
        char text[CONFIG_TEXT];

        if (strcmp(section, k->section) != 0)
            fprintf(f, "\n[%s]\n", k->section);
        section = k->section;
        fprintf(f, "# %s (%s)\n", k->help, config_range(k, text));
        if (o->file)
            fprintf(f, "# from %s:%u\n", o->file, o->line);
        fprintf(f, "%s%s=%s\n", o->file ? "" : "#", k->name, config_format(k, &r->params, text));
    }
}
