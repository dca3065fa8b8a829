#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pcptunectl where no pcptuned runs. Usage: test_local.py PCPTUNECTL [unittest options]. Nothing is
ever written to a sysctl of this machine."""

import fcntl
import json
import os
import pty
import re
import subprocess
import unittest

from case import (ARGUMENTS, FRACTION, MANUAL, NAME, PCPTUNECTL, VERBS, Case, documented, journal,
                  keys_of, need, need_mount)
from machines import PATIENCE, mounted

NOWHERE = "--address=unix:path=/nonexistent/bus"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
need_knob = need(os.path.exists(FRACTION), "this kernel has no fraction")


class Absent(Case):
    def setUp(self):
        super().setUp()
        self.state = os.path.join(self.dir, "state")
        os.mkdir(self.state)
        self.env["RUNTIME_DIRECTORY"] = self.state
        self.env["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={self.dir}/no-system-bus"

    def knob(self, value):
        """Shows that value of the fraction."""
        path = self.path("knob", f"{value}\n")
        return mounted(f"mount --bind '{path}' {FRACTION}")


class NoDaemon(Absent):
    def test_each_verb_says_so(self):
        for verb in "top", "events", "mode", "re-arm", "restore", "reload":
            for more in [], [NOWHERE], ["--address=system"]:
                done = self.run_it(verb, *ARGUMENTS.get(verb, ()), *more)
                self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
                self.assertIn("no pcptuned runs", done.stderr)

    def test_bad_address(self):
        for address in "nonsense", "unix:", "unix:path=/dev/null", "":
            done = self.run_it("mode", "off", f"--address={address}")
            self.assertIn(done.returncode, (1, 3))
            self.assertIn("pcptunectl: ", done.stderr)

    def test_status(self):
        done = self.run_it("status")
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        self.assertTrue(done.stdout.startswith("pcptuned does not run"), done.stdout)
        self.assertIn(os.uname().release, done.stdout)
        self.assertIn(f"{self.state}/bus", done.stdout)
        done = self.run_it("status", "--json")
        self.assertEqual(done.returncode, 3)
        said = json.loads(done.stdout)
        self.assertEqual((said["running"], said["working"], said["undo"]), (False, False, "none"))
        self.assertEqual(said["sysctls"][0]["name"], NAME)
        self.assertEqual(set(keys_of(said)) - documented("status"), set())

    def test_status_with_a_bad_configuration(self):
        """That is why it does not run, so that is said."""
        done = self.run_it("status", f"--config={self.path('bad', '[Nope]')}")
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"{self.dir}/bad:1", done.stderr)
        self.assertIn("does not run", done.stdout)

    @need_mount
    @need_knob
    def test_status_of_what_was_left_behind(self):
        self.path("state/knobs.journal", journal(0, 0, 4509))
        done = self.run_it("status", "--json", wrap=self.knob(4509))
        row = json.loads(done.stdout)["sysctls"][0]
        self.assertEqual((row["value"], row["original"], row["owner"]), (4509, 0, "left-behind"))
        done = self.run_it("status", wrap=self.knob(4509))
        self.assertIn("left behind by a killed pcptuned", " ".join(done.stdout.split()))
        self.assertIn("--restore", done.stdout)

    def test_one_that_does_not_answer(self):
        """Its lock tells, and which process it is."""
        lock = self.path("state/lock", "")
        with open(lock, "r+", encoding="ascii") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            done = self.run_it("status")
            said = json.loads(self.run_it("status", "--json").stdout)
            verified = self.run_it("verify")
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"process {os.getpid()} has the lock", done.stdout)
        self.assertTrue(said["running"])
        self.assertEqual(verified.returncode, 0)
        self.assertIn(f"process {os.getpid()}", verified.stdout)


class Verify(Absent):
    def verify(self, value, text=None):
        if text is None:
            if os.path.exists(os.path.join(self.state, "knobs.journal")):
                os.unlink(os.path.join(self.state, "knobs.journal"))
        else:
            self.path("state/knobs.journal", text)
        done = self.run_it("verify", "--json", NOWHERE, wrap=self.knob(value))
        said = json.loads(done.stdout)
        text = self.run_it("verify", NOWHERE, wrap=self.knob(value))
        self.assertEqual(text.returncode, done.returncode)
        self.assertIn(said["verdict"], text.stdout)
        self.assertEqual(set(keys_of(said)), documented("verify") | {"sysctls", "name", "exists",
                                                                     "value", "owner"})
        row = said["sysctls"][0]
        return done.returncode, said["verdict"], said["undo"], row["expected"], row["owner"]

    @need_mount
    @need_knob
    def test_verdicts(self):
        boot = "00000000-0000-0000-0000-000000000000"
        rows = [
            (0, None, (0, "as-believed", "none", None, "kernel-default")),
            (64, None, (0, "as-believed", "none", None, "administrator")),
            (4509, journal(0, 0, 4509), (11, "left-behind", "held", 0, "left-behind")),
            (64, journal(64, 64, 4509), (0, "as-believed", "held", 64, "administrator")),
            (0, journal(0, 4509, 0), (0, "as-believed", "held", 0, "kernel-default")),
            (4509, journal(0, 4509, 5000), (11, "left-behind", "held", 0, "left-behind")),
            (99, journal(0, 0, 4509), (10, "differs", "held", 0, "administrator")),
            (0, journal(64, 64, 4509), (10, "differs", "held", 64, "kernel-default")),
            (4509, journal(0, 0, 4509, boot), (0, "as-believed", "stale", None, "administrator")),
            (0, journal(0, 0, 4509)[:-2], (12, "undo-lost", "torn", None, "kernel-default")),
            (0, "", (12, "undo-lost", "torn", None, "kernel-default")),
            (0, "\0" * 5000, (12, "undo-lost", "torn", None, "kernel-default")),
        ]
        for value, text, expected in rows:
            with self.subTest(value=value, journal=text):
                self.assertEqual(self.verify(value, text), expected)

    @need_mount
    @need_knob
    def test_while_one_runs(self):
        """What it holds is not left behind."""
        lock = self.path("state/lock", "")
        with open(lock, "r+", encoding="ascii") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.assertEqual(self.verify(4509, journal(0, 0, 4509)),
                             (0, "as-believed", "held", 4509, "pcptuned"))
            self.assertEqual(self.verify(99, journal(0, 0, 4509))[:2], (10, "differs"))

    @need_mount
    @need_knob
    def test_hanging_sysctl(self):
        fifo = os.path.join(self.dir, "fifo")
        os.mkfifo(fifo)
        config = self.path("c", "[Daemon]\nKnobTimeout=200ms\n")
        done = self.run_it("verify", NOWHERE, f"--config={config}",
                           wrap=mounted(f"mount --bind '{fifo}' {FRACTION}"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("unknown", done.stdout)

    @need(os.geteuid() == 0, "needs root")
    def test_unreadable_journal(self):
        os.chmod(self.path("state/knobs.journal", journal(0, 0, 4509)), 0)
        os.chmod(self.dir, 0o755)
        os.chmod(self.state, 0o755)
        if not os.access(PCPTUNECTL, os.X_OK) or subprocess.run(
                [*NOBODY, "test", "-x", PCPTUNECTL], check=False).returncode != 0:
            self.skipTest("nobody may not run the program")
        done = self.run_it("verify", NOWHERE, wrap=NOBODY)
        self.assertEqual(done.returncode, 1)
        self.assertIn("Permission denied", done.stdout)


class Config(Absent):
    @need_mount
    def test_what_overrode_what(self):
        for name, text in (("pcptuned.conf", "[Policy]\nTargetWait=1us\n"),
                           ("pcptuned.conf.d/10-admin.conf", "[Policy]\n\nTargetWait=2us\n"),
                           ("pcptuned.conf.d/90-late.conf", "# late\n[Policy]\nTargetWait=3us\n"
                                                            "[Storm]\nHold=2s\n")):
            os.makedirs(f"{self.dir}/etc/pcptuned/pcptuned.conf.d", exist_ok=True)
            self.path(f"etc/pcptuned/{name}", text)
        wrap = mounted(f"mount --bind '{self.dir}/etc' /etc")
        said = json.loads(self.run_it("config", "--json", wrap=wrap).stdout)
        self.assertEqual(len(said["files"]), 3)
        rows = {s["key"]: s for s in said["settings"]}
        wait = rows["TargetWait"]
        self.assertEqual((wait["value"], wait["default"], wait["file"], wait["line"]),
                         ("3us", "100us", said["files"][2], 3))
        self.assertEqual([(o["value"], o["file"], o["line"]) for o in wait["overrode"]],
                         [("1us", said["files"][0], 2), ("2us", said["files"][1], 3)])
        self.assertEqual((rows["Hold"]["value"], rows["Hold"]["overrode"]), ("2s", []))
        self.assertNotIn("file", rows["Tick"])
        self.assertEqual(set(keys_of(said)), documented("config"))
        text = self.run_it("config", wrap=wrap).stdout
        self.assertRegex(text, r"TargetWait +3us +default 100us.*\n +from /etc.*90-late.conf:3\n"
                               r" +over 2us from /etc.*10-admin.conf:3\n"
                               r" +over 1us from /etc/pcptuned/pcptuned.conf:2\n")

    def test_every_key(self):
        config = self.path("c", "[Daemon]\nMode=off\n")
        said = self.verb("config", config=config)
        own = {s["key"]: s for s in said["settings"]}
        self.assertEqual((own["Mode"]["value"], own["Mode"]["file"]), ("off", config))
        text = self.run_it("config", f"--config={config}").stdout
        for key, row in own.items():
            self.assertRegex(text, rf"(?m)^  {key} +{re.escape(row['value'])} +default ")

    def test_bad(self):
        done = self.run_it("config", f"--config={self.path('bad', '[Policy]' + chr(10) + 'X=1')}")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("bad:2: [Policy] X=", done.stderr)


class Terminal(Absent):
    """A terminal gets a pager and colours, and everybody else neither."""

    def on_terminal(self, *args, **env):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        with subprocess.Popen([PCPTUNECTL, *args], stdin=theirs, stdout=theirs,
                              stderr=subprocess.STDOUT, start_new_session=True,
                              env={**self.env, "TERM": "xterm", **env}) as child:
            os.close(theirs)
            text = b""
            while True:
                try:
                    more = os.read(ours, 65536)
                except OSError:
                    break
                if not more:
                    break
                text += more
            return text.decode(), child.wait(PATIENCE)

    def test_pager(self):
        pager = "tr a-z A-Z; echo paged $LESS"
        text, code = self.on_terminal("config", PAGER=pager)
        self.assertEqual(code, 0)
        self.assertIn("TARGETWAIT", text)
        self.assertIn("paged FRX", text)
        for args, env in ((["config", "--no-pager"], {"PAGER": pager}),
                          (["config", "--json"], {"PAGER": pager}), (["config"], {"PAGER": "cat"}),
                          (["config"], {"PAGER": ""}), (["--help"], {"PAGER": pager}),
                          (["config"], {"PAGER": pager, "TERM": "dumb"})):
            with self.subTest(args=args, env=env):
                text, code = self.on_terminal(*args, **env)
                self.assertEqual(code, 0)
                self.assertNotIn("paged", text)
        done = subprocess.run([PCPTUNECTL, "config"], env={**self.env, "PAGER": pager}, text=True,
                              capture_output=True, check=True)
        self.assertNotIn("paged", done.stdout)

    def test_code_and_errors_with_a_pager(self):
        text, code = self.on_terminal("status", PAGER="sed s/does/DOES/")
        self.assertEqual(code, 3)
        self.assertIn("DOES not run", text)

    def test_reader_who_leaves(self):
        text, code = self.on_terminal("explain", PAGER="head -c 20 >/dev/null; echo left")
        self.assertIn("left", text)
        self.assertIn(code, (0, 1, -13))

    def test_colours_through_a_pager(self):
        self.assertIn("\033[1", self.on_terminal("status", PAGER="cat -u")[0])
        self.assertNotIn("\033", self.on_terminal("status", PAGER="cat -u", NO_COLOR="1")[0])

    def test_without_less(self):
        text, code = self.on_terminal("config", PATH="/nonexistent")
        self.assertEqual(code, 0)
        self.assertIn("TargetWait", text)

    def test_top_wants_a_terminal(self):
        self.assertEqual(self.run_it("top", NOWHERE).returncode, 3)


class Completion(Absent):
    """What the shells offer is what --help says, verb by verb."""
    DIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "ctl",
                       "completion")

    def helped(self, verb=None):
        text = self.run_it(*([verb] if verb else []), "--help").stdout
        return set(re.findall(r"(?m)^  (--[a-z-]+)", text)) | {"--help"}

    def summaries(self):
        text = self.run_it("--help").stdout.split("\nOptions\n")[0]
        return dict(re.findall(r"(?m)^  ([a-z-]+)(?: MODE)? {2,}(\S.*)$", text))

    def bash(self, *words):
        script = (f'. "{self.DIR}/pcptunectl.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); '
                  '_pcptunectl 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", "pcptunectl", *words], text=True,
                              capture_output=True, timeout=PATIENCE, check=True, cwd=self.dir)
        return set(done.stdout.split())

    def test_bash(self):
        self.assertEqual(self.bash("") - set(VERBS), {"--help", "--version"})
        self.assertEqual(self.bash("re"), {"re-arm", "restore", "reload", "recommend"})
        for verb in VERBS:
            offered = {o.rstrip("=") for o in self.bash(verb, "--")}
            self.assertEqual(offered, self.helped(verb), verb)
            self.assertEqual({o.rstrip("=") for o in self.bash("--json", verb, "--")},
                             self.helped(verb))
        self.assertEqual(self.bash("mode", ""), {"apply", "dry-run", "off"})
        self.assertEqual(self.bash("config", "--config", "=", "none"), {"none.conf"})
        self.assertEqual(self.bash("config", "--config", "="), {"none.conf", "state"})
        self.assertEqual(self.bash("events", "--since", "=", "y"), {"yesterday"})
        self.assertEqual(self.bash("events", "--since", "=", "1h", "--f"), {"--follow"})

    @need(subprocess.run("command -v fish", shell=True, capture_output=True,
                         check=False).returncode == 0, "needs fish")
    def test_fish(self):
        def offered(line):
            script = f'source "{self.DIR}/pcptunectl.fish"; complete -C "{line}"'
            done = subprocess.run(["fish", "--no-config", "-c", script], text=True,
                                  capture_output=True, timeout=PATIENCE, check=True,
                                  env={**self.env, "HOME": self.dir})
            return dict(x.partition("\t")[::2] for x in done.stdout.splitlines())
        self.assertEqual(offered("pcptunectl "), self.summaries())
        for verb in VERBS:
            self.assertEqual({o.rstrip("=") for o in offered(f"pcptunectl {verb} --")},
                             self.helped(verb), verb)
        self.assertEqual(set(offered("pcptunectl mode ")), {"apply", "dry-run", "off"})
        self.assertEqual(set(offered("pcptunectl mode off ")), set())

    @need(subprocess.run("command -v zsh", shell=True, capture_output=True,
                         check=False).returncode == 0, "needs zsh")
    def test_zsh(self):
        def specs(verb):
            script = ('_arguments() { [[ $1 == -C ]] || print -rl -- "$@"; }; words=(x); '
                      f'source "{self.DIR}/_pcptunectl"; words=("$1"); '
                      '[[ -z $1 ]] && print -rl -- $verbs || _pcptunectl_verb')
            done = subprocess.run(["zsh", "-f", "-c", script, "zsh", verb], text=True,
                                  capture_output=True, timeout=PATIENCE, check=True)
            return done.stdout.splitlines()
        self.assertEqual(dict(x.partition(":")[::2] for x in specs("")), self.summaries())
        for verb in VERBS:
            self.assertEqual(set(re.findall(r"(?m)^(--[a-z-]+)", "\n".join(specs(verb)))),
                             self.helped(verb), verb)
        self.assertIn("1:mode:(apply dry-run off)", specs("mode"))


class Manual(Absent):
    def test_exit_codes(self):
        """Those of the program, of its help and of the manual."""
        section = MANUAL[MANUAL.index("\n.Sh EXIT STATUS\n"):MANUAL.index("\n.Sh EXAMPLES\n")]
        self.assertEqual(re.findall(r"(?m)^\.It (\d+)$", section),
                         ["0", "1", "2", "3", "4", "5", "10", "11", "12"])
        helped = " ".join(self.run_it("--help").stdout.split())
        self.assertIn("0 done; 1 failed; 2 usage; 3 no pcptuned runs; 4 denied; 5 refused; 10 to 12 "
                      "of verify",
                      helped)

    @need(subprocess.run("command -v mandoc", shell=True, capture_output=True,
                         check=False).returncode == 0, "needs mandoc")
    def test_lint(self):
        source = os.path.join(self.DIR, "pcptunectl.1")
        done = subprocess.run(["mandoc", "-Tlint", source], text=True, capture_output=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual([x for x in done.stdout.splitlines()
                          if "referenced manual not found" not in x], [])

    DIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "man")


if __name__ == "__main__":
    unittest.main()
