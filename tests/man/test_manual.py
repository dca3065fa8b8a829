#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The manual pages against the programs. Usage: test_manual.py BUILD_DIR [unittest arguments]

A comment before what is shown says what becomes of it:
  .\\" run [CODE] [if PROGRAM]   the .Dl that follows is run by sh and ends with CODE (0)
  .\\" run for 1s                it goes on until SIGTERM, and then ends with 0
  .\\" load [CODE]               the .Bd that follows is a configuration: --check-config
  .\\" file NAME                 it is a file that later examples use
  .\\" shown: WHY                neither
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv.pop(1))
BIN = os.path.join(BUILD, "bin")
MAN = os.path.join(TREE, "man")
PAGES = sorted(os.path.basename(p) for p in glob.glob(os.path.join(MAN, "*.[1-8]")))
PATIENCE = 60
# Pages of others that may be referred to. Whether they are installed here says nothing.
ELSEWHERE = {"busctl 1", "journalctl 1", "jq 1", "less 1", "mlockall 2", "write 2", "syslog 3",
             "sysctl.d 5", "sysctl 8"}
counted = collections.Counter()


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def page(name):
    return read(os.path.join(MAN, name))


def section(name, title):
    """The lines between .Sh or .Ss TITLE and the next .Sh."""
    found = re.search(rf"(?ms)^\.(?:Sh|Ss) {re.escape(title)}\n(.*?)(?=^\.Sh |\Z)", page(name))
    assert found, f"{name} has no section {title}"
    return found[1]


def run(*command, code=0, env=None, cwd=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False,
                          env=env, cwd=cwd)
    assert done.returncode == code, (command, done.returncode, done.stderr)
    return done.stdout


def program(name, *args, **more):
    return run(os.path.join(BIN, name), *args, **more)


def skip(test, why):
    print(f"SKIP: {test.id()}: {why}")
    test.skipTest(why)


# --- settings ------------------------------------------------------------------------------------

TYPES = {"BOOL": "A boolean", "NUMBER": "A number", "PERCENT": "A percentage", "SIZE": "A size",
         "DURATION": "A duration", "PATH": "A file"}


def table():
    """(section, name) to type, from the source."""
    keys = re.findall(r"KEY\((\w+), (\w+), [\w\[\]]+, (\w+),",
                      read(os.path.join(TREE, "src", "config", "table.c")))
    return {(s, n): TYPES.get(t, "One of") for s, n, t in keys if s != "section_"}


def printed():
    """(section, name) to (range, default), from the program."""
    text = program("pcptuned", "--print-config", "--config=/dev/null")
    settings = {}
    for part in re.split(r"(?m)^(?=\[)", text)[1:]:
        where = part[1:part.index("]")]
        for allowed, name, value in re.findall(r"(?m)^# .* \((.*)\)\n#(\w+)=(.*)$", part):
            settings[where, name] = (allowed, value)
    return settings


def documented():
    """(section, name) to (type, range, default), from pcptuned.conf(5)."""
    settings = {}
    for part in re.split(r"(?m)^\.Ss ", section("pcptuned.conf.5", "SETTINGS"))[1:]:
        where = re.match(r"\[(\w+)\]", part)[1]
        for item in re.split(r"(?m)^\.It ", part)[1:]:
            name, kind, allowed, default = re.match(
                r"Cm (\w+)=\n(A \w+|One of)(?:, | )(.*)\.\n"
                r"(?:Defaults to (.*)|Empty by default)\.\n\.Pp\n\S", item).groups()
            settings[where, name] = (kind, allowed, default or "")
    return settings


class Settings(unittest.TestCase):
    def test_table(self):
        types, shown, manual = table(), printed(), documented()
        self.assertGreater(len(types), 20)
        self.assertEqual(set(shown), set(types))
        self.assertEqual(list(manual), list(types))  # in the same order
        for key, (kind, allowed, default) in manual.items():
            self.assertEqual((key, kind, allowed, default), (key, types[key], *shown[key]))
        counted["settings"] = len(manual)

    def test_references(self):
        """A Name= in any page is a setting, of pcptuned or of a scenario."""
        names = {n for _, n in table()} | scenario_keys()
        for name in PAGES:
            for word in re.findall(r"(?m)^\.(?:It )?Cm (.*)$", page(name)):
                for key in re.findall(r"\b([A-Z]\w+)=", word):
                    self.assertIn(key, names, name)


