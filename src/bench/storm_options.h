/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "bystander.h"
#include "macros.h"

enum storm_how { STORM_KILL, STORM_EXIT };
enum storm_memory { STORM_PRIVATE, STORM_SHARED, STORM_PEAK };

struct storm_options {
    uint64_t tasks;
    uint64_t size; /* bytes a task, whole pages; with STORM_SHARED bytes in all */
    uint64_t threads;
    uint64_t keep; /* bytes, STORM_PEAK */
    uint64_t thread_churn;
    uint64_t repeat;
    uint64_t busy;
    nsec_t stagger;
    nsec_t pause;
    const char *cgroup;
    enum storm_how how;
    enum storm_memory memory;
    struct bystander_options bystander;
    bool thp;
    bool json;
};

/* 0: run; 1: help was printed to stdout; -EINVAL: the reason was printed to stderr. The result
 * points into argv. */
int storm_options_parse(int argc, char **argv, struct storm_options *ret);

/* The words of --how, --memory and --bystander ("none", "shared", "cpu"). */
const char *storm_how_name(enum storm_how how);
const char *storm_memory_name(enum storm_memory memory);
const char *bystander_place_name(enum bystander_place place);

/* Whether that fits into a machine with so many bytes in all and available. 0, or -E2BIG with the
 * reason in why. */
int storm_fits(const struct storm_options *o, uint64_t total, uint64_t available, char *why,
               size_t why_size);
