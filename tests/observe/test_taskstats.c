/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "taskstats.h"

#include "fileio.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define FAMILY 0x1c
#define AGROUP_FLAG 0x20
#define AT_FLAG 44
#define AT_HIWATER 236

/* What a kernel would send. */
struct sent {
    const char *name;
    size_t size;  /* of struct taskstats */
    size_t shift; /* of version 15 */
    uint64_t hiwater_kb;
    uint32_t pid, tgid; /* tgid: of the AGGR_TGID record before version 12; 0: none */
    int expect;         /* of taskstats_parse() */
    enum taskstats_last last;
    uint32_t offset; /* expected, of hiwater_rss */
    uint16_t version;
    uint8_t flag;
    bool padded; /* the empty attribute of architectures that cannot load unaligned */
};

struct msg {
    _Alignas(8) char data[4096];
    size_t len;
};

static void *put(struct msg *m, uint16_t type, const void *data, size_t len)
{
    struct nlattr a = {.nla_len = (uint16_t)(sizeof(a) + len), .nla_type = type};
    void *at = m->data + m->len + sizeof(a);

    memcpy(m->data + m->len, &a, sizeof(a));
    if (data)
        memcpy(at, data, len);
    m->len += sizeof(a) + (len + 3) / 4 * 4;
    return at;
}

static void put_aggregate(struct msg *m, const struct sent *s, uint16_t type, uint16_t id_type,
                          uint32_t id, const char *stats)
{
    if (s->padded)
        put(m, TASKSTATS_TYPE_NULL, NULL, 0);
    size_t start = m->len;
    put(m, type, NULL, 0);
    put(m, id_type, &id, sizeof(id));
    put(m, TASKSTATS_TYPE_STATS, stats, s->size);
    uint16_t len = (uint16_t)(m->len - start);
    memcpy(m->data + start, &len, sizeof(len));
}

static void finish(struct msg *m, uint16_t type, uint8_t cmd)
{
    struct nlmsghdr h = {.nlmsg_len = (uint32_t)m->len, .nlmsg_type = type};
    struct genlmsghdr g = {.cmd = cmd, .version = TASKSTATS_GENL_VERSION};

    memcpy(m->data, &h, sizeof(h));
    memcpy(m->data + NLMSG_HDRLEN, &g, sizeof(g));
}

static void build(const struct sent *s, struct msg *m)
{
    static const char comm[] = "worker";
    char stats[1024] = {0};

    memcpy(stats, &s->version, sizeof(s->version));
    stats[8] = (char)s->flag;
    memset(stats + 80 + s->shift, 'A', 32); /* not terminated */
    memcpy(stats + 80 + s->shift, comm, sizeof(comm) - 1);
    memset(stats + 80 + s->shift + 16, 0, 16);
    memcpy(stats + 128 + s->shift, &s->pid, sizeof(s->pid));
    memcpy(stats + 200 + s->shift, &s->hiwater_kb, sizeof(s->hiwater_kb));
    if (s->version >= 12)
        memcpy(stats + 368 + 2 * s->shift, &s->tgid, sizeof(s->tgid));

    memset(m, 0, sizeof(*m));
    m->len = NLMSG_HDRLEN + GENL_HDRLEN;
    put_aggregate(m, s, TASKSTATS_TYPE_AGGR_PID, TASKSTATS_TYPE_PID, s->pid, stats);
    if (s->version < 12 && s->tgid)
        put_aggregate(m, s, TASKSTATS_TYPE_AGGR_TGID, TASKSTATS_TYPE_TGID, s->tgid, stats);
    finish(m, FAMILY, TASKSTATS_CMD_NEW);
}

