/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is accepted can be written to the knobs, and is exactly what would be written again. */
static void check(const char *text, size_t len)
{
    struct journal j;
    char again[JOURNAL_TEXT_MAX];
    if (journal_parse(text, len, &j) < 0)
        return;
    if (journal_format(&j, again) != len || memcmp(again, text, len) != 0 ||
        !journal_boot_id_valid(j.boot_id))
        abort();
    for (enum knob_id id = 0; id < KNOB_MAX; id++) {
        const struct journal_entry *e = &j.knob[id];
        if (e->held && (!knob_accepts(id, e->original) || !knob_accepts(id, e->last) ||
                        !knob_accepts(id, e->next)))
            abort();
    }
}

/* The sum that no fuzzer guesses. */
static void check_sealed(const char *text, size_t len)
{
    char sealed[2 * JOURNAL_TEXT_MAX];
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    if (len > JOURNAL_TEXT_MAX)
        return;
    for (size_t i = 0; i < len; i++)
        sum = (sum ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    memcpy(sealed, text, len);
    int n = snprintf(sealed + len, sizeof(sealed) - len, "sum %016llx\n", (unsigned long long)sum);
    check(sealed, len + (size_t)n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check((const char *)data, size);
    check_sealed((const char *)data, size);
    return 0;
}
