/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "journal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "fileio.h"
#include "units.h"

#define JOURNAL_NAME "knobs.journal"
#define JOURNAL_HEADER "pcptuned-knobs 1\n"

bool journal_ours(const struct journal_entry *e, int value)
{
    return e->held && (value == e->last || value == e->next);
}

bool journal_boot_id_valid(const char *boot_id)
{
    size_t len = strlen(boot_id);
    return len > 0 && len < JOURNAL_BOOT_ID_MAX && strspn(boot_id, "0123456789abcdef-") == len;
}

/* FNV-1a: each step is a bijection of the state, so no change of a single byte goes unseen. */
static uint64_t checksum(const char *text, size_t len)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++)
        sum = (sum ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return sum;
}

size_t journal_format(const struct journal *j, char buf[static JOURNAL_TEXT_MAX])
{
    size_t n = (size_t)snprintf(buf, JOURNAL_TEXT_MAX, JOURNAL_HEADER "boot %.39s\n", j->boot_id);
    for (enum knob_id id = 0; id < KNOB_MAX; id++) {
        const struct journal_entry *e = &j->knob[id];
        if (e->held)
            n += (size_t)snprintf(buf + n, JOURNAL_TEXT_MAX - n,
                                  "%.32s original=%d last=%d next=%d\n", knob_table[id].key,
                                  e->original, e->last, e->next);
    }
    uint64_t sum = checksum(buf, n);
    return n + (size_t)snprintf(buf + n, JOURNAL_TEXT_MAX - n, "sum %016" PRIx64 "\n", sum);
}

static bool scan_value(char **line, const char *name, enum knob_id id, int *ret)
{
    const char *word = strsep(line, " ");
    size_t len = strlen(name);
    uint64_t v;

    if (!word || strncmp(word, name, len) != 0 || parse_u64(word + len, &v) < 0 || v > INT_MAX)
        return false;
    *ret = (int)v;
    return knob_accepts(id, *ret);
}

static void scan_entry(char *line, struct journal *j)
{
    const char *key = strsep(&line, " ");
    for (enum knob_id id = 0; id < KNOB_MAX; id++) {
        struct journal_entry e = {.held = true};
        if (strcmp(key, knob_table[id].key) == 0 &&
            scan_value(&line, "original=", id, &e.original) &&
            scan_value(&line, "last=", id, &e.last) && scan_value(&line, "next=", id, &e.next))
            j->knob[id] = e;
    }
}

static bool scan_boot_id(const char *line, struct journal *j)
{
    if (!line || strncmp(line, "boot ", 5) != 0 || !journal_boot_id_valid(line + 5))
        return false;
    memcpy(j->boot_id, line + 5, strlen(line + 5) + 1);
    return true;
}

int journal_parse(const char *text, size_t len, struct journal *ret)
{
    char buf[JOURNAL_TEXT_MAX];
    struct journal j = {0};

    if (len >= sizeof(buf))
        return -EBADMSG;
    memcpy(buf, text, len);
    buf[len] = '\0';

    char *p = buf;
    strsep(&p, "\n");
    if (!scan_boot_id(strsep(&p, "\n"), &j))
        return -EBADMSG;
    for (char *line; (line = strsep(&p, "\n"));)
        scan_entry(line, &j);

    /* What was skipped or misread above, header and sum included, shows here. */
    if (journal_format(&j, buf) != len || memcmp(buf, text, len) != 0)
        return -EBADMSG;
    *ret = j;
    return 0;
}

int journal_read(int dir_fd, struct journal *ret)
{
    _cleanup_close_ int fd =
        openat(dir_fd, JOURNAL_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ELOOP ? -EBADMSG : -errno;

    char buf[JOURNAL_TEXT_MAX];
    ssize_t n = read_fd(fd, buf, sizeof(buf));
    if (n < 0)
        return n == -EFBIG ? -EBADMSG : (int)n;
    return journal_parse(buf, (size_t)n, ret);
}

int journal_save(int dir_fd, const struct journal *j)
{
    for (enum knob_id id = 0; id < KNOB_MAX; id++) {
        if (j->knob[id].held) {
            char buf[JOURNAL_TEXT_MAX];
            size_t len = journal_format(j, buf);
            return write_file_atomic(dir_fd, JOURNAL_NAME, buf, len, 0644, false);
        }
    }
    return journal_remove(dir_fd);
}

int journal_remove(int dir_fd)
{
    return unlinkat(dir_fd, JOURNAL_NAME, 0) < 0 && errno != ENOENT ? -errno : 0;
}