def scenario_keys():
    source = read(os.path.join(TREE, "src", "sim", "scenario.c"))
    rows = source[source.index("static const struct key keys[]"):]
    rows = rows[:rows.index("\n};")]
    found = re.findall(r'(?:COUNT|TIME)\("\w+", "(\w+)"|COST\("(\w+)"|\{"\w+", "(\w+)"', rows)
    return {"".join(f) for f in found} | {"Type"}


# --- options and keys ----------------------------------------------------------------------------

HELPS = {
    "pcpbench": [["--help"], ["storm", "--help"]],
    "pcpsim": [["--help"]],
    "pcptuned": [["--help"]],
    "pcptunectl": [["--help"]] + [[verb, "--help"] for verb in (
        "status", "top", "events", "recommend", "explain", "config", "verify", "mode", "re-arm",
        "restore", "reload")],
}


class Options(unittest.TestCase):
    def test_both_ways(self):
        for name, calls in HELPS.items():
            page_name = next(p for p in PAGES if p.rsplit(".", 1)[0] == name)
            with self.subTest(page=page_name):
                helped = set()
                for args in calls:
                    text = program(name, *args)
                    # other programs' options are theirs
                    text = re.sub(r"(systemctl|pcptuned|journalctl) [^;\n]*", "", text) \
                        if name == "pcptunectl" else text
                    helped |= set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", text))
                items = "\n".join(re.findall(r"(?m)^\.It (Fl .*)$", page(page_name)))
                manual = set(re.findall(r"Fl -([a-z][a-z-]+)", items))
                self.assertEqual(manual, helped)
                counted["options"] += len(manual)


def items(name, title):
    """The words of .It Cm in a section; continued lines are joined."""
    text = section(name, title).replace("\\\n", "")
    return set(re.findall(r"[\w=]+", " ".join(re.findall(r"(?m)^\.It Cm (.*)$", text))))


def keys_of(value):
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


class Keys(unittest.TestCase):
    def test_scenario(self):
        manual = {i.rstrip("=") for i in items("pcpsim.1", "SCENARIO FILES")}
        self.assertEqual(manual, scenario_keys())
        counted["scenario keys"] = len(manual)

    def test_pcpsim(self):
        scenario = os.path.join(TREE, "src", "sim", "scenarios", "closed-a.ini")
        keys = keys_of(json.loads(program("pcpsim", "--json", scenario)))
        self.assertEqual(items("pcpsim.1", "JSON"), keys)
        counted["JSON keys"] += len(keys)

    def test_pcpbench(self):
        keys = set()
        for more in [], ["--thread-churn=20"]:
            keys |= keys_of(json.loads(program("pcpbench", "storm", "--json", "--size=4M", *more)))
        self.assertEqual(items("pcpbench.1", "JSON"), keys)
        counted["JSON keys"] += len(keys)

    def test_elsewhere(self):
        """Metrics, events and journal fields have tests that know the structures."""
        for name in "test_metrics", "test_report", "test_sdjournal":
            path = os.path.join(BIN, name)
            if not os.path.exists(path):
                skip(self, f"{name} is not built")
            run(path)
            counted["programs that check metrics, events and journal fields"] += 1


# --- examples ------------------------------------------------------------------------------------

def examples(name):
    """(what the comment says, the text) of all that is shown under EXAMPLES or marked elsewhere."""
    mark, title, shown = None, "", []
    lines = iter(page(name).splitlines())
    for line in lines:
        if line.startswith(".Sh "):
            title = line[4:]
        elif re.match(r'\.\\" (run|load|file|shown)\b', line):
            mark = line[4:]
        elif line.startswith(".Dl ") and (mark or title == "EXAMPLES"):
            shown.append((mark, line[4:]))
            mark = None
        elif line.startswith(".Bd ") and (mark or title == "EXAMPLES"):
            text = "".join(f"{x}\n" for x in iter(lambda: next(lines), ".Ed"))
            shown.append((mark, text.replace("\\&", "")))
            mark = None
    return shown


