/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "fileio.h"
#include "message_id.h"
#include "sdjournal.h"

#define MANUAL TEST_DATA "/../man/pcptuned.8"
#define CATALOG TEST_DATA "/../systemd/pcptuned.catalog"

/* --- events to look at ---------------------------------------------------------------------- */

static bool is_about_a_storm(enum event_kind k)
{
    return k == EVENT_STORM || k == EVENT_ADAPTED || k == EVENT_LISTS || k == EVENT_RESTORED ||
           k == EVENT_LEFT_ALONE;
}

/* What the daemon puts into an event of that kind. */
static struct event event_of(enum event_kind k)
{
    struct event e = {.kind = k, .level = LEVEL_NOTICE, .text = "a sentence"};

    if (k == EVENT_FOREIGN || k == EVENT_REFUSED) {
        e.has_outcome = true;
        e.outcome = (struct outcome){.kind = OUTCOME_FOREIGN, .before = {.has = {true}}};
    }
    if (!is_about_a_storm(k))
        return e;
    e.has_plan = true;
    e.plan.reason = REASON_STORM;
    e.plan.action = k == EVENT_LEFT_ALONE ? PLAN_NONE : PLAN_SET;
    e.plan.why = (struct evidence_numbers){.storm_id = k == EVENT_LISTS ? 0 : 3,
                                           .tasks = 9,
                                           .tasks_total = 12,
                                           .pages = 589824,
                                           .announced = UINT64_MAX,
                                           .freed = 580000,
                                           .w_before = 80640,
                                           .w_after = 15120,
                                           .target = 20000,
                                           .group = "docker 3f2a9c01d2ab"};
    e.has_outcome = k != EVENT_LEFT_ALONE;
    e.outcome = (struct outcome){.before = {.has = {true, true}, .value = {0, 5}},
                                 .after = {.has = {true, true}, .value = {INT_MAX, 5}}};
    return e;
}

/* The value of a field, NULL where it is not there. Valid until the next call. */
static const char *field(const struct sdjournal_entry *j, const char *name)
{
    static char value[4096];
    size_t len = strlen(name);

    for (size_t i = 0; i < j->n; i++) {
        const char *text = j->field[i].iov_base;
        if (j->field[i].iov_len <= len || memcmp(text, name, len) != 0 || text[len] != '=')
            continue;
        memcpy(value, text + len + 1, j->field[i].iov_len - len - 1);
        value[j->field[i].iov_len - len - 1] = '\0';
        return value;
    }
    return NULL;
}

static void expect(const struct sdjournal_entry *j, const char *name, const char *value)
{
    const char *found = field(j, name);

    if (!value && found)
        fail_msg("%s=%s, expected none", name, found);
    if (value && (!found || strcmp(found, value) != 0))
        fail_msg("%s=%s, expected %s", name, found ? found : "(none)", value);
}

/* --- fields --------------------------------------------------------------------------------- */

static void test_fields_of_a_storm(void **state)
{
    (void)state;
    static const char *const fields[][2] = {
        {"MESSAGE_ID", MESSAGE_STORM},
        {"PRIORITY", "5"},
        {"PCPTUNED_EVENT", "storm"},
        {"PCPTUNED_DRY_RUN", "0"},
        {"PCPTUNED_REASON", "storm"},
        {"PCPTUNED_STORM_ID", "3"},
        {"PCPTUNED_CGROUP", "docker 3f2a9c01d2ab"},
        {"PCPTUNED_CONTAINER", "3f2a9c01d2ab"},
        {"PCPTUNED_TASKS", "12"},
        {"PCPTUNED_PAGES", "589824"},
        {"PCPTUNED_PAGES_ANNOUNCED", "18446744073709551615"},
        {"PCPTUNED_PAGES_FREED", "580000"},
        {"PCPTUNED_WAIT_BEFORE_USEC", "80"},
        {"PCPTUNED_WAIT_AFTER_USEC", "15"},
        {"PCPTUNED_TARGET_USEC", "20"},
        {"PCPTUNED_OUTCOME", "done"},
        {"PCPTUNED_KNOB", "vm.percpu_pagelist_high_fraction"},
        {"PCPTUNED_OLD", "0"},
        {"PCPTUNED_NEW", "2147483647"},
        {"PCPTUNED_KNOB_2", NULL},
        {"PCPTUNED_REPEATS", NULL},
        {"ERRNO", NULL},
    };
    struct event e = event_of(EVENT_STORM);
    struct sdjournal_entry j;
    char sentence[EVENT_TEXT];

    sdjournal_compose(&e, &j);
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        expect(&j, fields[i][0], fields[i][1]);
    expect(&j, "MESSAGE", event_describe(&e, sentence, sizeof(sentence)));
}

