/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SEC NSEC_PER_SEC
#define UNTOUCHED UINT64_C(0xfeedfacecafebeef)

struct number {
    const char *text;
    int result;
    uint64_t value;
};

static void check_numbers(const struct number *t, size_t n, int (*parse)(const char *, uint64_t *))
{
    for (size_t i = 0; i < n; i++) {
        uint64_t v = UNTOUCHED;
        int r = parse(t[i].text, &v);
        uint64_t expected = t[i].result == 0 ? t[i].value : UNTOUCHED;
        if (r != t[i].result || v != expected)
            fail_msg("\"%s\": got %d, %llu; expected %d, %llu", t[i].text, r, (unsigned long long)v,
                     t[i].result, (unsigned long long)expected);
    }
}

static void u64(void **state)
{
    static const struct number t[] = {
        {"0", 0, 0},
        {"007", 0, 7},
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", -ERANGE, 0},
        {"99999999999999999999999", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"1\n", -EINVAL, 0},
        {"0x10", -EINVAL, 0},
        {"1e3", -EINVAL, 0},
        {"1.0", -EINVAL, 0},
        {"\xd9\xa1", -EINVAL, 0}, /* ARABIC-INDIC DIGIT ONE */
    };
    (void)state;
    check_numbers(t, ARRAY_SIZE(t), parse_u64);
}

