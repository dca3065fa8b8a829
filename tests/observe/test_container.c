/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "container.h"

#define HEX16 "0123456789abcdef"
#define ID HEX16 HEX16 HEX16 HEX16
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID "9f1c6b2a-0d3e-4f5a-8b7c-112233445566"
#define UID_ "9f1c6b2a_0d3e_4f5a_8b7c_112233445566"
#define HASH "0a1b2c3d4e5f60718293a4b5c6d7e8f9"

static const struct name_row {
    const char *path, *name;
} name_table[] = {
    {"", "/"},
    {"/", "/"},
    {"//", "//"},
    {"/..", "/.."},
    {"/../../etc/passwd", "/../../etc/passwd"},

    /* docker */
    {"/system.slice/docker-" ID ".scope", "docker 0123456789ab"},
    {"/docker/" ID, "docker 0123456789ab"},
    {"/docker/" ID "/", "docker 0123456789ab"},
    {"/docker/" ID "/system.slice/nginx.service", "docker 0123456789ab"},
    {"/../docker/" ID, "docker 0123456789ab"},
    {"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope",
     "docker 0123456789ab"},
    {"/system.slice/docker.service", "docker.service"},
    {"/mygroup/" ID, "container 0123456789ab"},
    {"/" ID, "container 0123456789ab"},
    {"/ecs/0123456789abcdef0123456789abcdef/" ID, "container 0123456789ab"},
    {"/docker/" ID "/docker/" ID2, "docker fedcba987654"},

    /* containerd */
    {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
     ".slice/cri-containerd-" ID ".scope",
     "containerd 0123456789ab"},
    {"/kubepods/burstable/pod" UID "/" ID, "containerd 0123456789ab"},
    {"/kubepods/pod" UID "/" ID, "containerd 0123456789ab"},
    {"/kubepods/besteffort/pod" HASH "/" ID, "containerd 0123456789ab"},
    {"/kubepods.slice/kubepods-pod" UID_ ".slice/" ID, "containerd 0123456789ab"},
    {"/system.slice/containerd.service/kubepods-besteffort-pod" UID_ ".slice:cri-containerd:" ID,
     "containerd 0123456789ab"},
    {"/docker/" ID2 "/kubelet/kubepods/burstable/pod" UID "/" ID, "containerd 0123456789ab"},
    {"/system.slice/containerd.service", "containerd.service"},
    {"/system.slice/nerdctl-" ID ".scope", "nerdctl 0123456789ab"},

    /* cri-o */
    {"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope", "cri-o 0123456789ab"},
    {"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container",
     "cri-o 0123456789ab"},
    {"/kubepods/burstable/pod" UID "/crio-" ID, "cri-o 0123456789ab"},
    {"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" ID ".scope", "pod " UID},

    /* podman */
    {"/machine.slice/libpod-" ID ".scope", "podman 0123456789ab"},
    {"/machine.slice/libpod-" ID ".scope/container", "podman 0123456789ab"},
    {"/libpod_parent/libpod-" ID, "podman 0123456789ab"},
    {"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container",
     "podman 0123456789ab"},
    {"/machine.slice/libpod-conmon-" ID ".scope", "...abcdef" HEX16 HEX16 HEX16 ".scope"},
    {"/libpod_parent/conmon", "/libpod_parent/conmon"},

    /* pods without a container */
    {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice", "pod " UID},
    {"/kubepods/besteffort/pod" UID, "pod " UID},
    {"/kubepods/besteffort/pod" HASH "/something", "pod " HASH},
    {"/kubepods", "/kubepods"},
    {"/kubepods/pod" HEX16 HEX16 "01234", "/kubepods/pod" HEX16 HEX16 "01234"},
    {"/kubepods/pod" HEX16 "0123456789abcde", "/kubepods/pod" HEX16 "0123456789abcde"},
    {"/kubepods/burstable/podcast-of-something-with-a-long-name",
     "/kubepods/burstable/podcast-of-something-with-a-long-name"},

    /* nspawn, libvirt, lxc */
    {"/machine.slice/machine-web.scope", "nspawn web"},
    {"/machine.slice/machine-web\\x2dfront\\x2d2.scope", "nspawn web-front-2"},
    {"/machine.slice/machine-web.scope/payload/system.slice/nginx.service", "nspawn web"},
    {"/machine.slice/systemd-nspawn@web.service", "nspawn web"},
    {"/machine.slice/systemd-nspawn@web\\x2d1.service/payload", "nspawn web-1"},
    {"/machine.slice/machine-qemu\\x2d5\\x2ddb.scope/libvirt/emulator", "qemu 5-db"},
    {"/machine.slice/machine-.scope", "machine-.scope"},
    {"/machine.slice/machine-a\\x0aKernel\\x3a.scope", "nspawn a?Kernel:"},
    {"/machine.slice/machine-a\\x1b[31m.scope", "nspawn a?[31m"},
    {"/machine.slice/machine-a\\x00b.scope", "nspawn a?b"},
    {"/machine.slice/machine-a\\x.scope", "nspawn a\\x"},
    {"/machine.slice/machine-a\\x2.scope", "nspawn a\\x2"},
    {"/machine.slice/machine-a\\x2G.scope", "nspawn a\\x2G"},
    {"/machine.slice/machine-\\x22.scope", "nspawn ?"},
    {"/lxc.payload.web", "lxc web"},
    {"/lxc.payload.web/system.slice/nginx.service", "lxc web"},
    {"/lxc.payload/web", "lxc web"},
    {"/lxc/101/ns/init.scope", "lxc 101"},
    {"/lxc/101/ns/system.slice/docker-" ID ".scope", "docker 0123456789ab"},
    {"/lxc.payload.", "/lxc.payload."},
    {"/lxc", "/lxc"},

    /* units */
    {"/system.slice/nginx.service", "nginx.service"},
    {"/system.slice/nginx.service/worker/3", "nginx.service"},
    {"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service"},
    {"/init.scope", "init.scope"},
    {"/user.slice/user-1000.slice/session-3.scope", "session-3.scope"},
    {"/user.slice/user-1000.slice/user@1000.service/app.slice/app-firefox-1.scope",
     "app-firefox-1.scope"},
    {"/user.slice/user-1000.slice/user@1000.service/init.scope", "init.scope"},
    {"/user.slice/user-1000.slice", "/user.slice/user-1000.slice"},
    {"/a.service.d", "/a.service.d"},
    {"/.service", "/.service"},
    {"/.scope/x", "/.scope/x"},

    /* ids that are none: too short, too long, upper case */
    {"/docker/0123456789ab", "/docker/0123456789ab"},
    {"/system.slice/docker-0123.scope", "docker-0123.scope"},
    {"/system.slice/docker" ID ".scope", "...abcdef" HEX16 HEX16 HEX16 ".scope"},
    {"/system.slice/:" ID, "...456789abcdef" HEX16 HEX16 HEX16},

    /* hostile */
    {"/a\nb.service", "a?b.service"},
    {"/a\"b'c`d.service", "a?b?c?d.service"},
    {"/a\x1b[2Jb.scope", "a?[2Jb.scope"},
    {"/a\x7f", "/a?"},
    {"/a\tb", "/a?b"},
    {"/\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80.service",
     "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80.service"},
    {"/\xc3.service", "?.service"},
    {"/\xc0\xaf", "/??"},           /* overlong */
    {"/\xe0\x80\xaf", "/???"},      /* overlong */
    {"/\xed\xa0\x80", "/???"},      /* surrogate */
    {"/\xf4\x90\x80\x80", "/????"}, /* above U+10FFFF */
    {"/\xff\xfe\x80", "/???"},
    {"/\xc2\x85", "/??"}, /* C1: next line */
    /* right-to-left override; NOLINTNEXTLINE(misc-misleading-bidirectional) */
    {"/\xe2\x80\xaezyx", "/???zyx"},
    {"/\xe2\x80\xa8", "/???"}, /* line separator */
    {"/x\xe2\x82", "/x??"},    /* cut */
    {"/%s%n%x.service", "%s%n%x.service"},
};

static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(name_table); i++) {
        const struct name_row *row = &name_table[i];
        char name[GROUP_NAME_MAX];
        memset(name, 'X', sizeof(name));
        assert_ptr_equal(container_name(row->path, name), name);
        if (strcmp(name, row->name) != 0)
            fail_msg("%zu %s: '%s', expected '%s'", i, row->path, name, row->name);
    }
}