class Examples(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="pcptuned-manual-")
        self.addCleanup(temporary.cleanup)
        self.dir = temporary.name
        self.env = dict(os.environ, PATH=BIN + ":" + os.environ["PATH"], NO_COLOR="1", PAGER="cat",
                        RUNTIME_DIRECTORY=os.path.join(self.dir, "run"))

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def load(self, text, code=0):
        path = self.write("example.conf", text)
        program("pcptuned", f"--check-config={path}", code=code)
        counted["configurations"] += 1

    def run_for(self, command, seconds):
        with subprocess.Popen(["sh", "-c", f"exec {command}"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=self.env,
                              cwd=self.dir) as process:
            time.sleep(seconds)
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, errors)

    def run_example(self, mark, command):
        words = mark.split()
        if words[1:2] == ["for"]:
            self.run_for(command, float(words[2].rstrip("s")))
        elif "if" in words and not shutil.which(words[-1]):
            print(f"SKIP: {command}: no {words[-1]}")
            return
        else:
            code = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
            run("sh", "-c", command, code=code, env=self.env, cwd=self.dir)
        counted["commands"] += 1

    def try_example(self, mark, text):
        kind = mark.split(None, 1)[0] if mark else None
        self.assertIsNotNone(kind, "no comment says what becomes of it")
        if kind == "run" and "/etc/" in text:
            if CAN_MOUNT:
                run(*namespaced(self.dir), text, env=self.env)
                counted["commands"] += 1
        elif kind == "run":
            self.run_example(mark, text)
        elif kind == "load":
            self.load(text, int((mark.split() + ["0"])[1]))
        elif kind == "file":
            self.write(mark.split()[1], text)
        else:
            self.assertRegex(mark, r"^shown: \w")

    def test_all(self):
        for name in PAGES:
            shown = examples(name)
            if name == "pcptunectl.1":  # asks a daemon, a journal, or a terminal
                shown = [(mark, text) for mark, text in shown if mark]
            else:
                self.assertGreater(len(shown), 0, name)
            for mark, text in shown:
                with self.subTest(page=name, example=text):
                    self.try_example(mark, text)

    def test_fleet(self):
        for path in glob.glob(os.path.join(TREE, "fleet", "[0-9]*.conf")):
            with self.subTest(path=path):
                self.load(read(path))
        self.assertGreater(counted["configurations"], 1)


# --- where files lie -----------------------------------------------------------------------------

DIRS = ("etc", "run", "usr/local/lib")  # and usr/lib, which the programs need


def namespaced(where):
    """A command that has directories below `where` in place of the machine's."""
    for d in DIRS:
        os.makedirs(os.path.join(where, "root", d, "pcptuned", "pcptuned.conf.d"), exist_ok=True)
    mounts = "".join(f"mount --bind '{where}/root/{d}' /{d} && " for d in DIRS)
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c",
            f'{mounts} eval "$1"', "sh"]


def can_mount():
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return False
    with tempfile.TemporaryDirectory() as where:
        return subprocess.run([*namespaced(where), "true"], capture_output=True,
                              check=False).returncode == 0


CAN_MOUNT = can_mount()


