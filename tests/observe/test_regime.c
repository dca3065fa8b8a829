/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "hostfacts.h"

#define UNREAD CONFIG_SCALE_UNREAD
#define ABSENT CONFIG_SCALE_ABSENT

enum btf { NO_BTF, BTF_FREE_FACTOR, BTF_VOID, BTF_BOOL, BTF_INLINED, BTF_NEITHER };
enum zi { NO_ZI, ZI_PLAIN, ZI_DIFFER, ZI_MINMAX, ZI_RESERVED };
enum files { NO_FRACTION, FRACTION, FRACTION_AND_SCALE };

static const struct btf_facts btfs[] = {
    [NO_BTF] = {0},
    [BTF_FREE_FACTOR] = {.free_factor = true, .commit_known = true},
    [BTF_VOID] = {.high_min = true, .commit_known = true},
    [BTF_BOOL] = {.high_min = true, .commit_known = true, .commit_returns_bool = true},
    [BTF_INLINED] = {.high_min = true},
    [BTF_NEITHER] = {0},
};

static const struct row {
    const char *release;
    enum files files;
    enum btf btf;
    int config;
    enum zi zi;
    enum regime regime;
    enum evidence by;
    const char *assumed; /* what the text must contain; "": it must be empty */
} rows[] = {
    /* files */
    {"4.18.0-477.27.1.el8_8.x86_64", NO_FRACTION, NO_BTF, ABSENT, ZI_PLAIN, REGIME_R1,
     EVIDENCE_FILE, ""},
    {"5.10.0-33-amd64", NO_FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R1, EVIDENCE_FILE, ""},
    {"2.6.32-754.el6", NO_FRACTION, NO_BTF, UNREAD, ZI_PLAIN, REGIME_R1, EVIDENCE_FILE, ""},
    {"6.8.0-45-generic", NO_FRACTION, BTF_VOID, 5, ZI_PLAIN, REGIME_R1, EVIDENCE_FILE,
     "hidden or compiled out"},
    {"6.12.0-custom", FRACTION_AND_SCALE, BTF_VOID, UNREAD, ZI_PLAIN, REGIME_R6, EVIDENCE_FILE, ""},
    {"5.10.0", FRACTION_AND_SCALE, NO_BTF, UNREAD, NO_ZI, REGIME_R6, EVIDENCE_FILE, ""},
    {"6.6.30-5.tl4.x86_64", FRACTION_AND_SCALE, BTF_FREE_FACTOR, ABSENT, ZI_PLAIN, REGIME_R6,
     EVIDENCE_FILE, "older free_factor"},

    /* BTF: the probe beats uname */
    {"6.18.44", FRACTION, BTF_VOID, 5, ZI_MINMAX, REGIME_R4, EVIDENCE_BTF, ""},
    {"6.8.0-151-generic", FRACTION, BTF_VOID, 5, ZI_PLAIN, REGIME_R4, EVIDENCE_BTF, ""},
    {"6.6.71-amd64-desktop-hwe", FRACTION, BTF_VOID, 5, ZI_PLAIN, REGIME_R4, EVIDENCE_BTF, ""},
    {"6.6.30-5.tl4.x86_64", FRACTION, BTF_VOID, 5, ZI_DIFFER, REGIME_R4, EVIDENCE_BTF, ""},
    {"5.4.119-19.0009.28", FRACTION, BTF_VOID, 5, NO_ZI, REGIME_R4, EVIDENCE_BTF, ""},
    {"5.14.0-570.el9.x86_64", FRACTION, BTF_VOID, 5, ZI_PLAIN, REGIME_R4, EVIDENCE_BTF, ""},
    {"7.3.4", FRACTION, BTF_BOOL, 5, ZI_RESERVED, REGIME_R5, EVIDENCE_BTF, ""},
    {"6.19.0-rc3", FRACTION, BTF_BOOL, UNREAD, ZI_MINMAX, REGIME_R5, EVIDENCE_BTF, "scale 5"},
    {"6.12.80-vendor", FRACTION, BTF_BOOL, 5, ZI_PLAIN, REGIME_R5, EVIDENCE_BTF, ""},
    {"7.0.1", FRACTION, BTF_VOID, 5, ZI_RESERVED, REGIME_R4, EVIDENCE_BTF, ""},
    {"6.8.0-151-generic", FRACTION, BTF_VOID, ABSENT, ZI_PLAIN, REGIME_R4, EVIDENCE_BTF, "scale 5"},
    {"7.2.13", FRACTION, BTF_INLINED, 5, ZI_RESERVED, REGIME_R5, EVIDENCE_ZONEINFO, ""},
    {"6.12.117", FRACTION, BTF_INLINED, 5, ZI_PLAIN, REGIME_R4, EVIDENCE_ZONEINFO, ""},
    {"6.19.5", FRACTION, BTF_INLINED, 5, ZI_MINMAX, REGIME_R5, EVIDENCE_VERSION, "R4 to R5"},
    {"6.6.9-vendor", FRACTION, BTF_INLINED, 5, NO_ZI, REGIME_R4, EVIDENCE_VERSION, "R4 to R5"},

    /* config */
    {"5.14.0-427.13.1.el9_4.x86_64", FRACTION, BTF_FREE_FACTOR, ABSENT, ZI_PLAIN, REGIME_R2,
     EVIDENCE_CONFIG, ""},
    {"5.15.0-130-generic", FRACTION, BTF_FREE_FACTOR, ABSENT, ZI_PLAIN, REGIME_R2, EVIDENCE_CONFIG,
     ""},
    {"5.15.224", FRACTION, BTF_FREE_FACTOR, ABSENT, NO_ZI, REGIME_R2, EVIDENCE_CONFIG, ""},
    {"6.1.0-37-amd64", FRACTION, BTF_FREE_FACTOR, 5, ZI_PLAIN, REGIME_R3, EVIDENCE_CONFIG, ""},
    {"5.15.224-vendor", FRACTION, BTF_FREE_FACTOR, 4, ZI_PLAIN, REGIME_R3, EVIDENCE_CONFIG, ""},
    {"5.14.0-427.el9", FRACTION, NO_BTF, ABSENT, NO_ZI, REGIME_R2, EVIDENCE_CONFIG, ""},
    {"6.6.50", FRACTION, NO_BTF, ABSENT, NO_ZI, REGIME_R2, EVIDENCE_CONFIG, ""},
    {"6.6.50", FRACTION, NO_BTF, 5, NO_ZI, REGIME_R3, EVIDENCE_VERSION, "R3 to R5"},
    {"5.15.100", FRACTION, NO_BTF, 5, NO_ZI, REGIME_R3, EVIDENCE_VERSION, "R3 to R5"},
    {"6.8.0-151-generic", FRACTION, NO_BTF, 5, ZI_PLAIN, REGIME_R4, EVIDENCE_VERSION, "R3 to R4"},
    {"6.6.50", FRACTION, BTF_NEITHER, 5, ZI_PLAIN, REGIME_R3, EVIDENCE_VERSION, "R3 to R4"},

    /* R2 or R3, config not readable */
    {"6.1.103", FRACTION, BTF_FREE_FACTOR, UNREAD, ZI_PLAIN, REGIME_R2, EVIDENCE_VERSION,
     "R2 (of R2 to R3) by release 6.1.103"},
    {"6.1.104", FRACTION, BTF_FREE_FACTOR, UNREAD, ZI_PLAIN, REGIME_R3, EVIDENCE_VERSION,
     "R3 (of R2 to R3) by release 6.1.104"},
    {"6.9.0-odd", FRACTION, BTF_FREE_FACTOR, UNREAD, ZI_PLAIN, REGIME_R3, EVIDENCE_VERSION,
     "R2 to R3"},

    /* zoneinfo */
    {"7.2.13", FRACTION, NO_BTF, UNREAD, ZI_RESERVED, REGIME_R5, EVIDENCE_ZONEINFO, "scale 5"},
    {"5.14.0-999.el9", FRACTION, NO_BTF, 5, ZI_RESERVED, REGIME_R5, EVIDENCE_ZONEINFO, ""},
    {"6.14.0-37-generic", FRACTION, NO_BTF, UNREAD, ZI_MINMAX, REGIME_R4, EVIDENCE_VERSION,
     "R4 to R5"},
    {"5.14.0-999.el9", FRACTION, NO_BTF, 5, ZI_MINMAX, REGIME_R4, EVIDENCE_VERSION, "R4 to R5"},
    {"6.6.71-deepin", FRACTION, NO_BTF, UNREAD, ZI_DIFFER, REGIME_R4, EVIDENCE_VERSION, "R4 to R5"},
    {"6.19.1", FRACTION, NO_BTF, UNREAD, ZI_PLAIN, REGIME_R4, EVIDENCE_VERSION, "R2 to R4"},

    /* the version alone */
    {"4.18.0-477.el8", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R2, EVIDENCE_VERSION, "R2 to R5"},
    {"5.14.0-427.el9", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R2, EVIDENCE_VERSION,
     "5.14.0-427.el9 alone"},
    {"5.15.224", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R2, EVIDENCE_VERSION, "R2 to R5"},
    {"6.0.19", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R2, EVIDENCE_VERSION, "R2 to R5"},
    {"6.1.103", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R2, EVIDENCE_VERSION, "R2 to R5"},
    {"6.1.104", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R3, EVIDENCE_VERSION, "R2 to R5"},
    {"6.1.1040", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R3, EVIDENCE_VERSION, "R2 to R5"},
    {"6.2.200", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R2, EVIDENCE_VERSION, "R2 to R5"},
    {"6.5.0-45-generic", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R2, EVIDENCE_VERSION, ""},
    {"6.6.44", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R2, EVIDENCE_VERSION, "R2 to R5"},
    {"6.6.45", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R3, EVIDENCE_VERSION, "R2 to R5"},
    {"6.7", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R4, EVIDENCE_VERSION, "R2 to R5"},
    {"6.18.44-fc", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R4, EVIDENCE_VERSION, "R2 to R5"},
    {"6.19", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R5, EVIDENCE_VERSION, "R2 to R5"},
    {"7.3.4", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R5, EVIDENCE_VERSION, "R2 to R5"},
    {"10.0.0", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R5, EVIDENCE_VERSION, "R2 to R5"},

    /* no version: unknown where nothing else tells, else the later of what is possible */
    {NULL, FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_UNKNOWN, EVIDENCE_NONE, "no version"},
    {"", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_UNKNOWN, EVIDENCE_NONE, "no version"},
    {"6", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_UNKNOWN, EVIDENCE_NONE, "no version"},
    {"6.", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_UNKNOWN, EVIDENCE_NONE, "no version"},
    {"6.x", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_UNKNOWN, EVIDENCE_NONE, "no version"},
    {"6.-1", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_UNKNOWN, EVIDENCE_NONE, "no version"},
    {"6. 1", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_UNKNOWN, EVIDENCE_NONE, "no version"},
    {" 6.1", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_UNKNOWN, EVIDENCE_NONE, "no version"},
    {"-6.1", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_UNKNOWN, EVIDENCE_NONE, "no version"},
    {"v6.1.3", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_UNKNOWN, EVIDENCE_NONE, "no version"},
    {"linux", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_UNKNOWN, EVIDENCE_NONE, "no version"},
    {"\xff\xfe\n%s%n", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_UNKNOWN, EVIDENCE_NONE,
     "no version"},
    {"99999999999999999999.1", FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_UNKNOWN, EVIDENCE_NONE,
     "no version"},
    {"garbage", FRACTION, BTF_FREE_FACTOR, UNREAD, NO_ZI, REGIME_R3, EVIDENCE_NONE, "no version"},
    {"garbage", FRACTION, BTF_INLINED, 5, NO_ZI, REGIME_R5, EVIDENCE_NONE, "no version"},
    {"garbage", FRACTION, BTF_VOID, 5, NO_ZI, REGIME_R4, EVIDENCE_BTF, ""},
    {"garbage", NO_FRACTION, NO_BTF, UNREAD, NO_ZI, REGIME_R1, EVIDENCE_FILE, ""},
};

