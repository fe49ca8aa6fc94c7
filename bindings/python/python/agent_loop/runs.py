"""A run: its events as they come, and its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import InvalidStateError
from .scope import INSIDE

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from types import TracebackType

    from typing_extensions import Self

    from . import _native
    from ._native import Event, RunResult
    from .agent import Agent
    from .options import _Prompt


class Run:
    """A run that goes on by itself: an async iterator of events for one reader, and a result.

    ```python
    async with agent.stream("Hello") as run:
        async for event in run:
            ...
    result = await run.result()
    ```

    Leaving the `async with` aborts the run if it is still active and waits until the agent is idle. A run that nobody holds
    any more is aborted too.
    """

    __slots__ = ("__weakref__", "_agent", "_batch", "_native", "_number", "_reading")

    def __init__(self, agent: Agent, native: _native.Run, number: int) -> None:
        # The agent holds the tools and listeners that the run needs.
        self._agent = agent
        self._native = native
        self._number = number
        self._batch: list[Event] = []
        self._reading = False

    @property
    def id(self) -> str:
        """The id that all its events have."""
        return self._native.id

    def steer(self, message: _Prompt) -> None:
        """Queues a message that joins the run as soon as it can; see `Agent.steer`. From any thread and any callback.

        After the run's end it waits in the agent's queue; a run without an agent then has none (`InvalidStateError`).
        """
        self._native.steer(message)

    def follow_up(self, message: _Prompt) -> None:
        """Queues a message for when the run would have ended; after its end as `steer`."""
        self._native.follow_up(message)

    def abort(self) -> None:
        """Aborts the run. From any thread, any number of times; returns at once."""
        self._native.abort()

    async def result(self) -> RunResult:
        """Waits for the end and gives what the run came to. Events that are not read are thrown away.

        Raises the run's error (with the result in its `result`) when the outcome is `error`. When the waiting task is
        cancelled, the run is closed first, as by `close`.
        """
        from .bridge import wait

        result = await self._end(wait(self._native.outcome(INSIDE.get())))
        error = result.error
        if error is not None and result.outcome == "error":
            error.result = result
            raise error
        return result

    async def close(self) -> None:
        """Aborts the run if it is active, and waits until the agent is idle.

        Async tools and listeners that still keep it after the agent's `abort_grace_ms` are cancelled.
        """
        if self._native.finished is None:
            await self._end(self._settled())

    async def _end(self, waiting: Awaitable[RunResult]) -> RunResult:
        import asyncio

        try:
            return await waiting
        except asyncio.CancelledError:
            # A second cancellation ends this wait too; the abort goes on by itself.
            if self._native.finished is None:
                await self._settled()
            raise

    async def _settled(self) -> RunResult:
        """Aborts, and waits for the end."""
        import asyncio

        from .bridge import current, wait

        self.abort()
        # A little after the engine's own grace time: the engine cancels tools through their contexts first.
        seconds = self._agent._native.abort_grace_ms / 1000 + 0.1
        cancelling = asyncio.create_task(current().cancel_after(seconds, self._number))
        try:
            return await wait(self._native.outcome(INSIDE.get()))
        finally:
            cancelling.cancel()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if not self._batch:
            await self._read()
        return self._batch.pop()

    async def _read(self) -> None:
        """The next events, the last one first."""
        import asyncio

        from .bridge import current

        if self._reading:
            raise InvalidStateError("another task is reading this run's events; a run has one reader")
        bridge = current()
        waited = False
        self._reading = True
        try:
            while not (batch := self._native.drain(bridge.mailbox, self._number)):
                if batch is None:
                    raise StopAsyncIteration
                await bridge.woken(self._number)
                waited = True
            self._batch = batch
            if not waited:
                # A fast model must not keep the loop from everybody else.
                await asyncio.sleep(0)
        finally:
            self._reading = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        finished = self._native.finished
        return f"<Run {self.id}: {'active' if finished is None else finished.outcome}>"
