/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sysctls.h"

#include <string.h>

const char *verdict_name(enum verdict v)
{
    static const char *const names[] = {
        [VERDICT_AS_BELIEVED] = "as-believed", [VERDICT_DIFFERS] = "differs",
        [VERDICT_LEFT_BEHIND] = "left-behind", [VERDICT_UNDO_LOST] = "undo-lost",
        [VERDICT_UNKNOWN] = "unknown",
    };
    return (unsigned)v < ARRAY_SIZE(names) ? names[v] : "unknown";
}

const struct told_knob *told_knob(const struct told *t, enum knob_id k)
{
    for (uint32_t i = 0; t && i < t->n_knobs; i++) {
        if (strcmp(t->knobs[i].name, knob_table[k].name) == 0)
            return &t->knobs[i];
    }
    return NULL;
}

static const struct journal_entry *journalled(const struct witness *w, enum knob_id k)
{
    const struct journal_entry *e = &w->undo.journal.knob[k];

    return w->undo.kind == UNDO_HELD && e->held ? e : NULL;
}

/* In a dry run it may tell a value that it only would have written. */
static bool tells_truth(const struct told *t)
{
    return strcmp(t->mode, "apply") == 0;
}

/* What pcptuned has written must be in the journal, and be there still. */
static enum verdict told_verdict(const struct witness *w, enum knob_id k, const struct told_knob *t,
                                 int *ret_expected)
{
    const struct journal_entry *e = journalled(w, k);

    if (!e && !tells_truth(w->told))
        return VERDICT_AS_BELIEVED;
    *ret_expected = t->value;
    if (e && journal_ours(e, w->now.value[k]))
        return VERDICT_AS_BELIEVED;
    if (t->value >= 0 && t->value != w->now.value[k])
        return VERDICT_DIFFERS;
    return strcmp(t->owner, "pcptuned") == 0 && !e ? VERDICT_UNDO_LOST : VERDICT_AS_BELIEVED;
}

enum verdict sysctl_verdict(const struct witness *w, enum knob_id k, int *ret_expected)
{
    const struct told_knob *t = told_knob(w->told, k);
    const struct journal_entry *e = journalled(w, k);

    *ret_expected = -1;
    if (!w->known)
        return VERDICT_UNKNOWN;
    if (!w->now.has[k])
        return VERDICT_AS_BELIEVED;
    if (t)
        return told_verdict(w, k, t, ret_expected);
    if (!e)
        return VERDICT_AS_BELIEVED; /* nobody believes anything of it */
    *ret_expected = w->owner ? e->next : e->original;
    if (!journal_ours(e, w->now.value[k]))
        return VERDICT_DIFFERS;
    return w->owner || w->now.value[k] == e->original ? VERDICT_AS_BELIEVED : VERDICT_LEFT_BEHIND;
}

enum verdict witness_verdict(const struct witness *w)
{
    enum verdict worst = w->undo.kind == UNDO_TORN         ? VERDICT_UNDO_LOST
                         : w->undo.kind == UNDO_UNREADABLE ? VERDICT_UNKNOWN
                                                           : VERDICT_AS_BELIEVED;
    int expected;

    for (unsigned k = 0; k < KNOB_MAX; k++)
        worst = MAX(worst, sysctl_verdict(w, k, &expected));
    return worst;
}

const char *sysctl_owner(const struct witness *w, enum knob_id k)
{
    const struct told_knob *t = told_knob(w->told, k);
    const struct journal_entry *e = journalled(w, k);
    int expected;

    if (w->known && !w->now.has[k])
        return "none";
    if (t && w->known && told_verdict(w, k, t, &expected) == VERDICT_DIFFERS)
        return "foreign";
    if (t)
        return t->owner;
    if (!w->known)
        return "unknown";
    if (e && journal_ours(e, w->now.value[k]) && w->now.value[k] != e->original)
        return w->owner ? "pcptuned" : "left-behind";
    return w->now.value[k] == knob_table[k].initial ? "kernel-default" : "administrator";
}
