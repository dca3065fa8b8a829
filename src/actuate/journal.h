/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "knob.h"
#include "macros.h"

/* The undo journal, a text of this form in the state directory:
 *
 *     pcptuned-knobs 1
 *     boot ee505401-471c-40d1-981e-ce67dbb17684
 *     high_fraction original=0 last=0 next=4509
 *     sum 2b2457645f34ecf2
 *
 * with a line for each knob held, in the order of knob_table. sum is FNV-1a (64 bit, hexadecimal)
 * of all lines before it. The file is replaced atomically, never synced: /run ends with the boot,
 * and so do the values. */

struct journal_entry {
    bool held;
    int original; /* before our first write */
    int last;     /* what the knob was when `next` was recorded: our last write, or the original */
    int next;     /* what we were about to write then */
};

#define JOURNAL_BOOT_ID_MAX 40
struct journal {
    char boot_id[JOURNAL_BOOT_ID_MAX];
    struct journal_entry knob[KNOB_MAX];
};

/* True for a value that we left there, wherever we were killed: before the write (last) or after
 * it (next). */
bool journal_ours(const struct journal_entry *e, int value);

/* True for 1 to 39 characters of [0-9a-f-]. */
bool journal_boot_id_valid(const char *boot_id);

#define JOURNAL_TEXT_MAX (128 + 128 * KNOB_MAX)

/* Returns the length of the text in buf. */
size_t journal_format(const struct journal *j, char buf[static JOURNAL_TEXT_MAX]);

/* -EBADMSG: not byte for byte what journal_format() makes of some journal, or a value that the
 * kernel would not accept. len may be anything; text needs no NUL. */
int journal_parse(const char *text, size_t len, struct journal *ret);

/* -ENOENT: there is none. -EBADMSG: torn, forged or a link. Other errors are open(2)'s, read(2)'s.
 */
int journal_read(int dir_fd, struct journal *ret);

/* Replaces the journal by j, or removes it where j holds nothing. Returns 0 or negative errno; the
 * old one stays on error. */
int journal_save(int dir_fd, const struct journal *j);

/* 0 also where there is none. */
int journal_remove(int dir_fd);
