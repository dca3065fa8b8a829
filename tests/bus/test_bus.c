/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "api.h"
#include "bus.h"
#include "client.h"

/* The test is the loop: it publishes, and answers commands. The clients are real ones. */
struct fixture {
    char dir[64];
    struct bus *bus;
    struct status status;
    char said[512];
};

#define NOBODY 65534

static void say(void *arg, enum event_level level, const char *text)
{
    struct fixture *f = arg;
    (void)level;

    snprintf(f->said, sizeof(f->said), "%s", text);
}

static void fill(struct status *s)
{
    status_init(s);
    s->mode = MODE_DRY_RUN;
    s->configured = MODE_APPLY;
    s->state = "hold";
    s->state_since = 5000;
    s->regime = REGIME_R4;
    snprintf(s->release, sizeof(s->release), "6.18.44");
    s->cpus = 256;
    s->nodes = 2;
    s->page_size = 4096;
    s->memory = UINT64_C(1) << 40;
    s->target_wait = 100000;
    s->knobs[KNOB_FRACTION] = (struct status_knob){
        .exists = true, .value = 64, .original = 0, .wanted = 64, .owner = OWNER_PCPTUNED};
    s->signals[SIGNAL_TASKSTATS].available = true;
    snprintf(s->signals[SIGNAL_PSI].detail, sizeof(s->signals[0].detail), "compiled out");
    s->tasks = 18;
    s->pages = 27000000;
    s->hold = 2016;
    s->wait = 725760;
    s->pressure[PRESSURE_MEMORY] = (struct status_pressure){1234, 50};
    s->zones[0] = (struct status_zone){.node = 1,
                                       .name = "Normal",
                                       .managed = UINT64_MAX,
                                       .lists = 256,
                                       .count = 6000,
                                       .high_min = 252,
                                       .high_max = 9072,
                                       .batch = 63};
    s->n_zones = 1;
    s->zones_read = 7000;
}

static int open_fixture(struct fixture *f)
{
    const struct bus_config c = {.dir = f->dir, .say = say, .arg = f};

    snprintf(f->dir, sizeof(f->dir), "/tmp/test-bus-XXXXXX");
    if (!mkdtemp(f->dir) || chmod(f->dir, 0755) < 0)
        return -1;
    setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", true);
    fill(&f->status);
    if (bus_new(&c, &f->bus) < 0)
        return -1;
    bus_status(f->bus, &f->status, true);
    for (unsigned i = 0; i < 500; i++) { /* the thread has to listen first */
        _cleanup_close_ int fd = client_raw(f->dir);
        if (fd >= 0)
            return 0;
        usleep(10000);
    }
    return -1;
}

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct fixture));
    return *state ? open_fixture(*state) : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    char path[128];

    if (!f)
        return -1;
    bool ended = bus_free(f->bus, 10 * NSEC_PER_SEC);
    snprintf(path, sizeof(path), "%s/" API_SOCKET_NAME, f->dir);
    bool gone = access(path, F_OK) < 0;
    rmdir(f->dir);
    free(f);
    return ended && gone ? 0 : -1;
}

/* --- reading ------------------------------------------------------------------------------- */

static void properties(void **state)
{
    static const struct {
        const char *name, *text;
    } rows[] = {
        {"Version", "s:" PCPTUNED_VERSION},
        {"Mode", "s:dry-run"},
        {"ConfiguredMode", "s:apply"},
        {"State", "s:hold"},
        {"StateSince", "t:5"},
        {"Regime", "s:R4"},
        {"Release", "s:6.18.44"},
        {"Cpus", "u:256"},
        {"Nodes", "u:2"},
        {"MemoryPages", "t:1099511627776"},
        {"PageSize", "u:4096"},
        {"TargetWaitNSec", "t:100000"},
        {"Knobs", "[(s:vm.percpu_pagelist_high_fraction b:1 i:64 i:0 i:64 s:pcptuned) "
                  "(s:vm.pcp_batch_scale_max b:0 i:-1 i:-1 i:-1 s:kernel-default)]"},
        {"Signals", "[(s:taskstats b:1 s:) (s:psi b:0 s:compiled out) (s:vmstat b:0 s:) "
                    "(s:zoneinfo b:0 s:)]"},
        {"TasksInFlight", "u:18"},
        {"PagesToCome", "t:27000000"},
        {"PagesPerHold", "u:2016"},
        {"WaitNSec", "t:725760"},
        {"Pressure", "[(s:memory d:12.34 d:0.50) (s:cpu d:0.00 d:0.00)]"},
        {"Zones", "[(u:1 s:Normal t:18446744073709551615 u:256 t:6000 u:252 u:9072 u:63)]"},
        {"ZonesRead", "t:7"},
        {"LastStorm", "[]"},
        {"LargestTasks", "u:0"},
        {"LargestPages", "t:0"},
        {"NoSuch", "error org.freedesktop.DBus.Error.UnknownProperty"},
    };
    struct fixture *f = *state;
    sd_bus *c = client_open(f->dir);
    char text[4096];

    assert_non_null(c);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_string_equal(client_get(c, rows[i].name, text, sizeof(text)), rows[i].text);
    sd_bus_close_unref(c);
}

