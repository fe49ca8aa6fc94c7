#!/usr/bin/env python3
"""Runs test suites and counts: `suites.py NAME=COMMAND …`. The closing line is the sum, `N passed, N failed, N skipped`.

Each suite's output goes to `target/test-logs/NAME.log`. The lines with counts, skips and sizes are printed; `VERBOSE=1` prints
everything as it comes. The output of a failed suite is printed at the end, directly before the totals. The counts are read from
the closing lines of each runner (cargo, pytest, node:test, or a plain `N passed, N failed, N skipped`). A suite that fails without
a count is one failure. A suite that counts nothing fails too: a suite that ran no test has not passed.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

COUNTS = [
    # cargo test: one line per test binary
    re.compile(r"^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<skipped>\d+) ignored"),
    # node:test, one figure per line
    re.compile(r"^(?:# |ℹ )pass (?P<passed>\d+)$"),
    re.compile(r"^(?:# |ℹ )fail (?P<failed>\d+)$"),
    re.compile(r"^(?:# |ℹ )skipped (?P<skipped>\d+)$"),
    # our own runners
    re.compile(r"^(?P<passed>\d+) passed, (?P<failed>\d+) failed, (?P<skipped>\d+) skipped$"),
]
PYTEST = re.compile(r"^=+ (.*(?:passed|failed|skipped|error).*) in [\d.]+s.*=+$")
PYTEST_WORDS = {"passed": "passed", "failed": "failed", "error": "failed", "errors": "failed", "skipped": "skipped",
                "xfailed": "passed", "xpassed": "failed"}
# Printed by a test that skips itself within a runner that cannot count it.
SKIPPED = re.compile(r"^skipped: ")
# How much a test covered.
PLAYED = re.compile(r"^(?:played |loops? |skipped: )|^\d+ (?:streams|requests|points|transcripts)\b")
# The line of a failed test, for each runner.
FAILURE = re.compile(r"\.\.\. FAILED$|panicked at|^FAILED |^ERROR |^not ok|^\s*✖ |^FAIL|^error(\[|:)|: FAIL")

LOGS = Path("target/test-logs")
VERBOSE = bool(os.environ.get("VERBOSE"))
# Lines of a failed suite that are printed: those that name a failure, and the end, where each runner details its failures.
NAMED, END = 40, 120


def count(line: str, counts: dict[str, int]) -> None:
    for pattern in COUNTS:
        if found := pattern.match(line):
            for name, number in found.groupdict().items():
                counts[name] += int(number)
            return
    if found := PYTEST.match(line):
        for number, word in re.findall(r"(\d+) (\w+)", found[1]):
            if word in PYTEST_WORDS:
                counts[PYTEST_WORDS[word]] += int(number)
    elif SKIPPED.match(line):
        counts["skipped"] += 1
        counts["passed"] -= 1


def run(name: str, command: str) -> dict[str, int]:
    print(f"\n==== {name}: {command}", flush=True)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    process = subprocess.Popen(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    with open(LOGS / f"{name}.log", "w", encoding="utf-8") as log:
        for line in process.stdout:
            log.write(line)
            plain = re.sub(r"\x1b\[[0-9;]*m", "", line.rstrip())
            if VERBOSE or PLAYED.match(plain):
                print(line, end="", flush=True)
            count(plain, counts)
    code = process.wait()
    if code != 0 and counts["failed"] == 0:
        print(f"{name} ended with {code}")
        counts["failed"] += 1
    elif code == 0 and sum(counts.values()) == 0:
        print(f"{name} counted no test")
        counts["failed"] += 1
    print(line_of(name, counts), flush=True)
    return counts


def line_of(name: str, counts: dict[str, int]) -> str:
    return f"{name:16} {counts['passed']:5} passed {counts['failed']:5} failed {counts['skipped']:5} skipped"


def report_failure(name: str) -> None:
    log = LOGS / f"{name}.log"
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in log.read_text(encoding="utf-8").splitlines()]
    print(f"\n==== {name} failed; the whole of it is in {log}")
    for line in [line for line in lines[:-END] if FAILURE.search(line)][:NAMED]:
        print(line)
    print("…")
    print("\n".join(lines[-END:]))


def main() -> int:
    LOGS.mkdir(parents=True, exist_ok=True)
    suites = {}
    for argument in sys.argv[1:]:
        name, _, command = argument.partition("=")
        suites[name] = run(name, command)
    for name, counts in suites.items():
        if counts["failed"]:
            report_failure(name)
    print("\n==== totals")
    for name, counts in suites.items():
        print(line_of(name, counts))
    scenarios = {name.removeprefix("scenarios-"): counts for name, counts in suites.items() if name.startswith("scenarios-")}
    if scenarios:
        print("scenarios passed: " + ", ".join(f"{language} {counts['passed']}" for language, counts in scenarios.items()))
    total = {word: sum(counts[word] for counts in suites.values()) for word in ("passed", "failed", "skipped")}
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
