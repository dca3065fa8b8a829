/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "taskstats.h"

#include <linux/netlink.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The family is the message's own, so that the fuzzer need not guess it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct taskstats_exit e;
    struct nlmsghdr h = {0};
    _cleanup_free_ uint8_t *copy = malloc(size ? size : 1); /* aligned, and with a red zone */

    if (!copy)
        return 0;
    memcpy(copy, data, size);
    memcpy(&h, data, size < sizeof(h) ? size : sizeof(h));
    if (taskstats_parse(copy, size, h.nlmsg_type, &e) < 0)
        return 0;
    if (e.hiwater_offset + 8U > size || e.flag_offset >= size || e.comm[15] != '\0' || !e.tgid)
        abort();
    return 0;
}