static void live_numbers_are_as_of_now(void **state)
{
    struct fixture *f = *state;
    sd_bus *c = client_open(f->dir);
    char text[4096];

    f->status.tasks = 3;
    f->status.counters[COUNT_STORMS] = 41;
    f->status.storm = (struct status_storm){
        .id = 9, .cgroup = "docker 3f2a", .tasks = 18, .pages = 5, .reason = REASON_STORM};
    bus_status(f->bus, &f->status, false);
    assert_string_equal(client_get(c, "TasksInFlight", text, sizeof(text)), "u:3");
    assert_non_null(strstr(client_get(c, "Counters", text, sizeof(text)), "s:storms t:41 "));
    assert_null(strstr(text, "s:clients t:0 "));
    assert_string_equal(client_get(c, "LastStorm", text, sizeof(text)),
                        "[s:id t:9 s:cgroup s:docker 3f2a s:tasks u:18 s:pages t:5 s:pages_freed "
                        "t:0 s:wait_before_nsec t:0 s:wait_after_nsec t:0 s:reason s:storm s:tuned "
                        "b:0 s:dry_run b:0 s:began_usec t:0 s:duration_nsec t:0 s:reaction_nsec "
                        "t:0]");
    sd_bus_close_unref(c);
}

static unsigned count_events(struct fixture *f, uint64_t since_usec, uint32_t max, char *first,
                             size_t size)
{
    sd_bus *c = client_open(f->dir);
    sd_bus_message *m = NULL;
    const char *json;
    unsigned n = 0;

    first[0] = '\0';
    assert_true(sd_bus_call_method(c, NULL, API_PATH, API_INTERFACE, "Events", NULL, &m, "tu",
                                   since_usec, max) >= 0);
    assert_true(sd_bus_message_enter_container(m, 'a', "s") >= 0);
    while (sd_bus_message_read(m, "s", &json) > 0) {
        if (n++ == 0)
            snprintf(first, size, "%s", json);
    }
    sd_bus_message_unref(m);
    sd_bus_close_unref(c);
    return n;
}

static void events_are_kept(void **state)
{
    static const struct {
        uint64_t since_usec;
        uint32_t max;
        unsigned n;
        const char *first;
    } rows[] = {
        {0, 0, API_EVENTS, "event 44"},
        {0, 3, 3, "event 297"},
        {0, UINT32_MAX, API_EVENTS, "event 44"},
        {290, 0, 10, "event 290"},
        {290, 4, 4, "event 296"},
        {299, 0, 1, "event 299"},
        {300, 0, 0, ""},
        {UINT64_MAX, UINT32_MAX, 0, ""},
    };
    struct fixture *f = *state;
    char first[2048];

    assert_int_equal(count_events(f, 0, 0, first, sizeof(first)), 0);
    for (unsigned i = 0; i < 300; i++) {
        struct event e = {.kind = EVENT_NOTICE, .level = LEVEL_INFO, .real = i * NSEC_PER_USEC};
        snprintf(e.text, sizeof(e.text), "event %u", i);
        bus_event(f->bus, &e);
    }
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_int_equal(count_events(f, rows[i].since_usec, rows[i].max, first, sizeof(first)),
                         rows[i].n);
        assert_non_null(strstr(first, rows[i].first));
    }
}

