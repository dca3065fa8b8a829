#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults, injected into the real pcptuned: of each the line that an operator reads, that it goes on
(or ends with the documented code), and that the sysctl is as it was found.

Usage: faults.py [--markdown] PCPTUNED SHIM FEED [NAME...]

No sysctl of this machine is written: pcptuned sees a file in its place, in a mount namespace of its
own. No storm of this machine is needed: the shim (shim.c) tells of a few small processes that they
are large. Exit codes: 0 all survived, 1 not all, 77 nothing can be shown here.
"""
import concurrent.futures
import contextlib
import functools
import json
import mmap
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FRACTION = "/proc/sys/vm/percpu_pagelist_high_fraction"
PATIENCE = 20 # s: how long anything may take before it counts as lost
ENOMEM, EIO, EPERM, ENOENT, EINVAL, EROFS = 12, 5, 1, 2, 22, 30
ENOBUFS, EOPNOTSUPP, EAFNOSUPPORT, EMFILE, EBUSY = 105, 95, 97, 24, 16
NLE_OBJ_NOTFOUND, NLE_PERM = 12, 27
HOUR = 3600 * 10**9
AT_ONCE = 4
SETTINGS = ("[Policy]\nTargetWait=1us\nWritesPerHour=1000\n[Storm]\nTaskSize=1M\nStormSize=1M\n"
            "Hold=50ms\nStartStorms=no\n[Signals]\nVmstat=no\n[Daemon]\nTick=1s\n")

with open(os.path.join(HERE, "control.h"), encoding="ascii") as header:
    WORDS = re.findall(r"^ {4}([A-Z_]+),", header.read(), re.M)


class Failed(Exception):
    pass


class NotHere(Exception):
    """It cannot be shown on this machine."""


def check(holds, what):
    if not holds:
        raise Failed(what)


def read(path):
    with open(path, encoding="ascii", errors="replace") as f:
        return f.read()


class Control:
    """The words of control.h."""

    def __init__(self, path):
        with open(path, "wb") as f:
            f.write(bytes(8 * len(WORDS)))
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 0)

    def __setitem__(self, name, value):
        struct.pack_into("q", self.map, 8 * WORDS.index(name), value)

    def __getitem__(self, name):
        return struct.unpack_from("q", self.map, 8 * WORDS.index(name))[0]


class Fault:
    """One pcptuned with what it sees of the machine, and what goes wrong with that."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="pcptuned-fault-", dir="/dev/shm")
        os.chmod(self.dir, 0o755)
        self.control = Control(self.path("control"))
        self.control["FEED_ONLY"] = 1
        self.starves = False
        # A name that no other process of the machine has, for others may test here as well.
        self.feeder = "feed" + os.path.basename(self.dir)[-8:]
        os.symlink(FEED, self.path(self.feeder))
        self.state = self.path("state")
        self.knob = self.put("knob", "0\n")
        # Lists that are full are a reason to leave a storm alone: here they are empty.
        self.zones = re.sub(r"(?m)^( {14}count:\s+)\d+$", r"\g<1>0", read("/proc/zoneinfo"))
        self.binds = [(self.knob, FRACTION), (self.put("zoneinfo", self.zones), "/proc/zoneinfo")]
        # What the control group of our processes holds would bound what they announce.
        self.mounts = ["mount -t tmpfs none /sys/fs/cgroup"]
        self.env = {k: v for k, v in os.environ.items() if k not in (
            "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM")}
        self.env["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={self.dir}/system_bus_socket"
        self.env["RUNTIME_DIRECTORY"] = self.state
        self.wrap = []
        self.preexec = None
        self.process = None
        self.reader = None
        self.events = []
        self.changed = threading.Condition()
        self.children = []

    def path(self, name):
        return os.path.join(self.dir, name)

    def put(self, name, text):
        """The file of that name gets another text, but stays the same file."""
        with open(self.path(name), "w", encoding="ascii") as f:
            f.write(text)
        return self.path(name)

    def value(self):
        """The file in the sysctl's place is empty between open(2) and write(2)."""
        end = time.monotonic() + 1
        while not (text := read(self.knob)):
            check(time.monotonic() < end, "the sysctl is empty")
        return int(text)

    def metered(self):
        """Settings with which storms() knows something."""
        return f"{SETTINGS}[Report]\nMetricsFile={self.path('storms.prom')}\n"

    def storms(self):
        """How many it has seen."""
        try:
            text = read(self.path("storms.prom"))
        except FileNotFoundError: # not yet
            return None
        return int(re.search(r"(?m)^pcptuned_storms_total (\d+)$", text)[1])

    # --- pcptuned ---

    def command(self, *args):
        script = "".join(f"mount --bind '{a}' '{b}'\n" for a, b in self.binds)
        script += "\n".join(self.mounts) + '\nexec "$@"'
        shim = ["env", f"LD_PRELOAD={SHIM}", f"FAULT_CONTROL={self.path('control')}",
                f"FAULT_FEED={self.feeder}"]
        return ["unshare", "--mount", "--propagation=private", "sh", "-ec", script, "sh",
                *self.wrap, *shim, PCPTUNED, *args]

    def start(self, settings=SETTINGS, args=("--log-format=json",), stdout=subprocess.PIPE,
              stderr=subprocess.DEVNULL, wait=True):
        self.put("conf", settings)
        self.events = []
        self.process = subprocess.Popen(
            self.command(f"--config={self.path('conf')}", *args), stdin=subprocess.DEVNULL,
            stdout=stdout, stderr=stderr, text=True, env=self.env, preexec_fn=self.preexec)
        if stdout == subprocess.PIPE:
            self.reader = threading.Thread(target=self._read, args=[self.process], daemon=True)
            self.reader.start()
        if wait:
            self.line("^pcptuned .*, mode ", "started")
        return self

    def _read(self, process):
        for text in process.stdout:
            try:
                event = json.loads(text)
            except json.JSONDecodeError:
                if self.starves: # json-c goes on where its text cannot grow
                    continue
                raise
            if not event.get("event") or not event.get("message"):
                continue # out of memory a field may be missing
            with self.changed:
                self.events.append(event)
                self.changed.notify_all()

    def find(self, pattern, kind=None, after=0, timeout=PATIENCE):
        def found():
            return next((e for e in self.events[after:] if re.search(pattern, e["message"]) and
                         kind in (None, e["event"])), None)
        with self.changed:
            return self.changed.wait_for(found, timeout)

    def line(self, pattern, kind=None, after=0, timeout=PATIENCE):
        """The message of the first event like that."""
        event = self.find(pattern, kind, after, timeout)
        check(event, f"no line like {pattern!r}: {[e['message'] for e in self.events]}")
        return event["message"]

    def run(self, *args):
        """To its end."""
        return subprocess.run(self.command(*args), env=self.env, capture_output=True, text=True,
                              timeout=PATIENCE, check=False, preexec_fn=self.preexec)

    def end(self, code=0, by_itself=False):
        if not by_itself:
            self.process.terminate()
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failed("it does not end") from None
        if self.reader:
            self.reader.join(PATIENCE)
        check(status == code, f"ended with {status}, not {code}")

    def wait(self, wanted, what, timeout=PATIENCE):
        end = time.monotonic() + timeout
        while not wanted():
            check(time.monotonic() < end, what)
            time.sleep(0.01)

    # --- storms ---

    def feed(self, pid, kb=1 << 20, times=1):
        """The exits of small processes are told as those of this one, with so much memory."""
        self.control["FEED_KB"] = kb
        self.control["FEED_PID"] = pid
        for _ in range(times):
            subprocess.run([self.path(self.feeder)], check=True)
        self.control["FEED_PID"] = 0

    def task(self):
        child = subprocess.Popen([self.path(self.feeder), "wait"])
        self.children.append(child)
        end = time.monotonic() + PATIENCE # until then its name is that of Python
        while read(f"/proc/{child.pid}/comm") != self.feeder + "\n" and time.monotonic() < end:
            time.sleep(0.001)
        return child

    def begin(self, tasks=2):
        """A storm of tasks that do not end."""
        children = [self.task() for _ in range(tasks)]
        for child in children:
            self.feed(child.pid)
        return children

    def begin_tamed(self, tasks=2):
        """One that has changed the sysctl."""
        children = self.begin(tasks)
        self.wait(lambda: self.value() >= 8, "a storm did not change the sysctl")
        return children

    def restored(self):
        self.wait(lambda: self.value() == 0, "the sysctl was not restored")

    @staticmethod
    def finish(children):
        for child in children:
            child.kill()
            child.wait()

    def storm(self, tasks=2):
        """One that is tamed, and everything is as before when it is over. The value that it had."""
        after = len(self.events)
        children = self.begin_tamed(tasks)
        self.line("storm", "storm", after)
        value = self.value()
        self.finish(children)
        self.line("originals restored", "restored", after)
        self.restored()
        return value

    def tames_with(self, pattern, kind):
        """Told so, and a storm is tamed all the same. The line."""
        self.start()
        text = self.line(pattern, kind)
        self.storm()
        self.end()
        return text

    def storm_seen(self):
        """One that is perhaps not tamed, nor told if the one before was like it."""
        before = self.storms() or 0
        children = self.begin()
        self.wait(lambda: (self.storms() or 0) > before, "a storm was not seen")
        self.finish(children)

    def storm_left_alone(self):
        """One that is seen, but nothing is written."""
        writes = self.control["KNOB_WRITES"]
        self.storm_seen()
        self.wait(lambda: "left-alone" in [e["event"] for e in self.events],
                  "a storm that was left alone was not told")
        check(self.control["KNOB_WRITES"] == writes, "something was written")

    def calm_again(self):
        """After FEED_ONLY=0: whoever else exits on this machine is no storm of ours any more."""
        self.control["FEED_ONLY"] = 1
        self.restored()
        time.sleep(0.2)
        self.storm()

    def exits_seen(self):
        """As it tells at its end."""
        return int(re.search(r"saw (\d+) large exits", self.line("^stopped"))[1])

    def close(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()
        subprocess.run(["umount", "-q", self.state], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.dir, ignore_errors=True)


FAULTS = []


def fault(name, works, alone=False):
    """alone: others' exits would be seen as well."""
    def add(function):
        FAULTS.append((name, works, function, alone))
        return function
    return add


# --- taskstats -----------------------------------------------------------------------------------

@fault("netlink socket overrun (ENOBUFS)", "storms are tamed for the exits that were heard of")
def overrun(f):
    f.start()
    for _ in range(3):
        f.control["RECV_ERRNO"] = ENOBUFS
        f.control["RECV_ERRNO_TIMES"] = 100
        f.storm()
    text = f.line("messages of exits were lost", "signal")
    f.end()
    check(f.control["RECV_ERRNO_TIMES"] == 0, "the fault was not met")
    return text


def without_taskstats(f, word, value, pattern):
    f.control[word] = value
    f.start()
    text = f.line(f"{pattern}.*; no storm is seen, for Vmstat=no$", "signal")
    f.control[word] = 0 # it may be had later
    f.line("exits are announced again", "signal")
    f.storm()
    f.end()
    return text


@fault("taskstats refused (EPERM)", "storms are seen in vmstat; back within a tick once permitted")
def refused_family(f):
    return without_taskstats(f, "REGISTER_ERROR", NLE_PERM, "CAP_NET_ADMIN is missing")


@fault("no taskstats in the kernel", "storms are seen in vmstat unless Vmstat=no")
def missing_family(f):
    return without_taskstats(f, "FAMILY_ERROR", NLE_OBJ_NOTFOUND, "CONFIG_TASKSTATS")


HOLDER = """import mmap, time
m = mmap.mmap(-1, 256 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)
print(flush=True)
time.sleep(99)"""


@fault("no taskstats in the kernel, and 1 GiB goes",
       "it is seen in vmstat, and tamed unless the kernel's lists are too full", alone=True)
def storm_in_vmstat(f):
    f.control["FAMILY_ERROR"] = NLE_OBJ_NOTFOUND
    f.start(SETTINGS.replace("Vmstat=no", "Vmstat=yes").replace("Size=1M", "Size=256M"))
    f.line("CONFIG_TASKSTATS; storms are seen in /proc/vmstat, up to 500 ms late$", "signal")

    def seen():
        return next((e for e in f.events if e.get("group") == "seen in vmstat"), None)
    # Memory of others may grow while this goes, and hide it.
    for _ in range(3):
        holders = [subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE)
                   for _ in range(4)]
        f.children += holders
        for holder in holders:
            check(holder.stdout.readline() == b"\n", "no memory for a storm")
        time.sleep(0.6)
        f.finish(holders)
        for holder in holders:
            holder.stdout.close()
        with f.changed:
            if f.changed.wait_for(seen, 2):
                break
    event = seen()
    check(event, f"1 GiB went unseen: {[e['message'] for e in f.events]}")
    check(event["event"] == "storm" or event["reason"] == "price", event)
    f.restored()
    f.end()
    check(event["event"] != "storm" or f.control["KNOB_WRITES"] >= 2, "nothing was written")
    return event["message"]


@fault("taskstats refused while Vmstat=no becomes yes", "the line tells how storms are seen now")
def vmstat_later(f):
    f.control["FAMILY_ERROR"] = NLE_OBJ_NOTFOUND
    f.start()
    f.line("CONFIG_TASKSTATS; no storm is seen, for Vmstat=no$", "signal")
    f.put("conf", SETTINGS.replace("Vmstat=no", "Vmstat=yes"))
    f.process.send_signal(signal.SIGHUP)
    text = f.line("CONFIG_TASKSTATS; storms are seen in /proc/vmstat, up to 500 ms late$", "signal")
    f.end()
    return text


@fault("taskstats cannot be filtered in the kernel", "everything, with a wake-up for each exit")
def no_filter(f):
    f.control["FILTER_ERRNO"] = EPERM
    return f.tames_with("the layout of taskstats could not be verified; .*every exit wakes us",
                        "signal")


@fault("no netlink at all (EAFNOSUPPORT)", "storms are seen in vmstat unless Vmstat=no")
def no_netlink(f):
    return without_taskstats(f, "SOCKET_ERRNO", EAFNOSUPPORT, "exits are not announced: ")


@fault("the socket dies within a storm", "the storm is undone; a new socket within a tick")
def socket_dies(f):
    f.start()
    children = f.begin_tamed()
    f.control["RECV_ERRNO"] = EIO
    f.control["RECV_ERRNO_TIMES"] = 1
    f.feed(children[0].pid)
    text = f.line("exits are not announced any more", "signal")
    f.restored()
    f.line("exits are announced again", "signal")
    f.finish(children)
    f.storm()
    f.end()
    return text


def known_layout(f, **words):
    for word, value in words.items():
        f.control[word] = value
    f.start()
    f.storm()
    f.end()
    check(f.exits_seen() == 2, "not each exit was understood")
    return f.line("^stopped")


@fault("struct taskstats of version 10 (Linux 5.14)", "everything")
def version_10(f):
    return known_layout(f, STATS_VERSION=10, STATS_CUT=352)


@fault("struct taskstats of version 11 (Linux 5.17)", "everything")
def version_11(f):
    return known_layout(f, STATS_VERSION=11, STATS_CUT=368)


@fault("struct taskstats of a version to come, longer", "everything")
def version_99(f):
    return known_layout(f, STATS_VERSION=99, STATS_GROW=800)


def unknown_layout(f, **words):
    for word, value in words.items():
        f.control[word] = value
    f.start()
    text = f.line("exits are not announced: this kernel's struct taskstats is not known", "signal")
    f.end()
    check(f.value() == 0 and f.control["KNOB_WRITES"] == 0, "something was written")
    return text


@fault("struct taskstats too short", "storms are seen in vmstat unless Vmstat=no")
def short_struct(f):
    return unknown_layout(f, STATS_CUT=100)


@fault("struct taskstats of a layout that nobody knows",
       "storms are seen in vmstat unless Vmstat=no")
def moved_fields(f):
    return unknown_layout(f, STATS_SHIFT=8)


@fault("the layout changes under us: every message is rubbish", "nothing is acted on; restores are")
def rubbish_later(f):
    f.start()
    children = f.begin_tamed()
    f.control["STATS_CUT"] = 100
    f.feed(children[0].pid, times=20)
    f.finish(children)
    text = f.line("originals restored", "restored")
    f.control["STATS_CUT"] = 0
    f.storm()
    f.end()
    return text


# --- files of the kernel -------------------------------------------------------------------------

@fault("PSI compiled out", "everything else")
def psi_missing(f):
    os.mkdir(f.path("empty"))
    f.binds.append((f.path("empty"), "/proc/pressure"))
    return f.tames_with("no pressure information: compiled out", "signal")


@fault("PSI switched off (EOPNOTSUPP)", "everything else")
def psi_off(f):
    f.control["PSI_ERRNO"] = EOPNOTSUPP
    return f.tames_with("no pressure information: switched off", "signal")


@fault("PSI switched off, as psi_show() tells it (EOPNOTSUPP at read)", "everything else")
def psi_off_read(f):
    f.control["PSI_READ_ERRNO"] = EOPNOTSUPP
    return f.tames_with("no pressure information: switched off", "signal")


@fault("PSI can be read, but takes no trigger (EOPNOTSUPP at write)", "everything else")
def psi_no_trigger(f):
    f.control["PSI_WRITE_ERRNO"] = EOPNOTSUPP
    text = f.tames_with("no trigger on memory pressure: Operation not supported", "signal")
    check(not f.find("no pressure information", None, 0, 0), "it was not read")
    return text


@fault("the PSI trigger dies (EPOLLERR)", "everything else")
def psi_trigger_dies(f):
    os.mkfifo(f.path("trigger"))
    f.env["FAULT_TRIGGER"] = f.path("trigger")
    other_end = os.open(f.path("trigger"), os.O_RDONLY | os.O_NONBLOCK)
    f.start()
    f.storm()
    os.close(other_end)
    text = f.line("the trigger on memory pressure is void", "signal")
    f.storm()
    f.end()
    return text


@fault("PSI vanishes, and comes back", "everything else; no old reading is taken for a new one")
def psi_vanishes(f):
    f.start()
    f.control["PSI_ERRNO"] = EOPNOTSUPP
    text = f.line("pressure information cannot be read any more", "signal")
    f.storm()
    f.control["PSI_ERRNO"] = 0
    f.line("pressure information can be read again", "signal")
    f.end()
    return text


def with_vmstat(f, text):
    f.binds.append((f.put("vmstat", text), "/proc/vmstat"))
    f.start(SETTINGS.replace("Vmstat=no", "Vmstat=yes"))


@fault("vmstat is empty from the start", "everything but the check of what was announced")
def vmstat_empty(f):
    with_vmstat(f, "")
    text = f.line("/proc/vmstat cannot be read: .*; false alarms go unnoticed", "signal")
    f.storm()
    f.end()
    return text


@fault("vmstat cannot be read for a while", "everything but the check of what was announced")
def vmstat_vanishes(f):
    before = read("/proc/vmstat")
    with_vmstat(f, before)
    f.put("vmstat", "")
    text = f.line("/proc/vmstat cannot be read any more: .*; false alarms go unnoticed", "signal")
    f.storm()
    f.put("vmstat", before)
    f.line("/proc/vmstat can be read again", "signal")
    f.end()
    return text


@fault("neither taskstats nor vmstat can be read", "it says that no storm is seen")
def nothing_seen(f):
    f.control["FAMILY_ERROR"] = NLE_OBJ_NOTFOUND
    with_vmstat(f, "")
    text = f.line("CONFIG_TASKSTATS; no storm is seen, for /proc/vmstat cannot be read$", "signal")
    f.end()
    return text


def zoneinfo_becomes(f, text, pattern):
    f.start(f.metered())
    f.put("zoneinfo", text)
    f.storm() # it is read after each
    line = f.line(pattern, "signal")
    f.storm_left_alone()
    f.put("zoneinfo", f.zones)
    f.storm_seen()
    f.line("/proc/zoneinfo can be read again", "signal")
    f.storm()
    f.end()
    return line


@fault("zoneinfo cut short", "storms are only reported, until it can be read")
def zoneinfo_cut(f):
    return zoneinfo_becomes(f, f.zones[:len(f.zones) * 2 // 3], r"/proc/zoneinfo:\d+: ")


@fault("zoneinfo empty", "storms are only reported, until it can be read")
def zoneinfo_empty(f):
    return zoneinfo_becomes(f, "", "/proc/zoneinfo:")


@fault("zoneinfo is rubbish", "storms are only reported, until it can be read")
def zoneinfo_rubbish(f):
    return zoneinfo_becomes(f, "Node 0, zone Normal\n" * 9 + "\x01" * 100, "/proc/zoneinfo:")


@fault("zoneinfo of 2 MB", "everything")
def zoneinfo_large(f):
    zone = f.zones[f.zones.index("Node 0, zone   Normal"):].split("\nNode ")[0].rstrip("\n") + "\n"
    cpu = re.search(r"(?s)    cpu: 0\n.*?(?=    cpu: |  node_unreclaimable)", zone)[0]
    many = "".join(re.sub("cpu: 0", f"cpu: {i}", cpu) for i in range(12000))
    f.put("zoneinfo", zone.replace(cpu, many, 1) if "cpu: 1" not in zone else
          re.sub(r"(?s)    cpu: 0\n.*?(?=  node_unreclaimable)", many, zone))
    size = os.path.getsize(f.path("zoneinfo"))
    check(size > 2 << 20, f"only {size} bytes")
    f.start()
    f.storm()
    f.end()
    return f.line("^stopped")


@fault("zoneinfo grows from reading to reading", "everything, with the nodes that came")
def zoneinfo_grows(f):
    # Of a larger zone the share that is an equally short list is smaller.
    larger = re.sub(r"(managed +)(\d+)", lambda m: f"{m[1]}{4 * int(m[2])}", f.zones)
    f.start()
    before = f.storm()
    text = f.zones
    for node in range(1, 6):
        text += larger.replace("Node 0", f"Node {node}")
        f.put("zoneinfo", text)
        value = f.storm()
    f.end()
    check(not any(e["event"] == "signal" and "zoneinfo" in e["message"] for e in f.events),
          "it could not be read")
    check(value > 2 * before, f"{before} became {value}: the new nodes were not looked at")
    return f.line("^stopped")


@fault("CPUs come and go in a storm", "everything; messages are waited for on all possible CPUs")
def cpu_hotplug(f):
    before = read("/sys/devices/system/cpu/online")
    f.binds.append((f.put("online", before), "/sys/devices/system/cpu/online"))
    f.start(f.metered())
    over = threading.Event()

    def flap():
        i = 0
        while not over.wait(0.002): # between two of these the file is empty for a moment, too
            f.put("online", ("0\n", "0-1\n", "0,3,5-7\n", "", "rubbish", "0-")[i % 6])
            i += 1
    thread = threading.Thread(target=flap)
    thread.start()
    for _ in range(4):
        f.storm_seen()
        time.sleep(0.7)
    over.set()
    thread.join()
    f.put("online", "0-6\n")
    text = f.line("the machine changed: 7 of ", "notice")
    after = len(f.events)
    f.put("online", before)
    f.line("the machine changed: ", "notice", after)
    f.storm()
    f.end()
    return text


@fault("no socket for CPUs that came (EMFILE)", "the others; it is tried again at each tick")
def cpus_missed(f):
    files = {name: read(f"/sys/devices/system/cpu/{name}") for name in ("online", "possible")}
    for name, text in files.items():
        f.binds.append((f.put(name, text), f"/sys/devices/system/cpu/{name}"))
    f.start()
    f.control["SOCKET_ERRNO"] = EMFILE
    for name in files:
        f.put(name, "0\n")
    text = f.line("exits on new CPUs are not announced: ", "signal")
    f.control["SOCKET_ERRNO"] = 0
    f.line("exits on new CPUs are announced", "signal")
    for name, before in files.items():
        f.put(name, before)
    f.line("the machine changed: ", "notice", len(f.events))
    f.storm()
    f.end()
    return text


@fault("memory comes and goes in a storm", "everything; the lists are read anew after the storm")
def memory_hotplug(f):
    before = read("/proc/meminfo")
    f.binds.append((f.put("meminfo", before), "/proc/meminfo"))
    f.start()
    children = f.begin_tamed()
    for i in range(200):
        f.put("meminfo", re.sub(r"MemTotal: +\d+", f"MemTotal: {(8 + i % 5) << 20}", before))
        f.put("zoneinfo", f.zones.replace("Node 0", "Node 1") if i % 3 else f.zones)
        time.sleep(0.01)
    f.put("meminfo", before)
    f.put("zoneinfo", f.zones)
    text = f.line("the machine changed: ", "notice")
    f.finish(children)
    f.restored()
    f.storm()
    f.end()
    return text


# --- the sysctl ----------------------------------------------------------------------------------

@fault("no sysctl (Linux before 5.14)", "the code is 69, which the unit counts as success")
def no_sysctl(f):
    os.mkdir(f.path("empty"))
    f.binds = [(f.path("empty"), "/proc/sys/vm")]
    f.start(wait=False)
    f.end(69, by_itself=True)
    return f.line("5.14 and later have.: nothing to tune", "stopped")


@fault("sysctl read-only from the start (EROFS)", "storms are reported with what would be done")
def sysctl_readonly(f):
    f.mounts.append(f"mount -o remount,bind,ro '{FRACTION}'")
    f.start(f.metered())
    text = f.line("cannot be written .Read-only file system.: .*dry run", "notice")
    f.storm_seen()
    f.line("storm 1: .*would", "storm")
    f.end()
    check(f.control["KNOB_WRITES"] == 0, "it was written all the same")
    return text


def refused(f, word, error, pattern):
    f.start(f.metered())
    f.control[word] = error
    children = f.begin()
    text = f.line(f"{pattern}; storms are only reported from now on", "refused")
    f.finish(children)
    f.control[word] = 0
    time.sleep(1.2) # it waits before it would try again
    f.storm_left_alone()
    f.end()
    check(f.control["KNOB_WRITES"] == 0, "it was written all the same")
    return text


@fault("sysctl becomes read-only (EROFS)", "storms are reported")
def write_erofs(f):
    return refused(f, "KNOB_OPEN_ERRNO", EROFS, "refused: Read-only file system")


@fault("sysctl is forbidden (EPERM)", "storms are reported")
def write_eperm(f):
    return refused(f, "KNOB_OPEN_ERRNO", EPERM, "refused: Operation not permitted")


@fault("sysctl takes no such value (EINVAL)", "storms are reported")
def write_einval(f):
    return refused(f, "KNOB_WRITE_ERRNO", EINVAL, "refused: Invalid argument")


@fault("sysctl vanishes", "storms are reported")
def sysctl_vanishes(f):
    f.start()
    f.control["KNOB_OPEN_ERRNO"] = f.control["KNOB_READ_ERRNO"] = ENOENT
    children = f.begin()
    text = f.line("No such file", "refused")
    f.finish(children)
    f.end()
    return text


@fault("sysctl cannot be read at the start (EIO)", "storms are reported; read again each minute")
def sysctl_unreadable(f):
    f.control["KNOB_READ_ERRNO"] = EIO
    f.start(f.metered(), wait=False)
    text = f.line("the sysctls cannot be read", "notice")
    f.storm_left_alone()
    f.end()
    check(f.control["KNOB_WRITES"] == 0, "it was written all the same")
    return text


def fails_once(f, word, error, pattern):
    f.start()
    f.control[word] = error
    children = f.begin()
    text = f.line(f"changing it failed: {pattern}; it is tried again", "refused")
    check(f.control["KNOB_WRITES"] == 0, "it was written all the same")
    f.control[word] = 0
    f.finish(children)
    f.restored()
    time.sleep(1.5)
    f.storm()
    f.end()
    return text


@fault("sysctl fails once (EIO)", "the next storm is tamed")
def write_fails_once(f):
    return fails_once(f, "KNOB_WRITE_ERRNO", EIO, "Input/output error")


@fault("no descriptor for the sysctl (EMFILE)", "the next storm is tamed")
def no_descriptor_to_write(f):
    return fails_once(f, "KNOB_OPEN_ERRNO", EMFILE, "Too many open files")


@fault("no descriptor for the undo journal (EMFILE)",
       "nothing is changed that could not be undone; the next storm is tamed")
def no_descriptor_for_journal(f):
    return fails_once(f, "JOURNAL_ERRNO", EMFILE, "Too many open files")


@fault("sysctl fails when it is to be given back (EIO)", "it is tried again until it is given back")
def restore_fails(f):
    f.start()
    children = f.begin_tamed()
    f.control["KNOB_WRITE_ERRNO"] = EIO
    f.finish(children)
    text = f.line("restoring it failed", "refused")
    check(f.value() >= 8, "it was restored all the same")
    f.control["KNOB_WRITE_ERRNO"] = 0
    f.restored()
    f.storm()
    f.end()
    return text


@fault("sysctl refuses at the end of pcptuned", "ends with 1; --restore gives it back later")
def end_refused(f):
    f.start()
    children = f.begin_tamed()
    f.control["KNOB_OPEN_ERRNO"] = EROFS
    f.end(1)
    text = f.line("run pcptuned --restore", "stopped")
    f.finish(children)
    check(f.value() >= 8, "it was restored all the same")
    f.control["KNOB_OPEN_ERRNO"] = 0
    done = f.run("--restore")
    check((done.returncode, done.stdout) == (0, "restored\n"), done)
    return text


def kill_in_storm(f):
    f.start()
    children = f.begin_tamed()
    f.process.kill()
    f.process.wait()
    f.finish(children)
    check(f.value() >= 8, "who restored it?")


@fault("killed within a storm (SIGKILL)", "the next start, or --restore, gives the original back")
def killed(f):
    kill_in_storm(f)
    f.start()
    text = f.line("a predecessor was killed", "recovered")
    check(f.value() == 0, "the sysctl was not restored")
    f.storm()
    f.end()
    return text


@fault("killed within a storm, and somebody else writes the sysctl", "what they wrote stays")
def killed_and_foreign(f):
    kill_in_storm(f)
    f.put("knob", "77\n")
    f.start()
    text = f.line("somebody else has written it since: left alone", "recovered")
    check(f.value() == 77, "it was written all the same")
    f.end()
    check(f.value() == 77, "it was written at the end")
    f.put("knob", "0\n")
    return text


def fill(path):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        while True:
            os.write(fd, bytes(4096))
    except OSError:
        os.close(fd)


# --- the state directory -------------------------------------------------------------------------

@fault("killed within a storm, and the next start cannot restore yet",
       "it is tried again at each tick")
def killed_and_refused(f):
    kill_in_storm(f)
    f.control["KNOB_WRITE_ERRNO"] = EIO
    f.start()
    text = f.line("restoring it failed: Input/output error; it is tried again", "refused")
    check(f.value() >= 8, "who restored it?")
    f.control["KNOB_WRITE_ERRNO"] = 0
    f.line("a predecessor was killed", "recovered")
    check(f.value() == 0, "the sysctl was not restored")
    f.storm()
    f.end()
    return text


@fault("killed within a storm, and the next start cannot restore at all",
       "ends with 1; --restore gives it back later")
def killed_and_ended(f):
    kill_in_storm(f)
    f.control["KNOB_WRITE_ERRNO"] = EIO
    f.start()
    f.end(1)
    text = f.line("run pcptuned --restore", "stopped")
    f.control["KNOB_WRITE_ERRNO"] = 0
    done = f.run("--restore")
    check((done.returncode, done.stdout) == (0, "restored\n"), done)
    return text


@fault("state directory full (ENOSPC)",
       "nothing is changed that could not be undone; then storms are tamed again")
def state_full(f):
    os.mkdir(f.state)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=755", "none", f.state], check=True)
    f.start()
    fill(f"{f.state}/fill")
    children = f.begin()
    text = f.line("No space left on device; it is tried again", "refused")
    check(f.value() == 0, "it was written without a journal")
    f.finish(children)
    os.unlink(f"{f.state}/fill")
    time.sleep(1.5)
    f.storm()
    f.end()
    return text


@fault("state directory fills within a storm", "the original is given back all the same")
def state_fills(f):
    os.mkdir(f.state)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=755", "none", f.state], check=True)
    f.start()
    children = f.begin_tamed()
    fill(f"{f.state}/fill")
    f.finish(children)
    text = f.line("originals restored", "restored")
    f.restored()
    f.end()
    return text


def state_unusable(f, code, pattern):
    f.start(wait=False)
    f.end(code, by_itself=True)
    check(f.control["KNOB_WRITES"] == 0, "something was written")
    return f.line(pattern, "stopped")


@fault("state directory read-only", "ends with 1, nothing was touched")
def state_readonly(f):
    os.mkdir(f.state)
    f.mounts.append(f"mount -t tmpfs -o ro,mode=755 none '{f.state}'")
    return state_unusable(f, 1, "state cannot be used: Read-only file system")


@fault("state directory cannot be made (no parent)", "ends with 1, nothing was touched")
def state_missing(f):
    f.env["RUNTIME_DIRECTORY"] = f.path("none/state")
    return state_unusable(f, 1, "cannot be used: No such file")


@fault("state directory of somebody else", "ends with 77, nothing was touched")
def state_foreign(f):
    os.mkdir(f.state)
    os.chown(f.state, 65534, 65534)
    return state_unusable(f, 77, "cannot be used: its owner must be who runs pcptuned, and nobody")


@fault("state directory that others may write", "ends with 77, nothing was touched")
def state_writable(f):
    os.mkdir(f.state)
    os.chmod(f.state, 0o777)
    return state_unusable(f, 77, "cannot be used: its owner must be who runs pcptuned, and nobody")


@fault("state directory is a symbolic link", "ends with 1, nothing was touched")
def state_link(f):
    os.mkdir(f.path("target"))
    os.symlink(f.path("target"), f.state)
    text = state_unusable(f, 1, "cannot be used: (Not a directory|Too many levels)")
    check(os.listdir(f.path("target")) == [], "the link was followed")
    return text


@fault("state directory is removed within a storm", "the original is given back all the same")
def state_removed(f):
    f.start()
    children = f.begin_tamed()
    shutil.rmtree(f.state)
    f.finish(children)
    text = f.line("originals restored", "restored")
    f.restored()
    f.end()
    return text


@fault("undo journal torn", "nothing is written from it; everything else")
def journal_torn(f):
    os.mkdir(f.state)
    f.put("state/knobs.journal", "pcptuned-knobs 1\nboot 0123\nhigh_fraction original=99 la")
    return f.tames_with("journal of a predecessor is torn", "recovered")


@fault("undo journal of an earlier boot", "nothing is written from it; everything else")
def journal_old(f):
    kill_in_storm(f)
    f.put("boot_id", "01234567-89ab-cdef-0123-456789abcdef\n")
    f.put("knob", "0\n") # as a boot has it
    writes = f.control["KNOB_WRITES"]
    f.binds.append((f.path("boot_id"), "/proc/sys/kernel/random/boot_id"))
    f.start()
    text = f.line("a journal of an earlier boot was removed", "recovered")
    check(f.control["KNOB_WRITES"] == writes, "something was written from it")
    f.storm()
    f.end()
    return text


@fault("two daemons at once", "the second ends with 75, the first does not notice")
def two_daemons(f):
    f.start()
    children = f.begin_tamed()
    done = f.run(f"--config={f.path('conf')}", "--log-format=json")
    check(done.returncode == 75, done)
    check(f.value() >= 8, "the second undid what the first did")
    f.finish(children)
    f.restored()
    f.end()
    return next(json.loads(l)["message"] for l in done.stdout.splitlines() if "another" in l)


# --- time ----------------------------------------------------------------------------------------

@fault("the clocks jump an hour ahead in a storm", "the original is given back at once")
def clock_ahead(f):
    f.start()
    children = f.begin_tamed()
    f.control["CLOCK_OFFSET"] = HOUR
    text = f.line("originals restored", "restored")
    f.restored()
    f.finish(children)
    for i in range(3):
        f.storm()
        f.control["CLOCK_OFFSET"] = HOUR * (i + 2)
    f.end()
    return text


def one_clock(f, word, offset):
    """A storm in which one clock jumps: nothing that is timed goes by these clocks."""
    f.start()
    children = f.begin_tamed()
    f.control[word] = offset
    time.sleep(0.3)
    check(f.value() >= 8, "the original was given back while tasks exit")
    f.finish(children)
    text = f.line("originals restored", "restored")
    took = int(re.search(r"over after (\d+)ms", text)[1])
    check(300 <= took < 5000, text)
    f.storm()
    f.end()
    return text


@fault("the time of day is set back an hour in a storm", "everything")
def clock_back(f):
    text = one_clock(f, "REALTIME_OFFSET", -HOUR)
    first, last = (time.strptime(f.events[i]["time"][:19], "%Y-%m-%dT%H:%M:%S") for i in (0, -1))
    check(time.mktime(last) < time.mktime(first) - 1800, "it does not tell the time of day")
    return text


# CLOCK_MONOTONIC stands still meanwhile; libsystemd reads CLOCK_BOOTTIME at each turn of its loop.
@fault("the machine sleeps for an hour within a storm", "everything, from where it was")
def machine_sleeps(f):
    return one_clock(f, "BOOTTIME_OFFSET", HOUR)


@fault("suspended for seconds within a storm (SIGSTOP)", "the original is given back after it")
def suspended(f):
    f.start()
    children = f.begin_tamed()
    f.process.send_signal(signal.SIGSTOP)
    f.finish(children)
    time.sleep(2)
    f.process.send_signal(signal.SIGCONT)
    text = f.line("originals restored", "restored")
    f.restored()
    f.storm()
    f.end()
    return text


# --- resources -----------------------------------------------------------------------------------

UP = "^pcptuned .*, mode |^the sysctls cannot be read"


def sweep(numbers, attempt):
    """What came of the attempts with each number, some at a time."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(attempt, numbers))


def start_and_end(f):
    """Whether it came up: it says why where not."""
    f.start(wait=False, stderr=subprocess.PIPE)
    end = time.monotonic() + PATIENCE
    while f.process.poll() is None and not f.find(UP, None, 0, 0.02):
        check(time.monotonic() < end, f"neither starts nor ends: {f.events}")
    up = f.process.poll() is None
    if up:
        f.process.terminate()
    code = f.process.wait(PATIENCE)
    f.reader.join(PATIENCE)
    told = any("run pcptuned --restore" in e["message"] for e in f.events)
    check(code == (0 if up and not told else 1), f"ended with {code}, up {up}: {f.events}")
    return up


def with_descriptors(n):
    f = Fault()
    try:
        f.preexec = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
        up = start_and_end(f)
        check(f.value() == 0, f"{n} descriptors: the sysctl is {f.value()}")
        return up, [e["message"] for e in f.events] + f.process.stderr.read().splitlines()
    except Failed as e:
        raise Failed(f"{n} descriptors: {e}") from None
    finally:
        f.process.stderr.close()
        f.close()


@fault("out of descriptors (RLIMIT_NOFILE 8 to 40, each)",
       "it starts with what it got, or ends with 1 and says why")
def descriptors(f):
    done = sweep(range(8, 41), with_descriptors)
    check(any(up for up, _ in done), "none was enough")
    for up, lines in done:
        check(up or any("Too many open files" in l or "cannot" in l for l in lines),
              f"it ended without a word: {lines}")
    return next(l for up, lines in done if not up for l in lines if "open files" in l)


@fault("out of descriptors within a storm (EMFILE)", "ends of tasks are looked for by a timer")
def no_pidfd(f):
    f.start()
    f.control["PIDFD_ERRNO"] = EMFILE
    f.storm()
    f.end()
    return f.line("originals restored", "restored")


DROPIN = ("mount -t tmpfs none /run; mkdir -p /run/pcptuned/pcptuned.conf.d; "
          "echo '[Daemon]' >/run/pcptuned/pcptuned.conf.d/10.conf")


def starving():
    """One that reads a drop-in as well."""
    f = Fault()
    f.mounts.append(DROPIN)
    f.starves = True
    return f


def calls_of_start():
    """Allocations until the line that it started, and with those of threads thereafter."""
    with contextlib.closing(starving()) as f:
        f.start()
        up = f.control["MALLOC_CALLS"]
        time.sleep(0.3)
        calls = f.control["MALLOC_CALLS"]
        f.end()
        return up, calls


def allocates(f, until):
    """False: it has ended, or allocates nothing for 0.3 s."""
    calls, since = 0, time.monotonic()
    while not until():
        if f.process.poll() is not None or time.monotonic() > since + 0.3:
            return False
        if f.control["MALLOC_CALLS"] != calls:
            calls, since = f.control["MALLOC_CALLS"], time.monotonic()
        time.sleep(0.002)
    return True


def met(f, at):
    """Whether the allocation that fails has come."""
    return allocates(f, lambda: f.control["MALLOC_CALLS"] >= at)


def ended_starved(f):
    if f.process.poll() is None:
        f.process.terminate()
    code = f.process.wait(PATIENCE)
    f.reader.join(PATIENCE)
    check(code in (0, 1), f"ended with {code}")
    check(f.value() == 0, f"the sysctl is {f.value()}")
    return code, [e["message"] for e in f.events] + f.process.stderr.read().splitlines()


@contextlib.contextmanager
def starving_at(n, *more):
    """Of what fails by then the message says at which allocation."""
    f = starving()
    try:
        yield f
    except (Failed, subprocess.TimeoutExpired) as e:
        raise Failed(f"allocation {n} {more}: {e}") from None
    finally:
        if f.process and f.process.stderr:
            f.process.stderr.close()
        f.close()


def starved(n, rest):
    with starving_at(n, "and all after it" if rest else "") as f:
        f.control["MALLOC_FAIL_AT"] = n
        f.control["MALLOC_FAIL_REST"] = rest
        f.start(wait=False, stderr=subprocess.PIPE)
        # False: it ended, or it has started and had no memory for the line that says so.
        allocates(f, lambda: f.find(UP, None, 0, 0))
        there = met(f, n)
        f.control["MALLOC_FAIL_AT"] = 0
        code, lines = ended_starved(f)
        return code, lines, there


def starve_starts(step, rest):
    """Each step-th allocation. Threads differ from run to run: what was not met does not count."""
    up, calls = calls_of_start()
    check(up > 100, f"only {up} allocations")
    done = sweep(range(1, calls + 1, step), lambda n: starved(n, rest))
    done = [(code, lines) for code, lines, there in done if there]
    check(len(done) * step >= up, f"only {len(done)} times {step} of {up} to {calls} were met")
    words = [l for code, lines in done if code != 0 for l in lines if "memory" in l]
    check(words, "it never said why")
    silent = sum(code != 0 and not lines for code, lines in done)
    check(silent == 0, f"{silent} ended without a word")
    return f"{words[0]} ({sum(code == 0 for code, _ in done)} of {len(done)} starts succeed)"


@fault("out of memory: each allocation of the start fails",
       "it starts with less, or ends with 1 and says why")
def allocations(_):
    return starve_starts(1, 0)


@fault("out of memory: nothing can be had from the nth allocation of the start on",
       "it starts with less, or ends with 1")
def allocations_rest(_):
    return starve_starts(7, 1)


def all_there(there):
    """Threads differ a little from run to run."""
    check(sum(there) >= len(there) * 0.95, f"only {sum(there)} of {len(there)} were met")


def starved_storm(n, in_json):
    """With a metrics file and the bus; lines of text need no memory, those of JSON do."""
    text = dict(args=(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with starving_at(n) as f:
        f.start(f.metered(), wait=False, **({} if in_json else text))
        f.wait(lambda: f.storms() is not None, "it does not start")
        time.sleep(0.3)
        at = f.control["MALLOC_CALLS"] + n
        for fails in (at if n else 0, 0):
            f.control["MALLOC_FAIL_AT"] = fails
            children = f.begin_tamed()
            f.finish(children)
            f.restored()
            there = met(f, at)
        f.end()
        check(f.storms() is None, "the metrics stay")
        lines = [e["message"] for e in f.events] if in_json else list(f.process.stderr)
        line = [l for l in lines if "originals restored" in l][-1]
        return line.strip(), there, f.control["MALLOC_CALLS"] - at


def starve_storms(in_json):
    attempt = functools.partial(starved_storm, in_json=in_json)
    count = min(calls for _, _, calls in sweep([0] * 3, attempt)) // 2
    check(count > 20, f"only {count}")
    done = sweep(range(1, count + 1, 3), attempt)
    all_there([there for _, there, _ in done])
    return done[0][0]


@fault("out of memory: every third allocation of a storm fails",
       "storms are tamed, a metrics file may be late")
def allocations_storm(_):
    return starve_storms(False)


@fault("out of memory: every third allocation of a storm that is told in JSON fails",
       "storms are tamed, a field may be missing or a line broken")
def allocations_storm_json(_):
    return starve_storms(True)


@fault("out of memory: each allocation of a reload fails",
       "the configuration before stays in force, and a later reload is taken")
def allocations_reload(_):
    with contextlib.closing(starving()) as f:
        f.start()
        time.sleep(0.5)

        def reload():
            after = len(f.events)
            before = f.control["MALLOC_CALLS"]
            f.process.send_signal(signal.SIGHUP)
            f.line("configuration reloaded", "reloaded", after)
            time.sleep(0.02)
            return f.control["MALLOC_CALLS"] - before
        count = min(reload() for _ in range(3))
        check(count > 20, f"only {count}")
        there = []
        for n in range(1, count + 1):
            f.control["MALLOC_FAIL_AT"] = at = f.control["MALLOC_CALLS"] + n
            f.process.send_signal(signal.SIGHUP)
            there.append(met(f, at))
            time.sleep(0.01)
            f.control["MALLOC_FAIL_AT"] = 0
            check(f.process.poll() is None, f"allocation {n}: ended with {f.process.poll()}")
            reload()
        all_there(there)
        text = f.line("memory; the configuration before stays in force", "reload-rejected")
        check(not any("0 errors" in e["message"] for e in f.events), "an error without a word")
        f.storm()
        f.end()
    return text


@fault("out of memory: each allocation of the end fails", "the original is given back")
def allocations_end(f):
    f.start()
    time.sleep(0.5)
    before = f.control["MALLOC_CALLS"]
    f.end()
    count = f.control["MALLOC_CALLS"] - before
    check(count > 5, f"only {count}")

    def end(n):
        with starving_at(n) as g:
            g.start(stderr=subprocess.PIPE)
            g.begin_tamed()
            time.sleep(0.3)
            g.control["MALLOC_FAIL_AT"] = at = g.control["MALLOC_CALLS"] + n
            code, lines = ended_starved(g)
            return code, lines, g.control["MALLOC_CALLS"] >= at
    done = sweep(range(1, count + 1), end)
    all_there([there for _, _, there in done])
    check(all(code == 0 for code, _, _ in done), "an end failed")
    return next(l for _, lines, _ in done for l in lines if "originals restored" in l)


@fault("out of memory: each allocation of --restore fails",
       "it restores, or ends with 1 and says why; later it restores")
def allocations_restore(f):
    f.mounts.append(DROPIN)
    kill_in_storm(f)
    held = {"knob": read(f.knob), "state/knobs.journal": read(f.path("state/knobs.journal"))}
    f.control["MALLOC_CALLS"] = 0
    check(f.run("--restore").stdout == "restored\n", "it does not restore")
    count = f.control["MALLOC_CALLS"]
    check(count > 10, f"only {count}")
    said = None
    for n in range(1, count + 1):
        for name, text in held.items():
            f.put(name, text)
        f.control["MALLOC_CALLS"] = 0
        f.control["MALLOC_FAIL_AT"] = n
        done = f.run("--restore")
        f.control["MALLOC_FAIL_AT"] = 0
        check(f.control["MALLOC_CALLS"] >= n, f"allocation {n} was not met")
        if done.returncode != 0:
            check(done.returncode == 1 and "memory" in done.stderr, f"allocation {n}: {done}")
            check(f.value() >= 8, "restored, and it says that it failed")
            said = done.stderr.strip()
            done = f.run("--restore")
        check(done.returncode == 0 and f.value() == 0, f"allocation {n}: {done}")
    return said or "restored"


@fault("out of memory within a storm",
       "the reaction needs none: not one allocation from message to write")
def no_memory_in_storm(f):
    f.start()
    f.storm(1)
    children = f.begin_tamed(1)
    check(f.control["HOT_MALLOCS_WRITTEN"] == 0,
          f"{f.control['HOT_MALLOCS_WRITTEN']} allocations from message to write")
    f.finish(children)
    f.restored()
    f.control["MALLOC_FAIL_REST"] = 1
    f.control["MALLOC_FAIL_AT"] = f.control["MALLOC_CALLS"] + 1
    for _ in range(3):
        children = f.begin_tamed()
        f.finish(children)
        f.restored()
    time.sleep(1.2) # a tick
    f.control["MALLOC_FAIL_AT"] = 0
    after = len(f.events)
    f.storm()
    f.end()
    return f.line("originals restored", "restored", after)


AUTH = b"\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n"


@fault("out of memory while clients connect to the bus", "everything; later clients are served")
def no_memory_for_clients(f):
    f.start()
    f.wait(lambda: os.path.exists(f"{f.state}/bus"), "no bus")
    time.sleep(0.2)
    for n in range(1, 90):
        f.control["MALLOC_FAIL_AT"] = f.control["MALLOC_CALLS"] + n
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(0.3)
            client.connect(f"{f.state}/bus")
            try:
                client.send(AUTH)
                client.recv(100)
            except OSError:
                pass # it is dropped
        check(f.process.poll() is None, f"allocation {n}: ended with {f.process.poll()}")
    f.control["MALLOC_FAIL_AT"] = 0
    after = len(f.events)
    f.storm()
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(f"{f.state}/bus")
        client.send(AUTH)
        got = b""
        while b"OK " not in got:
            part = client.recv(100)
            check(part, f"a client was dropped after {got}")
            got += part
    f.end()
    return f.line("originals restored", "restored", after)


# --- processes -----------------------------------------------------------------------------------

@fault("fork bomb: 5000 short processes, each told", "everything", alone=True)
def fork_bomb(f):
    f.control["FEED_ONLY"] = 0
    f.start(f.metered())
    with subprocess.Popen([FEED, "bomb", "5000"]) as bomb:
        while bomb.poll() is None:
            f.finish(f.begin())
    check(f.storms() > 0, "no storm was seen")
    f.calm_again()
    f.end()
    check(f.exits_seen() > 1000, "the exits were not told")
    return f.line("^stopped")


@fault("thousands of large exits one by one", "everything; systemd is told the state once a second",
       alone=True)
def one_by_one(f):
    f.control["FEED_ONLY"] = 0
    told = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f.path("notify"))
        systemd.setblocking(False)
        f.env["NOTIFY_SOCKET"] = f.path("notify")
        f.start()
        began = time.monotonic()
        with subprocess.Popen([FEED, "bomb", "2000"]) as bomb:
            while bomb.poll() is None or time.monotonic() - began < 2:
                try:
                    told.append(systemd.recv(4096))
                except BlockingIOError:
                    time.sleep(0.001)
        took = time.monotonic() - began
        f.calm_again()
        f.end()
    status = sum(b"STATUS=" in t for t in told)
    check(1 <= status <= took + 3, f"systemd was told the state {status} times in {took:.1f} s")
    return f.line("^stopped")


@fault("the process id is somebody else's by the time it is looked at", "such exits do not count")
def pid_reuse(f):
    f.start(SETTINGS.replace("Tick=1s", "Tick=10min"))
    child = f.task()
    others = [subprocess.Popen(["sleep", "60"]) for _ in range(3)]
    f.children += others
    f.feed(child.pid) # the first of a storm is taken on the word of its message
    for other in others:
        time.sleep(0.05)
        f.feed(other.pid)
    f.finish([child])
    f.line("originals restored", "restored", 0, 5)
    f.feed(others[0].pid)
    f.wait(lambda: f.value() == 0, "the sysctl was not restored", 5)
    time.sleep(0.3)
    check(f.value() == 0, "a task that does not exit keeps a storm going")
    f.end()
    return f.line("^stopped")


@fault("the process id went to another run of the same program",
       "it is waited for until TaskTimeout=")
def pid_reuse_same(f):
    f.start(SETTINGS.replace("[Storm]\n", "[Storm]\nTaskTimeout=1s\n"))
    children = f.begin_tamed()
    text = f.line("originals restored", "restored")
    f.restored()
    f.finish(children)
    f.storm()
    f.end()
    return text


@fault("process ids that nobody has", "such exits do not count")
def pid_nobody(f):
    f.start()
    f.feed(4194000, times=5)
    f.wait(lambda: f.value() == 0, "the sysctl was not restored", 5)
    f.storm()
    f.end()
    check(f.exits_seen() >= 2, "no exit was seen")
    return f.line("^stopped")


# --- who listens ---------------------------------------------------------------------------------

BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={0}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
<allow own="*"/><allow user="*"/></policy></busconfig>
"""


@fault("the bus daemon goes, and comes back", "the private socket; the name is had again")
def bus_restarts(f):
    if not shutil.which("dbus-daemon"):
        raise NotHere("needs dbus-daemon")
    config = f.put("bus.conf", BUS.format(f.path("system_bus_socket")))

    def daemon():
        child = subprocess.Popen(["dbus-daemon", f"--config-file={config}", "--nofork",
                                  "--nopidfile", "--nosyslog"], stderr=subprocess.DEVNULL)
        f.children.append(child)
        f.wait(lambda: os.path.exists(f.path("system_bus_socket")), "no bus daemon")
        return child
    bus = daemon()
    f.start()
    time.sleep(0.5)
    bus.kill()
    bus.wait()
    text = f.line("not on the system bus any more", "notice")
    f.storm()
    os.unlink(f.path("system_bus_socket"))
    daemon()
    f.line("on the system bus as", "notice", 0, 30)
    f.storm()
    f.end()
    return text


@fault("whoever reads the log goes (EPIPE)", "everything but the log")
def reader_gone(f):
    f.start(stdout=subprocess.DEVNULL, wait=False, stderr=subprocess.PIPE, args=())
    text = f.process.stderr.readline().strip()
    f.process.stderr.close()
    for _ in range(3):
        children = f.begin_tamed()
        f.finish(children)
        f.restored()
    f.end()
    return text


@fault("standard descriptors closed", "everything but the log")
def closed_output(f):
    f.wrap = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]
    f.start(wait=False, stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    for _ in range(2):
        children = f.begin_tamed()
        f.finish(children)
        f.restored()
    f.end()
    return "(none: there is nowhere to write it)"


@fault("no journald, JOURNAL_STREAM of nobody", "everything; lines go to standard error")
def no_journal(f):
    f.env["JOURNAL_STREAM"] = "9:99999"
    f.start(stdout=subprocess.DEVNULL, wait=False, stderr=subprocess.PIPE, args=())
    text = f.process.stderr.readline().strip()
    children = f.begin_tamed()
    f.finish(children)
    f.restored()
    f.end()
    f.process.stderr.close()
    return text


@fault("journald is gone, and asked for", "everything but the log")
def journal_gone(f):
    os.mkdir(f.path("empty"))
    f.mounts.append("if [ -d /run/systemd ]; then mount -t tmpfs none /run/systemd; fi")
    f.start(stdout=subprocess.DEVNULL, wait=False, args=("--log-format=journal",))
    time.sleep(0.5)
    for _ in range(2):
        children = f.begin_tamed()
        f.finish(children)
        f.restored()
    f.end()
    return "(none: there is nowhere to write it)"


# --- privileges ----------------------------------------------------------------------------------

@fault("root in a container (unshare -Ur): the sysctl is not its own",
       "storms are reported as a dry run")
def container(f):
    f.wrap = ["unshare", "--user", "--map-root-user"]
    os.chmod(f.knob, 0o644)
    f.mounts.append(f"mount -o remount,bind,ro '{FRACTION}'")
    f.start()
    text = f.line("exits are not announced: CAP_NET_ADMIN is missing, or this is a container")
    f.line("cannot be written", "notice")
    f.end()
    return text


@fault("no CAP_NET_ADMIN", "storms are seen in vmstat unless Vmstat=no")
def no_capability(f):
    if not shutil.which("setpriv"):
        raise NotHere("needs setpriv")
    f.wrap = ["setpriv", "--bounding-set=-net_admin"]
    f.start()
    text = f.line("exits are not announced: CAP_NET_ADMIN is missing", "signal")
    f.end()
    return text


@fault("another network namespace", "storms are seen in vmstat unless Vmstat=no")
def network_namespace(f):
    f.wrap = ["unshare", "--net"]
    f.start()
    text = f.line("exits are not announced: ", "signal")
    f.end()
    return text


@fault("not root", "storms are reported as a dry run")
def not_root(f):
    if not shutil.which("setpriv"):
        raise NotHere("needs setpriv")
    os.mkdir(f.state)
    f.wrap = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    os.chmod(f.path("control"), 0o666)
    f.start()
    text = f.line("cannot be written .Permission denied.: .*dry run", "notice")
    f.end()
    return text


# --- the table -----------------------------------------------------------------------------------

def run(function):
    """(the line, what was wrong, seconds), of the first two one is None; or both: not here."""
    began = time.monotonic()
    line = wrong = None
    f = Fault()
    try:
        line = function(f)
        check(f.value() == 0, f"the sysctl is {f.value()}, and was 0")
    except NotHere as e:
        print(f"SKIPPED: {function.__name__}: {e}")
    except (Failed, subprocess.SubprocessError, OSError, ValueError) as e:
        line, wrong = None, f"{type(e).__name__}: {e}"
    finally:
        f.close()
    return line, wrong, time.monotonic() - began


def run_all(faults):
    """Yields the results, in the order of the table; most only wait, so some go on at once."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = [None if alone else pool.submit(run, function)
                   for _, _, function, alone in reversed(faults)] # the longest are at the end
        running.reverse()
        concurrent.futures.wait([r for r in running if r])
        for (_, _, function, _), result in zip(faults, running):
            yield result.result() if result else run(function)


def can_show():
    if os.geteuid() != 0:
        return "needs root"
    if not os.path.exists(FRACTION):
        return "this kernel has no vm.percpu_pagelist_high_fraction"
    with open(PCPTUNED, "rb") as f:
        if b"__asan_init" in f.read():
            return "a sanitizer's allocator stands where the shim must"
    if subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
        return "needs mount namespaces"
    f = Fault()
    try:
        f.start()
        if f.find("exits are not announced", "signal", 0, 0.1):
            return "no taskstats here"
        f.storm()
        f.end()
    except Failed as e:
        return f"a storm that is made up has no effect on this kernel: {e}"
    finally:
        f.close()
    return None


def main(names, markdown):
    why = can_show()
    if why:
        print(f"SKIPPED: {why}")
        return 77
    faults = [f for f in FAULTS if not names or f[2].__name__ in names]
    survived = tried = 0
    if markdown:
        print("| fault | the line that an operator reads | what still works |\n|---|---|---|")
    for (name, works, function, _), (line, wrong, took) in zip(faults, run_all(faults)):
        tried += bool(line or wrong)
        survived += line is not None
        if wrong:
            print(f"NOT SURVIVED: {name} ({function.__name__}): {wrong}")
        elif line and markdown:
            print(f"| {name} | {line.replace('|', '/')} | {works} |")
        elif line:
            print(f"{took:5.1f} s  {name}: {line}")
    print(f"{survived} of {tried} faults survived")
    return 0 if survived == tried > 0 else 1


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--markdown"]
    PCPTUNED, SHIM, FEED = map(os.path.abspath, arguments[:3])
    sys.exit(main(arguments[3:], "--markdown" in sys.argv))
