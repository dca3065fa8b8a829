/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container.h"

#include <string.h>

#include "units.h"
#include "utf8.h"

#define ID_LEN 64 /* lower-case hex digits of a container's id */
#define ID_SHOWN 12
#define UID_LEN_MIN 32 /* of a pod: a hash for static ones, else a UUID of 36 */
#define UID_LEN_MAX 36
#define LOWER_HEX "0123456789abcdef"

struct word {
    const char *s;
    size_t len;
};

static bool word_is(struct word w, const char *text)
{
    return w.len == strlen(text) && memcmp(w.s, text, w.len) == 0;
}

static bool strip_prefix(struct word *w, const char *prefix)
{
    size_t len = strlen(prefix);
    if (w->len <= len || memcmp(w->s, prefix, len) != 0)
        return false;
    *w = (struct word){w->s + len, w->len - len};
    return true;
}

static bool strip_suffix(struct word *w, const char *suffix)
{
    size_t len = strlen(suffix);
    if (w->len <= len || memcmp(w->s + w->len - len, suffix, len) != 0)
        return false;
    w->len -= len;
    return true;
}

/* What stands before the separator, with *rest moved behind it; all of it where there is none. */
static struct word take_until(struct word *rest, char separator)
{
    const char *end = rest->len > 0 ? memchr(rest->s, separator, rest->len) : NULL;
    struct word w = {rest->s, end ? (size_t)(end - rest->s) : rest->len};
    size_t used = end ? w.len + 1 : w.len;
    *rest = (struct word){rest->s + used, rest->len - used};
    return w;
}

/* Cuts the last component off *path; of no length where there is none. */
static struct word take_last(struct word *path)
{
    while (path->len > 0 && path->s[path->len - 1] == '/')
        path->len--;
    size_t start = path->len;
    while (start > 0 && path->s[start - 1] != '/')
        start--;
    struct word w = {path->s + start, path->len - start};
    path->len = start;
    return w;
}