static const struct sent versions[] = {
    {"5.14, one thread or any", 352, 0, 1 << 20, 70, 0, 0, TASKSTATS_LAST_UNKNOWN, 236, 10, 0,
     false},
    {"5.14, last of several", 352, 0, 1 << 20, 71, 70, 0, TASKSTATS_LAST_YES, 236, 10, 0, false},
    {"5.18", 368, 0, 5, 70, 0, 0, TASKSTATS_LAST_UNKNOWN, 236, 11, 0, false},
    {"5.18, AGROUP means nothing yet", 368, 0, 5, 70, 0, 0, TASKSTATS_LAST_UNKNOWN, 236, 11,
     AGROUP_FLAG, false},
    {"5.19, last", 400, 0, 7, 71, 70, 0, TASKSTATS_LAST_YES, 236, 12, AGROUP_FLAG, false},
    {"5.19, thread", 400, 0, 7, 71, 70, 0, TASKSTATS_LAST_NO, 236, 12, 0x1f, false},
    {"6.1", 416, 0, UINT64_MAX, 70, 70, 0, TASKSTATS_LAST_YES, 236, 13, AGROUP_FLAG | 0x10, false},
    {"6.12", 432, 0, 8, 70, 70, 0, TASKSTATS_LAST_YES, 236, 14, AGROUP_FLAG, false},
    {"6.14, maxima in the middle", 496, 24, 9, 71, 70, 0, TASKSTATS_LAST_YES, 260, 15, AGROUP_FLAG,
     false},
    {"6.14, maxima and minima", 560, 48, 9, 71, 70, 0, TASKSTATS_LAST_YES, 284, 15, AGROUP_FLAG,
     false},
    {"15 with the usual layout", 560, 0, 9, 71, 70, 0, TASKSTATS_LAST_YES, 236, 15, AGROUP_FLAG,
     false},
    {"6.18", 560, 0, 10, 70, 70, 0, TASKSTATS_LAST_YES, 236, 16, AGROUP_FLAG, false},
    {"padded", 560, 0, 10, 70, 70, 0, TASKSTATS_LAST_YES, 240, 16, AGROUP_FLAG, true},
    {"future", 800, 0, 10, 70, 70, 0, TASKSTATS_LAST_YES, 236, 40, AGROUP_FLAG, false},
    {"shortest", 208, 0, 11, 70, 0, 0, TASKSTATS_LAST_UNKNOWN, 236, 10, 0, false},
    {"hiwater_rss cut", 207, 0, 11, 70, 0, -EBADMSG, 0, 0, 10, 0, false},
    {"no struct at all", 0, 0, 11, 70, 0, -EBADMSG, 0, 0, 10, 0, false},
    {"ac_tgid cut", 371, 0, 11, 70, 70, -EBADMSG, 0, 0, 12, AGROUP_FLAG, false},
    {"ac_tgid just there", 372, 0, 11, 70, 70, 0, TASKSTATS_LAST_YES, 236, 12, AGROUP_FLAG, false},
    {"shifted and cut", 255, 48, 11, 70, 70, -EBADMSG, 0, 0, 15, AGROUP_FLAG, false},
    {"shifted, not version 15", 560, 48, 11, 70, 70, -EBADMSG, 0, 0, 16, AGROUP_FLAG, false},
    {"pid 0", 560, 0, 11, 0, 70, -EBADMSG, 0, 0, 16, AGROUP_FLAG, false},
    {"tgid 0", 560, 0, 11, 70, 0, -EBADMSG, 0, 0, 16, AGROUP_FLAG, false},
    {"negative tgid", 560, 0, 11, 70, UINT32_MAX, -EBADMSG, 0, 0, 16, AGROUP_FLAG, false},
};

static void test_versions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        const struct sent *s = &versions[i];
        struct taskstats_exit e = {.pid = 4711};
        struct msg m;

        build(s, &m);
        int r = taskstats_parse(m.data, m.len, FAMILY, &e);
        if (r != s->expect)
            fail_msg("%s: %d, not %d", s->name, r, s->expect);
        if (r < 0) {
            assert_int_equal(e.pid, 4711); /* filled on success only */
            continue;
        }
        if (e.last != s->last || e.hiwater_offset != s->offset)
            fail_msg("%s: last %d, offset %u", s->name, e.last, e.hiwater_offset);
        assert_int_equal(e.version, s->version);
        assert_int_equal(e.pid, s->pid);
        assert_int_equal(e.tgid, s->tgid ? s->tgid : s->pid);
        assert_true(e.hiwater_kb == s->hiwater_kb);
        assert_memory_equal(m.data + e.hiwater_offset, &s->hiwater_kb, 8);
        assert_int_equal((uint8_t)m.data[e.flag_offset], s->flag);
        assert_int_equal(strlen(e.comm), 15);
        assert_memory_equal(e.comm, "workerAAAAAAAAA", 15);
    }
}

