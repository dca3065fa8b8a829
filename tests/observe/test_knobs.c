/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"
#include "fileio.h"
#include "knobs.h"
#include "skips.h"

static bool can_fake;

static void test_this_machine(void **state)
{
    (void)state;
    struct knob_values v;
    bool has[KNOB_MAX];
    char expected[32];

    knobs_probe(has);
    assert_int_equal(knobs_read(&v), 0);
    for (unsigned id = 0; id < KNOB_MAX; id++) {
        ssize_t n = read_file(knob_table[id].path, expected, sizeof(expected));
        printf("%s: %s", knob_table[id].name, n > 0 ? expected : "absent\n");
        assert_int_equal(has[id], n >= 0);
        assert_int_equal(v.has[id], n >= 0);
        if (n >= 0)
            assert_int_equal(v.value[id], atoi(expected)); // NOLINT(cert-err34-c)
        else
            assert_int_equal(knob_read(id, &v.value[id]), -ENOENT);
    }
}

static void test_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int error, value;
    } table[] = {
        {"0\n", 0, 0},
        {"8\n", 0, 8},
        {"2147483647\n", 0, INT_MAX},
        {"-5\n", 0, -5},
        {"-2147483648\n", 0, INT_MIN},
        {"2147483648\n", -EBADMSG, 0},
        {"-2147483649\n", -EBADMSG, 0},
        {"99999999999999999999\n", -EBADMSG, 0},
        {"", -EBADMSG, 0},
        {"\n", -EBADMSG, 0},
        {"8", -EBADMSG, 0},
        {"88", -EBADMSG, 0},
        {"8\n\n", -EBADMSG, 0},
        {"8 9\n", -EBADMSG, 0},
        {"8\t9\n", -EBADMSG, 0},
        {" 8\n", -EBADMSG, 0},
        {"+8\n", -EBADMSG, 0},
        {"0x8\n", -EBADMSG, 0},
        {"8.0\n", -EBADMSG, 0},
        {"eight\n", -EBADMSG, 0},
        {"1111111111111111111111111111111111111111111111111111111111111111111111\n", -EBADMSG, 0},
    };
    const char *path = knob_table[KNOB_FRACTION].path;

    if (!can_fake || access(path, F_OK) < 0)
        skip_for_want("no mount namespace, or no %s to put a fake over", path);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct knob_values v = {.value = {4711, 4712}};
        fake_text(path, table[i].text);
        int r = knobs_read(&v);
        fake_undo(path);
        if (r != table[i].error || v.value[KNOB_FRACTION] != (r < 0 ? 4711 : table[i].value))
            fail_msg("'%s': %d, %d", table[i].text, r, v.value[KNOB_FRACTION]);
        assert_int_equal(v.has[KNOB_FRACTION], r == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_this_machine),
        cmocka_unit_test(test_texts),
    };
    can_fake = fake_enter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
