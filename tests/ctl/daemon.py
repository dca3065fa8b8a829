# SPDX-License-Identifier: GPL-2.0-or-later
"""A pcptuned of a test's own, and storms for it."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from case import CAN_MOUNT, FRACTION, Case, need
from machines import PATIENCE, mounted, read

PCPTUNED = os.path.abspath(sys.argv.pop(1))
PCPBENCH = os.path.abspath(sys.argv.pop(1))
need_fake = need(CAN_MOUNT and os.path.exists(FRACTION),
                 "needs root, mount namespaces and vm.percpu_pagelist_high_fraction")
# Each storm here exceeds the target, and none is doubted because busy CPUs free it late.
SENSITIVE = ("[Daemon]\nKnobTimeout=30s\n[Signals]\nVmstat=no\n[Policy]\nTargetWait=1us\n"
             "[Storm]\nTaskSize=64M\nStormSize=64M\nHold=300ms\n")
STORM = ["storm", "--tasks=3", "--size=100M", "--bystander=none"]


def until(what, patience=PATIENCE / 2):
    """The first truthy answer."""
    end = time.monotonic() + patience
    while True:
        answer = what()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"not within {patience} s")
        time.sleep(0.05)


class DaemonCase(Case):
    """self.start() starts one with a state directory of its own."""
    def setUp(self):
        super().setUp()
        self.state = tempfile.mkdtemp(dir="/dev/shm", prefix="pcptunectl-")
        self.addCleanup(shutil.rmtree, self.state)
        self.env["RUNTIME_DIRECTORY"] = self.state
        self.env["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={self.dir}/no-system-bus"
        self.log = os.path.join(self.dir, "log")
        self.process, self.wrap = None, []
        if CAN_MOUNT:
            self.wrap = mounted(self.empty_lists())

    def empty_lists(self):
        """Full lists are a reason to leave a storm alone, and other tests fill them: to ours they
        are empty."""
        path = self.path("zoneinfo", re.sub(r"(?m)^(\s+count:\s+)\d+$", r"\g<1>0",
                                            read("/proc/zoneinfo")))
        return f"mount --bind '{path}' /proc/zoneinfo"

    def fake_knob(self, value):
        """Everybody who is wrapped sees a file for the sysctl."""
        self.knob = self.path("knob", f"{value}\n")
        self.wrap = mounted(self.empty_lists() + f"\nmount --bind '{self.knob}' {FRACTION}")

    def start(self, *args, config=SENSITIVE):
        self.settings = self.path("daemon.conf", config)
        with open(self.log, "ab") as log, open(self.log + ".err", "ab") as err:
            self.process = subprocess.Popen(
                [*self.wrap, PCPTUNED, f"--config={self.settings}", "--log-format=json", *args],
                stdin=subprocess.DEVNULL, stdout=log, stderr=err, env=self.env)
        self.addCleanup(self.end)
        until(self.is_up)

    def is_up(self):
        if self.process.poll() is not None:
            with open(self.log + ".err", encoding="utf-8") as err:
                raise AssertionError(f"pcptuned ended with {self.process.returncode}: {err.read()}")
        done = self.ctl("events", "--json")
        return done.returncode == 0 and '"event":"started"' in done.stdout

    def end(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
            self.process.wait(PATIENCE)

    def ctl(self, *args):
        return self.run_it(*args, wrap=self.wrap)

    def storm(self):
        subprocess.run([PCPBENCH, *STORM], capture_output=True, timeout=PATIENCE, check=True)

    def tuned(self):
        """What the knob is tuned to, for as long as Hold=."""
        def value():
            self.storm()
            return read(self.knob) != "0\n" and read(self.knob)
        return until(value)
