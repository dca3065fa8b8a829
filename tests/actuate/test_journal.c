/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "journal.h"

#define BOOT "ee505401-471c-40d1-981e-ce67dbb17684"

static const struct journal both = {
    .boot_id = BOOT,
    .knob = {[KNOB_FRACTION] = {.held = true, .original = 0, .last = 0, .next = 4509},
             [KNOB_SCALE] = {.held = true, .original = 5, .last = 3, .next = 0}},
};
static const struct journal one = {
    .boot_id = "0",
    .knob = {[KNOB_FRACTION] = {.held = true, .original = INT_MAX, .last = 8, .next = 0}},
};
static const struct journal none = {.boot_id = BOOT};

static void assert_same(const struct journal *a, const struct journal *b)
{
    assert_string_equal(a->boot_id, b->boot_id);
    for (enum knob_id id = 0; id < KNOB_MAX; id++) {
        assert_int_equal(a->knob[id].held, b->knob[id].held);
        assert_int_equal(a->knob[id].original, b->knob[id].original);
        assert_int_equal(a->knob[id].last, b->knob[id].last);
        assert_int_equal(a->knob[id].next, b->knob[id].next);
    }
}

static void test_round_trip(void **state)
{
    (void)state;
    const struct journal *all[] = {&both, &one, &none};
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        char text[JOURNAL_TEXT_MAX];
        struct journal j;
        size_t len = journal_format(all[i], text);
        assert_true(len < sizeof(text));
        assert_int_equal(journal_parse(text, len, &j), 0);
        assert_same(&j, all[i]);
    }
}

/* The form is a contract with the version that comes after an update. */
static void test_text(void **state)
{
    (void)state;
    char text[JOURNAL_TEXT_MAX];
    journal_format(&both, text);
    assert_string_equal(text, "pcptuned-knobs 1\n"
                              "boot " BOOT "\n"
                              "high_fraction original=0 last=0 next=4509\n"
                              "batch_scale original=5 last=3 next=0\n"
                              "sum 218b58095f8e8e42\n");
}

static void refused(const char *text, size_t len)
{
    struct journal j, untouched;
    memset(&j, 0x5a, sizeof(j));
    memset(&untouched, 0x5a, sizeof(untouched));
    assert_int_equal(journal_parse(text, len, &j), -EBADMSG);
    assert_memory_equal(&j, &untouched, sizeof(j));
}

static void test_torn_at_every_byte(void **state)
{
    (void)state;
    char text[JOURNAL_TEXT_MAX], torn[JOURNAL_TEXT_MAX];
    size_t len = journal_format(&both, text);
    for (size_t i = 0; i < len; i++) {
        refused(text, i);
        memcpy(torn, text, len);
        memset(torn + i, 0, len - i);
        refused(torn, len);
    }
}

static void test_every_byte_changed(void **state)
{
    (void)state;
    char text[JOURNAL_TEXT_MAX];
    size_t len = journal_format(&both, text);
    for (size_t i = 0; i < len; i++) {
        char right = text[i];
        for (int c = CHAR_MIN; c <= CHAR_MAX; c++) {
            text[i] = (char)c;
            if (text[i] != right)
                refused(text, len);
        }
        text[i] = right;
    }
}

/* As the documentation of the format has it, not as the code does. */
static size_t seal(char *text)
{
    size_t len = strlen(text);
    uint64_t sum = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < len; i++)
        sum = (sum ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return len + (size_t)snprintf(text + len, JOURNAL_TEXT_MAX - len, "sum %016llx\n",
                                  (unsigned long long)sum);
}

