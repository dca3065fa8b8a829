#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pcptunectl and a real pcptuned. Usage: test_daemon.py PCPTUNECTL PCPTUNED PCPBENCH [unittest
options]. No sysctl of this machine is written: it is a dry run, or the sysctl is a file that is
bind-mounted over the real one in a mount namespace of the test's own."""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from case import MANUAL, NAME, PCPTUNECTL, documented, keys_of, need
from daemon import PCPTUNED, SENSITIVE, DaemonCase, need_fake, until
from machines import PATIENCE, TREE, read

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
POLICY = os.path.join(TREE, "systemd", "org.pcptuned1.conf") # the one that is installed
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={}</listen><policy context="default">
<allow user="*"/><deny own="*"/><deny send_type="method_call"/><allow send_type="signal"/>
<allow send_requested_reply="true" send_type="method_return"/>
<allow send_requested_reply="true" send_type="error"/><allow receive_type="method_call"/>
<allow receive_type="method_return"/><allow receive_type="error"/><allow receive_type="signal"/>
<allow send_destination="org.freedesktop.DBus"/></policy><include>{}</include></busconfig>
"""


def lines(text):
    return [json.loads(x) for x in text.splitlines()]


@need_fake
class DryRun(DaemonCase):
    def setUp(self):
        super().setUp()
        self.fake_knob(0)
        self.start("--dry-run")

    def status(self):
        done = self.ctl("status", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def storm_told(self):
        """Others on the machine have exits, too, so ours need not be the last one."""
        self.storm()
        s = self.status()
        return s if s["last_storm"] and s["last_storm"]["dry_run"] else None

    def test_status(self):
        said = until(self.storm_told)
        self.assertEqual((said["running"], said["working"], said["mode"]), (True, False, "dry-run"))
        self.assertEqual((said["release"], said["cpus"]),
                         (os.uname().release, os.sysconf("SC_NPROCESSORS_ONLN")))
        self.assertEqual(said["target_ns"], 1000)
        storm = said["last_storm"]
        self.assertFalse(storm["tuned"])
        self.assertGreater(storm["wait_before_ns"], storm["wait_after_ns"])
        row = said["sysctls"][0]
        self.assertEqual((row["name"], row["original"]), (NAME, None))
        self.assertGreaterEqual(said["counters"]["storms"], 1)
        self.assertEqual(set(keys_of(said, ("counters",))), documented("status") - {"undo"})
        text = self.ctl("status").stdout
        self.assertIn("only reports what it would do: its mode is dry-run", text)
        self.assertRegex(" ".join(text.split()), r"last storm \d+ at .* W [0-9.]+[num]?s ")
        self.assertTrue(all(len(x) <= 80 for x in text.splitlines() if "SYSCTL" not in x
                            and NAME not in x and "pcp_batch" not in x and "storms" not in x), text)

    def test_events_are_those_of_the_log(self):
        def restored():
            self.storm()
            time.sleep(1) # storms that follow within Hold= are one without an end
            return '"event":"restored"' in read(self.log)
        until(restored)
        told, logged = self.ctl("events", "--json").stdout, iter(read(self.log).splitlines())
        for line in told.splitlines():
            self.assertIn(line, logged) # and in this order
        text = self.ctl("events").stdout
        self.assertEqual(len(text.splitlines()), len(told.splitlines()))
        for shown, event in zip(text.splitlines(), lines(told)):
            self.assertTrue(shown.endswith(f" {event['event']}: {event['message']}"), shown)

    def test_since(self):
        for since, some in (("@0", True), ("1h", True), ("yesterday", True), ("0", False)):
            done = self.ctl("events", "--json", f"--since={since}")
            self.assertEqual((done.returncode, done.stdout != ""), (0, some), since)
        self.assertIn("journalctl", self.ctl("events", "--since=now").stdout)

    def test_follow(self):
        with subprocess.Popen([PCPTUNECTL, "events", "--follow", "--json"], env=self.env, text=True,
                              stdout=subprocess.PIPE) as child:
            self.assertEqual(json.loads(child.stdout.readline())["event"], "started")
            for mode in "off", "dry-run", "off":
                self.assertEqual(self.ctl("mode", mode).returncode, 0)
            seen = [child.stdout.readline() for _ in range(3)]
            self.assertEqual(seen, self.ctl("events", "--json").stdout.splitlines(True)[-3:])
            self.end()
            rest = child.communicate(timeout=PATIENCE)[0]
        self.assertEqual(child.returncode, 1)
        self.assertIn('"event":"stopped"', rest)

    def test_orders(self):
        done = self.ctl("mode", "off")
        self.assertEqual((done.returncode, done.stdout),
                         (0, "mode: pcptuned is in mode off now, calm\n"))
        self.assertEqual((self.status()["mode"], self.status()["configured_mode"]),
                         ("off", "dry-run"))
        self.assertIn("does nothing: its mode is off", self.ctl("status").stdout)
        self.assertIn("pcptunectl re-arm", self.ctl("status").stdout)
        for verb in "re-arm", "restore", "reload":
            done = self.ctl(verb, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            said = json.loads(done.stdout)
            self.assertEqual(set(said), documented(verb))
            self.assertEqual((said["done"], said["mode"]), (verb, "dry-run"))

    def test_refusals(self):
        done = self.ctl("mode", "apply")
        self.assertEqual((done.returncode, done.stdout), (5, ""))
        self.assertIn("--dry-run", done.stderr)
        self.path("daemon.conf", "[Policy]\nTargetWait=never\n[Nope]\n")
        done = self.ctl("reload")
        self.assertEqual((done.returncode, done.stdout), (5, ""))
        self.assertIn("daemon.conf:2: [Policy] TargetWait=", done.stderr)
        self.assertIn("daemon.conf:3: [Nope]", done.stderr)
        self.assertEqual(self.status()["target_ns"], 1000)

    def test_others_may_look_and_not_touch(self):
        os.chmod(self.state, 0o755)
        if subprocess.run([*NOBODY, "test", "-x", PCPTUNECTL], check=False).returncode != 0:
            self.skipTest("nobody may not run the program")
        for args, code in ((["status"], 0), (["events"], 0), (["mode", "off"], 4), (["re-arm"], 4),
                           (["restore"], 4), (["reload"], 4)):
            done = self.run_it(*args, wrap=NOBODY)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual("denied" in done.stderr, code == 4)
        self.assertEqual(self.status()["mode"], "dry-run")

    def test_one_that_hangs(self):
        """The bus has a thread of its own, so what hangs is the whole process."""
        self.process.send_signal(signal.SIGSTOP)
        done = self.ctl("status")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("did not answer in time", done.stderr)

    def test_address(self):
        self.env["RUNTIME_DIRECTORY"] = self.dir
        self.assertEqual(self.ctl("status").returncode, 3)
        self.assertEqual(self.ctl("status", f"--address=unix:path={self.state}/bus").returncode, 0)

    @need(shutil.which("busctl"), "needs busctl")
    def test_what_busctl_sees(self):
        def ask(name):
            done = subprocess.run(["busctl", f"--address=unix:path={self.state}/bus", "get-property",
                                   "org.pcptuned1", "/org/pcptuned1", "org.pcptuned1.Manager", name],
                                  capture_output=True, text=True, timeout=PATIENCE, check=False)
            return done.stdout.split()[1:]
        said = self.status()
        if not ask("Mode"):
            self.skipTest("this busctl wants a bus daemon")
        self.assertEqual((ask("Mode"), ask("TargetWaitNSec"), ask("Regime")),
                         ([f'"{said["mode"]}"'], ["1000"], [f'"{said["regime"]}"']))

    def test_examples_of_the_manual(self):
        """Each runs as it stands."""
        section = MANUAL[MANUAL.index("\n.Sh EXAMPLES\n"):MANUAL.index("\n.Sh SEE ALSO\n")]
        examples = [x[4:] for x in section.splitlines() if x.startswith(".Dl ")]
        self.assertGreater(len(examples), 6)
        for name in "pcptunectl", "pcptuned":
            os.symlink({"pcptunectl": PCPTUNECTL, "pcptuned": PCPTUNED}[name],
                       os.path.join(self.dir, name))
        if not shutil.which("jq"):
            print("SKIP: examples with jq: needs jq")
            examples = [x for x in examples if "jq" not in x]
        for example in examples:
            done = subprocess.run(["bash", "-eo", "pipefail", "-c", example], text=True,
                                  capture_output=True, timeout=PATIENCE, check=False,
                                  env={**self.env, "PATH": f"{self.dir}:{self.env['PATH']}"})
            self.assertEqual((done.returncode, done.stderr), (0, ""), example)


@need_fake
class SystemBus(DaemonCase):
    @need(shutil.which("dbus-daemon"), "needs dbus-daemon")
    def test_where_the_private_socket_is_not_there(self):
        address = f"unix:path={self.dir}/system"
        config = self.path("bus.xml", BUS.format(f"{self.dir}/system", POLICY))
        with subprocess.Popen(["dbus-daemon", f"--config-file={config}", "--nofork"],
                              stderr=subprocess.DEVNULL) as bus:
            try:
                until(lambda: os.path.exists(f"{self.dir}/system"))
                self.env["DBUS_SYSTEM_BUS_ADDRESS"] = address
                done = self.ctl("status", "--address=system")
                self.assertEqual((done.returncode, done.stderr), (3, ""))
                self.fake_knob(0)
                self.start("--dry-run")
                until(lambda: self.ctl("status", "--address=system").returncode == 0)
                self.assertEqual(self.ctl("mode", "off", "--address=system").returncode, 0)
                self.assertIn("mode off", self.ctl("events", "--address=system").stdout)
                os.rename(f"{self.state}/bus", f"{self.state}/gone")
                self.assertIn("mode is off", self.ctl("status").stdout)
            finally:
                self.end()
                bus.terminate()


@need_fake
class Pinned(DaemonCase):
    def test_administrators_value(self):
        """Respected by default, and that is said."""
        self.fake_knob(64)
        self.start()
        said = until(lambda: [s for s in [json.loads(self.ctl("status", "--json").stdout)]
                              if s["sysctls"][0]["value"] == 64])[0]
        self.assertEqual((said["sysctls"][0]["owner"], said["working"]), ("administrator", False))
        self.assertIn("unless Pinned=tune", self.ctl("status").stdout)
        self.assertEqual(self.ctl("verify").returncode, 0)


# Tuned for as long as a test looks at it.
SLOW = SENSITIVE.replace("Hold=300ms", "Hold=1min")


@need_fake
class Apply(DaemonCase):
    """The knob is a file, and everybody sees it."""
    def setUp(self):
        super().setUp()
        self.fake_knob(0)
        self.start(config=SLOW)

    def verify(self):
        config = f"--config={self.settings}" # for its patience
        done = self.ctl("verify", "--json", config)
        said = json.loads(done.stdout)
        self.assertEqual(self.ctl("verify", config).returncode, done.returncode, done.stderr)
        return done.returncode, said["verdict"], said["undo"], said["sysctls"][0]["owner"]

    def test_tuned_and_restored(self):
        value = self.tuned()
        self.assertEqual(self.verify(), (0, "as-believed", "held", "pcptuned"))
        said = json.loads(self.ctl("status", "--json").stdout)
        row = said["sysctls"][0]
        self.assertEqual((row["value"], row["original"], row["owner"]),
                         (int(value), 0, "pcptuned"))
        self.assertTrue(said["working"])
        done = self.ctl("restore")
        self.assertEqual((done.returncode, read(self.knob)), (0, "0\n"), done.stderr)
        self.assertEqual(self.verify(), (0, "as-believed", "none", "kernel-default"))
        self.assertIn("configured is apply: pcptunectl re-arm",
                      " ".join(self.ctl("status").stdout.split()))

    def test_mode_off_gives_back(self):
        self.tuned()
        self.assertEqual(self.ctl("mode", "off").returncode, 0)
        self.assertEqual(read(self.knob), "0\n")

    def test_foreign_write(self):
        self.tuned()
        self.path("knob", "64\n")
        self.assertEqual(self.verify(), (10, "differs", "held", "foreign"))
        self.assertIn("somebody else wrote it", self.ctl("verify").stdout)
        self.ctl("restore")
        self.assertEqual(read(self.knob), "64\n")
        self.assertEqual(self.verify()[:3], (0, "as-believed", "none"))

    def test_killed(self):
        self.tuned()
        self.end(signal.SIGKILL)
        self.assertEqual(self.verify(), (11, "left-behind", "held", "left-behind"))
        done = self.ctl("status")
        self.assertEqual(done.returncode, 3)
        self.assertIn("left behind by a killed pcptuned", " ".join(done.stdout.split()))
        subprocess.run([*self.wrap, PCPTUNED, "--restore"], env=self.env, check=True,
                       capture_output=True, timeout=PATIENCE)
        self.assertEqual(read(self.knob), "0\n")
        self.assertEqual(self.verify(), (0, "as-believed", "none", "kernel-default"))

    def test_lost_journal(self):
        self.tuned()
        os.unlink(f"{self.state}/knobs.journal")
        self.assertEqual(self.verify()[:3], (12, "undo-lost", "none"))


if __name__ == "__main__":
    unittest.main()
