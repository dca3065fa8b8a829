/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "machine.h"

/* What "status" says where no pcptuned answers. 0 or -ENOMEM. */
int absent_status(const struct machine *m, bool json);
