/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "recommend.h"
#include "rig.h"

static struct rig rig;
static struct recommendations list;

static struct recommend_input input_of(const struct machine *m)
{
    rig_start(&rig, m);
    rig.host.regime_by = EVIDENCE_BTF;
    snprintf(rig.host.release, sizeof(rig.host.release), "6.18.44");
    return (struct recommend_input){.host = &rig.host,
                                    .zones = &rig.table,
                                    .params = &rig.params,
                                    .knobs_known = true,
                                    .knobs = rig.sysctl};
}

static const struct recommendation *find(const char *id)
{
    for (uint32_t i = 0; i < list.n; i++) {
        if (strcmp(list.item[i].id, id) == 0)
            return &list.item[i];
    }
    return NULL;
}

static bool says(const char *id, const char *sentence)
{
    const struct recommendation *r = find(id);
    return r && strstr(r->evidence, sentence);
}

static const char *ids(void)
{
    static char text[512];

    text[0] = '\0';
    for (uint32_t i = 0; i < list.n; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "", list.item[i].id + 4);
    }
    return text;
}

/* Whatever the machine, what is said is whole, and what is to be set is in what is to be pasted. */
static void check_form(const char *what)
{
    assert_in_range(list.n, 1, RECOMMENDATIONS_MAX);
    for (uint32_t i = 0; i < list.n; i++) {
        const struct recommendation *r = &list.item[i];
        size_t len = strlen(r->evidence);
        if (strncmp(r->id, "PCP-", 4) != 0 || !r->title[0] || strlen(r->title) > 94 || len < 10 ||
            len > RECOMMEND_TEXT - 2 || r->evidence[len - 1] != '.')
            fail_msg("%s: %s: %s: %s", what, r->id, r->title, r->evidence);
        for (unsigned k = 0; k < KNOB_MAX; k++) {
            char line[80];
            snprintf(line, sizeof(line), "%s = %d\n", knob_table[k].name, r->setting.value[k]);
            if (r->setting.has[k] && !knob_accepts((enum knob_id)k, r->setting.value[k]))
                fail_msg("%s: %s: %s", what, r->id, line);
            if (r->sysctl[0] && r->setting.has[k] != (strstr(r->sysctl, line) != NULL))
                fail_msg("%s: %s: %s", what, r->id, r->sysctl);
        }
        if (strcmp(r->id, "PCP-LISTS-HOARD") != 0 && r->w_after > r->w_before &&
            r->w_after > rig.params.target_wait)
            fail_msg("%s: %s: W grows", what, r->id);
    }
}

