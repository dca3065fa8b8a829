/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "jsonadd.h"
#include "told.h"
#include "verbs.h"

/* "mode", "re-arm", "restore", "reload": what pcptuned is to do. It answers when it is done. */

static int report(const struct call *c, struct client *client, const char *done)
{
    _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
    struct told t;
    int code = EXIT_SUCCESS;

    int r = told_get(client, &error, &t);
    if (r < 0)
        return client_complain(c->address, r, &error);
    if (c->json) {
        struct json_object *o = json_object_new_object();
        json_add_str(o, "done", done);
        json_add_str(o, "mode", t.mode);
        json_add_str(o, "configured_mode", t.configured_mode);
        json_add_str(o, "state", t.state);
        code = print_json(o) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    } else {
        printf("%s: pcptuned is in mode %s now, %s\n", done, t.mode, t.state);
    }
    told_done(&t);
    return code;
}

static int order(const struct call *c, const char *method, const char *done, const char *argument)
{
    _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
    struct client client;
    int r = client_open(c->address, &client), code;

    if (r >= 0)
        r = client_call(&client, method, 0, &error, NULL, argument ? "s" : NULL, argument);
    code = r < 0 ? client_complain(c->address, r, &error) : report(c, &client, done);
    client_close(&client);
    return code;
}

int verb_mode(const struct call *c)
{
    static const char *const modes[] = {"apply", "dry-run", "off"};

    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        if (strcmp(c->argument, modes[i]) == 0)
            return order(c, "SetMode", "mode", c->argument);
    }
    fprintf(stderr,
            "pcptunectl: there is no mode '%s': apply, dry-run or off; see pcptunectl mode "
            "--help\n",
            c->argument);
    return EXIT_USAGE;
}

int verb_rearm(const struct call *c)
{
    return order(c, "Rearm", "re-arm", NULL);
}

int verb_restore(const struct call *c)
{
    return order(c, "Restore", "restore", NULL);
}

int verb_reload(const struct call *c)
{
    return order(c, "Reload", "reload", NULL);
}