/* C0 and C1 controls, quotes, line separators, and the marks that turn the direction of text. */
static bool forges(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == '"' || c == '\'' || c == '`' ||
           (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

/* Bytes of the character at w; 0 where it is not valid or not fit to be shown. */
static size_t shown_length(struct word w)
{
    uint32_t c;
    size_t n = utf8_char(w.s, w.len, &c);
    return n > 0 && !forges(c) ? n : 0;
}

/* Never longer than its source. */
static void put_shown(char *to, struct word w)
{
    while (w.len > 0) {
        size_t n = shown_length(w);
        if (n > 0) {
            memcpy(to, w.s, n);
        } else {
            n = 1;
            *to = '?';
        }
        to += n;
        w = (struct word){w.s + n, w.len - n};
    }
    *to = '\0';
}

/* kind and name; of a name that is too long the tail, which is what tells cgroups apart. */
static bool put_name(char ret[static GROUP_NAME_MAX], const char *kind, struct word w)
{
    bool cut = strlen(kind) + w.len >= GROUP_NAME_MAX;
    size_t used = (size_t)snprintf(ret, GROUP_NAME_MAX, "%s%s", kind, cut ? "..." : "");

    if (cut) {
        size_t room = GROUP_NAME_MAX - 1 - used;
        w = (struct word){w.s + w.len - room, room};
        for (int i = 0; i < 3 && ((uint8_t)*w.s & 0xc0) == 0x80; i++)
            w = (struct word){w.s + 1, w.len - 1};
    }
    put_shown(ret + used, w);
    return true;
}

static bool consists_of(struct word w, const char *chars)
{
    for (size_t i = 0; i < w.len; i++)
        if (!w.s[i] || !strchr(chars, w.s[i]))
            return false;
    return true;
}

static bool is_id(struct word w)
{
    return w.len == ID_LEN && consists_of(w, LOWER_HEX);
}

/* The part of a slice or directory from "pod" on, as the kubelet names both. */
static bool find_pod(struct word w, struct word *ret_uid)
{
    strip_suffix(&w, ".slice");
    while (w.len > 0) {
        struct word uid = w;
        if (strip_prefix(&uid, "pod") && uid.len >= UID_LEN_MIN && uid.len <= UID_LEN_MAX &&
            consists_of(uid, LOWER_HEX "-_")) {
            *ret_uid = uid;
            return true;
        }
        take_until(&w, '-');
    }
    return false;
}

static const struct {
    const char *tag; /* as in TAG-ID.scope, TAG-ID, SLICE:TAG:ID */
    const char *kind;
} engines[] = {
    {"docker", "docker "}, {"cri-containerd", "containerd "}, {"crio", "cri-o "},
    {"libpod", "podman "}, {"nerdctl", "nerdctl "},
};

/* Splits TAG-ID.scope, TAG-ID, SLICE:TAG:ID or a bare ID. */
static bool split_id(struct word w, struct word *ret_tag, struct word *ret_id)
{
    strip_suffix(&w, ".scope");
    if (w.len < ID_LEN)
        return false;
    struct word tag = {w.s, w.len - ID_LEN};
    struct word id = {w.s + tag.len, ID_LEN};
    if (!is_id(id))
        return false;

    if (strip_suffix(&tag, ":")) {
        for (struct word rest = tag; rest.len > 0;)
            tag = take_until(&rest, ':');
    } else if (tag.len > 0 && !strip_suffix(&tag, "-")) {
        return false;
    }
    *ret_tag = tag;
    *ret_id = id;
    return true;
}

static bool name_engine(struct word w, struct word parent, char ret[static GROUP_NAME_MAX])
{
    struct word tag, id, pod;
    if (!split_id(w, &tag, &id))
        return false;
    id.len = ID_SHOWN;

    for (size_t i = 0; i < ARRAY_SIZE(engines); i++)
        if (word_is(tag, engines[i].tag))
            return put_name(ret, engines[i].kind, id);
    if (tag.len > 0)
        return false;
    /* The cgroupfs driver: only the directory above tells who made it, if anything does. */
    return put_name(ret,
                    word_is(parent, "docker") ? "docker "
                    : find_pod(parent, &pod)  ? "containerd "
                                              : "container ",
                    id);
}

static int hex_value(char c)
{
    const char *p = c ? strchr(LOWER_HEX, c) : NULL;
    return p ? (int)(p - LOWER_HEX) : -1;
}

/* Undoes unit_name_escape() of systemd: \x2d is '-'. */
static struct word unescape(struct word w, char *buf, size_t size)
{
    size_t n = 0;
    while (w.len > 0 && n < size) {
        int high = w.len >= 4 && w.s[0] == '\\' && w.s[1] == 'x' ? hex_value(w.s[2]) : -1;
        int low = high >= 0 ? hex_value(w.s[3]) : -1;
        size_t used = low >= 0 ? 4 : 1;
        buf[n] = w.s[0];
        if (low >= 0)
            buf[n] = (char)(high << 4 | low);
        n++;
        w = (struct word){w.s + used, w.len - used};
    }
    return (struct word){buf, n};
}

static bool find_machine(struct word w, struct word *ret_name)
{
    struct word scope = w, service = w;
    if (strip_prefix(&scope, "machine-") && strip_suffix(&scope, ".scope"))
        *ret_name = scope;
    else if (strip_prefix(&service, "systemd-nspawn@") && strip_suffix(&service, ".service"))
        *ret_name = service;
    else
        return false;
    return true;
}

static bool name_machine(struct word w, struct word parent, char ret[static GROUP_NAME_MAX])
{
    char buf[256];
    struct word name;

    if (find_machine(w, &name)) {
        name = unescape(name, buf, sizeof(buf));
        /* libvirt registers its machines at the same place. */
        bool qemu = strip_prefix(&name, "qemu-");
        return put_name(ret, qemu ? "qemu " : "nspawn ", name);
    }
    name = w;
    if (strip_prefix(&name, "lxc.payload.") || word_is(parent, "lxc") ||
        word_is(parent, "lxc.payload"))
        return put_name(ret, "lxc ", name);
    return false;
}

static bool name_container(struct word w, struct word parent, char ret[static GROUP_NAME_MAX])
{
    return name_engine(w, parent, ret) || name_machine(w, parent, ret);
}

static bool name_pod(struct word w, struct word parent, char ret[static GROUP_NAME_MAX])
{
    (void)parent;
    char buf[UID_LEN_MAX] = "";
    struct word uid;

    if (!find_pod(w, &uid))
        return false;
    for (size_t i = 0; i < uid.len; i++) /* systemd slices cannot have '-' in a name */
        buf[i] = (char)(uid.s[i] == '_' ? '-' : uid.s[i]);
    return put_name(ret, "pod ", (struct word){buf, uid.len});
}

static bool name_unit(struct word w, struct word parent, char ret[static GROUP_NAME_MAX])
{
    (void)parent;
    struct word stem = w;
    return (strip_suffix(&stem, ".service") || strip_suffix(&stem, ".scope")) &&
           put_name(ret, "", w);
}

char *container_name(const char *cgroup_path, char ret[static GROUP_NAME_MAX])
{
    /* A unit inside a container is the container's own affair. */
    static bool (*const namers[])(struct word, struct word, char *) = {name_container, name_pod,
                                                                       name_unit};
    const struct word path = {cgroup_path, strlen(cgroup_path)};

    for (size_t i = 0; i < ARRAY_SIZE(namers); i++) {
        struct word rest = path;
        for (struct word w = take_last(&rest); w.len > 0; w = take_last(&rest)) {
            struct word above = rest;
            if (namers[i](w, take_last(&above), ret))
                return ret;
        }
    }
    put_name(ret, "", path.len > 0 ? path : (struct word){"/", 1});
    return ret;
}

static bool lists_memory(struct word controllers)
{
    while (controllers.len > 0)
        if (word_is(take_until(&controllers, ','), "memory"))
            return true;
    return false;
}

static int store_path(char to[static CGROUP_PATH_MAX], struct word path)
{
    if (to[0] || path.len >= CGROUP_PATH_MAX)
        return -EBADMSG;
    memcpy(to, path.s, path.len);
    to[path.len] = '\0';
    return 0;
}

static int parse_hierarchy(struct word line, struct cgroup_paths *ret)
{
    struct word id = take_until(&line, ':');
    struct word controllers = take_until(&line, ':');

    if (id.len == 0 || !consists_of(id, "0123456789") || line.len == 0 || line.s[0] != '/')
        return -EBADMSG;

    if (word_is(id, "0") && controllers.len == 0) {
        strip_suffix(&line, " (deleted)"); /* proc_cgroup_show(), v2 only */
        return store_path(ret->unified, line);
    }
    if (word_is(controllers, "name=systemd"))
        return store_path(ret->named, line);
    return lists_memory(controllers) ? store_path(ret->memory, line) : 0;
}

/* The next line without its end; false where none is left, or one has no end. */
static bool take_line(struct word *text, struct word *ret)
{
    if (text->len == 0 || !memchr(text->s, '\n', text->len))
        return false;
    *ret = take_until(text, '\n');
    return true;
}

int cgroup_parse(const char *text, size_t len, struct cgroup_paths *ret)
{
    struct cgroup_paths paths = {0};
    struct word rest = {text, len}, line;

    if (len > 0 && memchr(text, '\0', len))
        return -EBADMSG;
    while (take_line(&rest, &line)) {
        int r = parse_hierarchy(line, &paths);
        if (r < 0)
            return r;
    }
    if (rest.len > 0)
        return -EBADMSG;
    *ret = paths;
    return 0;
}

/* In pairs, the first that is there counts: v2, v1 with the groups below, v1 before 3.x. */
enum { STAT_ANON, STAT_ANON_THP, STAT_TOTAL, STAT_TOTAL_HUGE, STAT_RSS, STAT_RSS_HUGE, STAT_MAX };

int memory_stat_parse(const char *text, size_t len, uint64_t *ret_anon, uint64_t *ret_thp)
{
    static const char *const keys[STAT_MAX] = {"anon",           "anon_thp", "total_rss",
                                               "total_rss_huge", "rss",      "rss_huge"};
    bool seen[STAT_MAX] = {0};
    uint64_t value[STAT_MAX] = {0};
    struct word rest = {text, len}, line;

    while (take_line(&rest, &line)) {
        struct word key = take_until(&line, ' ');
        for (int i = 0; i < STAT_MAX; i++) {
            char digits[24];
            if (!word_is(key, keys[i]))
                continue;
            if (seen[i] || line.len >= sizeof(digits))
                return -EBADMSG;
            snprintf(digits, sizeof(digits), "%.*s", (int)line.len, line.s);
            if (strlen(digits) != line.len || parse_u64(digits, &value[i]) < 0)
                return -EBADMSG;
            seen[i] = true;
        }
    }
    for (int i = 0; i < STAT_MAX; i += 2) {
        if (!seen[i])
            continue;
        *ret_anon = value[i];
        *ret_thp = value[i + 1];
        return 0;
    }
    return -EBADMSG;
}
