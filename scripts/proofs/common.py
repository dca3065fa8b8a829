# SPDX-License-Identifier: GPL-2.0-or-later
"""What the proofs share: a pcptuned to watch, a pcpbench to storm, and the joining of the two."""
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

BIN = os.path.join(os.environ.get("PCPTUNED_BUILD", "build"), "bin")
PCPTUNED = os.path.join(BIN, "pcptuned")
PCPBENCH = os.path.join(BIN, "pcpbench")
FRACTION = "/proc/sys/vm/percpu_pagelist_high_fraction"
MIB = 1 << 20


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def finish(holds, figure):
    """Prints the figure last; the exit code says whether the claim holds."""
    print(figure if holds else f"DOES NOT HOLD: {figure}")
    sys.exit(0 if holds else 1)


def read_fraction():
    with open(FRACTION) as f:
        return int(f.read())


def write_fraction(value):
    with open(FRACTION, "w") as f:
        f.write(str(value))


def need_root():
    if os.geteuid() != 0:
        skip("needs root (taskstats, and a writable sysctl)")
    if not os.path.exists(FRACTION):
        skip("this kernel has no vm.percpu_pagelist_high_fraction")
    if not os.access(FRACTION, os.W_OK):
        skip("vm.percpu_pagelist_high_fraction cannot be written here")


class SysctlKept:
    """Leaves the sysctl as found, whatever happens within."""

    def __enter__(self):
        self.found = read_fraction() if os.path.exists(FRACTION) else None
        return self

    def __exit__(self, *exc):
        if self.found is not None and read_fraction() != self.found:
            write_fraction(self.found)
            if not exc[0]:
                print(f"note: the sysctl had to be put back to {self.found}")


class Daemon:
    """A pcptuned with JSON events, with a configuration of its own and none of the machine's. It
    tames exit storms alone unless asked to: the tasks of a benchmark are a start storm first."""

    def __init__(self, settings="", args=(), wrap=(), wait=True, starts=False):
        self.config = tempfile.NamedTemporaryFile("w", suffix=".conf")
        if not starts:
            self.config.write("[Storm]\nStartStorms=no\n")
        self.config.write(settings)
        self.config.flush()
        # On a machine with systemd /run is a tmpfs; on this one perhaps not.
        self.state = tempfile.mkdtemp(prefix="pcptuned-proof-", dir="/dev/shm")
        self.events = []
        self.lines = threading.Condition()
        env = dict(os.environ, RUNTIME_DIRECTORY=self.state)
        self.process = subprocess.Popen(
            [*wrap, PCPTUNED, f"--config={self.config.name}", "--log-format=json", *args],
            stdout=subprocess.PIPE, text=True, env=env)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if wait:
            self.wait_for(lambda e: e["event"] == "started", 20)

    def _read(self):
        for line in self.process.stdout:
            event = json.loads(line)
            with self.lines:
                self.events.append(event)
                self.lines.notify_all()

    def wait_for(self, wanted, timeout, after=0):
        """The first event from index `after` that is wanted; None after the timeout."""
        end = time.monotonic() + timeout
        with self.lines:
            while True:
                for event in self.events[after:]:
                    if wanted(event):
                        return event
                left = end - time.monotonic()
                if left <= 0:
                    return None
                self.lines.wait(left)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.reader.join(5)
        subprocess.run(["rm", "-rf", self.state], check=False)
        return self.process.returncode

    def pid(self):
        """Of pcptuned itself, also below a wrapper such as strace."""
        return self.process.pid

    def voluntary_switches(self):
        total = 0
        for task in os.listdir(f"/proc/{self.pid()}/task"):
            with open(f"/proc/{self.pid()}/task/{task}/status") as f:
                total += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", f.read(), re.M)[1])
        return total


def bench(*args):
    done = subprocess.run([PCPBENCH, "storm", "--json", *args], stdout=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode == 3:
        skip("the storm does not fit into this machine's memory")
    if done.returncode != 0:
        finish(False, f"pcpbench failed with {done.returncode}")
    return json.loads(done.stdout)


def empty_lists():
    """Full lists are a reason to leave a storm alone (REASON_PRICE), whatever the proof is about.
    vmstat_update() drains what exceeds high within two vm.stat_interval of a second."""
    found = read_fraction()
    write_fraction(2147483647)
    time.sleep(2.5)
    write_fraction(found)


def quiet_machine():
    """Waits until what earlier proofs exited has been seen and forgotten."""
    time.sleep(1.5)


def ms(ns):
    return ns / 1e6


def median(values):
    return statistics.median(values)
