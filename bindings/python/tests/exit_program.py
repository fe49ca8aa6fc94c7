"""A program that ends with a run in flight: `exit_program.py HOW WHAT [URL]`. For test_exit.py.

WHAT is in flight: an async or a plain tool, a plain one whose thread gets Ctrl-C, a tool asleep in native code, a listener, or a
stream. The last three have the model server at URL and real time; the others the scripted model.
"""

import asyncio
import signal
import sys
import threading
import time

from agent_loop import Agent, ToolContext, tool

# A shell's background jobs start with Ctrl-C ignored, and hand that on: here it is wanted, wherever the tests run.
signal.signal(signal.SIGINT, signal.default_int_handler)

ready = threading.Event()


def in_flight():
    ready.set()
    print("in flight", flush=True)


@tool
async def stuck():
    """Never ends by itself."""
    in_flight()
    await asyncio.Event().wait()


@tool
def working(context: ToolContext):
    """Works until it is cancelled."""
    in_flight()
    while not context.is_cancelled:
        time.sleep(0.001)


@tool
def interrupted(context: ToolContext):
    """Gets the signal in place of the main thread, which waits."""
    in_flight()
    # The main thread looks for signals while it runs Python, so it has to be asleep before.
    time.sleep(0.2)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    while not context.is_cancelled:
        time.sleep(0.001)


@tool
def sleeping(context: ToolContext):
    """Sleeps in native code, in real time."""
    in_flight()
    context.sleep_sync(60_000)


async def listening(event):
    if event.type == "message_end":
        in_flight()
        await asyncio.Event().wait()


def make(what, url=None):
    """An agent, of whose next run the thing is in flight."""
    if what in ("async", "plain", "signal"):
        made = {"async": stuck, "plain": working, "signal": interrupted}[what]
        call = {"delta": {"tool_call": {"name": made.name, "arguments": {}}}}
        agent = Agent({"provider": "scripted", "id": "s", "script": [[call, {"end": {}}]]}, tools=[made])
    else:
        agent = Agent("openai/tiny", base_url=url, tools=[sleeping] if what == "sleep" else [])
        if what == "listener":
            agent.subscribe(listening)
        elif what == "stream":
            agent.subscribe(lambda event: in_flight() if event.type == "text_delta" else None)
    return agent


def start(what, url=None):
    """A run, and what must be kept so that it goes on."""
    agent = make(what, url)
    return agent, agent.stream("go")


async def reach(*what):
    kept = start(*what)
    while not ready.is_set():
        await asyncio.sleep(0.001)
    return kept


async def leave(*what):
    kept = await reach(*what)  # noqa: F841
    sys.exit(0)


async def fail(*what):
    kept = await reach(*what)  # noqa: F841
    raise ZeroDivisionError


async def resumed(*what):
    """Says when the end of the run has resumed it, after some work of Python."""
    kept = await reach(*what)
    await kept[1].result()
    for _ in range(10):
        time.sleep(0.001)
        await asyncio.sleep(0)
    print("resumed", flush=True)


async def serve(*what):
    """Has the same in a task, and goes on."""
    kept = asyncio.create_task(resumed(*what))  # noqa: F841
    await asyncio.Event().wait()


async def hang(*what):
    """Never returns to its event loop."""
    kept = await reach(*what)
    await kept[1].result()
    while True:
        time.sleep(0.001)


async def stay(*what):
    kept = await reach(*what)
    await kept[1].result()


def main(how, *what):
    global kept
    if how == "return":
        kept = asyncio.run(reach(*what))
    elif how == "exit":
        asyncio.run(leave(*what))
    elif how == "raise":
        try:
            asyncio.run(fail(*what))
        except ZeroDivisionError:
            sys.exit(0)
    elif how == "stop":  # a loop that is never closed, nor runs any more
        loop = asyncio.new_event_loop()
        kept = loop, loop.run_until_complete(reach(*what))
    elif how == "daemon":  # a loop that runs until the very end
        threading.Thread(target=asyncio.run, args=(stay(*what),), daemon=True).start()
        ready.wait()
    elif how in ("resumed", "serve", "hang"):
        work = {"resumed": resumed, "serve": serve, "hang": hang}[how]
        threading.Thread(target=asyncio.run, args=(work(*what),), daemon=True).start()
        ready.wait()
    elif how == "sync":
        make(*what).prompt_sync("go")
    else:  # until somebody presses Ctrl-C
        asyncio.run(stay(*what))


main(*sys.argv[1:])
