/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "config.h"
#include "options.h"

/* Runs until a signal ends it. Takes the loaded configuration's parameters. Returns an exit code.
 */
int daemon_run(const struct options *o, const struct params *p);
