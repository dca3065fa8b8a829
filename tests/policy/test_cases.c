/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hostfacts.h"
#include "pcp.h"
#include "recommend.h"
#include "rig.h"

/* Public reports of trouble with the lists, and what pcptuned does in each. What it does not do,
 * though one could ask for it, is listed in src/sim/README.md. */

#define GIB UINT64_C(1024) /* MiB */

static struct rig r;

static void begin(const struct machine *m)
{
    rig_start(&r, m);
    r.truth.nr_anon = UINT64_C(900) << 30 >> 12;
}

static int stop(void **state)
{
    (void)state;
    rig_stop(&r);
    return 0;
}

/* n tasks of mib begin to exit, one every millisecond, and each frees 30 MiB a millisecond. */
static void exits(uint32_t n, uint64_t mib)
{
    for (uint32_t i = 0; i < n; i++) {
        rig_exits(&r, 0, 1, mib, (int64_t)(n * mib), 0);
        rig_look(&r);
        r.now += MS;
        rig_freed(&r, 30);
    }
}

/* They are gone, and the hold time is over. */
static void over(uint32_t n, uint64_t mib)
{
    rig_freed(&r, n * (mib > 60 ? mib - 60 : mib));
    rig_gone(&r, 0, n, 0);
    rig_look(&r);
    rig_pass(&r, r.params.hold + 100 * MS);
}

/* Time in which nobody exits: pages come and go, anonymous memory stays but for some noise. */
static void churn(unsigned seconds, uint64_t pages_per_s)
{
    for (unsigned i = 0; i < 10 * seconds; i++) {
        r.now += 100 * MS;
        r.truth.pgfree += pages_per_s / 10;
        r.truth.pgalloc += pages_per_s / 10;
        r.truth.pgfault += pages_per_s / 10;
        r.truth.nr_anon = (UINT64_C(900) << 30 >> 12) - UINT64_C(1000) * (i % 2);
        assert_int_equal(rig_look(&r), PLAN_NONE);
    }
}

/* The same, whichever signal is there to mislead. */
static void churn_is_left_alone(const struct machine *m, uint64_t pages_per_s)
{
    for (unsigned taskstats = 0; taskstats < 2; taskstats++) {
        begin(m);
        r.s.signals[SIGNAL_TASKSTATS] = taskstats;
        churn(60, pages_per_s);
        assert_int_equal(r.sets, 0);
        if (!taskstats)
            rig_stop(&r);
    }
}

static struct pcp_limits limits(const struct machine *m, int fraction)
{
    struct pcp_zone z = {m->managed, m->low, m->cpus / m->nodes, m->batch};
    return pcp_limits(m->regime, &z, fraction, 5);
}

static struct recommendations list;

static void advise(const struct machine *m, const char *release)
{
    begin(m);
    snprintf(r.host.release, sizeof(r.host.release), "%s", release);
    struct recommend_input in = {.host = &r.host,
                                 .zones = &r.table,
                                 .params = &r.params,
                                 .knobs_known = true,
                                 .knobs = r.sysctl};
    recommend(&in, &list);
}

static const struct recommendation *advice(const char *id)
{
    for (uint32_t i = 0; i < list.n; i++) {
        if (strcmp(list.item[i].id, id) == 0)
            return &list.item[i];
    }
    return NULL;
}

/* 1: 18 x 6 GB exit on 256 CPUs, 6.1.y: detect it, go to the floor, restore later.
 * https://lore.kernel.org/linux-mm/20240707094956.94654-1-laoar.shao@gmail.com/
 * On a simulated machine: scripts/proofs/closed-loop. */
static void test_1_exit_storm(void **state)
{
    (void)state;
    begin(&MACHINE_R2);
    exits(18, 6 * GIB);
    assert_true(r.sysctl.value[KNOB_FRACTION] >= 4509);
    assert_int_equal(r.acted.why.b_after, 189);
    assert_in_range(r.sets, 1, 5);
    over(18, 6 * GIB);
    assert_int_equal(r.acted.reason, REASON_CALM);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
}

/* 2: soft lockups on 316 CPUs. Up to 6.18 shorter lists help; from 6.19 on leave it alone.
 * https://lkml.kernel.org/r/20251014145011.3427205-1-joshua.hahnjy@gmail.com
 * On a simulated machine: scripts/proofs/do-nothing. */
