/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "sim.h"

/* For people: machine, figures, histograms, what the daemon decided. */
void output_table(const struct scenario *s, const struct sim_result *r, FILE *f);

/* For programs: one JSON object. -ENOMEM. */
int output_json(const struct scenario *s, const struct sim_result *r, FILE *f);

/* The timeline as a picture: tasks, pages per hold, knob values, the bystander's wait. Negative
 * errno where path cannot be written. */
int output_svg(const struct scenario *s, const struct sim_result *r, const char *path);
