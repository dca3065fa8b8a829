/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "screen.h"

#include <inttypes.h>
#include <ncurses.h>
#include <stdarg.h>
#include <string.h>

#include "term.h"
#include "units.h"

enum { PAIR_GOOD = 1, PAIR_BAD, PAIR_BAR };

static SCREEN *screen;

int screen_open(void)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return -ENOTTY;
    screen = newterm(NULL, stdout, stdin);
    if (!screen)
        return -ENOTTY;
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    if (has_colors() && term_coloured(stdout)) {
        start_color();
        use_default_colors();
        init_pair(PAIR_GOOD, COLOR_GREEN, -1);
        init_pair(PAIR_BAD, COLOR_RED, -1);
        init_pair(PAIR_BAR, COLOR_CYAN, -1);
    }
    return 0;
}

void screen_close(void)
{
    if (!screen)
        return;
    endwin();
    delscreen(screen);
    screen = NULL;
}

enum screen_key screen_key(void)
{
    switch (getch()) {
    case ERR:
        return SCREEN_NONE;
    case 'q':
    case 'Q':
        return SCREEN_QUIT;
    case KEY_RESIZE:
        return SCREEN_DRAW;
    default:
        return SCREEN_REFRESH;
    }
}

/* --- pieces -------------------------------------------------------------------------------- */

/* Text at a place, cut at the edge. Returns the column behind it. */
static _printf_(3, 4) int put(int y, int x, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (y < LINES && x < COLS)
        mvaddnstr(y, x, text, COLS - x);
    return x + (int)strlen(text);
}

/* "[|||||     ]": share 0 to 1 of `width` columns, brackets included. */
static int bar(int y, int x, int width, double share, int pair)
{
    int inner = width - 2, full = (int)(CLAMP(share, 0.0, 1.0) * inner + 0.5);

    put(y, x, "[");
    attron(COLOR_PAIR(pair));
    for (int i = 0; i < full; i++)
        put(y, x + 1 + i, "|");
    attroff(COLOR_PAIR(pair));
    put(y, x + 1 + inner, "]");
    return x + width;
}

static int bar_width(int beside)
{
    return CLAMP(COLS - beside, 12, 72);
}

static const char *age_of(uint64_t usec, uint64_t now, char buf[static UNITS_BUF])
{
    uint64_t secs = now > usec ? (now - usec) / 1000000 : 0;

    return secs > 0 ? format_duration(secs * NSEC_PER_SEC, buf) : "0s";
}

/* --- parts, each returns the line below itself ----------------------------------------------- */

static int draw_head(const struct view *v, int y)
{
    const struct told *t = v->told;
    char when[TERM_TIME], size[UNITS_BUF], age[UNITS_BUF];
    bool storm = t->tasks > 0 || strcmp(t->state, "tuned") == 0;

    attron(A_BOLD);
    int x = put(y, 0, "pcptuned %s  mode %s  ", t->version, t->mode);
    attron(COLOR_PAIR(storm ? PAIR_BAD : PAIR_GOOD));
    x = put(y, x, "%s", t->state);
    attroff(COLOR_PAIR(storm ? PAIR_BAD : PAIR_GOOD));
    attroff(A_BOLD);
    x = put(y, x, " for %s", age_of(t->since_usec, v->now_usec, age));
    put(y, MAX(COLS - 8, x + 2), "%s", term_time(v->now_usec, when) + strlen("2026-11-30 "));
    put(y + 1, 0, "Linux %s, regime %s, %u CPU%s, %u node%s, %s", t->release, t->regime, t->cpus,
        t->cpus == 1 ? "" : "s", t->nodes, t->nodes == 1 ? "" : "s",
        format_size(t->memory_pages * t->page_size, size));
    return y + 3;
}

static int draw_wait(const struct view *v, int y)
{
    const struct told *t = v->told;
    char size[UNITS_BUF], wait[UNITS_BUF], target[UNITS_BUF], worst[UNITS_BUF];
    double share = t->target_wait > 0 ? (double)t->wait / (double)t->target_wait / 2 : 0;

    put(y, 0, "tasks exiting %6u   pages to come %10" PRIu64 " (%s)", t->tasks, t->pages_to_come,
        format_size(t->pages_to_come * t->page_size, size));
    put(y + 1, 0, "pages a hold  %6u   (b)", t->pages_per_hold);
    put(y + 2, 0, "wait W        %6s", format_duration(t->wait, wait));
    int x = bar(y + 2, 22, bar_width(60), share, t->wait > t->target_wait ? PAIR_BAD : PAIR_BAR);
    put(y + 2, x + 1, "target %s, worst %s", format_duration(t->target_wait, target),
        format_duration(v->worst, worst));
    return y + 3;
}

