"""Plays every story of tests/scenarios, which all languages play, and compares what happened with what is expected."""

import json

import pytest
from agent_loop.testing import check_events
from stage import Stage
from stories import ROOT

FOLDERS = sorted(path.parent for path in (ROOT / "tests/scenarios").glob("*/scenario.json"))


def told(folder):
    """The story as a parameter, with what its file says of a skip."""
    reason = json.loads((folder / "scenario.json").read_text()).get("skip", {}).get("python")
    return pytest.param(folder, id=folder.name, marks=[pytest.mark.skip(reason=reason)] if reason else [])


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
            return f"{path}: got {len(got)} of them, expected {len(expected)}"
    elif isinstance(got, bool) != isinstance(expected, bool) or got != expected:
        return f"{path}: got {got!r}, expected {expected!r}"
    return None


def test_there_are_stories():
    assert len(FOLDERS) >= 80


def test_differences_are_found():
    for got, expected, place in [
        ({"a": 1}, {"a": 1.0}, None),
        ({"a": True}, {"a": 1}, "/a: got True, expected 1"),
        ({"a": None}, {}, "/a: not expected"),
        ({}, {"a": None}, "/a: missing"),
        ([1, 2], [1], ": got 2 of them, expected 1"),
        ([{"a": "x"}], [{"a": "y"}], "/0/a: got 'x', expected 'y'"),
    ]:
        assert difference("", got, expected) == place


@pytest.mark.parametrize("folder", [told(folder) for folder in FOLDERS])
async def test_story(folder):
    story = json.loads((folder / "scenario.json").read_text())
    happened = await Stage(story).play(story["steps"])
    for run in happened["runs"]:
        check_events(run["events"])
    found = difference("", happened, json.loads((folder / "expected.json").read_text()))
    assert found is None, f"{found}\n\nall that happened:\n{json.dumps(happened, indent=1, ensure_ascii=False)}"
