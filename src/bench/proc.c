/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc.h"

#include <ctype.h>
#include <string.h>

#include "fileio.h"

/* status has masks that grow with the machine: 2.3 KB each for 8192 CPUs. */
#define PROC_TEXT 16384

static const char *find_value(const char *text, const char *key)
{
    size_t len = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, len) == 0 && line[len] == ':')
            return line + len + 1;
    }
    return NULL;
}

int proc_field(const char *text, const char *key, uint64_t *ret)
{
    const char *value = find_value(text, key);
    if (!value)
        return -ENOENT;
    value += strspn(value, " \t");
    if (!isdigit((unsigned char)*value))
        return -EBADMSG;

    char *end;
    errno = 0;
    uint64_t n = strtoull(value, &end, 10);
    if (errno)
        return -errno;
    if (strncmp(end, " kB", 3) == 0 && __builtin_mul_overflow(n, UINT64_C(1024), &n))
        return -ERANGE;
    *ret = n;
    return 0;
}

struct field {
    const char *key;
    uint64_t *ret;
};

static int read_fields(const char *path, const struct field *fields, size_t n)
{
    char text[PROC_TEXT];
    ssize_t len = read_file(path, text, sizeof(text));
    int r = len < 0 ? (int)len : 0;

    for (size_t i = 0; i < n && r == 0; i++)
        r = proc_field(text, fields[i].key, fields[i].ret);
    return r;
}

int proc_memory(uint64_t *ret_total, uint64_t *ret_available)
{
    uint64_t total = 0;
    uint64_t available = 0;
    const struct field fields[] = {{"MemTotal", &total}, {"MemAvailable", &available}};
    int r = read_fields("/proc/meminfo", fields, ARRAY_SIZE(fields));

    if (r < 0)
        return r;
    *ret_total = total;
    *ret_available = available;
    return 0;
}

int proc_usage(pid_t pid, struct proc_usage *ret)
{
    struct proc_usage u = {0};
    const struct field rollup[] = {
        {"Rss", &u.rss}, {"Anonymous", &u.anon}, {"AnonHugePages", &u.thp}};
    const struct field status[] = {{"VmHWM", &u.peak}, {"Threads", &u.threads}};
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
    int r = read_fields(path, rollup, ARRAY_SIZE(rollup));
    if (r < 0)
        return r;
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    r = read_fields(path, status, ARRAY_SIZE(status));
    if (r < 0)
        return r;
    *ret = u;
    return 0;
}