static int draw_pressure(const struct told *t, int y)
{
    int width = CLAMP((COLS - 46) / 2, 8, 40), x = 0;

    for (uint32_t i = 0; i < t->n_pressures && i < 2; i++) {
        x = put(y, x, "%s PSI %6.2f%% ", t->pressures[i].resource, t->pressures[i].some);
        x = bar(y, x, width, t->pressures[i].some / 100, PAIR_BAR) + 2;
    }
    return y + (t->n_pressures > 0 ? 1 : 0);
}

static int draw_knobs(const struct told *t, int y)
{
    for (uint32_t i = 0; i < t->n_knobs; i++) {
        const struct told_knob *k = &t->knobs[i];
        bool ours = strcmp(k->owner, "pcptuned") == 0;
        if (!k->exists)
            continue;
        if (ours)
            attron(A_BOLD);
        int x = put(y, 0, "%s = %d", k->name, k->value);
        if (k->original >= 0)
            x = put(y, x, ", originally %d", k->original);
        put(y++, x, " (%s)", k->owner);
        attroff(A_BOLD);
    }
    return y + 1;
}

static int draw_zone(const struct told_zone *z, int y)
{
    uint64_t room = (uint64_t)z->lists * z->high_max;
    int x = put(y, 0, "%4u %-8.8s %10" PRIu64 " %5u ", z->node, z->name, z->managed, z->lists);

    x = bar(y, x, bar_width(58), room > 0 ? (double)z->count / (double)room : 0, PAIR_BAR);
    put(y, x, " %9" PRIu64 " of %" PRIu64, z->count, room);
    return y + 1;
}

/* The most that leave room for events below. */
static int draw_zones(const struct view *v, int y)
{
    const struct told *t = v->told;
    char age[UNITS_BUF];
    uint32_t most = (uint32_t)MAX(LINES - y - 6, 2);

    attron(A_BOLD);
    put(y, 0, "%4s %-8s %10s %5s  pages in the CPUs' lists, of their high", "NODE", "ZONE",
        "MANAGED", "LISTS");
    attroff(A_BOLD);
    y++;
    for (uint32_t i = 0; i < MIN(t->n_zones, most); i++)
        y = draw_zone(&t->zones[i], y);
    if (t->zones_read_usec > 0)
        put(y, 0, "as read %s ago%s", age_of(t->zones_read_usec, v->now_usec, age),
            t->n_zones > most ? "; further zones do not fit" : "");
    return y + 2;
}

/* How much of the text goes on a line: up to a space, if there is one. */
static int piece(const char *text, int width)
{
    int length = (int)strlen(text), at = width;

    if (length <= width)
        return length;
    while (at > 0 && text[at] != ' ')
        at--;
    return at > 0 ? at : width;
}

/* Beside its time, over as many lines as it takes, which it returns; y -1: only counts them. */
static int draw_event(const struct view_event *e, int y, int width)
{
    const char *text = e->text;
    int lines = 0;

    do {
        int n = piece(text, width);
        if (y >= 0)
            put(y + lines, 0, "%8s %.*s", lines == 0 ? e->when : "", n, text);
        lines++;
        text += n;
        text += *text == ' ';
    } while (*text);
    return lines;
}

/* The newest that fit; the last line is for keys. */
static void draw_events(const struct view *v, int y)
{
    int room = LINES - y - 1, width = MAX(COLS - (int)strlen("18:00:01 "), 10);
    uint32_t first = v->n_events;

    while (first > 0) {
        int lines = draw_event(&v->events[first - 1], -1, width);
        if (lines > room)
            break;
        room -= lines;
        first--;
    }
    for (uint32_t i = first; i < v->n_events; i++)
        y += draw_event(&v->events[i], y, width);
}

void screen_draw(const struct view *v)
{
    int y = 0;

    erase();
    if (v->told) {
        y = draw_head(v, y);
        y = draw_wait(v, y);
        y = draw_pressure(v->told, y);
        y = draw_knobs(v->told, y);
        y = draw_zones(v, y);
    } else {
        attron(A_BOLD);
        put(y, 0, "pcptuned is gone: %s", v->trouble);
        attroff(A_BOLD);
        put(y + 1, 0, "looking for it each second");
        y += 3;
    }
    draw_events(v, y);
    attron(A_REVERSE);
    put(LINES - 1, 0, " q ends  space refreshes ");
    attroff(A_REVERSE);
    refresh();
}
