/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#define MAIN "etc/pcptuned/pcptuned.conf"
#define ETC "etc/pcptuned/pcptuned.conf.d/"
#define RUN "run/pcptuned/pcptuned.conf.d/"
#define LOCAL "usr/local/lib/pcptuned/pcptuned.conf.d/"
#define VENDOR "usr/lib/pcptuned/pcptuned.conf.d/"

#define REGULAR "; accepted is a regular file up to 1 MiB"
#define MISSING ": cannot be read: No such file or directory" REGULAR
#define DIRECTORY ": cannot be read: Is a directory" REGULAR
#define NOT_DIRECTORY ": cannot be read: Not a directory" REGULAR
#define NOT_REGULAR ": cannot be read: Not a regular file" REGULAR
#define LOOP ": cannot be read: Too many levels of symbolic links" REGULAR
#define LARGE ": cannot be read: Larger than 1 MiB" REGULAR
#define DENIED ": cannot be read: Permission denied" REGULAR

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NONE ((const char *const[]){NULL})

/* A tree below a directory of its own; each test starts in it, empty. */
static char root[] = "/tmp/pcptuned-test-XXXXXX";

static int enter(void **state)
{
    (void)state;
    memset(root + sizeof(root) - 7, 'X', 6);
    return !mkdtemp(root) || chdir(root) < 0 || chmod(root, 0755) < 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") < 0 || nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0;
}

static void make_parents(const char *path)
{
    char dir[256];
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
        if (mkdir(dir, 0755) < 0)
            assert_int_equal(errno, EEXIST);
    }
}

