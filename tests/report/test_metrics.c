/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "engine.h"
#include "fileio.h"
#include "metrics.h"
#include "report.h"

#define MANUAL TEST_DATA "/../man/pcptuned-metrics.7"

/* Everything is known and nothing is 0, so that no metric is left out. */
static struct status full_status(void)
{
    struct status s;

    status_init(&s);
    s.version = "1.2";
    snprintf(s.release, sizeof(s.release), "6.18.0");
    s.regime = REGIME_R4;
    s.state = "tuned";
    s.mode = MODE_DRY_RUN;
    s.state_since = 1790000000123456789;
    s.target_wait = 100000;
    s.wait = 80640;
    s.hold = 2016;
    s.tasks = 9;
    s.pages = 589824;
    for (unsigned k = 0; k < KNOB_MAX; k++)
        s.knobs[k] = (struct status_knob){
            .exists = true, .value = 3167, .original = 0, .owner = OWNER_PCPTUNED};
    s.signals[SIGNAL_PSI].available = true;
    s.storm = (struct status_storm){.tasks = 12, .wait_before = 80640, .wait_after = 15120};
    for (unsigned c = 0; c < COUNT_MAX; c++)
        s.counters[c] = 1000 + c;
    return s;
}

static struct event acted(enum event_kind k, nsec_t reaction)
{
    struct event e = {.kind = k, .level = LEVEL_NOTICE, .real = 1790000000500000000};

    e.has_plan = e.has_outcome = true;
    e.plan.why.message_at = 1000000000;
    e.outcome = (struct outcome){.before = {.has = {true}, .value = {0}},
                                 .after = {.has = {true}, .value = {3167}},
                                 .written = 1000000000 + reaction};
    return e;
}

static char *format(const struct metrics *m, const struct status *s)
{
    char *text = metrics_format(m, s, 1500000000, 0xfeed);

    assert_non_null(text);
    return text;
}

static void need_line(const char *text, const char *line)
{
    char whole[256];

    snprintf(whole, sizeof(whole), "\n%s\n", line);
    if (!strstr(text, whole))
        fail_msg("no line \"%s\" in\n%s", line, text);
}

/* --- what is shown -------------------------------------------------------------------------- */

static void test_values(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "pcptuned_build_info{version=\"1.2\",release=\"6.18.0\",regime=\"R4\"} 1",
        "pcptuned_config_info{hash=\"000000000000feed\"} 1",
        "pcptuned_mode{mode=\"apply\"} 0",
        "pcptuned_mode{mode=\"dry-run\"} 1",
        "pcptuned_state{state=\"calm\"} 0",
        "pcptuned_state{state=\"tuned\"} 1",
        "pcptuned_state_timestamp_seconds 1790000000.123456789",
        "pcptuned_signal_available{signal=\"psi\"} 1",
        "pcptuned_signal_available{signal=\"taskstats\"} 0",
        "pcptuned_knob_value{knob=\"vm.percpu_pagelist_high_fraction\"} 3167",
        "pcptuned_knob_original_value{knob=\"vm.percpu_pagelist_high_fraction\"} 0",
        "pcptuned_knob_owner{knob=\"vm.percpu_pagelist_high_fraction\",owner=\"pcptuned\"} 1",
        "pcptuned_knob_owner{knob=\"vm.percpu_pagelist_high_fraction\",owner=\"foreign\"} 0",
        "pcptuned_storms_total 1000",
        "pcptuned_wait_seconds 0.000080640",
        "pcptuned_cpu_seconds_total 1.500000000",
        "# TYPE pcptuned_storms_total counter",
        "# TYPE pcptuned_wait_seconds gauge",
    };
    struct metrics m = {0};
    struct status s = full_status();
    _cleanup_free_ char *text = format(&m, &s);

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        need_line(text, lines[i]);

    s.knobs[KNOB_FRACTION].original = -1; /* nothing is held: no such series */
    s.knobs[KNOB_SCALE].exists = false;
    _cleanup_free_ char *less = format(&m, &s);
    assert_null(strstr(less, "pcptuned_knob_original_value{"));
    assert_null(strstr(less, "pcp_batch_scale_max"));
}

