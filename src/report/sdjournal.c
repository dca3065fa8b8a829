/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sdjournal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

/* CODE_FILE= and its kin would name this file for every event. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "message_id.h"

const char *message_id(enum event_kind k)
{
    static const char *const ids[EVENT_KINDS] = {
        [EVENT_STARTED] = MESSAGE_STARTED,       [EVENT_STOPPED] = MESSAGE_STOPPED,
        [EVENT_STORM] = MESSAGE_STORM,           [EVENT_ADAPTED] = MESSAGE_ADAPTED,
        [EVENT_LISTS] = MESSAGE_LISTS,           [EVENT_RESTORED] = MESSAGE_RESTORED,
        [EVENT_LEFT_ALONE] = MESSAGE_LEFT_ALONE, [EVENT_FOREIGN] = MESSAGE_FOREIGN,
        [EVENT_REFUSED] = MESSAGE_REFUSED,       [EVENT_RECOVERED] = MESSAGE_RECOVERED,
        [EVENT_SIGNAL] = MESSAGE_SIGNAL,         [EVENT_KNOB_HANGS] = MESSAGE_KNOB_HANGS,
        [EVENT_RELOADED] = MESSAGE_RELOADED,     [EVENT_RELOAD_REJECTED] = MESSAGE_RELOAD_REJECTED,
        [EVENT_NOTICE] = MESSAGE_NOTICE,
    };
    return (unsigned)k < EVENT_KINDS ? ids[k] : NULL;
}

static _printf_(2, 3) void add(struct sdjournal_entry *j, const char *fmt, ...)
{
    size_t room = sizeof(j->text) - j->used;
    va_list ap;

    if (j->n == SDJOURNAL_FIELDS)
        return;
    va_start(ap, fmt);
    int len = vsnprintf(j->text + j->used, room, fmt, ap);
    va_end(ap);
    if (len < 0 || (size_t)len >= room)
        return;
    j->field[j->n++] = (struct iovec){.iov_base = j->text + j->used, .iov_len = (size_t)len};
    j->used += (size_t)len;
}

/* "0123456789ab" of "docker 0123456789ab": container_name() (observe/container.h) puts the engine
 * before the name. NULL: a unit, a pod or a path. */
static const char *container_of(const char *group)
{
    const char *c = group;

    while (islower((unsigned char)*c))
        c++;
    if (c == group || *c != ' ' || c[1] == '\0' || strncmp(group, "pod ", 4) == 0)
        return NULL;
    return c + 1;
}

static void add_plan(struct sdjournal_entry *j, const struct plan *p)
{
    const struct evidence_numbers *w = &p->why;
    const char *container = container_of(w->group);

    add(j, "PCPTUNED_REASON=%s", reason_name(p->reason));
    add(j, "PCPTUNED_STORM_ID=%" PRIu64, w->storm_id);
    add(j, "PCPTUNED_CGROUP=%s", w->group[0] ? w->group : "unknown");
    if (container)
        add(j, "PCPTUNED_CONTAINER=%s", container);
    add(j, "PCPTUNED_TASKS=%" PRIu32, w->tasks_total);
    add(j, "PCPTUNED_PAGES=%" PRIu64, w->pages);
    add(j, "PCPTUNED_PAGES_ANNOUNCED=%" PRIu64, w->announced);
    add(j, "PCPTUNED_PAGES_FREED=%" PRIu64, w->freed);
    add(j, "PCPTUNED_WAIT_BEFORE_USEC=%" PRIu64, w->w_before / NSEC_PER_USEC);
    add(j, "PCPTUNED_WAIT_AFTER_USEC=%" PRIu64, w->w_after / NSEC_PER_USEC);
    add(j, "PCPTUNED_TARGET_USEC=%" PRIu64, w->target / NSEC_PER_USEC);
    if (w->storm_id != 0)
        return;
    add(j, "PCPTUNED_LISTS_PAGES=%" PRIu64, w->held);
    add(j, "PCPTUNED_LISTS_MAY_HOLD_PAGES=%" PRIu64, w->may_hold);
    add(j, "PCPTUNED_TRAFFIC_PAGES_PER_SEC=%" PRIu64, w->traffic);
}

static bool has_both(const struct outcome *o, unsigned k)
{
    return o->before.has[k] && o->after.has[k];
}

/* The first knob that changed; else, so that the catalog finds its fields, the first of all. */
static unsigned first_knob(const struct outcome *o)
{
    unsigned first = KNOB_MAX;

    for (unsigned k = KNOB_MAX; k-- > 0;)
        if (has_both(o, k))
            first = k;
    for (unsigned k = KNOB_MAX; k-- > 0;)
        if (has_both(o, k) && o->before.value[k] != o->after.value[k])
            first = k;
    return first;
}

static void add_knob(struct sdjournal_entry *j, const struct outcome *o, unsigned k,
                     const char *suffix)
{
    add(j, "PCPTUNED_KNOB%s=%s", suffix, knob_table[k].name);
    add(j, "PCPTUNED_OLD%s=%d", suffix, o->before.value[k]);
    add(j, "PCPTUNED_NEW%s=%d", suffix, o->after.value[k]);
}

static void add_outcome(struct sdjournal_entry *j, const struct outcome *o)
{
    unsigned first = first_knob(o);

    add(j, "PCPTUNED_OUTCOME=%s", outcome_name(o->kind));
    if (o->error < 0)
        add(j, "ERRNO=%d", -o->error);
    if (o->kind > OUTCOME_UNCHANGED) {
        add(j, "PCPTUNED_KNOB=%s", knob_table[o->knob].name);
        if (o->before.has[o->knob])
            add(j, "PCPTUNED_FOUND=%d", o->before.value[o->knob]);
        return;
    }
    if (first < KNOB_MAX)
        add_knob(j, o, first, "");
    for (unsigned k = first + 1; k < KNOB_MAX; k++)
        if (has_both(o, k) && o->before.value[k] != o->after.value[k])
            add_knob(j, o, k, "_2");
}

void sdjournal_compose(const struct event *e, struct sdjournal_entry *ret)
{
    char sentence[EVENT_TEXT];

    ret->n = ret->used = 0;
    add(ret, "MESSAGE=%s", event_describe(e, sentence, sizeof(sentence)));
    add(ret, "MESSAGE_ID=%s", message_id(e->kind) ? message_id(e->kind) : MESSAGE_NOTICE);
    add(ret, "PRIORITY=%d", (int)e->level);
    add(ret, "PCPTUNED_EVENT=%s", event_name(e->kind));
    add(ret, "PCPTUNED_DRY_RUN=%d", e->dry_run);
    if (e->repeats > 0)
        add(ret, "PCPTUNED_REPEATS=%" PRIu32, e->repeats);
    if (e->has_plan)
        add_plan(ret, &e->plan);
    if (e->has_outcome)
        add_outcome(ret, &e->outcome);
}

int sdjournal_send(const struct event *e)
{
    struct sdjournal_entry j;

    sdjournal_compose(e, &j);
    return sd_journal_sendv(j.field, (int)j.n);
}

bool sdjournal_is_stderr(void)
{
    const char *env = getenv("JOURNAL_STREAM");
    unsigned long long dev, ino;
    struct stat st;

    return env && sscanf(env, "%llu:%llu", &dev, &ino) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
           st.st_dev == dev && st.st_ino == ino;
}
