/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "verbs.h"

int call_config(const struct call *c, struct config_result *ret)
{
    int r = config_load("", c->config, ret);

    if (r == -ENOMEM)
        fprintf(stderr, "pcptunectl: %s\n", strerror(ENOMEM));
    for (size_t i = 0; i < ret->n_errors; i++)
        fprintf(stderr, "%s\n", ret->errors[i]);
    return r;
}

static int on_machine(const struct params *p, const struct call *c,
                      int (*run)(const struct machine *m, const struct params *p,
                                 const struct call *c))
{
    _cleanup_(machine_done) struct machine m;

    int r = machine_read(p, &m);
    if (r >= 0)
        r = run(&m, p, c);
    if (r == -ENOMEM)
        fprintf(stderr, "pcptunectl: %s\n", strerror(ENOMEM));
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int call_local(const struct call *c,
               int (*run)(const struct machine *m, const struct params *p, const struct call *c))
{
    _cleanup_(config_result_done) struct config_result config;

    return call_config(c, &config) < 0 ? EXIT_FAILURE : on_machine(&config.params, c, run);
}
