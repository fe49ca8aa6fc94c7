#!/usr/bin/env python3
"""Sessions that one language writes and another one reads, forks, imports and follows: between.py [--python PYTHON].

Each test is played from Python to Node and back, in SQLite and in a folder; with a Postgres server at $AGENT_POSTGRES
(tests/postgres/with_server.py) also there. What both read must be the same JSON, and what both export the same bytes.

It needs a built checkout: the Python package in target/python-venv, and bindings/node.

A line per test; the last one counts: N passed, N failed, N skipped.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import uuid
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SECONDS = 60

CALL = {"type": "tool_call", "id": "call_a", "name": "add", "arguments": {"first_number": 1e300, "text": "\u2028\u0000"}}
USAGE = {"input": 3, "output": 4, "cache_read": 0, "cache_write": 0, "reasoning": 0, "total": 7}
RECORDS = [
    {"kind": "run_start", "run_id": "run_1", "of": "prompt"},
    {"kind": "message", "message": {"role": "user", "content": "Grüße, 世界 🌍\r\n\ttab", "timestamp": 5}},
    {"kind": "message", "message": {"role": "assistant", "content": [CALL], "stop_reason": "tool_use", "timestamp": 6}},
    {"kind": "tool_start", "tool_call_id": "call_a", "tool_name": "add", "arguments": {"a_b": [0.1]}, "idempotency_key": "k"},
    {"kind": "queued", "queue": "steering", "number": 1, "message": {"role": "user", "content": "stop", "metadata": {"x_y": 1}}},
    {"kind": "hook_decision", "hook": "before_tool_call", "tool_call_id": "call_a", "answer": {"block": False}},
    {"kind": "appended", "messages": [{"role": "note", "some_field": {"in_it": 9007199254740991}, "timestamp": 7}]},
    {"kind": "run_end", "run_id": "run_0", "outcome": "completed", "usage": USAGE, "turns": 1},
]
LAST = len(RECORDS) + 2


def commands(python):
    return {"python": [str(python), str(HERE / "tool.py")], "node": ["node", str(HERE / "tool.mjs")]}


class Pair:
    """One language that writes, and another one, with a store each."""

    def __init__(self, tools, writer, reader, addresses):
        self.tools, self.writer, self.reader, self.addresses = tools, writer, reader, addresses
        self.id = f"s {uuid.uuid4()}"

    def ask(self, language, command, *arguments, given="", id=None, store=0):
        line = [*self.tools[language], self.addresses[store], command, id or self.id, *map(str, arguments)]
        done = subprocess.run(line, input=given.encode(), capture_output=True, timeout=SECONDS, check=False)
        if done.returncode or done.stderr:
            raise AssertionError(f"{language} {command} ended with {done.returncode}\n{done.stderr.decode()}")
        return done.stdout.decode()

    @contextmanager
    def begun(self, language, command, *arguments):
        """A process that goes on meanwhile. One that is still there at the end, or hangs, is killed."""
        line = [*self.tools[language], self.addresses[0], command, self.id, *map(str, arguments)]
        with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
            timer = threading.Timer(SECONDS, process.kill)
            timer.start()
            try:
                yield process
            finally:
                timer.cancel()
                process.kill()

    def written(self):
        same("", self.ask(self.writer, "append", json.dumps(RECORDS)))

    def both(self, command):
        """What both languages print of the session."""
        one, other = self.ask(self.writer, command), self.ask(self.reader, command)
        return json.loads(one), json.loads(other)


def same(one, other):
    if one != other:
        raise AssertionError(f"expected\n{one}\ngot\n{other}")


def parsed(lines):
    # `splitlines` would also end a line at U+2028, which JSON has as it is.
    return [json.loads(line) for line in lines.split("\n") if line]


def rebuilt(pair):
    """Both have the same conversation."""
    pair.written()
    one, other = pair.both("rebuilt")
    same(one, other)
    same(one[0]["messages"], one[1])
    same({"title": "Zoë's", "metadata": {"tool_name": {"a_b": [1, 2.5, None]}}}, one[0]["info"])
    same(*pair.both("info"))


def exported(pair):
    """Both export the same bytes, and what one exports the other imports, into a store of another kind."""
    pair.written()
    text = pair.ask(pair.writer, "export")
    same(LAST, text.count("\n"))
    same(text, pair.ask(pair.reader, "export"))
    same("", pair.ask(pair.reader, "import", given=text, store=1))
    # The first record is its own.
    same(text.split("\n")[1:], pair.ask(pair.writer, "export", store=1).split("\n")[1:])


def forked(pair):
    """A fork is the same whoever makes it."""
    pair.written()
    ids = {language: f"{pair.id} {language}" for language in pair.tools}
    texts = []
    for language, id in ids.items():
        same("", pair.ask(language, "fork", 4, id))
        *records, info = parsed(pair.ask(language, "export", id=id))[1:]
        # Its title and metadata are written when it is made.
        texts.append([*records, {name: value for name, value in info.items() if name not in ("at", "crc")}])
    same(*texts)
    same(4, len(texts[0]))


def followed(pair):
    """One sees what the other writes, while it does."""
    same("", pair.ask(pair.writer, "append", "[]"))
    with pair.begun(pair.reader, "follow", LAST) as follower:
        # Not `communicate`, which would lose what is in the buffer of the first line.
        seen = parsed(follower.stdout.readline())
        same("", pair.ask(pair.writer, "append", json.dumps(RECORDS[:-1])))
        seen += parsed(follower.stdout.read())
        same(0, follower.wait(timeout=SECONDS))
    same(list(range(1, LAST + 1)), [record["seq"] for record in seen])
    lines = parsed(pair.ask(pair.writer, "export"))
    same([{name: value for name, value in line.items() if name != "crc"} for line in lines], seen)


def held(pair):
    """While one has it open, the other reads who has it."""
    with pair.begun(pair.writer, "hold") as holder:
        same("open\n", holder.stdout.readline())
        refused = pair.ask(pair.reader, "rebuilt")
        expected = f'busy: the session "{pair.id}" is open elsewhere, by {pair.writer}, and has one writer at a time'
        same(expected, refused[: len(expected)])
        holder.communicate(timeout=SECONDS)
        same(0, holder.returncode)
    pair.ask(pair.reader, "rebuilt")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", type=Path, default=ROOT / "target/python-venv/bin/python", help="the one with agent_loop")
    tools = commands(parser.parse_args().python)
    server = os.environ.get("AGENT_POSTGRES")
    counts = {"passed": 0, "failed": 0}
    for test in rebuilt, exported, forked, followed, held:
        for writer, reader in ("python", "node"), ("node", "python"):
            for kind in ["sqlite", "jsonl", *(["postgres"] if server else [])]:
                with tempfile.TemporaryDirectory() as folder:
                    sqlite, jsonl = f"sqlite:{folder}/agents.db", f"jsonl:{folder}/sessions"
                    addresses = {"sqlite": (sqlite, jsonl), "jsonl": (jsonl, sqlite), "postgres": (server, jsonl)}[kind]
                    wrong = None
                    try:
                        test(Pair(tools, writer, reader, addresses))
                    except (AssertionError, subprocess.TimeoutExpired) as error:
                        wrong = str(error)
                counts["failed" if wrong else "passed"] += 1
                print(f"  {'FAILED' if wrong else 'ok    '} {test.__name__}: {writer} to {reader}, {kind}", flush=True)
                if wrong:
                    print("".join(f"    {line}\n" for line in wrong.splitlines()), end="", flush=True)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {0 if server else 10} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
