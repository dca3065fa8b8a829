/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "actuate.h"
#include "config.h"
#include "daemon.h"
#include "facts.h"
#include "fileio.h"
#include "knobs.h"
#include "watch.h"

static int print_errors(const struct config_result *c)
{
    for (size_t i = 0; i < c->n_errors; i++)
        fprintf(stderr, "%s\n", c->errors[i]);
    return (int)c->n_errors;
}

static int check_config(const struct config_result *c)
{
    if (print_errors(c) > 0) {
        fprintf(stderr, "%zu error%s\n", c->n_errors, c->n_errors == 1 ? "" : "s");
        return EXIT_FAILURE;
    }
    printf("configuration is good (%zu file%s)\n", c->n_files, c->n_files == 1 ? "" : "s");
    for (size_t i = 0; i < c->n_files; i++)
        printf("  %s\n", c->files[i]);
    return EXIT_SUCCESS;
}

static void say_on_stderr(void *arg, enum event_kind kind, enum event_level level, const char *text)
{
    (void)arg, (void)kind, (void)level;
    fprintf(stderr, "pcptuned: %s\n", text);
}

static int print_facts(const struct params *p)
{
    _cleanup_(watch_closep) struct watch *w = NULL;
    struct knob_values v;

    int r = watch_open(p, say_on_stderr, NULL, &w);
    if (r < 0) {
        fprintf(stderr, "pcptuned: %s\n", strerror(-r));
        return EXIT_FAILURE;
    }
    if (knobs_read(&v) >= 0)
        watch_knobs(w, &v);
    facts_print(watch_snapshot(w), p, stdout);
    return EXIT_SUCCESS;
}

/* ExecStopPost=, and the administrator after a kill -9. */
static int restore(const struct options *o, const struct params *p)
{
    _cleanup_(actuator_closep) struct actuator *a = NULL;
    struct actuator_config c = {.state_dir = o->state_dir};
    char boot_id[40] = "";
    struct outcome out;

    if (access(o->state_dir, F_OK) < 0 && errno == ENOENT)
        return EXIT_SUCCESS; /* nobody has ever changed anything in this boot */
    if (read_file("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id)) > 0)
        boot_id[strcspn(boot_id, "\n")] = '\0';
    c.boot_id = boot_id;
    memcpy(c.lo, p->knob_lo, sizeof(c.lo));
    memcpy(c.hi, p->knob_hi, sizeof(c.hi));
    int r = actuator_open(&c, &a);
    if (r == -EBUSY) {
        fprintf(stderr, "pcptuned: another pcptuned owns the knobs; stop it, and it restores\n");
        return EXIT_BUSY;
    }
    if (r < 0) {
        fprintf(stderr, "pcptuned: %s: %s\n", o->state_dir, state_dir_why(r));
        return r == -EPERM || r == -EACCES ? EXIT_DENIED : EXIT_FAILURE;
    }
    actuator_recover(a, &out);
    if (out.kind == OUTCOME_UNCHANGED)
        printf("nothing to restore%s\n", out.error == -ESTALE ? " (the journal was of another boot)"
                                         : out.error == -EBADMSG ? " (the journal was torn)"
                                                                 : "");
    else if (out.kind == OUTCOME_DONE)
        printf("restored\n");
    else if (out.kind == OUTCOME_FOREIGN)
        printf("%s was written by somebody else since: left alone\n", knob_table[out.knob].name);
    else
        fprintf(stderr, "pcptuned: %s: %s: %s\n", knob_table[out.knob].name, outcome_name(out.kind),
                strerror(-out.error));
    return out.kind <= OUTCOME_FOREIGN ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* error: of config_load(). */
static int run_verb(const struct options *o, const struct config_result *c, int error)
{
    if (o->verb == VERB_RESTORE) /* never hindered by a configuration */
        return restore(o, &c->params);
    if (error < 0 && error != -EINVAL) { /* it may pass: systemd is to try again */
        if (print_errors(c) == 0)
            fprintf(stderr, "pcptuned: %s\n", strerror(-error));
        return EXIT_FAILURE;
    }
    if (o->verb == VERB_CHECK_CONFIG)
        return check_config(c);
    if (print_errors(c) > 0)
        return EXIT_BAD_CONFIG;
    switch (o->verb) {
    case VERB_FACTS:
        return print_facts(&c->params);
    case VERB_PRINT_CONFIG:
        config_print(c, stdout);
        return EXIT_SUCCESS;
    default:
        return daemon_run(o, &c->params);
    }
}

int main(int argc, char *argv[])
{
    struct config_result c;
    struct options o;

    int code = options_parse(argc, argv, &o);
    if (code != 0 || o.verb == VERB_EXIT)
        return code;
    int error = config_load("", o.config, &c);
    code = run_verb(&o, &c, error);
    config_result_done(&c);
    return code;
}
