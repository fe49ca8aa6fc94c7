"""The library's threads in a process of Python: signals, child processes, and what happens when there are no threads."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from agent_loop import tool
from scripts import agent, calls, results, says

LIMITED = """
    import asyncio, os, resource, sys, threading
    import agent_loop
    from agent_loop import Agent, AgentError, tool

    SCRIPT = [[{"delta": {"tool_call": {"name": "blocking", "arguments": {}}}}, {"end": {}}], [{"delta": "done"}, {"end": {}}]]

    @tool
    def blocking() -> str:
        "Needs a thread."
        return "ok"

    def make():
        return Agent({"provider": "scripted", "id": "s", "script": SCRIPT}, tools=[blocking])

    def give_no_threads():
        resource.setrlimit(resource.RLIMIT_NPROC, (1, resource.getrlimit(resource.RLIMIT_NPROC)[1]))
        try:
            threading.Thread(target=print).start()
        except RuntimeError:
            return
        sys.exit("not limited")

    # The superuser has no limit; whoever has this number has no other process.
    if os.geteuid() == 0:
        os.setuid(54321)
"""


def run_limited(program):
    """The output of a program to which the system gives no threads."""
    pytest.importorskip("resource")
    whole = textwrap.dedent(LIMITED) + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, timeout=60)
    if "not limited" in done.stderr:
        pytest.skip("the system does not limit this process")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_found_e3_a_tool_without_a_thread_is_an_error_result():
    output = run_limited("""
        async def main():
            subject = make()
            # The engine has its threads, the tool needs another.
            await Agent({"provider": "scripted", "id": "s", "script": [[{"delta": "Hi."}, {"end": {}}]]}).prompt("go")
            give_no_threads()
            result = await subject.prompt("go")
            print(result.outcome, result.text)
            print([message.text for message in result.messages if message.role == "tool_result"])
        try:
            asyncio.run(main())
        except AgentError as error:
            print(repr(error))
    """)
    assert output.startswith("completed done\n"), output
    assert "the tool blocking could not be called: the system gives no thread: " in output


def test_found_a11_no_thread_for_the_engine_is_an_ordinary_exception():
    output = run_limited("""
        give_no_threads()
        async def main():
            return await make().prompt("go")
        try:
            asyncio.run(main())
        except Exception as error:
            print(type(error).__name__, isinstance(error, OSError), error)
    """)
    assert output.startswith("AgentIOError True the runtime's threads cannot be started: "), output


def masks(of):
    """The signals that threads block, by the number of the thread."""
    found = {}
    for status in Path(of).glob("*/status"):
        try:
            lines = status.read_text().splitlines()
        except OSError:
            continue  # it has ended
        found[int(status.parent.name)] = next(int(line.split()[1], 16) for line in lines if line.startswith("SigBlk"))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
async def test_found_e22_threads_of_the_library_block_signals_and_child_processes_do_not():
    @tool
    def child() -> str:
        "Starts a process."
        status = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True, check=True).stdout
        return next(line.split()[1] for line in status.splitlines() if line.startswith("SigBlk"))

    def threads_that_take(number):
        """The library's threads that do not block a signal."""
        bit = 1 << (number - 1)
        found = masks("/proc/self/task")
        names = {n: Path(f"/proc/self/task/{n}/comm").read_text().strip() for n in found}
        assert "agent-loop" in names.values()
        return [n for n, mask in found.items() if names[n] == "agent-loop" and not mask & bit]

    @tool
    async def look() -> list[int]:
        "Looks at the threads."
        # The thread of the plain tool may be on its way out of Python.
        tries = 0
        while threads_that_take(signal.SIGTERM) and (tries := tries + 1) < 500:
            await asyncio.sleep(0.01)
        return [len(threads_that_take(signal.SIGTERM)), len(threads_that_take(signal.SIGUSR1))]

    subject = agent(calls("child"), calls("look"), says("done"), tools=[child, look])
    mask, seen = results(await subject.prompt("go"))
    assert int(mask, 16) == 0
    assert json.loads(seen) == [0, 0]


async def test_found_e22_a_signal_during_a_plain_tool_is_handled_on_the_main_thread():
    handled = []

    @tool
    def raising() -> str:
        "Sends a signal."
        os.kill(os.getpid(), signal.SIGUSR1)
        return "sent"

    before = signal.signal(signal.SIGUSR1, lambda *_: handled.append(threading.current_thread() is threading.main_thread()))
    try:
        for _ in range(10):
            subject = agent(calls("raising"), says("done"), tools=[raising])
            assert results(await subject.prompt("go")) == ["sent"]
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert handled == [True] * 10
