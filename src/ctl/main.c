/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>
#include <locale.h>
#include <string.h>

#include "help.h"
#include "term.h"

struct command {
    const struct verb *verb; /* NULL: only with help */
    struct call call;
    unsigned given; /* of enum option_id */
    bool help;
};

enum { DONE = 1 };

/* 0: go on; DONE; negative: after a complaint. */
static int take(int c, struct command *ret)
{
    switch (c) {
    case OPTION_JSON:
        ret->call.json = true;
        break;
    case OPTION_CONFIG:
        ret->call.config = optarg;
        break;
    case OPTION_ADDRESS:
        ret->call.address = optarg;
        break;
    case OPTION_SINCE:
        ret->call.since = optarg;
        break;
    case OPTION_FOLLOW:
        ret->call.follow = true;
        break;
    case OPTION_NO_PAGER:
        break;
    case 'h':
        ret->help = true;
        return 0;
    case 'V':
        printf("pcptunectl %s\n", PCPTUNED_VERSION);
        return DONE;
    default:
        fprintf(stderr, "See pcptunectl --help.\n");
        return -EINVAL;
    }
    ret->given |= (unsigned)c;
    return 0;
}

/* NULL after a complaint. */
static const struct verb *take_verb(const char *name)
{
    const char *near;
    const struct verb *v = verb_find(name, &near);

    if (!v)
        fprintf(stderr, "pcptunectl: there is no verb '%s'%s%s%s; see pcptunectl --help\n", name,
                near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    return v;
}

static int take_arguments(const struct verb *v, int n, char *args[], struct command *ret)
{
    if (n > (v->argument ? 1 : 0)) {
        fprintf(stderr, "pcptunectl: unexpected argument '%s'; see pcptunectl %s --help\n",
                args[v->argument ? 1 : 0], v->name);
        return -EINVAL;
    }
    if (v->argument && n == 0) {
        fprintf(stderr, "pcptunectl: %s wants %s; see pcptunectl %s --help\n", v->name, v->argument,
                v->name);
        return -EINVAL;
    }
    if (ret->given & ~v->options) {
        fprintf(stderr,
                "pcptunectl: %s does not take all of these options; see pcptunectl %s "
                "--help\n",
                v->name, v->name);
        return -EINVAL;
    }
    ret->call.argument = args[0];
    return 0;
}

static int parse_options(int argc, char *argv[], struct command *ret)
{
    static const struct option long_options[] = {
        {"json", no_argument, NULL, OPTION_JSON},
        {"config", required_argument, NULL, OPTION_CONFIG},
        {"address", required_argument, NULL, OPTION_ADDRESS},
        {"since", required_argument, NULL, OPTION_SINCE},
        {"follow", no_argument, NULL, OPTION_FOLLOW},
        {"no-pager", no_argument, NULL, OPTION_NO_PAGER},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    int c;

    *ret = (struct command){0};
    while ((c = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        int r = take(c, ret);
        if (r != 0)
            return r;
    }
    if (optind >= argc) {
        if (!ret->help)
            fprintf(stderr, "pcptunectl: which verb? See pcptunectl --help.\n");
        return ret->help ? 0 : -EINVAL;
    }
    ret->verb = take_verb(argv[optind]);
    if (!ret->verb)
        return -EINVAL;
    return ret->help ? 0 : take_arguments(ret->verb, argc - optind - 1, argv + optind + 1, ret);
}

static int run(const struct command *c)
{
    if (c->verb && !c->help)
        return c->verb->run(&c->call);
    if (c->verb)
        help_print_verb(c->verb);
    else
        help_print();
    return EXIT_SUCCESS;
}

int main(int argc, char *argv[])
{
    struct command c;

    setlocale(LC_CTYPE, "");
    int r = parse_options(argc, argv, &c);
    if (r != 0)
        return r < 0 ? EXIT_USAGE : EXIT_SUCCESS;
    bool paged = c.verb && !c.help && !c.call.json && !c.call.follow &&
                 (c.verb->options & OPTION_NO_PAGER) && !(c.given & OPTION_NO_PAGER);
    if (paged)
        pager_open();
    int code = run(&c);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "pcptunectl: standard output: %s\n", strerror(errno));
        code = EXIT_FAILURE;
    }
    pager_close();
    return code;
}
