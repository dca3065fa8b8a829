# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/demo, once everything is built."""
from common import *

BOLD, PLAIN = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
ROOT = os.geteuid() == 0
TASKS = 9


def title(text):
    print(f"\n{BOLD}{text}{PLAIN}")


def facts():
    return subprocess.run([PCPTUNED, "--facts", "--config=/dev/null"], stdout=subprocess.PIPE,
                          text=True, check=True).stdout


def task_size():
    """A quarter of what is available, at most 256 MiB a task."""
    with open("/proc/meminfo") as f:
        available = int(re.search(r"MemAvailable:\s+(\d+)", f.read())[1]) * 1024
    return min(256 * MIB, available // 4 // TASKS) // MIB


def widest_wait(text):
    """The largest W of facts, in nanoseconds."""
    m = re.search(r"W is at most .* = ([\d.]+)(us|ms|ns) against", text)
    return float(m[1]) * {"ns": 1, "us": 1e3, "ms": 1e6}[m[2]]


def show(events):
    for e in events:
        if e["event"] not in ("started", "stopped") and e["level"] <= 6:
            print(f"  {'would be: ' if e['dry_run'] else ''}{e['message']}")


def storm(label, settings, size, *args):
    """The storm as pcpbench saw it, and the daemon's events from its first SIGKILL on: other
    programs' exits may have begun a storm of their own before."""
    title(label)
    where = ["--cgroup=/pcptuned-demo"] if ROOT else []
    with Daemon(settings, args=args) as d:
        quiet_machine()
        before = read_fraction()
        result = bench(f"--tasks={TASKS}", f"--size={size}M", "--bystander=shared", *where)
        seen = result["storms"][0]
        d.wait_for(lambda e: e["event"] in ("restored", "left-alone")
                   and e["monotonic_ns"] > seen["last_exit_ns"], 5)
        events = [e for e in d.events if e["monotonic_ns"] > seen["kill_ns"]]
        show(events)
    during = seen["bystander"]["during"]
    print(f"  (exit of all took {ms(seen['exit_total_ns']):.0f} ms; the bystander's page faults "
          f"meanwhile: p50 {during['p50_ns'] / 1e3:.1f} us, p99 {during['p99_ns'] / 1e3:.1f} us, "
          f"max {during['max_ns'] / 1e3:.0f} us)")
    return seen, events, before


def timeline(seen, events, before):
    kill = seen["kill_ns"]
    act = next((e for e in events if e["event"] == "storm"), None)
    end = act and next((e for e in events if e["event"] == "restored"
                        and e["storm"] == act["storm"]), None)
    if not end:
        print("  no timeline: a storm of somebody else's was on already")
        return False
    print("\n  ms after the first SIGKILL")
    rows = [(0, "first SIGKILL"),
            (act["message_at_ns"] - kill, "first message from the kernel (taskstats)"),
            (act["started_at_ns"] - kill, "decided; the writing thread begins"),
            (act["written_at_ns"] - kill,
             f"written: {before} -> {act['after']['high_fraction']} (read back)"),
            (seen["last_exit_ns"] - kill, "last of the tasks is gone"),
            (end["written_at_ns"] - kill,
             f"restored: {end['before']['high_fraction']} -> {end['after']['high_fraction']}")]
    for at, what in rows:
        print(f"  {ms(at):10.3f}  {what}")
    return True


def main():
    title("This machine")
    text = facts()
    print(text.rstrip())
    size = task_size()
    found = read_fraction() if os.path.exists(FRACTION) else None
    if found is None:
        print("\nThis kernel has no vm.percpu_pagelist_high_fraction: nothing to show beyond that.")
        return 0

    storm(f"1. Dry run, default target, {TASKS} x {size} MiB killed at once", "", size,
          "--dry-run")
    if not ROOT:
        print("\nAs root the exits would be announced before they free anything (taskstats), and "
              "the knob would be written and restored: sudo scripts/demo")
        return 0
    storm("2. Applied, default target: is there anything to do on this machine?", "", size)
    target = max(int(widest_wait(text) / 4 / 1000), 1)
    tuned = f"[Policy]\nTargetWait={target}us\n[Conflict]\nPinned=tune\n"
    label = f"3. Applied, with a target of {target} us, which it must act for"
    title("The page lists are emptied first: full ones, as storms leave them, would have to be "
          "drained, and that alone is a reason to leave a storm alone on this kernel")
    empty_lists()
    # Other programs' exits may have begun a storm of their own just before: then once more.
    shown = any(timeline(*storm(label, tuned, size)) for _ in range(3))

    left = read_fraction()
    title("The end")
    print(f"vm.percpu_pagelist_high_fraction was {found} and is {left}: "
          + ("all as found." if left == found else "NOT AS FOUND."))
    return 0 if left == found and shown else 1


if __name__ == "__main__":
    with SysctlKept():
        CODE = main()
    sys.exit(CODE)
