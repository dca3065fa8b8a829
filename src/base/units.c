/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "units.h"

#include <inttypes.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* Ascending: the formatters take the first that fits. */
static const struct unit durations[] = {
    {"ns", 1},           {"us", NSEC_PER_USEC},      {"ms", NSEC_PER_MSEC},
    {"s", NSEC_PER_SEC}, {"min", 60 * NSEC_PER_SEC}, {"h", 3600 * NSEC_PER_SEC},
};
static const struct unit sizes[] = {
    {"", 1},
    {"K", UINT64_C(1) << 10},
    {"M", UINT64_C(1) << 20},
    {"G", UINT64_C(1) << 30},
    {"T", UINT64_C(1) << 40},
};

/* Digits at *s, at least one; moves *s behind them. strtoull() would take signs and spaces. */
static int scan_digits(const char **s, uint64_t *ret)
{
    const char *p = *s;
    uint64_t v = 0;

    if (*p < '0' || *p > '9')
        return -EINVAL;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            return -ERANGE;
    *s = p;
    *ret = v;
    return 0;
}

static int scan_with_unit(const char *s, const struct unit *units, size_t n, uint64_t *ret)
{
    uint64_t v;
    int r = scan_digits(&s, &v);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        if (strcmp(s, units[i].name) == 0)
            return __builtin_mul_overflow(v, units[i].factor, ret) ? -ERANGE : 0;
    return -EINVAL;
}

int parse_u64_span(const char *p, const char *end, uint64_t *ret)
{
    uint64_t v = 0;

    if (p == end)
        return -EBADMSG;
    for (; p < end; p++)
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            return -EBADMSG;
    *ret = v;
    return 0;
}

int parse_u64(const char *s, uint64_t *ret)
{
    uint64_t v;
    int r = scan_digits(&s, &v);
    if (r < 0)
        return r;
    if (*s)
        return -EINVAL;
    *ret = v;
    return 0;
}

int parse_percent(const char *s, uint64_t *ret)
{
    static const struct unit percent[] = {{"%", 1}};

    if (strcmp(s, "0") == 0)
        return *ret = 0, 0;
    return scan_with_unit(s, percent, ARRAY_SIZE(percent), ret);
}

int parse_i64(const char *s, int64_t *ret)
{
    bool negative = *s == '-';
    uint64_t v;
    int r = parse_u64(s + negative, &v);
    if (r < 0)
        return r;
    if (v > (uint64_t)INT64_MAX + negative)
        return -ERANGE;
    *ret = (int64_t)(negative ? -v : v);
    return 0;
}

int parse_duration(const char *s, nsec_t *ret)
{
    uint64_t v;

    if (strcmp(s, "infinity") == 0)
        v = NSEC_INFINITY;
    else if (strcmp(s, "0") == 0)
        v = 0;
    else {
        int r = scan_with_unit(s, durations, ARRAY_SIZE(durations), &v);
        if (r < 0)
            return r;
        if (v == NSEC_INFINITY)
            return -ERANGE;
    }
    *ret = v;
    return 0;
}

int parse_size(const char *s, uint64_t *ret)
{
    uint64_t v;
    int r = scan_with_unit(s, sizes, ARRAY_SIZE(sizes), &v);
    if (r == 0)
        *ret = v;
    return r;
}

int parse_bool(const char *s, bool *ret)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(s, words[i]) == 0) {
            *ret = i % 2;
            return 0;
        }
    return -EINVAL;
}

/* scaled is value * 10^decimals; trailing zeros say nothing to people. */
static char *print_scaled(uint64_t scaled, unsigned decimals, const char *unit, char *buf)
{
    while (decimals > 0 && scaled % 10 == 0) {
        scaled /= 10;
        decimals--;
    }
    uint64_t pow = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
    if (decimals > 0)
        snprintf(buf, UNITS_BUF, "%" PRIu64 ".%0*" PRIu64 "%s", scaled / pow, (int)decimals,
                 scaled % pow, unit);
    else
        snprintf(buf, UNITS_BUF, "%" PRIu64 "%s", scaled, unit);
    return buf;
}

/* The smallest unit and the most decimals that need three digits and stay, rounded, below one of
 * the next unit: so 59.99s is "1min", not "60s". */
static char *format_people(uint64_t v, const struct unit *units, size_t n, char *buf)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t factor = units[i].factor, pow = i ? 100 : 1;
        uint64_t next = i + 1 < n ? units[i + 1].factor / factor : UINT64_MAX;
        if (v / factor > 999)
            continue; /* also keeps v * pow from overflowing */
        for (unsigned decimals = i ? 2 : 0;; decimals--, pow /= 10) {
            uint64_t scaled = (v * pow + factor / 2) / factor;
            if (scaled <= 999 && scaled / pow < next)
                return print_scaled(scaled, decimals, units[i].name, buf);
            if (decimals == 0)
                break;
        }
    }
    uint64_t factor = units[n - 1].factor;
    return print_scaled(v / factor + (v % factor >= factor / 2), 0, units[n - 1].name, buf);
}

static char *format_exact(uint64_t v, const struct unit *units, size_t n, char *buf)
{
    size_t i = n - 1;
    while (v % units[i].factor)
        i--;
    return print_scaled(v / units[i].factor, 0, units[i].name, buf);
}

static char *format_word(const char *word, char *buf)
{
    snprintf(buf, UNITS_BUF, "%s", word);
    return buf;
}

char *format_duration(nsec_t ns, char buf[static UNITS_BUF])
{
    if (ns == NSEC_INFINITY || ns == 0)
        return format_word(ns ? "infinity" : "0", buf);
    return format_people(ns, durations, ARRAY_SIZE(durations), buf);
}

char *format_size(uint64_t bytes, char buf[static UNITS_BUF])
{
    return format_people(bytes, sizes, ARRAY_SIZE(sizes), buf);
}

char *format_duration_exact(nsec_t ns, char buf[static UNITS_BUF])
{
    if (ns == NSEC_INFINITY || ns == 0)
        return format_word(ns ? "infinity" : "0", buf);
    return format_exact(ns, durations, ARRAY_SIZE(durations), buf);
}

char *format_size_exact(uint64_t bytes, char buf[static UNITS_BUF])
{
    return bytes ? format_exact(bytes, sizes, ARRAY_SIZE(sizes), buf) : format_word("0", buf);
}