/* Of exactly that size on the heap, so that a sanitizer sees each byte read beyond. */
static int parse_copy(const struct msg *m, size_t len)
{
    struct taskstats_exit e;
    char *copy = malloc(len ? len : 1);

    if (!copy)
        return -ENOMEM;
    memcpy(copy, m->data, len);
    int r = taskstats_parse(copy, len, FAMILY, &e);
    free(copy);
    return r;
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        struct msg m;
        build(&versions[i], &m);
        for (size_t len = 0; len < m.len; len++) {
            struct msg cut = m;
            assert_int_equal(parse_copy(&cut, len), -ENOMSG); /* nlmsg_len says more */
            if (len < NLMSG_HDRLEN)
                continue;
            uint32_t n = (uint32_t)len;
            memcpy(cut.data, &n, sizeof(n));
            (void)parse_copy(&cut, len); /* nlmsg_len says so too: any answer, no fault */
        }
    }
}

static void test_any_byte_wrong(void **state)
{
    static const uint8_t values[] = {0, 1, 3, 4, 5, 0x7f, 0x80, 0xff};
    struct msg m;

    (void)state;
    build(&versions[1], &m); /* with both aggregates */
    for (size_t at = 0; at < m.len; at++)
        for (size_t v = 0; v < ARRAY_SIZE(values); v++) {
            struct msg wrong = m;
            wrong.data[at] = (char)values[v];
            int r = parse_copy(&wrong, m.len);
            assert_true(r == 0 || r == -EBADMSG || r == -ENOMSG);
        }
}

static void test_other_messages(void **state)
{
    struct taskstats_exit e;
    struct msg m;

    (void)state;
    build(&versions[0], &m);
    assert_int_equal(taskstats_parse(m.data, m.len, FAMILY + 1, &e), -ENOMSG);
    finish(&m, NLMSG_ERROR, 0);
    assert_int_equal(taskstats_parse(m.data, m.len, FAMILY, &e), -ENOMSG);
    finish(&m, FAMILY, TASKSTATS_CMD_GET);
    assert_int_equal(taskstats_parse(m.data, m.len, FAMILY, &e), -ENOMSG);
    m.len = NLMSG_HDRLEN + GENL_HDRLEN;
    finish(&m, FAMILY, TASKSTATS_CMD_NEW);
    assert_int_equal(taskstats_parse(m.data, m.len, FAMILY, &e), -EBADMSG);
    assert_int_equal(taskstats_parse(m.data, 0, FAMILY, &e), -ENOMSG);
}

/* From x86-64; other byte orders have nothing to compare. */
static void test_captured(void **state)
{
    static const struct {
        const char *file;
        size_t len;
        enum taskstats_last last;
        bool large, leader;
    } cases[] = {
        {"6.18-v16-small", 596, TASKSTATS_LAST_YES, false, true},
        {"6.18-v16-large", 596, TASKSTATS_LAST_YES, true, true},
        {"6.18-v16-thread", 596, TASKSTATS_LAST_NO, true, false},
        {"6.18-v16-last-thread", 1172, TASKSTATS_LAST_YES, true, true},
    };

    (void)state;
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) {
        print_message("SKIP: the captured messages are little-endian\n");
        skip();
    }
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct taskstats_exit e;
        struct nlmsghdr h;
        char path[256];
        struct msg m;

        snprintf(path, sizeof(path), "%s/fuzz/corpus/taskstats/%s", TEST_DATA, cases[i].file);
        assert_int_equal(read_file(path, m.data, sizeof(m.data)), cases[i].len);
        memcpy(&h, m.data, sizeof(h));
        assert_int_equal(taskstats_parse(m.data, cases[i].len, h.nlmsg_type, &e), 0);
        assert_int_equal(e.version, 16);
        assert_int_equal(e.hiwater_offset, AT_HIWATER);
        assert_int_equal(e.flag_offset, AT_FLAG);
        assert_int_equal(e.last, cases[i].last);
        assert_int_equal(e.hiwater_kb > 102400, cases[i].large);
        assert_true(e.hiwater_kb < 112640);
        assert_int_equal(e.pid == e.tgid, cases[i].leader);
        assert_string_equal(e.comm, "capture");
    }
}

