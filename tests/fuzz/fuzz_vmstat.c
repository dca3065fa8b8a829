/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmstat_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vm_counters c = {.nr_free = 4711, .at = 5};

    int r = vmstat_parse((const char *)data, size, &c);
    if (r == 0 ? c.pgfree == 0 && c.nr_anon == 0 : r != -EBADMSG || c.nr_free != 4711)
        abort();
    if (c.at != 5 || c.valid)
        abort();
    return 0;
}
