/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>
#include <string.h>

#include "output.h"

struct options {
    const char *file, *svg;
    const char *set[64];
    unsigned n_set;
    bool json;
};

static void help(FILE *f)
{
    fputs("Usage: pcpsim [OPTIONS] SCENARIO.ini\n"
          "Simulate per-CPU page lists and zone->lock on a machine of any size.\n\n"
          "  --set=SECTION.KEY=VALUE  Override a line of the file; a workload by its name\n"
          "  --json                   Print one JSON object instead of tables\n"
          "  --svg=FILE               Draw the timeline\n"
          "  --help, --version\n",
          f);
}

/* 0: go on; 1: done; negative: wrong. */
static int parse_options(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {
        {"set", required_argument, NULL, 's'}, {"json", no_argument, NULL, 'j'},
        {"svg", required_argument, NULL, 'g'}, {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},   {NULL, 0, NULL, 0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", table, NULL)) >= 0) {
        switch (c) {
        case 's':
            if (o->n_set == ARRAY_SIZE(o->set))
                return -E2BIG;
            o->set[o->n_set++] = optarg;
            break;
        case 'j':
            o->json = true;
            break;
        case 'g':
            o->svg = optarg;
            break;
        case 'h':
            help(stdout);
            return 1;
        case 'v':
            puts("pcpsim " PCPTUNED_VERSION);
            return 1;
        default:
            return -EINVAL;
        }
    }
    if (optind + 1 != argc) {
        help(stderr);
        return -EINVAL;
    }
    o->file = argv[optind];
    return 0;
}

static int load(const struct options *o, struct scenario *s)
{
    char error[SCENARIO_ERROR];

    scenario_init(s);
    int r = scenario_load(o->file, s, error);
    for (unsigned i = 0; r == 0 && i < o->n_set; i++)
        r = scenario_set(s, o->set[i], o->file, error);
    if (r == 0)
        r = scenario_check(s, error);
    if (r < 0)
        fprintf(stderr, "pcpsim: %s\n", error);
    return r;
}

static int report(const struct options *o, const struct scenario *s, const struct sim_result *r)
{
    int ret = 0;

    if (o->json)
        ret = output_json(s, r, stdout);
    else
        output_table(s, r, stdout);
    if (ret == 0 && o->svg)
        ret = output_svg(s, r, o->svg);
    if (ret < 0)
        fprintf(stderr, "pcpsim: %s: %s\n", o->svg ? o->svg : "output", strerror(-ret));
    return ret;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    struct scenario s;
    struct sim *sim;
    int r = parse_options(argc, argv, &o);

    if (r != 0)
        return r < 0 ? 2 : 0;
    if (load(&o, &s) < 0)
        return 2;
    r = sim_new(&s, &sim);
    if (r < 0) {
        fprintf(stderr, "pcpsim: %s\n", strerror(-r));
        return 1;
    }
    sim_run(sim);
    r = report(&o, &s, sim_get_result(sim));
    sim_free(sim);
    return r < 0 ? 1 : 0;
}
