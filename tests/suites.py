#!/usr/bin/env python3
"""Runs test suites and counts: `suites.py NAME=COMMAND …`. The closing line is the sum, `N passed, N failed, N skipped`.

Each suite's output is shown as it comes. Its counts are read from the closing lines of its runner (cargo, pytest, node:test, or a
plain `N passed, N failed, N skipped`). A suite that fails without a count is one failure; one that counts nothing at all fails too:
a suite that ran no test has not passed.
"""

import re
import subprocess
import sys

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
# What a test that skips itself within a runner that cannot count it prints.
SKIPPED = re.compile(r"^skipped: ")


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
    for line in process.stdout:
        print(line, end="", flush=True)
        count(re.sub(r"\x1b\[[0-9;]*m", "", line.rstrip()), counts)
    code = process.wait()
    if code != 0 and counts["failed"] == 0:
        print(f"{name} ended with {code}")
        counts["failed"] += 1
    elif code == 0 and sum(counts.values()) == 0:
        print(f"{name} counted no test")
        counts["failed"] += 1
    return counts


def main() -> int:
    suites = {}
    for argument in sys.argv[1:]:
        name, _, command = argument.partition("=")
        suites[name] = run(name, command)
    print("\n==== totals")
    for name, counts in suites.items():
        print(f"{name:16} {counts['passed']:5} passed {counts['failed']:5} failed {counts['skipped']:5} skipped")
    stories = {name.removeprefix("scenarios-"): counts for name, counts in suites.items() if name.startswith("scenarios-")}
    if stories:
        print("scenarios passed: " + ", ".join(f"{language} {counts['passed']}" for language, counts in stories.items()))
    total = {word: sum(counts[word] for counts in suites.values()) for word in ("passed", "failed", "skipped")}
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
