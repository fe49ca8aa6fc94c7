#!/usr/bin/env python3
"""Counts the instructions of a delta and of a tool turn, and compares them with the recorded ones: `make bench-gate`.

Callgrind counts the Rust and the C program of this folder while they read from the benchmark server, which is not counted.
Each count is a difference: a run of many deltas (turns) minus a run of few, so that start-up and the first request cancel out;
of several such pairs the least counts. benches/README.md says which profile is counted and why. The last line has counts as the
test runners', a figure being a test.

Exit code 0: within the limit, or skipped (no valgrind, or no baseline of this compiler, processor type and profile); 1: more
instructions than that.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from programs import ROOT, TARGET, Server

BASELINE = ROOT / "benches/baseline.json"
# The tests' profile: nothing is compiled for the gate alone. Its counts are some 1.4 times those of a release.
PROFILE = os.environ.get("BENCH_PROFILE", "ci")
BUILT = TARGET / PROFILE
GATE = TARGET / "gate"
LIMIT = 3.0  # percent
PAIRS = 5  # of which the least counts; those of a long history are in two groups, 3 % apart, whatever the code
FORMATS = ("anthropic", "chat", "responses", "gemini")
# Deltas and turns of the short and the long run.
DELTAS = (500, 2_500)
TURNS = (2, 12)
# Turns of the history before a run.
HISTORIES = {"turn 10": 5, "turn 200": 195}
# What a measured program runs: once unmeasured and once more.
RUNS = 2


def compiler():
    """The compiler's name, as in the baseline."""
    return subprocess.run(["rustc", "--version"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def history(turns):
    """A transcript of so many turns of the calculator, which ends with a tool's result."""
    messages = [{"role": "user", "content": "What is 15 multiplied by 23?", "timestamp": 0}]
    for turn in range(turns):
        call = {"type": "tool_call", "id": f"call_{turn}", "name": "calculator"}
        call["arguments"] = {"operation": "multiply", "a": 15, "b": 23}
        text = {"type": "text", "text": "Let me work it out."}
        messages.append({"role": "assistant", "content": [text, call], "stop_reason": "tool_use", "timestamp": 0})
        result = {"role": "tool_result", "tool_call_id": f"call_{turn}", "tool_name": "calculator", "is_error": False}
        messages.append({**result, "content": [{"type": "text", "text": '{"result":345}'}], "timestamp": 0})
    return messages


def count(program, server, folder, fmt, model, past=None):
    """Instructions of one process."""
    out = folder / "callgrind.out"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, "stream"]
    command += ["--url", server.url, "--format", fmt, "--model", model, "--repeats", str(RUNS - 1)]
    command += ["--history", past] if past else []
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    environment["LD_LIBRARY_PATH"] = str(GATE)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    found = re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.MULTILINE) if out.exists() else None
    if done.returncode or not found:
        sys.exit(f"{Path(program).name} with {model} in {fmt}: exit code {done.returncode}: {done.stderr.strip()[-800:]}")
    return int(found.group(1))


def difference(measure, lengths, enough):
    """Instructions per delta or turn: of several differences the least, or the first that is no more than enough."""
    found = []
    while len(found) < PAIRS and min(found, default=enough + 1) > enough:
        short, long = (measure(length) for length in lengths)
        found.append((long - short) / (lengths[1] - lengths[0]) / RUNS)
    return round(min(found))


def measured(server, folder, formats, recorded):
    """All counts by their names. What is within the recorded ones is counted once."""
    figures = {}
    enough = {name: count * (1 + LIMIT / 100) for name, count in recorded.items()}
    for name, program in (("Rust", BUILT / "bench-rust"), ("C", GATE / "bench-c")):
        for fmt in formats:
            figure = f"{name}, {fmt}, delta"
            figures[figure] = difference(
                lambda length: count(program, server, folder, fmt, f"text-{length}"), DELTAS, enough.get(figure, 0)
            )
        for words, before in HISTORIES.items():
            past = folder / f"history-{before}.json"
            past.write_text(json.dumps(history(before)), encoding="utf-8")
            figure = f"{name}, anthropic, {words}"
            figures[figure] = difference(
                lambda length: count(program, server, folder, "anthropic", f"turns-{before + length}", past),
                TURNS,
                enough.get(figure, 0),
            )
    return figures


def build():
    """The programs in the profile of the tests. Those share the features of everything else, so little is left to compile."""
    packages = [f"-p={name}" for name in ("agent-loop-benches", "agent-loop-ffi", "agent-loop", "agent-loop-unify")]
    subprocess.run(["cargo", "build", "--locked", "--quiet", "--profile", PROFILE, *packages], cwd=ROOT, check=True)
    GATE.mkdir(parents=True, exist_ok=True)
    source, library = ROOT / "benches/c/bench.c", GATE / "libagent.so.0"
    library.unlink(missing_ok=True)
    library.symlink_to(BUILT / "libagent.so")
    command = [os.environ.get("CC", "cc"), "-std=c11", "-O2", "-pthread", f"-I{ROOT / 'include'}", source, library]
    subprocess.run([*command, "-o", GATE / "bench-c"], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write the counts of all formats as the profile's new baseline")
    parser.add_argument("--all", action="store_true", help="count all formats, not only the first")
    chosen = parser.parse_args()
    baseline = json.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {}
    here = {"compiler": compiler(), "processor": platform.machine()}
    differs = [f"the baseline is of {baseline.get(key)}, not {here[key]}" for key in here if here[key] != baseline.get(key)]
    profiles = {} if differs else baseline["instructions"]
    why = differs or ([] if PROFILE in profiles else [f"the baseline has no figures of the profile {PROFILE}"])
    why = [] if chosen.record else why
    if shutil.which("valgrind") is None:
        why = ["there is no valgrind"]
    if why:
        print(f"skipped: bench-gate: {'; '.join(why)}\n1 passed, 0 failed, 0 skipped")
        return 0
    build()
    formats = FORMATS if chosen.record or chosen.all else FORMATS[:1]
    with Server(BUILT) as server, tempfile.TemporaryDirectory() as folder:
        figures = measured(server, Path(folder), formats, {} if chosen.record else profiles[PROFILE])
    failed = compare(figures, profiles.get(PROFILE, {}))
    if chosen.record:
        profiles[PROFILE] = figures
        BASELINE.write_text(json.dumps({**here, "instructions": profiles}, indent=1) + "\n", encoding="utf-8")
        return 0
    if failed:
        print("more instructions than recorded; if that is meant, record them: python3 benches/gate.py --record")
    print(f"{len(figures) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


def compare(figures, recorded):
    """Prints each figure beside the recorded one; returns how many are above the limit."""
    failed = 0
    for name, instructions in figures.items():
        before = recorded.get(name)
        change = (instructions / before - 1) * 100 if before else 0.0
        above = change > LIMIT
        failed += above
        verdict = f"FAIL: more than {LIMIT:.0f} %" if above else ""
        print(f"{name:28} {instructions:>9,}  {change:+6.1f} %  {verdict}".rstrip())
    return failed


if __name__ == "__main__":
    sys.exit(main())
