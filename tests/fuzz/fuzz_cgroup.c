/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "cgmount.h"
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

/* Lines of mountinfo, as many as there are; then where the cgroup's memory.stat would be. */
static void check_mounts(char *text, const struct cgroup_paths *paths)
{
    struct cgroup_mounts mounts = {0};
    char path[256];

    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        cgroup_mounts_line(line, &mounts);
    const char *naming = cgroup_naming_path(paths, "");
    if (cgroup_memory_stat(&mounts, paths, naming, path, sizeof(path)) == 0 &&
        (path[0] != '/' || strnlen(path, sizeof(path)) == sizeof(path)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cgroup_paths paths = {0};
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
    check_mounts(text, &paths);
    free(text);
    return 0;
}
