#!/usr/bin/env python3
"""Runs the tests of what users and attackers found, and says for each item of items.tsv whether it is fixed, answered or open.

    found.py [PROFILE]      what make found calls, after the builds; PROFILE is ci unless given

An item is fixed if each of its languages has a test named after it and all of them pass, and answered if nothing was changed for
the reason that its line gives. All else is open, and ends with 1; so does a suite that fails without a test that failed.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEST = re.compile(r"(?:\btest_|\b)(found_([a-z]\d+|limits)_\w+)")
PASSED = re.compile(r"\.\.\. ok$|^\s*ok |PASSED|^\s*✔ ")
FAILED = re.compile(r"\.\.\. FAILED|FAILED|^\s*not ok |ERROR|^\s*✖ ")


def suites(profile):
    """(language, command): each prints a line for a test, with its name and whether it passed."""
    cargo = f"cargo test --locked --no-fail-fast --profile {profile}"
    quick = "cargo quick --no-fail-fast" if profile == "ci" else cargo
    with_all = "-p agent-loop-proto -p agent-loop --all-features"
    target = ROOT / "target" / profile
    venv = ROOT / "target/python-venv/bin/python"
    scenarios = " ".join(str(path) for path in sorted((ROOT / "tests/scenarios").glob("found_*")))
    yield "rust", f"{quick} {with_all} -p agent-mock -p agent-loop-benches --lib --tests -- found_"
    yield "rust", f"{cargo} -p agent-loop-ffi -p agent-loop-abi-check -p xtask found_"
    yield "c", f"ONLY=found_ sh tests/c/run.sh {target}"
    if scenarios:
        yield "c", f"python3 tests/scenarios/expected.py c {ROOT}/target/c-tests/scenarios -- {scenarios}"
    yield "python", f"{venv} -X dev -m pytest -v -k found_ bindings/python/tests"
    yield "node", ("cd bindings/node && "
                   "node --test --test-reporter=spec --test-name-pattern=found_ test/*.test.mjs test/scenarios/*.test.mjs")
    # Bundlers, and what else applications use: with packages from npm.
    yield "node", "sh tests/node/test.sh --test-name-pattern=found_ --test-reporter=spec"


def items():
    """The lines of items.tsv: (item, languages, what was wrong, answer)."""
    for line in (ROOT / "tests/found/items.tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            item, languages, wrong, *answer = line.split("\t")
            yield item, languages.split(), wrong, "".join(answer)


def results(profile):
    """{(item, language): {test: whether it passed}}, and the suites that did not run."""
    tests, broken = {}, []
    for language, command in suites(profile):
        print(f"==== {language}: {command}", flush=True)
        run = subprocess.run(command, shell=True, cwd=ROOT, text=True, errors="replace", stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, env=os.environ | {"NO_COLOR": "1", "CARGO_TERM_COLOR": "never"})
        found = failed = 0
        for line in run.stdout.splitlines():
            test = TEST.search(line)
            if test and (PASSED.search(line) or FAILED.search(line)):
                found += 1
                of_item = tests.setdefault((test[2].upper(), language), {})
                of_item[test[1]] = not FAILED.search(line) and of_item.get(test[1], True)
                failed += not of_item[test[1]]
        print(f"{found} tests, exit code {run.returncode}", flush=True)
        if run.returncode not in (0, 5):  # 5: pytest found none
            print("\n".join(run.stdout.splitlines()[-40:]))
            broken += [command] if not failed else []
    return tests, broken


def main(profile="ci"):
    tests, broken = results(profile)
    counts = {"fixed": 0, "answered": 0, "open": 0}
    known = set()
    for item, languages, wrong, answer in items():
        known.add(item)
        missing = [language for language in languages if not tests.get((item, language))]
        failed = [f"{language} {test}" for language in ("rust", "c", "python", "node")
                  for test, ok in tests.get((item, language), {}).items() if not ok]
        number = sum(len(tests.get((item, language), {})) for language in ("rust", "c", "python", "node"))
        state = "open" if failed or (missing and not answer) else "answered" if answer else "fixed"
        counts[state] += 1
        why = ", ".join([f"no test in {language}" for language in missing] + [f"failed: {test}" for test in failed])
        print(f"{item:7} {state:9} {number:3} tests  {wrong}" + (f": {answer}" if answer else "")
              + (f" ({why})" if state == "open" else ""))
    for item in sorted({item for item, _ in tests} - known):
        counts["open"] += 1
        print(f"{item:7} open      is not in tests/found/items.tsv")
    print(", ".join(f"{number} {state}" for state, number in counts.items()))
    for command in broken:
        print(f"did not run: {command}")
    return 1 if counts["open"] or broken else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
