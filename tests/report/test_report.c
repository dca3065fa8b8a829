/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>
#include <json.h>

#include "fileio.h"
#include "report.h"

/* --- events to report ----------------------------------------------------------------------- */

static struct event plain(enum event_kind kind, enum event_level level, const char *text)
{
    struct event e = {.kind = kind,
                      .level = level,
                      .mono = 123456789012345,
                      .real = 1790000000123456789}; /* 2026-09-21T14:13:20 */

    snprintf(e.text, sizeof(e.text), "%s", text);
    return e;
}

/* Everything that an event can carry. */
static struct event full(enum event_kind kind)
{
    struct event e = plain(kind, LEVEL_NOTICE, "");

    e.has_plan = e.has_outcome = true;
    e.plan = (struct plan){.action = PLAN_SET,
                           .reason = REASON_STORM,
                           .why = {.storm_id = 3,
                                   .tasks = 9,
                                   .tasks_total = 12,
                                   .pages = 589824,
                                   .announced = UINT64_MAX,
                                   .freed = 580000,
                                   .n_now = 2,
                                   .n_planned = 4,
                                   .b_before = 2016,
                                   .b_after = 189,
                                   .w_before = 80640,
                                   .w_after = 15120,
                                   .target = 20000,
                                   .page_cost = 20,
                                   .excess = 4242,
                                   .message_at = 123456789000000,
                                   .since = 1234,
                                   .repeats = 1,
                                   .writes_left = 239,
                                   .group = "docker 3f2a9c01d2ab"}};
    e.outcome = (struct outcome){.action = PLAN_SET,
                                 .kind = OUTCOME_DONE,
                                 .error = -EROFS,
                                 .before = {.has = {true, true}, .value = {0, 5}},
                                 .after = {.has = {true, true}, .value = {INT_MAX, 2}},
                                 .started = 123456789010000,
                                 .written = 123456789012000};
    return e;
}

static struct json_object *parse(const char *line)
{
    struct json_tokener *t = json_tokener_new();
    struct json_object *o;

    assert_non_null(t);
    json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    o = json_tokener_parse_ex(t, line, (int)strlen(line) + 1);
    if (!o)
        fail_msg("%s: %s", json_tokener_error_desc(json_tokener_get_error(t)), line);
    json_tokener_free(t);
    assert_true(json_object_is_type(o, json_type_object));
    return o;
}

static struct json_object *parse_event(const struct event *e)
{
    _cleanup_free_ char *text = report_json(e);

    assert_non_null(text);
    assert_null(strchr(text, '\n'));
    return parse(text);
}

static struct json_object *get(struct json_object *o, const char *key)
{
    struct json_object *v = NULL;

    if (!json_object_object_get_ex(o, key, &v))
        fail_msg("no key %s in %s", key, json_object_to_json_string(o));
    return v;
}

static const char *get_string(struct json_object *o, const char *key)
{
    return json_object_get_string(get(o, key));
}

/* --- JSON against the manual ---------------------------------------------------------------- */

/* The part of pcptuned(8) that is a promise. */
static char *read_manual(void)
{
    char *text = malloc(1 << 16);

    assert_non_null(text);
    if (read_file(TEST_DATA "/../man/pcptuned.8", text, 1 << 16) <= 0)
        fail_msg("the manual cannot be read");
    char *start = strstr(text, "\n.Sh EVENTS\n");
    assert_non_null(start);
    char *end = strstr(start, "\n.Sh FILES\n");
    assert_non_null(end);
    *end = '\0';
    memmove(text, start, strlen(start) + 1);
    return text;
}

/* Calls fn for each word of the lines that begin with prefix. Changes text. */
static void for_words(char *text, const char *prefix, void (*fn)(void *arg, const char *word),
                      void *arg)
{
    char *lines = NULL, *words = NULL;

    for (char *line = strtok_r(text, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines)) {
        if (strncmp(line, prefix, strlen(prefix)) != 0)
            continue;
        char *rest = line + strlen(prefix);
        for (char *w = strtok_r(rest, " ,;.", &words); w; w = strtok_r(NULL, " ,;.", &words))
            fn(arg, w);
    }
}