static void test_2_soft_lockup(void **state)
{
    (void)state;
    struct machine m = MACHINE_R4;

    m.cpus = 316;
    begin(&m);
    exits(300, 2 * GIB);
    assert_true(r.sets > 0);
    assert_int_equal(r.acted.why.b_before, 2016);
    assert_int_equal(r.acted.why.b_after, 189);
    over(300, 2 * GIB);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
    rig_stop(&r);

    m.regime = REGIME_R5;
    begin(&m);
    exits(300, 2 * GIB);
    over(300, 2 * GIB);
    assert_int_equal(r.sets, 0);
    assert_int_equal(r.plan.reason, REASON_NO_GAIN);
    assert_true(r.plan.report);
}

/* For so many ms tasks fault in 60 MiB in each, and give `back` percent of it back. */
static void starts(unsigned ms, unsigned back)
{
    for (unsigned i = 0; i < ms / 20; i++) {
        r.now += 20 * MS;
        r.truth.pgalloc += UINT64_C(1200) * PAGES_PER_MIB;
        r.truth.pgfault += UINT64_C(1200) * PAGES_PER_MIB;
        r.truth.pgfree += UINT64_C(12) * back * PAGES_PER_MIB;
        rig_look(&r);
    }
}

static const enum regime BATCHES[] = {REGIME_R4, REGIME_R5, REGIME_R6}; /* of up to 2016 pages */

/* 3: rmqueue_bulk() keeps interrupts off for 90 ms. A fraction shortens what allocating takes in
 * one hold too: for tasks that start. Who gives back what he takes is no storm.
 * https://lkml.kernel.org/r/20250407180154.63348-1-hannes@cmpxchg.org
 * On a simulated machine: scripts/proofs/closed-loop, scripts/proofs/do-nothing. */
static void test_3_allocating(void **state)
{
    (void)state;
    static const struct machine imx = {"4 CPUs, 2 GB", REGIME_R4, 4, 1, 480000, 4200, 63, false};

    assert_int_equal(limits(&imx, 0).alloc_hold, 2016);
    assert_int_equal(limits(&imx, INT32_MAX).alloc_hold, 189);
    churn_is_left_alone(&imx, 500000);
    for (size_t i = 0; i < sizeof(BATCHES) / sizeof(BATCHES[0]); i++) {
        struct machine m = MACHINE_R4;
        m.regime = BATCHES[i];
        m.scale_knob = m.regime == REGIME_R6;
        rig_stop(&r);
        begin(&m);
        starts(1000, 60);
        assert_int_equal(r.sets, 0);
        starts(200, 0);
        assert_int_equal(r.sets, 1);
        assert_int_equal(r.acted.why.b_before, 2016);
        assert_int_equal(limits(&m, r.sysctl.value[KNOB_FRACTION]).alloc_hold, 189);
        rig_pass(&r, 2 * r.params.hold); /* they have started */
        assert_int_equal(r.acted.reason, REASON_CALM);
        assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
    }
}

/* 4: hard lockup on more than 425 CPUs, 6.10. Exits: to the floor. That report's pages are freed by
 * an NVMe interrupt, which nothing here announces.
 * https://lore.kernel.org/linux-mm/b68e43d4-91f2-4481-80a9-d166c0a43584@amd.com/ */
static void test_4_hard_lockup(void **state)
{
    (void)state;
    struct machine m = MACHINE_R4;

    m.cpus = 512;
    churn_is_left_alone(&m, 20000000);
    exits(450, GIB);
    assert_int_equal(r.acted.why.b_after, 189);
    over(450, GIB);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
}

/* Each task ends when the next one has begun. */
static void endless(unsigned seconds)
{
    for (unsigned i = 0; i < 2 * seconds; i++) {
        rig_exits(&r, 0, 1, GIB, -1, 0);
        rig_look(&r);
        if (i > 0)
            rig_gone(&r, 0, 1, 0);
        rig_freed(&r, GIB);
        rig_pass(&r, SECOND / 2);
    }
}

/* Ticks with so many pages a second taken and given back, and plenty of memory free. */
static void traffic(unsigned n, uint64_t pages_per_s)
{
    for (unsigned i = 0; i < n; i++) {
        r.now += 10 * SECOND;
        r.truth.pgfree += 10 * pages_per_s;
        r.truth.pgalloc += 10 * pages_per_s;
        rig_look(&r);
    }
}