static void test_events_are_counted(void **state)
{
    (void)state;
    static const nsec_t reactions[] = {50000, 50001, 300000, 300000, 200000000};
    struct metrics m = {0};
    struct status s = full_status();
    struct event e = acted(EVENT_ADAPTED, 1);

    metrics_note(&m, &e); /* a change, and no reaction */
    for (size_t i = 0; i < ARRAY_SIZE(reactions); i++) {
        e = acted(EVENT_STORM, reactions[i]);
        metrics_note(&m, &e);
    }
    e = acted(EVENT_STORM, 1);
    e.outcome.simulated = true; /* a dry run writes nothing */
    metrics_note(&m, &e);
    e = acted(EVENT_STORM, 1);
    e.outcome.after = e.outcome.before;
    metrics_note(&m, &e);
    e = acted(EVENT_STORM, 1);
    e.plan.why.message_at = 0; /* seen in vmstat: no message */
    metrics_note(&m, &e);
    e = (struct event){.kind = EVENT_REFUSED, .level = LEVEL_WARNING};
    metrics_note(&m, &e);
    e = (struct event){.kind = EVENT_SIGNAL, .level = LEVEL_NOTICE};
    metrics_note(&m, &e);

    _cleanup_free_ char *text = format(&m, &s);
    need_line(text, "pcptuned_reaction_seconds_bucket{le=\"5e-05\"} 1");
    need_line(text, "pcptuned_reaction_seconds_bucket{le=\"0.0001\"} 2");
    need_line(text, "pcptuned_reaction_seconds_bucket{le=\"0.0005\"} 4");
    need_line(text, "pcptuned_reaction_seconds_bucket{le=\"0.1\"} 4");
    need_line(text, "pcptuned_reaction_seconds_bucket{le=\"+Inf\"} 5");
    need_line(text, "pcptuned_reaction_seconds_sum 0.200700001");
    need_line(text, "pcptuned_reaction_seconds_count 5");
    need_line(text, "pcptuned_knob_changed_timestamp_seconds 1790000000.500000000");
    need_line(text, "pcptuned_errors_total{event=\"refused\"} 1");
    need_line(text, "pcptuned_errors_total{event=\"signal\"} 0");
}

static void test_one_of_n(void **state)
{
    (void)state;
    struct metrics m = {0};
    struct status s = full_status();

    for (unsigned i = 0; i < ENGINE_STATES; i++) {
        char line[80];
        s.state = engine_state_name((enum engine_state)i);
        _cleanup_free_ char *text = format(&m, &s);
        snprintf(line, sizeof(line), "pcptuned_state{state=\"%s\"} 1", s.state);
        need_line(text, line);
    }
}

/* Whatever a kernel is called, the format stays whole. */
static void test_hostile_labels(void **state)
{
    (void)state;
    struct metrics m = {0};
    struct status s = full_status();

    snprintf(s.release, sizeof(s.release), "a\"} 1\n\\b%%s");
    _cleanup_free_ char *text = format(&m, &s);
    need_line(text, "pcptuned_build_info{version=\"1.2\",release=\"a\\\"} 1\\n\\\\b%s\","
                    "regime=\"R4\"} 1");
}

/* --- the format and the manual -------------------------------------------------------------- */

/* HELP, TYPE, then its samples: no name comes twice, and no sample without its TYPE. */
static void test_form(void **state)
{
    (void)state;
    struct metrics m = {0};
    struct status s = full_status();
    _cleanup_free_ char *text = format(&m, &s);
    _cleanup_free_ char *copy = strdup(text);
    char name[128] = "", type[32] = "", seen[192];
    char *rest = NULL;

    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char again[128] = "";
        if (sscanf(line, "# HELP %127s %*c", name) == 1) {
            snprintf(seen, sizeof(seen), "# HELP %s ", name);
            assert_ptr_equal(strstr(strstr(text, seen) + 1, seen), NULL);
        } else if (sscanf(line, "# TYPE %127s %31s", again, type) == 2) {
            assert_string_equal(again, name);
            bool total = strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_total") == 0;
            assert_int_equal(total, strcmp(type, "counter") == 0);
        } else {
            assert_int_equal(strncmp(line, name, strlen(name)), 0);
            assert_non_null(strchr("{ _", line[strlen(name)]));
        }
    }
}

static bool manual_has(const char *manual, const char *name)
{
    char line[192];

    snprintf(line, sizeof(line), "%s", name);
    for (const char *at = strstr(manual, name); at; at = strstr(at + 1, name)) {
        char after = at[strlen(name)];
        if (after == ' ' || after == '\n')
            return true;
    }
    return false;
}

