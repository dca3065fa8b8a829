/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "psi.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "fileio.h"
#include "units.h"

/* Windows of triggers without CAP_SYS_RESOURCE must be a multiple of this: psi_trigger_create(). */
#define WINDOW_UNPRIVILEGED (2 * NSEC_PER_SEC)

static const char *const paths[PSI_RESOURCES] = {
    [PSI_CPU] = "/proc/pressure/cpu",
    [PSI_MEMORY] = "/proc/pressure/memory",
    [PSI_IO] = "/proc/pressure/io",
};

struct span {
    const char *p, *end;
};

/* Takes from *s the text before the next sep, which is consumed, or all of it. */
static struct span next_token(struct span *s, char sep)
{
    const char *at = memchr(s->p, sep, (size_t)(s->end - s->p));
    struct span token = {s->p, at ? at : s->end};
    s->p = at ? at + 1 : s->end;
    return token;
}

static bool is(struct span s, const char *text)
{
    size_t len = strlen(text);
    return (size_t)(s.end - s.p) == len && memcmp(s.p, text, len) == 0;
}

/* "12.34" as psi_show() prints it: always two decimals. */
static int parse_centi(struct span s, uint32_t *ret)
{
    uint64_t whole, cents;
    struct span integer = next_token(&s, '.');

    if (s.end - s.p != 2 || parse_u64_span(integer.p, integer.end, &whole) < 0 ||
        parse_u64_span(s.p, s.end, &cents) < 0 || whole >= UINT32_MAX / 100)
        return -EBADMSG;
    *ret = (uint32_t)(whole * 100 + cents);
    return 0;
}

/* "avg10=0.01 avg60=0.03 avg300=2.29 total=391629174" */
static int parse_fields(struct span s, struct psi_line *ret)
{
    bool has_avg10 = false, has_total = false;
    struct psi_line line = {0};

    while (s.p < s.end) {
        int r = 0;
        struct span value = next_token(&s, ' ');
        struct span key = next_token(&value, '=');
        if (is(key, "avg10")) {
            r = has_avg10 ? -EBADMSG : parse_centi(value, &line.avg10_centi);
            has_avg10 = true;
        } else if (is(key, "total")) {
            r = has_total ? -EBADMSG : parse_u64_span(value.p, value.end, &line.total_us);
            has_total = true;
        }
        if (r < 0)
            return r;
    }
    if (!has_avg10 || !has_total)
        return -EBADMSG;
    *ret = line;
    return 0;
}

int psi_parse(const char *text, size_t len, struct psi *ret)
{
    struct span s = {text, text + len};
    struct psi psi = {0};

    /* A total without its newline may have lost digits. */
    if (len == 0 || text[len - 1] != '\n')
        return -EBADMSG;
    while (s.p < s.end) {
        int r = 0;
        struct span fields = next_token(&s, '\n');
        struct span name = next_token(&fields, ' ');
        if (is(name, "some")) {
            r = psi.has_some ? -EBADMSG : parse_fields(fields, &psi.some);
            psi.has_some = true;
        } else if (is(name, "full")) {
            r = psi.has_full ? -EBADMSG : parse_fields(fields, &psi.full);
            psi.has_full = true;
        }
        if (r < 0)
            return r;
    }
    if (!psi.has_some && !psi.has_full)
        return -EBADMSG;
    *ret = psi;
    return 0;
}

int psi_read(enum psi_resource r, struct psi *ret)
{
    char buf[1024];

    if ((unsigned)r >= PSI_RESOURCES)
        return -EINVAL;
    ssize_t n = read_file(paths[r], buf, sizeof(buf));
    return n < 0 ? (int)n : psi_parse(buf, (size_t)n, ret);
}

static int trigger_once(const char *path, nsec_t stall, nsec_t window)
{
    char text[64];
    int len = snprintf(text, sizeof(text), "some %" PRIu64 " %" PRIu64, stall / NSEC_PER_USEC,
                       window / NSEC_PER_USEC);

    _cleanup_close_ int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    /* psi_write() wants the NUL as well: it overwrites the last byte with one. */
    if (write(fd, text, (size_t)len + 1) < 0)
        return -errno;
    return TAKE_FD(fd);
}

int psi_trigger(enum psi_resource r, nsec_t stall, nsec_t window, nsec_t *ret_window)
{
    if ((unsigned)r >= PSI_RESOURCES || stall == 0 || stall > window)
        return -EINVAL;

    int fd = trigger_once(paths[r], stall, window);
    if (fd == -EINVAL && window != WINDOW_UNPRIVILEGED) {
        stall = (nsec_t)((double)stall / (double)window * (double)WINDOW_UNPRIVILEGED);
        window = WINDOW_UNPRIVILEGED;
        fd = trigger_once(paths[r], stall, window);
    }
    if (fd >= 0)
        *ret_window = window;
    return fd;
}
