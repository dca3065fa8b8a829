/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "knobs.h"

#include "fileio.h"
#include "units.h"

#include <limits.h>
#include <string.h>

int knob_read(enum knob_id id, int *ret)
{
    char buf[64];
    int64_t value;

    ssize_t n = read_file(knob_table[id].path, buf, sizeof(buf));
    if (n < 0)
        return n == -EFBIG ? -EBADMSG : (int)n;
    if (n == 0 || buf[n - 1] != '\n')
        return -EBADMSG;
    buf[n - 1] = '\0';
    if (strlen(buf) != (size_t)n - 1 || parse_i64(buf, &value) < 0 || value < INT_MIN ||
        value > INT_MAX)
        return -EBADMSG;
    *ret = (int)value;
    return 0;
}

int knobs_read(struct knob_values *ret)
{
    struct knob_values v = {0};

    for (enum knob_id id = 0; id < KNOB_MAX; id++) {
        int r = knob_read(id, &v.value[id]);
        if (r < 0 && r != -ENOENT)
            return r;
        v.has[id] = r == 0;
    }
    *ret = v;
    return 0;
}

void knobs_probe(bool ret_has[static KNOB_MAX])
{
    for (unsigned id = 0; id < KNOB_MAX; id++)
        ret_has[id] = access(knob_table[id].path, F_OK) == 0;
}
