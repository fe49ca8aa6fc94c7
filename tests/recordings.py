#!/usr/bin/env python3
"""Recorded runs from language to language.

Python and Node each record two runs: with a tool, thinking, a retry and text that is hard to pass on, and one that fails. The
example `replay` of each language plays them with the events that the recording program printed, byte for byte, and refuses a
damaged recording with the same text as the others. With the option `replay`, an agent in Python and one in Node then run their
own tool with the recorded answers of either. Last, the tests of docs/recording.md are recorded with agent-mock and replayed
without it.

Everything must have been built (the Makefile does it). The last line counts the tests.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from languages import PROGRAMS, ROOT, Tally, blocks, mock, program
from snippets import NAMED_MODEL

LANGUAGES = [language for language in PROGRAMS if language != "zig"]  # Zig has the library of C
ODD = 'lamp "ü" \\ 🙂\u2028\u0007\n</script>'
ANSWERS = [
    [{"error": {"kind": "overloaded", "message": "later", "retryable": True}}],
    [
        {"delta": {"thinking": "What would it cost?"}}, {"delta": {"type": "thinking_end", "signature": ODD}}, {"wait_ms": 7},
        {"delta": {"tool_call": {"id": "c1", "name": "price", "arguments": {"item": ODD, "n": [1.5, -0.25, 1e-7, None]}}}},
        {"usage": {"input": 9, "output": 4}}, {"end": "tool_use"},
    ],
    [{"wait_ms": 11}, {"delta": "All is "}, {"delta": "done."}, {"end": "stop"}],
    [{"delta": "I can"}, {"error": {"kind": "server", "message": f"no: {ODD}"}}],
]
PYTHON = """
import asyncio, json, sys
from agent_loop import Agent, Tool

async def execute(arguments, context):
    return {"content": [{"type": "text", "text": arguments["item"]}], "details": {"n": arguments["n"]}}

parameters = {"type": "object", "properties": {"item": {"type": "string"}, "n": {"type": "array"}}}
price = Tool(name="price", description="The price of an item.", parameters=parameters, execute=execute)

async def main(option, file, script):
    model = {"provider": "scripted", "id": "demo", "script": json.loads(script)}
    agent = Agent(model, tools=[price], **{option: file})
    for prompt in ("A lamp, please.", "And now?"):
        async with agent.stream(prompt, raise_errors=False) as run:
            async for event in run:
                print(event.to_json())

asyncio.run(main(*sys.argv[1:]))
"""
NODE = """
import { Agent, tool } from 'agent-loop'

