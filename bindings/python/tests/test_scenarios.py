"""Plays every scenario of tests/scenarios and compares the result with its expected.json."""

import json

import pytest
from agent_loop.testing import check_events
from player import Player, contains
from scripts import ROOT

SCENARIOS = ROOT / "tests/scenarios"
FOLDERS = sorted(path.parent for path in SCENARIOS.glob("*/scenario.json"))
DEFAULTS = json.loads((SCENARIOS / "defaults.json").read_text())


def parameter(folder):
    reason = json.loads((folder / "scenario.json").read_text()).get("skip", {}).get("python")
    return pytest.param(folder, id=folder.name, marks=[pytest.mark.skip(reason=reason)] if reason else [])


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


def test_scenarios_are_found():
    assert len(FOLDERS) >= 80


def test_differences_are_found():
    user = {"role": "user", "timestamp": 0}
    for got, expected, place in [
        ({"a": 1}, {"a": 1.0}, None),
        ({"a": True}, {"a": 1}, "/a: got True, expected 1"),
        ({"a": None}, {}, "/a: not expected"),
        ({}, {"a": None}, "/a: missing"),
        ([1, 2], [1], ": got 2 items, expected 1"),
        ([{"a": "x"}], [{"a": "y"}], "/0/a: got 'x', expected 'y'"),
        (user, filled({"role": "user"}, "message"), None),
        (user | {"timestamp": 1}, filled({"role": "user"}, "message"), "/timestamp: got 1, expected 0"),
        ({"role": "user"}, filled({"role": "user"}, "message"), "/timestamp: missing"),
    ]:
        assert difference("", got, expected) == place


@pytest.mark.parametrize("folder", [parameter(folder) for folder in FOLDERS])
async def test_scenario(folder):
    scenario = json.loads((folder / "scenario.json").read_text())
    result = await Player(scenario).play(scenario["steps"])
    for run in result["runs"]:
        check_events(run["events"])
    found = difference("", result, filled(json.loads((folder / "expected.json").read_text())))
    assert found is None, f"{found}\n\nthe whole result:\n{json.dumps(result, indent=1, ensure_ascii=False)}"