/* The verdict and what is said besides, on machines on paper. */
static void test_verdicts(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        const struct machine *machine;
        uint64_t target_us; /* 0: 100 */
        int fraction;
        uint32_t seen; /* tasks of the largest of 12 storms; 0: none seen */
        const char *ids;
        uint32_t n, b_before, b_after;
        int set_fraction, set_scale; /* -1: not set */
    } table[] = {
        {"small: within target", &MACHINE_SMALL, 0, 0, 0, "KEEP-DEFAULTS", 2, 2016, 2016, -1, -1},
        {"small, 20 us", &MACHINE_SMALL, 20, 0, 0, "STORM-TUNE CONSTANT KERNEL-BATCH", 2, 2016, 500,
         3167, -1},
        {"small, a fraction that does nothing", &MACHINE_SMALL, 0, 64, 0, "FRACTION-USELESS", 2,
         2016, 2016, 0, -1},
        {"small, pinned, within target either way", &MACHINE_SMALL, 0, 8000, 0, "PINNED", 2, 189,
         189, -1, -1},
        {"R1", &MACHINE_R1, 0, 0, 0, "KEEP-DEFAULTS", 256, 63, 63, -1, -1},
        {"R2", &MACHINE_R2, 0, 0, 0, "STORM-TUNE TARGET-FLOOR CONSTANT KERNEL-CAP KERNEL-BATCH",
         256, 6329, 189, 4509, -1},
        {"R2, 18 tasks seen", &MACHINE_R2, 0, 0, 18, "STORM-TUNE CONSTANT KERNEL-CAP KERNEL-BATCH",
         18, 6329, 277, 3345, -1},
        {"R2, little seen", &MACHINE_R2, 0, 0, 1, "STORM-TUNE CONSTANT KERNEL-CAP KERNEL-BATCH", 1,
         6329, 4983, 226, -1},
        {"R2, 2 ms are enough", &MACHINE_R2, 2280, 0, 18, "KEEP-DEFAULTS", 18, 6329, 6329, -1, -1},
        {"R2 at its floor for good", &MACHINE_R2, 0, INT32_MAX, 0, "PINNED KERNEL-BATCH", 256, 189,
         189, 0, -1},
        {"R2, longer lists for good", &MACHINE_R2, 0, 64, 0, "PINNED KERNEL-CAP KERNEL-BATCH", 256,
         17757, 189, 0, -1},
        {"R3", &MACHINE_R3, 0, 0, 0, "STORM-TUNE TARGET-FLOOR CONSTANT KERNEL-BATCH", 256, 2016,
         189, 4509, -1},
        {"R3, longer lists for good", &MACHINE_R3, 0, 64, 0, "PINNED KERNEL-BATCH", 256, 2016, 189,
         0, -1},
        {"R3, capped as before", &MACHINE_R3, 0, 512, 0,
         "FRACTION-USELESS STORM-TUNE TARGET-FLOOR CONSTANT KERNEL-BATCH", 256, 2016, 2016, 0, -1},
        {"R4", &MACHINE_R4, 0, 0, 0, "STORM-TUNE TARGET-FLOOR CONSTANT KERNEL-BATCH", 256, 2016,
         189, 4509, -1},
        {"R5", &MACHINE_R5, 0, 0, 0, "KEEP-DEFAULTS TARGET-FLOOR", 256, 63, 63, -1, -1},
        {"R5, 18 tasks seen", &MACHINE_R5, 0, 0, 18, "KEEP-DEFAULTS", 18, 63, 63, -1, -1},
        {"R6", &MACHINE_R6, 0, 0, 0, "STORM-TUNE TARGET-FLOOR CONSTANT KERNEL-BATCH", 256, 2016, 63,
         -1, 0},
        {"R6, 18 tasks seen", &MACHINE_R6, 0, 0, 18, "STORM-TUNE CONSTANT KERNEL-BATCH", 18, 2016,
         252, -1, 2},
        {"two nodes", &MACHINE_NUMA, 0, 0, 0, "STORM-TUNE TARGET-FLOOR CONSTANT KERNEL-BATCH", 64,
         2016, 189, 9017, -1},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct recommend_input in = input_of(table[i].machine);
        if (table[i].target_us)
            rig.params.target_wait = table[i].target_us * US;
        in.knobs.value[KNOB_FRACTION] = table[i].fraction;
        if (table[i].seen)
            in.seen = (struct seen){12, table[i].seen, 28311552};
        recommend(&in, &list);
        check_form(table[i].what);
        const struct recommendation *r = &list.item[0];
        int fraction = r->setting.has[KNOB_FRACTION] ? r->setting.value[KNOB_FRACTION] : -1;
        int scale = r->setting.has[KNOB_SCALE] ? r->setting.value[KNOB_SCALE] : -1;
        if (strcmp(ids(), table[i].ids) != 0)
            fail_msg("%s: %s", table[i].what, ids());
        if (r->n != table[i].n || r->b_before != table[i].b_before ||
            r->b_after != table[i].b_after || fraction != table[i].set_fraction ||
            scale != table[i].set_scale || r->w_before != r->n * UINT64_C(20) * r->b_before ||
            r->w_after != r->n * UINT64_C(20) * r->b_after)
            fail_msg("%s: n %u, b %u to %u, fraction %d, scale %d", table[i].what, r->n,
                     r->b_before, r->b_after, fraction, scale);
        if (r->confidence != (table[i].seen ? CONFIDENCE_MEASURED : CONFIDENCE_MODEL))
            fail_msg("%s: confidence %s", table[i].what, confidence_name(r->confidence));
        rig_stop(&rig);
    }
}

