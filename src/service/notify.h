/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "macros.h"

/* As sd_notifyf(3), and does nothing where $NOTIFY_SOCKET is not set. But sd_notifyf() waits where
 * PID 1 does not read and its socket is full (net.unix.max_dgram_qlen messages), and a loop that
 * waits gives no knob back: here the message is lost then. */
_printf_(1, 2) void notify(const char *fmt, ...);

/* As sd_event_set_watchdog(3), through notify(). 0 where there is no watchdog. */
int notify_watchdog(sd_event *event);
