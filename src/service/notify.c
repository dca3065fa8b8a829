/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "notify.h"

#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <systemd/sd-daemon.h>

/* A path, or a name in the abstract namespace with '@' for NUL. */
static socklen_t notify_address(struct sockaddr_un *ret)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t len = path ? strlen(path) : 0;

    if (len < 2 || len > sizeof(ret->sun_path) || (path[0] != '/' && path[0] != '@'))
        return 0;
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret->sun_path, path, len);
    if (path[0] == '@')
        ret->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

void notify(const char *fmt, ...)
{
    struct sockaddr_un sa;
    char text[256];
    va_list ap;

    socklen_t len = notify_address(&sa);
    if (len == 0)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&sa, len);
}

static int on_watchdog(sd_event_source *source, uint64_t usec, void *arg)
{
    uint64_t interval;
    (void)usec, (void)arg;

    notify("WATCHDOG=1");
    if (sd_watchdog_enabled(0, &interval) <= 0)
        return 0;
    int r = sd_event_source_set_time_relative(source, interval / 2);
    return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int notify_watchdog(sd_event *event)
{
    uint64_t interval;

    int r = sd_watchdog_enabled(0, &interval);
    if (r <= 0)
        return r;
    /* Between a half and three quarters of the interval: together with some other wake-up. */
    return sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, interval / 2, interval / 4,
                                      on_watchdog, NULL);
}