/* --- signals ------------------------------------------------------------------------------- */

static char heard[16][512];
static unsigned n_heard;

static int on_signal(sd_bus_message *m, void *arg, sd_bus_error *e)
{
    char text[4096];
    (void)arg, (void)e;

    if (n_heard < ARRAY_SIZE(heard))
        snprintf(heard[n_heard++], sizeof(heard[0]), "%s %.400s", sd_bus_message_get_member(m),
                 client_dump(m, text, sizeof(text)));
    return 0;
}

static bool was_heard(const char *text)
{
    for (unsigned i = 0; i < n_heard; i++) {
        if (strncmp(heard[i], text, strlen(text)) == 0)
            return true;
    }
    return false;
}

static sd_bus *listener(struct fixture *f)
{
    sd_bus *c = client_open(f->dir);
    char text[128];

    n_heard = 0;
    assert_true(sd_bus_match_signal(c, NULL, NULL, API_PATH, NULL, NULL, on_signal, NULL) >= 0);
    client_get(c, "State", text, sizeof(text)); /* it is known to be there now */
    return c;
}

static void hear(sd_bus *c, unsigned wanted)
{
    while (n_heard < wanted) {
        int r = sd_bus_process(c, NULL);
        if (r == 0 && sd_bus_wait(c, 5000000) <= 0)
            break;
        assert_true(r >= 0);
    }
    assert_int_equal(n_heard, wanted);
}

static void storms_are_told(void **state)
{
    struct fixture *f = *state;
    sd_bus *c = listener(f);

    f->status.storm = (struct status_storm){.id = 4,
                                            .cgroup = "docker 3f2a",
                                            .tasks = 18,
                                            .pages = 27000000,
                                            .wait_before = 725760,
                                            .wait_after = 68040};
    f->status.state = "tuned";
    bus_status(f->bus, &f->status, true);
    hear(c, 2);
    assert_string_equal(heard[0], "StormBegan t:4 s:docker 3f2a u:18 t:27000000 t:725760 t:68040");
    assert_string_equal(heard[1], "PropertiesChanged s:" API_INTERFACE " [s:State s:tuned] []");
    n_heard = 0;
    f->status.storm.duration = 1800;
    f->status.storm.pages_freed = 20;
    bus_status(f->bus, &f->status, true);
    hear(c, 1);
    assert_string_equal(heard[0], "StormEnded t:4 t:1800 t:20");
    n_heard = 0;
    f->status.storm.id = 5; /* begins and ends before anybody looks */
    bus_status(f->bus, &f->status, true);
    hear(c, 2);
    assert_true(was_heard("StormBegan t:5 "));
    assert_true(was_heard("StormEnded t:5 "));
    sd_bus_close_unref(c);
}

static struct event knob_event(enum event_kind kind, bool simulated)
{
    struct event e = {.kind = kind, .level = LEVEL_NOTICE, .has_outcome = true};

    e.plan.reason = REASON_STORM;
    e.outcome.simulated = simulated;
    e.outcome.before = (struct knob_values){.has = {true}, .value = {0}};
    e.outcome.after = (struct knob_values){.has = {true}, .value = {3167}};
    return e;
}

static void knobs_are_told(void **state)
{
    struct fixture *f = *state;
    sd_bus *c = listener(f);
    struct event changed = knob_event(EVENT_STORM, false), dry = knob_event(EVENT_STORM, true),
                 foreign = knob_event(EVENT_FOREIGN, false);

    foreign.outcome.before.value[0] = 8;
    bus_event(f->bus, &dry);
    bus_event(f->bus, &changed);
    bus_event(f->bus, &foreign);
    hear(c, 5);
    assert_true(was_heard("Event s:{\"event\":\"storm\""));
    assert_string_equal(heard[2],
                        "KnobChanged s:vm.percpu_pagelist_high_fraction i:0 i:3167 s:storm");
    assert_string_equal(heard[4], "Yielded s:vm.percpu_pagelist_high_fraction i:8");
    sd_bus_close_unref(c);
}

/* --- commands ------------------------------------------------------------------------------ */

struct call {
    bool done;
    char text[256]; /* "" or "ERROR: why" */
};