static struct regime_signs signs_of(const struct row *r)
{
    return (struct regime_signs){
        .has_fraction = r->files != NO_FRACTION,
        .has_scale = r->files == FRACTION_AND_SCALE,
        .btf_known = r->btf != NO_BTF,
        .btf = btfs[r->btf],
        .config_scale = r->config,
        .cmdline_scale = -1,
        .zoneinfo_known = r->zi != NO_ZI,
        .zoneinfo_minmax = r->zi == ZI_MINMAX || r->zi == ZI_RESERVED,
        .zoneinfo_reserved_ha = r->zi == ZI_RESERVED,
        .list_high_differs = r->zi == ZI_DIFFER,
        .sysctl_scale = r->files == FRACTION_AND_SCALE ? 3 : -1,
        .release = r->release,
    };
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *r = &rows[i];
        struct regime_signs s = signs_of(r);
        struct host_facts h;
        memset(&h, 0xa5, sizeof(h));

        regime_decide(&s, &h);
        bool said = *r->assumed ? strstr(h.assumed, r->assumed) != NULL
                                : r->by == EVIDENCE_VERSION || h.assumed[0] == '\0';
        if (h.regime != r->regime || h.regime_by != r->by || !said)
            fail_msg("row %zu, %s: %s by %s, '%s'; expected %s by %s, '%s'", i,
                     r->release ? r->release : "(null)", regime_name(h.regime),
                     evidence_name(h.regime_by), h.assumed, regime_name(r->regime),
                     evidence_name(r->by), r->assumed);
    }
}

