#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges the policy on simulated machines: pcptuned against no action and constant settings.

usage: closed_loop.py PCPSIM closed-loop [PLOT.svg] | filled | do-nothing | scenarios | rules

closed-loop  the storm of (a): target, exit time, Pareto front of a sweep of constant settings;
             starts, churn, lists that hoard, memory pressure, hot-plug
filled       kernels with auto-tuning whose lists are full: exits never worse than no action
do-nothing   what the kernel does itself, and what short or long lists do not help: no write
scenarios    other storms and noises: a table, and that noise is left alone
rules        what constant settings give where something else than exits is the trouble: a table

Exits 0 only where each claim holds; the last line is the figure."""

import math
import sys

from published import SCENARIOS, ns, simulate

TARGET_NS = 100_000  # TargetWait= by default
FRACTIONS = [0, 256, 512, 1024, 1536, 2048, 3000, 4509, 2147483647]
SEEDS = range(1, 9)
SAME = 1.02  # what two seeds differ by


def off(pcpsim, scenario, *settings):
    return simulate(pcpsim, scenario, "Policy.Daemon=no", *settings)


def quantile(result, q):
    """Of the bystanders' waits in the storm; of all where there is none."""
    return result[f"bystander_{'storm' if result['bystander_storm_waits'] else 'wait'}_{q}_ns"]


def p99(result):
    return quantile(result, "p99")


def took(result):
    return max(result["exit_total_ns"], result["start_total_ns"]) / 1e9


def row(name, result):
    print(f"| {name} | {result['bystander_storm_waits'] or result['bystander_wait']['count']} |"
          f" {ns(quantile(result, 'p50'))} | {ns(p99(result))} |"
          f" {ns(result['bystander_wait']['max_ns'])} | {took(result):.3f} s |"
          f" {result['faults_per_s'] / 1e3:.1f} | {result['max_hold_pages']} |"
          f" {result['knob_writes']} |")


def head(title):
    print(f"\n{title}\n\n| setting | bystanders' waits | p50 | p99 | max | took |"
          " 1000 faults/s | most pages in a hold | writes |\n|---|---|---|---|---|---|---|---|---|")


def decisions(result):
    print()
    for d in result["decisions"]:
        print(f"- {d['at_ns'] / 1e6:.1f} ms: {d['reason']}: {d['text']}")


def sweep(pcpsim, scenario, *settings):
    constants = {}
    for fraction in FRACTIONS:
        constants[fraction] = off(pcpsim, scenario, f"Regime.Fraction={fraction}", *settings)
        row(f"constant {fraction}", constants[fraction])
    return constants


def dominated(ours, others):
    """By a setting with a shorter p99 and no less throughput, or the other way round."""
    return [f for f, o in others.items()
            if p99(o) <= p99(ours) and o["faults_per_s"] >= ours["faults_per_s"]
            and (p99(o) < p99(ours) or o["faults_per_s"] > ours["faults_per_s"])]


def judge_seed(pcpsim, seed):
    """p99; how many times lower than without; exits' time against the best and the default."""
    seed = f"Run.Seed={seed}"
    ours, default = simulate(pcpsim, "closed-a", seed), off(pcpsim, "closed-a", seed)
    constants = [off(pcpsim, "closed-a", seed, f"Regime.Fraction={f}") for f in FRACTIONS[1:]]
    meeting = [o["exit_total_ns"] for o in constants if p99(o) <= 2 * TARGET_NS]
    return (p99(ours), p99(default) / p99(ours), ours["exit_total_ns"] / min(meeting) - 1,
            ours["exit_total_ns"] / default["exit_total_ns"] - 1)