/* Each is sealed with the right sum: only its content is wrong. */
static const char *const forged[] = {
    "",
    "\n",
    "pcptuned-knobs 1\n",
    "pcptuned-knobs 2\nboot " BOOT "\nhigh_fraction original=0 last=0 next=4509\n",
    "pcptuned-knobs 1\nboot \nhigh_fraction original=0 last=0 next=4509\n",
    "pcptuned-knobs 1\nboot " BOOT "0000\n",
    "pcptuned-knobs 1\nboot EE505401-471C-40D1-981E-CE67DBB17684\n",
    "pcptuned-knobs 1\nboot ../../etc\n",
    "pcptuned-knobs 1\nboot  " BOOT "\n",
    "pcptuned-knobs 1\r\nboot " BOOT "\r\n",
    "pcptuned-knobs 1\n\nboot " BOOT "\n",
    "boot " BOOT "\npcptuned-knobs 1\n",
#define V(rest) "pcptuned-knobs 1\nboot " BOOT "\n" rest "\n"
    V(""),
    V("high_fraction"),
    V("high_fraction "),
    V("high_fraction original=0"),
    V("high_fraction original=0 last=0"),
    V("high_fraction original=0 last=0 next="),
    V("high_fraction original=0 last=0 next=7"),
    V("high_fraction original=7 last=0 next=8"),
    V("high_fraction original=-1 last=0 next=8"),
    V("high_fraction original=+8 last=0 next=8"),
    V("high_fraction original=00 last=0 next=8"),
    V("high_fraction original=0x8 last=0 next=8"),
    V("high_fraction original=0 last=0 next=2147483648"),
    V("high_fraction original=0 last=0 next=4294967304"),
    V("high_fraction original=0 last=0 next=18446744073709551624"),
    V("high_fraction original=0 last=0 next=99999999999999999999999999999999999"),
    V("high_fraction original=0  last=0 next=8"),
    V("high_fraction  original=0 last=0 next=8"),
    V("high_fraction\toriginal=0 last=0 next=8"),
    V("high_fraction original=0 next=8 last=0"),
    V("high_fraction original=0 last=0 next=8 "),
    V("high_fraction original=0 last=0 next=8 more=1"),
    V("HIGH_FRACTION original=0 last=0 next=8"),
    V("high_fraction original=0 last=0 next=8\nhigh_fraction original=0 last=0 next=8"),
    V("high_fraction original=0 last=0 next=8\nhigh_fraction original=9 last=0 next=8"),
    V("batch_scale original=5 last=3 next=0\nhigh_fraction original=0 last=0 next=8"),
    V("batch_scale original=5 last=3 next=7"),
    V("swappiness original=60 last=60 next=0"),
    V("../kernel/panic original=0 last=0 next=8"),
    V("high_fraction original=%n last=%s next=8"),
};

static void test_forged(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(forged); i++) {
        char text[JOURNAL_TEXT_MAX];
        assert_true(strlen(forged[i]) < sizeof(text) - sizeof("sum 0123456789abcdef\n"));
        memcpy(text, forged[i], strlen(forged[i]) + 1);
        refused(text, seal(text));
    }
    char text[JOURNAL_TEXT_MAX] = V("high_fraction original=0 last=0 next=8");
    struct journal j;
    assert_int_equal(journal_parse(text, seal(text), &j), 0); /* or seal() proves nothing */
}

static void test_too_long(void **state)
{
    (void)state;
    size_t size = 1 << 20;
    _cleanup_free_ char *text = malloc(size);
    memset(text, '\n', size);
    journal_format(&both, text);
    for (size_t len = JOURNAL_TEXT_MAX - 1; len < JOURNAL_TEXT_MAX + 2; len++)
        refused(text, len);
    refused(text, size);
}

static void test_boot_id_valid(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        bool valid;
    } table[] = {
        {BOOT, true},
        {"0", true},
        {"", false},
        {"123456789012345678901234567890123456789", true},
        {"1234567890123456789012345678901234567890", false},
        {BOOT "\n", false},
        {"a b", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        assert_int_equal(journal_boot_id_valid(table[i].id), table[i].valid);
}

static void test_ours(void **state)
{
    (void)state;
    const struct journal_entry e = {.held = true, .original = 0, .last = 100, .next = 200};
    const struct journal_entry gone = {.held = false, .original = 0, .last = 100, .next = 200};
    assert_true(journal_ours(&e, 100));
    assert_true(journal_ours(&e, 200));
    assert_false(journal_ours(&e, 0));
    assert_false(journal_ours(&e, 300));
    assert_false(journal_ours(&gone, 100));
}

static void test_file(void **state)
{
    (void)state;
    char dir[] = "/tmp/pcptuned-journal-XXXXXX";
    assert_non_null(mkdtemp(dir));
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct journal j;

    assert_int_equal(journal_read(fd, &j), -ENOENT);
    assert_int_equal(journal_remove(fd), 0);
    assert_int_equal(journal_save(fd, &both), 0);
    assert_int_equal(journal_read(fd, &j), 0);
    assert_same(&j, &both);
    assert_int_equal(journal_save(fd, &none), 0); /* holds nothing: gone */
    assert_int_equal(journal_read(fd, &j), -ENOENT);

    assert_int_equal(symlinkat("/etc/passwd", fd, "knobs.journal"), 0);
    assert_int_equal(journal_read(fd, &j), -EBADMSG);
    assert_int_equal(journal_save(fd, &one), 0); /* replaces the link, not its target */
    struct stat st;
    assert_int_equal(fstatat(fd, "knobs.journal", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(journal_remove(fd), 0);

    _cleanup_close_ int big = openat(fd, "knobs.journal", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(big, 1 << 20), 0);
    assert_int_equal(journal_read(fd, &j), -EBADMSG);
    assert_int_equal(journal_remove(fd), 0);
    assert_int_equal(mkfifoat(fd, "knobs.journal", 0600), 0);
    assert_true(journal_read(fd, &j) < 0); /* and does not hang */
    assert_int_equal(journal_remove(fd), 0);
    close(fd);
    assert_int_equal(rmdir(dir), 0); /* nothing left behind */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_torn_at_every_byte),
        cmocka_unit_test(test_every_byte_changed),
        cmocka_unit_test(test_forged),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_boot_id_valid),
        cmocka_unit_test(test_ours),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
