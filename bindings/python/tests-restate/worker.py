"""A worker for the tests: worker.py PORT [KILL_AT]. Serves the agents below on the port, which other workers may share.

Another process takes its place when it is killed. With KILL_AT, the first one kills itself: each of its writes to Restate has
two points, before it and after it. What tools did, and which results were journaled, is in the file $LEDGER. All processes end
when standard input does.
"""

import asyncio
import json
import os
import signal
import socket
import sys
import time
from datetime import timedelta
from pathlib import Path

import restate
from hypercorn.asyncio import serve
from hypercorn.config import Config

from agent_loop import ToolContext, tool
from agent_loop.restate import RestateContext, restate_agent
from agent_loop.restate.run import Run
from agent_loop.restate.tool_step import ToolStep


def note(**what):
    with open(os.environ["LEDGER"], "a", encoding="utf-8") as ledger:
        ledger.write(json.dumps({**what, "pid": os.getpid(), "at": time.monotonic()}) + "\n")


@tool
async def weather(city: str, context: ToolContext, after: str | None = None) -> str:
    """The weather in a city; returns after the call about another city of the same message."""
    note(began=city, key=context.idempotency_key)
    message = context.idempotency_key.rpartition("/")[0].replace("/", "-")
    while after is not None and not Path(os.environ["GATES"], f"{message}-{after}").exists():
        await asyncio.sleep(0.02)
    note(ran=city, key=context.idempotency_key)
    Path(os.environ["GATES"], f"{message}-{city}").touch()
    return f"rain in {city}"


@tool
def gate(name: str) -> str:
    """Returns when the file of this name is there."""
    note(began=name)
    while not Path(os.environ["GATES"], name).exists():
        time.sleep(0.02)
    return "open"


@tool
async def forever() -> str:
    """Never returns."""
    note(began="forever")
    await asyncio.sleep(3600)


@tool(needs_approval=lambda arguments: f"{arguments['amount']} euros")
async def pay(amount: int) -> str:
    """Pays."""
    note(ran=f"pay {amount}")
    return f"paid {amount}"


@tool(needs_approval=True)
async def archive(name: str) -> str:
    """Returns more than the agent `archiving` keeps, when the file of this name is there."""
    note(began=name)
    while not Path(os.environ["GATES"], name).exists():
        await asyncio.sleep(0.02)
    return "archived " * 1_000


@tool
def fail() -> str:
    """Raises."""
    note(ran="fail")
    raise ValueError("no disk")


@tool
async def nap(context: RestateContext) -> str:
    """Sleeps in Restate."""
    await context.restate.sleep(timedelta(milliseconds=200))
    step = await context.restate.run_typed("nap step", lambda: note(ran="nap") or "rested")
    return f"{step} as {context.idempotency_key}"


courier = restate.Service("courier")


@courier.handler("deliver")
async def deliver_slowly(ctx: restate.Context) -> None:
    """A service that a tool calls."""
    note(courier=ctx.request().id)
    await ctx.sleep(timedelta(hours=1))


@courier.handler("spoil")
async def spoil(ctx: restate.Context, invocation: str) -> None:
    """Fails the second input of a run."""
    ctx.reject_signal(invocation, "input-1", "spoilt")


@tool
async def deliver(context: RestateContext) -> str:
    """Calls another service."""
    await context.restate.service_call(deliver_slowly, None)
    return "delivered"


TOOLS = [weather, gate, forever, pay, archive, fail, nap, deliver]


def agent(name, **options):
    base_url = f"{os.environ['MOCK']}/{name}/v1"
    model = {"provider": "openai", "id": "gpt-4.1", "base_url": base_url}
    return restate_agent(name, model, tools=TOOLS, api_key="k", **options)


NAMES = ("weather", "parallel", "gated", "stalled", "endless", "approval", "durable", "refused", "calling", "failing")
AGENTS = [
    *(agent(name) for name in NAMES),
    agent("retried", retry_base_ms=200),
    agent("late", request_timeout_ms=200, max_retries=0),
    agent("limited", run_timeout_ms=10_000),
    agent("bounded", max_conversation_bytes=3_000),
    agent("swelling", max_conversation_bytes=3_000),
    agent("archiving", max_conversation_bytes=6_000),
]


def noting(begin):
    """Notes the calls of tools whose results are in the journal."""

    def noted(self, key, name, step, take):
        def taken(value):
            if isinstance(step, ToolStep):
                note(taken=step._action["idempotency_key"])
            take(value)

        begin(self, key, name, step, taken)

    return noted


Run._begin = noting(Run._begin)


def dying(app, kill_at):
    """The application, which kills its process at the point."""
    points = 0

    async def at_point():
        nonlocal points
        points += 1
        if points == kill_at:
            # What was written is on its way.
            await asyncio.sleep(0.02 if points % 2 == 0 else 0)
            note(killed=kill_at)
            os.kill(os.getpid(), signal.SIGKILL)

    async def counted(scope, receive, send):
        async def sent(message):
            if message["type"] != "http.response.body" or not message.get("body"):
                return await send(message)
            await at_point()
            await send(message)
            await at_point()

        is_call = scope["type"] == "http" and scope["path"].startswith("/invoke")
        await app(scope, receive, sent if is_call else send)

    return counted


def main(port, kill_at=0):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(("127.0.0.1", port))
    config = Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.loglevel = "ERROR"
    os.set_inheritable(listener.fileno(), True)
    app = restate.app([*AGENTS, courier])
    asyncio.run(serve(dying(app, kill_at) if kill_at else app, config, mode="asgi"))


def supervise(port, kill_at=0):
    """Starts a worker, and another one in place of each that is killed, until its whole group is killed."""
    if os.fork() == 0:
        sys.stdin.read()
        os.killpg(0, signal.SIGKILL)
    while True:
        child = os.fork()
        if child == 0:
            main(port, kill_at)
            os._exit(0)
        note(worker=child)
        os.waitpid(child, 0)
        kill_at = 0


if __name__ == "__main__":
    supervise(*map(int, sys.argv[1:]))