def closed_loop(pcpsim, plot=None):
    head("The storm of (a)")
    ours = simulate(pcpsim, "closed-a")
    row("pcptuned", ours)
    constants = sweep(pcpsim, "closed-a")
    decisions(ours)
    runs = [judge_seed(pcpsim, seed) for seed in SEEDS]
    worst, lower, longer, price = (f(x) for f, x in zip((max, min, max, max), zip(*runs)))

    head("The same beside two allocating loops: throughput over storm and calm")
    loops = simulate(pcpsim, "closed-a-loops")
    row("pcptuned", loops)
    others = sweep(pcpsim, "closed-a-loops")
    better = dominated(loops, others)
    if plot:
        draw(loops, others, plot)

    head("64 tasks: beyond what the floor of 189 pages can do")
    many = simulate(pcpsim, "closed-a", "exits.Tasks=64", "Run.Time=12s")
    row("pcptuned", many)
    row("no action", off(pcpsim, "closed-a", "exits.Tasks=64", "Run.Time=12s"))
    ruled, figures = met(pcpsim)
    print(f"\n64 tasks: p99 is {p99(many) / TARGET_NS:.1f} times the target\n"
          f"dominated by: {better or 'none'}\n" + "\n".join(figures) + "\n"
          f"the worst of seeds {SEEDS[0]} to {SEEDS[-1]}: p99 {worst / TARGET_NS:.2f} times the"
          f" target, {lower:.1f} times lower than without; exits {longer:+.1%} against the best"
          f" constant setting that meets it, {price:+.1%} against the kernel's default;"
          f" {figures[0].partition(';')[0]}")
    return (lower >= 10 and worst <= 2 * TARGET_NS and longer <= 0.05 and not better
            and all(ruled))


def beside(pcpsim, title, scenario, *settings):
    """(without, with pcptuned)"""
    head(title)
    nothing, ours = off(pcpsim, scenario, *settings), simulate(pcpsim, scenario, *settings)
    row("no action", nothing)
    row("pcptuned", ours)
    decisions(ours)
    return nothing, ours


def times_lower(nothing, ours):
    return p99(nothing) / p99(ours)


def more_time(nothing, ours):
    return took(ours) / took(nothing) - 1


def saw_starts(result, before_ns):
    return any("fault memory in" in d["text"] and d["writes"] and d["at_ns"] < before_ns
               for d in result["decisions"])


def met_starts(pcpsim):
    """The slow tick falls into the storm; full lists; and a restart, which no tick shows."""
    cases = [(r, f) for r in ("R4", "R5", "R6") for f in ("", "100")]
    runs = [beside(pcpsim, f"64 starts of 4 GB, {r}{', lists full to high_max' if f else ''}",
                   "start-storm", f"Regime.Regime={r}", "starts.Start=9900ms",
                   *([f"Regime.FilledPercent={f}"] if f else [])) for r, f in cases]
    again = [beside(pcpsim, f"18 x 6 GB exit, and are started again, {r}", "restart",
                    f"Regime.Regime={r}", f"starts.Start={start}")
             for r, start in (("R4", "2s"), ("R6", "2s"), ("R5", "2700ms"))]
    least, most = min(times_lower(*r) for r in runs), max(more_time(*r) for r in runs)
    restarts = [times_lower(*r) for r in again]
    return (least >= 5 and most <= 0.10 and min(restarts[:2]) >= 5 and restarts[2] >= 2
            and max(more_time(*r) for r in again) <= 0.10
            and all(saw_starts(ours, 10e9) for _, ours in again),
            f"starts: p99 at least {least:.1f} times lower, at most {most:+.1%} longer; started"
            f" again before the tick: {restarts[0]:.1f} (R4), {restarts[1]:.1f} (R6) and"
            f" {restarts[2]:.1f} times (R5)")


def late_rate(run, begin_s, end_s):
    """Page faults a second between two times, of two runs that are the same up to the first."""
    faults = [run(f"Run.Time={t}s")["faults"] for t in (begin_s, end_s)]
    return (faults[1] - faults[0]) / (end_s - begin_s)