struct search {
    const char *word;
    bool found;
};

static void compare(void *arg, const char *word)
{
    struct search *s = arg;
    s->found |= strcmp(s->word, word) == 0;
}

static bool manual_has(const char *prefix, const char *word)
{
    _cleanup_free_ char *text = read_manual();
    struct search s = {.word = word};

    for_words(text, prefix, compare, &s);
    return s.found;
}

static void need_key(void *arg, const char *word)
{
    get(arg, word);
}

static void test_json_keys(void **state)
{
    (void)state;

    for (int k = 0; k < EVENT_KINDS; k++) {
        struct event e = full((enum event_kind)k);
        struct json_object *o = parse_event(&e);
        _cleanup_free_ char *manual = read_manual();
        for_words(manual, ".It Cm ", need_key, o); /* each promised key is there */
        json_object_object_foreach(o, key, value)
        {
            (void)value;
            if (!manual_has(".It Cm ", key)) /* and no other */
                fail_msg("key %s is not in pcptuned(8)", key);
        }
        assert_string_equal(get_string(o, "event"), event_name((enum event_kind)k));
        json_object_put(o);
    }
}

static void test_words_are_documented(void **state)
{
    (void)state;

    for (int k = 0; k < EVENT_KINDS; k++)
        if (!manual_has(".Cm ", event_name((enum event_kind)k)))
            fail_msg("event %s is not in pcptuned(8)", event_name((enum event_kind)k));
    for (int r = REASON_NONE + 1; r < REASON_MAX; r++)
        if (!manual_has(".Cm ", reason_name((enum reason)r)))
            fail_msg("reason %s is not in pcptuned(8)", reason_name((enum reason)r));
    assert_false(manual_has(".Cm ", "nonsense"));
    assert_string_equal(event_name(EVENT_KINDS), "unknown");
}

static void test_json_without_plan(void **state)
{
    (void)state;

    for (int k = 0; k < EVENT_KINDS; k++) {
        struct event e = plain((enum event_kind)k, LEVEL_WARNING, "a sentence");
        e.dry_run = true;
        struct json_object *o = parse_event(&e);
        assert_int_equal(json_object_object_length(o), 6);
        assert_string_equal(get_string(o, "event"), event_name((enum event_kind)k));
        assert_string_equal(get_string(o, "time"), "2026-09-21T14:13:20.123456Z");
        assert_true(json_object_get_uint64(get(o, "monotonic_ns")) == 123456789012345);
        assert_int_equal(json_object_get_int(get(o, "level")), 4);
        assert_true(json_object_get_boolean(get(o, "dry_run")));
        assert_string_equal(get_string(o, "message"), "a sentence");
        json_object_put(o);
    }
}

static void test_json_values(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {"storm", 3},
        {"tasks", 9},
        {"tasks_total", 12},
        {"pages", 589824},
        {"pages_announced", UINT64_MAX},
        {"pages_freed", 580000},
        {"n", 2},
        {"n_planned", 4},
        {"b_before", 2016},
        {"b_after", 189},
        {"wait_before_ns", 80640},
        {"wait_after_ns", 15120},
        {"target_ns", 20000},
        {"excess_pages", 4242},
        {"message_at_ns", 123456789000000},
        {"since_ns", 1234},
        {"repeats", 1},
        {"writes_left", 239},
        {"started_at_ns", 123456789010000},
        {"written_at_ns", 123456789012000},
    };
    struct event e = full(EVENT_STORM);
    struct json_object *o = parse_event(&e);

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if (json_object_get_uint64(get(o, numbers[i].key)) != numbers[i].value)
            fail_msg("%s: %s", numbers[i].key, get_string(o, numbers[i].key));
    assert_string_equal(get_string(o, "reason"), "storm");
    assert_string_equal(get_string(o, "group"), "docker 3f2a9c01d2ab");
    assert_string_equal(get_string(o, "outcome"), "done");
    assert_string_equal(get_string(o, "error"), strerror(EROFS));
    assert_int_equal(json_object_get_int(get(get(o, "before"), "high_fraction")), 0);
    assert_int_equal(json_object_get_int(get(get(o, "after"), "high_fraction")), INT_MAX);
    assert_int_equal(json_object_get_int(get(get(o, "after"), "batch_scale")), 2);
    json_object_put(o);

    e.outcome.error = 0;
    e.outcome.before.has[KNOB_SCALE] = false; /* a knob that the kernel lacks is absent */
    o = parse_event(&e);
    assert_false(json_object_object_get_ex(o, "error", NULL));
    assert_int_equal(json_object_object_length(get(o, "before")), 1);
    json_object_put(o);
}

