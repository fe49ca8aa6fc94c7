#!/usr/bin/env python3
"""Measures the engine in every language and every wire format, and prints a table of each; run.py prints the figures we aim at.

It builds only the Rust programs of this folder; the Makefile builds the other languages, and a missing program is listed
as such. It starts the server and runs the programs in turns (A B C A B C ...), so that all figures of a table are of the
same minutes, and prints each with its target. The exit code is 1 only if a program breaks.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from programs import BUILT, PROFILE, PROGRAMS, ROOT, Broken, Server, call, machine, more_files, progress

FORMATS = ("anthropic", "chat", "responses", "gemini")
DELTAS = 20_000
SHORT, LONG, SCALING_LIMIT = 2_000, 50_000, 27
KINDS = {"text": "text", "tool": "tool arguments"}
RUNS = 1_000
# Deltas of the text that ends a tool run.
AFTER_TOOL = 5


@dataclass
class Bench:
    """The runs and their results."""

    programs: list
    server: Server
    rounds: int
    repeats: int
    cpu: dict = field(default_factory=dict)  # (program, format, model) -> rounds of CPU times, in us
    memory: dict = field(default_factory=dict)  # (program, format) -> reports
    bytes: dict = field(default_factory=dict)  # (format, model) -> what the first program received

    def streams(self, *groups):
        """Measures groups of models ({name: repeats}) in all formats, program after program, round after round; a
        program runs the models of a group in sequence."""
        for turn in range(self.rounds):
            for group in groups:
                for fmt in FORMATS:
                    progress(f"round {turn + 1} of {self.rounds}: {' and '.join(group)}, {fmt}")
                    for program in self.programs:
                        for model, repeats in group.items():
                            self.attempt(program, self.stream, fmt, model, repeats)
        progress("")

    def stream(self, program, fmt, model, repeats):
        report = call(
            program,
            ["stream", "--url", self.server.url, "--format", fmt, "--model", model, "--repeats", str(repeats)],
        )
        kind, count = model.split("-")
        expected = int(count)
        if kind == "tool":
            # Gemini's chunks are values by path: one delta when the arguments are complete.
            expected = AFTER_TOOL + (1 if fmt == "gemini" else expected)
        if "lines" in report:
            if report["lines"] < expected:
                raise Broken(f"{program.name} counted {report['lines']} lines of {model}, there are {expected} deltas")
        else:
            if report["deltas"] != expected:
                raise Broken(f"{program.name} received {report['deltas']} deltas of {model}, not {expected}")
            first = self.bytes.setdefault((fmt, model), report["bytes"])
            if report["bytes"] != first:
                raise Broken(f"{program.name} received {report['bytes']} bytes of {model}, others {first}")
        self.cpu.setdefault((program.name, fmt, model), []).append(report["cpu_us"])

    def concurrency(self):
        """Measures many concurrent runs, program after program, round after round."""
        for turn in range(self.rounds):
            for fmt in FORMATS:
                progress(f"round {turn + 1} of {self.rounds}: {RUNS:,} concurrent runs, {fmt}")
                for program in self.programs:
                    if program.concurrent:
                        self.attempt(program, self.concurrent, fmt)
        progress("")

    def concurrent(self, program, fmt):
        self.server.stats()
        report = call(program, ["concurrent", "--url", self.server.url, "--format", fmt, "--runs", str(RUNS)])
        report["held"] = self.server.stats()["most_held"]
        self.memory.setdefault((program.name, fmt), []).append(report)
        if report["failures"]:
            raise Broken(f"{program.name}: {report['failures']} of {report['runs']} concurrent runs failed")

    def attempt(self, program, measure, *arguments):
        """Measures, unless the program broke before."""
        if program.problem is None:
            try:
                measure(program, *arguments)
            except (Broken, KeyError) as error:
                program.problem = str(error) if isinstance(error, Broken) else f"the report has no {error}"

    def times(self, key):
        """Best and median CPU time, or None."""
        rounds = self.cpu.get(key)
        every = [us for times in rounds or [] for us in times]
        return (min(every), statistics.median(every)) if every else None

    def ratios(self, key, other):
        """The CPU time of one program as a multiple of another's: of the best times, and the median of the rounds, or None."""
        own, others = self.cpu.get(key), self.cpu.get(other)
        if not own or not others:
            return None
        of_rounds = [statistics.median(a) / statistics.median(b) for a, b in zip(own, others)]
        return self.times(key)[0] / self.times(other)[0], statistics.median(of_rounds)


