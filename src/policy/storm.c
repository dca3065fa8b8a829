/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "storm.h"

#define MSEC UINT64_C(1000000)

/* On a large machine a storm is large too: 512 MiB of 1 TiB, 3 ms of one lock. A build with forty
 * processes of 50 MB in flight, and two of them exiting, is none. */
#define STORM_SHARE 2048

/* Without taskstats: of storm_pages(), gone between two looks. */
#define SUSPICIOUS_SHARE 8

/* A task that frees at all frees 7000 pages a millisecond; under three times as many runnable
 * tasks as CPUs it still had its turn after 12 ms. What has freed nothing by then is no storm. */
#define DOUBT_AFTER (12 * MSEC)
/* ... but beside many more, where somebody waits for a CPU nearly all the time, it had none for far
 * longer: by a load of 10 on 2 CPUs every other storm was taken for a false alarm. */
#define CPU_FULL 8000 /* avg10 of PSI cpu some, 1/100 of a percent */
#define DOUBT_LATE (100 * MSEC)
#define DOUBT_BASE (8 * MSEC) /* at least so long must the measurement have lasted */
#define PROOF_PAGES 16384     /* 64 MiB that went, or a quarter of what was announced */
#define PROOF_SHARE 4
#define FREED_SHARE                                                                                \
    4 /* of what was announced, freed by whomever: new memory may hide the old's end */
#define FREED_PAGES 32768 /* or 128 MiB of it: more than others free in 12 ms */

/* Times what such exits freed before: then this is another kind of storm. */
#define EXCEEDS 2

/* Of what was announced, when the last task is gone. Not judged unless the first reading came in
 * the first quarter: what was freed before it is not measured. */
#define LITTLE_SHARE 8
#define LITTLE_WHOLE 4

/* Measured as a whole: the first reading came in the first twentieth of it. */
#define WHOLE_SHARE 20

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

uint64_t storm_pages(const struct params *p, const struct snapshot *s)
{
    uint64_t share = zone_table_managed(s->zones) / STORM_SHARE,
             least = p->storm_size / s->host->page_size;
    return share > least ? share : least;
}

bool storm_in_flight(const struct params *p, const struct snapshot *s, const struct estimate *est)
{
    if (est->starting)
        return est->tasks > 0;
    if (s->signals[SIGNAL_TASKSTATS])
        return s->tasks > 0;
    return est->tasks > 0 && est->pages >= storm_pages(p, s) / SUSPICIOUS_SHARE;
}

/* Groups are forgotten in calm alone: those with tasks in flight since before bring along what has
 * ended before. */
static void leave_out(struct storm *st, const struct snapshot *s, const struct estimate *est)
{
    uint32_t total = est->tasks_total > s->tasks ? est->tasks_total : s->tasks;

    if (total == 0)
        return;
    st->tasks_before = total - s->tasks;
    st->announced_before = est->announced / total * st->tasks_before;
    st->bounded_before = est->bounded_total - est->bounded;
}

static uint64_t doubt_after(const struct snapshot *s)
{
    bool full = s->signals[SIGNAL_PSI] && s->psi_cpu_some.avg10_centi >= CPU_FULL;
    return full ? DOUBT_LATE : DOUBT_AFTER;
}

void storm_begin(struct storm *st, uint64_t id, const struct snapshot *s,
                 const struct estimate *est, uint64_t now)
{
    *st = (struct storm){.on = true,
                         .starting = est->starting,
                         .id = id,
                         .begin = now,
                         .tuned = st->tuned, /* of a start storm that this one takes over from */
                         .tuned_since = st->tuned_since,
                         .message_at = est->starting ? 0 : s->message_at,
                         .doubt_at = now + doubt_after(s)};
    if (s->signals[SIGNAL_TASKSTATS] && !est->starting) {
        leave_out(st, s, est);
        return;
    }
    /* What vmstat shows going is gone: it needs no other proof. */
    st->proven = true;
    st->base = s->vm;
}

void storm_note(struct storm *st, const struct snapshot *s, const struct estimate *est,
                bool vm_fresh)
{
    st->expected = est->expected;
    if (st->starting) {
        st->announced = est->announced > st->announced ? est->announced : st->announced;
        st->tasks_total = est->tasks > st->tasks_total ? est->tasks : st->tasks_total;
    } else if (s->signals[SIGNAL_TASKSTATS]) {
        st->announced = less(est->announced, st->announced_before);
        st->bounded = less(est->bounded_total, st->bounded_before);
        st->tasks_total = (uint32_t)less(est->tasks_total, st->tasks_before);
    } else if (vm_fresh) {
        st->announced += est->announced;
        st->bounded += est->bounded_total;
        st->tasks_total = est->tasks > st->tasks_total ? est->tasks : st->tasks_total;
    }
}

void storm_note_vm(struct storm *st, const struct vm_counters *vm)
{
    if (vm->at < st->begin)
        return;
    if (!st->base.valid)
        st->base = *vm;
    st->last = *vm;
    if (!st->measured)
        st->freed = vm_freed(&st->base, &st->last);
    st->measured = st->empty_at != 0 && vm->at >= st->empty_at;
}

static uint64_t anon_gone(const struct storm *st)
{
    return st->base.valid ? less(st->base.nr_anon, st->last.nr_anon) : 0;
}

bool storm_freeing(const struct storm *st)
{
    uint64_t proof = st->bounded / PROOF_SHARE, freed = st->bounded / FREED_SHARE;
    return anon_gone(st) >= (proof < PROOF_PAGES ? proof : PROOF_PAGES) ||
           st->freed >= (freed < FREED_PAGES ? freed : FREED_PAGES);
}

bool storm_exceeds(const struct storm *st)
{
    uint64_t gone = anon_gone(st);
    return (gone > st->freed ? gone : st->freed) > EXCEEDS * st->expected;
}

bool storm_disbelieved(const struct storm *st, uint64_t now)
{
    return st->base.valid && !st->proven && !storm_freeing(st) && now >= st->doubt_at &&
           st->last.at >= st->base.at + DOUBT_BASE;
}

/* The first reading came within the first part of the storm. */
static bool measured_from(const struct storm *st, uint64_t part)
{
    return st->measured && st->base.valid &&
           st->empty_at - st->begin >= part * (st->base.at - st->begin);
}

bool storm_freed_little(const struct storm *st, uint64_t storm_pages)
{
    return !st->starting && measured_from(st, LITTLE_WHOLE) &&
           (st->freed < storm_pages / 2 || st->freed < st->bounded / LITTLE_SHARE);
}

void storm_learn(const struct storm *st, const struct snapshot *s, struct yields *y)
{
    if (st->starting || (!st->doubted && !measured_from(st, WHOLE_SHARE)))
        return;
    for (uint32_t i = 0; i < s->n_groups; i++)
        yield_learn(y, s->groups[i].id, st->bounded, st->freed);
}

void storm_evidence(const struct storm *st, uint64_t now, struct evidence_numbers *w)
{
    w->starting = st->starting;
    w->storm_id = st->id;
    w->tasks_total = st->tasks_total;
    w->announced = st->announced;
    w->freed = st->freed;
    w->message_at = st->message_at;
    w->since = now - st->begin;
}