static void slower_traffic(void)
{
    begin(&MACHINE_R3);
    r.truth.nr_free = r.zones[0].managed / 2;
    traffic(5, 5000000);
    assert_int_equal(r.sets, 1);
    assert_int_equal(r.acted.reason, REASON_CHURN);
    traffic(2, 3500000);
    assert_int_equal(r.acted.reason, REASON_NO_HELP);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
    traffic(100, 5000000);
    assert_int_equal(r.sets, 1);
}

/* 5: iperf3 loses 30 % where the list is flushed too early, and a fraction lowers high_min besides.
 * Network traffic alone makes nobody write it; beside a storm it goes back when the hold time is
 * over, and beside one without an end after TunedMax=. No storm makes lists so short that a page
 * costs more than MaxLoss= allows; and lists that were lengthened for traffic go back where it gets
 * slower.
 * https://lore.kernel.org/linux-mm/20250407105219.55351-1-nikhil.dhama@amd.com/ */
static void test_5_network(void **state)
{
    (void)state;
    assert_true(limits(&MACHINE_R4, 4509).high_min < limits(&MACHINE_R4, 0).high_min);
    churn_is_left_alone(&MACHINE_R4, 5000000);

    exits(18, 6 * GIB);
    assert_true(r.sysctl.value[KNOB_FRACTION] > 0);
    rig_freed(&r, 100 * GIB);
    rig_gone(&r, 0, 18, 0);
    for (unsigned i = 0; i < 12; i++) {
        r.now += 100 * MS;
        r.truth.pgfree += 500000;
        r.truth.pgalloc += 500000;
        rig_look(&r);
    }
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
    rig_stop(&r);

    begin(&MACHINE_R2);
    endless(200);
    assert_int_equal(r.acted.reason, REASON_TOO_LONG);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
    assert_in_range(r.sets, 1, 2);
    rig_stop(&r);

    begin(&MACHINE_R6); /* where b could be as small as 63 */
    r.params.target_wait = US;
    r.params.max_loss = 1;
    exits(18, 6 * GIB);
    assert_in_range(r.acted.why.b_after, 64, 2015);
    assert_true(r.acted.why.loss <= 100);
    rig_stop(&r);

    slower_traffic();
}

/* 6: latency when a whole list is drained, before 6.1.104 and 6.6.45: a short list bounds that. And
 * no write of ours is to cause such a drain.
 * https://lkml.kernel.org/r/20240318200736.2835502-1-l.stach@pengutronix.de */
static void test_6_drain(void **state)
{
    (void)state;
    assert_int_equal(limits(&MACHINE_R2, 0).drain_hold, UINT32_MAX);
    begin(&MACHINE_R2);
    exits(18, 6 * GIB);
    assert_int_equal(limits(&MACHINE_R2, r.sysctl.value[KNOB_FRACTION]).high_max, 4 * 63);
    rig_stop(&r);

    begin(&MACHINE_R4);
    for (uint32_t i = 0; i < r.table.n_lists; i++)
        r.lists[i].count = limits(&MACHINE_R4, 0).high_max;
    exits(18, 6 * GIB);
    over(18, 6 * GIB);
    assert_int_equal(r.sets, 0);
    assert_int_equal(r.plan.reason, REASON_PRICE);
}

static const struct machine SMALL = {"4 CPUs, 4 GB", REGIME_R4, 4, 1, 1000000, 8000, 63, false};

static void hold_324_mib(void)
{
    for (uint32_t i = 0; i < 4; i++)
        r.lists[i].count = 82944 / 4;
    r.truth.nr_free = 300000;
}

/* zone_pcp_disable(), as zoneinfo shows it. */
static void offline(bool on)
{
    for (uint32_t i = 0; i < r.table.n_lists; i++) {
        r.lists[i].high = on ? 0 : 252;
        r.lists[i].batch = on ? 1 : 63;
    }
}

/* 7: pages stay on the lists while memory goes offline: no write where zoneinfo shows that it does,
 * for whatever reason.
 * https://lore.kernel.org/linux-mm/6a07125f-e720-404c-b2f9-e55f3f166e85@fujitsu.com/ */
