/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "eventq.h"
#include "rng.h"
#include "waits.h"

/* The reference implementation of Blackman and Vigna, state 1, 2, 3, 4. */
static void test_rng_reference(void **state)
{
    (void)state;
    static const uint64_t expected[] = {UINT64_C(11520), UINT64_C(0), UINT64_C(1509978240),
                                        UINT64_C(1215971899390074240)};
    struct rng r = {{1, 2, 3, 4}};

    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_int_equal(rng_next(&r), expected[i]);
    rng_seed(&r, 0); /* splitmix64 of 0 */
    assert_int_equal(r.s[0], UINT64_C(0xe220a8397b1dcdaf));
    assert_int_equal(r.s[1], UINT64_C(0x6e789e6aa1b965f4));
}

static void test_rng_below(void **state)
{
    (void)state;
    struct rng r;
    unsigned seen[5] = {0};

    rng_seed(&r, 1);
    assert_int_equal(rng_below(&r, 0), 0);
    assert_int_equal(rng_below(&r, 1), 0);
    for (unsigned i = 0; i < 5000; i++)
        seen[rng_below(&r, 5)]++;
    for (unsigned i = 0; i < 5; i++)
        assert_in_range(seen[i], 900, 1100);
}

static void test_jitter(void **state)
{
    (void)state;
    struct jitter j;
    struct rng r;
    uint64_t sum = 0;

    rng_seed(&r, 1);
    jitter_init(&j, 0);
    assert_int_equal(jitter_apply(&j, &r, 123456789), 123456789);
    jitter_init(&j, 50);
    for (unsigned i = 0; i < JITTER_QUANTILES; i++)
        sum += j.factor[i];
    assert_in_range(sum / JITTER_QUANTILES, JITTER_ONE - 1, JITTER_ONE + 1);
    /* median of a log-normal distribution of mean 1: exp(-sigma^2 / 2) = 0.8825 */
    assert_in_range(j.factor[JITTER_QUANTILES / 2], 57700, 58000);
}

/* Owners are set, moved and cleared at random; what comes first is compared with a plain array. */
static void test_eventq_model(void **state)
{
    (void)state;
    enum { OWNERS = 37 };
    nsec_t at[OWNERS];
    uint64_t seq[OWNERS], now = 0;
    struct eventq q;
    struct rng r;

    rng_seed(&r, 7);
    assert_int_equal(eventq_init(&q, OWNERS), 0);
    for (unsigned i = 0; i < OWNERS; i++)
        at[i] = NSEC_INFINITY;
    for (unsigned step = 0; step < 20000; step++) {
        uint32_t o = (uint32_t)rng_below(&r, OWNERS), best = OWNERS, got;
        nsec_t got_at;
        if (rng_below(&r, 3) == 0) {
            eventq_clear(&q, o);
            at[o] = NSEC_INFINITY;
        } else {
            at[o] = rng_below(&r, 50);
            seq[o] = now++;
            eventq_set(&q, o, at[o]);
        }
        for (uint32_t i = 0; i < OWNERS; i++)
            if (at[i] != NSEC_INFINITY &&
                (best == OWNERS || at[i] < at[best] || (at[i] == at[best] && seq[i] < seq[best])))
                best = i;
        assert_int_equal(eventq_first(&q, &got_at, &got), best != OWNERS);
        if (best != OWNERS) {
            assert_int_equal(got, best);
            assert_int_equal(got_at, at[best]);
        }
    }
    eventq_done(&q);
}

static void test_waits(void **state)
{
    (void)state;
    static const nsec_t table[] = {0, 1, 15, 16, 17, 1000, 123456, 188415, UINT64_MAX};

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct waits w = {0};
        assert_int_equal(waits_quantile(&w, 0.5), 0);
        waits_add(&w, table[i]);
        nsec_t q = waits_quantile(&w, 0.99);
        assert_true(q >= table[i] && q - table[i] <= table[i] / WAITS_SUB);
    }

    struct waits w = {0};
    for (nsec_t i = 1; i <= 1000; i++)
        waits_add(&w, i * 1000);
    assert_in_range(waits_quantile(&w, 0.5), 500000, 532000);
    assert_in_range(waits_quantile(&w, 0.99), 990000, 1052000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rng_reference), cmocka_unit_test(test_rng_below),
        cmocka_unit_test(test_jitter),        cmocka_unit_test(test_eventq_model),
        cmocka_unit_test(test_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