/* Each sentence that carries the reason, with its numbers. */
static void test_evidence(void **state)
{
    (void)state;
    static const struct {
        const struct machine *machine;
        int fraction;
        uint32_t seen;
        const char *id, *sentence;
    } table[] = {
        {&MACHINE_SMALL, 0, 0, "KEEP-DEFAULTS",
         "With 2 tasks freeing at once, one on each CPU, W = 2 x 20ns x 2016 = 80.6us, within "
         "TargetWait=100us."},
        {&MACHINE_R1, 0, 0, "KEEP-DEFAULTS", "came with Linux 5.14"},
        {&MACHINE_R2, 0, 18, "STORM-TUNE",
         "Of 12 storms seen here the largest had 18 tasks freeing at once, and 28311552 pages: W = "
         "18 x 20ns x 6329 = 2.27ms, above TargetWait=100us."},
        {&MACHINE_R2, 0, 0, "STORM-TUNE", "vm.percpu_pagelist_high_fraction = 4509"},
        {&MACHINE_R2, 0, 0, "TARGET-FLOOR",
         "shorter than 189 pages here, so with 256 tasks freeing at once W = 256 x 20ns x 189 = "
         "967.7us is the least"},
        {&MACHINE_R2, 0, 0, "KERNEL-CAP", "W = 256 x 20ns x 2016 = 10.32ms. No 5.15.y has that."},
        {&MACHINE_R2, 0, 0, "CONSTANT", "189 pages instead of 6329 cost 0.95% of"},
        {&MACHINE_R4, 0, 0, "CONSTANT", "switches the kernel's auto-tuning off"},
        {&MACHINE_R2, 4509, 0, "PINNED", "That costs 0.95% of page-fault throughput all day"},
        {&MACHINE_R2, 64, 0, "PINNED", "(Pinned=tune)"},
        {&MACHINE_SMALL, 64, 0, "FRACTION-USELESS", "the cap of batch << scale is reached first"},
        {&MACHINE_R5, 0, 0, "KEEP-DEFAULTS",
         "Allocating still takes up to 2016 pages a hold: 256 tasks that fault memory in at once "
         "wait 10.32ms."},
        {&MACHINE_NUMA, 0, 0, "STORM-TUNE",
         "With 64 tasks freeing at once, one on each CPU of a "
         "node,"},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct recommend_input in = input_of(table[i].machine);
        char id[40];
        in.knobs.value[KNOB_FRACTION] = table[i].fraction;
        if (table[i].seen)
            in.seen = (struct seen){12, table[i].seen, 28311552};
        recommend(&in, &list);
        snprintf(id, sizeof(id), "PCP-%s", table[i].id);
        if (!says(id, table[i].sentence))
            fail_msg("%s on %s: %s", id, table[i].machine->name,
                     find(id) ? find(id)->evidence : ids());
        rig_stop(&rig);
    }
}

/* Prices: for as long as a storm lasts, or always and then with the auto-tuning that is lost. */
static void test_costs(void **state)
{
    (void)state;
    struct recommend_input in = input_of(&MACHINE_R4);

    recommend(&in, &list);
    const struct recommendation *tune = find("PCP-STORM-TUNE"), *constant = find("PCP-CONSTANT");
    assert_false(tune->cost_always);
    assert_true(constant->cost_always);
    assert_int_equal(tune->cost.typical, 89);
    assert_int_equal(constant->cost.typical, 89);
    assert_int_equal(constant->cost.worst, tune->cost.worst + AUTOTUNE_COST);
    assert_string_equal(tune->sysctl, "");
    assert_string_equal(constant->sysctl, "vm.percpu_pagelist_high_fraction = 4509\n");
    assert_string_equal(find("PCP-TARGET-FLOOR")->conf, "[Policy]\nTargetWait=968us\n");
    rig_stop(&rig);

    in = input_of(&MACHINE_R6); /* the scale leaves auto-tuning alone */
    recommend(&in, &list);
    assert_int_equal(find("PCP-CONSTANT")->cost.worst, find("PCP-STORM-TUNE")->cost.worst);
    rig_stop(&rig);
}

