#!/usr/bin/env python3
"""One conversation with calls that wait, from language to language.

The example `approvals` starts a conversation in Python, which is suspended; goes on in Node, is suspended again; goes on in C,
and again; and ends in Rust. The state in between is signed. At each step the programs of the other languages go on with the same
state, and all must emit the same events and leave the same state, byte for byte; only the ids of runs are random. States that
were forged, and decisions that do not fit, must be refused in each language with the same text, and leave the state as it is.

The same conversation is then kept in a session of an SQLite file, which the programs open in turn, with the same
events.

Everything must have been built (the Makefile does it). The last line counts the tests.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from languages import PROGRAMS, Tally, program

LANGUAGES = [language for language in PROGRAMS if language != "zig"]  # Zig has the library of C
KEY = "0123456789abcdef0123456789abcdef"
RUN_ID = re.compile(r"\brun_[0-9a-f]{16}\b")


@dataclass
class Leg:
    """One run of the conversation: in which language it is kept, what the program is called with, and its outcome."""

    language: str
    given: list[str]
    outcome: str


def call(id: str, name: str, arguments: object) -> object:
    return {"delta": {"tool_call": {"id": id, "name": name, "arguments": arguments}}}


def decide(**decisions: object) -> list[str]:
    return ["--decide", json.dumps(decisions, ensure_ascii=False)]


# What is hard to pass on: each language's JSON would write it in its own way.
ODD = 'lamp "ü" \\ 🙂\u2028\u0007\n</script>'
END = {"end": "tool_use"}
# The answers of the model, one for each run.
ANSWERS = [
    # A parallel batch: the price is known before the others wait.
    [
        {"delta": {"thinking": "What would it cost?"}}, {"delta": {"type": "thinking_end", "signature": ODD}},
        {"delta": f"I order it: {ODD}"}, {"wait_ms": 7},
        call("c1", "price", {"item": ODD}), call("c2", "order", {"item": "shade", "count": "2"}),
        call("c3", "order", {"count": 3, "item": ODD, "options": {"b": [1.5, -0.25, 1e-7, None, True], "a": {}}}),
        call("c4", "order", {"item": "bulb"}), call("c5", "order", {"item": "cable"}), END,
    ],
    # A sequential one: what stands behind the call that waits has not begun, and waits with it. The ids are there already.
    [{"delta": "Then I pay."}, call("c1", "price", {"item": "lamp"}), call("c2", "pay", {"to": "Ann", "amount": 12.5}),
     call("c3", "price", {"item": "bulb"}), call("c4", "pay", {"to": "Bob", "amount": 1}), END],
    # Waits alone, and is denied.
    [{"wait_ms": 90}, call("d", "pay", {"to": "Cem", "amount": 1000000}), END],
    [{"wait_ms": 11}, {"delta": "All is "}, {"delta": "done."}, {"usage": {"input": 9, "output": 4}}, {"end": "stop"}],
]
LEGS = [
    Leg("python", ["A lamp, please."], "suspended"),
    Leg("node", decide(
        c2="approve", c3={"arguments": {"item": ODD, "count": 1}}, c4={"deny": f"too dear: {ODD}"},
        c5={"result": {"content": [{"type": "text", "text": "there is one"}], "details": {"n": [1, 2.5]}}},
    ), "suspended"),
    Leg("c", decide(c2={"result": "paid before"}, c3="approve", c4={"arguments": {"to": "Bo", "amount": 2}}), "suspended"),
    Leg("rust", decide(d="deny"), "completed"),
]


def model(answers: list[object]) -> str:
    return json.dumps({"provider": "scripted", "id": "demo", "script": answers})


def play(language: str, script: str, state: pathlib.Path, given: list[str], key: str | None = KEY, *,
         as_events: bool = True, in_store: bool = False) -> tuple[str, str]:
    """What a program prints: its events or the transcript, and its error."""
    environment = {name: value for name, value in os.environ.items() if name != "AGENT_STATE_KEY"}
    if key is not None:
        environment["AGENT_STATE_KEY"] = key
    flags = [*["--events"] * as_events, *["--store"] * in_store]
    command = program(language, "approvals", *flags, script, str(state), *given)
    ended = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, env=environment)
    # A line for each problem of arguments; Rust prints them in one.
    error = " ".join(ended.stderr.split())
    return ended.stdout, error if ended.returncode == 1 else f"{error}[exit code {ended.returncode}]" * (ended.returncode != 0)


def without_ids(text: str) -> str:
    return RUN_ID.sub("run_…", text)


def check_legs(tally: Tally, folder: pathlib.Path) -> tuple[list[bytes], list[str]]:
    """Plays the conversation; returns the state after each run, and its events."""
    state, states, runs = folder / "state.json", [], []
    for number, leg in enumerate(LEGS):
        before = state.read_bytes() if state.exists() else None
        script = model(ANSWERS[number : number + 1])
        wanted, error = play(leg.language, script, state, leg.given)
        what = f"{leg.language} {'goes on' if number else 'begins'}"
        last = json.loads(wanted.rstrip("\n").split("\n")[-1]) if wanted and not error else {}
        tally.equal(f"{what}: {leg.outcome}", f"{last.get('type')} {last.get('outcome')} {error}", f"agent_end {leg.outcome} ")
        after = state.read_text("utf-8") if state.exists() else ""
        for other in LANGUAGES:
            if other == leg.language:
                continue
            copy = folder / f"{other}.json"
            copy.unlink(missing_ok=True)
            if before is not None:
                copy.write_bytes(before)
            events, error = play(other, script, copy, leg.given)
            tally.equal(f"{what}: {other} emits the same events", without_ids(events) + error, without_ids(wanted))
            # What a first run leaves begins with its id, and so has another signature.
            if before is not None and not error:
                tally.equal(f"{what}: {other} leaves the same state", copy.read_text("utf-8"), after)
        states.append(state.read_bytes() if after else b"")
        runs.append(wanted)
    return states, runs


def in_sessions(tally: Tally, folder: pathlib.Path, runs: list[str]) -> None:
    """The conversation in a store: the same events, but that keys begin with the session's id."""
    kept, before = folder / "kept", folder / "before"
    kept.mkdir()
    for number, leg in enumerate(LEGS):
        shutil.rmtree(before, ignore_errors=True)
        shutil.copytree(kept, before)
        script = model(ANSWERS[number : number + 1])
        wanted, error = play(leg.language, script, kept / "agents.db", leg.given, in_store=True)
        what = f"{leg.language} {'goes on' if number else 'begins'} in a store"
        of_run = without_ids(wanted).replace('"approvals/', '"run_…/')
        tally.equal(f"{what}: the same events", of_run + error, without_ids(runs[number]))
        for other in LANGUAGES:
            if other == leg.language:
                continue
            copy = folder / f"{other}-store"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(before, copy)
            events, error = play(other, script, copy / "agents.db", leg.given, in_store=True)
            tally.equal(f"{what}: {other} emits the same events", without_ids(events) + error, without_ids(wanted))
    again, wanted = folder / "kept/agents.db", "invalid_argument: decisions: the call d has its result already"
    for language in LANGUAGES:
        _, error = play(language, model(ANSWERS[-1:]), again, LEGS[-1].given, in_store=True)
        tally.equal(f"{language}, decided twice in a store", error, wanted)


