/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "told.h"

/* What "top" shows, drawn with ncurses: it writes what has changed, so nothing flickers. */

#define VIEW_EVENTS 16
struct view {
    const struct told *told; /* NULL: pcptuned is gone */
    const char *trouble;     /* then: why */
    uint64_t now_usec;       /* CLOCK_REALTIME */
    nsec_t worst;            /* highest W seen, or predicted for a storm before it was tuned */
    uint32_t n_events;
    struct view_event {
        char when[16], text[320];
    } events[VIEW_EVENTS]; /* the oldest first */
};

enum screen_key { SCREEN_NONE, SCREEN_QUIT, SCREEN_REFRESH, SCREEN_DRAW };

/* -ENOTTY: standard input and output are no terminal that can be drawn on. */
int screen_open(void);
void screen_close(void); /* leaves the terminal as it was found */
void screen_draw(const struct view *v);
enum screen_key screen_key(void); /* never waits */
