/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "macros.h"
#include "sim.h"
#include "take.h"

/* Any text is a scenario or an error of one line; and what is a scenario runs, cut down to what a
 * fuzzer has time for, and keeps its books. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const char *error)
{
    require(error[0] != '\0' && memchr(error, '\0', SCENARIO_ERROR) != NULL);
}

static void shrink(struct scenario *s)
{
    struct machine *m = &s->machine;
    uint64_t *const costs[] = {&m->free_fixed, &m->free_page,     &m->free_outside, &m->alloc_fixed,
                               &m->alloc_page, &m->alloc_outside, &m->reclaim_page};

    for (size_t i = 0; i < ARRAY_SIZE(costs); i++)
        *costs[i] = MAX(*costs[i], UINT64_C(20000));
    m->managed = MIN(m->managed, UINT64_C(1) << 18);
    m->low = MIN(m->low, m->managed / 4);
    m->free = MIN(m->free, m->managed);
    s->run.time = MIN(s->run.time, 4 * NSEC_PER_MSEC);
    s->run.sample = MAX(s->run.sample, NSEC_PER_USEC * 100);
    s->n_workloads = MIN(s->n_workloads, 4U);
    for (uint32_t i = 0; i < s->n_workloads; i++) {
        struct workload *w = &s->workloads[i];
        w->tasks = MIN(w->tasks, UINT64_C(8));
        w->size = MIN(w->size, UINT64_C(8192));
        w->start = MIN(w->start, NSEC_PER_MSEC);
        w->spread = MIN(w->spread, NSEC_PER_MSEC);
        w->every = MIN(w->every, NSEC_PER_MSEC);
        w->pause = MIN(w->pause, NSEC_PER_MSEC);
    }
    for (uint32_t i = 0; i < s->n_writes; i++)
        s->writes[i].at = MIN(s->writes[i].at, 2 * NSEC_PER_MSEC);
    for (uint32_t i = 0; i < s->n_hotplugs; i++)
        s->hotplugs[i].at = MIN(s->hotplugs[i].at, (i + 1) * NSEC_PER_MSEC);
}

static void run(struct scenario *s)
{
    struct sim *sim;

    shrink(s);
    if (s->machine.cpus > 256 || sim_new(s, &sim) < 0)
        return;
    sim_run(sim);
    const struct sim_result *r = sim_get_result(sim);
    require(r->simulated <= s->run.time && r->n_decisions <= SIM_DECISIONS);
    require(r->held_ns <= r->simulated * s->machine.nodes + NSEC_PER_SEC);
    sim_free(sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct scenario s;
    char error[SCENARIO_ERROR] = "";

    scenario_init(&s);
    int r = scenario_parse("none/fuzz.ini", (const char *)data, size, &s, error);
    if (r == 0)
        r = scenario_check(&s, error);
    if (r < 0)
        check_error(error);
    else
        run(&s);
    return 0;
}
