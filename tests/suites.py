#!/usr/bin/env python3
"""Runs test suites and counts: `suites.py NAME=COMMAND …`. The last line is the sum, `N passed, N failed, N skipped`.

    suites.py NAME=COMMAND …     runs the suites, one at a time; `NAME&=COMMAND` runs together with the suites before it
    suites.py --total [CODE]     prints the sum over all suites that have run since `target/test-logs` was made; with the
                                 exit code of a make that ended before it ran all of them

A suite's output goes to `target/test-logs/NAME.log`. Printed are its counts, its time, and what it skipped and played; with
`VERBOSE=1` all of it. The failures of a suite come at the end, before the totals. The counts are read from the last lines of each
runner (cargo, pytest, node:test, or a plain `N passed, N failed, N skipped`). A suite that fails without a count is one failure,
and so is one that counts nothing: a suite that ran no test has not passed.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
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
# How much a test tried.
PLAYED = re.compile(r"^(?:played |loops? |skipped: )|^\d+ (?:streams|requests|points|transcripts)\b")
# A test that failed, in each runner's format. (A panic alone says nothing: tests that pass have them, too.)
FAILURE = re.compile(r"\.\.\. FAILED$|^FAILED |^ERROR |^not ok|^\s*✖ |^FAIL|^error(\[|:)|: FAIL|^test result: FAILED")
# Where cargo describes the failures of a binary of tests, and where that ends.
DESCRIBED = re.compile(r"^failures:$"), re.compile(r"^test result: FAILED")

LOGS = Path("target/test-logs")
VERBOSE = bool(os.environ.get("VERBOSE"))
# Lines of a failed suite that are printed: those that name a failure, those that describe one, and the last ones, where runners
# without such a part describe theirs.
NAMED, DESCRIBING, LAST = 40, 300, 120
WORDS = "passed", "failed", "skipped"


def count(line: str, counts: dict[str, float]) -> None:
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


def plain(line: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", line.rstrip())


def run(name: str, command: str, results: dict[str, dict[str, float]]) -> None:
    print(f"\n==== {name}: {command}", flush=True)
    counts = dict.fromkeys(WORDS, 0)
    start = time.monotonic()
    process = subprocess.Popen(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    with open(LOGS / f"{name}.log", "w", encoding="utf-8") as log:
        for line in process.stdout:
            log.write(line)
            if VERBOSE or PLAYED.match(plain(line)):
                print(line, end="", flush=True)
            count(plain(line), counts)
    code = process.wait()
    if code != 0 and counts["failed"] == 0:
        print(f"{name} ended with {code}")
        counts["failed"] += 1
    elif code == 0 and sum(counts.values()) == 0:
        print(f"{name} counted no test")
        counts["failed"] += 1
    results[name] = counts | {"seconds": time.monotonic() - start}
    (LOGS / f"{name}.json").write_text(json.dumps(results[name]))
    print(line_of(name, results[name]), flush=True)


def line_of(name: str, counts: dict[str, float]) -> str:
    numbers = " ".join(f"{counts[word]:5} {word}" for word in WORDS)
    return f"{name:16} {numbers} {counts['seconds']:6.1f} s"


def total_of(results: dict[str, dict[str, float]]) -> dict[str, int]:
    return {word: sum(counts[word] for counts in results.values()) for word in WORDS}


def print_failure(name: str) -> None:
    log = LOGS / f"{name}.log"
    lines = [plain(line) for line in log.read_text(encoding="utf-8").splitlines()]
    print(f"\n==== {name} failed; its whole output is in {log}")
    print("\n".join(list(dict.fromkeys(line for line in lines if FAILURE.search(line)))[:NAMED]))
    described = list(described_in(lines))
    print("…")
    print("\n".join(described[:DESCRIBING] if described else lines[-LAST:]))


def described_in(lines: list[str]) -> Iterator[str]:
    """What cargo prints of the tests that failed, without what it prints of those that passed."""
    begin, end = DESCRIBED
    inside = False
    for line in lines:
        inside = inside or bool(begin.search(line))
        if inside:
            yield line
        inside = inside and not end.search(line)


def print_total(results: dict[str, dict[str, float]]) -> None:
    print(", ".join(f"{number} {word}" for word, number in total_of(results).items()))


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--total"]:
        results = {path.stem: json.loads(path.read_text()) for path in sorted(LOGS.glob("*.json"))}
        code = int(arguments[1]) if arguments[1:] else 0
        if code and not total_of(results)["failed"]:
            results["make"] = {"passed": 0, "failed": 1, "skipped": 0}
        print_total(results)
        return 1 if total_of(results)["failed"] else 0
    LOGS.mkdir(parents=True, exist_ok=True)
    results: dict[str, dict[str, float]] = {}
    names, running = [], []
    for argument in arguments:
        name, _, command = argument.partition("=")
        if not name.endswith("&"):
            while running:
                running.pop().join()
        names.append(name.rstrip("&"))
        running.append(threading.Thread(target=run, args=(names[-1], command, results)))
        running[-1].start()
    for thread in running:
        thread.join()
    results = {name: results[name] for name in names}
    for name, counts in results.items():
        if counts["failed"]:
            print_failure(name)
    print("\n==== totals")
    for name, counts in results.items():
        print(line_of(name, counts))
    played = {name.removeprefix("scenarios-"): counts for name, counts in results.items() if name.startswith("scenarios-")}
    if played:
        print("scenarios passed: " + ", ".join(f"{language} {counts['passed']}" for language, counts in played.items()))
    print_total(results)
    return 1 if total_of(results)["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
