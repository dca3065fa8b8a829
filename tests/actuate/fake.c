/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "fileio.h"
#include "macros.h"
#include "skips.h"

static bool entered;

static bool write_text(const char *path, const char *text)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    size_t len = strlen(text);
    return fd >= 0 && write(fd, text, len) == (ssize_t)len;
}

static bool unshare_as_root_of_our_own(void)
{
    char map[64];
    unsigned uid = geteuid(), gid = getegid();

    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) < 0)
        return false;
    (void)snprintf(map, sizeof(map), "0 %u 1", uid);
    if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", map))
        return false;
    (void)snprintf(map, sizeof(map), "0 %u 1", gid);
    return write_text("/proc/self/gid_map", map);
}

bool fake_enter(void)
{
    entered = (unshare(CLONE_NEWNS | CLONE_NEWNET) == 0 || unshare_as_root_of_our_own()) &&
              mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
              mount("fake", "/proc/sys/vm", "tmpfs", 0, "mode=755") == 0 &&
              mkdir(FAKE_RUN, 0755) == 0;
    if (!entered)
        printf("SKIP: no private mount namespace here (%s): nothing is tested against a fake "
               "kernel\n",
               strerror(errno));
    return entered;
}

static void remove_knob(enum knob_id id)
{
    while (umount2(knob_table[id].path, MNT_DETACH) == 0)
        ;
    unlink(knob_table[id].path);
}

void fake_reset(void)
{
    if (!entered)
        skip_for_want("no private mount namespace here");
    for (enum knob_id id = 0; id < KNOB_MAX; id++)
        remove_knob(id);
    while (umount2(FAKE_RUN, MNT_DETACH) == 0)
        ;
    assert_int_equal(mount("fake", FAKE_RUN, "tmpfs", 0, "mode=755,size=64k"), 0);
}

void fake_file(enum knob_id id, const char *text)
{
    remove_knob(id);
    assert_true(write_text(knob_table[id].path, text));
}

void fake_sysctl(enum knob_id id, const char *path)
{
    fake_file(id, "");
    if (mount(path, knob_table[id].path, NULL, MS_BIND, NULL) < 0)
        skip_for_want("%s: %s", path, strerror(errno));
}

void fake_read_only(enum knob_id id)
{
    const char *path = knob_table[id].path;
    assert_int_equal(mount(path, path, NULL, MS_BIND, NULL), 0);
    assert_int_equal(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), 0);
}

int fake_get(enum knob_id id)
{
    char buf[64], *end;
    assert_true(read_file(knob_table[id].path, buf, sizeof(buf)) > 0);
    long v = strtol(buf, &end, 10);
    assert_string_equal(end, "\n");
    return (int)v;
}

void fake_set(enum knob_id id, int value)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "%d\n", value);
    assert_true(write_text(knob_table[id].path, text));
}