/* Whatever the bytes and the length: terminated, in bounds, printable UTF-8. */
static void test_name_is_safe(void **state)
{
    (void)state;
    static const char *const heads[] = {"/", "/machine.slice/machine-", "/lxc/", "/lxc.payload."};
    static const char *const tails[] = {"", ".service", ".scope", "/"};
    static char path[4096], fill[4000];

    for (unsigned byte = 1; byte < 256; byte++) {
        for (size_t i = 0; i < ARRAY_SIZE(heads) * ARRAY_SIZE(tails); i++) {
            const char *head = heads[i % ARRAY_SIZE(heads)], *tail = tails[i / ARRAY_SIZE(heads)];
            char name[GROUP_NAME_MAX + 1];
            name[GROUP_NAME_MAX] = 0x5a;
            memset(fill, (int)byte, sizeof(fill));
            snprintf(path, sizeof(path), "%s%.*s%s", head, (int)sizeof(fill), fill, tail);
            container_name(path, name);

            size_t len = strnlen(name, GROUP_NAME_MAX);
            assert_true(len > 0 && len < GROUP_NAME_MAX);
            assert_int_equal(name[GROUP_NAME_MAX], 0x5a);
            for (size_t k = 0; k < len; k++)
                if (name[k] < 0x20 || name[k] > 0x7e || strchr("\"'`", name[k]))
                    fail_msg("byte %#x after %s: %#x", byte, head, (unsigned char)name[k]);
        }
    }
}

