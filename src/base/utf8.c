/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "utf8.h"

#include <string.h>

size_t utf8_char(const char *s, size_t len, uint32_t *ret)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t lead = len > 0 ? (uint8_t)s[0] : 0xff;
    size_t n = lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

    if (n == 0 || n > len || lead > 0xf4)
        return 0;
    uint32_t c = n == 1 ? lead : lead & (0x7fU >> n);
    for (size_t i = 1; i < n; i++) {
        if (((uint8_t)s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | ((uint8_t)s[i] & 0x3f);
    }
    if (c < smallest[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *ret = c;
    return n;
}

char *utf8_repair(char *s)
{
    size_t len = strlen(s), n;
    uint32_t c;

    for (size_t i = 0; i < len; i += n ? n : 1) {
        n = utf8_char(s + i, len - i, &c);
        if (n == 0)
            s[i] = '?';
    }
    return s;
}