static void test_two_knobs(void **state)
{
    (void)state;
    struct event e = event_of(EVENT_STORM);
    struct sdjournal_entry j;

    e.outcome.after.value[KNOB_SCALE] = 2;
    sdjournal_compose(&e, &j);
    expect(&j, "PCPTUNED_KNOB", "vm.percpu_pagelist_high_fraction");
    expect(&j, "PCPTUNED_KNOB_2", "vm.pcp_batch_scale_max");
    expect(&j, "PCPTUNED_OLD_2", "5");
    expect(&j, "PCPTUNED_NEW_2", "2");

    e.outcome.after.value[KNOB_FRACTION] = 0; /* the second alone is the first */
    sdjournal_compose(&e, &j);
    expect(&j, "PCPTUNED_KNOB", "vm.pcp_batch_scale_max");
    expect(&j, "PCPTUNED_NEW", "2");
    expect(&j, "PCPTUNED_KNOB_2", NULL);

    e.outcome.after.value[KNOB_SCALE] = 5; /* nothing changed: the catalog still finds a name */
    sdjournal_compose(&e, &j);
    expect(&j, "PCPTUNED_KNOB", "vm.percpu_pagelist_high_fraction");
    expect(&j, "PCPTUNED_NEW", "0");
}

static void test_failures(void **state)
{
    (void)state;
    struct event e = {.kind = EVENT_REFUSED, .level = LEVEL_WARNING, .has_outcome = true};
    struct sdjournal_entry j;

    e.outcome = (struct outcome){.kind = OUTCOME_REFUSED, .knob = KNOB_SCALE, .error = -EPERM};
    sdjournal_compose(&e, &j);
    expect(&j, "PCPTUNED_OUTCOME", "refused");
    expect(&j, "PCPTUNED_KNOB", "vm.pcp_batch_scale_max");
    expect(&j, "PCPTUNED_FOUND", NULL);
    expect(&j, "ERRNO", "1");
    e.outcome = (struct outcome){.kind = OUTCOME_FOREIGN, .before = {.has = {true}, .value = {99}}};
    sdjournal_compose(&e, &j);
    expect(&j, "PCPTUNED_FOUND", "99");
    expect(&j, "ERRNO", NULL);
}

