"""Compares the result of a scenario with its expected.json; docs/scenarios.md describes both.

As a program it does so for a player in a language that has no JSON of its own:

    expected.py LANGUAGE COMMAND... -- FOLDER...

The command is called with all folders that the language does not skip, and prints the result of each as a line of JSON.
With the variable SESSIONS, its agents have sessions.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

DEFAULTS = json.loads(Path(__file__).with_name("defaults.json").read_text(encoding="utf-8"))


def contains(value, wanted):
    """Whether a value contains another: dicts may have more keys, all else is equal, and None is in everything."""
    if wanted is None:
        return True
    if isinstance(value, dict) and isinstance(wanted, dict):
        return all(key in value and contains(value[key], one) for key, one in wanted.items())
    return value == wanted


def with_keys_of_run(value):
    """A result with `run` for the id of a run, with which idempotency keys begin, and which an export has."""
    if isinstance(value, list):
        return [with_keys_of_run(item) for item in value]
    if not isinstance(value, dict):
        return value
    key = value.get("idempotency_key")
    renamed = {"idempotency_key": f"run/{key.partition('/')[2]}"} if isinstance(key, str) else {}
    renamed |= {"origin": "run"} if "origin" in value else {}
    return {name: with_keys_of_run(item) for name, item in (value | renamed).items()}


def without_places(value):
    """A result with keys without the places of messages: those of a session go on when its transcript is replaced."""
    if isinstance(value, list):
        return [without_places(item) for item in value]
    if not isinstance(value, dict):
        return value
    key = value.get("idempotency_key")
    renamed = {"idempotency_key": key.rpartition("/")[2]} if isinstance(key, str) else {}
    return {name: without_places(item) for name, item in (value | renamed).items()}


def filled(value, name=""):
    """An expected value with the default fields that were left out."""
    if isinstance(value, list):
        return [filled(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    whole = dict(value)
    for rule in DEFAULTS:
        if rule.get("in", name) == name and contains(value, rule.get("with")):
            whole = rule["fields"] | whole
    return {key: filled(item, key) for key, item in whole.items()}


def difference(path, got, expected):
    """The first place where two values differ."""
    if isinstance(got, dict) and isinstance(expected, dict):
        for key in [*expected, *(key for key in got if key not in expected)]:
            if key not in got or key not in expected:
                return f"{path}/{key}: {'not expected' if key in got else 'missing'}"
            if found := difference(f"{path}/{key}", got[key], expected[key]):
                return found
    elif isinstance(got, list) and isinstance(expected, list):
        for place, (a, b) in enumerate(zip(got, expected, strict=False)):
            if found := difference(f"{path}/{place}", a, b):
                return found
        if len(got) != len(expected):
            return f"{path}: got {len(got)} items, expected {len(expected)}"
    elif isinstance(got, bool) != isinstance(expected, bool) or got != expected:
        return f"{path}: got {got!r}, expected {expected!r}"
    return None


def read(folder, name):
    return json.loads((Path(folder) / name).read_text(encoding="utf-8"))


def check(folder, line):
    """What is wrong with the line that was printed for a folder."""
    if not line:
        return "it was not played to its end"
    try:
        got, expected = with_keys_of_run(json.loads(line)), filled(read(folder, "expected.json"))
    except ValueError as error:
        return f"{line!r} is not JSON: {error}"
    if "SESSIONS" in os.environ:
        got, expected = without_places(got), without_places(expected)
    return difference("", got, expected)


def main(language, *arguments):
    end = arguments.index("--")
    folders = [folder for folder in arguments[end + 1 :] if (Path(folder) / "scenario.json").exists()]
    reasons = {folder: read(folder, "scenario.json").get("skip", {}).get(language) for folder in folders}
    played = [folder for folder in folders if not reasons[folder]]
    player = subprocess.run([*arguments[:end], *played], stdout=subprocess.PIPE, encoding="utf-8")
    lines = player.stdout.splitlines()
    lines += [""] * (len(played) - len(lines))
    failed = 0
    for folder, line in zip(played, lines, strict=True):
        found = check(folder, line)
        failed += found is not None
        print(f"  FAILED {folder}\n    {found}" if found else f"  ok     {folder}")
    for folder, reason in reasons.items():
        if reason:
            print(f"  skipped: {folder}: {reason}")
    if player.returncode != 0:
        print(f"the player ended with {player.returncode}")
    print(f"{len(played) - failed} passed, {failed} failed, {len(folders) - len(played)} skipped")
    return 0 if played and not failed and player.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
