# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of pcptunectl share. Their first argument is the program, and then what a test
says of itself."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from machines import PATIENCE, TREE, can_mount, read

PCPTUNECTL = os.path.abspath(sys.argv.pop(1))
CAN_MOUNT = can_mount()
FRACTION = "/proc/sys/vm/percpu_pagelist_high_fraction"
NAME = "vm.percpu_pagelist_high_fraction"
MANUAL = read(os.path.join(TREE, "man", "pcptunectl.1"))
VERBS = ["status", "top", "events", "recommend", "explain", "config", "verify", "mode", "re-arm",
         "restore", "reload"]
ARGUMENTS = {"mode": ["apply"]}


def need(condition, why):
    """Skips loudly."""
    def wrap(test):
        if not condition:
            print(f"SKIP: {test.__name__}: {why}")
        return unittest.skipUnless(condition, why)(test)
    return wrap


need_mount = need(CAN_MOUNT, "needs root and mount namespaces")


def journal(original, last, following, boot=None):
    """The text of an undo journal (actuate/journal.h) that holds the fraction."""
    boot = boot or read("/proc/sys/kernel/random/boot_id").strip()
    body = (f"pcptuned-knobs 1\nboot {boot}\n"
            f"high_fraction original={original} last={last} next={following}\n")
    fnv = 0xcbf29ce484222325
    for byte in body.encode():
        fnv = (fnv ^ byte) * 0x100000001b3 % 2**64
    return f"{body}sum {fnv:016x}\n"


def documented(verb):
    """The JSON keys that the manual has for that verb."""
    section = MANUAL[MANUAL.index("\n.Sh JSON\n"):MANUAL.index("\n.Sh RECOMMENDATIONS\n")]
    parts = re.split(r"(?m)^\.Pp\n((?:\.Cm .*\n|and\n)+)(?:has|have)(?: besides)?:\n", section)
    keys = set()
    for verbs, text in zip(parts[1::2], parts[2::2]):
        if verb in re.findall(r"[a-z-]+", verbs):
            keys |= set(re.findall(r"[a-z_0]+", " ".join(re.findall(r"(?m)^\.It Cm (.*)$", text))))
    return keys


def keys_of(value, but=()):
    """Keys of an object and of all within; what lies under the keys `but` is data."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in but:
                yield from keys_of(inner, but)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner, but)


class Case(unittest.TestCase):
    def setUp(self):
        where = tempfile.TemporaryDirectory()
        self.addCleanup(where.cleanup)
        self.dir = where.name
        self.env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
        self.config = self.path("none.conf", "")

    def path(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def run_it(self, *args, wrap=()):
        return subprocess.run([*wrap, PCPTUNECTL, *args], capture_output=True, text=True,
                              env=self.env, stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)

    def verb(self, verb, wrap=(), config=None):
        """What it says as JSON, for verbs that need no pcptuned."""
        done = self.run_it(verb, "--json", f"--config={config or self.config}", wrap=wrap)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)