static void test_manual(void **state)
{
    (void)state;
    struct metrics m = {0};
    struct status s = full_status();
    _cleanup_free_ char *text = format(&m, &s);
    char manual[16384], name[128], line[192];

    if (read_file(MANUAL, manual, sizeof(manual)) <= 0)
        fail_msg("%s cannot be read", MANUAL);
    for (const char *at = strstr(text, "# TYPE "); at; at = strstr(at + 1, "# TYPE ")) {
        assert_int_equal(sscanf(at, "# TYPE %127s", name), 1);
        if (!manual_has(manual, name))
            fail_msg("%s is not in pcptuned-metrics(7)", name);
    }
    for (const char *at = strstr(manual, "pcptuned_"); at; at = strstr(at + 1, "pcptuned_")) {
        assert_int_equal(sscanf(at, "%127[a-z_]", name), 1);
        char *bucket = strstr(name, "_bucket"); /* in an example */
        if (bucket)
            *bucket = '\0';
        snprintf(line, sizeof(line), "# TYPE %s ", name);
        if (!strstr(text, line))
            fail_msg("%s of pcptuned-metrics(7) is not shown", name);
    }
    assert_false(manual_has(manual, "pcptuned_storms"));
}

static void test_promtool(void **state)
{
    (void)state;
    struct metrics m = {0};
    struct status s = full_status();
    _cleanup_free_ char *text = format(&m, &s);

    if (system("command -v promtool >/dev/null") != 0) {
        print_message("SKIP: no promtool (of Debian's package prometheus) to check with\n");
        skip();
    }
    FILE *f = popen("promtool check metrics", "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(pclose(f), 0);
}

/* --- the file ------------------------------------------------------------------------------- */

static char dir[] = "/tmp/pcptuned-metrics-XXXXXX";
static char path[64];

static int make_dir(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/pcptuned.prom", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir); /* fails where a temporary file was left behind */
}

static void test_file(void **state)
{
    (void)state;
    char buf[64];
    struct stat st;
    mode_t old = umask(077);

    assert_int_equal(metrics_write(path, "first\n"), 0);
    assert_int_equal(metrics_write(path, "second\n"), 0);
    umask(old);
    assert_int_equal(read_file(path, buf, sizeof(buf)), 7);
    assert_string_equal(buf, "second\n");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644); /* node_exporter is another user */

    /* a reader that has it open keeps all of the old */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(metrics_write(path, "third\n"), 0);
    assert_int_equal(read(fd, buf, sizeof(buf)), 7);
    close(fd);

    /* somebody's link is replaced, not followed */
    unlink(path);
    assert_int_equal(symlink("/proc/version", path), 0);
    assert_int_equal(metrics_write(path, "fourth\n"), 0);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISREG(st.st_mode));

    assert_int_equal(metrics_write("/nonexistent/a.prom", ""), -ENOENT);
    assert_int_equal(metrics_write("/dev/null/a.prom", ""), -ENOTDIR);
}

static bool wait_for(bool (*fn)(void))
{
    for (int i = 0; i < 3000; i++) {
        if (fn())
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return false;
}

static bool is_written(void)
{
    char buf[32768] = "";

    return read_file(path, buf, sizeof(buf)) > 0 &&
           strstr(buf, "pcptuned_errors_total{event=\"notice\"} 1\n");
}

static bool is_gone(void)
{
    return access(path, F_OK) < 0;
}

/* Through the report's thread; an orderly end removes it. */
static void test_thread(void **state)
{
    (void)state;
    struct report_config c = {.format = REPORT_TEXT, .level = LEVEL_ERROR};
    struct event e = {.kind = EVENT_NOTICE, .level = LEVEL_WARNING};
    struct status s = full_status();
    struct report *r;

    assert_int_equal(report_new(&c, &r), 0);
    report_put(r, &e);
    for (int i = 0; i < 100; i++)
        report_metrics(r, path, 1, &s);
    assert_true(wait_for(is_written));
    report_metrics(r, "", 1, &s);
    assert_true(wait_for(is_gone));
    report_metrics(r, path, 1, &s);
    assert_true(wait_for(is_written));
    report_free(r);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),   cmocka_unit_test(test_events_are_counted),
        cmocka_unit_test(test_one_of_n), cmocka_unit_test(test_hostile_labels),
        cmocka_unit_test(test_form),     cmocka_unit_test(test_manual),
        cmocka_unit_test(test_promtool), cmocka_unit_test(test_file),
        cmocka_unit_test(test_thread),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
