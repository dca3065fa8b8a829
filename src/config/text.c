/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "text.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "utf8.h"

size_t text_valid(const char *s, size_t len)
{
    size_t pos = 0;
    uint32_t c;

    while (pos < len) {
        size_t n = utf8_char(s + pos, len - pos, &c);
        if (n == 0 || (c < ' ' && c != '\t') || c == 0x7f)
            break;
        pos += n;
    }
    return pos;
}

char *text_show(const char *s, size_t len, char buf[static TEXT_SHOWN])
{
    size_t shown = MIN(len, (size_t)40);

    memcpy(buf, s, shown);
    for (size_t i = 0; i < shown; i++)
        if (buf[i] < ' ' || buf[i] > '~')
            buf[i] = '?';
    snprintf(buf + shown, TEXT_SHOWN - shown, "%s", len > shown ? "..." : "");
    return buf;
}

#define WORD_MAX 31

unsigned text_distance(const char *a, const char *b)
{
    unsigned d[WORD_MAX + 1][WORD_MAX + 1];
    size_t n = strlen(a), m = strlen(b);

    if (n > WORD_MAX || m > WORD_MAX)
        return UINT_MAX;
    for (size_t i = 0; i <= n; i++) {
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = (unsigned)(i + j);
                continue;
            }
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            unsigned best = MIN(d[i - 1][j], d[i][j - 1]) + 1;
            best = MIN(best, d[i - 1][j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                tolower((unsigned char)a[i - 2]) == y)
                best = MIN(best, d[i - 2][j - 2] + 1);
            d[i][j] = best;
        }
    }
    return d[n][m];
}