static void test_scale(void **state)
{
    (void)state;
    static const struct {
        enum files files;
        int sysctl, cmdline, config;
        int scale;
        enum evidence by;
        bool assumed;
    } table[] = {
        {FRACTION, -1, -1, 5, 5, EVIDENCE_CONFIG, false},
        {FRACTION, -1, -1, 0, 0, EVIDENCE_CONFIG, false},
        {FRACTION, -1, -1, 6, 6, EVIDENCE_CONFIG, false},
        {FRACTION, -1, -1, 7, 5, EVIDENCE_NONE, true},
        {FRACTION, -1, 2, 5, 2, EVIDENCE_CONFIG, false},
        {FRACTION, -1, 0, UNREAD, 0, EVIDENCE_CONFIG, false},
        {FRACTION, -1, -1, UNREAD, 5, EVIDENCE_NONE, true},
        {FRACTION, -1, -1, ABSENT, 5, EVIDENCE_NONE, true},
        {FRACTION, 1, -1, 4, 4, EVIDENCE_CONFIG, false}, /* no file: no such sysctl */
        {FRACTION_AND_SCALE, 0, 2, 5, 0, EVIDENCE_FILE, false},
        {FRACTION_AND_SCALE, 6, -1, UNREAD, 6, EVIDENCE_FILE, false},
        {FRACTION_AND_SCALE, -1, 3, 5, 3, EVIDENCE_CONFIG, false},
        {FRACTION_AND_SCALE, -1, -1, 4, 4, EVIDENCE_CONFIG, false},
        {FRACTION_AND_SCALE, 1000, -1, UNREAD, 5, EVIDENCE_NONE, true},
        {FRACTION_AND_SCALE, -7, -1, UNREAD, 5, EVIDENCE_NONE, true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct regime_signs s = {
            .has_fraction = true,
            .has_scale = table[i].files == FRACTION_AND_SCALE,
            .btf_known = true,
            .btf = btfs[BTF_VOID],
            .config_scale = table[i].config,
            .cmdline_scale = table[i].cmdline,
            .sysctl_scale = table[i].sysctl,
            .release = "6.12.1",
        };
        struct host_facts h;
        regime_decide(&s, &h);
        if (h.scale != table[i].scale || h.scale_by != table[i].by ||
            (h.assumed[0] != '\0') != table[i].assumed)
            fail_msg("row %zu: scale %u by %s, '%s'", i, h.scale, evidence_name(h.scale_by),
                     h.assumed);
    }
}

/* R2 has no scale, so nothing is said of one. */
static void test_scale_of_r2(void **state)
{
    (void)state;
    struct regime_signs s = {.has_fraction = true,
                             .config_scale = ABSENT,
                             .cmdline_scale = -1,
                             .sysctl_scale = -1,
                             .release = "5.15.0"};
    struct host_facts h;
    regime_decide(&s, &h);
    assert_int_equal(h.regime, REGIME_R2);
    assert_string_equal(h.assumed, "");
}

/* Two assumptions and a long release: cut, never overrun. */
static void test_assumed_bounded(void **state)
{
    (void)state;
    char release[200];
    memset(release, '9', sizeof(release));
    memcpy(release, "6.12.", 5);
    release[sizeof(release) - 1] = '\0';
    struct regime_signs s = {.has_fraction = true,
                             .config_scale = UNREAD,
                             .cmdline_scale = -1,
                             .sysctl_scale = -1,
                             .release = release};
    struct {
        struct host_facts h;
        char guard[16];
    } box;
    memset(&box, 0x5a, sizeof(box));

    regime_decide(&s, &box.h);
    assert_int_equal(box.h.regime, REGIME_R4);
    assert_non_null(memchr(box.h.assumed, '\0', sizeof(box.h.assumed)));
    assert_non_null(strstr(box.h.assumed, "; scale 5"));
    for (size_t i = 0; i < sizeof(box.guard); i++)
        assert_int_equal(box.guard[i], 0x5a);
}

static void test_cmdline(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int scale;
    } table[] = {
        {"", -1},
        {"\n", -1},
        {"ro quiet\n", -1},
        {"pcp_batch_scale_max=3\n", 3},
        {"ro pcp_batch_scale_max=0 quiet", 0},
        {"pcp_batch_scale_max=6", 6},
        {"pcp_batch_scale_max=1 pcp_batch_scale_max=2", 2},
        {"pcp_batch_scale_max=1 pcp_batch_scale_max=9", 1},
        {"pcp_batch_scale_max=7", -1},
        {"pcp_batch_scale_max=-1", -1},
        {"pcp_batch_scale_max=", -1},
        {"pcp_batch_scale_max", -1},
        {"pcp_batch_scale_max=33", -1},
        {"pcp_batch_scale_max=3x", -1},
        {"xpcp_batch_scale_max=3", -1},
        {"a.pcp_batch_scale_max=3", -1},
        {"ro -- pcp_batch_scale_max=3", -1},
        {"ro --x pcp_batch_scale_max=3", 3},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (cmdline_scale_parse(table[i].text) != table[i].scale)
            fail_msg("'%s': %d", table[i].text, cmdline_scale_parse(table[i].text));
}

static void test_names(void **state)
{
    (void)state;
    for (enum regime r = 0; r < REGIME_MAX; r++) {
        assert_true(strlen(regime_name(r)) > 0);
        assert_true(strlen(regime_summary(r)) > 0);
    }
    for (enum evidence e = 0; e < EVIDENCE_MAX; e++)
        assert_true(strlen(evidence_name(e)) > 0);
    assert_string_equal(regime_name(REGIME_R4), "R4");
    assert_string_equal(regime_name((enum regime)99), "unknown");
    assert_string_equal(evidence_name((enum evidence)99), "assumed");
}

static void test_zone_cpus(void **state)
{
    (void)state;
    struct host_facts h = {.cpus_online = 12, .n_nodes = 3, .node_cpus = {8, 0, 4, 99}};
    assert_int_equal(host_zone_cpus(&h, 0), 8);
    assert_int_equal(host_zone_cpus(&h, 1), 12); /* memory only: all online CPUs */
    assert_int_equal(host_zone_cpus(&h, 2), 4);
    assert_int_equal(host_zone_cpus(&h, 3), 12); /* no such node */
    assert_int_equal(host_zone_cpus(&h, -1), 12);
    assert_int_equal(host_zone_cpus(&h, 1 << 30), 12);
    assert_int_equal(host_zone_cpus(&(struct host_facts){0}, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),       cmocka_unit_test(test_scale),
        cmocka_unit_test(test_scale_of_r2), cmocka_unit_test(test_assumed_bounded),
        cmocka_unit_test(test_cmdline),     cmocka_unit_test(test_names),
        cmocka_unit_test(test_zone_cpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
