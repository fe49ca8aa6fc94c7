"""Between the engine's threads and an event loop: what waits for the engine, and what the engine asks of Python.

Each event loop has a mailbox in native code that wakes it once for all that came in since it looked last. Only this module
imports asyncio, so that importing the package does not.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
from collections.abc import AsyncGenerator, Awaitable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet, ref

from ._native import Call, Mailbox, ModelCall, Telling
from .errors import InvalidStateError, one_line
from .scope import INSIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Protocol

    from typing_extensions import TypeAlias

    from ._native import Asking, Passing, Pending

    class _Run(Protocol):
        def abort(self) -> None: ...

    _Job: TypeAlias = Call | Asking | Passing | ModelCall | Telling
    """What the engine asks of Python."""

T = TypeVar("T")

numbers = itertools.count(1)
"""Numbers that nothing else has: they say who waits, and mark the code inside a run."""

# A loop holds its bridge, through the pipe it watches, and not the other way round: nothing of ours keeps a loop.
_bridges: WeakKeyDictionary[asyncio.AbstractEventLoop, ref[Bridge]] = WeakKeyDictionary()


def current() -> Bridge:
    """The bridge of the running loop."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        text = "there is no running event loop here; call this from async code, for example inside asyncio.run(main())"
        raise InvalidStateError(text) from None
    known = _bridges.get(loop)
    bridge = None if known is None else known()
    if bridge is None:
        bridge = Bridge(loop)
        _bridges[loop] = ref(bridge)
    return bridge


async def wait(pending: Pending[T]) -> T:
    """Waits for something of the engine."""
    bridge = current()
    number = next(numbers)
    while (done := pending.poll(bridge.mailbox, number)) is None:
        await bridge.woken(number)
    return done[0]


class Bridge:
    """One event loop's side."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.runs: WeakSet[_Run] = WeakSet()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._tasks: dict[int, tuple[asyncio.Task[None], _Job]] = {}
        self.mailbox = Mailbox()
        self._fd = self.mailbox.fileno()
        try:
            if self._fd is None:
                raise NotImplementedError
            loop.add_reader(self._fd, self._look)
        except NotImplementedError:
            # Windows' default loop cannot watch a pipe.
            self.mailbox = Mailbox(functools.partial(loop.call_soon_threadsafe, self._look))
            self._fd = None
        # A loop says that it ends only to its async generators: so one of them is ours. Its first step registers it.
        self._guard = self._until_the_end(loop)
        try:
            self._guard.__anext__().send(None)
        except StopIteration:
            pass

    async def _until_the_end(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self.close(loop)

    def close(self, loop: asyncio.AbstractEventLoop) -> None:
        """The loop ends: so do the runs whose tools and listeners live on it."""
        for run in list(self.runs):
            run.abort()
        self.mailbox.close()
        for _, job in self._tasks.values():
            # It will not get any further.
            job.refuse()
        if self._fd is not None and not loop.is_closed():
            loop.remove_reader(self._fd)
        _bridges.pop(loop, None)

    async def cancel_after(self, seconds: float, run: int) -> None:
        """Cancels what a run's tools and listeners still do after a time, and what they begin to do after that."""
        while True:
            await asyncio.sleep(seconds)
            for task, job in list(self._tasks.values()):
                if job.vars[INSIDE][-1] == run:
                    task.cancel()
            seconds = 0.05

    async def woken(self, number: int) -> None:
        """Waits until the mailbox has the number."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            await future
        finally:
            self._waiting.pop(number, None)

    def _look(self) -> None:
        self._do_all(iter(self.mailbox.take()))

    def _do_all(self, jobs: Iterator[int | _Job]) -> None:
        try:
            for job in jobs:
                if isinstance(job, int):
                    self._wake(job)
                elif isinstance(job, Telling):
                    self._tell(job)
                elif isinstance(job, Call):
                    self._take_up(job, job.tool._answer(job))
                elif isinstance(job, ModelCall):
                    self._take_up(job, job.function(job))
                else:
                    self._ask(job)
        except BaseException:
            # Ctrl-C may come anywhere; what was not reached is not lost.
            asyncio.get_running_loop().call_soon(self._do_all, jobs)
            raise

    def _wake(self, number: int) -> None:
        if (future := self._waiting.pop(number, None)) is not None:
            if not future.done():
                future.set_result(None)
        elif number in self._tasks:
            # The run gave it up: nobody wants the answer any more.
            self._tasks[number][0].cancel()

    def _take_up(self, job: Call | Asking | Passing | ModelCall, work: Any) -> None:
        """Does the work until nobody waits for it any more."""
        number = self._begin(job, work)
        if job.watch(self.mailbox, number):
            self._wake(number)

    def _ask(self, asking: Asking | Passing) -> None:
        """Asks a hook or a middleware."""
        if asking.is_over:
            return
        try:
            function: Callable[[Any], Any] = asking.function
            answer = asking.vars.copy().run(function, asking)
        except BaseException as error:
            asking.fail(one_line(error))
            if not isinstance(error, Exception):
                raise
        else:
            if inspect.isawaitable(answer):
                self._take_up(asking, respond(asking, answer))
            else:
                asking.respond(answer)

    def _tell(self, telling: Telling) -> None:
        try:
            heard = telling.vars.copy().run(telling.function, telling.take_event())
        except BaseException as error:
            telling.done(one_line(error))
            if not isinstance(error, Exception):
                raise
        else:
            if inspect.isawaitable(heard):
                self._begin(telling, listen(telling, heard))
            else:
                telling.done()

    def _begin(self, job: _Job, work: Any) -> int:
        """A task for the work, in the context of the run's caller."""
        task = job.vars.run(asyncio.get_running_loop().create_task, work)
        number = next(numbers)
        self._tasks[number] = task, job
        task.add_done_callback(functools.partial(self._tasks.pop, number))
        return number


async def listen(telling: Telling, heard: Awaitable[object]) -> None:
    """Waits for an async listener."""
    try:
        await heard
    except BaseException as error:
        telling.done(one_line(error))
        if not isinstance(error, Exception):
            raise
    else:
        telling.done()


async def respond(asking: Asking | Passing, answer: Awaitable[Any]) -> None:
    """Waits for an async hook or middleware."""
    try:
        value = await answer
    except BaseException as error:
        asking.fail(one_line(error))
        if not isinstance(error, Exception):
            raise
    else:
        asking.respond(value)


def run_sync(what: str, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Waits for a run of an agent on an event loop of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(start())
    raise InvalidStateError(f"{what}_sync would block the event loop that runs here; use `await agent.{what}(…)`")
