/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "hist.h"

static void test_buckets(void **state)
{
    (void)state;
    static const struct {
        uint64_t v;
        unsigned bucket;
    } table[] = {
        {0, 0},
        {1, 0},
        {2, 1},
        {3, 1},
        {4, 2},
        {1023, 9},
        {1024, 10},
        {UINT32_MAX, 31},
        {UINT64_C(1) << 32, 32},
        {UINT64_C(1) << 63, 63},
        {UINT64_MAX, 63},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct hist h = {0};
        hist_add(&h, table[i].v);
        assert_int_equal(h.bucket[table[i].bucket], 1);
        assert_int_equal(hist_mode(&h), table[i].bucket);
        assert_true(hist_lo(table[i].bucket) <= table[i].v);
        assert_true(hist_hi(table[i].bucket) >= table[i].v);
        assert_int_equal(h.max, table[i].v);
    }
}

static void test_bounds_are_seamless(void **state)
{
    (void)state;
    assert_int_equal(hist_lo(0), 0);
    for (unsigned k = 1; k < HIST_BUCKETS; k++)
        assert_int_equal(hist_lo(k), hist_hi(k - 1) + 1);
    assert_int_equal(hist_hi(HIST_BUCKETS - 1), UINT64_MAX);
}

static void test_empty(void **state)
{
    (void)state;
    const struct hist h = {0};

    assert_int_equal(hist_mode(&h), -1);
    assert_int_equal(hist_quantile(&h, 0.5), 0);
    assert_true(hist_mean(&h) <= 0);
}

/* 90 values in bucket 6, nine in bucket 9, one of 5000 in bucket 12. */
static struct hist sample(void)
{
    struct hist h = {0};
    for (int i = 0; i < 90; i++)
        hist_add(&h, 100);
    for (int i = 0; i < 9; i++)
        hist_add(&h, 1000);
    hist_add(&h, 5000);
    return h;
}

static void test_quantiles(void **state)
{
    (void)state;
    static const struct {
        double q;
        uint64_t value;
    } table[] = {
        {-1, 127},    {0, 127},      {0.5, 127}, {0.9, 127}, {0.901, 1023},
        {0.99, 1023}, {0.991, 5000}, {1, 5000},  {7, 5000},
    };
    struct hist h = sample();

    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        assert_int_equal(hist_quantile(&h, table[i].q), table[i].value);
    assert_int_equal(h.count, 100);
    assert_int_equal(h.sum, 90 * 100 + 9 * 1000 + 5000);
    assert_true(hist_mean(&h) > 229.9 && hist_mean(&h) < 230.1);
}

static void test_mode_is_the_lowest_of_equals(void **state)
{
    (void)state;
    struct hist h = {0};

    hist_add(&h, 1000);
    hist_add(&h, 10);
    assert_int_equal(hist_mode(&h), 3);
    hist_add(&h, 1000);
    assert_int_equal(hist_mode(&h), 9);
}

static void test_sum_saturates(void **state)
{
    (void)state;
    struct hist h = {0};
    hist_add(&h, UINT64_MAX);
    hist_add(&h, UINT64_MAX);
    assert_int_equal(h.sum, UINT64_MAX);
    assert_int_equal(h.count, 2);
}

static char *printed(const struct hist *h)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    assert_non_null(f);
    hist_print(h, "nsecs", f);
    assert_int_equal(fclose(f), 0);
    return text;
}

static unsigned count_of(const char *text, char c)
{
    unsigned n = 0;
    for (; *text; text++)
        n += *text == c;
    return n;
}

static void test_print(void **state)
{
    (void)state;
    struct hist h = sample();
    _cleanup_free_ char *text = printed(&h);

    assert_non_null(strstr(text, "nsecs "));
    assert_non_null(strstr(text, "64 -> 127 "));
    assert_non_null(strstr(text, ": 90 "));
    assert_non_null(strstr(text, "|****************************************|\n"));
    assert_non_null(strstr(text, "4096 -> 8191 "));
    assert_null(strstr(text, "32 -> 63 "));
    assert_null(strstr(text, "8192 -> "));
    assert_int_equal(count_of(text, '\n'), 1 + 7); /* the head, buckets 6 to 12 */
    assert_int_equal(count_of(text, '*'), 40 + 4);

    const struct hist none = {0};
    _cleanup_free_ char *head = printed(&none);
    assert_int_equal(count_of(head, '\n'), 1);
}

static void test_print_extremes(void **state)
{
    (void)state;
    struct hist h = {0};

    hist_add(&h, UINT64_MAX);
    h.bucket[63] = UINT64_MAX;
    _cleanup_free_ char *text = printed(&h);
    assert_non_null(strstr(text, "9223372036854775808 -> 18446744073709551615"));
    assert_int_equal(count_of(text, '*'), 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_bounds_are_seamless),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_mode_is_the_lowest_of_equals),
        cmocka_unit_test(test_sum_saturates),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_print_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
