/* SPDX-License-Identifier: GPL-2.0-or-later */

/* The sysctl of the kernel that runs here. It is touched only where it has its default and no
 * daemon holds it, and has its default again whatever happens to the child that does the writing.
 */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "actuate.h"
#include "fileio.h"

#define ROUNDS 200

static const char *path;

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool has_default(void)
{
    char buf[32];
    return read_file(path, buf, sizeof(buf)) == 2 && strcmp(buf, "0\n") == 0;
}

static int set_and_restore(struct actuator *a, int value, uint64_t *ret_set, uint64_t *ret_written)
{
    struct knob_values from = {{true}, {0}}, v = {{true}, {value}};
    struct outcome o;
    actuator_set(a, &from, &v, &o);
    *ret_set = o.ended - o.started;
    *ret_written = o.written - o.started;
    bool ok = o.kind == OUTCOME_DONE && o.after.value[KNOB_FRACTION] == value;
    actuator_restore(a, &o);
    return ok && o.kind == OUTCOME_DONE && has_default() ? 0 : 1;
}

static int write_for_real(const char *state_dir)
{
    const struct actuator_config c = {
        .state_dir = state_dir, .boot_id = "0", .lo = {8, 0}, .hi = {INT32_MAX, 6}};
    static uint64_t set[ROUNDS], written[ROUNDS];
    struct actuator *a = NULL;
    struct outcome o;
    int failed = 0;

    if (actuator_open(&c, &a) < 0)
        return 1;
    actuator_recover(a, &o);
    for (int i = 0; i < ROUNDS; i++)
        failed += set_and_restore(a, i % 2 ? 8 : INT32_MAX, &set[i], &written[i]);
    actuator_close(a);
    const size_t middle = ROUNDS / 2;
    qsort(set, ROUNDS, sizeof(*set), compare);
    qsort(written, ROUNDS, sizeof(*written), compare);
    printf("set: median %.1f us until written, %.1f us in all\n", (double)written[middle] / 1000,
           (double)set[middle] / 1000);
    (void)fflush(stdout); /* _exit() does not */
    return failed > 0;
}

/* Only what the child can have left: another value is somebody's. */
static void put_back(void)
{
    char buf[32];
    ssize_t n = read_file(path, buf, sizeof(buf));
    if (n < 0 || (strcmp(buf, "8\n") != 0 && strcmp(buf, "2147483647\n") != 0))
        return;
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0\n", 2) != 2)
        print_error("%s is not 0 any more\n", path);
}

/* The lock of an installed pcptuned, held while we write; -1 where there is none. */
static bool lock_out_daemon(int *ret_fd)
{
    *ret_fd = open("/run/pcptuned/lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    return *ret_fd < 0 || flock(*ret_fd, LOCK_EX | LOCK_NB) == 0;
}

static int run_child(const char *dir)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(write_for_real(dir));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    put_back();
    return status;
}

static void test_real_sysctl(void **state)
{
    (void)state;
    _cleanup_close_ int lock_fd = -1;
    if (access(path, W_OK) < 0 || !lock_out_daemon(&lock_fd) || !has_default()) {
        print_message("SKIP: %s cannot be written here, is not 0, or a pcptuned runs: the real "
                      "kernel is not tested\n",
                      path);
        skip();
    }
    char dir[] = "/run/pcptuned-test-XXXXXX", lock[64];
    assert_non_null(mkdtemp(dir));
    int status = run_child(dir);
    (void)snprintf(lock, sizeof(lock), "%s/lock", dir);
    (void)unlink(lock);
    assert_int_equal(rmdir(dir), 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(has_default());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_real_sysctl)};
    path = knob_table[KNOB_FRACTION].path;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
