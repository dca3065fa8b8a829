/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "host.h"
#include "macros.h"
#include "zone.h"

/* Fills *ret from /proc, /sys, uname and the boot configuration; zones may be NULL (no zoneinfo).
 * The regime is probed in the order of what is surest: files, BTF, config, zoneinfo, version;
 * regime_by says which decided. Never fails: what cannot be known is assumed and named, and
 * memory_bytes is 0 where /proc/meminfo cannot be read. May take seconds (btf_probe()). */
void hostfacts_read(const struct zone_table *zones, struct host_facts *ret);

/* Only what hot-plug changes: CPUs, nodes, memory. Returns true if any of it changed. */
bool hostfacts_update(struct host_facts *h);

/* Base pages of a transparent huge page: their size differs, 2 MiB on x86 and 512 MiB on arm64 with
 * pages of 64 KiB. */
uint64_t thp_pages(void);

/* "0-3,8,10-11" (bitmap_print_to_pagebuf()) to a count; "" and "\n" are an empty list. fn, where
 * not NULL, is called for each CPU once the whole text is known to be good. -EBADMSG: anything
 * else, CPUs that do not ascend, or a CPU of 65536 or more. */
int cpulist_parse(const char *text, void (*fn)(unsigned cpu, void *arg), void *arg,
                  unsigned *ret_count);

/* What BTF says of the regime. */
struct btf_facts {
    bool free_factor;         /* struct per_cpu_pages has it: R2, R3 */
    bool high_min;            /* has it: R4 and later */
    bool commit_known;        /* free_frozen_page_commit(), free_unref_page_commit() is listed */
    bool commit_returns_bool; /* and returns bool: R5; void before */
};

/* From len bytes of raw BTF (Documentation/bpf/btf.rst). -EOPNOTSUPP: built without libbpf;
 * -ENOENT: no struct per_cpu_pages in it; other errors of libbpf. */
int btf_parse(const void *data, size_t len, struct btf_facts *ret);

/* The same for /sys/kernel/btf/vmlinux, in a child process with a time limit of 3 s, so that 6 MB
 * of types never stay in ours and nothing that libbpf does can harm it. -ENOENT: kernel without
 * BTF; -ETIMEDOUT; -EIO: the child died; errors of btf_parse(), read(2), pipe(2), fork(2). */
int btf_probe(struct btf_facts *ret);

/* CONFIG_PCP_BATCH_SCALE_MAX in the kernel configuration at path, plain or gzip: its value, or one
 * of these. A file that is cut, empty or no kernel configuration counts as not read. */
#define CONFIG_SCALE_UNREAD (-1)
#define CONFIG_SCALE_ABSENT (-2) /* read, and not in it */
int config_scale_read(const char *path);

/* pcp_batch_scale_max=N (0..6; the last one counts) on a kernel command line; -1: none. */
int cmdline_scale_parse(const char *cmdline);

/* The decision alone, pure: what was seen gives the regime. Tested by a table. Each sign says
 * which regimes are possible; the surest come first, and one that contradicts them is not
 * listened to. What the signs leave open the release decides, as far as they let it. */
struct regime_signs {
    bool has_fraction, has_scale; /* sysctl files */
    bool btf_known;
    struct btf_facts btf;
    int config_scale;  /* as config_scale_read() */
    int cmdline_scale; /* as cmdline_scale_parse() */
    bool zoneinfo_known, zoneinfo_minmax, zoneinfo_reserved_ha;
    bool list_high_differs; /* CPUs of one zone differ in high: auto-tuning */
    int sysctl_scale;       /* value of the scale sysctl; -1 none */
    const char *release;
};

/* Fills regime, regime_by, scale, scale_by and assumed. REGIME_UNKNOWN where nothing but the
 * fraction's file is known and the release is no version. */
void regime_decide(const struct regime_signs *s, struct host_facts *ret);