static void i64(void **state)
{
    static const struct {
        const char *text;
        int result;
        int64_t value;
    } t[] = {
        {"0", 0, 0},
        {"-0", 0, 0},
        {"-1", 0, -1},
        {"9223372036854775807", 0, INT64_MAX},
        {"-9223372036854775808", 0, INT64_MIN},
        {"9223372036854775808", -ERANGE, 0},
        {"-9223372036854775809", -ERANGE, 0},
        {"-", -EINVAL, 0},
        {"--1", -EINVAL, 0},
        {"- 1", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {"", -EINVAL, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
        int64_t v = 42;
        int r = parse_i64(t[i].text, &v);
        if (r != t[i].result || v != (r == 0 ? t[i].value : 42))
            fail_msg("\"%s\": got %d, %lld", t[i].text, r, (long long)v);
    }
}

static void duration(void **state)
{
    static const struct number t[] = {
        {"0", 0, 0},
        {"0s", 0, 0},
        {"250ns", 0, 250},
        {"100us", 0, 100000},
        {"20ms", 0, 20000000},
        {"5s", 0, 5 * SEC},
        {"2min", 0, 120 * SEC},
        {"1h", 0, 3600 * SEC},
        {"18446744073709551614ns", 0, NSEC_INFINITY - 1},
        {"18446744073709551615ns", -ERANGE, 0}, /* would be taken for infinity */
        {"18446744074s", -ERANGE, 0},
        {"99999999999999999999s", -ERANGE, 0},
        {"infinity", 0, NSEC_INFINITY},
        {"inf", -EINVAL, 0},
        {"100", -EINVAL, 0},
        {"00", -EINVAL, 0},
        {"s", -EINVAL, 0},
        {"1 s", -EINVAL, 0},
        {"1S", -EINVAL, 0},
        {"1m", -EINVAL, 0},
        {"1sec", -EINVAL, 0},
        {"1.5s", -EINVAL, 0},
        {"1min 30s", -EINVAL, 0},
        {"-1s", -EINVAL, 0},
        {"1\xc2\xb5s", -EINVAL, 0}, /* MICRO SIGN */
        {"", -EINVAL, 0},
    };
    (void)state;
    check_numbers(t, ARRAY_SIZE(t), parse_duration);
}

static void percent(void **state)
{
    static const struct number t[] = {
        {"0", 0, 0},       {"0%", 0, 0},         {"5%", 0, 5},
        {"100%", 0, 100},  {"5", -EINVAL, 0},    {"5 %", -EINVAL, 0},
        {"%", -EINVAL, 0}, {"5%%", -EINVAL, 0},  {"-5%", -EINVAL, 0},
        {"", -EINVAL, 0},  {"0.5%", -EINVAL, 0}, {"18446744073709551616%", -ERANGE, 0},
    };

    (void)state;
    check_numbers(t, ARRAY_SIZE(t), parse_percent);
}

static void size(void **state)
{
    static const struct number t[] = {
        {"0", 0, 0},
        {"4096", 0, 4096},
        {"512K", 0, 524288},
        {"64M", 0, UINT64_C(64) << 20},
        {"2G", 0, UINT64_C(2) << 30},
        {"1T", 0, UINT64_C(1) << 40},
        {"16777215T", 0, UINT64_C(16777215) << 40},
        {"16777216T", -ERANGE, 0},
        {"18446744073709551615", 0, UINT64_MAX},
        {"64m", -EINVAL, 0},
        {"64MB", -EINVAL, 0},
        {"64MiB", -EINVAL, 0},
        {"64 M", -EINVAL, 0},
        {"M", -EINVAL, 0},
        {"1.5G", -EINVAL, 0},
        {"1P", -EINVAL, 0},
        {"infinity", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"", -EINVAL, 0},
    };
    (void)state;
    check_numbers(t, ARRAY_SIZE(t), parse_size);
}

static void boolean(void **state)
{
    static const struct {
        const char *text;
        int value;
    } t[] = {
        {"yes", 1},     {"true", 1},   {"on", 1},         {"1", 1},           {"no", 0},
        {"false", 0},   {"off", 0},    {"0", 0},          {"Yes", -EINVAL},   {"y", -EINVAL},
        {"2", -EINVAL}, {"", -EINVAL}, {"yes ", -EINVAL}, {"yesno", -EINVAL}, {"nö", -EINVAL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(t); i++)
        for (int before = 0; before < 2; before++) {
            bool b = before;
            int r = parse_bool(t[i].text, &b);
            if (r != MIN(t[i].value, 0) || b != (r == 0 ? t[i].value : before))
                fail_msg("\"%s\": got %d, %d", t[i].text, r, b);
        }
}

struct text {
    uint64_t value;
    const char *people, *exact;
};

static void check_texts(const struct text *t, size_t n, char *(*people)(uint64_t, char *),
                        char *(*exact)(uint64_t, char *), int (*parse)(const char *, uint64_t *))
{
    char buf[UNITS_BUF];

    for (size_t i = 0; i < n; i++) {
        uint64_t back = UNTOUCHED;
        assert_string_equal(people(t[i].value, buf), t[i].people);
        assert_string_equal(exact(t[i].value, buf), t[i].exact);
        assert_int_equal(parse(buf, &back), 0);
        assert_int_equal(back, t[i].value);
    }
}

static void duration_texts(void **state)
{
    static const struct text t[] = {
        {0, "0", "0"},
        {1, "1ns", "1ns"},
        {999, "999ns", "999ns"},
        {1000, "1us", "1us"},
        {1500, "1.5us", "1500ns"},
        {1929599, "1.93ms", "1929599ns"},
        {80000, "80us", "80us"},
        {99949, "99.9us", "99949ns"},
        {99950, "100us", "99950ns"},
        {999499, "999us", "999499ns"},
        {999500, "1ms", "999500ns"},
        {1005000, "1.01ms", "1005us"},
        {10 * SEC, "10s", "10s"},
        {UINT64_C(59990000000), "1min", "59990ms"},
        {90 * SEC, "1.5min", "90s"},
        {3600 * SEC, "1h", "1h"},
        {UINT64_C(3600000) * SEC, "1000h", "1000h"},
        {UINT64_C(3599999) * SEC, "1000h", "3599999s"},
        {NSEC_INFINITY - 1, "5124096h", "18446744073709551614ns"},
        {NSEC_INFINITY, "infinity", "infinity"},
    };
    (void)state;
    check_texts(t, ARRAY_SIZE(t), format_duration, format_duration_exact, parse_duration);
}

static void size_texts(void **state)
{
    static const struct text t[] = {
        {0, "0", "0"},
        {1, "1", "1"},
        {999, "999", "999"},
        {1000, "0.98K", "1000"},
        {1024, "1K", "1K"},
        {1025, "1K", "1025"},
        {UINT64_C(2304) << 20, "2.25G", "2304M"},
        {UINT64_C(64) << 20, "64M", "64M"},
        {UINT64_C(1023) << 20, "1G", "1023M"},
        {UINT64_C(1) << 40, "1T", "1T"},
        {UINT64_C(1) << 50, "1024T", "1024T"},
        {UINT64_MAX, "16777216T", "18446744073709551615"},
    };
    (void)state;
    check_texts(t, ARRAY_SIZE(t), format_size, format_size_exact, parse_size);
}

/* Whatever the value: at most three digits below the largest unit, and within half a percent. */
static void people_can_read_all(void **state)
{
    char buf[UNITS_BUF];

    (void)state;
    for (uint64_t v = 1; v < 3600 * SEC; v = v * 21 / 20 + 1) {
        double number = strtod(format_duration(v, buf), NULL);
        const char *unit = buf + strspn(buf, "0123456789.");
        uint64_t factor = 0;
        char one[UNITS_BUF];
        snprintf(one, sizeof(one), "1%s", unit);
        assert_int_equal(parse_duration(one, &factor), 0);
        double error = number * (double)factor / (double)v - 1;
        size_t digits = (size_t)(unit - buf) - (strchr(buf, '.') ? 1 : 0);
        if (digits > 3 || error > 0.0051 || error < -0.0051)
            fail_msg("%llu ns: %s", (unsigned long long)v, buf);
    }
}

static void u64_span(void **state)
{
    static const char text[] = "18446744073709551615x18446744073709551616 -1";
    uint64_t v = 4711;

    (void)state;
    assert_int_equal(parse_u64_span(text, text, &v), -EBADMSG);
    assert_int_equal(parse_u64_span(text, text + 21, &v), -EBADMSG);
    assert_int_equal(parse_u64_span(text + 21, text + 41, &v), -EBADMSG);
    assert_int_equal(parse_u64_span(text + 42, text + 44, &v), -EBADMSG);
    assert_true(v == 4711);
    assert_int_equal(parse_u64_span(text, text + 20, &v), 0);
    assert_true(v == UINT64_MAX);
    assert_int_equal(parse_u64_span(text, text + 1, &v), 0);
    assert_true(v == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(u64_span),   cmocka_unit_test(u64),
        cmocka_unit_test(i64),        cmocka_unit_test(duration),
        cmocka_unit_test(size),       cmocka_unit_test(percent),
        cmocka_unit_test(boolean),    cmocka_unit_test(duration_texts),
        cmocka_unit_test(size_texts), cmocka_unit_test(people_can_read_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