TRANSCRIPTS = {
    2: """\
[pay -> paid before]
[price -> bulb: 12.50]
[pay -> paid to Bo]

[suspended]
d pay {"to":"Cem","amount":1000000}: the tool pay needs approval
""",
    3: "[pay -> the call was denied]\nAll is done.\n[completed]\n",
}


def transcripts(tally: Tally, folder: pathlib.Path, states: list[bytes]) -> None:
    """What the programs print for their users."""
    for number, wanted in TRANSCRIPTS.items():
        for language in LANGUAGES:
            path = folder / "shown.json"
            path.write_bytes(states[number - 1])
            given = LEGS[number].given
            printed, error = play(language, model(ANSWERS[number : number + 1]), path, given, as_events=False)
            tally.equal(f"{language} prints transcript {number}", printed + error, wanted)


def refusals(tally: Tally, folder: pathlib.Path, signed: bytes) -> None:
    """States and decisions that no language takes."""
    text = signed.decode()
    unsigned = json.loads(text)
    del unsigned["signature"]
    plain = json.dumps(unsigned, ensure_ascii=False)
    newer = json.dumps(unsigned | {"version": 2})
    approve = {call["tool_call_id"]: "approve" for call in unsigned["suspended"]}
    missing = {id: "approve" for id in approve if id != "c4"}
    state = "invalid_argument: the export cannot be read: "
    foreign = "it was changed, or signed with another key"
    cases = [
        ("a changed state", text.replace('"bulb"', '"gold"'), KEY, approve, f"{state}{foreign}"),
        ("a state of another key", text, "another key of at least 32 characters", approve, f"{state}{foreign}"),
        ("an unsigned state", plain, KEY, approve, f"{state}it is not signed, and a key is given: it may come from anybody"),
        ("a signed state without a key", text, None, approve, f"{state}it is signed; give the key that it was signed with"),
        ("an empty state", "{}", None, approve, f"{state}version is missing"),
        ("a newer state", newer, None, approve,
         "newer_version: the export has version 2; this library reads versions up to 1: update it"),
        ("an unknown call", text, KEY, approve | {"c9": "approve"}, None),
        ("a call that has its result", text, KEY, approve | {"c1": "approve"}, None),
        ("a call that is left out", text, KEY, missing, None),
        ("no decision", text, KEY, {}, None),
        ("a word that is no decision", text, KEY, approve | {"c3": "perhaps"}, None),
        ("arguments that do not fit", text, KEY, approve | {"c3": {"arguments": {"item": "lamp", "count": "many"}}}, None),
    ]
    for what, kept, key, decisions, wanted in cases:
        for language in LANGUAGES:
            path = folder / "refused.json"
            path.write_text(kept, "utf-8")
            printed, error = play(language, model([]), path, decide(**decisions), key)
            wanted = wanted or error  # that of the first language
            tally.equal(f"{language} refuses {what}", f"{error}{printed}", wanted)
            tally.equal(f"{language} leaves {what} as it was", path.read_text("utf-8"), kept)
        tally.equal(f"{what} has a kind", str(re.match(r"(invalid_argument|newer_version): .", wanted) is not None), "True")


def again(tally: Tally, folder: pathlib.Path, signed: bytes) -> None:
    """A signature stops changes, not reuse: a conversation that went on refuses the decisions that it had."""
    for language in LANGUAGES:
        path = folder / "again.json"
        path.write_bytes(signed)
        for expected in ("", "invalid_argument: decisions: the call d has its result already"):
            _, error = play(language, model(ANSWERS[-1:]), path, LEGS[-1].given)
            tally.equal(f"{language}, decided {'twice' if expected else 'once'}", error, expected)


def main() -> int:
    tally = Tally()
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        states, runs = check_legs(tally, folder)
        if not tally.failed:
            in_sessions(tally, folder, runs)
            transcripts(tally, folder, states)
            refusals(tally, folder, states[0])
            again(tally, folder, states[2])
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