def met_churn(pcpsim):
    gains, waits, late = [], [], ("Regime.Regime=R3", "Run.Time=150s")
    for scenario in ("churn", "churn-light"):
        nothing, ours = beside(pcpsim, f"{scenario}, R3, 150 s", scenario, *late)
        rates = [late_rate(lambda time, f=f: f(pcpsim, scenario, late[0], time), 110, 150)
                 for f in (off, simulate)]
        gains.append(rates[1] / rates[0])
        waits.append(p99(ours) / p99(nothing))
    return (gains[0] >= 1.5 and gains[1] >= 1 / SAME and max(waits) <= 1,
            f"churn in R3: in the last 40 s {gains[0]:.2f} times the page faults, p99"
            f" {waits[0]:.2f} of that without; with pauses {gains[1]:.2f} and {waits[1]:.2f}")


def met_hoard(pcpsim):
    nothing, ours = beside(pcpsim, "Lists hoard on a small machine, R4", "hoard", "Run.Time=60s")
    share = ours["lists_mean_pages"] / nothing["lists_mean_pages"]
    short = beside(pcpsim, "The same while others reclaim", "hoard-pressure", "Run.Time=400s")
    kept = simulate(pcpsim, "hoard", "Run.Time=1500s", "Run.Sample=1s")
    return (share <= 0.5 and p99(ours) <= p99(nothing) and kept["knob_writes"] <= 3
            and short[1]["knob_writes"] == 1 and p99(short[1]) <= p99(short[0])
            and short[1]["lists_mean_pages"] <= short[0]["lists_mean_pages"] / 2,
            f"hoard: lists hold {share:.0%} in the mean, p99 {p99(ours) / p99(nothing):.2f} of that"
            f" without; {kept['knob_writes']} writes in 25 minutes")


def met_pressure(pcpsim):
    runs = {r: beside(pcpsim, f"The storm of (a) in memory pressure, {r}", "pressure",
                      f"Regime.Regime={r}", "Run.Time=6s")
            for r in ("R2", "R3", "R4")}
    faults = {name: ours["faults"] / nothing["faults"] - 1 for name, (nothing, ours) in runs.items()}
    return (all(times_lower(*r) >= 5 for r in runs.values()) and min(faults.values()) >= -0.15,
            "in memory pressure: p99 "
            + ", ".join(f"{times_lower(*r):.1f} times lower for {more_time(*r):+.0%} of exit time"
                        f" and {faults[name]:+.1%} of page faults ({name})"
                        for name, r in runs.items()))


def met_hotplug(pcpsim):
    back = beside(pcpsim, "Half of the CPUs go in a storm, and come back", "hotplug")
    stay = beside(pcpsim, "Half of the CPUs go before a tick, and stay away", "hotplug-stays")
    again = [d for d in stay[1]["decisions"] if d["at_ns"] == 10e9 and d["writes"]]
    return (min(times_lower(*back), times_lower(*stay)) >= 10 and len(again) == 1,
            f"CPUs go: p99 {times_lower(*back):.1f} times lower, and {times_lower(*stay):.1f} where"
            " they stay away and the tick sees it")


def met(pcpsim):
    """([holds], [figure])"""
    return zip(*(f(pcpsim) for f in (met_starts, met_churn, met_hoard, met_pressure, met_hotplug)))