def verdict(figures, limit, names=("best", "median")):
    """Whether two figures are within a limit."""
    if limit is None or figures is None:
        return ""
    held = [name for name, figure in zip(names, figures) if figure <= limit]
    return {2: "holds", 1: f"{held[0]} holds" if held else "", 0: "misses"}[len(held)]


def table(title, header, rows):
    """Prints rows under a header: the first and last columns to the left, the others to the right."""
    print(f"\n{title}\n")
    last = len(header) - 1
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(last)] + [len(header[last])]
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [f"{cell:{'<' if i in (0, last) else '>'}{w}}" for i, (cell, w) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())


def absent(program, columns):
    """The row of a program without figures, with the reason."""
    missing = program.missing()
    if missing is not None:
        why = f"not built ({os.path.relpath(missing, ROOT)})"
    else:
        why = "failed, see below" if program.problem else "not measured"
    return [program.name] + [""] * (columns - 2) + [why]


def cpu_table(bench, programs):
    model = f"text-{DELTAS}"
    for fmt in FORMATS:
        header = ["program", "best us", "median us", "best x floor", "median x floor", "target", "verdict"]
        rows = []
        for program in programs:
            own = bench.times((program.name, fmt, model))
            if own is None:
                rows.append(absent(program, len(header)))
                continue
            ratio = bench.ratios((program.name, fmt, model), ("floor", fmt, model))
            limit = program.cpu_limit
            rows.append(
                [program.name]
                + [f"{us / DELTAS:.3f}" for us in own]
                + ([f"{x:.2f}" for x in ratio] if ratio else ["-", "-"])
                + [f"<= {limit}" if limit else "", verdict(ratio, limit)]
            )
        table(f"CPU per delta, {fmt}, {DELTAS:,} text deltas", header, rows)


def scaling_table(bench, programs):
    sizes = [f"{size:,} ms" for size in (SHORT, LONG)]
    header = ["program", "format", "deltas of", *sizes, "best x", "median x", "target", "verdict"]
    rows = []
    for program in programs:
        found = False
        limit = SCALING_LIMIT if program.cpu_limit else None
        for fmt in FORMATS:
            for kind, words in KINDS.items():
                short, long = ((program.name, fmt, f"{kind}-{size}") for size in (SHORT, LONG))
                ratio = bench.ratios(long, short)
                if ratio is None:
                    continue
                found = True
                medians = [bench.times(key)[1] / 1000 for key in (short, long)]
                rows.append(
                    [program.name, fmt, words]
                    + [f"{ms:.2f}" for ms in medians]
                    + [f"{x:.1f}" for x in ratio]
                    + [f"<= {limit}" if limit else "", verdict(ratio, limit)]
                )
        if not found:
            rows.append(absent(program, len(header)))
    table(f"Scaling: the CPU time of {LONG:,} deltas as a multiple of that of {SHORT:,} (medians)", header, rows)


def concurrency_table(bench, programs):
    header = ["program", "format", "idle kB", "kB per run", "worst", "concurrent", "failures", "target", "verdict"]
    rows = []
    for program in programs:
        if not program.concurrent:
            continue
        found = False
        for fmt in FORMATS:
            reports = bench.memory.get((program.name, fmt))
            if not reports:
                continue
            found = True
            each = [(report["peak_kb"] - report["idle_kb"]) / report["runs"] for report in reports]
            middle, worst = statistics.median(each), max(each)
            failures = sum(report["failures"] for report in reports)
            held = min(report["held"] for report in reports)
            limit = program.memory_limit
            held_to = "runs failed" if failures else verdict((middle, worst), limit, ("median", "worst"))
            rows.append(
                [program.name, fmt, round(statistics.median(report["idle_kb"] for report in reports))]
                + [f"{middle:.1f}", f"{worst:.1f}", f"{held:,}", failures]
                + [f"<= {limit}" if limit else "", held_to]
            )
        if not found:
            rows.append(absent(program, len(header)))
    table(f"{RUNS:,} concurrent tool-calling runs, memory of the process", header, rows)


