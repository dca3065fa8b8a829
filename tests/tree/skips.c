/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "skips.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* The linker puts these in the place of cmocka's (--wrap), which exits 0 when it has run nothing.
 */
void __real__skip(const char *file, int line);
void __wrap__skip(const char *file, int line);
int __real__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);

static size_t skipped;

void __wrap__skip(const char *file, int line)
{
    skipped++;
    __real__skip(file, line);
}

int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n,
                                   CMFixtureFunction setup, CMFixtureFunction teardown)
{
    int failed = __real__cmocka_run_group_tests(name, tests, n, setup, teardown);

    return failed == 0 && skipped == n ? 77 : failed;
}

void skip_for_want(const char *fmt, ...)
{
    const char *refused = getenv("PCPTUNED_NO_SKIP");
    char why[256];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(why, sizeof(why), fmt, ap);
    va_end(ap);
    if (refused && strcmp(refused, "1") == 0)
        fail_msg("%s; PCPTUNED_NO_SKIP=1 says that this is the place to run it", why);
    print_message("SKIP: %s\n", why);
    skip();
}
