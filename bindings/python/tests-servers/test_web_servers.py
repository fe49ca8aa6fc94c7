"""Web servers whose clients leave in the middle of an answer: what was answered is kept, by every way to keep it.

They need packages of their own: requirements-servers.txt. `make test-servers` runs them.
"""

import asyncio
import contextlib
import gc
import threading
import time

import anyio
import httpx
import pytest
import trio
import uvicorn
from agent_loop import Agent, InvalidStateError, TextDelta
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.responses import StreamingResponse as PlainStreamingResponse
from starlette.routing import Route

CLIENTS = 20
WAYS = ["finally", "after_run", "async after_run", "listener", "async listener"]


async def endless(request):
    """A model that writes until it is closed."""
    for number in range(1_000_000):
        yield f"word {number} "
        await asyncio.sleep(0.005)


class Kept:
    """What each way has kept of each client's answer."""

    def __init__(self):
        self.answers = {way: {} for way in WAYS}

    def agent(self, client):
        """An agent of one request, with all hooks and listeners that keep its answer."""

        def after_run(result):
            self.answers["after_run"][client] = result.message

        async def after_run_async(result):
            await asyncio.sleep(0.02)
            self.answers["async after_run"][client] = result.message

        def listener(event):
            if event.type == "agent_end":
                self.answers["listener"][client] = event.messages[-1]

        async def listener_async(event):
            if event.type == "agent_end":
                await asyncio.sleep(0.02)
                self.answers["async listener"][client] = event.messages[-1]

        # One hook of a kind: even clients have the plain one.
        agent = Agent("own/endless", provider=endless, after_run=after_run_async if client % 2 else after_run)
        agent.subscribe(listener)
        agent.subscribe(listener_async)
        return agent

    def counts(self):
        """How many aborted answers with text each way has kept."""
        return {
            way: sum(message.stop_reason == "aborted" and len(message.text) > 10 for message in kept.values())
            for way, kept in self.answers.items()
        }


async def words(kept, client):
    """The answer as a response's body."""
    agent = kept.agent(client)
    try:
        async with agent.stream("Talk.") as run:
            async for event in run:
                if isinstance(event, TextDelta):
                    yield event.delta
    finally:
        kept.answers["finally"][client] = agent.messages[-1]


async def words_closed_by_hand(kept, client):
    """The same with `close`, and code after it."""
    agent = kept.agent(client)
    run = agent.stream("Talk.")
    try:
        async for event in run:
            if isinstance(event, TextDelta):
                yield event.delta
    finally:
        await run.close()
        kept.answers["finally"][client] = agent.messages[-1]


async def words_left(kept, client):
    """The same with nothing that closes: the run is dropped, and only hooks and listeners keep its answer."""
    async for event in kept.agent(client).stream("Talk."):
        if isinstance(event, TextDelta):
            yield event.delta


def fastapi(kept, body):
    app = FastAPI()

    @app.get("/{client}")
    async def answer(client: int):
        return StreamingResponse(body(kept, client))

    return app


def starlette(kept, body):
    async def answer(request):
        return PlainStreamingResponse(body(kept, int(request.path_params["client"])))

    return Starlette(routes=[Route("/{client}", answer)])


def sse(kept, body):
    async def answer(request):
        return EventSourceResponse({"data": text} async for text in body(kept, int(request.path_params["client"])))

    return Starlette(routes=[Route("/{client}", answer)])


@contextlib.contextmanager
def serving(app):
    """The address of a server that runs the application."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=10))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


async def leave(client, address, number):
    """Reads a few words and leaves."""
    async with client.stream("GET", f"{address}/{number}") as response:
        received = ""
        async for text in response.aiter_text():
            received += text
            if received.count("word") > 3:
                return


async def leave_all(address):
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=CLIENTS)) as client:
        await asyncio.gather(*(leave(client, address, number) for number in range(CLIENTS)))


async def settled(kept, wanted):
    """Waits for hooks and listeners of runs for which no caller waits, some of which only the garbage collector finds."""
    while kept.counts() != wanted:
        gc.collect()
        await asyncio.sleep(0.01)


ALL = dict.fromkeys(WAYS, CLIENTS) | {"after_run": CLIENTS // 2, "async after_run": CLIENTS // 2}


@pytest.mark.parametrize("app", [fastapi, starlette, sse])
@pytest.mark.parametrize("body", [words, words_closed_by_hand, words_left])
def test_found_p1_clients_that_leave(app, body):
    kept, wanted = Kept(), ALL | ({"finally": 0} if body is words_left else {})
    with serving(app(kept, body)) as address:
        asyncio.run(leave_all(address))
        # The end of a run that was closed comes before that of its response; of others some time later.
        with contextlib.suppress(asyncio.TimeoutError):
            asyncio.run(asyncio.wait_for(settled(kept, wanted), 30))
    assert kept.counts() == wanted


@pytest.mark.parametrize("closed_by", ["async with", "close", "prompt"])
def test_found_p1_a_cancelled_scope_of_anyio_does_not_spin(closed_by):
    """anyio cancels the task in each iteration of the event loop; an iteration calls `call_soon` at least once for it."""
    calls, kept = 0, Kept()

    async def work():
        agent = kept.agent(1)
        if closed_by == "prompt":
            await agent.prompt("Talk.")
        run = agent.stream("Talk.")
        try:
            async with contextlib.AsyncExitStack() as stack:
                if closed_by == "async with":
                    await stack.enter_async_context(run)
                await asyncio.Event().wait()
        finally:
            if closed_by == "close":
                await run.close()
            kept.answers["finally"][1] = agent.messages[-1]

    async def main():
        nonlocal calls
        loop = asyncio.get_running_loop()
        plain = loop.call_soon

        def counted(*args, **options):
            nonlocal calls
            calls += 1
            return plain(*args, **options)

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            await anyio.sleep(0.05)
            loop.call_soon, calls = counted, 0
            group.cancel_scope.cancel()
        assert group.cancel_scope.cancelled_caught

    asyncio.run(main())
    # The hook and the listener take 40 ms, in which a task that spins goes round a thousand times.
    assert calls < 200
    counts = kept.counts()
    assert counts["async after_run"] == counts["listener"] == counts["async listener"] == 1
    assert closed_by == "prompt" or counts["finally"] == 1


def test_found_p1_trio_is_refused_with_its_name():
    async def main():
        with pytest.raises(InvalidStateError, match="runs on trio, which is not supported"):
            await Kept().agent(1).prompt("Talk.")

    trio.run(main)
