# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines of others for pcptunectl, and the kernel's arithmetic a second time.

A machine is a text of /proc/zoneinfo with the sysctls, BTF, configuration and topology that go with
it, bind-mounted over this kernel's. The arithmetic is written from mm/page_alloc.c, on its own."""

import glob
import os
import re
import struct
import subprocess

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INPUTS = os.path.join(TREE, "tests", "inputs")
PATIENCE = 60


def read(path):
    with open(path, encoding="ascii", errors="replace") as f:
        return f.read()


def works(command):
    try:
        return subprocess.run(command, capture_output=True, timeout=PATIENCE,
                              check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def mounted(script):
    return ["unshare", "--mount", "--propagation=private", "sh", "-ec", script + '\nexec "$@"', "sh"]


def can_mount():
    return os.geteuid() == 0 and works(mounted("mount --bind /proc/sys/vm /proc/sys/vm") + ["true"])


# --- BTF (Documentation/bpf/btf.rst), as small as it can be ---------------------------------------

INT, STRUCT, TYPEDEF, FUNC, FUNC_PROTO = 1, 4, 8, 12, 13


def btf(member, returns):
    """struct per_cpu_pages { int MEMBER; }, and free_frozen_page_commit() where returns is not
    None."""
    strings = b"\0"
    types = b""

    def name(text):
        nonlocal strings
        at = len(strings)
        strings += text.encode() + b"\0"
        return at

    def add(text, kind, vlen, size, rest=b""):
        nonlocal types
        types += struct.pack("<III", name(text) if text else 0, kind << 24 | vlen, size) + rest

    add("int", INT, 0, 4, struct.pack("<I", 1 << 24 | 32))
    add("_Bool", INT, 0, 1, struct.pack("<I", 4 << 24 | 8))
    add("bool", TYPEDEF, 0, 2)
    add("per_cpu_pages", STRUCT, 1, 4, struct.pack("<III", name(member), 1, 0))
    if returns is not None:
        add("", FUNC_PROTO, 0, {"void": 0, "bool": 3}[returns])
        add("free_frozen_page_commit", FUNC, 0, 5)
    return struct.pack("<HBBIIIII", 0xeb9f, 1, 0, 24, 0, len(types), len(types),
                       len(strings)) + types + strings


BTF = {"R1": None, "R2": btf("free_factor", None), "R3": btf("free_factor", None),
       "R4": btf("high_min", "void"), "R5": btf("high_min", "bool"), "R6": btf("high_min", "void")}


class Machine:
    def __init__(self, name, text, node_cpus, regime, fraction=0, scale=5):
        self.name, self.text, self.node_cpus, self.regime = name, text, node_cpus, regime
        self.fraction, self.scale = fraction, scale
        self.zones = zones(text)

    def _put(self, where, name, text):
        path = os.path.join(where, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return path

    def wrap(self, where):
        """What to put before a command line; files go below the directory `where`."""
        config = "".join(f"CONFIG_{i}=y\n" for i in range(200))
        if self.regime not in ("R1", "R2"):
            config += f"CONFIG_PCP_BATCH_SCALE_MAX={self.scale}\n"
        os.makedirs(os.path.join(where, "vm"), exist_ok=True)
        if self.regime != "R1":
            self._put(where, "vm/percpu_pagelist_high_fraction", f"{self.fraction}\n")
        if self.regime == "R6":
            self._put(where, "vm/pcp_batch_scale_max", f"{self.scale}\n")
        total, first = sum(self.node_cpus), 0
        cpus = self._put(where, "cpus", f"0-{total - 1}\n" if total > 1 else "0\n")
        self._put(where, "node/online",
                  f"0-{len(self.node_cpus) - 1}\n" if len(self.node_cpus) > 1 else "0\n")
        for node, n in enumerate(self.node_cpus):
            self._put(where, f"node/node{node}/cpulist", f"{first}-{first + n - 1}\n")
            first += n
        mounts = [("/proc/zoneinfo", self._put(where, "zoneinfo", self.text)),
                  ("/proc/sys/vm", os.path.join(where, "vm")),
                  ("/sys/devices/system/cpu/online", cpus),
                  ("/sys/devices/system/cpu/possible", cpus),
                  ("/sys/devices/system/node", os.path.join(where, "node")),
                  ("/proc/config.gz", self._put(where, "config", config)),
                  ("/sys/kernel/btf/vmlinux", self._put(where, "btf", BTF[self.regime] or b""))]
        return mounted("\n".join(f"[ ! -e {to} ] || mount --bind '{what}' {to}"
                                 for to, what in mounts))


def given(number):
    return read(glob.glob(f"{INPUTS}/{number}-*.zoneinfo")[0])


def seed_text():
    """Input 30 shows 3 of 256 CPUs; the others hold as much as the third."""
    text = given("30").rstrip(".\n ") + "\n"
    return text.replace("...\n", "") + "".join(
        f"    cpu: {cpu}\n              count: 3059\n              high:  6392\n"
        "              batch: 63\n  vm stats threshold: 125\n"
        for cpu in range(3, 256)) + "  node_unreclaimable:  0\n  start_pfn:           1048576\n"


def machines():
    """By name: those of tests/inputs as they were, and some of them on other kernels."""
    seed = seed_text()
    rows = [
        ("01", given("01"), [2], "R4"), ("02", given("02"), [1], "R2"),
        ("03", given("03"), [12], "R2"), ("05", given("05"), [4, 4], "R2"),
        ("07", given("07"), [4], "R1"), ("17", given("17"), [16, 16], "R1"),
        ("25", given("25"), [24], "R1"), ("30", seed, [256], "R2"),
        ("03 on R3", given("03"), [12], "R3"), ("30 on R4", seed, [256], "R4"),
        ("30 on R5", seed, [256], "R5"), ("30 on R6", seed, [256], "R6"),
        ("30 at its floor", seed, [256], "R2", 4509),
        ("01 with a fraction that does nothing", given("01"), [2], "R4", 64),
    ]
    return {row[0]: Machine(*row) for row in rows}


# --- the kernel ----------------------------------------------------------------------------------

def zones(text):
    """Populated zones in use, as dicts."""
    found = []
    for block in re.split(r"(?m)^(?=Node \d+, zone)", text):
        head = re.match(r"Node (\d+), zone\s+(\S+)", block)
        if not head:
            continue

        def number(name, block=block):
            m = re.search(rf"(?m)^\s+{name}\s+(\d+)$", block)
            return int(m[1]) if m else None
        batches = [int(b) for b in re.findall(r"(?m)^\s+batch:\s+(\d+)", block)]
        highs = [int(h) for h in re.findall(r"(?m)^\s+high:\s+(\d+)", block)]
        maxima = [int(h) for h in re.findall(r"(?m)^\s+high_max:\s+(\d+)", block)]
        managed = number("managed") or number("present")
        if not managed or not batches or (batches[0] == 1 and highs[0] == 0 and
                                          not any(maxima[:1])):
            continue
        found.append({"node": int(head[1]), "zone": head[2], "managed": managed,
                      "low": number("low"), "batch": batches[0], "highs": highs,
                      "counts": [int(c) for c in re.findall(r"(?m)^\s+count:\s+(\d+)", block)]})
    return found


def rounddown_pow2(n):
    return 1 << (n.bit_length() - 1)


def batchsize(managed, page=4096):
    x = max(1, min(managed // 1024, (1 << 20) // page) // 4)
    return max(1, rounddown_pow2(x + x // 2) - 1)


def arithmetic(zone, cpus, regime, fraction, scale):
    """name: value, with the names of pcptunectl explain. None: the whole list."""
    b = zone["batch"]
    if regime == "R1":
        return {"high": 6 * b, "b_free": b, "b_alloc": b, "b_drain": None}

    def high(total):
        return max(total // cpus, 4 * b)
    low = high(zone["managed"] // fraction if fraction else zone["low"])
    most = low
    v = {}
    if regime in ("R2", "R3"):
        v["high"] = low
    else:
        most = low if fraction else high(zone["managed"] // 8)
        v.update(high_min=low, high_max=most)
    cap = b << scale
    v["b_free"] = {"R2": most - b, "R5": b}.get(regime, min(most - b, cap))
    v["b_alloc"] = b if regime in ("R2", "R3") else min(most - b, cap)
    v["b_drain"] = None if regime == "R2" else cap
    return v


def b_of(machine, fraction, scale=None, node=None):
    """The largest hold of a freeing task, over the zones with 1/64 of their node's memory."""
    scale = machine.scale if scale is None else scale
    best = 0
    for z in machine.zones:
        memory = sum(o["managed"] for o in machine.zones if o["node"] == z["node"])
        if (node is None or z["node"] == node) and z["managed"] >= memory // 64:
            v = arithmetic(z, machine.node_cpus[z["node"]], machine.regime, fraction, scale)
            best = max(best, v["b_free"])
    return best


def wait_of(machine, fraction, page_cost=20, scale=None):
    """(W, N, b) with every CPU of a node freeing, on the node where it is worst."""
    return max((n * page_cost * b_of(machine, fraction, scale, node), n,
                b_of(machine, fraction, scale, node))
               for node, n in enumerate(machine.node_cpus))


def evaluate(numbers):
    """What explain prints as numbers, computed by Python."""
    return eval(numbers.replace("/", "//"),  # pylint: disable=eval-used
                {"__builtins__": {}, "min": min, "max": max, "rounddown_pow2": rounddown_pow2})
