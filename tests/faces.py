#!/usr/bin/env python3
"""The calculator conversation through every face of the library.

    faces.py demo [--face rust|c|zig|python|node] [--api chat|responses|anthropic|switch]    plays it and prints the transcripts
    faces.py test                                                                            plays it and compares

`demo` and the first part of `test` talk to the model server at AGENT_LLAMA_URL (see tests/llama); with MODEL=provider/id, `demo`
talks to that provider. The second part of `test` plays it with the scripted model: the events must be the same JSON lines in every
language, byte for byte, run id, times and durations aside. The programs must have been built (the Makefile does it).
"""

import argparse
import contextlib
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROFILE = os.environ.get("PROFILE", "ci")
SCENARIOS = ROOT / "tests" / "scenarios"

PROGRAMS = {
    "rust": [str(ROOT / "target" / PROFILE / "{name}")],
    "c": [str(ROOT / "target" / "examples" / "c" / "{name}")],
    "zig": [str(ROOT / "target" / "zig" / "{name}")],
    "python": [str(ROOT / "target" / "python-venv" / "bin" / "python"), str(ROOT / "examples" / "python" / "{name}.py")],
    "node": ["node", str(ROOT / "examples" / "node" / "{name}.mjs")],
}
# The models by which the tiny server is asked in each of its formats; `switch` changes the vendor in mid-conversation.
RESPONSES = '{"provider": "openai", "id": "tiny", "protocol": "openai_responses"}'
APIS = {
    "chat": ["openai/tiny"],
    "responses": [RESPONSES],
    "anthropic": ["anthropic/tiny"],
    "switch": ["anthropic/tiny", RESPONSES],
}
# What tests/llama/with_server.py says it has started.
SERVERS = {"real": "llama.cpp's server", "recorded": "streams recorded from llama.cpp's server, which agent-mock plays"}
TRANSCRIPT = """\
User: What is 15 multiplied by 23?
[turn 1]
[calling calculator {"operation":"multiply","a":15,"b":23}]
[calculator -> {"result":345}]
[turn 2]
15 multiplied by 23 equals 345.
[completed]
User: Now divide that by 5
[turn 1]
[calling calculator {"operation":"divide","a":345,"b":5}]
[calculator -> {"result":69}]
[turn 2]
345 divided by 5 equals 69.
[completed]
Conversation: user, assistant, tool_result, assistant, user, assistant, tool_result, assistant
"""
# What may differ from run to run.
VARYING = [
    (re.compile(r'"run_id":"[^"]+"'), '"run_id":"…"'),
    (re.compile(r'"timestamp":\d+'), '"timestamp":0'),
    (re.compile(r'"duration_ms":\d+'), '"duration_ms":0'),
]


def program(face: str, name: str, *arguments: str) -> list[str]:
    return [part.format(name=name) for part in PROGRAMS[face]] + list(arguments)


def at(server: str, api: str) -> list[str]:
    """What the calculator is called with."""
    first, *second = APIS[api]
    return [first, server, *second]


def demo(faces: list[str], apis: list[str]) -> int:
    model = os.environ.get("MODEL")
    server = os.environ.get("AGENT_LLAMA_URL")
    if not model and not server:
        print("faces.py: neither MODEL nor AGENT_LLAMA_URL is set; `make demo` starts a server and sets it", file=sys.stderr)
        return 2
    good = []
    for face in faces:
        for api, target in [("", [model])] if model else [(api, at(server, api)) for api in apis]:
            print(f"==== {face}, {api + ': ' if api else ''}{' '.join(target)}", flush=True)
            command = program(face, "calculator", *target)
            if model:  # which says what it likes, and may take its time
                good.append(subprocess.run(command).returncode == 0)
            else:
                got = output(command)
                good.append(got == TRANSCRIPT)
                print(got, end="" if good[-1] else "[not as expected]\n")
            print(flush=True)
    whom = model or SERVERS.get(os.environ.get("AGENT_LLAMA"), f"the server at {server}")
    print(f"{sum(good)} of {len(good)} conversations {'went through' if model else 'as expected'}, with {whom}")
    return 0 if all(good) else 1


class Tally:
    """Counts checks, and shows what differs where one fails."""

    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0

    def skip(self, what: str) -> None:
        self.skipped += 1
        print(f"skipped {what}")

    def equal(self, what: str, got: str, wanted: str) -> None:
        if got == wanted:
            self.passed += 1
            print(f"ok {what}")
            return
        self.failed += 1
        print(f"not ok {what}")
        sys.stdout.writelines(difflib.unified_diff(wanted.splitlines(True), got.splitlines(True), "wanted", "got"))