static void test_containers(void **state)
{
    (void)state;
    static const char *const groups[][2] = {
        {"docker 3f2a9c01d2ab", "3f2a9c01d2ab"},
        {"nspawn web", "web"},
        {"pod 0b8bd4bd-2e5e-4a0c-a2f5-6f9f4be9ad4f", NULL},
        {"nginx.service", NULL},
        {"/", NULL},
        {"/a b", NULL},
        {"...b c", NULL},
        {"docker ", NULL},
        {"docker", NULL},
        {" x", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        struct event e = event_of(EVENT_LEFT_ALONE);
        struct sdjournal_entry j;
        snprintf(e.plan.why.group, sizeof(e.plan.why.group), "%s", groups[i][0]);
        sdjournal_compose(&e, &j);
        expect(&j, "PCPTUNED_CGROUP", groups[i][0][0] ? groups[i][0] : "unknown");
        expect(&j, "PCPTUNED_CONTAINER", groups[i][1]);
    }
}

/* All that an event can hold, at its longest, still fits, and every field is named well. */
static void test_limits(void **state)
{
    (void)state;
    struct event e = event_of(EVENT_STORM);
    struct sdjournal_entry j;

    memset(&e.plan.why, 0xff, sizeof(e.plan.why));
    e.plan.why.starting = true;
    memset(e.plan.why.group, '\n', sizeof(e.plan.why.group) - 1);
    e.plan.why.group[sizeof(e.plan.why.group) - 1] = '\0';
    e.outcome.after.value[KNOB_SCALE] = INT_MIN;
    e.outcome.error = -INT_MAX;
    e.repeats = UINT32_MAX;
    sdjournal_compose(&e, &j);
    expect(&j, "PCPTUNED_NEW_2", "-2147483648"); /* the last one */
    for (size_t i = 0; i < j.n; i++) {
        const char *c = j.field[i].iov_base;
        assert_non_null(memchr(c, '=', j.field[i].iov_len));
        for (; *c != '='; c++)
            if (!isupper((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '_')
                fail_msg("field %.40s", (const char *)j.field[i].iov_base);
    }
    assert_true(j.n < SDJOURNAL_FIELDS);
}

/* Every field of ours is in the manual, and every one of the manual's is ours. */
static void test_manual(void **state)
{
    (void)state;
    struct event lists = event_of(EVENT_STORM), foreign = event_of(EVENT_FOREIGN);
    struct sdjournal_entry all[2];
    char buf[32768], name[64];

    lists.plan.why.storm_id = 0;
    lists.outcome.after.value[KNOB_SCALE] = 2;
    lists.repeats = 1;
    sdjournal_compose(&lists, &all[0]);
    sdjournal_compose(&foreign, &all[1]);
    if (read_file(MANUAL, buf, sizeof(buf)) <= 0)
        fail_msg("%s cannot be read", MANUAL);
    for (const char *at = strstr(buf, "PCPTUNED_"); at; at = strstr(at + 1, "PCPTUNED_")) {
        assert_int_equal(sscanf(at, "%63[A-Z_0-9]", name), 1);
        if (!field(&all[0], name) && !field(&all[1], name))
            fail_msg("%s= of pcptuned(8) is in no entry", name);
    }
    for (size_t i = 0; i < all[0].n + all[1].n; i++) {
        const struct iovec *v = i < all[0].n ? &all[0].field[i] : &all[1].field[i - all[0].n];
        const char *text = v->iov_base;
        size_t len = (size_t)((const char *)memchr(text, '=', v->iov_len) - text);
        snprintf(name, sizeof(name), "%.*s= ", (int)len, text);
        if (strncmp(name, "PCPTUNED_", 9) != 0)
            continue;
        char *found = strstr(buf, name);
        name[len + 1] = '\n';
        if (!found && !strstr(buf, name))
            fail_msg("%s is not in pcptuned(8)", name);
    }
}

/* --- the catalog ---------------------------------------------------------------------------- */

static char *read_catalog(char buf[static 32768])
{
    if (read_file(CATALOG, buf, 32768) <= 0)
        fail_msg("%s cannot be read", CATALOG);
    return buf;
}

static int kind_of(const char *id)
{
    for (int k = 0; k < EVENT_KINDS; k++)
        if (strcmp(message_id((enum event_kind)k), id) == 0)
            return k;
    return -1;
}

static void test_ids(void **state)
{
    (void)state;
    for (int k = 0; k < EVENT_KINDS; k++) {
        const char *id = message_id((enum event_kind)k);
        if (!id)
            fail_msg("event %s has no MESSAGE_ID", event_name((enum event_kind)k));
        assert_int_equal(strlen(id), 32);
        assert_int_equal(strspn(id, "0123456789abcdef"), 32);
        assert_int_equal(kind_of(id), k); /* no two are the same */
    }
    assert_null(message_id(EVENT_KINDS));
}

/* Each @FIELD@ of the entry is in each event of its kind. */
static void check_fields(const char *body, enum event_kind k)
{
    struct event e = event_of(k);
    struct sdjournal_entry j;
    char name[64];

    sdjournal_compose(&e, &j);
    for (const char *at = strchr(body, '@'); at; at = strchr(at, '@')) {
        size_t len = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        assert_in_range(len, 1, sizeof(name) - 1);
        assert_int_equal(at[len + 1], '@');
        snprintf(name, sizeof(name), "%.*s", (int)len, at + 1);
        if (!field(&j, name))
            fail_msg("entry of %s: no such event has %s=", event_name(k), name);
        at += len + 2;
    }
}

static void check_entry(const char *entry, bool seen[EVENT_KINDS])
{
    char id[64];

    assert_int_equal(sscanf(entry, "-- %63s\n", id), 1);
    int k = kind_of(id);
    if (k < 0)
        fail_msg("catalog entry %s is of no event", id);
    assert_false(seen[k]);
    seen[k] = true;
    const char *body = strstr(entry, "\n\n");
    assert_non_null(body);
    if (strlen(body) < 100)
        fail_msg("the entry of %s says nothing", event_name((enum event_kind)k));
    for (size_t i = 0; i < 3; i++) {
        static const char *const headers[] = {"\nSubject: ", "\nDefined-By: pcptuned\n",
                                              "\nSupport: "};
        const char *header = strstr(entry, headers[i]);
        if (!header || header > body)
            fail_msg("the entry of %s has no%s", event_name((enum event_kind)k), headers[i]);
    }
    check_fields(entry, (enum event_kind)k);
}

static void test_catalog(void **state)
{
    (void)state;
    char buf[32768];
    bool seen[EVENT_KINDS] = {false};
    char *next = strstr(read_catalog(buf), "\n-- ");

    while (next) {
        char *entry = next + 1;
        next = strstr(entry, "\n-- ");
        if (next)
            *next = '\0';
        check_entry(entry, seen);
    }
    for (int k = 0; k < EVENT_KINDS; k++)
        if (!seen[k])
            fail_msg("event %s is not in the catalog", event_name((enum event_kind)k));
}

/* The catalog says what each reason means, and so does the sentence. */
static void test_reasons(void **state)
{
    (void)state;
    char buf[32768], quoted[64], sentence[EVENT_TEXT];

    read_catalog(buf);
    for (int r = REASON_NONE + 1; r < REASON_MAX; r++) {
        const char *name = reason_name((enum reason)r);
        if (!name || !strcmp(name, "unknown"))
            fail_msg("reason %d has no name", r);
        if (r == REASON_STORM)
            continue; /* the entry itself is its explanation */
        snprintf(quoted, sizeof(quoted), "\"%s\"", name);
        if (!strstr(buf, quoted))
            fail_msg("reason %s is not in the catalog", quoted);
        struct plan p = {.reason = (enum reason)r};
        plan_describe(&p, sentence, sizeof(sentence));
        assert_true(strlen(sentence) > 20);
    }
}

/* systemd's own reader takes it. */
static void test_journalctl(void **state)
{
    (void)state;
    if (system("command -v journalctl >/dev/null") != 0) {
        print_message("SKIP: no journalctl to read the catalog with\n");
        skip();
    }
    static const char script[] =
        "d=$(mktemp -d) && trap 'rm -rf $d' EXIT && "
        "mkdir -p $d/usr/lib/systemd/catalog $d/var/lib/systemd/catalog && "
        "cp " CATALOG " $d/usr/lib/systemd/catalog/ && "
        "journalctl --update-catalog --root=$d 2>&1 && "
        "test \"$(journalctl --list-catalog --root=$d | grep -c ' pcptuned: ')\" = %d";
    char command[1024];

    snprintf(command, sizeof(command), script, EVENT_KINDS);
    int status = system(command);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_of_a_storm),
        cmocka_unit_test(test_two_knobs),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_containers),
        cmocka_unit_test(test_manual),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_catalog),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_journalctl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
