/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdio.h>

#include "params.h"
#include "snapshot.h"

/* One line: kernel, regime, CPUs, memory, knobs, b and the largest W that a storm can bring. */
void facts_line(const struct snapshot *s, const struct params *p, char *buf, size_t size);

/* The same at length: what was found and how, and for each zone the lists and W. */
void facts_print(const struct snapshot *s, const struct params *p, FILE *f);
