/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "verbs.h"

enum option_id {
    OPTION_JSON = 1 << 0,
    OPTION_CONFIG = 1 << 1,
    OPTION_ADDRESS = 1 << 2,
    OPTION_SINCE = 1 << 3,
    OPTION_FOLLOW = 1 << 4,
    OPTION_NO_PAGER = 1 << 5,
};

struct verb {
    const char *name;
    const char *argument; /* "apply|dry-run|off"; NULL: takes none */
    int (*run)(const struct call *c);
    unsigned options; /* of enum option_id: those that it takes */
    const char *summary;
    const char *help; /* the rest of what "VERB --help" says */
};

/* NULL where there is none of that name; then *ret_near is the nearest, or NULL. */
const struct verb *verb_find(const char *name, const char **ret_near);

void help_print(void);
void help_print_verb(const struct verb *v);
