/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>
#include <string.h>

#include "config.h"
#include "verbs.h"

#define EXIT_USAGE 2

static const char help[] =
    "pcptunectl: what a container exit storm could cost on this machine, and what to set\n"
    "\n"
    "Usage: pcptunectl [OPTION...] VERB\n"
    "\n"
    "Verbs (they need neither pcptuned nor root, and change nothing)\n"
    "  recommend      what to set here and why, ready to paste; often to keep the defaults\n"
    "  explain        each zone from its managed pages to the wait W, with this machine's\n"
    "                 numbers in the kernel's formulas\n"
    "\n"
    "Options\n"
    "  --json         one JSON object on standard output; its keys are in pcptunectl(1)\n"
    "  --config=FILE  TargetWait=, PageCost= and bounds from FILE instead of\n"
    "                 /etc/pcptuned/pcptuned.conf (drop-ins still apply)\n"
    "  --help, --version\n"
    "\n"
    "Environment: NO_COLOR switches colours off; there are none but on a terminal.\n"
    "\n"
    "Exit codes: 0 done; 1 failed; 2 usage.\n"
    "\n"
    "See pcptunectl(1), pcptuned(8) and /etc/pcptuned/pcptuned.conf.\n";

static const struct verb {
    const char *name;
    int (*run)(const struct machine *m, const struct params *p, bool json);
} verbs[] = {
    {"recommend", advise},
    {"explain", explain},
};

struct options {
    const struct verb *verb; /* NULL: all is done */
    const char *config;
    bool json;
};

/* 0: go on; 1: all is done; negative: after a complaint. */
static int take(int c, struct options *ret)
{
    switch (c) {
    case 'j':
        ret->json = true;
        return 0;
    case 'c':
        ret->config = optarg;
        return 0;
    case 'h':
        fputs(help, stdout);
        return 1;
    case 'V':
        printf("pcptunectl %s\n", PCPTUNED_VERSION);
        return 1;
    default:
        fprintf(stderr, "See pcptunectl --help.\n");
        return -EINVAL;
    }
}

static int take_verb(const char *name, struct options *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        if (strcmp(verbs[i].name, name) == 0) {
            ret->verb = &verbs[i];
            return 0;
        }
    }
    fprintf(stderr, "pcptunectl: there is no verb '%s'; see pcptunectl --help\n", name);
    return -EINVAL;
}

static int parse_options(int argc, char *argv[], struct options *ret)
{
    static const struct option long_options[] = {
        {"json", no_argument, NULL, 'j'},
        {"config", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    int c;

    *ret = (struct options){0};
    while ((c = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        int r = take(c, ret);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    if (optind == argc) {
        fprintf(stderr, "pcptunectl: which verb? See pcptunectl --help.\n");
        return -EINVAL;
    }
    if (optind + 1 < argc) {
        fprintf(stderr, "pcptunectl: unexpected argument '%s'; see pcptunectl --help\n",
                argv[optind + 1]);
        return -EINVAL;
    }
    return take_verb(argv[optind], ret);
}

static int run(const struct options *o, const struct params *p)
{
    _cleanup_(machine_done) struct machine m;

    int r = machine_read(p, &m);
    if (r >= 0)
        r = o->verb->run(&m, p, o->json);
    if (r == -ENOMEM)
        fprintf(stderr, "pcptunectl: %s\n", strerror(ENOMEM));
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "pcptunectl: standard output: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char *argv[])
{
    struct config_result c;
    struct options o;
    int code = EXIT_FAILURE;

    if (parse_options(argc, argv, &o) < 0)
        return EXIT_USAGE;
    if (!o.verb)
        return EXIT_SUCCESS;
    int r = config_load("", o.config, &c);
    if (r == -ENOMEM)
        fprintf(stderr, "pcptunectl: %s\n", strerror(ENOMEM));
    for (size_t i = 0; i < c.n_errors; i++)
        fprintf(stderr, "%s\n", c.errors[i]);
    if (r == 0)
        code = run(&o, &c.params);
    config_result_done(&c);
    return code;
}
