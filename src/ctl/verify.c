/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <time.h>

#include "jsonadd.h"
#include "sysctls.h"
#include "term.h"
#include "verbs.h"

/* Sysctl, journal and pcptuned are looked at one after the other, and a storm may begin between. */
#define TRIES 5
#define BETWEEN (60 * NSEC_PER_MSEC)

static int exit_code(enum verdict v)
{
    static const int codes[] = {
        [VERDICT_AS_BELIEVED] = EXIT_SUCCESS,     [VERDICT_DIFFERS] = EXIT_DIFFERS,
        [VERDICT_LEFT_BEHIND] = EXIT_LEFT_BEHIND, [VERDICT_UNDO_LOST] = EXIT_UNDO_LOST,
        [VERDICT_UNKNOWN] = EXIT_FAILURE,
    };
    return codes[v];
}

/* Negative errno where pcptuned answers and fails; that none runs is no error. */
static int look(const char *address, nsec_t timeout, sd_bus_error *error, struct told *told,
                struct witness *ret)
{
    *ret = (struct witness){0};
    int r = told_ask(address, error, told);
    if (r >= 0)
        ret->told = told;
    else if (!client_absent(r, error))
        return r;
    undo_read(&ret->undo);
    ret->owner = state_owner();
    ret->why = state_knobs(timeout, &ret->now);
    ret->known = ret->why == 0;
    return 0;
}

static void forget(struct witness *w, struct told *told)
{
    if (w->told)
        told_done(told);
    w->told = NULL;
}

static int look_until_settled(const char *address, nsec_t timeout, sd_bus_error *error,
                              struct told *told, struct witness *ret)
{
    const struct timespec pause = {.tv_nsec = BETWEEN};

    for (unsigned i = 0;; i++) {
        sd_bus_error_free(error);
        int r = look(address, timeout, error, told, ret);
        if (r < 0 || i + 1 == TRIES || !ret->known || witness_verdict(ret) == VERDICT_AS_BELIEVED)
            return r;
        forget(ret, told);
        nanosleep(&pause, NULL);
    }
}

/* --- text ---------------------------------------------------------------------------------- */

static void print_sysctl(const struct witness *w, enum knob_id k)
{
    int expected;
    enum verdict v = sysctl_verdict(w, k, &expected);
    const char *name = knob_table[k].name;

    if (!w->known) {
        printf("%s: cannot be read: %s\n", name, strerror(-w->why));
    } else if (!w->now.has[k]) {
        printf("%s: not in this kernel\n", name);
    } else {
        printf("%s%s%s = %d (%s)", v == VERDICT_AS_BELIEVED ? "" : term_bad(stdout), name,
               v == VERDICT_AS_BELIEVED ? "" : term_end(stdout), w->now.value[k],
               sysctl_owner(w, k));
        if (v == VERDICT_DIFFERS)
            printf(": %d is believed, so somebody else wrote it", expected);
        else if (v == VERDICT_LEFT_BEHIND)
            printf(": a killed pcptuned left it; it was %d: pcptuned --restore", expected);
        else if (v == VERDICT_UNDO_LOST)
            printf(": pcptuned wrote it, and the journal does not say what it was");
        putchar('\n');
    }
}

static void print_witness(const struct witness *w)
{
    enum verdict v = witness_verdict(w);

    for (unsigned k = 0; k < KNOB_MAX; k++)
        print_sysctl(w, k);
    if (w->undo.kind == UNDO_TORN)
        printf("%s/knobs.journal: not what pcptuned writes: nothing can be restored from it\n",
               state_dir());
    else if (w->undo.kind == UNDO_UNREADABLE)
        printf("%s/knobs.journal: %s\n", state_dir(), strerror(-w->undo.error));
    printf("%s%s%s: ", v == VERDICT_AS_BELIEVED ? term_good(stdout) : term_bad(stdout),
           verdict_name(v), term_end(stdout));
    if (w->told)
        printf("pcptuned %s runs, mode %s, %s\n", w->told->version, w->told->mode, w->told->state);
    else if (w->owner)
        printf("pcptuned runs as process %d, but does not answer\n", (int)w->owner);
    else
        printf("no pcptuned runs%s\n",
               v == VERDICT_AS_BELIEVED ? ", and none has left anything behind" : "");
}

/* --- JSON ---------------------------------------------------------------------------------- */

static struct json_object *sysctl_json(const struct witness *w, enum knob_id k)
{
    struct json_object *o = json_object_new_object();
    int expected;
    enum verdict v = sysctl_verdict(w, k, &expected);

    json_add_str(o, "name", knob_table[k].name);
    json_object_object_add(o, "exists", json_object_new_boolean(w->now.has[k]));
    json_object_object_add(o, "value",
                           w->known && w->now.has[k] ? json_object_new_int(w->now.value[k]) : NULL);
    json_object_object_add(o, "expected", expected >= 0 ? json_object_new_int(expected) : NULL);
    json_add_str(o, "owner", sysctl_owner(w, k));
    json_add_str(o, "verdict", verdict_name(v));
    return o;
}

static int print_witness_json(const struct witness *w)
{
    struct json_object *o = json_object_new_object(), *list = json_object_new_array();

    json_add_str(o, "verdict", verdict_name(witness_verdict(w)));
    json_object_object_add(o, "running", json_object_new_boolean(w->told || w->owner));
    json_object_object_add(o, "answers", json_object_new_boolean(w->told != NULL));
    json_add_str(o, "undo", undo_name(w->undo.kind));
    for (unsigned k = 0; k < KNOB_MAX; k++)
        json_object_array_add(list, sysctl_json(w, k));
    json_object_object_add(o, "sysctls", list);
    return print_json(o);
}

int verb_verify(const struct call *c)
{
    _cleanup_(config_result_done) struct config_result config;
    _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
    struct witness w;
    struct told told;
    int r;

    if (call_config(c, &config) < 0)
        return EXIT_FAILURE;
    r = look_until_settled(c->address, config.params.knob_timeout, &error, &told, &w);
    if (r < 0)
        return client_complain(c->address, r, &error);
    int code = exit_code(witness_verdict(&w));
    if (!c->json)
        print_witness(&w);
    else if (print_witness_json(&w) < 0)
        code = EXIT_FAILURE;
    forget(&w, &told);
    return code;
}
