/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "absent.h"

#include <string.h>

#include "hosttext.h"
#include "jsonadd.h"
#include "pcp.h"
#include "sysctls.h"
#include "term.h"
#include "verbs.h"

static struct witness witness_of(const struct machine *m)
{
    struct witness w = {.known = m->knobs_known, .now = m->knobs, .owner = state_owner()};

    undo_read(&w.undo);
    return w;
}

static void print_undo(const struct witness *w)
{
    char text[256];

    switch (w->undo.kind) {
    case UNDO_NONE:
    case UNDO_STALE:
        term_field(stdout, "undo", "nothing: no sysctl is held");
        return;
    case UNDO_HELD:
        for (unsigned k = 0; k < KNOB_MAX; k++) {
            const struct journal_entry *e = &w->undo.journal.knob[k];
            if (!e->held)
                continue;
            snprintf(text, sizeof(text), "%s was %d, tuned to %d%s", knob_table[k].name,
                     e->original, e->next,
                     w->owner ? "" : ": left behind by a killed pcptuned; pcptuned --restore");
            term_field(stdout, "undo", text);
        }
        return;
    case UNDO_TORN:
    case UNDO_UNREADABLE:
        snprintf(text, sizeof(text), "%s/knobs.journal: %s", state_dir(),
                 w->undo.kind == UNDO_TORN ? "not what pcptuned writes" : strerror(-w->undo.error));
        term_field(stdout, "undo", text);
        return;
    }
}

static void print_absent(const struct machine *m, const struct witness *w)
{
    printf("%spcptuned does not %s%s", term_bad(stdout), w->owner ? "answer" : "run",
           term_end(stdout));
    if (w->owner)
        printf(": process %d has the lock of %s, but nothing answers there or on the system bus\n",
               (int)w->owner, state_dir());
    else
        printf(": nothing answers at %s/bus, nor on the system bus\n", state_dir());
    print_undo(w);
    putchar('\n');
    host_print(&m->host, pcp_scale(&m->host, &m->knobs), stdout);
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (!m->knobs.has[k])
            printf("knob      %s: not in this kernel\n", knob_table[k].name);
        else if (!m->knobs_known)
            printf("knob      %s: not known\n", knob_table[k].name);
        else
            printf("knob      %s = %d (%s)\n", knob_table[k].name, m->knobs.value[k],
                   sysctl_owner(w, (enum knob_id)k));
    }
    printf(
        "\nWhat it would do here: pcptunectl recommend. To start it: systemctl start pcptuned\n");
}

static struct json_object *sysctl_json(const struct machine *m, const struct witness *w,
                                       enum knob_id k)
{
    const struct journal_entry *e = &w->undo.journal.knob[k];
    struct json_object *o = json_object_new_object();
    bool known = m->knobs_known && m->knobs.has[k];

    json_add_str(o, "name", knob_table[k].name);
    json_object_object_add(o, "exists", json_object_new_boolean(m->knobs.has[k]));
    json_object_object_add(o, "value", known ? json_object_new_int(m->knobs.value[k]) : NULL);
    json_object_object_add(o, "original",
                           w->undo.kind == UNDO_HELD && e->held ? json_object_new_int(e->original)
                                                                : NULL);
    json_object_object_add(o, "wanted", NULL);
    json_add_str(o, "owner", sysctl_owner(w, k));
    return o;
}

static int print_absent_json(const struct machine *m, const struct witness *w)
{
    struct json_object *o = json_object_new_object(), *list = json_object_new_array();

    json_object_object_add(o, "running", json_object_new_boolean(w->owner > 0));
    json_object_object_add(o, "working", json_object_new_boolean(false));
    json_add_str(o, "summary", w->owner ? "does not answer" : "does not run");
    json_add_str(o, "undo", undo_name(w->undo.kind));
    json_add_str(o, "release", m->host.release);
    json_add_str(o, "regime", regime_name(m->host.regime));
    json_add_u64(o, "cpus", m->host.cpus_online);
    json_add_u64(o, "nodes", m->host.n_nodes);
    json_add_u64(o, "memory_pages", m->host.memory_bytes / m->host.page_size);
    json_add_u64(o, "page_size", m->host.page_size);
    for (unsigned k = 0; k < KNOB_MAX; k++)
        json_object_array_add(list, sysctl_json(m, w, k));
    json_object_object_add(o, "sysctls", list);
    return print_json(o);
}

int absent_status(const struct machine *m, bool json)
{
    struct witness w = witness_of(m);

    if (json)
        return print_absent_json(m, &w);
    print_absent(m, &w);
    return 0;
}
