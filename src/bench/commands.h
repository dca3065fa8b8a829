/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Each subcommand gets argv from its own name on, and returns the exit status. */
enum { BENCH_OK, BENCH_FAILED, BENCH_USAGE, BENCH_TOO_LARGE };

int cmd_storm(int argc, char **argv);
