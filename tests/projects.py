#!/usr/bin/env python3
"""The projects that `agent new` writes, built and run in their languages as their READMEs say, with the packages of this tree in
place of published ones. Each counts the words of a text with its own tool, for a model that plays a script.

projects.py AGENT PYTHON: the program, and a Python that has agent_loop. The Node package must have been built. The last line
counts the tests.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
CRATES = {"agent-loop": "core", "agent-loop-proto": "core/proto", "agent-loop-program": "core/program"}
CALL = {"delta": {"tool_call": {"id": "c1", "name": "word_count", "arguments": {"text": "to be or not to be"}}}}
SCRIPT = [[CALL, {"end": "tool_use"}], [{"delta": "It has six."}, {"end": "stop"}]]
MODEL = json.dumps({"provider": "scripted", "id": "s", "script": SCRIPT})
ASKED = ["--model", MODEL, "--json", "How many words?"]


def run(command: list[str], folder: pathlib.Path) -> str:
    """Its standard output. What it says of a failure is printed."""
    done = subprocess.run(command, cwd=folder, env={**os.environ, "AGENT_HOME": str(folder / "home")}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{command} exits with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def rust(project: pathlib.Path, _python: str) -> list[str]:
    """Built with the dependencies that this tree is locked to."""
    manifest = project / "Cargo.toml"
    paths = "".join(f'{name} = {{ path = "{ROOT / path}" }}\n' for name, path in CRATES.items())
    manifest.write_text(f"{manifest.read_text()}\n[patch.crates-io]\n{paths}\n[workspace]\n")
    (project / "Cargo.lock").write_bytes((ROOT / "Cargo.lock").read_bytes())
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target" / "user"))
    return ["cargo", "run", "--quiet", "--target-dir", target, "--"]


def python(_project: pathlib.Path, python_with_package: str) -> list[str]:
    return [python_with_package, "agent.py"]


def node(project: pathlib.Path, _python: str) -> list[str]:
    modules = project / "node_modules"
    modules.mkdir()
    (modules / "agent-loop").symlink_to(ROOT / "bindings" / "node")
    return ["node", "agent.mjs"]


def test(agent: str, python_with_package: str, kind: str, folder: pathlib.Path) -> None:
    name = f"in-{kind}"
    run([agent, "new", name, f"--{kind}"], folder)
    command = globals()[kind](folder / name, python_with_package)
    events = [json.loads(line) for line in run([*command, *ASKED], folder / name).splitlines()]
    results = [event["result"] for event in events if event["type"] == "tool_execution_end"]
    assert [result["content"][0]["text"] for result in results] == ["6"], results
    assert "It has six." in json.dumps(events[-1]), events[-1]
    assert f"Usage: {name} " in run([*command, "--help"], folder / name)


def main(agent: str, python_with_package: str) -> int:
    counts = {"passed": 0, "failed": 0}
    for kind in ("python", "node", "rust"):
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(agent, python_with_package, kind, pathlib.Path(folder))
            except AssertionError as error:
                counts["failed"] += 1
                print(f"FAILED {kind}: {error}")
            else:
                counts["passed"] += 1
                print(f"ok {kind}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, 0 skipped")
    return bool(counts["failed"])


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])))
