/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "text.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

/* Length of the sequence at s as RFC 3629 has it (not overlong, no surrogates), 0: malformed. */
static size_t utf8_sequence(const unsigned char *s, size_t len)
{
    unsigned char lo = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char hi = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    size_t n;

    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (n > len || s[1] < lo || s[1] > hi)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

size_t text_valid(const char *s, size_t len)
{
    size_t pos = 0;

    while (pos < len) {
        const unsigned char *p = (const unsigned char *)s + pos;
        size_t n = utf8_sequence(p, len - pos);
        if (n == 0 || (*p < ' ' && *p != '\t') || *p == 0x7f)
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
