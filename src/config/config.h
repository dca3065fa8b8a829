/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"
#include "params.h"

/* INI text -> params. The main file is /etc/pcptuned/pcptuned.conf; the drop-ins are *.conf in
 * pcptuned.conf.d of /etc/pcptuned, /run/pcptuned, /usr/local/lib/pcptuned, /usr/lib/pcptuned.
 * As in systemd, all drop-ins are sorted by file name and read after the main file, the first
 * directory wins for a name, and a link to /dev/null masks it. Later files override earlier ones
 * key by key; an empty value is the default. */

enum config_type {
    CONFIG_BOOL,
    CONFIG_NUMBER,
    CONFIG_PERCENT,
    CONFIG_DURATION,
    CONFIG_SIZE,
    CONFIG_PATH, /* of a metrics file; max: bytes */
    CONFIG_MODE,
    CONFIG_ON_FOREIGN,
    CONFIG_ON_PINNED,
};

struct config_key {
    const char *section, *name, *help;
    enum config_type type;
    bool infinity;       /* accepted besides min to max */
    size_t offset, size; /* of the field in struct params */
    uint64_t min, max;   /* in the unit of params */
};
#define CONFIG_KEYS 27
extern const struct config_key config_table[CONFIG_KEYS];

struct config_origin {
    const char *file; /* one of config_result.files; NULL: not set anywhere */
    unsigned line;
};

#define CONFIG_TEXT PARAMS_PATH /* a value as config_format() writes it */

struct config_assignment {
    size_t key; /* index into config_table */
    struct config_origin at;
    char value[CONFIG_TEXT]; /* the default's where it is empty in the file */
};

#define CONFIG_ERRORS_MAX 100
struct config_result {
    struct params params;
    struct config_origin origins[CONFIG_KEYS]; /* the assignment that won, for each key */
    struct config_assignment *assignments; /* every one that was good, in order: the last wins */
    size_t n_assignments;
    char **errors;   /* "FILE:LINE: [Section] Key=: what was wrong; what is accepted" */
    size_t n_errors; /* 0: params are good. All are kept up to CONFIG_ERRORS_MAX, then one more */
    char **files;    /* read, in order */
    size_t n_files;
};

/* The defaults, from no file. To be freed with config_result_done(). */
void config_result_init(struct config_result *r);
void config_result_done(struct config_result *r);

/* Initialises *r and loads main_file (NULL: the default path, which may be missing) and the
 * drop-ins below root ("" outside of tests). Returns 0, or -EINVAL where r->errors says why, or
 * what is no fault of the configuration and may pass, as -ENOMEM, -EMFILE and -EIO do: of that
 * r->errors says what could not be read, unless there was no memory for it. *r is to be freed in
 * each case. */
int config_load(const char *root, const char *main_file, struct config_result *r);

/* The two steps of it: one text, as of file `name`, and what only shows when all are read. */
int config_parse(const char *name, const char *text, size_t len, struct config_result *r);
int config_check(struct config_result *r);

/* One value of one key. -EINVAL not of its form, -ERANGE outside of its range. */
int config_set(const struct config_key *k, const char *value, struct params *p);

/* The value as config_set() reads it back ("100us", "64M", "apply"), and what is accepted ("1us to
 * 1s", "yes or no"). Both return buf. */
char *config_format(const struct config_key *k, const struct params *p, char buf[CONFIG_TEXT]);
char *config_range(const struct config_key *k, char buf[CONFIG_TEXT]);

/* Prints all keys with help, range, origin and value, as a file that config_load() accepts. */
void config_print(const struct config_result *r, FILE *f);
