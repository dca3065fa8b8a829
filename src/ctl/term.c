/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "term.h"

#include <string.h>
#include <time.h>

bool term_coloured(FILE *f)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    if (no && no[0])
        return false;
    return (isatty(fileno(f)) || pager_runs()) && !(term && strcmp(term, "dumb") == 0);
}

const char *term_bold(FILE *f)
{
    return term_coloured(f) ? "\033[1m" : "";
}

const char *term_faint(FILE *f)
{
    return term_coloured(f) ? "\033[2m" : "";
}

const char *term_good(FILE *f)
{
    return term_coloured(f) ? "\033[1;32m" : "";
}

const char *term_bad(FILE *f)
{
    return term_coloured(f) ? "\033[1;31m" : "";
}

const char *term_end(FILE *f)
{
    return term_coloured(f) ? "\033[0m" : "";
}

/* The first line goes on at `column`. */
static void fill(FILE *f, size_t indent, size_t column, const char *text)
{
    bool first = true;

    while (*text) {
        size_t word = strcspn(text, " ");
        if (!first && column + 1 + word > TERM_WIDTH) {
            fprintf(f, "\n%*s", (int)indent, "");
            column = indent;
            first = true;
        }
        column += (size_t)fprintf(f, "%s%.*s", first ? "" : " ", (int)word, text);
        first = false;
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', f);
}

void term_fill(FILE *f, unsigned indent, const char *text)
{
    if (*text)
        fill(f, indent, (size_t)fprintf(f, "%*s", (int)indent, ""), text);
}

void term_field(FILE *f, const char *name, const char *text)
{
    enum { INDENT = 12 };

    fprintf(f, "%s%*s%s  ", term_faint(f), INDENT - 2, name, term_end(f));
    fill(f, INDENT, INDENT, text);
}

char *term_name(const char *name, char buf[static TERM_NAME])
{
    size_t i = 0;

    for (; i < TERM_NAME - 1 && name[i]; i++)
        buf[i] = (char)((unsigned char)name[i] < ' ' || name[i] == 0x7f ? '?' : name[i]);
    buf[i] = '\0';
    return buf;
}

char *term_time(uint64_t usec, char buf[static TERM_TIME])
{
    time_t secs = (time_t)(usec / 1000000);
    struct tm tm;

    localtime_r(&secs, &tm);
    strftime(buf, TERM_TIME, "%Y-%m-%d %H:%M:%S", &tm);
    return buf;
}

void term_lines(FILE *f, unsigned indent, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (len > 0)
            fprintf(f, "%*s%.*s", (int)indent, "", (int)len, text);
        fputc('\n', f);
        text += len;
        text += *text == '\n';
    }
}
