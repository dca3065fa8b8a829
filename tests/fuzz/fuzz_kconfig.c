/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "hostfacts.h"
#include "take.h"

/* A kernel configuration as a file of any content: plain, gzip, or gzip with damage. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Fewer lines than tinyconfig has are no configuration: these the fuzzer need not invent. */
static void write_lines(gzFile f)
{
    for (unsigned i = 0; i < 120; i++)
        gzprintf(f, "CONFIG_X%u=y\n", i);
}

static void write_file(int fd, struct take *in)
{
    unsigned how = take_below(in, 8);
    gzFile f = gzdopen(dup(fd), how & 1 ? "wb1" : "wbT"); /* T: plain */

    if (!f)
        return;
    if (how & 2)
        write_lines(f);
    (void)gzwrite(f, in->data, (unsigned)in->left);
    gzclose(f);
    if ((how & 5) == 5 && in->left >= 2) /* a byte of it is another */
        (void)!pwrite(fd, in->data, 1, (off_t)(10 + in->data[1] % 64));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct take in = {data, size};
    char path[64];
    int fd = memfd_create("kconfig", MFD_CLOEXEC);

    if (fd < 0)
        return 0;
    write_file(fd, &in);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int scale = config_scale_read(path);
    require(scale == CONFIG_SCALE_UNREAD || scale == CONFIG_SCALE_ABSENT ||
            (scale >= 0 && scale <= 6));
    close(fd);
    return 0;
}
