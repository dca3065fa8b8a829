/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "jsonadd.h"
#include "term.h"
#include "verbs.h"

/* "config": as pcptuned would load it, and what overrode what. */

static bool is_last(const struct config_result *r, const struct config_assignment *a)
{
    const struct config_origin *won = &r->origins[a->key];

    return won->file == a->at.file && won->line == a->at.line;
}

static void print_key(const struct config_result *r, size_t key)
{
    const struct config_key *k = &config_table[key];
    const struct params defaults = params_default();
    const struct config_origin *o = &r->origins[key];
    char value[CONFIG_TEXT], initial[CONFIG_TEXT], range[CONFIG_TEXT];

    config_format(k, &r->params, value);
    config_format(k, &defaults, initial);
    printf("  %s%-16s %-12s%s default %-12s %s%s%s\n", o->file ? term_bold(stdout) : "", k->name,
           value, o->file ? term_end(stdout) : "", initial, term_faint(stdout),
           config_range(k, range), term_end(stdout));
    if (o->file)
        printf("  %-16s   from %s:%u\n", "", o->file, o->line);
    for (size_t i = r->n_assignments; i-- > 0;) {
        const struct config_assignment *a = &r->assignments[i];
        if (a->key == key && !is_last(r, a))
            printf("  %-16s   over %s from %s:%u\n", "", a->value, a->at.file, a->at.line);
    }
}

static void print_settings(const struct config_result *r)
{
    const char *section = "";

    if (r->n_files == 0)
        printf("no configuration file: everything is at its default\n");
    for (size_t i = 0; i < r->n_files; i++)
        printf("%s%s\n", i == 0 ? "read in order: " : "               ", r->files[i]);
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        if (strcmp(section, config_table[i].section) != 0)
            printf("\n[%s]\n", config_table[i].section);
        section = config_table[i].section;
        print_key(r, i);
    }
}

static void add_origin(struct json_object *o, const struct config_origin *at)
{
    json_add_str(o, "file", at->file);
    json_add_u64(o, "line", at->line);
}

static struct json_object *overrode_json(const struct config_result *r, size_t key)
{
    struct json_object *list = json_object_new_array();

    for (size_t i = 0; i < r->n_assignments; i++) {
        const struct config_assignment *a = &r->assignments[i];
        if (a->key != key || is_last(r, a))
            continue;
        struct json_object *o = json_object_new_object();
        json_add_str(o, "value", a->value);
        add_origin(o, &a->at);
        json_object_array_add(list, o);
    }
    return list;
}

static struct json_object *key_json(const struct config_result *r, size_t key)
{
    const struct config_key *k = &config_table[key];
    const struct params defaults = params_default();
    struct json_object *o = json_object_new_object();
    char text[CONFIG_TEXT];

    json_add_str(o, "section", k->section);
    json_add_str(o, "key", k->name);
    json_add_str(o, "value", config_format(k, &r->params, text));
    json_add_str(o, "default", config_format(k, &defaults, text));
    json_add_str(o, "range", config_range(k, text));
    json_add_str(o, "help", k->help);
    if (r->origins[key].file)
        add_origin(o, &r->origins[key]);
    json_object_object_add(o, "overrode", overrode_json(r, key));
    return o;
}

static int print_settings_json(const struct config_result *r)
{
    struct json_object *o = json_object_new_object(), *files = json_object_new_array(),
                       *settings = json_object_new_array();

    for (size_t i = 0; i < r->n_files; i++)
        json_object_array_add(files, json_object_new_string(r->files[i]));
    for (size_t i = 0; i < CONFIG_KEYS; i++)
        json_object_array_add(settings, key_json(r, i));
    json_object_object_add(o, "files", files);
    json_object_object_add(o, "settings", settings);
    return print_json(o);
}

int verb_config(const struct call *c)
{
    _cleanup_(config_result_done) struct config_result r;

    if (call_config(c, &r) < 0)
        return EXIT_FAILURE;
    if (c->json)
        return print_settings_json(&r) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    print_settings(&r);
    return EXIT_SUCCESS;
}