static int on_reply(sd_bus_message *m, void *arg, sd_bus_error *e)
{
    struct call *call = arg;
    const sd_bus_error *error = sd_bus_message_get_error(m);
    (void)e;

    call->done = true;
    if (error)
        snprintf(call->text, sizeof(call->text), "%s: %s", error->name, error->message);
    return 0;
}

static void begin(sd_bus *c, struct call *call, const char *method, const char *mode)
{
    *call = (struct call){.done = false};
    assert_true(sd_bus_call_method_async(c, NULL, NULL, API_PATH, API_INTERFACE, method, on_reply,
                                         call, mode ? "s" : NULL, mode) >= 0);
    assert_true(sd_bus_flush(c) >= 0);
}

static const char *end(sd_bus *c, struct call *call)
{
    while (!call->done) {
        int r = sd_bus_process(c, NULL);
        if (r == 0)
            r = sd_bus_wait(c, 10000000);
        assert_true(r > 0);
    }
    return call->text;
}

static bool take(struct fixture *f, struct bus_command *ret, int ms)
{
    struct pollfd p = {.fd = bus_command_fd(f->bus), .events = POLLIN};

    return poll(&p, 1, ms) == 1 && bus_command(f->bus, ret);
}

static void commands_are_passed_on(void **state)
{
    static const struct {
        const char *method, *mode;
        enum bus_verb verb;
        enum mode expected;
        const char *error, *why, *text;
    } rows[] = {
        {"SetMode", "apply", BUS_SET_MODE, MODE_APPLY, NULL, NULL, ""},
        {"SetMode", "dry-run", BUS_SET_MODE, MODE_DRY_RUN, NULL, NULL, ""},
        {"SetMode", "off", BUS_SET_MODE, MODE_OFF, API_ERROR_REFUSED, "no %s",
         API_ERROR_REFUSED ": no %s"},
        {"Reload", NULL, BUS_RELOAD, 0, API_ERROR_REFUSED, "a\nb", API_ERROR_REFUSED ": a\nb"},
        {"Reload", NULL, BUS_RELOAD, 0, API_ERROR_REFUSED, "\xff.conf \xc3",
         API_ERROR_REFUSED ": ?.conf ?"},
        {"Rearm", NULL, BUS_REARM, 0, NULL, NULL, ""},
        {"Restore", NULL, BUS_RESTORE, 0, NULL, NULL, ""},
    };
    struct fixture *f = *state;
    sd_bus *c = client_open(f->dir);

    if (geteuid() != 0) {
        print_message("SKIPPED: commands are for root\n");
        skip();
    }
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct bus_command got = {0};
        struct call call;
        begin(c, &call, rows[i].method, rows[i].mode);
        assert_true(take(f, &got, 5000));
        assert_int_equal(got.verb, rows[i].verb);
        assert_int_equal(got.mode, rows[i].expected);
        bus_answer(f->bus, rows[i].error, rows[i].why);
        assert_string_equal(end(c, &call), rows[i].text);
    }
    sd_bus_close_unref(c);
}

static void one_command_at_a_time(void **state)
{
    struct fixture *f = *state;
    sd_bus *c = client_open(f->dir), *other = client_open(f->dir);
    struct bus_command got;
    struct call call, second;
    char text[256];

    if (geteuid() != 0) {
        print_message("SKIPPED: commands are for root\n");
        skip();
    }
    begin(c, &call, "Restore", NULL);
    assert_true(take(f, &got, 5000));
    begin(other, &second, "Reload", NULL);
    assert_non_null(strstr(end(other, &second), API_ERROR_BUSY ": Reload has to wait"));
    assert_string_equal(client_get(other, "Mode", text, sizeof(text)), "s:dry-run");
    sd_bus_close_unref(c); /* who asked is gone */
    bus_answer(f->bus, NULL, NULL);
    for (unsigned i = 0; i < 100; i++) { /* the answer is on its way */
        begin(other, &second, "Rearm", NULL);
        if (take(f, &got, 50))
            break;
        end(other, &second);
    }
    assert_int_equal(got.verb, BUS_REARM);
    bus_answer(f->bus, NULL, NULL);
    assert_string_equal(end(other, &second), "");
    sd_bus_close_unref(other);
}

