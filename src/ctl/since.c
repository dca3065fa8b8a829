/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "since.h"

#include <string.h>
#include <time.h>

#include "units.h"

#define USEC UINT64_C(1000000)
#define LATEST (UINT64_MAX / USEC / 1000) /* seconds that fit as nanoseconds, too */

static int from_tm(struct tm *tm, uint64_t *ret)
{
    tm->tm_isdst = -1;
    time_t t = mktime(tm);

    if (t < 0 || (uint64_t)t > LATEST)
        return -EINVAL;
    *ret = (uint64_t)t * USEC;
    return 0;
}

/* "22:30" is today; what the format does not say is 0. */
static int from_format(const char *text, const char *format, const struct tm *today, uint64_t *ret)
{
    struct tm tm = *today;
    const char *end;

    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    end = strptime(text, format, &tm);
    return end && !*end ? from_tm(&tm, ret) : -EINVAL;
}

static int from_word(const char *text, const struct tm *today, uint64_t *ret)
{
    struct tm tm = *today;

    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    if (strcmp(text, "yesterday") == 0)
        tm.tm_mday--;
    else if (strcmp(text, "today") != 0)
        return -EINVAL;
    return from_tm(&tm, ret);
}

int since_parse(const char *text, uint64_t now, uint64_t *ret)
{
    static const char *const formats[] = {
        "%H:%M",          "%H:%M:%S",         "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"};
    time_t secs = (time_t)(now / USEC);
    struct tm today;
    uint64_t t;

    if (!localtime_r(&secs, &today))
        return -EINVAL;
    if (strcmp(text, "now") == 0)
        return *ret = now, 0;
    if (text[0] == '@' && parse_u64(text + 1, &t) == 0 && t <= LATEST)
        return *ret = t * USEC, 0;
    if (parse_duration(text, &t) == 0 && t != NSEC_INFINITY && t / 1000 <= now)
        return *ret = now - t / 1000, 0;
    if (from_word(text, &today, ret) == 0)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
        if (from_format(text, formats[i], &today, ret) == 0)
            return 0;
    }
    return -EINVAL;
}