/* The filter. */

static const struct filter_case {
    const char *name;
    uint64_t min_kb, hiwater_kb;
    uint16_t type;
    uint8_t flag;
    bool agroup, passes;
} filter_cases[] = {
    {"just enough", 65536, 65536, FAMILY, AGROUP_FLAG, true, true},
    {"one less", 65536, 65535, FAMILY, AGROUP_FLAG, true, false},
    {"one more", 65536, 65537, FAMILY, AGROUP_FLAG, true, true},
    {"bytes in an order that a swapped compare gets wrong", 0x10203, 0x2010200, FAMILY, AGROUP_FLAG,
     true, true},
    {"the same the other way", 0x2010200, 0x10203, FAMILY, AGROUP_FLAG, true, false},
    {"low byte large", 0x100, 0xff, FAMILY, AGROUP_FLAG, true, false},
    {"top byte of four", 65536, 0x80000000, FAMILY, AGROUP_FLAG, true, true},
    {"all of four", UINT32_MAX, UINT32_MAX, FAMILY, AGROUP_FLAG, true, true},
    {"4 TiB, low half zero", 65536, UINT64_C(1) << 32, FAMILY, AGROUP_FLAG, true, true},
    {"top bit of eight", 65536, UINT64_C(1) << 63, FAMILY, AGROUP_FLAG, true, true},
    {"nothing", 65536, 0, FAMILY, AGROUP_FLAG, true, false},
    {"nothing asked", 0, 0, FAMILY, AGROUP_FLAG, true, true},
    {"asked for more than 4 TiB", UINT64_C(1) << 40, 5, FAMILY, AGROUP_FLAG, true, false},
    {"a thread", 65536, 65536, FAMILY, 0, true, false},
    {"a thread with all other flags", 65536, 1 << 30, FAMILY, 0xdf, true, false},
    {"a thread of more than 4 TiB", 65536, UINT64_C(1) << 40, FAMILY, 0, true, false},
    {"all flags", 65536, 65536, FAMILY, 0xff, true, true},
    {"before version 12", 65536, 65536, FAMILY, 0, false, true},
    {"before version 12, small", 65536, 65535, FAMILY, AGROUP_FLAG, false, false},
    {"acknowledgement", 65536, 0, NLMSG_ERROR, 0, true, true},
    {"family whose bytes are ours swapped", 65536, 0, FAMILY << 8, 0, true, true},
};

static void put_bytes(uint8_t *at, uint64_t v, unsigned n, bool big_endian)
{
    for (unsigned i = 0; i < n; i++)
        at[big_endian ? n - 1 - i : i] = (uint8_t)(v >> (8 * i));
}

static size_t fill(const struct filter_case *c, bool big_endian, uint8_t buf[static 512])
{
    memset(buf, 0xa5, 512);
    put_bytes(buf + 4, c->type, 2, big_endian);
    buf[AT_FLAG] = c->flag;
    put_bytes(buf + AT_HIWATER, c->hiwater_kb, 8, big_endian);
    return 512;
}

static void program(const struct filter_case *c, bool big_endian, struct taskstats_filter *f)
{
    const struct taskstats_rule rule = {.family = FAMILY,
                                        .flag_offset = AT_FLAG,
                                        .hiwater_offset = AT_HIWATER,
                                        .agroup = c->agroup,
                                        .min_kb = c->min_kb};
    taskstats_filter_build(&rule, big_endian, f);
}

