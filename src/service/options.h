/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "report.h"

enum verb { VERB_RUN, VERB_RESTORE, VERB_CHECK_CONFIG, VERB_PRINT_CONFIG, VERB_FACTS, VERB_EXIT };

struct options {
    enum verb verb;
    const char *config; /* NULL: the default main file */
    bool dry_run;
    struct report_config report;
    const char *state_dir; /* RUNTIME_DIRECTORY of systemd.exec(5), else /run/pcptuned */
};

/* Exit codes that scripts can use: pcptuned(8). */
enum {
    EXIT_USAGE = 2,
    EXIT_NOTHING_TO_TUNE = 69, /* EX_UNAVAILABLE: no knob in this kernel */
    EXIT_BUSY = 75,            /* EX_TEMPFAIL: another pcptuned owns the knobs */
    EXIT_DENIED = 77,          /* EX_NOPERM */
    EXIT_BAD_CONFIG = 78,      /* EX_CONFIG */
    EXIT_FOREIGN = 79,         /* OnForeignWrite=exit */
};

/* Why actuator_open() does not take state_dir: its -EPERM is about owner and mode. */
const char *state_dir_why(int error);

/* Returns 0, or EXIT_USAGE after saying what was wrong. VERB_EXIT: --help and --version. */
int options_parse(int argc, char *argv[], struct options *ret);