class Places(unittest.TestCase):
    """What pcptuned.conf(5) says of the order, of the program itself."""

    def setUp(self):
        if not CAN_MOUNT:
            skip(self, "needs root and mount namespaces")
        temporary = tempfile.TemporaryDirectory(prefix="pcptuned-places-")
        self.addCleanup(temporary.cleanup)
        self.dir = temporary.name
        self.command = namespaced(self.dir)

    def put(self, path, text):
        path = os.path.join(self.dir, "root", path)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def value(self, name):
        text = run(*self.command, f"{BIN}/pcptuned --print-config")
        return re.search(rf"(?m)^#?{name}=(.*)$", text)[1]

    def test_order(self):
        drop = "pcptuned/pcptuned.conf.d/"
        self.assertEqual(self.value("Tick"), "10s")
        self.put("etc/pcptuned/pcptuned.conf", "[Daemon]\nTick=1s\n")
        self.assertEqual(self.value("Tick"), "1s")
        self.put(f"usr/local/lib/{drop}10-vendor.conf", "[Daemon]\nTick=2s\n")
        self.assertEqual(self.value("Tick"), "2s")
        self.put(f"run/{drop}10-vendor.conf", "[Daemon]\nTick=3s\n")
        self.assertEqual(self.value("Tick"), "3s")
        self.put(f"run/{drop}50-host.conf", "[Daemon]\nTick=4s\n")
        self.put(f"etc/{drop}20-fleet.conf", "[Daemon]\nTick=5s\n")
        self.assertEqual(self.value("Tick"), "4s")
        os.symlink("/dev/null", os.path.join(self.dir, f"root/etc/{drop}50-host.conf"))
        self.assertEqual(self.value("Tick"), "5s")
        self.put(f"etc/{drop}90-default.conf", "[Daemon]\nTick=\n")
        self.assertEqual(self.value("Tick"), "10s")
        self.put(f"etc/{drop}.hidden.conf", "[Nonsense]\n")
        self.put(f"etc/{drop}95-not.config", "[Nonsense]\n")
        self.assertEqual(self.value("Tick"), "10s")

    def test_fleet(self):
        """What is released wins over the dry run of all."""
        for name, mode in ("10-fleet.conf", "dry-run"), ("20-released.conf", "apply"):
            self.put(f"etc/pcptuned/pcptuned.conf.d/{name}",
                     read(os.path.join(TREE, "fleet", name)))
            self.assertEqual(self.value("Mode"), mode)


class Released(unittest.TestCase):
    """fleet/released"""

    def among(self, percent, file):
        done = subprocess.run([os.path.join(TREE, "fleet", "released"), str(percent), file],
                              capture_output=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode == 0

    def test_shares(self):
        with tempfile.TemporaryDirectory() as where:
            files = []
            for i in range(100):
                files.append(os.path.join(where, str(i)))
                with open(files[-1], "w", encoding="utf-8") as f:
                    f.write(f"{i:032x}\n")
            chosen = {p: {f for f in files if self.among(p, f)} for p in (0, 5, 30, 100)}
        self.assertEqual((len(chosen[0]), len(chosen[100])), (0, 100))
        self.assertTrue(chosen[5] < chosen[30])
        self.assertTrue(15 <= len(chosen[30]) <= 45, len(chosen[30]))

    def test_usage(self):
        for args in [], ["101"], ["5%"], ["-1"], ["05"], ["5", "/nonexistent"]:
            done = subprocess.run([os.path.join(TREE, "fleet", "released"), *args],
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 2, args)


# --- the pages themselves ------------------------------------------------------------------------

class Pages(unittest.TestCase):
    def test_references(self):
        known = {p.replace(".conf.5", ".conf 5") if ".conf." in p else p.replace(".", " ")
                 for p in PAGES} | ELSEWHERE
        for name in PAGES:
            for line in re.findall(r"(?m)^\.(?:It )?(Xr .*)$", page(name)):
                self.assertIn(re.match(r"Xr (\S+ \d)", line)[1], known,
                              f"{name} refers to it: add it to ELSEWHERE if it exists")

    def test_lint(self):
        if not shutil.which("mandoc"):
            skip(self, "no mandoc (scripts/deps)")
        for name in PAGES:
            done = subprocess.run(["mandoc", "-Tlint", os.path.join(MAN, name)],
                                  capture_output=True, text=True, check=False)
            # test_references knows better which pages there are
            bad = [l for l in done.stdout.splitlines() if "referenced manual not found" not in l]
            self.assertEqual(bad, [], name)
            counted["pages"] += 1

    def test_install(self):
        with tempfile.TemporaryDirectory() as root:
            run("cmake", "--install", BUILD, "--component", "manual",
                env=dict(os.environ, DESTDIR=root))
            installed = {os.path.relpath(path, root) for path in
                         glob.glob(os.path.join(root, "**"), recursive=True)}
        for name in PAGES:
            wanted = rf"share/man/man{name[-1]}/{re.escape(name)}$"
            self.assertTrue(any(re.search(wanted, path) for path in installed), name)
        self.assertTrue(any(path.endswith("fleet/README.md") for path in installed))


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=1).result
    print(", ".join(f"{n} {what}" for what, n in counted.items()) + ": "
          + ("all as the programs have it" if result.wasSuccessful() else "NOT as they have it"))
    sys.exit(not result.wasSuccessful())
