#!/usr/bin/env python3
"""What a turn on Restate costs: measure.py [SESSIONS], in an environment with agent-loop[restate] and hypercorn.

Each session prompts an agent that calls a tool: two model calls, so two turns. The model is agent-mock, which answers at once.
Prints turns per second, with one session at a time and with many, and the CPU time of a turn in the worker and in Restate's
server; the memory of a session that waits, the data of one at rest; and the same runs of an `Agent` without Restate.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "bindings/python/tests"), str(ROOT / "bindings/python/tests-restate")]

from mock import program  # noqa: E402
from on_restate import Server, ask, query, until  # noqa: E402
from script import SCRIPT  # noqa: E402

TURNS = 2
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids):
    """The CPU time of processes."""
    fields = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids)
    return sum(int(one[11]) + int(one[12]) for one in fields) / TICKS


def prompt(session):
    assert ask("weather", session, "prompt", "Rain in Oslo?")["outcome"] == "completed"


def report(name, sessions, at_a_time, worker, run):
    server = int(os.environ["RESTATE_PID"])
    before, began = (cpu_seconds([worker]), cpu_seconds([server])), time.monotonic()
    with ThreadPoolExecutor(at_a_time) as pool:
        list(pool.map(run, (f"{name}-{at_a_time}-{i}" for i in range(sessions))))
    seconds, turns = time.monotonic() - began, sessions * TURNS
    spent = [1000 * (cpu_seconds([pid]) - was) / turns for pid, was in zip((worker, server), before, strict=True)]
    cpu = f"CPU per turn: {spent[0]:.2f} ms worker, {spent[1]:.2f} ms server"
    print(f"{name}, {at_a_time} at a time: {turns / seconds:.0f} turns/s; {cpu}")


def resident_kib(pid):
    """The memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def report_waiting(sessions, worker):
    """The memory of a session that waits for a decision, while its handler is still in memory."""
    pids = worker, int(os.environ["RESTATE_PID"])
    before = [resident_kib(pid) for pid in pids]

    def wait(number):
        ask("approval", f"waits-{number}", "prompt/send", "Pay.")
        until(lambda: ask("approval", f"waits-{number}", "state")["pending"])

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(wait, range(sessions)))
    spent = [(resident_kib(pid) - was) / sessions for pid, was in zip(pids, before, strict=True)]
    print(f"{sessions} sessions that wait: {spent[0]:.0f} KiB each in the worker, {spent[1]:.0f} KiB in the server")


def report_at_rest(sessions):
    """The data that a server keeps of a session without an active run: its state, and the journals of its last day."""
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(prompt, (f"rests-{number}" for number in range(sessions))))
    of = "select id from sys_invocation where target_service_key like 'rests-%'"
    state = "select sum(octet_length(value_utf8)) as bytes from state where service_key like 'rests-%'"
    journals = f"select sum(raw_length) as bytes from sys_journal where id in ({of})"
    kib = [query(sql)[0]["bytes"] / sessions / 1024 for sql in (state, journals)]
    print(f"{sessions} sessions at rest: {kib[0]:.1f} KiB of state each, {kib[1]:.1f} KiB of journals for a day")


def alone(sessions, at_a_time, mock):
    """The same runs in this process, without Restate."""
    from agent_loop import Agent, tool

    @tool
    async def weather(city: str, after: str | None = None) -> str:
        """The weather in a city."""
        return f"rain in {city}"

    model = {"provider": "openai", "id": "gpt-4.1", "base_url": f"{mock}/weather/v1"}

    async def some(count):
        for _ in range(count):
            result = await Agent(model, tools=[weather], api_key="k").prompt("Rain in Oslo?")
            assert result.outcome == "completed"

    async def all_of_them():
        await asyncio.gather(*(some(sessions // at_a_time) for _ in range(at_a_time)))

    before, began = time.process_time(), time.monotonic()
    asyncio.run(all_of_them())
    turns = sessions // at_a_time * at_a_time * TURNS
    spent = 1000 * (time.process_time() - before) / turns
    speed = turns / (time.monotonic() - began)
    print(f"an agent alone, {at_a_time} at a time: {speed:.0f} turns/s; CPU per turn: {spent:.2f} ms")


def main(sessions=200):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "script.json").write_text(json.dumps({"answers": SCRIPT}))
        command = [program(), folder / "script.json"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as mock:
            address = mock.stdout.readline().strip()
            server = Server(folder, address)
            with server.worker():
                worker = server.noted("worker")[0]
                for i in range(10):
                    prompt(f"warm-{i}")
                report("Restate", sessions, 1, worker, prompt)
                report("Restate", sessions * 2, 16, worker, prompt)
                report_waiting(2 * sessions, worker)
                report_at_rest(sessions)
            for at_a_time in (1, 16):
                alone(sessions * at_a_time, at_a_time, address)
            mock.stdin.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
