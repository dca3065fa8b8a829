#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the real pcpbench with tiny storms. Usage: test_pcpbench.py PCPBENCH [unittest options]"""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

PCPBENCH = os.path.abspath(sys.argv.pop(1))
MIB = 1 << 20
# What a process has besides the memory that it was asked for; the address sanitizer has its own.
BESIDE = 40 * MIB
TINY = ["--bystander-size=1M"]


def run(*args):
    return subprocess.run([PCPBENCH, *args], capture_output=True, text=True, timeout=120)


def storm(*args):
    """The parsed output of a small storm with --json that must succeed."""
    done = run("storm", "--json", *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def state_and_parent(pid):
    fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (fields[0], int(fields[1])) if fields else ("Z", 0)


def is_alive(pid):
    """A zombie that the init of a container does not reap is not."""
    return state_and_parent(pid)[0] not in "ZX"


def parent_of(pid):
    return state_and_parent(pid)[1]


def family(pid):
    """The children of pid."""
    return [int(p) for p in os.listdir("/proc") if p.isdigit() and parent_of(p) == pid]


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def cgroup_dir(name):
    """Where pcpbench makes the group `name`, or None: the directory of our own group first."""
    mounts = [line.split() for line in read("/proc/self/mounts").splitlines()]
    v1 = [m[1] for m in mounts if m[2] == "cgroup" and "memory" in m[3].split(",")]
    v2 = [m[1] for m in mounts if m[2] == "cgroup2"]
    for line in read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if v1 and "memory" in controllers.split(","):
            return os.path.join(v1[0] + path, name)
        if not v1 and v2 and controllers == "":
            return os.path.join(v2[0] + path, name)
    return None


class Usage(unittest.TestCase):
    def test_exit_status(self):
        table = [
            ([], 2), (["nothing"], 2), (["storm", "--nonsense"], 2), (["storm", "extra"], 2),
            (["storm", "--tasks=0"], 2), (["--help"], 0), (["--version"], 0),
            (["storm", "--help"], 0), (["storm", "--bystander=cpu:1023"] + TINY, 1),
            (["storm", "--cgroup=/no/such/parent"] + TINY, 1),
            (["storm", "--tasks=100000", "--size=4K"], 3), (["storm", "--size=1000000T"], 3),
        ]
        for args, status in table:
            with self.subTest(args=args):
                done = run(*args)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(bool(done.stderr), status != 0)
                self.assertEqual(bool(done.stdout), status == 0)

    def test_help_has_every_option(self):
        text = run("storm", "--help").stdout
        for name in ("tasks size thp threads cgroup stagger how memory keep thread-churn repeat "
                     "pause bystander bystander-size bystander-fifo busy json help").split():
            self.assertIn(f"  --{name}", text)

    def test_too_large_says_by_how_much(self):
        done = run("storm", "--tasks=9", "--size=900T")
        self.assertEqual(done.returncode, 3)
        self.assertIn("does not fit", done.stderr)
        self.assertIn("available", done.stderr)

    def test_closed_output_is_a_failure(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([PCPBENCH, "storm", "--tasks=1", "--size=1M", "--json"] + TINY,
                                  stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)


class Json(unittest.TestCase):
    def test_keys_and_order_of_times(self):
        j = storm("--tasks=3", "--size=2M", "--repeat=2", "--pause=1ms", *TINY)
        self.assertEqual(list(j), ["program", "version", "command", "format", "host", "options",
                                   "granted", "storms"])
        self.assertEqual(j["host"]["kernel"], os.uname().release)
        self.assertEqual(j["options"]["size_bytes"], 2 * MIB)
        self.assertEqual(len(j["storms"]), 2)
        last = 0
        for s in j["storms"]:
            self.assertEqual(list(s), ["ready_ns", "churn", "kill_ns", "kill_end_ns",
                                       "last_exit_ns", "exit_total_ns", "tasks", "bystander"])
            self.assertLess(last, s["ready_ns"])
            self.assertLess(s["ready_ns"], s["kill_ns"])
            self.assertLess(s["kill_ns"], s["kill_end_ns"])
            exits = [t["exit_ns"] for t in s["tasks"]]
            self.assertEqual(len(exits), 3)
            self.assertEqual(max(exits), s["last_exit_ns"])
            self.assertLess(s["kill_ns"], min(exits))
            self.assertEqual(s["exit_total_ns"], s["last_exit_ns"] - s["kill_ns"])
            self.assertEqual(len({t["pid"] for t in s["tasks"]}), 3)
            last = s["last_exit_ns"]
        self.assertLess(last, time.clock_gettime_ns(time.CLOCK_MONOTONIC))

    def test_bystander_adds_up(self):
        b = storm("--tasks=2", "--size=32M", *TINY)["storms"][0]["bystander"]
        self.assertEqual(list(b), ["before", "during", "after"])
        for name, p in b.items():
            with self.subTest(phase=name):
                self.assertEqual(sum(k["count"] for k in p["buckets"]), p["faults"])
                self.assertTrue(p["exact"])
                self.assertLessEqual(p["p50_ns"], p["p99_ns"])
                self.assertLessEqual(p["p99_ns"], p["p999_ns"])
                self.assertLessEqual(p["p999_ns"], p["max_ns"])
                for k in p["buckets"]:
                    self.assertLessEqual(k["lo_ns"], k["hi_ns"])
        for name in "before", "after":
            self.assertGreater(b[name]["faults"], 0)
            self.assertGreaterEqual(b[name]["duration_ns"], 100_000_000)
            self.assertLessEqual(b[name]["sum_ns"], 2 * b[name]["duration_ns"])

    def test_without_bystander(self):
        s = storm("--tasks=1", "--size=1M", "--bystander=none")["storms"][0]
        self.assertIsNone(s["bystander"])

    def test_pinned(self):
        cpu = min(os.sched_getaffinity(0))
        j = storm("--tasks=1", "--size=1M", f"--bystander=cpu:{cpu}", "--bystander-fifo", *TINY)
        self.assertEqual(j["options"]["bystander"], f"cpu:{cpu}")
        self.assertIsInstance(j["granted"]["bystander_fifo"], bool)

    def test_text(self):
        done = run("storm", "--tasks=2", "--size=4M", *TINY)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        for word in "kill ", "last exit ", "before ", "during ", "after ", "p99.9", "distribution":
            self.assertIn(word, done.stdout)


class Modes(unittest.TestCase):
    def tasks(self, *args):
        return storm("--bystander=none", *args)["storms"][0]["tasks"]

    def near(self, value, wanted):
        self.assertGreaterEqual(value, wanted)
        self.assertLessEqual(value, wanted + BESIDE)

    def test_private(self):
        for how in "kill", "exit":
            for t in self.tasks("--tasks=2", "--size=64M", f"--how={how}"):
                self.near(t["anon_bytes"], 64 * MIB)
                self.near(t["peak_bytes"], 64 * MIB)
                self.assertEqual(t["thp_bytes"], 0)
                self.assertEqual(t["threads"], 1)

    def test_threads_share_the_touching(self):
        # 5 threads and 7 pages: the slices are uneven, and one is empty.
        for size, wanted in ("64M", 64 * MIB), ("28K", 28 << 10):
            for t in self.tasks("--tasks=2", f"--size={size}", "--threads=5"):
                self.assertEqual(t["threads"], 5)
                self.near(t["anon_bytes"], wanted)

    def test_thp(self):
        if "[never]" in read("/sys/kernel/mm/transparent_hugepage/enabled") or \
           not os.path.exists("/sys/kernel/mm/transparent_hugepage/enabled"):
            print("SKIP: no transparent huge pages here")
            self.skipTest("no transparent huge pages")
        for t in self.tasks("--tasks=1", "--size=64M", "--thp"):
            self.assertGreater(t["thp_bytes"], 0)

    def test_shared_is_not_anonymous(self):
        for t in self.tasks("--tasks=3", "--size=128M", "--memory=shared"):
            self.near(t["rss_bytes"], 128 * MIB)
            self.assertLess(t["anon_bytes"], BESIDE)

    def test_peak_is_given_back(self):
        for t in self.tasks("--tasks=2", "--size=128M", "--memory=peak", "--keep=8M"):
            self.near(t["anon_bytes"], 8 * MIB)
            self.near(t["peak_bytes"], 128 * MIB)

    def test_stagger(self):
        s = storm("--tasks=3", "--size=1M", "--stagger=30ms", "--bystander=none")["storms"][0]
        self.assertGreaterEqual(s["kill_end_ns"] - s["kill_ns"], 60_000_000)
        exits = sorted(t["exit_ns"] for t in s["tasks"])
        for i, ns in enumerate(exits):
            self.assertGreaterEqual(ns, s["kill_ns"] + i * 30_000_000)

    def test_thread_churn(self):
        j = storm("--thread-churn=200", "--size=16M", "--pause=50ms", *TINY)
        s = j["storms"][0]
        self.assertEqual(len(s["tasks"]), 1)
        self.near(s["tasks"][0]["anon_bytes"], 16 * MIB)
        self.assertLess(s["ready_ns"], s["churn"]["begin_ns"])
        self.assertLess(s["churn"]["begin_ns"], s["churn"]["end_ns"])
        self.assertGreaterEqual(s["kill_ns"], s["churn"]["end_ns"] + 50_000_000)
        during = s["bystander"]["during"]["duration_ns"]
        self.assertGreaterEqual(during, s["churn"]["end_ns"] - s["churn"]["begin_ns"])


class Cleanup(unittest.TestCase):
    """A storm in its pause is stopped from outside: nothing may be left."""

    def setUp(self):
        self.name = f"pcpbench-test-{os.getpid()}"
        self.group = cgroup_dir(self.name)
        self.args = ["--tasks=3", "--size=4M", "--busy=1", "--repeat=2", "--pause=1h", *TINY]
        if self.group and os.access(os.path.dirname(self.group), os.W_OK):
            self.args.append(f"--cgroup={self.name}")
        else:
            print("SKIP: no control group may be created here; only processes are looked at")
            self.group = None

    def start(self, *args):
        process = subprocess.Popen([PCPBENCH, "storm", *self.args, *args], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def start_and_pause(self):
        process = self.start()
        self.assertIn("Storm 1 of 2", process.stdout.readline())
        self.assertTrue(wait_for(lambda: len(family(process.pid)) == 2)) # bystander and loop
        if self.group:
            self.assertTrue(os.path.isdir(self.group))
        return process, family(process.pid)

    def gone(self, pids):
        return wait_for(lambda: not any(is_alive(p) for p in pids))

    def test_signals(self):
        for signo in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            with self.subTest(signo=signo):
                process, children = self.start_and_pause()
                process.send_signal(signo)
                self.assertEqual(process.wait(30), -signo)
                self.assertTrue(self.gone(children))
                self.assertFalse(self.group and os.path.exists(self.group))

    def test_interrupt_with_tasks_alive(self):
        process = self.start("--thread-churn=1", "--tasks=1")
        self.assertTrue(wait_for(lambda: len(family(process.pid)) == 3))
        children = family(process.pid)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), -signal.SIGINT)
        self.assertTrue(self.gone(children))
        self.assertFalse(self.group and os.path.exists(self.group))

    def test_sigkill_leaves_no_process(self):
        process, children = self.start_and_pause()
        process.kill()
        process.wait(30)
        self.assertTrue(self.gone(children))
        if self.group:
            self.assertTrue(wait_for(lambda: not read(self.group + "/cgroup.procs")))
            os.rmdir(self.group)

    def test_a_task_that_dies_early_is_a_failure(self):
        process = self.start("--thread-churn=1", "--tasks=1")
        self.assertTrue(wait_for(lambda: len(family(process.pid)) == 3))
        os.kill(max(family(process.pid)), signal.SIGKILL)
        self.assertEqual(process.wait(30), 1)
        self.assertIn("before its time", process.stderr.read())
        self.assertFalse(self.group and os.path.exists(self.group))

    def test_an_existing_group_is_left_alone(self):
        if not self.group:
            self.skipTest("no control group may be created here")
        os.mkdir(self.group)
        try:
            done = run("storm", f"--cgroup={self.name}", "--tasks=1", "--size=1M", *TINY)
            self.assertEqual(done.returncode, 1)
            self.assertIn("File exists", done.stderr)
            self.assertTrue(os.path.isdir(self.group))
        finally:
            os.rmdir(self.group)

    def test_tasks_are_in_the_group(self):
        if not self.group:
            self.skipTest("no control group may be created here")
        process = self.start("--thread-churn=1", "--tasks=1")
        self.assertTrue(wait_for(lambda: read(self.group + "/cgroup.procs").split()))
        inside = [int(p) for p in read(self.group + "/cgroup.procs").split()]
        self.assertEqual(len(inside), 1)
        self.assertEqual(parent_of(inside[0]), process.pid)
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        self.assertFalse(os.path.exists(self.group))


if __name__ == "__main__":
    unittest.main()
