/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "batchcost.h"

#define TABLE TEST_DATA "/measurements/huang_batch_latency.csv"

/* Each published row against the one of the same machine at batch 63: what is predicted for going
 * back to 63 is what was measured, within noise. Cascade Lake's rows rise and fall by 4 % from one
 * to the next. */
static void test_published(void **state)
{
    (void)state;
    char line[256], machine[64] = "", name[64];
    double smallest = 0;
    unsigned rows = 0;

    FILE *f = fopen(TABLE, "re");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof(line), f));
    while (fgets(line, sizeof(line), f)) {
        unsigned batch;
        double throughput;
        assert_int_equal(sscanf(line, "%63[^,],%u,%lf", name, &batch, &throughput), 3);
        if (batch == 63) {
            snprintf(machine, sizeof(machine), "%s", name);
            smallest = throughput;
            continue;
        }
        assert_string_equal(machine, name);
        struct batch_cost c = batch_cost(batch, 63);
        double measured = 100 * (1 - smallest / throughput);
        if (measured > c.worst / 100.0 + 0.2 && batch > 511)
            fail_msg("%s, %u: measured %.2f%%, at worst %.2f%%", name, batch, measured,
                     c.worst / 100.0);
        if (strstr(name, "Cascade") == NULL &&
            (measured < c.typical / 100.0 - 1.1 || measured > c.typical / 100.0 + 0.5))
            fail_msg("%s, %u: measured %.2f%%, typically %.2f%%", name, batch, measured,
                     c.typical / 100.0);
        rows++;
    }
    fclose(f);
    assert_int_equal(rows, 24);
}

static void test_costs(void **state)
{
    (void)state;
    static const struct {
        uint32_t before, after, typical, worst;
    } table[] = {
        {2016, 189, 89, 190}, {2016, 63, 279, 585},
        {6329, 189, 95, 204}, {63, 63, 0, 0},
        {63, 2016, 0, 0},     {2016, 0, 0, 0},
        {0, 0, 0, 0},         {UINT32_MAX, 1, 6516, 8020},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct batch_cost c = batch_cost(table[i].before, table[i].after);
        if (c.typical != table[i].typical || c.worst != table[i].worst)
            fail_msg("%u to %u: %u and %u", table[i].before, table[i].after, c.typical, c.worst);
    }
    for (uint32_t b = 1; b < 10000; b++) /* a shorter hold never costs less */
        assert_true(batch_cost(10000, b).typical >= batch_cost(10000, b + 1).typical);
}

/* The least hold whose loss is allowed, and none shorter. */
static void test_least(void **state)
{
    (void)state;
    static const uint32_t before[] = {1, 9, 63, 189, 2016, 6329, 1000000};
    static const uint32_t losses[] = {1, 89, 100, 500, 1000, 5000, 9999, 10000};

    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        for (size_t j = 0; j < sizeof(losses) / sizeof(losses[0]); j++) {
            uint32_t least = batch_least(before[i], losses[j]);
            assert_true(least <= before[i]);
            assert_true(batch_cost(before[i], least).typical <= losses[j]);
            if (least > 2 && batch_cost(before[i], least - 2).typical < losses[j])
                fail_msg("%u at %u: %u is not the least", before[i], losses[j], least);
        }
        assert_int_equal(batch_least(before[i], 0), before[i]);
        assert_int_equal(batch_least(before[i], UINT32_MAX), batch_least(before[i], 10000));
    }
    assert_int_equal(batch_least(2016, 500), 35); /* MaxLoss=5%: below every floor of 4K pages */
    assert_int_equal(batch_least(0, 500), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
