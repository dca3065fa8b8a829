/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"
#include "params.h"

/* INI text -> params. Files, in the order that systemd.unit(5) and systemd-system.conf use:
 * /etc/pcptuned/pcptuned.conf, then *.conf in pcptuned.conf.d of /etc/pcptuned, /run/pcptuned,
 * /usr/local/lib/pcptuned, /usr/lib/pcptuned: sorted by file name across all four, the first
 * directory wins for a name, a link to /dev/null (or an empty file) masks it. Later files override
 * earlier ones key by key. */

enum config_type {
    CONFIG_BOOL,
    CONFIG_DURATION,
    CONFIG_SIZE,
    CONFIG_INT,
    CONFIG_UINT32,
    CONFIG_MODE,
    CONFIG_ON_FOREIGN,
    CONFIG_ON_PINNED,
};

struct config_key {
    const char *section, *name;
    enum config_type type;
    size_t offset;       /* into struct params */
    int64_t min, max;    /* of numbers, in the unit of params */
    bool allow_infinity; /* durations: "infinity" */
    const char *help;    /* one line, for man page and example */
};
extern const struct config_key config_table[];
extern const size_t config_table_len;

/* Where the effective value of a key came from. */
struct config_origin {
    char file[256]; /* "" : default */
    unsigned line;
};

struct config_error {
    char text[512]; /* "FILE:LINE: [Section] Key=: what was wrong; what is accepted" */
};

struct config_result {
    struct params params;
    struct config_origin *origins; /* config_table_len of them */
    struct config_error *errors;   /* all that were found, at most 100 */
    size_t n_errors;               /* 0: params are good */
    char **files;                  /* read, in order */
    size_t n_files;
};
void config_result_done(struct config_result *r);

/* Loads main_file (NULL: the default path; it may be missing then) and the drop-ins below root
 * ("" outside of tests). Returns 0 where there were no errors, -EINVAL where r->errors tells them,
 * or another errno (-ENOMEM). *r is to be freed in each case. */
int config_load(const char *root, const char *main_file, struct config_result *r);

/* One text, as of file `name`: adds to r. For the fuzzer and for tests. */
int config_parse(const char *name, const char *text, size_t len, struct config_result *r);

/* The value of a key as the file would say it ("100us", "64M", "apply"). Returns buf. */
char *config_format(const struct config_key *k, const struct params *p, char *buf, size_t size);