static void test_7_memory_offline(void **state)
{
    (void)state;
    begin(&MACHINE_R2);
    offline(true);
    exits(18, 6 * GIB);
    assert_int_equal(r.sets, 0);
    offline(false);
    rig_look(&r);
    assert_int_equal(r.sets, 1);
    rig_stop(&r);

    begin(&MACHINE_R4);
    offline(true);
    starts(500, 0);
    assert_int_equal(r.sets, 0);
    rig_stop(&r);

    begin(&MACHINE_R3);
    r.truth.nr_free = r.zones[0].managed / 2;
    offline(true);
    traffic(10, 5000000);
    assert_int_equal(r.sets, 0);
    rig_stop(&r);

    begin(&SMALL);
    hold_324_mib();
    offline(true);
    traffic(2, 0);
    assert_int_equal(r.sets, 0);
    offline(false);
    traffic(1, 0);
    assert_int_equal(r.sets, 1);
}

/* 8: even reading the sysctl hangs while memory goes offline. Unread it is not written; one write
 * that hangs is all there is, and is undone when it has come back, long after the storm.
 * https://lkml.kernel.org/r/20251201060009.1420792-1-aboorvad@linux.ibm.com
 * The daemon's loop meanwhile: scripts/proofs/hang. */
static void test_8_knob_hangs(void **state)
{
    (void)state;
    begin(&MACHINE_R2);
    r.s.knobs_known = false;
    exits(18, 6 * GIB);
    over(18, 6 * GIB);
    assert_int_equal(r.sets, 0);
    assert_int_equal(r.plan.reason, REASON_UNREAD);
    rig_forget(&r);

    r.s.knobs_known = true;
    r.auto_carry_out = false;
    rig_exits(&r, 0, 18, 6 * GIB, -1, 0);
    assert_int_equal(rig_step(&r), PLAN_SET);
    struct plan hangs = r.plan;
    for (unsigned i = 0; i < 60; i++) {
        rig_exits(&r, 0, 4, GIB, -1, 0);
        assert_int_equal(rig_look(&r), PLAN_NONE);
        r.now += SECOND;
    }
    rig_freed(&r, 300 * GIB);
    rig_gone(&r, 0, 18 + 60 * 4, 0);
    assert_int_equal(rig_look(&r), PLAN_NONE);
    r.now += 10 * SECOND;
    r.plan = hangs;
    rig_carry_out(&r);
    r.auto_carry_out = true;
    rig_look(&r);
    rig_pass(&r, r.params.hold + 100 * MS);
    assert_int_equal(r.sets, 1);
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
}

/* 9: a stale batch of 7 on 256 CPUs, 5.3: recognised, and only reported on.
 * https://lore.kernel.org/linux-mm/20191018140959.GK3321@techsingularity.net/ */
static void test_9_stale_batch(void **state)
{
    (void)state;
    static const struct machine epyc = {"EPYC 2, 5.3", REGIME_R1, 256, 2,
                                        33554432,      16384,     7,   false};

    advise(&epyc, "5.3.0");
    const struct recommendation *stale = advice("PCP-STALE-BATCH");
    assert_non_null(stale);
    assert_non_null(strstr(stale->evidence, "has batch 7 where zone_batchsize() gives 63"));
    assert_string_equal(stale->sysctl, "");
    assert_non_null(advice("PCP-KEEP-DEFAULTS"));
    exits(200, GIB);
    over(200, GIB);
    assert_int_equal(r.sets, 0);
}

/* 10: a process of terabytes takes minutes to exit; old kernels have no knob. Where there is one,
 * it is set for a phase: not for minutes.
 * https://lore.kernel.org/linux-mm/20210525080119.5455-1-mgorman@techsingularity.net/ */
static void test_10_giant(void **state)
{
    (void)state;
    begin(&MACHINE_R1);
    exits(1, 800 * GIB);
    over(1, 800 * GIB);
    assert_int_equal(r.sets, 0);
    rig_stop(&r);

    begin(&MACHINE_R2);
    exits(1, 800 * GIB);
    assert_int_equal(r.sets, 1);
    rig_pass(&r, MS);
    rig_freed(&r, 200);                    /* a task alone frees 27 MiB a millisecond */
    for (unsigned i = 0; i < 18000; i++) { /* three minutes, with others in its way */
        rig_freed(&r, 40);
        rig_pass(&r, 10 * MS);
    }
    assert_int_equal(r.restores, 1);
    assert_int_equal(r.acted.reason, REASON_TOO_LONG);
    assert_int_equal(r.sets, 1);
}

/* 11: somebody who changes the fraction on the fly must not flap: storms that follow each other are
 * one, and those that do not share the writes of an hour.
 * https://lore.kernel.org/linux-mm/20210525080119.5455-2-mgorman@techsingularity.net/ */