/* A machine for the instructions that the filter uses; anything else fails the test. */
static uint32_t interpret(const struct taskstats_filter *f, const uint8_t *p)
{
    uint32_t a = 0, x = 0;

    for (unsigned pc = 0; pc < f->len; pc++) {
        const struct sock_filter *i = &f->insn[pc];
        const uint8_t *at = p + i->k;
        switch (i->code) {
        case BPF_LD | BPF_B | BPF_ABS:
            a = at[0];
            break;
        case BPF_LD | BPF_H | BPF_ABS:
            a = (uint32_t)at[0] << 8 | at[1];
            break;
        case BPF_LD | BPF_W | BPF_ABS:
            a = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
            break;
        case BPF_ALU | BPF_LSH | BPF_K:
            a <<= i->k;
            break;
        case BPF_ALU | BPF_OR | BPF_X:
            a |= x;
            break;
        case BPF_MISC | BPF_TAX:
            x = a;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            pc += a == i->k ? i->jt : i->jf;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            pc += a >= i->k ? i->jt : i->jf;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            pc += a & i->k ? i->jt : i->jf;
            break;
        case BPF_RET | BPF_K:
            return i->k;
        default:
            fail_msg("instruction %u: code %#x", pc, i->code);
        }
    }
    fail_msg("ran off the end");
    return 0;
}

static void test_filter_both_orders(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(filter_cases); i++)
        for (int big = 0; big < 2; big++) {
            struct taskstats_filter f;
            uint8_t buf[512];
            fill(&filter_cases[i], big, buf);
            program(&filter_cases[i], big, &f);
            if ((interpret(&f, buf) != 0) != filter_cases[i].passes)
                fail_msg("%s, %s-endian", filter_cases[i].name, big ? "big" : "little");
        }
}

/* The kernel's own machine, on a socket that needs no privilege. */
static void test_filter_in_kernel(void **state)
{
    const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(filter_cases); i++) {
        struct taskstats_filter f;
        uint8_t buf[512], got[1024];
        int sv[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, sv), 0);
        program(&filter_cases[i], big, &f);
        struct sock_fprog prog = {.len = f.len, .filter = f.insn};
        assert_int_equal(setsockopt(sv[1], SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)), 0);
        size_t len = fill(&filter_cases[i], big, buf);
        (void)send(sv[0], buf, len, MSG_DONTWAIT); /* EPERM where it is dropped */
        ssize_t n = recv(sv[1], got, sizeof(got), MSG_DONTWAIT);
        if (n != (filter_cases[i].passes ? (ssize_t)len : -1))
            fail_msg("%s: %zd", filter_cases[i].name, n);
        close(sv[0]);
        close(sv[1]);
    }
}

/* Parser and filter must mean the same fields. */
static void test_filter_of_parsed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        const struct sent *s = &versions[i];
        struct taskstats_exit e;
        struct taskstats_filter f;
        struct msg m;

        build(s, &m);
        if (taskstats_parse(m.data, m.len, FAMILY, &e) < 0 || s->hiwater_kb >= UINT32_MAX)
            continue;
        struct taskstats_rule rule = {.family = FAMILY,
                                      .flag_offset = e.flag_offset,
                                      .hiwater_offset = e.hiwater_offset,
                                      .agroup = s->version >= 12,
                                      .min_kb = s->hiwater_kb};
        bool last = e.last != TASKSTATS_LAST_NO;
        taskstats_filter_build(&rule, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, &f);
        assert_int_equal(interpret(&f, (uint8_t *)m.data) != 0, last);
        rule.min_kb++;
        taskstats_filter_build(&rule, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, &f);
        assert_int_equal(interpret(&f, (uint8_t *)m.data), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),         cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_any_byte_wrong),   cmocka_unit_test(test_other_messages),
        cmocka_unit_test(test_captured),         cmocka_unit_test(test_filter_both_orders),
        cmocka_unit_test(test_filter_in_kernel), cmocka_unit_test(test_filter_of_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
