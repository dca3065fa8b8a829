/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "host.h"
#include "macros.h"
#include "zone.h"

/* Fills *ret from /proc, /sys, uname and the boot configuration; zones may be NULL (no zoneinfo).
 * The regime is probed in the order of kernel.md section 4: files, BTF, config, zoneinfo, version;
 * regime_by says which decided. Never fails: what cannot be known is assumed and named. */
void hostfacts_read(const struct zone_table *zones, struct host_facts *ret);

/* Only what hot-plug changes: CPUs, nodes, memory. Returns true if any of it changed. */
bool hostfacts_update(struct host_facts *h);

/* "0-3,8,10-11" to a count, with a callback for each CPU where fn is not NULL. -EBADMSG. */
int cpulist_parse(const char *text, void (*fn)(unsigned cpu, void *arg), void *arg,
                  unsigned *ret_count);

/* What BTF says of the regime: read in a child process, so that vmlinux's 6 MB of types never
 * stay in ours. -EOPNOTSUPP: built without libbpf or kernel without BTF. */
struct btf_facts {
    bool free_factor;         /* struct per_cpu_pages has it: R2, R3 */
    bool high_min;            /* has it: R4 and later */
    bool commit_returns_bool; /* free_frozen_page_commit(): R5 */
};
int btf_probe(struct btf_facts *ret);

/* The decision alone, pure: what was seen gives the regime. Tested by a table. */
struct regime_signs {
    bool has_fraction, has_scale; /* sysctl files */
    bool btf_known;
    struct btf_facts btf;
    int config_scale;  /* CONFIG_PCP_BATCH_SCALE_MAX; -1 not found, -2 config read, not in it */
    int cmdline_scale; /* pcp_batch_scale_max= on the command line; -1 none */
    bool zoneinfo_known, zoneinfo_minmax, zoneinfo_reserved_ha;
    bool list_high_differs; /* fraction 0 and CPUs of one zone differ in high: auto-tuning */
    int sysctl_scale;       /* value of the scale sysctl; -1 none */
    const char *release;
};
void regime_decide(const struct regime_signs *s, struct host_facts *ret);
