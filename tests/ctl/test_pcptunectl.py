#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the real pcptunectl, here and on machines of others. Usage: test_pcptunectl.py PCPTUNECTL
[unittest options]. Nothing is ever written to a sysctl of this machine."""

import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
import unittest

from case import (ARGUMENTS, CAN_MOUNT, FRACTION, MANUAL, PCPTUNECTL, VERBS, Case, documented,
                  journal, keys_of, need_mount)
from machines import (BTF, PATIENCE, TREE, arithmetic, b_of, batchsize, evaluate, machines, mounted,
                      read, wait_of)

MACHINES = machines()
IDS = {"PCP-KEEP-DEFAULTS", "PCP-STORM-TUNE", "PCP-CONSTANT", "PCP-TARGET-FLOOR",
       "PCP-FRACTION-USELESS", "PCP-PINNED", "PCP-LISTS-HOARD", "PCP-STALE-BATCH",
       "PCP-KERNEL-CAP", "PCP-KERNEL-BATCH", "PCP-KERNEL-DECAY",
       "PCP-KERNEL-ALLOC"}



class Machine(Case):
    def on(self, verb, machine):
        return self.verb(verb, machine.wrap(os.path.join(self.dir,
                                                         re.sub(r"\W", "-", machine.name))))


class Options(Case):
    def test_usage_errors(self):
        for args in ([], ["nonsense"], ["explain", "x"], ["--nonsense"], ["recommend", "--config"],
                     ["-x", "explain"], ["explain", "--json=1"], ["Explain"], [""], ["mode"],
                     ["mode", "apply", "off"], ["mode", "on"], ["events", "--since=never"],
                     ["nonsense", "--help"]):
            with self.subTest(args=args):
                done = self.run_it(*args)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("--help", done.stderr)

    def test_help_and_version(self):
        for option in "--help", "-h", "--version":
            done = self.run_it(option)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith("pcptunectl"))

    def test_help_code_and_manual_agree(self):
        source = read(os.path.join(TREE, "src", "ctl", "main.c"))
        helped = self.run_it("--help").stdout
        accepted = set(re.findall(r'\{"([a-z-]+)", \w+_argument,', source))
        self.assertEqual(set(re.findall(r"(?<!pcptuned )--([a-z][a-z-]+)", helped)) - {"now"},
                         accepted)
        self.assertEqual(set(VERBS), set(re.findall(r"(?m)^  ([a-z-]+)(?: MODE)? {2,}[a-z]",
                                                    helped.split("\nOptions\n")[0])))
        for verb in VERBS:
            self.assertRegex(MANUAL, rf"(?m)^\.It Cm {verb}( .*)?$")
            of_verb = self.run_it(verb, "--help")
            self.assertEqual((of_verb.returncode, of_verb.stderr), (0, ""))
            self.assertTrue(of_verb.stdout.startswith(f"Usage: pcptunectl [OPTION...] {verb}"))
            self.assertTrue(all(len(line) <= 95 for line in of_verb.stdout.splitlines()))
        for option in accepted:
            self.assertIn(f"Fl -{option}", MANUAL)
        self.assertTrue(all(len(line) <= 90 for line in helped.splitlines()))

    def test_options_of_other_verbs(self):
        """What a verb does not take is refused, and its help says what it takes."""
        values = {"config": "--config=/dev/null", "address": "--address=unix:path=/nonexistent",
                  "since": "--since=1h", "json": "--json", "follow": "--follow",
                  "no-pager": "--no-pager"}
        for verb in VERBS:
            takes = set(re.findall(r"(?m)^  --([a-z-]+)", self.run_it(verb, "--help").stdout))
            for option, text in values.items():
                done = self.run_it(verb, *ARGUMENTS.get(verb, ()), text)
                with self.subTest(verb=verb, option=option):
                    if option not in takes:
                        self.assertEqual((done.returncode, done.stdout), (2, ""))
                    elif not (verb == "top" or done.returncode in (0, 3)):
                        self.fail(f"{done.returncode} {done.stderr}")

    def test_bad_config(self):
        for text in "[Policy]\nTargetWait=0\n", "[Nope]\nA=1\n":
            done = self.run_it("recommend", f"--config={self.path('bad', text)}")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"{self.dir}/bad:", done.stderr)
        done = self.run_it("explain", f"--config={self.dir}/missing")
        self.assertEqual(done.returncode, 1)
        self.assertIn("No such file", done.stderr)

    def test_full_disk(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            for verb in "explain", "recommend":
                done = subprocess.run([PCPTUNECTL, verb, f"--config={self.config}"], stdout=full,
                                      stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn("No space", done.stderr)

    def terminal(self, env):
        done, out = pty.openpty()
        self.addCleanup(os.close, done)
        subprocess.run([PCPTUNECTL, "recommend", "--no-pager", f"--config={self.config}"], stdout=out,
                       env={**self.env, **env}, timeout=PATIENCE, check=True)
        os.close(out)
        return os.read(done, 65536).decode()

    def test_colours(self):
        self.assertIn("\033[1m", self.terminal({"TERM": "xterm"}))
        self.assertNotIn("\033", self.terminal({"TERM": "xterm", "NO_COLOR": "1"}))
        self.assertNotIn("\033", self.terminal({"TERM": "dumb"}))
        self.assertIn("\033[1m", self.terminal({"TERM": "xterm", "NO_COLOR": ""}))
        self.assertNotIn("\033", self.run_it("explain", f"--config={self.config}").stdout)


class Keys(Machine):
    """Every JSON key stands in the manual, and nothing else does."""

    def test_manual(self):
        for verb in "explain", "recommend":
            used = set(keys_of(self.verb(verb)))
            if CAN_MOUNT:
                for name in "30 on R6", "07", "30":
                    used |= set(keys_of(self.on(verb, MACHINES[name])))
                self.assertEqual(documented(verb) - used, set())
            self.assertEqual(used - documented(verb), set())
        self.assertEqual(set(re.findall(r"(?m)^\.It (PCP-[A-Z-]+)$", MANUAL)), IDS)


class ThisMachine(Case):
    def test_explain(self):
        said = self.verb("explain")
        self.assertEqual(said["host"]["release"], os.uname().release)
        self.assertGreater(len(said["zones"]), 0)
        text = self.run_it("explain", f"--config={self.config}").stdout
        for zone in said["zones"]:
            self.assertIn(f"zone {zone['zone']} of node {zone['node']}: managed {zone['managed']} ",
                          text)

    def test_recommend(self):
        said = self.verb("recommend")
        self.assertIn(said["recommendations"][0]["id"], IDS)
        text = self.run_it("recommend", f"--config={self.config}").stdout
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()[2:]), text)
        for r in said["recommendations"]:
            self.assertIn(r["id"] + ": " + r["title"], text)

    def test_target_of_the_configuration(self):
        config = self.path("c", "[Policy]\nTargetWait=7us\nPageCost=30ns\n")
        said = self.verb("recommend", config=config)
        self.assertEqual((said["target_ns"], said["page_cost_ns"]), (7000, 30))
        self.assertIn("TargetWait=7us", said["recommendations"][0]["evidence"])

    @need_mount
    def test_without_zoneinfo(self):
        bad = self.path("bad", "Node 0, zone Normal\n  pages free nonsense\n")
        for what in bad, "/dev/null":
            for verb in "explain", "recommend":
                done = self.run_it(verb, f"--config={self.config}",
                                   wrap=mounted(f"mount --bind '{what}' /proc/zoneinfo"))
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn("/proc/zoneinfo", done.stderr)

    @need_mount
    @unittest.skipUnless(os.path.exists(FRACTION), "this kernel has no fraction")
    def test_sysctl_that_hangs(self):
        """Says so after KnobTimeout=, goes on with what the kernel starts with, and ends."""
        fifo = os.path.join(self.dir, "fifo")
        os.mkfifo(fifo)
        config = self.path("c", "[Daemon]\nKnobTimeout=200ms\n")
        start = time.monotonic()
        done = self.run_it("recommend", "--json", f"--config={config}",
                           wrap=mounted(f"mount --bind '{fifo}' {FRACTION}"))
        self.assertEqual(done.returncode, 0)
        self.assertLess(time.monotonic() - start, 10)
        self.assertIn("did not answer within 200ms", done.stderr)
        said = json.loads(done.stdout)
        self.assertFalse(said["knobs_known"])
        self.assertEqual(said["recommendations"][0]["confidence"], "guess")

    @need_mount
    @unittest.skipUnless(os.path.exists(FRACTION), "this kernel has no fraction")
    def test_knob_held_by_pcptuned(self):
        """In a storm the value is pcptuned's own: nobody has pinned it."""
        state = os.path.join(self.dir, "state")
        os.mkdir(state)
        self.path("state/knobs.journal", journal(0, 0, 4509))
        knob = self.path("knob", "4509\n")
        for held, value in ((True, "4509\n"), (False, "4510\n")):
            self.path("knob", value)
            done = self.run_it("recommend", "--json", f"--config={self.config}",
                               wrap=mounted(f"mkdir -p /run/pcptuned\n"
                                            f"mount --bind '{state}' /run/pcptuned\n"
                                            f"mount --bind '{knob}' {FRACTION}"))
            said = json.loads(done.stdout)
            self.assertEqual(said["held"], held)
            self.assertEqual(said["recommendations"][0]["id"] == "PCP-PINNED", not held)


