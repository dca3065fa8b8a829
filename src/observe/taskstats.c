/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "taskstats.h"

#include <assert.h>
#include <byteswap.h>
#include <linux/acct.h>
#include <linux/taskstats.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <string.h>

/* The offsets are ours and not offsetof()s: the header that we are built with may be of version 15,
 * which put delay maxima into the middle of the struct (6.14; version 16 moved them to its end). */
enum {
    AT_VERSION = 0,
    AT_FLAG = 8,
    AT_COMM = 80,
    AT_PID = 128,
    AT_HIWATER = 200,
    AT_TGID = 368, /* version 12 and later */
    HIWATER_SIZE = 8,
    VERSION_AGROUP = 12,
    VERSION_SHIFTED = 15,
    AGROUP_FLAG = 0x20, /* AGROUP of linux/acct.h 5.19 */
};

#if TASKSTATS_VERSION != 15
static_assert(AT_FLAG == offsetof(struct taskstats, ac_flag), "struct taskstats");
static_assert(AT_COMM == offsetof(struct taskstats, ac_comm), "struct taskstats");
static_assert(AT_PID == offsetof(struct taskstats, ac_pid), "struct taskstats");
static_assert(AT_HIWATER == offsetof(struct taskstats, hiwater_rss), "struct taskstats");
#if TASKSTATS_VERSION >= 12
static_assert(AT_TGID == offsetof(struct taskstats, ac_tgid), "struct taskstats");
#endif
#endif
#ifdef AGROUP
static_assert(AGROUP_FLAG == AGROUP, "AGROUP");
#endif

static uint32_t load32(const uint8_t *stats, size_t at)
{
    uint32_t v;

    memcpy(&v, stats + at, sizeof(v));
    return v;
}

/* By how much the fields after the delays are moved: three maxima, or three maxima and minima, in
 * version 15. Bytes 24 to 31 of ac_comm, where a wrong guess would look for the pid, are zero. */
static int find_shift(const uint8_t *stats, size_t len, uint16_t version, uint32_t pid, size_t *ret)
{
    static const size_t shifts[] = {24, 48, 0};
    size_t first = version == VERSION_SHIFTED ? 0 : ARRAY_SIZE(shifts) - 1;

    for (size_t i = first; i < ARRAY_SIZE(shifts); i++)
        if (len >= AT_HIWATER + HIWATER_SIZE + shifts[i] &&
            load32(stats, AT_PID + shifts[i]) == pid) {
            *ret = shifts[i];
            return 0;
        }
    return -EBADMSG;
}

static int parse_stats(const uint8_t *stats, size_t len, uint32_t pid, struct taskstats_exit *ret)
{
    size_t shift;

    if (len < AT_HIWATER + HIWATER_SIZE)
        return -EBADMSG;
    memcpy(&ret->version, stats + AT_VERSION, sizeof(ret->version));
    int r = find_shift(stats, len, ret->version, pid, &shift);
    if (r < 0)
        return r;

    ret->pid = ret->tgid = pid;
    memcpy(&ret->hiwater_kb, stats + AT_HIWATER + shift, sizeof(ret->hiwater_kb));
    memcpy(ret->comm, stats + AT_COMM + shift, sizeof(ret->comm) - 1);
    ret->comm[sizeof(ret->comm) - 1] = '\0';
    ret->flag_offset = AT_FLAG;
    ret->hiwater_offset = (uint32_t)(AT_HIWATER + shift);
    ret->last = TASKSTATS_LAST_UNKNOWN;
    if (ret->version < VERSION_AGROUP)
        return 0;

    /* Three of the six delays stand before ac_pid, three behind it: ac_tgid moves twice as far. */
    if (len < AT_TGID + 2 * shift + sizeof(uint32_t))
        return -EBADMSG;
    ret->tgid = load32(stats, AT_TGID + 2 * shift);
    ret->last = stats[AT_FLAG] & AGROUP_FLAG ? TASKSTATS_LAST_YES : TASKSTATS_LAST_NO;
    return 0;
}

/* The nested {id, stats}. *ret_stats NULL where there is no struct in it. */
static int parse_aggregate(struct nlattr *aggr, int id_type, uint32_t *ret_id,
                           struct nlattr **ret_stats)
{
    struct nlattr *tb[TASKSTATS_TYPE_MAX + 1];

    if (nla_parse_nested(tb, TASKSTATS_TYPE_MAX, aggr, NULL) < 0 || !tb[id_type] ||
        nla_len(tb[id_type]) < (int)sizeof(uint32_t))
        return -EBADMSG;
    *ret_id = nla_get_u32(tb[id_type]);
    *ret_stats = tb[TASKSTATS_TYPE_STATS];
    return 0;
}

static bool is_exit(struct nlmsghdr *hdr, size_t len, uint16_t family)
{
    return len <= INT32_MAX && nlmsg_ok(hdr, (int)len) && hdr->nlmsg_type == family &&
           genlmsg_valid_hdr(hdr, 0) && genlmsg_hdr(hdr)->cmd == TASKSTATS_CMD_NEW;
}

