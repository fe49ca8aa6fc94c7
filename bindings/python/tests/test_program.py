"""Agents as programs, each in a process of its own, as its user starts it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import agent_loop
from agent_loop import AgentSpec, InvalidArgumentError, InvalidStateError

EXAMPLES = Path(__file__).parents[3] / "examples" / "python"
CALCULATOR = (EXAMPLES / "agent.py").read_text()

CALL = {"delta": {"tool_call": {"id": "1", "name": "calculator", "arguments": {"operation": "multiply", "a": 15, "b": 23}}}}


def run(folder: Path, program: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(program)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "AGENT_HOME": str(folder / "home")}
    command = [sys.executable, "program.py", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, input=stdin, capture_output=True, text=True)


def scripted(folder: Path, script: object, name: str = "agent.toml") -> None:
    answers = json.dumps(script).replace(": ", " = ")
    (folder / name).write_text(f'name = "calculator"\nmodel = {{ provider = "scripted", id = "s", script = {answers} }}\n')


def test_a_spec_of_few_lines_is_a_complete_agent(tmp_path: Path) -> None:
    assert len(CALCULATOR.splitlines()) < 30
    scripted(tmp_path, [[CALL, {"end": "tool_use"}], [{"delta": "It is 345."}, {"end": "stop"}]])
    done = run(tmp_path, CALCULATOR, "agent.toml", "15 times 23?")
    assert (done.returncode, done.stdout) == (0, "It is 345.\n"), done
    assert done.stderr == "- calculator operation=multiply a=15 b=23\n"

    done = run(tmp_path, CALCULATOR, "--help")
    assert done.returncode == 0 and "Usage: calculator [OPTIONS]" in done.stdout
    assert run(tmp_path, CALCULATOR, "--bogus").returncode == 2
    done = run(tmp_path, CALCULATOR, "Hello")
    assert done.returncode == 1 and "no model is configured" in done.stderr, done


def test_a_conversation_in_the_shell_uses_the_tools(tmp_path: Path) -> None:
    scripted(tmp_path, [[CALL, {"end": "tool_use"}], [{"delta": "It is 345."}, {"end": "stop"}]])
    done = run(tmp_path, CALCULATOR, "chat", "--spec", "agent.toml", "--session", "sums", stdin="15 times 23?\n/tools\n")
    assert done.returncode == 0 and "It is 345.\ncalculator\n" in done.stdout, done
    done = run(tmp_path, CALCULATOR, "--spec", "agent.toml", "sessions", "show", "sums")
    assert done.stdout.splitlines()[-1] == "assistant: It is 345.", done


def test_tools_hooks_and_subagents_are_those_of_the_spec(tmp_path: Path) -> None:
    program = '''
from agent_loop import AgentSpec, main

def model(*answers):
    return {"provider": "scripted", "id": "s", "script": list(answers)}

call = {"delta": {"tool_call": {"id": "1", "name": "geographer", "arguments": {"prompt": "The capital?"}}}}
geographer = AgentSpec("geographer", model=model([{"delta": "Paris."}, {"end": "stop"}]))
main(AgentSpec(
    "guide",
    version="2.5",
    model=model([call, {"end": "tool_use"}], [{"delta": "It is Paris."}, {"end": "stop"}]),
    after_tool_call=lambda call: {"content": call.result.content[0].text + " (checked)"},
    agents=[geographer],
))
'''
    done = run(tmp_path, program, "--json", "France?")
    assert done.returncode == 0, done
    results = [event for event in map(json.loads, done.stdout.splitlines()) if event["type"] == "tool_execution_end"]
    assert results[-1]["result"]["content"][0]["text"] == "Paris. (checked)"
    assert run(tmp_path, program, "--version").stdout == "guide 2.5\n"


def test_flags_change_the_names_of_built_in_tools_and_keep_the_rest(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.txt").write_text("inside")
    program = '''
from agent_loop import AgentSpec, main

call = {"delta": {"tool_call": {"id": "1", "name": "read_file", "arguments": {"path": "a.txt"}}}}
model = {"provider": "scripted", "id": "s", "script": [[call, {"end": "tool_use"}], [{"delta": "Done."}, {"end": "stop"}]]}
main(AgentSpec("reader", model=model, builtin_tools={"tools": ["todo"], "root": "inner"}))
'''
    done = run(tmp_path, program, "--tools", "read_file", "--json", "Read.")
    assert done.returncode == 0 and '"text":"inside' in done.stdout, done
    done = run(tmp_path, program, "chat", stdin="/tools\n/tools read_file\nRead.\n")
    assert done.returncode == 0 and "\ntodo\nread_file\n" in done.stdout and "failed" not in done.stdout, done


def test_a_tool_that_fails_is_no_failure_of_the_program(tmp_path: Path) -> None:
    scripted(tmp_path, [[CALL | {}, {"end": "tool_use"}], [{"delta": "I cannot."}, {"end": "stop"}]])
    done = run(tmp_path, CALCULATOR.replace("a * b", "a / 0"), "agent.toml", "15 times 23?")
    assert (done.returncode, done.stdout) == (0, "I cannot.\n"), done
    assert "calculator failed: ZeroDivisionError" in done.stderr


def test_the_console_script_is_the_program_agent(tmp_path: Path) -> None:
    script = Path(sys.executable).parent / "agent"
    done = subprocess.run([script, "--demo"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "23 × 19 + 5 = 442."), done
    done = subprocess.run([script, "--version"], capture_output=True, text=True)
    assert done.stdout == f"agent {agent_loop.__version__}\n"


def test_a_program_does_not_run_within_an_event_loop() -> None:
    async def within_a_loop() -> None:
        agent_loop.main(AgentSpec("x"), [])

    with pytest.raises(InvalidStateError, match="main: it is the whole program"):
        asyncio.run(within_a_loop())


def test_wrong_specs_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="spec: name: expected a text"):
        AgentSpec(7)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="main: expected an AgentSpec"):
        agent_loop.main("agent")  # type: ignore[arg-type]
