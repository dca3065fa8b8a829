/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bystander.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "child.h"
#include "clock.h"

/* Samples of 8 bytes. A fault takes 0.25 us or more, so these last for a storm of a second at the
 * very least; the phases around it are of 100 ms. */
#define SAMPLES_DURING (UINT64_C(4) << 20)
#define SAMPLES_AROUND (UINT64_C(512) << 10)
#define SAMPLES_ALL (SAMPLES_DURING + 2 * SAMPLES_AROUND)

static const struct {
    size_t first;
    size_t room;
} slots[PHASES] = {
    [PHASE_BEFORE] = {0, SAMPLES_AROUND},
    [PHASE_DURING] = {SAMPLES_AROUND, SAMPLES_DURING},
    [PHASE_AFTER] = {SAMPLES_AROUND + SAMPLES_DURING, SAMPLES_AROUND},
};

/* In memory that both processes map, touched before the first sample. */
struct records {
    _Atomic int phase; /* parent to bystander */
    _Atomic int seen;  /* bystander to parent: the phase at the start of the present fault */
    bool fifo;
    bool locked;
    struct hist hist[PHASES];
    uint64_t samples[SAMPLES_ALL];
};

struct bystander {
    struct bystander_options o;
    struct records *records;
    int report_fd;
    pid_t pid;
    nsec_t since;
    nsec_t duration[PHASES];
};

uint64_t bystander_overhead(void)
{
    return sizeof(struct records);
}

static void record(struct records *r, int before, int after, uint64_t ns)
{
    int phase = after == PHASE_DURING ? PHASE_DURING : before;
    if (phase == PHASE_IDLE || (phase != PHASE_DURING && after != before))
        return;

    uint64_t n = r->hist[phase].count;
    if (n < slots[phase].room)
        r->samples[slots[phase].first + n] = ns;
    hist_add(&r->hist[phase], ns);
}

static void lap(struct records *r, volatile char *region, size_t size, size_t page)
{
    for (size_t at = 0; at < size; at += page) {
        int before = atomic_load_explicit(&r->phase, memory_order_acquire);
        atomic_store_explicit(&r->seen, before, memory_order_release);
        nsec_t start = clock_monotonic();
        region[at] = 1;
        nsec_t end = clock_monotonic();
        record(r, before, atomic_load_explicit(&r->phase, memory_order_acquire), end - start);
    }
}

static void settle(const struct bystander *b)
{
    if (b->o.place == BYSTANDER_CPU) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(b->o.cpu, &set);
        if (sched_setaffinity(0, sizeof(set), &set) < 0)
            child_fail(b->report_fd, -errno, "the bystander's CPU");
    }
    struct sched_param param = {.sched_priority = 1};
    b->records->fifo = b->o.fifo && sched_setscheduler(0, SCHED_FIFO, &param) == 0;
    /* Before the region is mapped: only its faults are to be measured, and no others. */
    b->records->locked = mlockall(MCL_CURRENT) == 0;
}

static void bystander_main(void *arg)
{
    struct bystander *b = arg;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (size_t)b->o.size;

    settle(b);
    char *region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED)
        child_fail(b->report_fd, -errno, "the bystander's memory");
    madvise(region, size, MADV_NOHUGEPAGE);
    for (bool said = false;; said = true) {
        lap(b->records, region, size, page);
        madvise(region, size, MADV_DONTNEED);
        if (!said)
            child_say(b->report_fd, 0, 0);
    }
}

static int start(struct bystander *b)
{
    b->records = mmap(NULL, sizeof(*b->records), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (b->records == MAP_FAILED)
        return -errno;
    atomic_init(&b->records->phase, PHASE_IDLE);
    atomic_init(&b->records->seen, PHASE_IDLE);
    b->pid = child_spawn(bystander_main, b);
    if (b->pid < 0)
        munmap(b->records, sizeof(*b->records));
    return MIN(b->pid, 0);
}

int bystander_new(const struct bystander_options *o, int report_fd, struct bystander **ret)
{
    struct bystander *b = calloc(1, sizeof(*b));
    if (!b)
        return -ENOMEM;
    b->o = *o;
    b->report_fd = report_fd;
    int r = start(b);
    if (r < 0)
        free(b);
    else
        *ret = b;
    return r;
}

struct bystander *bystander_free(struct bystander *b)
{
    if (!b)
        return NULL;
    child_end(b->pid);
    munmap(b->records, sizeof(*b->records));
    free(b);
    return NULL;
}

bool bystander_is_fifo(const struct bystander *b)
{
    return b->records->fifo;
}

bool bystander_is_locked(const struct bystander *b)
{
    return b->records->locked;
}

void bystander_phase(struct bystander *b, enum phase phase, nsec_t now)
{
    if (!b)
        return;
    int last = atomic_load_explicit(&b->records->phase, memory_order_relaxed);
    if (last != PHASE_IDLE)
        b->duration[last] = now - b->since;
    b->since = now;
    atomic_store_explicit(&b->records->phase, phase, memory_order_release);
}

bool bystander_is_idle(const struct bystander *b)
{
    return atomic_load_explicit(&b->records->seen, memory_order_acquire) == PHASE_IDLE;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Nearest rank: the smallest sample that at least that share of all does not exceed. */
static uint64_t exact_quantile(const uint64_t *sorted, uint64_t n, unsigned per_mille)
{
    return n ? sorted[(n * per_mille + 999) / 1000 - 1] : 0;
}

static void summarise(struct phase_result *p, uint64_t *samples, size_t room)
{
    uint64_t n = p->hist.count;

    p->exact = n <= room;
    if (!p->exact) {
        p->p50 = hist_quantile(&p->hist, 0.5);
        p->p99 = hist_quantile(&p->hist, 0.99);
        p->p999 = hist_quantile(&p->hist, 0.999);
        return;
    }
    qsort(samples, (size_t)n, sizeof(*samples), compare_u64);
    p->p50 = exact_quantile(samples, n, 500);
    p->p99 = exact_quantile(samples, n, 990);
    p->p999 = exact_quantile(samples, n, 999);
}

void bystander_collect(struct bystander *b, struct phase_result ret[static PHASES])
{
    for (int i = 0; i < PHASES; i++) {
        ret[i] = (struct phase_result){.duration = b->duration[i], .hist = b->records->hist[i]};
        summarise(&ret[i], b->records->samples + slots[i].first, slots[i].room);
    }
    memset(b->records->hist, 0, sizeof(b->records->hist));
    memset(b->duration, 0, sizeof(b->duration));
}