def draw(ours, others, path):
    points = [(f"fraction {f}" if f else "default", o, "#4363d8") for f, o in others.items()
              if f != 2147483647] + [("pcptuned", ours, "#c0392b")]
    rates = [o["faults_per_s"] for _, o, _ in points]
    low, high = min(rates), max(rates)
    waits = [p99(o) for _, o, _ in points]
    left, right = math.log10(min(waits)) - 0.1, math.log10(max(waits)) + 0.35
    x = lambda o: 80 + 660 * (math.log10(p99(o)) - left) / (right - left)
    y = lambda o: 330 - 260 * (o["faults_per_s"] - low) / (high - low)
    with open(path, "w", encoding="utf-8") as f:
        f.write("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 800 400' font-family="
                "'sans-serif' font-size='12' fill='#222'>\n<rect width='800' height='400' "
                "fill='#fff'/>\n<text x='80' y='28' font-size='15' font-weight='bold'>18 x 6 GB "
                "exit beside two allocating loops, 256 CPUs, R2</text>\n"
                "<path d='M80 50V340H740' stroke='#555' fill='none'/>\n"
                "<text x='410' y='385' text-anchor='middle'>bystander's p99 wait for zone-&gt;lock"
                " in the storm (shorter is to the left)</text>\n<text x='20' y='195' "
                "text-anchor='middle' transform='rotate(-90 20 195)'>1000 page faults/s, storm and"
                " calm (not from 0)</text>\n")
        for v in (1e5, 2e5, 5e5, 1e6, 2e6, 5e6):
            if left < math.log10(v) < right:
                at = 80 + 660 * (math.log10(v) - left) / (right - left)
                f.write(f"<path d='M{at:.0f} 340v5' stroke='#555'/><text x='{at:.0f}' y='360' "
                        f"text-anchor='middle'>{ns(v)}</text>\n")
        for v in (low, (low + high) / 2, high):
            at = 330 - 260 * (v - low) / (high - low)
            f.write(f"<text x='74' y='{at + 4:.0f}' text-anchor='end'>{v / 1e3:.0f}</text>\n")
        for i, (name, o, colour) in enumerate(points):
            label = y(o) + (15 if i and i % 2 == 0 else -5)
            f.write(f"<circle cx='{x(o):.0f}' cy='{y(o):.0f}' r='5' fill='{colour}'/>"
                    f"<text x='{x(o) + 9:.0f}' y='{label:.0f}'>{name}</text>\n")
        f.write("</svg>\n")


def filled(pcpsim):
    good, worst, wait = True, 0.0, 0.0
    for percent in (0, 25, 50, 100):
        fill = f"Regime.FilledPercent={percent}"
        head(f"Lists filled to {percent} % of high_max, R4")
        nothing = off(pcpsim, "filled", fill)
        ours = simulate(pcpsim, "filled", fill)
        row("no action", nothing)
        row("pcptuned", ours)
        row("pcptuned, kernel with the scale sysctl (R6)",
            simulate(pcpsim, "filled", fill, "Regime.Regime=R6"))
        row("constant 4509", off(pcpsim, "filled", fill, "Regime.Fraction=4509"))
        decisions(ours)
        if percent == 0:
            continue
        worst = max(worst, ours["exit_total_ns"] / nothing["exit_total_ns"] - 1)
        wait = max(wait, p99(ours) / p99(nothing))
        good &= (p99(ours) <= SAME * p99(nothing)
                 and ours["exit_total_ns"] <= SAME * nothing["exit_total_ns"])
    print(f"\nlists filled to a quarter and more, against no action: bystanders' p99 at most"
          f" {wait:.2f} times as long, exits at most {worst:+.1%}")
    return good


NOTHING = [  # scenario, regimes in which nothing is to be done, for so long
    ("noise-loops", ["R2", "R4", "R5", "R6"], "70s"),
    ("churn", ["R2", "R4", "R5", "R6"], "70s"),
    ("churn-light", ["R2", "R4"], "70s"),
    ("hoard", ["R2", "R3"], "70s"),
    ("hoard-pressure", ["R2", "R3"], "60s"),
    ("start-storm", ["R2", "R3"], "60s"),
]


def do_nothing(pcpsim):
    result = simulate(pcpsim, "closed-g")
    decisions(result)
    reasons = {d["reason"] for d in result["decisions"]}
    writes, runs = result["knob_writes"], 1
    print("\n| scenario | regime | writes | words |\n|---|---|---|---|")
    for scenario, regimes, time in NOTHING:
        for regime in regimes:
            settings = [f"Regime.Regime={regime}", f"Run.Time={time}"]
            if scenario == "start-storm":
                settings.append("starts.Start=9900ms")
            r = simulate(pcpsim, scenario, *settings)
            print(f"| {scenario} | {regime} | {r['knob_writes']} | {len(r['decisions'])} |")
            writes, runs = writes + r["knob_writes"], runs + 1
    print(f"\n{writes} writes in {runs} runs; where the kernel batches itself the reason is"
          f" {', '.join(sorted(reasons)) or 'none'}")
    return writes == 0 and len(reasons) > 0


