/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <string.h>

#include "output.h"
#include "units.h"

/* Four panels under each other that share the time axis. */
#define WIDTH 900
#define LEFT 90
#define RIGHT 20
#define TOP 60
#define PANEL 110
#define GAP 44
#define BOTTOM 50
#define PLOT (WIDTH - LEFT - RIGHT)
#define MAX_POINTS 800 /* more are drawn as the maximum of their neighbours */

struct panel {
    const char *title, *colour;
    double (*value)(const struct sample *x);
    bool is_time, log;
};

static double tasks(const struct sample *x)
{
    return x->exiting;
}

static double hold(const struct sample *x)
{
    return x->hold;
}

static double fraction(const struct sample *x)
{
    return x->fraction;
}

static double scale(const struct sample *x)
{
    return x->scale;
}

static double wait(const struct sample *x)
{
    return (double)x->wait;
}

static double round_up(double v)
{
    double step = 1;

    while (step * 10 < v)
        step *= 10;
    static const double steps[] = {1, 2, 4, 5, 8};
    for (unsigned i = 0; i < ARRAY_SIZE(steps); i++)
        if (steps[i] * step >= v)
            return steps[i] * step;
    return 10 * step;
}

/* Values from 1 on a logarithmic axis. */
static double height(const struct panel *p, double v, double top)
{
    if (!p->log)
        return v / top;
    return v < 1 || top <= 1 ? 0 : log10(v) / log10(top);
}

static void label(const struct panel *p, double v, char buf[static UNITS_BUF])
{
    if (p->is_time)
        format_duration((nsec_t)v, buf);
    else
        snprintf(buf, UNITS_BUF, "%.0f", v);
}

static void tick(const struct panel *p, double v, double y, double top, FILE *f)
{
    double at = y + PANEL * (1 - height(p, v, top));
    char text[UNITS_BUF];

    label(p, p->log && v <= 1 ? 0 : v, text); /* 0 is drawn where 1 is */
    fprintf(f, "<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' class='g'/>\n", LEFT, WIDTH - RIGHT, at,
            at);
    fprintf(f, "<text x='%d' y='%.1f' class='y'>%s</text>\n", LEFT - 6, at + 4, text);
}

static void axis(const struct panel *p, double y, double top, FILE *f)
{
    fprintf(f, "<text x='%d' y='%.1f' class='t'>%s</text>\n", LEFT, y - 8, p->title);
    if (p->log) {
        int decades = (int)lrint(log10(top)), step = decades > 5 ? 3 : 1;
        for (int d = 0; d <= decades; d += step)
            tick(p, pow(10, d), y, top, f);
    } else {
        for (int i = 0; i <= 2; i++)
            tick(p, top * i / 2, y, top, f);
    }
}

static double largest(const struct panel *p, const struct sim_result *r)
{
    double most = 1;

    for (uint32_t i = 0; i < r->n_samples; i++)
        most = MAX(most, p->value(&r->samples[i]));
    return most;
}

static void draw(const struct panel *p, const struct sim_result *r, double y, FILE *f)
{
    double top = largest(p, r), end = (double)r->samples[r->n_samples - 1].at;
    uint32_t group = (r->n_samples + MAX_POINTS - 1) / MAX_POINTS;

    top = p->log ? pow(10, ceil(log10(top))) : round_up(top);
    axis(p, y, top, f);
    fprintf(f, "<path class='l' stroke='%s' d='M%d %.1f", p->colour, LEFT, y + PANEL);
    for (uint32_t i = 0; i < r->n_samples; i += group) {
        uint32_t last = MIN(i + group, r->n_samples) - 1;
        double v = 0;
        for (uint32_t k = i; k <= last; k++)
            v = MAX(v, p->value(&r->samples[k]));
        fprintf(f, "V%.1fH%.1f", y + PANEL * (1 - height(p, v, top)),
                LEFT + PLOT * (double)r->samples[last].at / end);
    }
    fprintf(f, "'/>\n");
}

static void time_axis(nsec_t end, double y, FILE *f)
{
    for (unsigned i = 0; i <= 5; i++) {
        char text[UNITS_BUF];
        double x = LEFT + PLOT * i / 5.0;
        format_duration(end / 5 * i, text);
        fprintf(f, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' class='a'/>\n", x, x, y, y + 5);
        fprintf(f, "<text x='%.1f' y='%.1f' class='x'>%s</text>\n", x, y + 20, text);
    }
    fprintf(f, "<text x='%.1f' y='%.1f' class='x'>time</text>\n", LEFT + (double)PLOT / 2, y + 38);
}

static void write_text(const char *text, FILE *f)
{
    for (; *text; text++) {
        if (strchr("<>&'\"", *text))
            fprintf(f, "&#%d;", *text);
        else
            fputc(*text, f);
    }
}

static void draw_all(const struct scenario *s, const struct sim_result *r, FILE *f)
{
    bool by_scale = s->kernel.regime == REGIME_R6;
    struct panel panels[] = {
        {"tasks that exit", "#4363d8", tasks, false, false},
        {"most pages in one hold of zone-&gt;lock (b)", "#3c8d40", hold, false, true},
        {"vm.percpu_pagelist_high_fraction", "#9a6324", fraction, false, true},
        {"longest wait of a bystander for zone-&gt;lock", "#c0392b", wait, true, true},
    };
    unsigned bottom = TOP + (unsigned)ARRAY_SIZE(panels) * (PANEL + GAP) - GAP;

    if (by_scale)
        panels[2] = (struct panel){"vm.pcp_batch_scale_max", "#9a6324", scale, false, false};
    fprintf(f,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %u' "
            "font-family='sans-serif'>\n<style>text{fill:#222;font-size:12px}.h{font-size:15px;"
            "font-weight:bold}.t{font-weight:bold}.y{text-anchor:end}.x{text-anchor:middle}"
            ".g{stroke:#ddd}.a{stroke:#555}.l{fill:none;stroke-width:1.6}</style>\n"
            "<rect width='100%%' height='100%%' fill='#fff'/>\n",
            WIDTH, bottom + BOTTOM);
    fprintf(f, "<text x='%d' y='24' class='h'>", LEFT);
    write_text(s->title, f);
    fprintf(f, "</text>\n");
    for (unsigned i = 0; i < ARRAY_SIZE(panels); i++)
        draw(&panels[i], r, TOP + i * (PANEL + GAP), f);
    time_axis(r->samples[r->n_samples - 1].at, bottom, f);
    fprintf(f, "</svg>\n");
}

int output_svg(const struct scenario *s, const struct sim_result *r, const char *path)
{
    if (r->n_samples == 0)
        return -ENODATA;
    FILE *f = fopen(path, "we");
    if (!f)
        return -errno;
    draw_all(s, r, f);
    bool bad = ferror(f);
    return fclose(f) != 0 || bad ? -EIO : 0;
}