/* What is not known is not asserted. */
static void test_unknown(void **state)
{
    (void)state;
    struct recommend_input in = input_of(&MACHINE_R2);

    rig.host.regime_by = EVIDENCE_VERSION;
    recommend(&in, &list);
    assert_int_equal(list.item[0].confidence, CONFIDENCE_GUESS);
    rig.host.regime_by = EVIDENCE_BTF;
    in.knobs_known = false; /* the values are ignored then */
    in.knobs.value[KNOB_FRACTION] = 4509;
    recommend(&in, &list);
    assert_string_equal(list.item[0].id, "PCP-STORM-TUNE");
    assert_int_equal(list.item[0].confidence, CONFIDENCE_GUESS);
    rig_stop(&rig);

    in = input_of(&MACHINE_R2);
    rig.host.regime = REGIME_UNKNOWN;
    recommend(&in, &list);
    check_form("regime unknown");
    assert_string_equal(ids(), "KEEP-DEFAULTS");
    assert_int_equal(list.item[0].w_before, 0);
    rig_stop(&rig);

    in = input_of(&MACHINE_R2);
    rig.table.n_zones = 0;
    recommend(&in, &list);
    check_form("no zones");
    assert_string_equal(ids(), "KEEP-DEFAULTS");
    assert_int_equal(list.item[0].confidence, CONFIDENCE_GUESS);
    rig_stop(&rig);
}

/* other_numbers.csv: 4 GB, dual core, a low watermark that khugepaged inflated: 165 MB in lists. */
static const struct machine CHROMEBOOK = {"Chromebook", REGIME_R2, 2, 1, 1000000, 42240, 63, false};
static const struct machine CROWDED = {"64 CPUs, 1 GB", REGIME_R2, 64, 1, 262144, 4096, 63, false};
static const struct machine TUNED = {"4 GB, R4", REGIME_R4, 2, 1, 1000000, 42240, 63, false};
/* case 9 of the public reports, and the kernel before the batch was doubled. */
static const struct machine STALE = {"stale batch", REGIME_R1, 128, 1, 33554432, 16384, 7, false};
static const struct machine OLD = {"3.15", REGIME_R1, 16, 1, 16514387, 11288, 31, false};

static void test_small_and_stale(void **state)
{
    (void)state;
    struct recommend_input in = input_of(&CHROMEBOOK);

    recommend(&in, &list);
    check_form("Chromebook");
    assert_true(says("PCP-LISTS-HOARD", "may hold 165 MiB of 3906 MiB"));
    assert_true(says("PCP-LISTS-HOARD", "vm.min_free_kbytes"));
    const struct recommendation *r = find("PCP-LISTS-HOARD");
    assert_int_equal(r->setting.value[KNOB_FRACTION], 100);
    assert_string_equal(r->conf, "[Conflict]\nPinned=tune\n");
    rig.zones[0].managed = 3 << 20; /* 12 GiB, as large a share: not worth a word */
    rig.zones[0].low *= 3;
    recommend(&in, &list);
    assert_null(find("PCP-LISTS-HOARD"));
    rig_stop(&rig);

    in = input_of(&CROWDED); /* no fraction makes lists shorter than 4 batches */
    recommend(&in, &list);
    assert_null(find("PCP-LISTS-HOARD"));
    rig_stop(&rig);

    in = input_of(&TUNED); /* what they hold counts, not what they could */
    recommend(&in, &list);
    assert_null(find("PCP-LISTS-HOARD"));
    rig.lists[0].count = rig.lists[1].count = 20000;
    recommend(&in, &list);
    assert_true(says("PCP-LISTS-HOARD", "hold 156 MiB of 3906 MiB"));
    rig_stop(&rig);

    in = input_of(&STALE);
    recommend(&in, &list);
    check_form("stale");
    assert_true(says("PCP-STALE-BATCH", "has batch 7 where zone_batchsize() gives 63"));
    assert_string_equal(find("PCP-STALE-BATCH")->sysctl, "");
    rig_stop(&rig);

    in = input_of(&OLD);
    snprintf(rig.host.release, sizeof(rig.host.release), "3.15.10-generic");
    recommend(&in, &list);
    assert_null(find("PCP-STALE-BATCH"));
    snprintf(rig.host.release, sizeof(rig.host.release), "4.19.0");
    recommend(&in, &list);
    assert_non_null(find("PCP-STALE-BATCH"));
    rig_stop(&rig);
}