def scenarios(pcpsim):
    noises = {"noise-shared", "noise-build", "noise-loops"}
    names = sorted(p.stem for p in SCENARIOS.glob("*.ini")
                   if "Daemon=yes" in p.read_text() and not p.stem.startswith(("closed", "filled")))
    wrong = []
    for name in names:
        ours = simulate(pcpsim, name)
        head(f"{name}: {ours['title']}")
        row("no action", off(pcpsim, name))
        row("pcptuned", ours)
        decisions(ours)
        if name in noises and ours["knob_writes"]:
            wrong.append(name)
    print(f"\n{len(names)} scenarios; noise that made it write: {', '.join(wrong) or 'none'}")
    return not wrong


RULES = [  # scenario, regimes, constants: fractions, and the scales of R6
    ("start-storm", ["R2", "R4", "R5"], [0, 256, 1024, 2048, 4509]),
    ("start-storm", ["R6"], [5, 2, 0]),
    ("churn", ["R2", "R3", "R4"], [0, 4509, 1024, 128, 64, 48, 32, 8]),
    ("churn-light", ["R2", "R3", "R4"], [0, 4509, 1024, 128, 64, 48, 32, 8]),
    ("noise-loops", ["R2", "R3", "R4"], [0, 4509, 1024, 89, 45, 22, 8]),
    ("hoard", ["R2", "R4"], [0, 8, 16, 32, 64, 4096]),
    ("hoard-pressure", ["R2", "R4"], [0, 8, 64, 4096]),
    ("pressure", ["R2", "R4"], [0, 1024, 3000, 4509]),
]


def rules_row(name, r):
    seconds = r["simulated_ns"] / 1e9
    print(f"| {name} | {ns(quantile(r, 'p50'))} | {ns(p99(r))} |"
          f" {r['faults_per_s'] / 1e3:.0f} |"
          f" {'' if r['unfinished'] or not took(r) else f'{took(r):.2f} s'} |"
          f" {r['held_ns'] / r['simulated_ns']:.1%} |"
          f" {r['lists_mean_pages'] / 256:.0f} | {r['lists_max_pages'] / 256:.0f} |"
          f" {r['reclaimed_pages'] / seconds / 1e3:.0f} | {r['direct_reclaims'] / seconds:.0f} |"
          f" {r['psi_memory_some_ns'] / r['simulated_ns']:.1%} |")


def rules(pcpsim):
    runs = 0
    for scenario, regimes, constants in RULES:
        for regime in regimes:
            key = "Scale" if regime == "R6" else "Fraction"
            print(f"\n{scenario}, {regime}\n\n| {key} | p50 | p99 | 1000 faults/s | took | lock busy"
                  " | MB in lists | most | 1000 pages/s reclaimed | direct/s | PSI some |\n"
                  "|---|---|---|---|---|---|---|---|---|---|---|")
            for constant in constants:
                rules_row(constant, off(pcpsim, scenario, f"Regime.Regime={regime}",
                                        f"Regime.{key}={constant}", "Run.Time=20s"))
                runs += 1
    print(f"\n{runs} runs without pcptuned")
    return True


def main():
    proofs = {"closed-loop": closed_loop, "filled": filled, "do-nothing": do_nothing,
              "scenarios": scenarios, "rules": rules}
    if len(sys.argv) < 3 or sys.argv[2] not in proofs:
        sys.exit(__doc__)
    sys.exit(0 if proofs[sys.argv[2]](sys.argv[1], *sys.argv[3:]) else 1)


if __name__ == "__main__":
    main()
