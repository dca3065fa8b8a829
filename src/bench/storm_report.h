/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "storm.h"

/* One storm for people. */
void storm_print(const struct storm_options *o, const struct storm_result *r, uint64_t number,
                 FILE *f);

/* All storms as one JSON object and a newline; the keys are in README.md. s tells what was granted.
 * -ENOMEM, -EIO. */
int storm_print_json(const struct storm_options *o, const struct storm *s,
                     const struct storm_result *results, size_t n, FILE *f);
