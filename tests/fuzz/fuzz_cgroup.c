/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "container.h"
#include "hostfacts.h"

/* Each parser of text that a container's owner, or a kernel that we do not know, can shape. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *path)
{
    char name[GROUP_NAME_MAX];
    container_name(path, name);
    size_t len = strnlen(name, sizeof(name));
    if (len == 0 || len == sizeof(name))
        abort();
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f || strchr("\"'`", name[i]))
            abort();
}

static void count_cpu(unsigned cpu, void *arg)
{
    unsigned *n = arg;
    (void)cpu;
    ++*n;
}

static void check_cpulist(const char *text)
{
    unsigned count = 0, called = 0;
    int r = cpulist_parse(text, count_cpu, &called, &count);
    if (called != (r < 0 ? 0 : count))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cgroup_paths paths;
    uint64_t anon, thp;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';

    /* The lengths are exact and the bytes not terminated, so that a read too far is seen. */
    if (cgroup_parse((const char *)data, size, &paths) == 0) {
        check_name(paths.memory);
        check_name(paths.unified);
        check_name(paths.named);
    }
    (void)memory_stat_parse((const char *)data, size, &anon, &thp);
    check_name(text);
    check_cpulist(text);
    (void)cmdline_scale_parse(text);
    free(text);
    return 0;
}