static void write_text(const char *path, const char *text)
{
    make_parents(path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Compares texts with root left out. */
static void expect_list(char **got, size_t n, const char *const *expected)
{
    size_t i;

    for (i = 0; i < n && expected[i]; i++) {
        char text[1024];
        size_t len = 0;
        for (const char *c = got[i]; *c && len < sizeof(text) - 1;) {
            if (strncmp(c, root, strlen(root)) == 0)
                c += strlen(root) + 1;
            text[len++] = *c++;
        }
        text[len] = '\0';
        assert_string_equal(text, expected[i]);
    }
    if (i < n || expected[i])
        fail_msg("%s: \"%s\"", i < n ? "unexpected" : "missing", i < n ? got[i] : expected[i]);
}

static void expect(const char *main_file, const char *const *files, const char *const *errors,
                   struct config_result *r)
{
    int result = config_load(root, main_file, r);
    expect_list(r->errors, r->n_errors, errors);
    expect_list(r->files, r->n_files, files);
    assert_int_equal(result, *errors ? -EINVAL : 0);
}

static const struct config_origin *origin(const struct config_result *r, const char *key)
{
    for (size_t i = 0; i < CONFIG_KEYS; i++)
        if (strcmp(config_table[i].name, key) == 0)
            return &r->origins[i];
    fail_msg("no key %s", key);
    return NULL;
}

static void expect_origin(const struct config_result *r, const char *key, const char *file,
                          unsigned line)
{
    const struct config_origin *o = origin(r, key);
    assert_non_null(o->file);
    assert_string_equal(o->file + strlen(root) + 1, file);
    assert_int_equal(o->line, line);
}

static void nothing_there(void **state)
{
    struct config_result r;
    struct params p = params_default();

    (void)state;
    expect(NULL, NONE, NONE, &r);
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const struct config_key *k = &config_table[i];
        assert_memory_equal((char *)&r.params + k->offset, (char *)&p + k->offset, k->size);
        assert_null(r.origins[i].file);
    }
    config_result_done(&r);
}

static void order_and_precedence(void **state)
{
    struct config_result r;

    (void)state;
    write_text(MAIN, "[Policy]\nTargetWait=1us\nDwell=2s\n[Storm]\nHold=3s\n");
    /* a vendor's file with a late name beats the administrator's main file and early drop-in */
    write_text(VENDOR "90-vendor.conf", "[Policy]\nTargetWait=90us\n");
    write_text(ETC "10-admin.conf", "[Policy]\nTargetWait=10us\nDwell=10s\n");
    write_text(LOCAL "50-local.conf", "[Policy]\nTargetWait=50us\n");
    write_text(RUN "50-run.conf", "[Policy]\n\nTargetWait=51us\n");
    /* the same name: the first directory wins, whole files */
    write_text(VENDOR "20-same.conf", "rubbish that nobody reads\n");
    write_text(LOCAL "20-same.conf", "rubbish that nobody reads\n");
    write_text(RUN "20-same.conf", "[Storm]\nTaskSize=20M\n");
    /* not drop-ins */
    write_text(ETC ".hidden.conf", "rubbish\n");
    write_text(ETC "95-other.conf~", "rubbish\n");
    write_text(ETC "95-other.conf.dpkg-old", "rubbish\n");
    write_text(ETC ".conf", "rubbish\n");
    write_text(ETC "README", "rubbish\n");

    expect(NULL,
           LIST(MAIN, ETC "10-admin.conf", RUN "20-same.conf", LOCAL "50-local.conf",
                RUN "50-run.conf", VENDOR "90-vendor.conf"),
           NONE, &r);
    assert_int_equal(r.params.target_wait, 90000);
    assert_int_equal(r.params.dwell, 10 * NSEC_PER_SEC);
    assert_int_equal(r.params.hold, 3 * NSEC_PER_SEC);
    assert_int_equal(r.params.task_size, 20 << 20);
    expect_origin(&r, "TargetWait", VENDOR "90-vendor.conf", 2);
    expect_origin(&r, "Dwell", ETC "10-admin.conf", 3);
    expect_origin(&r, "Hold", MAIN, 5);
    expect_origin(&r, "TaskSize", RUN "20-same.conf", 2);
    assert_null(origin(&r, "Tick")->file);
    config_result_done(&r);
}

static void every_assignment_is_kept(void **state)
{
    static const struct {
        const char *key, *file, *value;
        unsigned line;
    } expected[] = {
        {"TargetWait", MAIN, "1us", 2},
        {"Hold", MAIN, "3s", 4},
        {"TargetWait", ETC "10-admin.conf", "100us", 2}, /* empty: the default's value */
        {"TargetWait", VENDOR "90-vendor.conf", "1500us", 3},
    };
    struct config_result r;

    (void)state;
    write_text(MAIN, "[Policy]\nTargetWait=1us\n[Storm]\nHold=3000ms\n");
    write_text(ETC "10-admin.conf", "[Policy]\nTargetWait=\n");
    write_text(VENDOR "90-vendor.conf", "[Policy]\n\nTargetWait=1500us\n");
    expect(NULL, LIST(MAIN, ETC "10-admin.conf", VENDOR "90-vendor.conf"), NONE, &r);
    assert_int_equal(r.n_assignments, ARRAY_SIZE(expected));
    for (size_t i = 0; i < r.n_assignments; i++) {
        const struct config_assignment *a = &r.assignments[i];
        assert_string_equal(config_table[a->key].name, expected[i].key);
        assert_string_equal(a->at.file + strlen(root) + 1, expected[i].file);
        assert_int_equal(a->at.line, expected[i].line);
        assert_string_equal(a->value, expected[i].value);
    }
    config_result_done(&r);

    /* what is refused is no assignment */
    write_text(ETC "10-admin.conf", "[Policy]\nTargetWait=never\n");
    assert_int_equal(config_load(root, NULL, &r), -EINVAL);
    assert_int_equal(r.n_assignments, 3);
    config_result_done(&r);
}

static void names_sort_by_byte(void **state)
{
    struct config_result r;

    (void)state;
    write_text(ETC "a.conf", "#\n");
    write_text(ETC "B.conf", "#\n");
    write_text(RUN "9.conf", "#\n");
    write_text(VENDOR "10.conf", "#\n");
    expect(NULL, LIST(VENDOR "10.conf", RUN "9.conf", ETC "B.conf", ETC "a.conf"), NONE, &r);
    config_result_done(&r);
}

static void masking(void **state)
{
    struct config_result r;

    (void)state;
    write_text(VENDOR "10-link.conf", "[Daemon]\nTick=1s\n");
    write_text(VENDOR "20-empty.conf", "[Storm]\nHold=2s\n");
    write_text(LOCAL "30-late.conf", "[Policy]\nDwell=3s\n");
    make_parents(ETC "x");
    assert_int_equal(symlink("/dev/null", ETC "10-link.conf"), 0);
    write_text(RUN "20-empty.conf", "");
    make_parents(VENDOR "x"); /* a mask in a later directory hides nothing */
    assert_int_equal(symlink("/dev/null", VENDOR "30-late.conf"), 0);
    assert_int_equal(symlink("/dev/null", MAIN), 0);

    expect(NULL, LIST(LOCAL "30-late.conf"), NONE, &r);
    assert_int_equal(r.params.tick, 10 * NSEC_PER_SEC);
    assert_int_equal(r.params.hold, NSEC_PER_SEC);
    assert_int_equal(r.params.dwell, 3 * NSEC_PER_SEC);
    config_result_done(&r);
}

static void empty_value_resets(void **state)
{
    struct config_result r;

    (void)state;
    write_text(MAIN, "[Daemon]\nMode=dry-run\nTick=1s\n");
    write_text(ETC "a.conf", "[Daemon]\nMode=\n");
    expect(NULL, LIST(MAIN, ETC "a.conf"), NONE, &r);
    assert_int_equal(r.params.mode, MODE_APPLY);
    assert_int_equal(r.params.tick, NSEC_PER_SEC);
    expect_origin(&r, "Mode", ETC "a.conf", 2);
    config_result_done(&r);
}

static void other_main_file(void **state)
{
    struct config_result r;
    char path[64];

    (void)state;
    write_text(MAIN, "rubbish\n");
    write_text("mine", "[Daemon]\nTick=1s\nMode=off\n");
    write_text(ETC "a.conf", "[Daemon]\nTick=2s\n");
    snprintf(path, sizeof(path), "%s/mine", root);
    expect(path, LIST("mine", ETC "a.conf"), NONE, &r);
    assert_int_equal(r.params.mode, MODE_OFF);
    assert_int_equal(r.params.tick, 2 * NSEC_PER_SEC);
    config_result_done(&r);

    expect("/dev/null", LIST(ETC "a.conf"), NONE, &r);
    config_result_done(&r);

    assert_int_equal(unlink("mine"), 0); /* one that was asked for must be there */
    expect(path, LIST(ETC "a.conf"), LIST("mine" MISSING), &r);
    config_result_done(&r);
}

static void errors_of_all_files(void **state)
{
    struct config_result r;

    (void)state;
    write_text(MAIN, "[Daemon]\nTick=1\n[Policy]\nHighFractionMin=4096\n");
    write_text(ETC "a.conf", "[Daemon]\nMode=on\n");
    write_text(VENDOR "b.conf", "\n[Policy]\nHighFractionMax=512\n");
    expect(NULL, LIST(MAIN, ETC "a.conf", VENDOR "b.conf"),
           LIST(MAIN ":2: [Daemon] Tick=: \"1\" is not a duration; accepted is 1s to 10min, as a "
                     "number and ns, us, ms, s, min or h",
                ETC "a.conf:2: [Daemon] Mode=: \"on\" is not known; accepted is apply, dry-run or "
                    "off",
                MAIN ":4: [Policy] HighFractionMin=: 4096 is above HighFractionMax=512 (" VENDOR
                     "b.conf:3); accepted is a minimum up to it"),
           &r);
    config_result_done(&r);
}

/* None of them may block, be read for ever or be passed over in silence. */
static void no_regular_files(void **state)
{
    struct config_result r;

    (void)state;
    make_parents(MAIN "/x"); /* directories */
    make_parents(ETC "10-dir.conf/x");
    make_parents(RUN "x");
    assert_int_equal(mkfifo(RUN "20-fifo.conf", 0644), 0);
    assert_int_equal(symlink("nowhere", RUN "30-dangling.conf"), 0);
    assert_int_equal(symlink("40-loop.conf", RUN "40-loop.conf"), 0);
    assert_int_equal(symlink("/dev/zero", RUN "50-zero.conf"), 0);
    write_text(VENDOR "10-dir.conf", "[Daemon]\nTick=1s\n"); /* its name is taken */
    write_text("usr/local/lib/pcptuned/pcptuned.conf.d", "a file");
    write_text(VENDOR "60-good.conf", "#\n");
    expect(NULL, LIST(VENDOR "60-good.conf"),
           LIST(MAIN DIRECTORY, "usr/local/lib/pcptuned/pcptuned.conf.d" NOT_DIRECTORY,
                ETC "10-dir.conf" DIRECTORY, RUN "20-fifo.conf" NOT_REGULAR,
                RUN "30-dangling.conf" MISSING, RUN "40-loop.conf" LOOP,
                RUN "50-zero.conf" NOT_REGULAR),
           &r);
    config_result_done(&r);
}

static void size_limit(void **state)
{
    struct config_result r;
    static char text[(1 << 20) + 2];

    (void)state;
    memset(text, '#', sizeof(text) - 1);
    write_text(ETC "b.conf", text);
    text[1 << 20] = '\0';
    write_text(ETC "a.conf", text);
    expect(NULL, LIST(ETC "a.conf"), LIST(ETC "b.conf" LARGE), &r);
    config_result_done(&r);
}

static void unreadable(void **state)
{
    struct config_result r;
    bool is_root = geteuid() == 0;

    (void)state;
    write_text(MAIN, "[Daemon]\nTick=1s\n");
    write_text(ETC "a.conf", "[Daemon]\nTick=1s\n");
    make_parents(RUN "x");
    assert_int_equal(chmod(MAIN, 0), 0);
    assert_int_equal(chmod(ETC "a.conf", 0), 0);
    assert_int_equal(chmod("run/pcptuned/pcptuned.conf.d", 0), 0);
    if (is_root) /* whom no mode keeps out */
        assert_int_equal(seteuid(65534), 0);
    expect(NULL, NONE,
           LIST(MAIN DENIED, "run/pcptuned/pcptuned.conf.d" DENIED, ETC "a.conf" DENIED), &r);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod("run/pcptuned/pcptuned.conf.d", 0755), 0);
    config_result_done(&r);
}

static int open_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void descriptors_are_closed(void **state)
{
    int before = open_descriptors();
    no_regular_files(state);
    assert_int_equal(open_descriptors(), before);
}

/* What may pass is no fault of the configuration: the program may be started again. */
static void out_of_descriptors(void **state)
{
    struct rlimit before, none;
    struct config_result r;

    (void)state;
    write_text(MAIN, "[Daemon]\nTick=1s\n");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int error = config_load(root, NULL, &r);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(error, -EMFILE);
    expect_list(r.errors, r.n_errors, LIST(MAIN ": cannot be read: Too many open files"));
    config_result_done(&r);
}

#define in_tree(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_tree(nothing_there),
        in_tree(order_and_precedence),
        in_tree(every_assignment_is_kept),
        in_tree(names_sort_by_byte),
        in_tree(masking),
        in_tree(empty_value_resets),
        in_tree(other_main_file),
        in_tree(errors_of_all_files),
        in_tree(no_regular_files),
        in_tree(size_limit),
        in_tree(unreadable),
        in_tree(descriptors_are_closed),
        in_tree(out_of_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