/* --- sentences ------------------------------------------------------------------------------ */

static void test_describe(void **state)
{
    (void)state;
    char text[1024];
    struct event e = full(EVENT_STORM);

    event_describe(&e, text, sizeof(text));
    assert_int_equal(strncmp(text,
                             "storm 3: vm.percpu_pagelist_high_fraction 0 -> 2147483647, "
                             "vm.pcp_batch_scale_max 5 -> 2: 9 tasks in flight",
                             107),
                     0);
    e.dry_run = true;
    event_describe(&e, text, sizeof(text));
    assert_non_null(strstr(text, "storm 3: would set vm.percpu_pagelist_high_fraction 0 -> "));
    e.outcome.after = e.outcome.before;
    event_describe(&e, text, sizeof(text));
    assert_int_equal(strncmp(text, "storm 3: 9 tasks", 16), 0);

    for (size_t size = 1; size < 300; size++) {
        char *buf = malloc(size);
        assert_non_null(buf);
        e = full(EVENT_STORM);
        event_describe(&e, buf, size);
        assert_non_null(memchr(buf, '\0', size));
        free(buf);
    }
}

#define HOSTILE "a\nb\r\x1b[31m\x7f\"q\\\t{}\xc3\xa4%s%n"

static void test_hostile_strings(void **state)
{
    (void)state;
    struct event plan = full(EVENT_STORM);
    struct event text = plain(EVENT_NOTICE, LEVEL_ERROR, HOSTILE);
    const struct event *const events[] = {&plan, &text};

    snprintf(plan.plan.why.group, sizeof(plan.plan.why.group), "%s", HOSTILE);
    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        char sentence[1024];
        event_describe(events[i], sentence, sizeof(sentence));
        for (const char *c = sentence; *c; c++)
            if ((unsigned char)*c < 0x20 || *c == 0x7f)
                fail_msg("control character 0x%02x in: %s", (unsigned)*c, sentence);
        assert_non_null(strstr(sentence, "\"q\\"));
        assert_non_null(strstr(sentence, "{}\xc3\xa4%s%n"));
        struct json_object *o = parse_event(events[i]);
        assert_string_equal(get_string(o, "message"), sentence);
        json_object_put(o);
    }
    struct event cut =
        plain(EVENT_NOTICE, LEVEL_ERROR, "/etc/\xff\xe2\x82\xac/\xed\xa0\x80\xe2\x82");
    char sentence[1024];
    assert_string_equal(event_describe(&cut, sentence, sizeof(sentence)),
                        "/etc/?\xe2\x82\xac/?????");
    struct json_object *o = parse_event(&plan);
    assert_string_equal(get_string(o, "group"), HOSTILE); /* escaped, not lost */
    json_object_put(o);
}

/* --- the thread ----------------------------------------------------------------------------- */

/* A process that reports into pipes. */
struct writer {
    pid_t pid;
    int out, err; /* what it prints */
    int told;     /* what body() returned, as text */
};

/* body() runs in a child whose stdout and stderr are pipes of a page. */
static struct writer start_writer(uint64_t (*body)(void))
{
    int out[2], err[2], told[2];

    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    assert_true(fcntl(out[1], F_SETPIPE_SZ, 4096) >= 4096);
    assert_true(fcntl(err[1], F_SETPIPE_SZ, 4096) >= 4096);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(out[0]);
        close(err[0]);
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        alarm(60);
        uint64_t value = body();
        /* As the daemon does: what is stuck may not hold up what exit() flushes. */
        exit(dprintf(told[1], "%llu", (unsigned long long)value) > 0 ? 0 : 1);
    }
    close(out[1]);
    close(err[1]);
    close(told[1]);
    return (struct writer){.pid = pid, .out = out[0], .err = err[0], .told = told[0]};
}

