# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel shows of the per-CPU lists, parsed here independently of the daemon, beside what
pcptuned --facts predicts. For the proof `model` and for tests/vm/guest."""
import collections
import os
import re
import subprocess
import sys

FRACTION = "/proc/sys/vm/percpu_pagelist_high_fraction"
FRACTIONS = [0, 8, 9, 16, 64, 100, 512, 1000, 2048, 4096, 5000, 65536, 1000003, 2147483647]
TRACEFS = "/sys/kernel/tracing"
TASK = """import mmap, time
m = mmap.mmap(-1, {0} << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
try: m.madvise(15)
except OSError: pass
page = bytes(1 << 20)
for i in range(0, {0} << 20, 1 << 20): m[i:i + (1 << 20)] = page
print(1, flush=True)
time.sleep(3600)"""

Limits = collections.namedtuple("Limits", "high_min high_max batch free_hold alloc_hold")


def write(path, text):
    with open(path, "w") as f:
        f.write(str(text))


def zone_highs():
    """(node, zone): for each CPU (high,), or (high, high_min, high_max) where they are printed."""
    zones, key = {}, None
    with open("/proc/zoneinfo") as f:
        for line in f:
            if m := re.match(r"Node (\d+), zone\s+(\S+)", line):
                key = (int(m[1]), m[2])
            elif m := re.match(r" {14}high: +(\d+)", line):
                zones.setdefault(key, []).append((int(m[1]),))
            elif m := re.match(r"\s+high_(?:min|max): +(\d+)", line):
                zones[key][-1] += (int(m[1]),)
    return zones


def predicted(pcptuned):
    """(node, zone): the Limits that pcptuned expects of the knobs' present values."""
    facts = subprocess.run([pcptuned, "--facts", "--config=/dev/null"], stdout=subprocess.PIPE,
                           text=True, check=True).stdout
    rows = re.findall(r"^ +(\d+) (\S+) +\d+ +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) ", facts, re.M)
    return {(int(r[0]), r[1]): Limits(*map(int, r[2:])) for r in rows}


def can_trace():
    if not os.path.exists(f"{TRACEFS}/events"):
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACEFS], check=False,
                       stderr=subprocess.DEVNULL)
    return os.path.exists(f"{TRACEFS}/events/kmem/mm_page_pcpu_drain")


class Probe:
    """Where the kernel has kprobes, each call of free_pcppages_bulk() is an event. From 6.19 on
    free_frozen_page_commit() calls it for batch after batch, with the lock dropped in between."""

    def __enter__(self):
        self.events = []
        try:
            write(f"{TRACEFS}/kprobe_events", "p:pcp_bulk free_pcppages_bulk")
            self.events = [f"{TRACEFS}/events/kprobes/pcp_bulk"]
        except OSError:
            pass
        return self.events

    def __exit__(self, *exc):
        if self.events:
            write(f"{TRACEFS}/kprobe_events", "")


def trace_exit(mib, events):
    """The lines of the trace of these events while a task of that size is killed, on CPU 0."""
    with subprocess.Popen(["taskset", "-c", "0", sys.executable, "-ISc", TASK.format(mib)],
                          stdout=subprocess.PIPE) as task:
        task.stdout.readline()
        write(f"{TRACEFS}/buffer_size_kb", mib * 64)
        write(f"{TRACEFS}/trace", "")
        for event in events:
            write(f"{event}/filter", f"common_pid == {task.pid}")
            write(f"{event}/enable", 1)
        task.kill()
    for event in events:
        write(f"{event}/enable", 0)
        write(f"{event}/filter", 0)
    with open(f"{TRACEFS}/trace") as f:
        yield from f
    write(f"{TRACEFS}/trace", "")
    write(f"{TRACEFS}/buffer_size_kb", 1408)  # the kernel's default


def drains(mib):
    """A task of that size is killed: how many pages it gave back under each hold of zone->lock, as
    a Counter. Between two pages of one hold no other page is added to the lists, and to add one is
    traced too (free_unref_folios(), free_unref_page_list())."""
    drained = "mm_page_pcpu_drain"
    runs, run = collections.Counter(), 0
    with Probe() as probes:
        events = [f"{TRACEFS}/events/kmem/{e}" for e in (drained, "mm_page_free_batched")]
        for line in trace_exit(mib, events + probes):
            if drained in line:
                run += 1
            elif run:
                runs[run] += 1
                run = 0
    return runs
