"""Signals wake the event loop of the main thread, unless somebody else is woken by them; see also test_exit.py."""

import asyncio
import os
import signal
import socket
import sys
import threading

import pytest
from agent_loop import Agent
from scripts import says, scripted

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the event loop of Windows is woken by signals itself")


def descriptor():
    """Where Python writes signals to."""
    current = signal.set_wakeup_fd(-1)
    if current != -1:
        signal.set_wakeup_fd(current)
    return current


async def prompted():
    """Where signals are written to after a run, while its loop goes on."""
    await Agent(scripted(says("hello"))).prompt("go")
    return descriptor()


def test_signals_are_written_somewhere_while_a_loop_with_runs_is_open():
    assert descriptor() == -1
    first = asyncio.run(prompted())
    assert first != -1
    assert descriptor() == -1
    # No further descriptors for each loop.
    assert asyncio.run(prompted()) == first
    assert descriptor() == -1


def test_loops_share_the_pipe_until_the_last_one_ends():
    one, two = asyncio.new_event_loop(), asyncio.new_event_loop()
    shared = one.run_until_complete(prompted())
    assert two.run_until_complete(prompted()) == shared
    for loop, left in ((one, shared), (two, -1)):
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        assert descriptor() == left


def test_the_owner_of_signals_stays_theirs():
    mine, other = socket.socketpair()
    with mine, other:
        mine.setblocking(False)
        signal.set_wakeup_fd(mine.fileno())
        try:
            assert asyncio.run(prompted()) == mine.fileno()
            assert descriptor() == mine.fileno()
        finally:
            signal.set_wakeup_fd(-1)


def test_handlers_of_the_loop_are_called_beside_it():
    async def main():
        called = asyncio.Event()
        before = await prompted()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, called.set)
        assert descriptor() not in (-1, before)
        await prompted()
        os.kill(os.getpid(), signal.SIGUSR1)
        await called.wait()

    asyncio.run(asyncio.wait_for(main(), 60))
    assert descriptor() == -1


def test_the_loop_of_another_thread_leaves_signals_alone():
    thread = threading.Thread(target=asyncio.run, args=(asyncio.wait_for(Agent(scripted(says("hello"))).prompt("go"), 60),))
    thread.start()
    thread.join()
    assert descriptor() == -1


def test_a_forked_child_has_a_pipe_of_its_own():
    of_parent = asyncio.run(prompted())
    child = os.fork()
    if child == 0:
        own = asyncio.run(prompted())
        os._exit(0 if own not in (-1, of_parent) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