static void bad_calls_are_refused(void **state)
{
    struct fixture *f = *state;
    sd_bus *c = client_open(f->dir);
    struct bus_command got;
    struct call call;

    begin(c, &call, "SetMode", "Apply");
    assert_non_null(strstr(end(c, &call), API_ERROR_ARGS));
    begin(c, &call, "SetMode", NULL);
    assert_non_null(strstr(end(c, &call), API_ERROR_ARGS));
    begin(c, &call, "NoSuch", NULL);
    assert_non_null(strstr(end(c, &call), "UnknownMethod"));
    assert_false(take(f, &got, 0));
    sd_bus_close_unref(c);
}

/* In a child of another user: the number of what is not as it should be. */
static int as_nobody(const char *dir)
{
    static const char *const methods[] = {"Reload", "Rearm", "Restore"};
    char text[256];

    if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
        return 100;
    sd_bus *c = client_open(dir);
    if (!c)
        return 101;
    int wrong = strcmp(client_get(c, "State", text, sizeof(text)), "s:hold") != 0;
    struct call call;
    begin(c, &call, "SetMode", "off");
    wrong +=
        strcmp(end(c, &call), API_ERROR_DENIED ": SetMode is for root, and uid 65534 asks") != 0;
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        begin(c, &call, methods[i], NULL);
        wrong += !strstr(end(c, &call), API_ERROR_DENIED);
    }
    sd_bus_close_unref(c);
    /* And no more connections than a user may have. */
    for (unsigned i = 0; i < API_CLIENTS_PER_USER; i++)
        wrong += client_raw(dir) < 0;
    return wrong + !client_is_closed(client_raw(dir), true, 5000);
}

static void others_may_only_read(void **state)
{
    struct fixture *f = *state;
    struct bus_command got;
    char text[4096];
    int status;

    if (geteuid() != 0) {
        print_message("SKIPPED: needs root, to become somebody else\n");
        skip();
    }
    pid_t pid = fork();
    if (pid == 0)
        _exit(as_nobody(f->dir));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_false(take(f, &got, 0));
    sd_bus *c = client_open(f->dir);
    assert_non_null(strstr(client_get(c, "Counters", text, sizeof(text)), "s:calls_denied t:4"));
    assert_null(strstr(text, "s:clients_refused t:0 "));
    sd_bus_close_unref(c);
}

/* --- clients that are none ----------------------------------------------------------------- */

#define BYTES(s) s, sizeof(s) - 1

static void rubbish_is_dropped(void **state)
{
    static char much[1 << 17];
    static const struct {
        bool authenticated;
        const char *bytes;
        size_t len;
    } rows[] = {
        {false, BYTES("GET / HTTP/1.0\r\n\r\n")},
        {false, BYTES("\0AUTH EXTERNAL zz\r\nBEGIN\r\n")},
        {false, much, sizeof(much)},
        {true, BYTES("HELO there, is this the mail?")},
        {true, BYTES("l\1\0\1\xff\xff\xff\xff\1\0\0\0\xff\xff\xff\xff\1\1o\0\0\0\0\0")},
        {true, BYTES("B\1\0\1\x08\0\0\1\0\0\0\1\0\0\0\x10\1\1o\0\0\0\0\0")}, /* 128 MB */
    };
    struct fixture *f = *state;
    sd_bus *good = client_open(f->dir);
    char text[4096];

    memset(much, 'A', sizeof(much));
    much[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int fd = client_raw(f->dir);
        assert_true(fd >= 0);
        if (rows[i].authenticated)
            client_authenticate(fd);
        client_send(fd, rows[i].bytes, rows[i].len);
        assert_true(client_is_closed(fd, true, 15000));
        close(fd);
        assert_string_equal(client_get(good, "State", text, sizeof(text)), "s:hold");
    }
    sd_bus_close_unref(good);
}

static void silence_is_dropped(void **state)
{
    struct fixture *f = *state;
    int fd = client_raw(f->dir);

    assert_true(client_is_closed(fd, true, 15000));
    close(fd);
}