@contextlib.contextmanager
def mock(script: str):
    """A mock model server that plays one of its scripts; gives its address."""
    command = [str(ROOT / "target" / PROFILE / "agent-mock"), str(ROOT / "tests" / "mock" / "scripts" / f"{script}.json")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()


@contextlib.contextmanager
def relay(model: str, address: str):
    """The example's relay to a model at an address; gives its own address."""
    secrets = {"AGENT_RELAY_TOKEN": "faces", "OPENAI_API_KEY": "behind the relay"}
    command = [*program("node", "relay"), "--port", "0", model, address]
    with subprocess.Popen(command, env=os.environ | secrets, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def output(command: list[str], environment: dict[str, str] | None = None) -> str:
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300, env=environment)
    return ended.stdout if ended.returncode == 0 else f"{ended.stdout}[exit code {ended.returncode}]\n"


# A model of each kind that the examples are for; the strict server takes any key.
MODELS = [
    "anthropic/claude-sonnet-4-5",
    "google/gemini-2.5-flash",
    "google-vertex/claude-sonnet-4-5@20250929",
    "google-vertex/gemini-2.5-flash",
    "openai/gpt-5",
]


def examples(tally: Tally) -> None:
    """The same programs with Claude and Gemini, directly and on Vertex, against the strict server; with keys, against the real ones."""
    with mock("examples") as address, tempfile.TemporaryDirectory() as folder:
        credentials = pathlib.Path(folder) / "credentials.json"
        credentials.write_text(json.dumps({
            "type": "service_account",
            "client_email": "examples@made-up.iam.gserviceaccount.com",
            "private_key": (ROOT / "core" / "src" / "provider" / "credential" / "test-key.pem").read_text(),
            "token_uri": f"{address}/token",
        }))
        environment = os.environ | {
            "ANTHROPIC_API_KEY": "key", "GEMINI_API_KEY": "key", "OPENAI_API_KEY": "key",
            "GOOGLE_APPLICATION_CREDENTIALS": str(credentials),
            "GOOGLE_CLOUD_PROJECT": "made-up", "GOOGLE_CLOUD_LOCATION": "europe-west1",
        }
        for model in MODELS:
            got = output(program("rust", "simple", model, address), environment)
            # Prices are the vendor's at its own address; Vertex's prices hold wherever it is reached.
            tally.equal(f"simple asks {model}", re.sub(r", \$[0-9.]+", "", got), "So it is.\n[2000 tokens]\n")
            got = output(program("rust", "calculator", model, address), environment)
            tally.equal(f"calculator asks {model}", got, TRANSCRIPT)
        for model, other in zip(MODELS, MODELS[1:] + MODELS[:1]):
            got = output(program("rust", "multi_turn", model, address, other), environment)
            wanted = f"User: My name is Ada. Remember it.\n{model}: So it is.\nUser: What is my name?\n{other}: Ada.\n"
            tally.equal(f"multi_turn changes from {model} to {other}", got, f"{wanted}User: Spell it backwards.\n{other}: adA\n[6 messages]\n")
    real = {
        "anthropic/claude-haiku-4-5": ["ANTHROPIC_API_KEY"],
        "google/gemini-2.5-flash": ["GEMINI_API_KEY"],
        "google-vertex/gemini-2.5-flash": ["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"],
        "google-vertex/claude-haiku-4-5": ["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"],
    }
    for model, variables in real.items():
        if all(os.environ.get(name) for name in variables):
            said = output(program("rust", "simple", model))
            tally.equal(f"simple asks the real {model}", re.sub(r"(?s).+\n\[\d+ tokens.*\]\n", "answered", said), "answered")
            roles = output(program("rust", "calculator", model)).splitlines()[-1:]
            tally.equal(f"calculator asks the real {model}", "".join(roles)[:34], "Conversation: user, assistant, tool"[:34])
        else:
            tally.skip(f"the real {model}: {' and '.join(variables)} not set")


def documents(tally: Tally) -> None:
    """The README's programs are those of examples/, or run as they stand; so do the tests and scripts in the mock's README."""
    readme = (ROOT / "README.md").read_text()
    for name in ("python/weather.py", "node/weather.mjs", "rust/src/weather.rs", "c/weather.c"):
        shown = (ROOT / "examples" / name).read_text().rstrip()
        tally.equal(f"the README shows examples/{name}", shown if f"\n{shown}\n```" in readme else "", shown)
    link = "](examples/zig/weather.zig)" if (ROOT / "examples/zig/weather.zig").exists() else "the file"
    tally.equal("the README links examples/zig/weather.zig", link if link in readme else "", link)
    python = PROGRAMS["python"][0]
    [first, said] = [next(blocks(readme, kind)) for kind in ("python", "text")]
    tally.equal("the README's first program prints what it says", output([python, "-c", first]), said)

    tests = (ROOT / "tests" / "mock" / "README.md").read_text()
    program = str(ROOT / "target" / PROFILE / "agent-mock")
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        (folder / "node_modules").symlink_to(ROOT / "examples" / "node" / "node_modules")
        for number, script in enumerate(blocks(tests, "json"), 1):
            (folder / f"{number}.json").write_text(script)
            played = subprocess.run([program, f"{number}.json"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            tally.equal(f"the mock plays its README's script {number}", played.stderr if played.returncode else "", "")
        (folder / "1.json").rename(folder / "talk.json")
        for kind, command in [("python", [python, "-m", "pytest", "-q", "test_talk.py"]), ("js", ["node", "--test", "talk.test.mjs"])]:
            (folder / command[-1]).write_text(next(blocks(tests, kind)))
            environment = os.environ | {"AGENT_MOCK": program}
            ran = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            tally.equal(f"the mock's README: {command[-1]} passes", ran.stdout if ran.returncode else "", "")


def blocks(page: str, kind: str) -> Iterator[str]:
    """The code of this kind on a page, in order."""
    return (found[1] for found in re.finditer(rf"^```{kind}\n(.*?)^```$", page, re.M | re.S))


def test() -> int:
    tally = Tally()
    server = os.environ["AGENT_LLAMA_URL"]
    for face in PROGRAMS:
        for api in APIS:
            for base in (server, f"{server}/v1"):
                got = output(program(face, "calculator", *at(base, api)))
                tally.equal(f"{face} plays the conversation over {api} at {base.removeprefix(server) or '/'}", got, TRANSCRIPT)
    with mock("weather") as address:
        for face in PROGRAMS:
            usage = output(program(face, "calculator", "--help")).partition("\n")[0]
            tally.equal(f"{face} says how it is called", usage, "usage: calculator [--events] MODEL [BASE_URL [SECOND_MODEL]]")
            failed = subprocess.run(program(face, "weather", "nobody/tiny"), capture_output=True, text=True)
            told = failed.stderr.removeprefix("invalid_argument: ").partition(";")[0]
            tally.equal(f"{face} tells an error in one line", f"{failed.returncode} {told}", '1 model "nobody/tiny": unknown provider "nobody"')
            got = output(program(face, "weather", "openai/tiny", address))
            tally.equal(f"{face} runs the README's tool", got, "[weather]\nYes, it rains.\n167 tokens\n")
        with relay("openai/tiny", address) as relayed:
            environment = os.environ | {"AGENT_RELAY_TOKEN": "faces"}
            for face in PROGRAMS:
                got = output(program(face, "weather", "relay/openai/tiny", relayed), environment)
                tally.equal(f"{face} runs it through a relay", got, "[weather]\nYes, it rains.\n167 tokens\n")
    documents(tally)
    examples(tally)
    steer = (ROOT / "tests" / "c" / "steer.json").read_text()
    for face in PROGRAMS:
        tally.equal(f"{face} is steered", output(program(face, "steer", steer)), (ROOT / "tests" / "c" / "steer.txt").read_text())
    # Those with a model alone; the others are played by their runners.
    for story in sorted(path.parent for path in SCENARIOS.glob("*/model.json")):
        model = (story / "model.json").read_text()
        wanted = (story / "events.jsonl").read_text()
        for face in PROGRAMS:
            got = output(program(face, "calculator", "--events", model))
            for pattern, same in VARYING:
                got = pattern.sub(same, got)
            tally.equal(f"{face} tells the events of {story.name}", got, wanted)
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["demo", "test"])
    parser.add_argument("--face", choices=list(PROGRAMS))
    parser.add_argument("--api", choices=list(APIS))
    options = parser.parse_args()
    if options.what == "test":
        return test()
    return demo([options.face] if options.face else list(PROGRAMS), [options.api] if options.api else list(APIS))


if __name__ == "__main__":
    sys.exit(main())