static void test_one_cpu(void **state)
{
    (void)state;
    static const struct machine one = {"1 CPU", REGIME_R2, 1, 1, 8 << 20, 60000, 63, false};
    struct recommend_input in = input_of(&one);

    recommend(&in, &list);
    check_form("one CPU");
    assert_string_equal(ids(), "KEEP-DEFAULTS");
    assert_non_null(strstr(list.item[0].evidence, "keeps interrupts off for 1.19ms"));
    rig_stop(&rig);
}

/* By release number, which only counts where it is one. */
static void test_decay(void **state)
{
    (void)state;
    static const struct {
        const char *release;
        bool told;
    } table[] = {
        {"6.7.0", true},     {"6.12.66", true}, {"6.12.66-1.el10", true},
        {"6.12.67", false},  {"6.18.0", false}, {"6.6.99", false},
        {"6.8", true},       {"linux", false},  {"", false},
        {"6", false},        {"6.x", false},    {"6.12", true},
        {"6.12.670", false},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct recommend_input in = input_of(&MACHINE_R4);
        snprintf(rig.host.release, sizeof(rig.host.release), "%s", table[i].release);
        recommend(&in, &list);
        check_form(table[i].release);
        if ((find("PCP-KERNEL-DECAY") != NULL) != table[i].told)
            fail_msg("%s: %s", table[i].release, ids());
        rig_stop(&rig);
    }
}

/* The fix of the allocating side came to stable later than the trouble did. */
static void test_alloc_fix(void **state)
{
    (void)state;
    static const struct {
        const char *release;
        bool told;
    } table[] = {
        {"6.9.12", false},  {"6.10.0", true},   {"6.12.28-amd64", true}, {"6.12.29", false},
        {"6.12.90", false}, {"6.13.4", true},   {"6.14.6", true},        {"6.14.7", false},
        {"6.15.0", false},  {"6.18.44", false},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct recommend_input in = input_of(&MACHINE_R4);
        snprintf(rig.host.release, sizeof(rig.host.release), "%s", table[i].release);
        recommend(&in, &list);
        check_form(table[i].release);
        if ((find("PCP-KERNEL-ALLOC") != NULL) != table[i].told)
            fail_msg("%s: %s", table[i].release, ids());
        rig_stop(&rig);
    }
}

/* Any machine: no crash, no overflow of text or list. */
static void test_all_kinds(void **state)
{
    (void)state;
    static const uint32_t cpus[] = {1, 2, 64, 512};
    static const uint64_t sizes[] = {1, 1000, 200000, UINT64_C(1) << 40};

    for (int regime = REGIME_UNKNOWN; regime < REGIME_MAX; regime++)
        for (size_t c = 0; c < 4; c++)
            for (size_t s = 0; s < 4; s++)
                for (unsigned variant = 0; variant < 8; variant++) {
                    struct machine m = {"any",
                                        (enum regime)regime,
                                        cpus[c],
                                        1,
                                        sizes[s],
                                        sizes[s] / 16,
                                        variant & 1 ? 63 : 7,
                                        regime == REGIME_R6};
                    struct recommend_input in = input_of(&m);
                    rig.params.target_wait = variant & 2 ? US : SECOND;
                    in.knobs.value[KNOB_FRACTION] = variant & 4 ? INT32_MAX : 0;
                    for (uint32_t k = 0; k < rig.table.n_lists; k++)
                        rig.lists[k].count = UINT32_MAX;
                    snprintf(rig.host.release, sizeof(rig.host.release), "6.10.1%080d", 0);
                    in.seen = (struct seen){variant & 1 ? UINT64_MAX : 0, UINT32_MAX, UINT64_MAX};
                    recommend(&in, &list);
                    check_form("any");
                    rig_stop(&rig);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),        cmocka_unit_test(test_evidence),
        cmocka_unit_test(test_costs),           cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_small_and_stale), cmocka_unit_test(test_one_cpu),
        cmocka_unit_test(test_decay),           cmocka_unit_test(test_alloc_fix),
        cmocka_unit_test(test_all_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
