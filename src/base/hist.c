/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hist.h"

#include <inttypes.h>

/* The width of funclatency's bars. */
#define BAR_WIDTH 40

static unsigned bucket_of(uint64_t v)
{
    return v ? 63U - (unsigned)__builtin_clzll(v) : 0;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

void hist_add(struct hist *h, uint64_t v)
{
    h->bucket[bucket_of(v)]++;
    h->count++;
    h->sum = add_saturated(h->sum, v);
    h->max = MAX(h->max, v);
}

int hist_mode(const struct hist *h)
{
    unsigned best = 0;

    for (unsigned k = 1; k < HIST_BUCKETS; k++)
        if (h->bucket[k] > h->bucket[best])
            best = k;
    return h->bucket[best] ? (int)best : -1;
}

uint64_t hist_lo(unsigned k)
{
    return k ? UINT64_C(1) << k : 0;
}

uint64_t hist_hi(unsigned k)
{
    return UINT64_MAX >> (63U - k);
}

uint64_t hist_quantile(const struct hist *h, double q)
{
    double wanted = CLAMP(q, 0.0, 1.0) * (double)h->count;
    uint64_t below = 0;

    for (unsigned k = 0; k < HIST_BUCKETS; k++) {
        below += h->bucket[k];
        if (h->bucket[k] && (double)below >= wanted)
            return MIN(hist_hi(k), h->max);
    }
    return h->max;
}

double hist_mean(const struct hist *h)
{
    return h->count ? (double)h->sum / (double)h->count : 0;
}

static void print_row(const struct hist *h, unsigned k, uint64_t most, int width, FILE *f)
{
    static const char stars[] = "****************************************";
    _Static_assert(sizeof(stars) == BAR_WIDTH + 1, "the bar has its full width");
    int len = (int)((double)h->bucket[k] / (double)most * BAR_WIDTH);

    fprintf(f, "%*" PRIu64 " -> %-*" PRIu64 " : %-10" PRIu64 "|%-*.*s|\n", width, hist_lo(k), width,
            hist_hi(k), h->bucket[k], BAR_WIDTH, len, stars);
}

void hist_print(const struct hist *h, const char *unit, FILE *f)
{
    int mode = hist_mode(h);
    unsigned first = 0;
    unsigned last = HIST_BUCKETS - 1;

    while (first < last && !h->bucket[first])
        first++;
    while (last > first && !h->bucket[last])
        last--;
    int width = last < 32 ? 10 : 20; /* decimal digits of hist_hi(last), as funclatency has it */
    fprintf(f, "%*s%*s : %-10sdistribution\n", width, unit, width + 4, "", "count");
    for (unsigned k = first; mode >= 0 && k <= last; k++)
        print_row(h, k, h->bucket[mode], width, f);
}