static void storms(unsigned n, uint64_t pause)
{
    for (unsigned i = 0; i < n; i++) {
        r.truth.nr_anon = UINT64_C(900) << 30 >> 12;
        rig_exits(&r, 0, 18, 256, -1, 0);
        rig_look(&r);
        for (unsigned step = 0; step < 18; step++) {
            rig_freed(&r, 256);
            rig_pass(&r, 10 * MS);
        }
        rig_gone(&r, 0, 18, 0);
        rig_look(&r);
        rig_pass(&r, pause);
        rig_forget(&r);
    }
}

static void test_11_flapping(void **state)
{
    (void)state;
    begin(&MACHINE_R3);
    storms(60, 300 * MS);
    assert_int_equal(r.sets, 1);
    assert_int_equal(r.restores, 0);
    rig_stop(&r);

    begin(&MACHINE_R3);
    storms(1600, 2 * SECOND); /* 59 minutes */
    assert_true(r.sets > 100);
    assert_int_equal(r.sets, r.restores);
    assert_true(r.sets + r.restores <= r.params.writes_per_hour);
}

/* 13: memory in the lists that MemFree does not count. Their sum is said where it is a lot of a
 * small machine, and where a storm would have to drain it; where it is more than MaxHoard= of a
 * small machine, or memory is short, they are bounded.
 * https://lkml.kernel.org/r/20220822033354.952849-1-liushixin2@huawei.com */
static void test_13_hidden_memory(void **state)
{
    (void)state;
    struct machine m = MACHINE_R4;
    char text[512];

    begin(&SMALL);
    hold_324_mib();
    struct recommend_input in = {.host = &r.host,
                                 .zones = &r.table,
                                 .params = &r.params,
                                 .knobs_known = true,
                                 .knobs = r.sysctl};
    recommend(&in, &list);
    assert_non_null(advice("PCP-LISTS-HOARD"));
    assert_non_null(strstr(advice("PCP-LISTS-HOARD")->evidence, "hold 324 MiB of 3906 MiB"));
    traffic(2, 0);
    assert_int_equal(r.sets, 1);
    assert_int_equal(r.acted.reason, REASON_HOARD);
    assert_int_equal(r.acted.why.held, 82944);
    assert_true(r.acted.why.may_hold <= SMALL.managed / 100 * r.params.max_hoard);
    plan_describe(&r.acted, text, sizeof(text));
    assert_non_null(strstr(text, "the CPUs' lists hold 82944 pages"));
    rig_stop(&r);

    m.cpus = 72;
    begin(&m);
    for (uint32_t i = 0; i < 72; i++)
        r.lists[i].count = 252 + 1000;
    in.knobs = r.sysctl;
    recommend(&in, &list);
    assert_non_null(strstr(advice("PCP-STORM-TUNE")->evidence,
                           "The CPUs' lists hold 72000 pages more than that allows now"));
}

/* 14: btrfs reads at 5 MiB/s, for a reason of its own: no storm, no write.
 * https://lore.kernel.org/all/8966c095-cbe7-4d22-9784-a647d1bf27c3@1und1.de */
static void test_14_no_storm(void **state)
{
    (void)state;
    static const struct machine m = {
        "64 CPUs, 380 GB, 6.1.76", REGIME_R2, 64, 2, 49807360, 80000, 63, false};
    churn_is_left_alone(&m, 100000);
    assert_int_equal(engine_get_state(r.engine), ENGINE_CALM);
}

/* 16: contention that short lists make worse (page_fault1, 100G network): the floor is never for
 * good. Taking and giving back does not bring it about, from 6.7 on neither; a storm holds it for
 * the hold time, one without an end, of exits or of starts, for TunedMax=.
 * https://lore.kernel.org/linux-mm/20181017063330.15384-1-aaron.lu@intel.com/ */
static void test_16_floor_is_not_for_good(void **state)
{
    (void)state;
    struct machine m = MACHINE_R3;

    m.cpus = 112;
    churn_is_left_alone(&m, 10000000);
    exits(40, GIB);
    assert_int_equal(r.acted.why.b_after, 189);
    over(40, GIB);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
    rig_stop(&r);

    begin(&m);
    exits(40, GIB);
    for (unsigned i = 0; i < 60; i++) { /* none of them ends */
        rig_freed(&r, 100);
        rig_pass(&r, SECOND);
    }
    assert_int_equal(r.acted.reason, REASON_TOO_LONG);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
    assert_in_range(r.sets, 1, 5);

    for (size_t i = 0; i < sizeof(BATCHES) / sizeof(BATCHES[0]); i++) {
        m.regime = BATCHES[i];
        rig_stop(&r);
        churn_is_left_alone(&m, 10000000);
        starts(70000, 0);
        assert_int_equal(r.acted.reason, REASON_TOO_LONG);
        assert_int_equal(r.sysctl.value[KNOB_FRACTION], 0);
        assert_int_equal(r.sets, 1);
    }
}

