/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "fileio.h"

#define EXAMPLE TEST_DATA "/../conf/pcptuned.conf"

static const struct config_key *key(const char *name)
{
    for (size_t i = 0; i < CONFIG_KEYS; i++)
        if (strcmp(config_table[i].name, name) == 0)
            return &config_table[i];
    fail_msg("no key %s", name);
    return NULL;
}

struct value {
    const char *key, *text;
    int result;
    const char *formatted; /* NULL: as text */
};

#define SIXTY "012345678901234567890123456789012345678901234567890123456789"
#define LONG SIXTY SIXTY "1" /* 127 bytes with what is around it */

static const struct value values[] = {
    {"Mode", "apply", 0, NULL},
    {"Mode", "dry-run", 0, NULL},
    {"Mode", "off", 0, NULL},
    {"Mode", "", 0, "apply"},
    {"Mode", "Apply", -EINVAL, NULL},
    {"Mode", "unknown", -EINVAL, NULL},
    {"Mode", "0", -EINVAL, NULL},
    {"Tick", "1s", 0, NULL},
    {"Tick", "600s", 0, "10min"},
    {"Tick", "", 0, "10s"},
    {"Tick", "999ms", -ERANGE, NULL},
    {"Tick", "601s", -ERANGE, NULL},
    {"Tick", "0", -ERANGE, NULL},
    {"Tick", "infinity", -ERANGE, NULL},
    {"Tick", "99999999999999999999h", -ERANGE, NULL},
    {"Tick", "10", -EINVAL, NULL},
    {"Tick", "10 s", -EINVAL, NULL},
    {"Tick", "-1s", -EINVAL, NULL},
    {"Tick", "10M", -EINVAL, NULL},
    {"Psi", "no", 0, NULL},
    {"Psi", "off", 0, "no"},
    {"Psi", "1", 0, "yes"},
    {"Psi", "", 0, "yes"},
    {"Psi", "2", -EINVAL, NULL},
    {"Psi", "maybe", -EINVAL, NULL},
    {"TaskSize", "1M", 0, NULL},
    {"TaskSize", "1048576", 0, "1M"},
    {"TaskSize", "1048577", 0, NULL},
    {"TaskSize", "1T", 0, NULL},
    {"TaskSize", "1048575", -ERANGE, NULL},
    {"TaskSize", "1025G", -ERANGE, NULL},
    {"TaskSize", "32MB", -EINVAL, NULL},
    {"TaskSize", "32s", -EINVAL, NULL},
    {"TargetWait", "1us", 0, NULL},
    {"TargetWait", "1000ns", 0, "1us"},
    {"TargetWait", "1s", 0, NULL},
    {"TargetWait", "999ns", -ERANGE, NULL},
    {"TargetWait", "1000000001ns", -ERANGE, NULL},
    {"HighFractionMin", "8", 0, NULL},
    {"HighFractionMin", "2147483647", 0, NULL},
    {"HighFractionMin", "7", -ERANGE, NULL},
    {"HighFractionMin", "2147483648", -ERANGE, NULL},
    {"HighFractionMin", "4294967304", -ERANGE, NULL}, /* 8 where it is cut to 32 bits */
    {"HighFractionMin", "-8", -EINVAL, NULL},
    {"HighFractionMin", "0x10", -EINVAL, NULL},
    {"BatchScaleMax", "0", 0, NULL},
    {"BatchScaleMax", "7", -ERANGE, NULL},
    {"TunedMax", "1s", 0, NULL},
    {"TunedMax", "999ms", -ERANGE, NULL},
    {"TunedMax", "61min", -ERANGE, NULL},
    {"WritesPerHour", "2", 0, NULL},
    {"WritesPerHour", "1", -ERANGE, NULL},
    {"WritesPerHour", "1001", -ERANGE, NULL},
    {"OnForeignWrite", "reassert", 0, NULL},
    {"OnForeignWrite", "exit", 0, NULL},
    {"OnForeignWrite", "tune", -EINVAL, NULL},
    {"RearmAfter", "infinity", 0, NULL},
    {"RearmAfter", "168h", 0, NULL},
    {"RearmAfter", "169h", -ERANGE, NULL},
    {"Pinned", "tune", 0, NULL},
    {"Pinned", "yield", -EINVAL, NULL},
    {"MetricsFile", "", 0, NULL},
    {"MetricsFile", "/run/pcptuned/pcptuned.prom", 0, NULL},
    {"MetricsFile", "/run/pcptuned/pcptuned.txt", -EINVAL, NULL}, /* node_exporter reads none */
    {"MetricsFile", "pcptuned.prom", -EINVAL, NULL},
    {"MetricsFile", "/.prom", -EINVAL, NULL},
    {"MetricsFile", "/a b.prom", -EINVAL, NULL},
    {"MetricsFile", "/\n.prom", -EINVAL, NULL},
    {"MetricsFile", "/\xc3\xa4.prom", -EINVAL, NULL},
    {"MaxLoss", "1%", 0, NULL},
    {"MaxLoss", "100%", 0, NULL},
    {"MaxLoss", "0", -ERANGE, NULL},
    {"MaxLoss", "101%", -ERANGE, NULL},
    {"MaxLoss", "5", -EINVAL, NULL},
    {"MaxLoss", "5 %", -EINVAL, NULL},
    {"MaxLoss", "%", -EINVAL, NULL},
    {"MaxLoss", "5%%", -EINVAL, NULL},
    {"MaxLoss", "-5%", -EINVAL, NULL},
    {"MaxHoard", "0", 0, "0%"},
    {"MaxHoard", "0%", 0, NULL},
    {"MaxHoard", "18446744073709551616%", -ERANGE, NULL},
    {"MetricsFile", "/" LONG ".prom", 0, NULL},
    {"MetricsFile", "/1" LONG ".prom", -ERANGE, NULL},
};

