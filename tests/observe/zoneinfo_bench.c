/* SPDX-License-Identifier: GPL-2.0-or-later */

/* zoneinfo-bench: MB/s of zoneinfo_parse() over a file of 256 CPUs, and the allocations of its
 * warm runs. Exit status 0 where it is fast enough and allocates nothing. Figures depend on the
 * machine: this is no test. */

#include "zoneinfo.h"

#include "alloc_count.h"
#include "clock.h"
#include "synth_zoneinfo.h"

#define ROUNDS 9
#define ROUND_TIME (100 * NSEC_PER_MSEC)
#define MIN_MB_S 500.0

/* Parses for about ROUND_TIME. Returns MB/s, negative on error. */
static double bench_round(const char *text, size_t len, struct zone_table *t)
{
    struct parse_error error;
    uint64_t runs = 0;
    nsec_t start = clock_monotonic(), now = start;

    for (; now - start < ROUND_TIME; runs++, now = clock_monotonic())
        if (zoneinfo_parse(text, len, t, &error) < 0)
            return -1;
    return (double)(runs * len) * 1e3 / (double)(now - start);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool bench(const struct synth_machine *m)
{
    struct zone_table t = {0};
    double rate[ROUNDS];
    size_t len;

    _cleanup_free_ char *text = synth_zoneinfo(m, &len);
    if (!text || bench_round(text, len, &t) < 0)
        return false;
    uint64_t before = alloc_count();
    for (unsigned i = 0; i < ROUNDS; i++)
        rate[i] = bench_round(text, len, &t);
    uint64_t allocations = alloc_count() - before;
    qsort(rate, ROUNDS, sizeof(rate[0]), compare);
    printf("%-36s %7zu bytes  %4u lists  %5.0f MB/s median (%.0f to %.0f)  %llu allocations\n",
           m->name, len, t.n_lists, rate[ROUNDS / 2], rate[0], rate[ROUNDS - 1],
           (unsigned long long)allocations);
    zone_table_done(&t);
    return rate[ROUNDS / 2] >= MIN_MB_S && allocations == 0;
}

int main(void)
{
    static const char *const names[] = {"SYNTHETIC-x86-6.1-256cpu-1T",
                                        "SYNTHETIC-x86-6.18-256cpu-1T"};
    bool good = true;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        good = bench(synth_machine(names[i])) && good;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
