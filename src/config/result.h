/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "config.h"

/* How config.c and parse.c fill a struct config_result. Both return 0 or -ENOMEM. */

/* Keeps the message up to CONFIG_ERRORS_MAX, then a last one that says so. */
_printf_(2, 3) int result_add_error(struct config_result *r, const char *format, ...);

int result_add_file(struct config_result *r, const char *name);

int result_add_assignment(struct config_result *r, const struct config_assignment *a);
