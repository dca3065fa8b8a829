/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "since.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define USEC UINT64_C(1000000)
#define NOW_S UINT64_C(1764526501) /* Sun Nov 30 18:15:01 UTC 2025 */
#define NOW (NOW_S * USEC + 5)
#define MIDNIGHT (UINT64_C(1764460800) * USEC)
#define DAY (86400 * USEC)

static void times(void **state)
{
    static const struct {
        const char *text;
        uint64_t usec;
    } good[] = {
        {"now", NOW},
        {"0", NOW},
        {"10min", NOW - 600 * USEC},
        {"2h", NOW - 7200 * USEC},
        {"1us", NOW - 1},
        {"today", MIDNIGHT},
        {"yesterday", MIDNIGHT - DAY},
        {"00:00", MIDNIGHT},
        {"22:30", MIDNIGHT + (22 * 3600 + 1800) * USEC},
        {"7:05:09", MIDNIGHT + (7 * 3600 + 309) * USEC},
        {"2025-11-30", MIDNIGHT},
        {"2025-11-29 23:59", MIDNIGHT - 60 * USEC},
        {"2025-11-29 23:59:59", MIDNIGHT - USEC},
        {"2025-11-29T23:59:59", MIDNIGHT - USEC},
        {"2024-02-29", UINT64_C(1709164800) * USEC},
        {"@1764526501", NOW_S * USEC},
        {"@0", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        uint64_t t = 1;
        if (since_parse(good[i].text, NOW, &t) < 0 || t != good[i].usec)
            fail_msg("%s: %llu, not %llu", good[i].text, (unsigned long long)t,
                     (unsigned long long)good[i].usec);
    }
}

static void no_times(void **state)
{
    static const char *const bad[] = {
        "",
        " ",
        "never",
        "Today",
        "today ",
        "10",
        "-10min",
        "10 min",
        "infinity",
        "1000000h",
        "25:00",
        "22:60",
        "22:30x",
        "22",
        "2025-13-01",
        "2025-11-30 ",
        "@",
        "@-1",
        "@1e9",
        "@18446744073709551615",
        "1960-01-01",
        "11/30/2025",
        "2025-11-30 22:30 UTC",
        "18446744073709551615h",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        uint64_t t = 42;
        if (since_parse(bad[i], NOW, &t) != -EINVAL)
            fail_msg("\"%s\" is taken for %llu", bad[i], (unsigned long long)t);
    }
}

/* Midnight is that of the people here, also on the day that has 25 hours. */
static void local_midnight(void **state)
{
    const uint64_t noon = UINT64_C(1761476400) * USEC; /* Oct 26 2025 12:00 CET, clocks went back */
    uint64_t t;

    (void)state;
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", true);
    tzset();
    assert_int_equal(since_parse("today", noon, &t), 0);
    assert_int_equal(t, noon - 13 * 3600 * USEC);
    assert_int_equal(since_parse("yesterday", noon, &t), 0);
    assert_int_equal(t, noon - 37 * 3600 * USEC);
    setenv("TZ", "UTC", true);
    tzset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times),
        cmocka_unit_test(no_times),
        cmocka_unit_test(local_midnight),
    };

    setenv("TZ", "UTC", true);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