/* What is seen of the kernel against what its release would make one think. */
static enum regime probed(const char *release, struct btf_facts btf, int config_scale)
{
    struct regime_signs signs = {.has_fraction = true,
                                 .btf_known = true,
                                 .btf = btf,
                                 .config_scale = config_scale,
                                 .cmdline_scale = -1,
                                 .sysctl_scale = -1,
                                 .release = release};
    struct host_facts h;

    regime_decide(&signs, &h);
    assert_true(h.regime_by > EVIDENCE_VERSION);
    return h.regime;
}

/* 19: downstream kernels mix regimes, and revert backports under one version.
 * https://github.com/Tencent/TencentOS-kernel/pull/183
 * 22: a 6.6 kernel with auto-tuning.
 * https://github.com/deepin-community/kernel/pull/791 */
static void test_19_22_probe_beats_uname(void **state)
{
    (void)state;
    static const struct btf_facts tuned = {.high_min = true, .commit_known = true};
    static const struct btf_facts plain = {.free_factor = true, .commit_known = true};

    assert_int_equal(probed("5.4.119-19.0009.28", tuned, 5), REGIME_R4);
    assert_int_equal(probed("5.4.119-19.0009.28", plain, CONFIG_SCALE_ABSENT), REGIME_R2);
    assert_int_equal(probed("6.6.71-amd64-desktop-hwe", tuned, 5), REGIME_R4);
    begin(&MACHINE_R1); /* for the teardown */
}

/* 20: another daemon writes vm sysctls too: what it wrote stays, and is not written again.
 * https://github.com/oracle/bpftune/pull/162 */
static void test_20_foreign_writer(void **state)
{
    (void)state;
    begin(&MACHINE_R3);
    exits(18, 6 * GIB);
    unsigned sets = r.sets;
    r.sysctl.value[KNOB_FRACTION] = 100;
    r.answer = OUTCOME_FOREIGN;
    over(18, 6 * GIB);
    assert_int_equal(engine_get_state(r.engine), ENGINE_YIELDED);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 100);
    r.answer = OUTCOME_DONE;
    for (unsigned i = 0; i < 5; i++) {
        rig_forget(&r);
        exits(18, 6 * GIB);
        over(18, 6 * GIB);
    }
    assert_int_equal(r.sets, sets);
    assert_int_equal(r.sysctl.value[KNOB_FRACTION], 100);
}

/* 21: benchmarks of the sysctl are wanted for single-page network allocations: what a constant
 * costs is said, and that the daemon pays it in storms alone.
 * https://github.com/tempesta-tech/tempesta/issues/2441 */
static void test_21_price_of_a_constant(void **state)
{
    (void)state;
    advise(&MACHINE_R3, "6.6.50");
    const struct recommendation *tune = advice("PCP-STORM-TUNE"), *all_day = advice("PCP-CONSTANT");
    assert_non_null(tune);
    assert_non_null(all_day);
    assert_true(all_day->cost.worst >= all_day->cost.typical && all_day->cost.typical > 0);
    assert_true(all_day->cost_always);
    assert_false(tune->cost_always);
    churn(60, 5000000);
    assert_int_equal(r.sets, 0);
}

#define CASE(f) cmocka_unit_test_teardown(f, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_1_exit_storm),
        CASE(test_2_soft_lockup),
        CASE(test_3_allocating),
        CASE(test_4_hard_lockup),
        CASE(test_5_network),
        CASE(test_6_drain),
        CASE(test_7_memory_offline),
        CASE(test_8_knob_hangs),
        CASE(test_9_stale_batch),
        CASE(test_10_giant),
        CASE(test_11_flapping),
        CASE(test_13_hidden_memory),
        CASE(test_14_no_storm),
        CASE(test_16_floor_is_not_for_good),
        CASE(test_19_22_probe_beats_uname),
        CASE(test_20_foreign_writer),
        CASE(test_21_price_of_a_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
