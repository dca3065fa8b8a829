/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "psi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct psi psi = {.some.total_us = 4711};

    int r = psi_parse((const char *)data, size, &psi);
    if (r == 0 ? !psi.has_some && !psi.has_full : r != -EBADMSG || psi.some.total_us != 4711)
        abort();
    return 0;
}