static void values_good_and_bad(void **state)
{
    char buf[CONFIG_TEXT];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        const struct value *v = &values[i];
        const struct config_key *k = key(v->key);
        struct params p, before;
        memset(&p, 0x5a, sizeof(p)); /* what is stored must not depend on what was there */
        memset((char *)&p + k->offset, 0, k->size);
        memcpy(&before, &p, sizeof(p));
        int r = config_set(k, v->text, &p);
        if (r != v->result)
            fail_msg("%s=%s: got %d, expected %d", v->key, v->text, r, v->result);
        if (r < 0)
            assert_memory_equal(&p, &before, sizeof(p));
        else
            assert_string_equal(config_format(k, &p, buf), v->formatted ? v->formatted : v->text);
        /* and nothing beside the field is touched */
        memcpy((char *)&p + k->offset, (char *)&before + k->offset, k->size);
        assert_memory_equal(&p, &before, sizeof(p));
    }
}

static void defaults(void **state)
{
    static const char *const expected[CONFIG_KEYS] = {
        "apply", "10s", "1s",    "yes",  "yes", "yes",        "32M", "64M",     "1s",
        "1min",  "yes", "100us", "20ns", "8",   "2147483647", "0",   "6",       "1s",
        "1min",  "240", "5%",    "3%",   "yes", "yield",      "1h",  "respect", ""};
    struct params p = params_default();
    char buf[CONFIG_TEXT];

    (void)state;
    for (size_t i = 0; i < CONFIG_KEYS; i++)
        assert_string_equal(config_format(&config_table[i], &p, buf), expected[i]);
}

static void format_parses_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const struct config_key *k = &config_table[i];
        uint64_t ends[] = {k->min, k->max};
        for (size_t j = 0; j < 3; j++) {
            struct params p = params_default(), back = p;
            char buf[CONFIG_TEXT];
            if (j < ARRAY_SIZE(ends) &&
                k->type != CONFIG_PATH) { /* the field is little or big endian, as we are */
                uint32_t half = (uint32_t)ends[j];
                bool flag = ends[j];
                memcpy((char *)&p + k->offset,
                       k->size == 1   ? (void *)&flag
                       : k->size == 4 ? (void *)&half
                                      : (void *)&ends[j],
                       k->size);
            }
            if (config_set(k, config_format(k, &p, buf), &back) < 0)
                fail_msg("%s=%s is refused", k->name, buf);
            assert_memory_equal((char *)&p + k->offset, (char *)&back + k->offset, k->size);
        }
    }
}

