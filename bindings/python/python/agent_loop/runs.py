"""A run: its events as they come, and its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal

from .errors import AgentError, InvalidStateError
from .scope import INSIDE

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from types import TracebackType
    from typing import NoReturn

    from typing_extensions import Self, TypeVar, Unpack

    from . import _native
    from ._native import Event, RunResult
    from .agent_runs import AgentRuns
    from .bridge import Bridge, Wakeup
    from .options import _Prompt
    from .output import Output
    from .ui import UiOptions, UiRequest, UiStream

    T_co = TypeVar("T_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)
"""The type of the final answer."""


class Run(Generic[T_co]):
    """An active or finished run: an async iterator of its events, for one reader, and its result.

    ```python
    async with agent.stream("Hello") as run:
        async for event in run:
            ...
    result = await run.result()
    ```

    When the outcome is `error`, reading a run to its end raises its error after the `AgentEnd`, the one that `result` raises,
    unless it was started with `raise_errors=False`.

    A run is read once: a second loop gets the events that are left, and none after the end.

    The run proceeds whether or not its events are read. Leaving the `async with` aborts it if it is still active, and waits until
    the agent is idle. Dropping the last reference to a `Run` aborts it too; its hooks and listeners are still called, to the end.

    `id`, `steer`, `follow_up` and `abort` may be used from any thread; the rest is for coroutines, on any event loop.
    """

    __slots__ = (
        "__weakref__",
        "_agent",
        "_batch",
        "_bridge",
        "_error",
        "_is_read",
        "_native",
        "_number",
        "_output",
        "_raises",
        "_reading",
        "_traces",
    )

    def __init__(
        self,
        agent: AgentRuns,
        native: _native.Run,
        number: int,
        bridge: Bridge,
        raise_errors: bool,
        output: Output[Any] | None = None,
    ) -> None:
        # The agent holds the tools and listeners that the run needs.
        self._agent = agent
        self._native = native
        self._bridge = bridge
        self._number = number
        self._batch: list[Event] = []
        self._reading = False
        self._raises = raise_errors
        # The type of its answer, if it is not that of the agent.
        self._output = output
        # Whether the last event was read.
        self._is_read = False
        self._error: AgentError | None = None
        # What its spans come with.
        self._traces: _native.Traces | None = None

    @property
    def id(self) -> str:
        """The run's id, the `run_id` of its events."""
        return self._native.id

    def steer(self, message: _Prompt) -> Literal["joined", "queued"]:
        """Queues a message that joins the run as soon as it can; see `Agent.steer`. From any thread and any callback.

        After the run's end the message goes to the agent's queue. A stateless run raises `InvalidStateError` then.
        """
        return self._native.steer(message)

    def follow_up(self, message: _Prompt) -> Literal["joined", "queued"]:
        """Queues a message that starts another turn when the run would have ended. From any thread and any callback.

        After the run's end the message goes to the agent's queue. A stateless run raises `InvalidStateError` then.
        """
        return self._native.follow_up(message)

    def stop_after_turn(self) -> None:
        """Ends the run after its current turn, as the hook `should_stop_after_turn` does: the calls of the turn run, no queue is
        polled, and the outcome is `stopped`. `resume` goes on. From any thread and any callback; does not block.
        """
        self._native.stop_after_turn()

    def abort(self) -> None:
        """Aborts the run; does nothing when it is over. From any thread and any callback; does not block. See `Agent.abort`."""
        self._native.abort()

    def to_ui_message_stream(
        self, request: UiRequest | None = None, *, resumable: bool = False, **options: Unpack[UiOptions]
    ) -> UiStream:
        """The run for `useChat` of the AI SDK, versions 6 and 7, and for assistant-ui: see `agent_loop.ui`.

        Reads the run in place of its own iterator, whose events are not to be read before. `request` is the one that is answered.
        With `resumable`, a client that leaves does not abort the run, and `Agent.resume_ui` streams it again. Raises
        `InvalidArgumentError` for a wrong option; the run is aborted then."""
        from .ui import UiStream

        return UiStream(self, "ai_sdk", request, options, resumable)

    def to_ag_ui_stream(
        self, request: UiRequest | None = None, *, resumable: bool = False, **options: Unpack[UiOptions]
    ) -> UiStream:
        """The run for clients of AG-UI; else as `to_ui_message_stream`."""
        from .ui import UiStream

        return UiStream(self, "ag_ui", request, options, resumable)

    async def result(self) -> RunResult[T_co]:
        """Waits until the run is over and the agent is idle, and returns the result. Unread events are discarded.

        May be called any number of times. Raises the run's error, with the result in its `result`, when the outcome is `error`;
        `InvalidStateError` inside a callback of the run. When the awaiting task is cancelled, the run is closed first, as by
        `close`.
        """
        from .bridge import wait

        result = self._typed(await self._close_on_cancel(wait(self._native.outcome(INSIDE.get()))))
        self._raise_error(result)
        return result

    def _typed(self, result: RunResult) -> RunResult[T_co]:
        """The result, whose answer is a value of the type that was asked for."""
        output = self._output or self._agent._answers.output
        if output is None or output.reader is None:
            return result
        return result._read_by(output.read)

    def _raise_error(self, result: RunResult) -> None:
        """Raises the error of a failed run, always the same object."""
        if result.outcome != "error":
            return
        if self._error is None and (error := result.error) is not None:
            error.result = result
            self._error = error
        if self._error is not None:
            raise self._error.with_traceback(None)

    async def close(self) -> None:
        """Aborts the run if it is active, and waits until the agent is idle.

        Tasks of async tools, hooks and listeners that still run after the agent's `abort_grace_ms` are cancelled. A cancellation
        of the awaiting task is raised after this wait, however often it comes, also those of anyio's cancel scopes. Raises
        `InvalidStateError` inside a callback of the run.
        """
        if self._native.finished is None:
            await self._abort_and_wait()

    async def _close_on_cancel(self, waiting: Awaitable[RunResult]) -> RunResult:
        import asyncio
        import contextlib

        try:
            return await waiting
        except asyncio.CancelledError:
            if self._native.finished is None:
                with contextlib.suppress(asyncio.CancelledError):
                    await self._abort_and_wait()
            raise

    async def _abort_and_wait(self) -> RunResult:
        import asyncio

        from .bridge import current, wait_to_the_end

        self.abort()
        # A little after the engine's own grace time: the engine cancels tools through their contexts first.
        seconds = self._agent._native.abort_grace_ms / 1000 + 0.1
        cancelling = asyncio.create_task(current().cancel_after(seconds, self._number))
        try:
            return await wait_to_the_end(self._native.outcome(INSIDE.get()))
        finally:
            cancelling.cancel()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        """The next event. After the last one, raises the error of a failed run, once; see `Run`.

        Raises `InvalidStateError` while another task reads the run's events.
        """
        if not self._batch:
            await self._read()
        return self._batch.pop()

    async def _read(self) -> None:
        """Reads the next events, the last one first."""
        from .bridge import current

        if self._reading:
            raise InvalidStateError("another task is reading this run's events; a run has one reader")
        bridge, number, drain = current(), self._number, self._native.drain
        self._reading = True
        try:
            if batch := drain(bridge.queue, number):
                self._take(batch)
                import asyncio

                # A fast model must not starve the loop's other tasks.
                await asyncio.sleep(0)
                return
            while batch is not None:
                await bridge.wakeup(number)
                if batch := drain(bridge.queue, number):
                    self._take(batch)
                    return
            self._end()
        finally:
            self._reading = False
            bridge.forget(number)

    async def _read_ui(self, frames: _native.UiFrames) -> str | None:
        """Reads the next events as what a browser gets; None after the last one."""
        import asyncio

        from .bridge import current
        from .ui import KEEP_ALIVE

        if self._reading:
            raise InvalidStateError("another task is reading this run's events; a run has one reader")
        bridge, number, pause = current(), self._number, frames.keep_alive_ms
        rung: list[bool] = []
        self._reading = True
        try:
            text = self._native.drain_ui(bridge.queue, number, frames)
            if text:
                # A fast model must not starve the loop's other tasks.
                await asyncio.sleep(0)
            while text == "":
                wakeup = bridge.wakeup(number)
                alarm = None if pause is None else asyncio.get_running_loop().call_later(pause / 1000, _ring, rung, wakeup)
                try:
                    await wakeup
                finally:
                    if alarm is not None:
                        alarm.cancel()
                text = self._native.drain_ui(bridge.queue, number, frames)
                if text == "" and rung:
                    return KEEP_ALIVE
            if text is None:
                self._end_traces()
            return text
        finally:
            self._reading = False
            bridge.forget(number)

    def _take(self, batch: list[Event]) -> None:
        self._batch = batch
        self._is_read = batch[0].type == "agent_end"

    def _end_traces(self) -> None:
        """Has all spans made: who reads the events to their end may be before the job queue."""
        if self._traces is not None:
            from .traces import write

            write(self._traces)

    def _end(self) -> NoReturn:
        """Ends the iteration."""
        self._end_traces()
        result = self._native.finished
        if self._raises and self._is_read and result is not None:
            self._raises = False
            self._raise_error(self._typed(result))
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        import asyncio

        try:
            await self.close()
        except asyncio.CancelledError:
            # The first cancellation goes on.
            if not isinstance(error, asyncio.CancelledError):
                raise

    def __del__(self) -> None:
        # Whoever was to wait for the end has gone, but hooks and listeners are to hear of it.
        if self._native.finished is None:
            self._native.abort()
            self._bridge.keep(self._agent, self._native.outcome(()))

    def __repr__(self) -> str:
        finished = self._native.finished
        return f"<Run {self.id}: {'active' if finished is None else finished.outcome}>"


def _ring(rung: list[bool], wakeup: Wakeup) -> None:
    """Wakes a task because nothing came for too long."""
    rung.append(True)
    wakeup.wake()
