/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* Reads a whole small file (a /proc file, a journal) into buf and terminates it with NUL.
 * Returns the length, or negative errno; -EFBIG where it does not fit into size - 1 bytes. */
ssize_t read_file(const char *path, char *buf, size_t size);

/* The same through an open descriptor, from offset 0: re-reads /proc files that support pread. */
ssize_t read_fd(int fd, char *buf, size_t size);

/* Reads path into *buf, which grows as needed and is kept for the next call (start with NULL, 0).
 * limit bounds the growth (-EFBIG beyond). Returns the length; the text is NUL-terminated. */
ssize_t read_file_grow(int fd, char **buf, size_t *size, size_t limit);

/* Replaces dirfd/name by data: temporary file in the same directory, fsync where the file system
 * outlives a reboot is the caller's wish (durable), rename(2). A reader sees all of the old or
 * all of the new. Returns 0 or negative errno, and leaves no temporary file behind. */
int write_file_atomic(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
                      bool durable);
