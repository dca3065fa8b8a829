/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdio.h>

#include "host.h"
#include "knob.h"

/* Lines of "name      what is known" that every program prints alike. */

/* Kernel, machine, regime, scale, and what is assumed. */
void host_print(const struct host_facts *h, unsigned scale, FILE *f);

/* v NULL: the values are not known. */
void knobs_print(const struct knob_values *v, FILE *f);
