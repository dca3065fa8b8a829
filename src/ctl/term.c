/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "term.h"

#include <string.h>

static bool coloured(FILE *f)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    if (no && no[0])
        return false;
    return isatty(fileno(f)) && !(term && strcmp(term, "dumb") == 0);
}

const char *term_bold(FILE *f)
{
    return coloured(f) ? "\033[1m" : "";
}

const char *term_faint(FILE *f)
{
    return coloured(f) ? "\033[2m" : "";
}

const char *term_end(FILE *f)
{
    return coloured(f) ? "\033[0m" : "";
}

void term_fill(FILE *f, unsigned indent, const char *text)
{
    size_t column = 0;

    while (*text) {
        size_t word = strcspn(text, " ");
        if (column > 0 && column + 1 + word > TERM_WIDTH) {
            fputc('\n', f);
            column = 0;
        }
        if (column == 0)
            column = (size_t)fprintf(f, "%*s%.*s", (int)indent, "", (int)word, text);
        else
            column += (size_t)fprintf(f, " %.*s", (int)word, text);
        text += word;
        text += strspn(text, " ");
    }
    if (column > 0)
        fputc('\n', f);
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
