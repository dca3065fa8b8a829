/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <string.h>

#include "clock.h"
#include "daemon_impl.h"
#include "notify.h"

static bool dry(const struct daemon *d)
{
    return d->params.mode == MODE_DRY_RUN;
}

static struct event event_now(const struct daemon *d, enum event_kind kind, enum event_level level)
{
    return (struct event){.kind = kind,
                          .level = level,
                          .mono = clock_monotonic(),
                          .real = clock_realtime(),
                          .dry_run = dry(d)};
}

static void put(struct daemon *d, const struct event *e)
{
    report_put(d->report, e);
    if (d->bus)
        bus_event(d->bus, e);
}

void daemon_tell(struct daemon *d, enum event_kind kind, enum event_level level, const char *fmt,
                 ...)
{
    struct event e = event_now(d, kind, level);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(e.text, sizeof(e.text), fmt, ap);
    va_end(ap);
    put(d, &e);
}

void daemon_tell_signal(void *arg, enum event_kind kind, enum event_level level, const char *text)
{
    daemon_tell(arg, kind, level, "%s", text);
}

/* In the bus's thread. */
void daemon_tell_bus(void *arg, enum event_level level, const char *text)
{
    struct daemon *d = arg;
    struct event e = {.kind = EVENT_NOTICE,
                      .level = level,
                      .mono = clock_monotonic(),
                      .real = clock_realtime(),
                      .dry_run = d->options->dry_run};

    snprintf(e.text, sizeof(e.text), "%s", text);
    report_put(d->report, &e);
}

void daemon_tell_plan(struct daemon *d, enum event_kind kind, const struct plan *p,
                      const struct outcome *o)
{
    struct event e = event_now(d, kind, p->report ? LEVEL_NOTICE : LEVEL_DEBUG);

    e.has_plan = true;
    e.plan = *p;
    if (o) {
        e.has_outcome = true;
        e.outcome = *o;
    }
    put(d, &e);
}

static _printf_(4, 5) void tell_outcome(struct daemon *d, enum event_kind kind,
                                        const struct outcome *o, const char *fmt, ...)
{
    struct event e = event_now(d, kind, LEVEL_WARNING);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(e.text, sizeof(e.text), fmt, ap);
    va_end(ap);
    e.has_outcome = true;
    e.outcome = *o;
    put(d, &e);
}

void daemon_tell_foreign(struct daemon *d, const struct outcome *o)
{
    static const char *const then[FOREIGN_MAX] = {
        [FOREIGN_YIELD] = "it is theirs now, and left alone until RearmAfter= is over",
        [FOREIGN_REASSERT] = "it is taken as the new original, and tuned again",
        [FOREIGN_EXIT] = "pcptuned ends, as OnForeignWrite=exit says",
    };

    tell_outcome(d, EVENT_FOREIGN, o,
                 "%s is %d, which is not what pcptuned left there: somebody else wrote it; %s",
                 knob_table[o->knob].name, o->before.value[o->knob], then[d->params.on_foreign]);
}

void daemon_tell_failure(struct daemon *d, const struct outcome *o)
{
    const char *name = knob_table[o->knob].name;
    const char *doing = o->action == PLAN_SET ? "changing it" : "restoring it";

    if (o->kind == OUTCOME_FAILED)
        tell_outcome(d, EVENT_REFUSED, o, "%s: %s failed: %s; it is tried again", name, doing,
                     strerror(-o->error));
    else
        tell_outcome(d, EVENT_REFUSED, o,
                     "%s: %s was refused: %s; storms are only reported from now on", name, doing,
                     strerror(-o->error));
}

/* At most once a second, at the latest with the next tick: exits one by one change the state twice
 * each, and systemd, which reads this, has other work in a storm. */
void daemon_tell_status(struct daemon *d)
{
    enum engine_state state = engine_get_state(d->engine);
    nsec_t now = clock_monotonic();

    if (state == d->state || now - d->state_told < NSEC_PER_SEC)
        return;
    d->state = state;
    d->state_told = now;
    notify("STATUS=%s (mode %s)", engine_state_name(state), mode_name(d->params.mode));
}

void daemon_tell_ready(struct daemon *d)
{
    d->ready = true;
    d->state = engine_get_state(d->engine);
    notify("READY=1\nSTATUS=%s (mode %s)", engine_state_name(d->state), mode_name(d->params.mode));
}
