"""Plays every scenario of tests/scenarios and compares the result with its expected.json."""

import json

import pytest
from agent_loop import Store
from agent_loop.testing import check_events
from expected import difference, filled, with_keys_of_run, without_places
from player import Player
from scripts import ROOT

SCENARIOS = ROOT / "tests/scenarios"
FOLDERS = sorted(path.parent for path in SCENARIOS.glob("*/scenario.json"))


def parameter(folder):
    reason = json.loads((folder / "scenario.json").read_text()).get("skip", {}).get("python")
    return pytest.param(folder, id=folder.name, marks=[pytest.mark.skip(reason=reason)] if reason else [])


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
    check(folder, result, with_keys_of_run)


@pytest.mark.parametrize("folder", [parameter(folder) for folder in FOLDERS])
async def test_scenario_with_a_session(folder):
    scenario = json.loads((folder / "scenario.json").read_text())
    result = await Player(scenario, Store.open("memory:")).play(scenario["steps"])
    check(folder, result, lambda value: without_places(with_keys_of_run(value)))


def check(folder, result, comparable):
    """The events of the result are in order, and it is the expected one."""
    for run in result["runs"]:
        check_events(run["events"])
    expected = filled(json.loads((folder / "expected.json").read_text()))
    found = difference("", comparable(result), comparable(expected))
    assert found is None, f"{found}\n\nthe whole result:\n{json.dumps(result, indent=1, ensure_ascii=False)}"
