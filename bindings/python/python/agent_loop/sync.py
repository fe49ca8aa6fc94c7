"""A run for code without an event loop: its events in a plain `for`, and its result."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from .errors import InvalidStateError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import TracebackType
    from typing import Any, Literal

    from typing_extensions import Self

    from ._native import Event, RunResult
    from .options import _Prompt
    from .runs import Run

T = TypeVar("T")


class SyncRun:
    """A run as a plain iterator of its events, made by `Agent.stream_sync` and `stream_complete_sync`.

    ```python
    with agent.stream_sync("Hello") as run:
        for event in run:
            ...
    result = run.result()
    ```

    It has an event loop of its own, which runs in the calling thread while `next`, `result` or `close` waits: tools, hooks and
    listeners are called then. Leaving the `with` aborts the run if it is still active and waits until the agent is idle, and so
    does dropping the last reference, as `break` does without a `with`. Ctrl-C aborts it too, and raises KeyboardInterrupt once
    the agent is idle.

    `id`, `steer`, `follow_up` and `abort` may be used from any thread; the rest is for one thread.
    """

    def __init__(self, method: str, start: Callable[[], Run], owner: str = "agent.") -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[], RunResult] | None = None
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            text = f"{method}_sync would block the event loop that runs here; use `async for event in {owner}{method}(…)`"
            raise InvalidStateError(text)

        async def begin() -> Run:
            return start()

        if sys.version_info >= (3, 11):
            # Ctrl-C cancels what is awaited then, wherever it comes.
            self._runner = asyncio.Runner()
            self._loop = self._runner.get_loop()
        else:
            self._loop = asyncio.new_event_loop()
        try:
            self._run = self._wait(begin())
        except BaseException:
            self._close_loop()
            raise

    @property
    def id(self) -> str:
        """The run's id, the `run_id` of its events."""
        return self._run.id

    def steer(self, message: _Prompt) -> Literal["joined", "queued"]:
        """Same as `Run.steer`."""
        return self._run.steer(message)

    def follow_up(self, message: _Prompt) -> Literal["joined", "queued"]:
        """Same as `Run.follow_up`."""
        return self._run.follow_up(message)

    def stop_after_turn(self) -> None:
        """Same as `Run.stop_after_turn`."""
        self._run.stop_after_turn()

    def abort(self) -> None:
        """Same as `Run.abort`."""
        self._run.abort()

    @property
    def _is_over(self) -> bool:
        return self._run._native.finished is not None

    def result(self) -> RunResult:
        """Same as `Run.result`: waits until the run is over, and discards unread events."""
        if self._end is not None:
            return self._end()
        try:
            return self._wait(self._run.result())
        finally:
            self._finish()

    def close(self) -> None:
        """Same as `Run.close`: aborts the run if it is active, and waits until the agent is idle."""
        if self._loop is not None:
            try:
                self._wait(self._run.close())
            finally:
                self._finish()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        """The next event. After the last one, raises the error of a failed run, once; see `Run`."""
        if self._run._batch:
            return self._run._batch.pop()
        if self._loop is None:
            raise StopIteration
        try:
            return self._wait(self._run.__anext__())
        except StopAsyncIteration:
            self._finish()
            raise StopIteration from None
        except InvalidStateError:
            raise
        except BaseException as error:
            # The run's error, or Ctrl-C.
            if isinstance(error, KeyboardInterrupt):
                # It may have come between the end of what was awaited and the stop of the loop, which then stops once more.
                with contextlib.suppress(RuntimeError):
                    self._wait(asyncio.sleep(0))
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if self._loop is not None and not self._loop.is_running():
            try:
                self.close()
            except RuntimeError:
                # The collector called this inside of another event loop. Without its loop the run is aborted.
                self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise InvalidStateError("the run was closed; begin another one")
        try:
            if sys.version_info >= (3, 11):
                return self._runner.run(work, context=copy_context())
            return self._loop.run_until_complete(work)
        finally:
            work.close()

    def _finish(self) -> None:
        """Keeps the result, and closes the loop."""
        if self._loop is None:
            return
        try:
            result = self._run._native.finished
            run = self._run

            def end() -> RunResult:
                if result is None:
                    raise InvalidStateError("the run was closed before its end")
                run._raise_error(result)
                return result

            self._end = end
        finally:
            self._close_loop()

    def _close_loop(self) -> None:
        loop, self._loop = self._loop, None
        if loop is None:
            return
        if sys.version_info >= (3, 11):
            return self._runner.close()
        try:
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            if tasks:
                loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()

    def __repr__(self) -> str:
        return repr(self._run).replace("<Run", "<SyncRun", 1)
