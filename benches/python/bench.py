"""bench-python: the engine through its Python API. The command line is that of benches/README.md."""

import argparse
import asyncio
import json
import os
import resource
import sys

PROMPT = "What is 15 multiplied by 23?"
ANSWER = "15 multiplied by 23 equals 345."
MODELS = {
    "anthropic": {"provider": "anthropic"},
    "chat": {"provider": "openai"},
    # openai uses Chat at any address but its own.
    "responses": {"provider": "openai", "protocol": "openai_responses"},
    "gemini": {"provider": "google"},
}


def cpu_us() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return round((used.ru_utime + used.ru_stime) * 1e6)


parser = argparse.ArgumentParser(prog="bench-python")
parser.add_argument("task", choices=["stream", "concurrent", "start"])
parser.add_argument("--url", required=True)
parser.add_argument("--format", choices=list(MODELS), required=True)
parser.add_argument("--model", default="calc")
parser.add_argument("--repeats", type=int, default=5)
parser.add_argument("--runs", type=int, default=1000)
options = parser.parse_args()
# Start-up begins here: what this program does so far is not the engine's.
before_us = cpu_us()

from agent_loop import Agent, TextDelta, ToolCallDelta, TurnEnd, tool  # noqa: E402


@tool
async def calculator(operation: str, a: float, b: float) -> dict:
    """Perform basic arithmetic operations."""
    result = a * b
    return {"result": int(result) if result == int(result) else result}


@tool
async def echo(text: str) -> str:
    """Says how long a text is."""
    return f"{len(text.encode())} bytes"


def status_kb(name: str) -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))


# CPU time at the first delta, and at the end of each turn.
first: list[int] = []
turns: list[int] = []


async def run(options: argparse.Namespace, model: str) -> tuple[int, int]:
    agent = Agent({**MODELS[options.format], "id": model}, base_url=options.url, tools=[calculator, echo], max_turns=0)
    deltas = size = 0
    read = os.environ.get("BENCH_READ")
    if read == "ui":
        async for frames in agent.stream(PROMPT).to_ui_message_stream():
            size += len(frames)
        return deltas, size
    if read == "none":
        await agent.prompt(PROMPT)
        return deltas, size
    async with agent.stream(PROMPT) as events:
        async for event in events:
            match event:
                case TextDelta(delta=delta) | ToolCallDelta(delta=delta):
                    if not first:
                        first.append(cpu_us())
                    deltas += 1
                    size += len(delta)
                case TurnEnd():
                    turns.append(cpu_us())
        result = await events.result()
    if result.outcome != "completed" or (model.startswith(("calc", "turns")) and result.text != ANSWER):
        raise RuntimeError(f"the run ended {result.outcome} with {result.text!r}")
    return deltas, size


async def stream(options: argparse.Namespace) -> dict:
    await run(options, options.model)
    cpu = []
    for _ in range(options.repeats):
        turns.clear()
        before = cpu_us()
        deltas, size = await run(options, options.model)
        cpu.append(cpu_us() - before)
    ends = [before, *turns]
    return {"cpu_us": cpu, "turn_us": [b - a for a, b in zip(ends, ends[1:])], "deltas": deltas, "bytes": size}


async def start(options: argparse.Namespace) -> dict:
    await run(options, options.model)
    return {"first_us": first[0], "before_us": before_us}


async def concurrent(options: argparse.Namespace) -> dict:
    await run(options, options.model)
    idle = status_kb("VmRSS:")
    try:
        with open("/proc/self/clear_refs", "w") as clear:
            clear.write("5")
    except OSError:
        pass  # The peak then includes the time before.
    before = cpu_us()
    runs = [run(options, f"{options.model}-{options.runs}") for _ in range(options.runs)]
    failures = [end for end in await asyncio.gather(*runs, return_exceptions=True) if isinstance(end, BaseException)]
    if failures:
        print(f"the first failure: {failures[0]}", file=sys.stderr)
    used = {"cpu_us": cpu_us() - before, "idle_kb": idle, "peak_kb": status_kb("VmHWM:")}
    return {**used, "runs": options.runs, "failures": len(failures)}


print(json.dumps(asyncio.run(globals()[options.task](options))))