def loop_tables():
    """The cost of the loop without a network: a separate program, without a floor to compare with."""
    program = BUILT / "bench-loop"
    if not program.exists():
        return None
    figures = json.loads(subprocess.run([program], check=True, capture_output=True, text=True).stdout)
    base = statistics.median(figures["listeners"][0]["cpu_us"])
    rows, one = [], None
    for row in figures["listeners"]:
        best, middle = min(row["cpu_us"]), statistics.median(row["cpu_us"])
        each = ""
        if row["listeners"]:
            # Per event and listener, without the cost of the run itself.
            cost = max(middle - base, 0) * 1000 / row["events"] / row["listeners"]
            one = cost if row["listeners"] == 1 else one
            each = f"{cost:.0f}"
        rows.append([f"{row['listeners']:,}", f"{best:,}", f"{middle:,.0f}", each])
    header = ["listeners", "best us", "median us", "ns per event each"]
    table("Listeners: CPU time of a run of 2,000 deltas in one process", header, rows)
    grace = figures["grace"]
    table(
        "Abort of a tool that never answers, in real time",
        ["abort_grace_ms", "settled after (ms)"],
        [[grace["limit_ms"], ", ".join(str(ms) for ms in grace["real_ms"])]],
    )
    return figures


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [program.name for program in PROGRAMS]
    parser.add_argument("--only", metavar="A,B", help=f"of {', '.join(names)}; the floor is always measured")
    parser.add_argument("--quick", action="store_true", help="a short run: two rounds of few repeats")
    parser.add_argument("--json", metavar="OUT", type=Path, help="write the raw figures to this file")
    parser.add_argument("--no-build", action="store_true", help="take the Rust programs as they are")
    chosen = parser.parse_args()
    only = chosen.only.split(",") if chosen.only else names
    for name in only:
        if name not in names:
            parser.error(f"--only: no program {name!r}; there are {', '.join(names)}")
    chosen.only = ["floor", *only]
    return chosen


def main():
    chosen = options()
    if not chosen.no_build:
        subprocess.run(["cargo", "build", "--profile", PROFILE, "-p", "agent-loop-benches"], cwd=ROOT, check=True)
    more_files()

    programs = [program for program in PROGRAMS if program.name in chosen.only]
    before = machine()
    print(f"{before['processor']}, {before['cores']} cores, load {before['load'][0]}")
    with Server() as server:
        there = [program for program in programs if program.missing() is None]
        bench = Bench(there, server, rounds=2 if chosen.quick else 7, repeats=3 if chosen.quick else 7)
        bench.streams({f"text-{DELTAS}": bench.repeats})
        cpu_table(bench, programs)
        few, many = max(1, bench.repeats // 2), 5 * bench.repeats
        bench.streams(*({f"{kind}-{SHORT}": many, f"{kind}-{LONG}": few} for kind in KINDS))
        scaling_table(bench, programs)
        bench.concurrency()
        concurrency_table(bench, programs)
    of_loop = loop_tables()
    after = machine()
    print(f"\nload at the end {after['load'][0]}; compare ratios, not times, and see benches/README.md on reading them")

    problems = [program.problem for program in programs if program.problem]
    for problem in problems:
        print(f"\nfailed: {problem}")
    if chosen.json:
        raw = {
            "machine": before,
            "load_after": after["load"],
            "cpu": [
                {"program": name, "format": fmt, "model": model, "cpu_us": rounds}
                for (name, fmt, model), rounds in bench.cpu.items()
            ],
            "concurrent": [
                {"program": name, "format": fmt, "reports": reports} for (name, fmt), reports in bench.memory.items()
            ],
            "loop": of_loop,
            "not_built": [program.name for program in programs if program.missing() is not None],
            "problems": problems,
        }
        chosen.json.write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
