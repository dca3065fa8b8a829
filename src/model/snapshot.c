/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot.h"

const char *signal_name(enum signal_id s)
{
    static const char *const names[SIGNAL_MAX] = {
        [SIGNAL_TASKSTATS] = "taskstats",
        [SIGNAL_PSI] = "psi",
        [SIGNAL_VMSTAT] = "vmstat",
        [SIGNAL_ZONEINFO] = "zoneinfo",
    };
    return (unsigned)s < SIGNAL_MAX ? names[s] : "unknown";
}
