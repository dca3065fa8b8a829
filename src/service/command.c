/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/epoll.h>

#include "api.h"
#include "daemon_impl.h"

/* Commands come last: whatever the kernel has to say is heard before. */
#define PRIORITY (SD_EVENT_PRIORITY_NORMAL + 50)

void daemon_answer(struct daemon *d, const char *error, const char *text)
{
    if (!d->commanded)
        return;
    d->commanded = false;
    bus_answer(d->bus, error, text);
}

static void set_mode(struct daemon *d, enum mode mode)
{
    struct params p = d->params;

    p.mode = mode;
    if (mode == MODE_APPLY && d->options->dry_run) {
        daemon_answer(d, API_ERROR_REFUSED, "pcptuned was started with --dry-run");
        return;
    }
    daemon_check_writable(d, &p);
    if (p.mode != mode)
        daemon_answer(d, API_ERROR_REFUSED, "a sysctl cannot be written here: see the last event");
    else
        daemon_set_mode(d, mode);
}

static void rearm(struct daemon *d)
{
    struct params p = d->params;

    p.mode = d->configured;
    daemon_check_writable(d, &p);
    if (d->has_next || p.mode != d->params.mode) {
        daemon_set_mode(d, p.mode);
        return;
    }
    engine_rearm(d->engine);
    daemon_tell(d, EVENT_NOTICE, LEVEL_NOTICE, "rearmed, as commanded");
    daemon_answer(d, NULL, NULL);
    daemon_step(d);
}

static void restore(struct daemon *d)
{
    if (d->has_next || d->params.mode == MODE_APPLY)
        daemon_set_mode(d, MODE_DRY_RUN);
    else
        daemon_answer(d, NULL, NULL); /* nothing of ours is in force */
}

static int on_command(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct daemon *d = arg;
    struct bus_command c;
    (void)source, (void)fd, (void)events;

    if (!bus_command(d->bus, &c))
        return 0;
    d->commanded = true;
    if (d->stopping) {
        daemon_answer(d, API_ERROR_REFUSED, "pcptuned stops");
        return 0;
    }
    switch (c.verb) {
    case BUS_SET_MODE:
        set_mode(d, c.mode);
        break;
    case BUS_RELOAD:
        daemon_reload(d);
        break;
    case BUS_REARM:
        rearm(d);
        break;
    case BUS_RESTORE:
        restore(d);
        break;
    }
    return 0;
}

int daemon_add_commands(struct daemon *d)
{
    if (!d->bus)
        return 0;
    int r = sd_event_add_io(d->event, &d->commands, bus_command_fd(d->bus), EPOLLIN, on_command, d);
    return r < 0 ? r : sd_event_source_set_priority(d->commands, PRIORITY);
}