static void who_does_not_read_is_dropped(void **state)
{
    struct fixture *f = *state;
    sd_bus *good = client_open(f->dir);
    int fd = client_raw(f->dir);
    char text[4096];

    client_authenticate(fd);
    for (unsigned i = 0; i < 4000 && !client_is_closed(fd, false, 0); i++) {
        struct event e = {.kind = EVENT_NOTICE, .level = LEVEL_INFO, .mono = i};
        memset(e.text, 'x', sizeof(e.text) - 1);
        bus_event(f->bus, &e);
        client_get(good, "State", text, sizeof(text)); /* who does, is served meanwhile */
    }
    assert_true(client_is_closed(fd, false, 5000));
    close(fd);
    assert_non_null(
        strstr(client_get(good, "Counters", text, sizeof(text)), "s:clients_dropped t:"));
    assert_null(strstr(text, "s:clients_dropped t:0"));
    sd_bus_close_unref(good);
}

static void who_only_asks_is_dropped(void **state)
{
    struct fixture *f = *state;
    sd_bus *greedy = client_open(f->dir);
    struct event e = {.kind = EVENT_NOTICE, .level = LEVEL_INFO};
    uint64_t queued = 0;

    memset(e.text, 'x', sizeof(e.text) - 1);
    for (unsigned i = 0; i < API_EVENTS; i++)
        bus_event(f->bus, &e);
    int fd = sd_bus_get_fd(greedy);
    for (unsigned i = 0; i < 1000 && !client_is_closed(fd, false, 0); i++) {
        if (sd_bus_call_method_async(greedy, NULL, NULL, API_PATH, API_INTERFACE, "Events", NULL,
                                     NULL, "tu", UINT64_C(0), 0) < 0)
            break;
        usleep(1000);
    }
    (void)sd_bus_get_n_queued_write(greedy, &queued);
    assert_true(client_is_closed(fd, false, 5000));
    sd_bus_close_unref(greedy);
}

static void too_many_are_refused(void **state)
{
    struct fixture *f = *state;
    int fds[API_CLIENTS + 8];
    unsigned open = 0;

    if (geteuid() != 0) {
        print_message("SKIPPED: only root may have so many\n");
        skip();
    }
    usleep(100000); /* the connection of the set-up is gone */
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = client_raw(f->dir);
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++)
        open += !client_is_closed(fds[i], true, i < API_CLIENTS ? 0 : 2000);
    assert_int_equal(open, API_CLIENTS);
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
    sd_bus *c = NULL;
    for (unsigned i = 0; i < 100 && !c; i++) { /* their places are free again */
        usleep(20000);
        c = client_open(f->dir);
    }
    assert_non_null(c);
    sd_bus_close_unref(c);
}

/* --- the socket ---------------------------------------------------------------------------- */

static void a_living_socket_is_left_alone(void **state)
{
    struct fixture *f = *state;
    struct fixture second = {.said = ""};
    const struct bus_config c = {.dir = f->dir, .say = say, .arg = &second};
    char text[128];

    assert_int_equal(bus_new(&c, &second.bus), 0);
    assert_true(bus_free(second.bus, 10 * NSEC_PER_SEC));
    assert_non_null(strstr(second.said, "another pcptuned listens there"));
    sd_bus *client = client_open(f->dir);
    assert_string_equal(client_get(client, "State", text, sizeof(text)), "s:hold");
    sd_bus_close_unref(client);
}

static unsigned open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void nothing_is_left_open(void **state)
{
    unsigned before = open_files();
    (void)state;

    for (unsigned i = 0; i < 3; i++) {
        void *f = NULL;
        assert_int_equal(setup(&f), 0);
        sd_bus *c = client_open(((struct fixture *)f)->dir);
        assert_int_equal(teardown(&f), 0);
        sd_bus_close_unref(c);
    }
    assert_int_equal(open_files(), before);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(properties),
        TEST(live_numbers_are_as_of_now),
        TEST(events_are_kept),
        TEST(storms_are_told),
        TEST(knobs_are_told),
        TEST(commands_are_passed_on),
        TEST(one_command_at_a_time),
        TEST(bad_calls_are_refused),
        TEST(others_may_only_read),
        TEST(rubbish_is_dropped),
        TEST(silence_is_dropped),
        TEST(who_does_not_read_is_dropped),
        TEST(who_only_asks_is_dropped),
        TEST(too_many_are_refused),
        TEST(a_living_socket_is_left_alone),
        cmocka_unit_test(nothing_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