/* All that comes until the other end is closed. */
static char *drain(int fd)
{
    size_t size = 1 << 20, len = 0;
    char *text = malloc(size);
    ssize_t n;

    assert_non_null(text);
    while ((n = read(fd, text + len, size - 1 - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    close(fd);
    return text;
}

static uint64_t end_writer(struct writer *w)
{
    _cleanup_free_ char *told = drain(w->told);
    int status;

    assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the writer ended with status 0x%x", (unsigned)status);
    return strtoull(told, NULL, 10);
}

static struct report *open_report(enum report_format format, enum event_level level)
{
    struct report_config c = {.format = format, .level = level};
    struct report *r = NULL;

    if (report_new(&c, &r) < 0)
        _exit(3);
    return r;
}

static void put_levels(enum report_format format, enum event_level level)
{
    struct report *r = open_report(format, level);

    for (int l = LEVEL_ERROR; l <= LEVEL_DEBUG; l++) {
        char text[32];
        snprintf(text, sizeof(text), "level %d", l);
        struct event e = plain(EVENT_NOTICE, (enum event_level)l, text);
        e.dry_run = l == LEVEL_NOTICE;
        report_put(r, &e);
    }
    report_free(r);
}

static uint64_t write_info(void)
{
    put_levels(REPORT_TEXT, LEVEL_INFO);
    return 0;
}

static uint64_t write_debug(void)
{
    put_levels(REPORT_TEXT, LEVEL_DEBUG);
    return 0;
}

static uint64_t write_errors(void)
{
    put_levels(REPORT_TEXT, LEVEL_ERROR);
    return 0;
}

static uint64_t write_json(void)
{
    put_levels(REPORT_JSON, LEVEL_ERROR);
    return 0;
}

static uint64_t write_auto(void)
{
    unsetenv("JOURNAL_STREAM");
    put_levels(REPORT_AUTO, LEVEL_ERROR);
    setenv("JOURNAL_STREAM", "1:1", 1); /* another program's, inherited */
    put_levels(REPORT_AUTO, LEVEL_ERROR);
    setenv("JOURNAL_STREAM", "nonsense", 1);
    put_levels(REPORT_AUTO, LEVEL_ERROR);
    return 0;
}

static void test_formats(void **state)
{
    (void)state;
    static const struct {
        uint64_t (*body)(void);
        const char *out, *err; /* NULL: looked at below */
    } table[] = {
        {write_errors, "", "error: level 3\n"},
        {write_info, "", "error: level 3\nwarning: level 4\n[dry run] level 5\nlevel 6\n"},
        {write_debug, "",
         "error: level 3\nwarning: level 4\n[dry run] level 5\nlevel 6\ndebug: level 7\n"},
        {write_auto, "", "error: level 3\nerror: level 3\nerror: level 3\n"},
        {write_json, NULL, ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct writer w = start_writer(table[i].body);
        _cleanup_free_ char *out = drain(w.out);
        _cleanup_free_ char *err = drain(w.err);
        end_writer(&w);
        assert_string_equal(err, table[i].err);
        if (table[i].out) {
            assert_string_equal(out, table[i].out);
            continue;
        }
        char *rest = NULL;
        int level = LEVEL_ERROR;
        for (char *line = strtok_r(out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
            struct json_object *o = parse(line);
            assert_int_equal(json_object_get_int(get(o, "level")), level++);
            json_object_put(o);
        }
        assert_int_equal(level, LEVEL_DEBUG + 1); /* all, whatever the level asked for */
    }
}

#define MANY 1000

static void put_many(struct report *r)
{
    struct event e = plain(EVENT_SIGNAL, LEVEL_WARNING, "");

    memset(e.text, 'x', sizeof(e.text) - 1);
    for (int i = 0; i < MANY; i++) {
        memcpy(e.text, i % 2 ? "odd" : "even", 3); /* or they were told as one */
        report_put(r, &e);
    }
}

/* Overflows the ring, and begins to be read only then: the parent waits for stderr. */
static uint64_t overflow(void)
{
    struct report *r = open_report(REPORT_JSON, LEVEL_DEBUG);

    put_many(r);
    uint64_t dropped = report_dropped(r);
    fputs("now", stderr);
    report_free(r);
    return dropped;
}

static void test_overflow_is_told(void **state)
{
    (void)state;
    struct writer w = start_writer(overflow);
    struct pollfd p = {.fd = w.err, .events = POLLIN};
    uint64_t seen = 0, told = 0;
    char *rest = NULL;

    assert_int_equal(poll(&p, 1, 60000), 1);
    _cleanup_free_ char *out = drain(w.out);
    _cleanup_free_ char *err = drain(w.err);
    uint64_t dropped = end_writer(&w);
    assert_string_equal(err, "now");
    for (char *line = strtok_r(out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct json_object *o = parse(line);
        if (strcmp(get_string(o, "event"), "signal") == 0) {
            seen++;
        } else {
            assert_string_equal(get_string(o, "event"), "notice");
            assert_non_null(strstr(get_string(o, "message"), "dropped"));
            assert_true(strncmp(get_string(o, "time"), "1970", 4) != 0);
            assert_true(json_object_get_uint64(get(o, "monotonic_ns")) > 0);
            told = strtoull(get_string(o, "message"), NULL, 10);
        }
        json_object_put(o);
    }
    assert_true(dropped > 0);
    assert_int_equal(seen + dropped, MANY); /* none lost, none twice */
    assert_int_equal(told, dropped);
}

static uint64_t milliseconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint64_t stuck(enum report_format format)
{
    uint64_t start = milliseconds();
    struct report *r = open_report(format, LEVEL_DEBUG);

    put_many(r);
    if (milliseconds() - start > 1500) /* 1000 copies of 1 KiB */
        _exit(4);
    report_free(r);
    return milliseconds() - start;
}

static uint64_t stuck_json(void)
{
    return stuck(REPORT_JSON);
}

static uint64_t stuck_text(void)
{
    return stuck(REPORT_TEXT);
}

/* A reader that never reads, of either stream. */
static void test_stuck_reader(void **state)
{
    (void)state;
    static uint64_t (*const bodies[])(void) = {stuck_json, stuck_text};

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        struct writer w = start_writer(bodies[i]);
        uint64_t took = end_writer(&w);
        assert_in_range(took, 1900, 20000);
        close(w.out);
        close(w.err);
    }
}

static uint64_t closed(void)
{
    signal(SIGPIPE, SIG_IGN);
    struct report *r = open_report(REPORT_JSON, LEVEL_DEBUG);
    put_many(r);
    report_free(r);
    return 0;
}

/* One that has gone away. */
static void test_gone_reader(void **state)
{
    (void)state;
    struct writer w = start_writer(closed);

    close(w.out);
    end_writer(&w);
    close(w.err);
}

static void test_nothing(void **state)
{
    (void)state;
    report_free(NULL);
    for (int i = 0; i < 50; i++) { /* the thread ends also where nothing was put */
        struct report_config c = {.format = REPORT_TEXT, .level = LEVEL_INFO};
        struct report *r = NULL;
        assert_int_equal(report_new(&c, &r), 0);
        assert_int_equal(report_dropped(r), 0);
        report_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_keys),         cmocka_unit_test(test_words_are_documented),
        cmocka_unit_test(test_json_without_plan), cmocka_unit_test(test_json_values),
        cmocka_unit_test(test_describe),          cmocka_unit_test(test_hostile_strings),
        cmocka_unit_test(test_formats),           cmocka_unit_test(test_overflow_is_told),
        cmocka_unit_test(test_stuck_reader),      cmocka_unit_test(test_gone_reader),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