static void rows_are_sound(void **state)
{
    char range[CONFIG_TEXT];

    (void)state;
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const struct config_key *k = &config_table[i];
        assert_true(k->min < k->max);
        assert_true(k->offset + k->size <= sizeof(struct params));
        assert_true(strlen(config_range(k, range)) < CONFIG_TEXT - 1);
        assert_true(strlen(k->help) > 10 && strlen(k->help) < 90);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(k->name, config_table[j].name);
            assert_int_not_equal(k->offset, config_table[j].offset);
        }
    }
    /* config_check() relies on the defaults of bounds being the kernel's */
    struct params p = params_default();
    for (size_t id = 0; id < KNOB_MAX; id++) {
        assert_int_equal(p.knob_lo[id], knob_table[id].min);
        assert_int_equal(p.knob_hi[id], knob_table[id].max);
    }
    assert_int_equal(key("HighFractionMin")->min, knob_table[KNOB_FRACTION].min);
    assert_int_equal(key("HighFractionMax")->max, knob_table[KNOB_FRACTION].max);
    assert_int_equal(key("BatchScaleMin")->min, knob_table[KNOB_SCALE].min);
    assert_int_equal(key("BatchScaleMax")->max, knob_table[KNOB_SCALE].max);
}

static char *read_example(char buf[static 32768])
{
    assert_true(read_file(EXAMPLE, buf, 32768) > 0);
    return buf;
}

/* The example against the table: keys in order, in their sections, commented, at their defaults,
 * with their ranges in the comment above. */
static void example_is_in_step(void **state)
{
    char buf[32768], section[64] = "", comment[4096] = "", expected[256], text[CONFIG_TEXT];
    struct params p = params_default();
    size_t found = 0;

    (void)state;
    for (char *save, *line = strtok_r(read_example(buf), "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        assert_true(*line == '#' || *line == '[');
        if (sscanf(line, "[%63[^]]]", section) == 1 || strcmp(line, "#") == 0) {
            *comment = '\0';
        } else if (line[1] == ' ') {
            strncat(comment, line + 1, sizeof(comment) - strlen(comment) - 1);
        } else {
            assert_true(found < CONFIG_KEYS);
            const struct config_key *k = &config_table[found++];
            assert_string_equal(section, k->section);
            snprintf(expected, sizeof(expected), "#%s=%s", k->name, config_format(k, &p, text));
            assert_string_equal(line, expected);
            snprintf(expected, sizeof(expected), "(%s)", config_range(k, text));
            if (!strstr(comment, expected))
                fail_msg("%s=: no \"%s\" in \"%s\"", k->name, expected, comment);
            *comment = '\0';
        }
    }
    assert_int_equal(found, CONFIG_KEYS);
}

static void example_uncommented_is_the_default(void **state)
{
    char buf[32768];
    struct config_result r;
    struct params p = params_default();

    (void)state;
    for (char *c = read_example(buf); *c; c++)
        if (*c == '#' && c[1] >= 'A' && c[1] <= 'Z')
            *c = ' ';
    config_result_init(&r);
    assert_int_equal(config_parse("example", buf, strlen(buf), &r), 0);
    assert_int_equal(config_check(&r), 0);
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const struct config_key *k = &config_table[i];
        if (!r.origins[i].file)
            fail_msg("%s= is not set", k->name);
        assert_memory_equal((char *)&r.params + k->offset, (char *)&p + k->offset, k->size);
    }
    assert_int_equal(r.n_errors, 0);
    config_result_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_good_and_bad), cmocka_unit_test(defaults),
        cmocka_unit_test(format_parses_back),  cmocka_unit_test(rows_are_sound),
        cmocka_unit_test(example_is_in_step),  cmocka_unit_test(example_uncommented_is_the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