/* A tail is not cut within a character. */
static void test_tail(void **state)
{
    (void)state;
    for (size_t pad = 0; pad < 4; pad++) {
        char path[300], name[GROUP_NAME_MAX];
        size_t n = 0;
        for (; n < 180; n += 3)
            snprintf(path + n, sizeof(path) - n, "\xe2\x82\xac");
        snprintf(path + n, sizeof(path) - n, "%.*s", (int)pad, "pppp");
        container_name(path, name);
        assert_int_equal(strncmp(name, "...\xe2\x82\xac", 6), 0);
        assert_null(strchr(name, '?'));
    }
}

struct cgroup_row {
    const char *text;
    int error;
    const char *memory, *unified, *named;
};

static void check_cgroup(size_t i, const struct cgroup_row *row)
{
    struct cgroup_paths p;
    memset(&p, 0xa5, sizeof(p));
    int r = cgroup_parse(row->text, strlen(row->text), &p);
    if (r != row->error)
        fail_msg("row %zu: %d, expected %d", i, r, row->error);
    if (r < 0) {
        assert_int_equal((unsigned char)p.memory[0], 0xa5); /* filled on success only */
        return;
    }
    assert_string_equal(p.memory, row->memory);
    assert_string_equal(p.unified, row->unified);
    assert_string_equal(p.named, row->named);
}