@need_mount
class Machines(Machine):
    def test_regimes_are_those_of_the_machine(self):
        for m in MACHINES.values():
            with self.subTest(machine=m.name):
                host = self.on("explain", m)["host"]
                if host["regime"] != m.regime and BTF[m.regime] and host["regime_by"] != "BTF":
                    self.skipTest("built without libbpf")
                self.assertEqual(host["regime"], m.regime)
                self.assertEqual(host["cpus_online"], sum(m.node_cpus))
                self.assertEqual(host["nodes"], len(m.node_cpus))

    def test_explain(self):
        """Every number of every zone, by arithmetic of our own."""
        for m in MACHINES.values():
            with self.subTest(machine=m.name):
                said = self.on("explain", m)
                self.assertEqual([(z["node"], z["zone"], z["managed"], z["low"], z["batch"])
                                  for z in said["zones"]],
                                 [(z["node"], z["zone"], z["managed"], z["low"], z["batch"])
                                  for z in m.zones])
                for shown, zone in zip(said["zones"], m.zones):
                    self.check_zone(m, shown, zone)

    def check_zone(self, m, shown, zone):
        cpus, b = m.node_cpus[zone["node"]], zone["batch"]
        steps = {s["name"]: s for s in shown["steps"]}
        expected = arithmetic(zone, cpus, m.regime, m.fraction, m.scale)
        expected["batch"] = batchsize(zone["managed"])
        if m.regime != "R1":
            floor = max(8, zone["managed"] // ((4 * b + 1) * cpus) + 1)
            at_floor = arithmetic(zone, cpus, m.regime, floor, m.scale)
            expected.update(floor_fraction=floor, floor_free=at_floor["b_free"])
            if "high_min" in expected:
                expected["floor_alloc"] = at_floor["b_alloc"]
        self.assertEqual({k: s["value"] for k, s in steps.items() if k != "x"}, expected)
        self.assertEqual(shown["cpus"], cpus)
        for step in shown["steps"]:
            if step["value"] is not None:
                least = int((re.search(r"at least (\d+)$", step["formula"]) or [0, 0])[1])
                self.assertEqual(max(evaluate(step["numbers"]), least), step["value"], step)
        if "high" in steps:
            self.assertEqual((steps["high"]["seen_min"], steps["high"]["seen_max"]),
                             (min(zone["highs"]), max(zone["highs"])))
        self.check_waits(m, shown, expected, cpus)

    def check_waits(self, m, shown, expected, cpus):
        ns = [w["n"] for w in shown["waits"]]
        self.assertEqual((ns[0], ns[-1]), (1, cpus))
        self.assertTrue(all(b in (2 * a, cpus) for a, b in zip(ns, ns[1:])), ns)
        for w in shown["waits"]:
            self.assertEqual(w["wait_ns"], w["n"] * 20 * expected["b_free"])
            self.assertEqual(w["wait_alloc_ns"], w["n"] * 20 * expected["b_alloc"])
            if m.regime != "R1":
                self.assertEqual(w["wait_floor_ns"], w["n"] * 20 * expected["floor_free"])
            self.assertEqual("wait_scale_0_ns" in w, m.regime == "R6")

    def test_text_has_the_numbers(self):
        for name in "30", "05", "30 on R6":
            m = MACHINES[name]
            wrap = m.wrap(os.path.join(self.dir, "text"))
            text = self.run_it("explain", f"--config={self.config}", wrap=wrap).stdout
            said = self.on("explain", m)
            for zone in said["zones"]:
                for step in zone["steps"]:
                    if step["value"] is not None:
                        self.assertRegex(text, re.escape(step["numbers"]) + rf"( = {step['value']})?\b")

    def first(self, m):
        return self.on("recommend", m)["recommendations"]

    def test_recommend(self):
        """The verdict, what it rests on, and what is advised besides."""
        rows = [
            ("01", ["PCP-KEEP-DEFAULTS"]),
            ("02", ["PCP-KEEP-DEFAULTS", "PCP-LISTS-HOARD", "PCP-STALE-BATCH"]),
            ("03", ["PCP-STORM-TUNE", "PCP-CONSTANT", "PCP-KERNEL-CAP", "PCP-KERNEL-BATCH"]),
            ("05", ["PCP-STORM-TUNE", "PCP-CONSTANT", "PCP-KERNEL-CAP", "PCP-KERNEL-BATCH"]),
            ("07", ["PCP-KEEP-DEFAULTS", "PCP-STALE-BATCH"]),
            ("30", ["PCP-STORM-TUNE", "PCP-TARGET-FLOOR", "PCP-CONSTANT", "PCP-KERNEL-CAP",
                    "PCP-KERNEL-BATCH"]),
            ("30 on R5", ["PCP-KEEP-DEFAULTS", "PCP-TARGET-FLOOR"]),
            ("30 on R6", ["PCP-STORM-TUNE", "PCP-TARGET-FLOOR", "PCP-CONSTANT",
                          "PCP-KERNEL-BATCH"]),
            ("30 at its floor", ["PCP-PINNED", "PCP-KERNEL-BATCH"]),
            ("01 with a fraction that does nothing", ["PCP-FRACTION-USELESS"]),
        ]
        for name, ids in rows:
            with self.subTest(machine=name):
                self.assertEqual([r["id"] for r in self.first(MACHINES[name])], ids)

    def test_recommended_numbers(self):
        for m in MACHINES.values():
            with self.subTest(machine=m.name):
                r = self.first(m)[0]
                wait, n, b = wait_of(m, m.fraction)
                self.assertEqual((r["wait_before_ns"], r["n"], r["b_before"]), (wait, n, b))
                if r["id"] == "PCP-STORM-TUNE":
                    self.check_choice(m, r, n)

    def check_choice(self, m, r, n):
        """The smallest fraction that meets the target, or else the best that can be had."""
        fraction = r["setting"].get("high_fraction", m.fraction)
        scale = r["setting"].get("batch_scale", m.scale)
        wait, _, b = wait_of(m, fraction, scale=scale)
        self.assertEqual((r["wait_after_ns"], r["b_after"]), (wait, b))
        best = b_of(m, 2**31 - 1, 0 if m.regime == "R6" else None)
        self.assertLessEqual(b_of(m, fraction, scale), max(100000 // (20 * n), best))
        if "high_fraction" in r["setting"] and fraction > 8:
            self.assertGreater(b_of(m, fraction - 1, scale), max(100000 // (20 * n), best))

    def test_pasted_text_is_accepted(self):
        """What is to be pasted is what its readers accept."""
        for name in "30", "30 on R5", "30 on R6", "02", "30 at its floor":
            for r in self.first(MACHINES[name]):
                for line in r["sysctl"].splitlines():
                    self.assertRegex(line, r"^vm\.(percpu_pagelist_high_fraction|"
                                           r"pcp_batch_scale_max) = \d+$")
                if r["conf"]:
                    done = self.run_it("explain", f"--config={self.path('paste.conf', r['conf'])}")
                    self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