int taskstats_parse(const void *msg, size_t len, uint16_t family, struct taskstats_exit *ret)
{
    struct nlmsghdr *hdr = (struct nlmsghdr *)msg; /* libnl's accessors take no const */
    struct nlattr *tb[TASKSTATS_TYPE_MAX + 1], *stats;
    struct taskstats_exit e = {0};
    uint32_t pid, tgid;

    if (!is_exit(hdr, len, family))
        return -ENOMSG;
    if (genlmsg_parse(hdr, 0, tb, TASKSTATS_TYPE_MAX, NULL) < 0 || !tb[TASKSTATS_TYPE_AGGR_PID])
        return -EBADMSG;
    int r = parse_aggregate(tb[TASKSTATS_TYPE_AGGR_PID], TASKSTATS_TYPE_PID, &pid, &stats);
    if (r < 0 || !stats)
        return -EBADMSG;
    r = parse_stats(nla_data(stats), (size_t)nla_len(stats), pid, &e);
    if (r < 0)
        return r;

    if (e.version < VERSION_AGROUP && tb[TASKSTATS_TYPE_AGGR_TGID]) {
        /* sent with the last of several threads only */
        struct nlattr *sum;
        r = parse_aggregate(tb[TASKSTATS_TYPE_AGGR_TGID], TASKSTATS_TYPE_TGID, &tgid, &sum);
        if (r < 0)
            return r;
        e.tgid = tgid;
        e.last = TASKSTATS_LAST_YES;
    }
    if (e.pid == 0 || e.tgid == 0 || e.pid > INT32_MAX || e.tgid > INT32_MAX)
        return -EBADMSG;

    uint32_t base = (uint32_t)((const char *)nla_data(stats) - (const char *)msg);
    e.flag_offset += base;
    e.hiwater_offset += base;
    *ret = e;
    return 0;
}

/* Jumps are written to one of two ends, and get their distances when the length is known. */
enum { NEXT = 0, TO_PASS = 254, TO_DROP = 255 };

static void emit(struct taskstats_filter *f, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
    assert(f->len < TASKSTATS_FILTER_MAX);
    f->insn[f->len++] = (struct sock_filter){.code = code, .jt = jt, .jf = jf, .k = k};
}

static uint8_t resolve(const struct taskstats_filter *f, uint8_t target, unsigned at)
{
    unsigned pass = f->len - 2U;

    if (target == NEXT)
        return 0;
    return (uint8_t)((target == TO_PASS ? pass : pass + 1) - at - 1);
}

static void emit_ends(struct taskstats_filter *f)
{
    emit(f, BPF_RET | BPF_K, UINT32_MAX, NEXT, NEXT);
    emit(f, BPF_RET | BPF_K, 0, NEXT, NEXT);
    for (unsigned i = 0; i < f->len; i++)
        if (BPF_CLASS(f->insn[i].code) == BPF_JMP) {
            f->insn[i].jt = resolve(f, f->insn[i].jt, i);
            f->insn[i].jf = resolve(f, f->insn[i].jf, i);
        }
}

/* BPF loads are big-endian whatever the machine is, so the value is put together byte by byte. */
static void emit_load_low32(struct taskstats_filter *f, uint32_t at, bool big_endian)
{
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t byte = big_endian ? at + 4 + i : at + 3 - i;
        if (i > 0) {
            emit(f, BPF_ALU | BPF_LSH | BPF_K, 8, NEXT, NEXT);
            emit(f, BPF_MISC | BPF_TAX, 0, NEXT, NEXT);
        }
        emit(f, BPF_LD | BPF_B | BPF_ABS, byte, NEXT, NEXT);
        if (i > 0)
            emit(f, BPF_ALU | BPF_OR | BPF_X, 0, NEXT, NEXT);
    }
}

void taskstats_filter_build(const struct taskstats_rule *rule, bool big_endian,
                            struct taskstats_filter *ret)
{
    uint32_t high = rule->hiwater_offset + (big_endian ? 0 : 4);
    uint32_t family = big_endian ? rule->family : bswap_16(rule->family);

    ret->len = 0;
    emit(ret, BPF_LD | BPF_H | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_type), NEXT, NEXT);
    emit(ret, BPF_JMP | BPF_JEQ | BPF_K, family, NEXT, TO_PASS);
    if (rule->agroup) {
        emit(ret, BPF_LD | BPF_B | BPF_ABS, rule->flag_offset, NEXT, NEXT);
        emit(ret, BPF_JMP | BPF_JSET | BPF_K, AGROUP_FLAG, NEXT, TO_DROP);
    }
    emit(ret, BPF_LD | BPF_W | BPF_ABS, high, NEXT, NEXT);
    emit(ret, BPF_JMP | BPF_JEQ | BPF_K, 0, NEXT, TO_PASS);
    emit_load_low32(ret, rule->hiwater_offset, big_endian);
    emit(ret, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)MIN(rule->min_kb, (uint64_t)UINT32_MAX), TO_PASS,
         TO_DROP);
    emit_ends(ret);
}