static void test_cgroup(void **state)
{
    (void)state;
    static const struct cgroup_row table[] = {
        {"", 0, "", "", ""},
        {"0::/system.slice/a.service\n", 0, "", "/system.slice/a.service", ""},
        {"0::/\n", 0, "", "/", ""},
        {"0::/a (deleted)\n", 0, "", "/a", ""},
        {"0::/../b\n", 0, "", "/../b", ""},
        {"0::/a:b::c\n", 0, "", "/a:b::c", ""},
        {"4:memory:/docker/x\n0::/\n", 0, "/docker/x", "/", ""},
        {"9:name=systemd:/s\n5:cpu,cpuacct:/c\n4:memory:/m\n0::/u\n", 0, "/m", "/u", "/s"},
        {"4:memory,hugetlb:/m\n", 0, "/m", "", ""},
        {"4:hugetlb,memory:/m\n", 0, "/m", "", ""},
        {"4:memoryx:/m\n3:xmemory:/m\n", 0, "", "", ""},
        {"4:memory:/m (deleted)\n", 0, "/m (deleted)", "", ""},
        {"12:name=elogind:/1\n", 0, "", "", ""},
        {"00::/x\n", 0, "", "", ""},
        {"0::/x", -EBADMSG, "", "", ""},
        {"0::/x\n4:memory:/y", -EBADMSG, "", "", ""},
        {"\n", -EBADMSG, "", "", ""},
        {"0::/x\n\n", -EBADMSG, "", "", ""},
        {"0:/x\n", -EBADMSG, "", "", ""},
        {"0::\n", -EBADMSG, "", "", ""},
        {"0::x\n", -EBADMSG, "", "", ""},
        {"::/x\n", -EBADMSG, "", "", ""},
        {"a::/x\n", -EBADMSG, "", "", ""},
        {"-1:memory:/x\n", -EBADMSG, "", "", ""},
        {"0::/x\n0::/y\n", -EBADMSG, "", "", ""},
        {"1:memory:/x\n2:memory:/y\n", -EBADMSG, "", "", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        check_cgroup(i, &table[i]);
}

static void test_cgroup_bounds(void **state)
{
    (void)state;
    struct cgroup_paths p;
    static char text[5000], fill[4096];
    static const struct {
        int len; /* of the path */
        int error;
    } table[] = {
        {1, 0},
        {CGROUP_PATH_MAX - 1, 0},
        {CGROUP_PATH_MAX, -EBADMSG},
        {CGROUP_PATH_MAX + 1, -EBADMSG},
        {4096, -EBADMSG},
    };

    memset(fill, 'a', sizeof(fill));
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        int n = snprintf(text, sizeof(text), "0::/%.*s\n", table[i].len - 1, fill);
        assert_int_equal(cgroup_parse(text, (size_t)n, &p), table[i].error);
        if (table[i].error == 0)
            assert_int_equal(strlen(p.unified), table[i].len);
    }
    assert_int_equal(cgroup_parse("0::/a\0b\n", 8, &p), -EBADMSG);
    assert_int_equal(cgroup_parse("\0", 1, &p), -EBADMSG);
}

static void test_memory_stat(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int error;
        uint64_t anon, thp;
    } table[] = {
        {"anon 4096\nfile 1\nanon_thp 2097152\n", 0, 4096, 2097152},
        {"anon 0\n", 0, 0, 0},
        {"file 1\nanon 7\n", 0, 7, 0},
        {"cache 1\nrss 8192\nrss_huge 2097152\ntotal_rss 9\ntotal_rss_huge 4\n", 0, 9, 4},
        {"rss 5\nanon 6\nrss_huge 1\n", 0, 6, 0},
        {"rss 8192\nrss_huge 4096\n", 0, 8192, 4096},
        {"anon 18446744073709551615\n", 0, UINT64_MAX, 0},
        {"anon 1\nanon_thp 12", 0, 1, 0}, /* unfinished */
        {"anon 1\nrandom\n\nx y z\n", 0, 1, 0},
        {"", -EBADMSG, 0, 0},
        {"\n", -EBADMSG, 0, 0},
        {"anon 12", -EBADMSG, 0, 0},
        {"anon_thp 5\nfile 3\n", -EBADMSG, 0, 0},
        {"total_rss 5\n", 0, 5, 0},
        {"anon\n", -EBADMSG, 0, 0},
        {"anon \n", -EBADMSG, 0, 0},
        {"anon  5\n", -EBADMSG, 0, 0},
        {"anon -5\n", -EBADMSG, 0, 0},
        {"anon +5\n", -EBADMSG, 0, 0},
        {"anon 5 \n", -EBADMSG, 0, 0},
        {"anon 0x5\n", -EBADMSG, 0, 0},
        {"anon 5kB\n", -EBADMSG, 0, 0},
        {"anon 18446744073709551616\n", -EBADMSG, 0, 0},
        {"anon 00000000000000000000000000000001\n", -EBADMSG, 0, 0},
        {"anon 1\nanon 2\n", -EBADMSG, 0, 0},
        {"anon 1\nanon_thp x\n", -EBADMSG, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        uint64_t anon = 77, thp = 78;
        int r = memory_stat_parse(table[i].text, strlen(table[i].text), &anon, &thp);
        if (r != table[i].error)
            fail_msg("row %zu: %d, expected %d", i, r, table[i].error);
        assert_int_equal(anon, r < 0 ? 77 : table[i].anon);
        assert_int_equal(thp, r < 0 ? 78 : table[i].thp);
    }
    uint64_t anon, thp;
    assert_int_equal(memory_stat_parse("anon 1\0002\n", 9, &anon, &thp), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),         cmocka_unit_test(test_name_is_safe),
        cmocka_unit_test(test_tail),          cmocka_unit_test(test_cgroup),
        cmocka_unit_test(test_cgroup_bounds), cmocka_unit_test(test_memory_stat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