const [option, file, script] = process.argv.slice(1)
const parameters = { type: 'object', properties: { item: { type: 'string' }, n: { type: 'array' } } }
const price = tool({
  name: 'price', description: 'The price of an item.', parameters,
  execute: ({ item, n }) => ({ content: [{ type: 'text', text: item }], details: { n } }),
})
const model = { provider: 'scripted', id: 'demo', script: JSON.parse(script) }
const agent = new Agent({ model, tools: [price], [option]: file })
for (const prompt of ['A lamp, please.', 'And now?']) {
  for await (const event of agent.stream(prompt, { raiseErrors: false })) console.log(JSON.stringify(event))
}
"""


# The tests of docs/recording.md: how they are marked, their files, what runs them, their recordings, and the name of an option.
PYTEST = [PROGRAMS["python"][0], "-m", "pytest", "-q", "-p", "no:cacheprovider"]
DOCUMENTED = [
    ("py", "test_weather.py", PYTEST, "test_weather.test_umbrella", "base_url"),
    ("javascript", "weather.test.mjs", ["node", "--test"], "weather.umbrella", "baseUrl"),
]
SERVER = {
    "strict": True,
    "answers": [
        {"when": {"last": "user"}, "body": {"message": {"tool_calls": [{"name": "weather", "arguments": {"city": "Oslo"}}]}}},
        {"when": {"last": "tool_result"}, "body": {"message": {"text": "Yes, take an umbrella."}}},
    ],
}


def printed(command: list[str], folder: pathlib.Path | None = None) -> tuple[str, str]:
    """What a program prints, and its error."""
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=120)
    return ended.stdout, " ".join(ended.stderr.split())


def agent(language: str, option: str, file: pathlib.Path, answers: list[object]) -> tuple[str, str]:
    """The events of two runs of an agent in this language, and its error."""
    # Among the examples, where the package is found.
    interpreter, example = program(language, "replay")
    start = {"python": ["-c", PYTHON], "node": ["--input-type=module", "--eval", NODE, "--"]}[language]
    return printed([interpreter, *start, option, str(file), json.dumps(answers)], pathlib.Path(example).parent)


def check_language(tally: Tally, recorder: str, folder: pathlib.Path) -> None:
    file = folder / f"{recorder}.jsonl"
    events, error = agent(recorder, "record", file, ANSWERS)
    tally.equal(f"{recorder} records", error, "")
    first, *rest = events.partition('"type":"agent_end"')
    end, _, second = "".join(rest).partition("\n")
    runs = [f"{first}{end}\n", second]
    for player in LANGUAGES:
        for number, run in enumerate(runs, 1):
            played, error = printed([*program(player, "replay"), str(file), str(number)])
            tally.equal(f"{recorder} to {player}: run {number} has the same events", played, run)
            wanted = "" if number == 1 else f"server: no: {' '.join(ODD.split())}"
            tally.equal(f"{recorder} to {player}: run {number} ends in the same way", error, wanted)
    for other in ("python", "node"):
        replayed, error = agent(other, "replay", file, [])
        tally.equal(f"{other} runs its tool with the answers that {recorder} recorded", replayed + error, events)


def check_damage(tally: Tally, folder: pathlib.Path) -> None:
    text = (folder / "python.jsonl").read_text("utf-8")
    lines = text.splitlines(keepends=True)
    for name, content in {
        "cut": text[: len(text) // 2],
        "without a line": "".join(lines[:5] + lines[6:]),
        "changed": text.replace('"poll"', '"pull"', 1),
        "empty": "",
        "newer": text.replace(":1,", ":2,", 1),
    }.items():
        file = folder / "damaged.jsonl"
        file.write_text(content, "utf-8")
        errors = {printed([*program(player, "replay"), str(file)])[1] for player in LANGUAGES}
        tally.equal(f"a recording that is {name} is refused with one text", str(len(errors)), "1")
        error = errors.pop()
        kind = "newer_version" if name == "newer" else "damaged"
        found = f"{error.split(':')[0]} {': line ' in error}"
        tally.equal(f"a recording that is {name} is {kind}, with its line", found, f"{kind} True")


def check_documentation(tally: Tally, folder: pathlib.Path) -> None:
    page = (ROOT / "docs" / "recording.md").read_text("utf-8")
    script = folder / "server.json"
    script.write_text(json.dumps(SERVER))
    (folder / "node_modules").symlink_to(ROOT / "examples" / "node" / "node_modules")
    unset = {name: value for name, value in os.environ.items() if name not in ("AGENT_LOOP_RECORD", "ANTHROPIC_API_KEY")}
    for kind, name, command, recording, base_url in DOCUMENTED:
        [text] = blocks(page, kind)

        def run(address: str, **environment: str) -> str:
            spec = json.dumps({"provider": "anthropic", "id": "claude-sonnet-4-5", base_url: address})
            (folder / name).write_text(NAMED_MODEL.sub(lambda _: spec, text))
            streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            ended = subprocess.run([*command, name], cwd=folder, env=unset | environment, text=True, timeout=120, **streams)
            return ended.stdout if ended.returncode else ""

        with mock(script) as address:
            tally.equal(f"{name} is recorded", run(address, AGENT_LOOP_RECORD="1", ANTHROPIC_API_KEY="sk-secret"), "")
        file = folder / "recordings" / f"{recording}.jsonl"
        tally.equal(f"{name} has the recording of the documentation", str(file.exists()), "True")
        tally.equal(f"the recording of {name} has no key", str("sk-secret" in file.read_text("utf-8")), "False")
        tally.equal(f"{name} is replayed without a server and a key", run("http://127.0.0.1:9"), "")


def main() -> int:
    tally = Tally()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for recorder in ("python", "node"):
            check_language(tally, recorder, folder)
        check_damage(tally, folder)
        check_documentation(tally, folder)
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
