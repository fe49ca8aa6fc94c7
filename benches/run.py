#!/usr/bin/env python3
"""Measures the figures we aim at, of a bare HTTP client and of the engine in every language, in one run: `make bench`.

Each figure is measured for all programs in turns (A B C A B C ...), so that they share the same minutes; what counts is the
median of the rounds, and its ratio to the floor's. Prints a Markdown table, and writes it to target/bench/figures.md together
with figures.json and figures.svg (cost against deltas, turns, history and agents). formats.py measures all wire formats.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import report
from programs import BENCH, BUILT, PROFILE, PROGRAMS, ROOT, Broken, Server, call, machine, more_files, peers, progress

DELTAS, PACED, TURNS, AGENTS, AGENT_TURNS, ARGUMENTS = 20_000, 1_000, 200, 1_000, 6, 10_000
# Points of the diagrams beside the figures.
MORE_DELTAS = (1_000, 5_000, 50_000)
MORE_AGENTS = (30, 100, 300)
# Turns of which one is compared with the next in the diagram.
WINDOW = 10

# Name, unit, digits, and the ratio to the floor that Rust and C, Python, and Node may have.
FIGURES = [
    ("delta", f"one delta of {DELTAS:,} in a stream", "µs", 2, (2.25, 3.75, 3.75)),
    ("paced", "one delta of a stream with one in a millisecond", "µs", 1, (1.5, 3.0, 3.0)),
    ("early", "a tool turn, 2nd to 11th", "ms", 3, (2.4, 5.0, 10.0)),
    ("late", f"a tool turn, the last ten of {TURNS}", "ms", 3, (3.5, 7.5, 12.5)),
    ("agents", f"{AGENTS:,} agents of {AGENT_TURNS} turns at the same time", "CPU s", 2, (2.0, 3.0, 3.0)),
    ("memory", "memory of each of them", "KB", 0, (1.46, 1.71, 2.2)),
    ("arguments", "200 KB of tool arguments in 20-byte deltas", "ms", 1, (2.25, 3.25, 5.0)),
    ("ui", f"one delta of {DELTAS:,} as a UI stream, beside a run without a reader", "µs", 2, ()),
    ("start", "start to the first delta", "CPU ms", 1, (2.0, 4.0, 6.7)),
]
# What a delta of a stream for a browser may cost, in microseconds, beside a run without a reader.
UI_LIMITS = {"rust": 2.0, "python": 4.0, "node": 4.0}
# Clients whose single runs are tasks, as the engine's are: that halves the cost of a delta (README.md, "Two floors").
SPAWNED = ("floor", "handwritten")
TARGET_OF = {"rust": 0, "c": 0, "python": 1, "node": 2}


class Figures:
    """What was measured: {program: {figure: values of the rounds}}, and the points of the diagrams."""

    def __init__(self, server, fmt):
        self.server, self.fmt = server, fmt
        self.values, self.points = {}, {}
        self.bytes = {}  # what the first program received of a model

    def call(self, program, task, **options):
        """One process, with its report."""
        arguments = [task, "--url", self.server.url, "--format", self.fmt]
        for name, value in options.items():
            arguments += [f"--{name}", str(value)]
        done = call(program, arguments)
        if "bytes" in done and done["bytes"] != self.bytes.setdefault(options["model"], done["bytes"]):
            raise Broken(f"{program.name} received {done['bytes']} bytes of {options['model']}, not as many as others")
        return done

    def add(self, program, figure, value):
        self.values.setdefault(program.name, {}).setdefault(figure, []).append(value)

    def point(self, program, diagram, x, y):
        self.points.setdefault(diagram, {}).setdefault(program.name, {}).setdefault(x, []).append(y)

    def deltas(self, program):
        us = statistics.median(self.call(program, "stream", model=f"text-{DELTAS}", repeats=3)["cpu_us"])
        self.add(program, "delta", us / DELTAS)
        self.point(program, "deltas", DELTAS, us / 1000)

    def ui(self, program):
        if program.name not in UI_LIMITS:
            return
        arguments = ["stream", "--url", self.server.url, "--format", self.fmt, "--model", f"text-{DELTAS}", "--repeats", "3"]
        read, unread = (statistics.median(call(program, arguments, BENCH_READ=how)["cpu_us"]) for how in ("ui", "none"))
        self.add(program, "ui", (read - unread) / DELTAS)

    def more_deltas(self, program):
        for count in MORE_DELTAS:
            us = statistics.median(self.call(program, "stream", model=f"text-{count}", repeats=3)["cpu_us"])
            self.point(program, "deltas", count, us / 1000)

    def paced(self, program):
        us = self.call(program, "stream", model=f"paced-{PACED}", repeats=1)["cpu_us"][0]
        self.add(program, "paced", us / PACED)

    def arguments(self, program):
        us = statistics.median(self.call(program, "stream", model=f"args-{ARGUMENTS}", repeats=3)["cpu_us"])
        self.add(program, "arguments", us / 1000)

    def turns(self, program):
        # A process may take the end of a turn late, after the next has begun: three processes, of each turn the median.
        runs = [self.call(program, "stream", model=f"turns-{TURNS}", repeats=1)["turn_us"] for _ in range(3)]
        if any(len(turns) != TURNS for turns in runs):
            raise Broken(f"{program.name} reported {[len(turns) for turns in runs]} turns, not {TURNS}")
        self.add(program, "early", statistics.median(statistics.mean(turns[1:11]) for turns in runs) / 1000)
        # The very last turn calls no tool.
        self.add(program, "late", statistics.median(statistics.mean(turns[-11:-1]) for turns in runs) / 1000)
        for end in range(WINDOW, TURNS, WINDOW):
            spans = [statistics.mean(turns[end - WINDOW : end]) for turns in runs]
            self.point(program, "history", end, statistics.median(spans) / 1000)
        for count in (10, 20, 50, 100, TURNS):
            self.point(program, "turns", count, statistics.median(sum(turns[:count]) for turns in runs) / 1000)

    def concurrent(self, program, agents):
        done = self.call(program, "concurrent", model=f"turns-{AGENT_TURNS}", runs=agents)
        if done["failures"]:
            raise Broken(f"{program.name}: {done['failures']} of {agents} concurrent runs failed")
        self.point(program, "agents", agents, done["cpu_us"] / 1e6)
        return done

    def agents(self, program):
        done = self.concurrent(program, AGENTS)
        self.add(program, "agents", done["cpu_us"] / 1e6)
        self.add(program, "memory", (done["peak_kb"] - done["idle_kb"]) / AGENTS)

    def more_agents(self, program):
        for agents in MORE_AGENTS:
            self.concurrent(program, agents)

    def start(self, program):
        if program.name == "node":
            us = imported(program, "await import('agent-loop')") - imported(program, "")
        else:
            done = self.call(program, "start", model="text-5")
            us = done["first_us"] - done.get("before_us", 0)
        self.add(program, "start", us / 1000)


def imported(program, statement):
    """CPU time, in microseconds, of Node after a statement."""
    script = f"{statement}; const {{ user, system }} = process.cpuUsage(); console.log(user + system)"
    command = ["node", "--input-type=module", "-e", script]
    return int(subprocess.run(command, cwd=program.cwd, check=True, capture_output=True, text=True).stdout)


def measure(figures, programs, rounds):
    """All rounds of all programs; a program that breaks is left out from there."""
    figures_of = ("deltas", "ui", "paced", "turns", "agents", "arguments", "start")
    for turn in range(rounds):
        for name in (*figures_of, "more_deltas", "more_agents") if turn == 0 else figures_of:
            for program in programs:
                progress(f"round {turn + 1} of {rounds}: {name}, {program.name}")
                if program.problem is None:
                    try:
                        getattr(figures, name)(program)
                    except (Broken, KeyError, subprocess.CalledProcessError) as error:
                        program.problem = str(error) if isinstance(error, Broken) else f"{name}: {error!r}"
    progress("")


def summary(figures, programs):
    """The rows of the table: of each figure and program the median, its ratio to the floor, and what it may be."""
    rows = []
    for key, words, unit, digits, limits in FIGURES:
        row = {"figure": key, "words": words, "unit": unit, "digits": digits, "programs": {}}
        floor = figures.values.get("floor", {}).get(key)
        for program in programs:
            rounds = figures.values.get(program.name, {}).get(key)
            if not rounds:
                continue
            middle = statistics.median(rounds)
            cell = {"rounds": rounds, "median": middle, "ratio": middle / statistics.median(floor) if floor else None}
            if program.name in TARGET_OF and cell["ratio"] is not None:
                cell["wanted"] = limits[TARGET_OF[program.name]]
                cell["met"] = cell["ratio"] <= cell["wanted"]
            if key == "ui":
                cell["wanted"] = UI_LIMITS[program.name]
                cell["met"] = middle <= cell["wanted"]
            row["programs"][program.name] = cell
        rows.append(row)
    return rows


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="A,B", help="these programs; the floor is always measured")
    parser.add_argument("--format", default="anthropic", choices=("anthropic", "chat", "responses", "gemini"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-build", action="store_true", help="take the Rust programs as they are")
    parser.add_argument("--out", type=Path, default=BENCH, help="the folder of figures.json, figures.md and figures.svg")
    return parser.parse_args()


def main():
    chosen = options()
    if not chosen.no_build:
        build = ["cargo", "build", "--locked", "--profile", PROFILE, "-p", "agent-loop-benches"]
        subprocess.run(build, cwd=ROOT, check=True)
    more_files()
    programs = [program for program in (*PROGRAMS, *peers()) if program.name != "floor-spawned"]
    for program in programs:
        if program.name in SPAWNED:
            program.options = ("--spawned",)
    if chosen.only:
        programs = [program for program in programs if program.name in ("floor", *chosen.only.split(","))]
    there = [program for program in programs if program.missing() is None]
    before = machine()
    with Server() as server:
        figures = Figures(server, chosen.format)
        measure(figures, there, chosen.rounds)
    rows = summary(figures, there)
    notes = [f"{p.name}: not built ({os.path.relpath(p.missing(), ROOT)})" for p in programs if p.missing() is not None]
    notes += [f"{p.name}: failed: {p.problem}" for p in there if p.problem]
    where = f"{before['processor']}, {before['cores']} cores, load {before['load'][0]} to {machine()['load'][0]}; {PROFILE}"
    text = report.markdown(rows, [program.name for program in there], where, notes)
    print(text)
    chosen.out.mkdir(parents=True, exist_ok=True)
    points = {
        diagram: {name: {x: statistics.median(ys) for x, ys in sorted(line.items())} for name, line in lines.items()}
        for diagram, lines in figures.points.items()
    }
    raw = {"machine": before, "profile": PROFILE, "format": chosen.format, "figures": rows, "points": points, "notes": notes}
    (chosen.out / "figures.json").write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")
    (chosen.out / "figures.md").write_text(text + "\n", encoding="utf-8")
    (chosen.out / "figures.svg").write_text(report.svg(points, where), encoding="utf-8")
    print(f"\nwritten to {os.path.relpath(chosen.out)}: figures.json, figures.md, figures.svg")
    return 1 if any(program.problem for program in there) else 0


if __name__ == "__main__":
    sys.exit(main())
