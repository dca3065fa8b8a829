#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pcptunectl top on a terminal, in a storm. Usage: test_top.py PCPTUNECTL PCPTUNED PCPBENCH
[unittest options]. No sysctl of this machine is written."""

import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import termios
import time
import unittest

from case import NAME, PCPTUNECTL, need
from daemon import SENSITIVE, DaemonCase, need_fake, until
from machines import PATIENCE, read

CONFIG = SENSITIVE.replace("Hold=300ms", "Hold=1min")


@need_fake
@need(shutil.which("tmux"), "needs tmux (scripts/deps installs it)")
class Tmux(DaemonCase):
    def setUp(self):
        super().setUp()
        self.fake_knob(0)
        self.start(config=CONFIG)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "env", "PS1=$ ",
                  *(f"{k}={v}" for k, v in self.env.items() if k in ("RUNTIME_DIRECTORY", "PATH")),
                  *self.wrap, "sh")
        self.addCleanup(self.tmux, "kill-server")

    def tmux(self, *args):
        return subprocess.run(["tmux", "-S", f"{self.dir}/tmux", *args], capture_output=True,
                              text=True, timeout=PATIENCE, check=True).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def shows(self, pattern):
        """Waits until the screen does; its lines."""
        def look():
            text = self.tmux("capture-pane", "-p")
            return re.search(pattern, text) and text
        try:
            return until(look).splitlines()
        except AssertionError:
            self.fail(f"no {pattern!r} in\n{self.tmux('capture-pane', '-p')}")

    def top(self):
        self.keys(f"stty -g >{self.dir}/before; {shlex.quote(PCPTUNECTL)} top; "
                  f"echo ended $?; stty -g >{self.dir}/after", "Enter")
        return self.shows(" q ends")

    def left(self):
        self.shows(r"(?m)^ended 0$")
        until(lambda: os.path.exists(f"{self.dir}/after") and read(f"{self.dir}/after"))
        self.assertEqual(read(f"{self.dir}/before"), read(f"{self.dir}/after"))
        self.assertNotIn("q ends", self.tmux("capture-pane", "-p"))

    def test_storm(self):
        calm = self.top()
        self.assertEqual(len(calm), 24)
        self.assertIn("q ends", calm[23])
        self.assertIn("mode apply", calm[0])
        self.assertRegex("\n".join(calm), rf"{NAME} = \d") # somebody's storm may be on
        self.assertRegex("\n".join(calm), r"0 Normal +\d+ +\d+ \[[| ]+\] +\d+ of \d+")
        self.assertIn("NODE ZONE        MANAGED LISTS  pages in the CPUs' lists", "\n".join(calm))
        self.tuned()
        storm = self.shows(rf"{NAME} = [1-9]\d*, originally 0 \(pcptuned\)")
        self.assertRegex("\n".join(storm), r"worst [0-9.]+[nu]s")
        storm = self.shows(r"\d\d:\d\d:\d\d storm \d+: vm.percpu_pagelist_high_fraction 0 -> ")
        self.assertTrue(all(len(line) <= 80 for line in storm))
        self.keys("q")
        self.left()

    def test_resize(self):
        self.top()
        self.tmux("resize-window", "-x", "120", "-y", "40")
        large = self.shows(r"(?m)^   0 Normal .{80,}$")
        self.assertEqual(len(large), 40)
        self.assertIn("q ends", large[39])
        self.tmux("resize-window", "-x", "40", "-y", "10")
        until(lambda: len(self.shows("q ends")) == 10)
        for size in ("1", "1"), ("200", "3"), ("5", "50"), ("80", "24"):
            self.tmux("resize-window", "-x", size[0], "-y", size[1])
            time.sleep(0.1)
        until(lambda: "q ends" in self.shows("q ends")[-1] and len(self.shows("q ends")) == 24)
        self.keys("C-c")
        self.left()

    def test_pcptuned_ends_and_comes_back(self):
        self.top()
        self.end(signal.SIGKILL)
        self.shows("pcptuned is gone")
        self.start(config=CONFIG)
        self.shows("mode apply")
        self.keys("q")
        self.left()


@need_fake
class Terminal(DaemonCase):
    """What top writes, byte for byte."""
    def setUp(self):
        super().setUp()
        self.fake_knob(0)
        self.start(config=CONFIG)

    def run_top(self, seconds, **env):
        """What came in each second, the ticks that it cost, and its exit code."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        with subprocess.Popen([PCPTUNECTL, "top"], stdin=theirs, stdout=theirs, stderr=theirs,
                              env={**self.env, "TERM": "xterm-256color", **env},
                              start_new_session=True) as child:
            os.close(theirs)
            parts = [self.read_for(ours, 1) for _ in range(seconds)]
            stat = read(f"/proc/{child.pid}/stat").rpartition(")")[2].split()
            os.write(ours, b"q")
            self.read_for(ours, 0.5)
            return parts, int(stat[11]) + int(stat[12]), child.wait(PATIENCE)

    @staticmethod
    def read_for(fd, seconds):
        end, text = time.monotonic() + seconds, b""
        while time.monotonic() < end:
            if select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
                try:
                    text += os.read(fd, 65536)
                except OSError:
                    break
        return text

    def test_no_flicker_and_no_busy_loop(self):
        parts, ticks, code = self.run_top(4)
        self.assertEqual(code, 0)
        self.assertIn(b"q ends", parts[0])
        later = b"".join(parts[1:])
        self.assertGreater(len(later), 0) # the clock
        self.assertNotRegex(later, rb"\x1b\[[0-3]?J") # nothing is cleared
        self.assertLess(len(later), 3000)
        self.assertLess(ticks, 0.2 * os.sysconf("SC_CLK_TCK") * 4)

    def test_colours(self):
        self.assertRegex(self.run_top(1)[0][0], rb"\x1b\[[0-9;]*3[0-7]")
        plain = self.run_top(1, NO_COLOR="1")[0][0]
        self.assertIn(b"q ends", plain)
        self.assertNotRegex(plain, rb"\x1b\[(?:[0-9;]*;)?3[0-7]m")


if __name__ == "__main__":
    unittest.main()
