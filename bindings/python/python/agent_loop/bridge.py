"""The bridge between the engine's threads and an event loop: awaits the engine's futures, and runs the engine's jobs (calls of
tools, hooks, middleware, providers and listeners) on the loop.

Each event loop has a job queue in native code, which wakes it once for all jobs that came since it last took them. This module
imports asyncio; others import it inside functions, so that importing the package does not import asyncio.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import inspect
import itertools
import sys
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Iterator
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet, ref

from . import at_exit, logs, signals
from ._native import JobQueue, LogRecord, Traces
from .errors import InvalidStateError, one_line
from .scope import INSIDE, of_call

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator
    from contextvars import Context
    from types import TracebackType
    from typing import Protocol

    from ._native import HostCall, NativeFuture, RunResult
    from ._native import Run as NativeRun
    from .agent_runs import AgentRuns

    class _Run(Protocol):
        @property
        def _native(self) -> NativeRun: ...

        def abort(self) -> None: ...


T = TypeVar("T")

numbers: itertools.count[int] = itertools.count(1)
"""Unique numbers. They name what a coroutine awaits, and the runs in `INSIDE`."""

LAPS = 100
"""After how many iterations without a wait an event loop has done what there was to do, also for tasks that await each other."""

# A loop holds its bridge, through the pipe it watches, and not the other way round: nothing in this package keeps a loop alive.
_bridges: WeakKeyDictionary[asyncio.AbstractEventLoop, ref[Bridge]] = WeakKeyDictionary()

# The one that was asked for last: most programs have one loop.
_latest: Callable[[], Bridge | None] = lambda: None  # noqa: E731


def current() -> Bridge:
    """The bridge of the running event loop. Raises `InvalidStateError` where no loop runs."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        text = "there is no running event loop here; call this from async code, for example inside asyncio.run(main())"
        if runs_in_trio():
            text = "agent-loop needs an event loop of asyncio, and this code runs on trio, which is not supported"
        raise InvalidStateError(text) from None
    global _latest
    bridge = _latest()
    if bridge is not None and bridge.is_of(loop):
        return bridge
    known = _bridges.get(loop)
    bridge = None if known is None else known()
    if bridge is None:
        bridge = Bridge(loop)
        _bridges[loop] = ref(bridge)
    _latest = _bridges[loop]
    return bridge


async def wait(future: NativeFuture[T]) -> T:
    """Awaits a future of the engine and returns its value."""
    try:
        return await poll(future)
    finally:
        # A traceback may keep it for long, and virtual time would wait for whoever sleeps in it.
        future.close()


async def poll(future: NativeFuture[T]) -> T:
    """Awaits a future of the engine. When the awaiting task is cancelled, the future can be awaited again."""
    bridge = current()
    number = next(numbers)
    try:
        while (done := future.poll(bridge.queue, number)) is None:
            await bridge.wakeup(number)
    finally:
        bridge.forget(number)
    return done[0]


async def wait_to_the_end(future: NativeFuture[T]) -> T:
    """Awaits a future of the engine that will be ready soon, also when the awaiting task is cancelled, however often: the first
    cancellation is raised after it."""
    cancelled: asyncio.CancelledError | None = None
    try:
        with Shield():
            while True:
                try:
                    value = await poll(future)
                    break
                except asyncio.CancelledError as error:
                    cancelled = cancelled or error
        if cancelled is not None:
            raise cancelled
        return value
    finally:
        del cancelled  # it refers to this frame


class Shield:
    """Under anyio, keeps the cancellations of its scopes away; elsewhere it does nothing.

    A cancelled scope of anyio cancels its tasks in each iteration of the event loop until they have left it. Without a shield,
    a task that must wait would spin.
    """

    def __enter__(self) -> None:
        # Who did not import it has no scope of it.
        anyio = sys.modules.get("anyio")
        self._scope = None if anyio is None else anyio.CancelScope(shield=True).__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        # A coroutine that is closed from outside has no task any more, which the scope could be left in.
        if self._scope is not None and kind is not GeneratorExit:
            self._scope.__exit__(kind, error, traceback)


def runs_in_trio() -> bool:
    try:
        sys.modules["trio"].lowlevel.current_task()
    except (KeyError, AttributeError, RuntimeError):
        return False
    return True


class Wakeup:
    """What a task awaits until the job queue wakes it; has what a task needs of a future.

    The future of asyncio resumes its task in the loop's next iteration, which asks the system for events once more. This one
    resumes it at once: jobs are taken in a callback of the loop, where no task runs.
    """

    __slots__ = ("_asyncio_future_blocking", "_context", "_error", "_is_done", "_loop", "_resume")

    def __init__(self, loop: ref[asyncio.AbstractEventLoop]) -> None:
        # Set while a task is to wait for this; asyncio knows futures, also those that are not its own, by this name.
        self._asyncio_future_blocking = False
        self._loop = loop
        self._resume: Callable[[Wakeup], object] | None = None
        self._context: Context | None = None
        self._error: asyncio.CancelledError | None = None
        self._is_done = False

    def __await__(self) -> Generator[Wakeup, None, None]:
        self._asyncio_future_blocking = True
        yield self

    def get_loop(self) -> asyncio.AbstractEventLoop | None:
        return self._loop()

    def add_done_callback(self, resume: Callable[[Wakeup], object], *, context: Context) -> None:
        """The task that awaits this says how it is resumed."""
        self._resume, self._context = resume, context

    def wake(self) -> None:
        """Resumes the task. In a callback of the loop only."""
        if not self._is_done:
            self._is_done = True
            if self._resume is not None and self._context is not None:
                self._context.run(self._resume, self)

    def cancel(self, msg: object = None) -> bool:
        """The task is cancelled. Whoever cancels it may be a task, so it is resumed later."""
        if self._is_done:
            return False
        self._is_done = True
        self._error = asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg)
        if self._resume is not None and (loop := self._loop()) is not None:
            loop.call_soon(self._resume, self, context=self._context)
        return True

    def done(self) -> bool:
        return self._is_done

    def result(self) -> None:
        """Asked by the task when it is resumed."""
        error, self._error = self._error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # it refers to this frame


class Bridge:
    """The bridge of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.runs: WeakSet[_Run] = WeakSet()
        self.thread: threading.Thread = threading.current_thread()
        self._loop = ref(loop)
        self._is_open = True
        self._is_idle = threading.Event()
        self._wakeups: dict[int, Wakeup] = {}
        self._tasks: dict[int, tuple[asyncio.Task[None], HostCall]] = {}
        self._ending: dict[int, tuple[AgentRuns, NativeFuture[RunResult]]] = {}
        self.queue: JobQueue = JobQueue()
        self._fd = self.queue.fileno()
        try:
            if self._fd is None:
                raise NotImplementedError
            loop.add_reader(self._fd, self._take_jobs)
        except NotImplementedError:
            # Windows' default loop cannot watch a pipe.
            self.queue = JobQueue(functools.partial(loop.call_soon_threadsafe, self._take_jobs))
            self._fd = None
        self._signals = None if self._fd is None else signals.wake(loop)
        # A loop announces its end only to its async generators, so the bridge has one. Its first step registers it.
        self._guard = self._close_with(loop)
        try:
            self._guard.__anext__().send(None)
        except StopIteration:
            pass
        if self.thread.daemon:
            at_exit.watch(self)

    async def _close_with(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self.close(loop)

    def close(self, loop: asyncio.AbstractEventLoop) -> None:
        """The loop ends: aborts the runs whose tools and listeners are called on it, and fails their calls."""
        self._is_open = False
        for run in list(self.runs):
            run.abort()
        self.queue.close()
        self._ending.clear()
        if self._fd is not None and not loop.is_closed():
            loop.remove_reader(self._fd)
        if self._signals is not None:
            self._signals.leave(loop)
            self._signals = None
        _bridges.pop(loop, None)
        self._is_idle.set()

    def has_active_run(self) -> bool:
        """From any thread."""
        try:
            return any(run._native.finished is None for run in self.runs)
        except RuntimeError:
            # The loop's thread has begun another one meanwhile.
            return True

    def wait_until_idle(self, deadline: float) -> None:
        """Waits until the loop has nothing left to do, or its thread has ended. From another thread, at interpreter exit."""
        loop = self._loop()
        if loop is not None:

            def lap(left: int) -> None:
                if left == 0:
                    self._is_idle.set()
                else:
                    loop.call_soon(lap, left - 1)

            # It may be closed.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(lap, LAPS)
        self._is_idle.wait(max(0, deadline - time.monotonic()))
        if not self._is_open:
            # The thread has not much left to do. One that Python did not start cannot be joined.
            with contextlib.suppress(RuntimeError, AssertionError):
                self.thread.join(max(0, deadline - time.monotonic()))

    async def cancel_after(self, seconds: float, run: int) -> None:
        """After a time, cancels the tasks of a run's tools, hooks and listeners, and those that start later."""
        while True:
            await asyncio.sleep(seconds)
            for task, call in list(self._tasks.values()):
                if call.vars.get(INSIDE, ())[-1:] == (run,):
                    task.cancel()
            seconds = 0.05

    def keep(self, agent: AgentRuns, end: NativeFuture[RunResult]) -> None:
        """Keeps an agent with its hooks and listeners until its run has ended, for which no caller waits. From any thread."""
        if self._is_open:
            number = next(numbers)
            self._ending[number] = agent, end
            self._let_go(number)

    def _let_go(self, number: int) -> None:
        """Lets go of the agent if its run has ended; until then the job queue wakes the number when it is to be asked again."""
        if self._ending[number][1].poll(self.queue, number) is not None:
            del self._ending[number]

    def is_of(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether it is the bridge of this loop, and open."""
        return self._is_open and self._loop() is loop

    def wakeup(self, number: int) -> Wakeup:
        """To be awaited at once, by one task: the job queue wakes the number. `forget` has to follow, also after an error."""
        self._wakeups[number] = wakeup = Wakeup(self._loop)
        return wakeup

    def forget(self, number: int) -> None:
        self._wakeups.pop(number, None)

    def _take_jobs(self) -> None:
        self._run_jobs(iter(self.queue.take()))

    def _run_jobs(self, jobs: Iterator[int | HostCall | LogRecord | Traces]) -> None:
        try:
            for job in jobs:
                if isinstance(job, int):
                    self._wake(job)
                elif isinstance(job, LogRecord):
                    logs.write(job)
                elif isinstance(job, Traces):
                    from . import traces

                    traces.write(job)
                elif job.is_over:
                    # Its agent may have been collected.
                    continue
                else:
                    self._call(job)
        except BaseException:
            # Ctrl-C may come anywhere; the jobs that are left are not lost.
            asyncio.get_running_loop().call_soon(self._run_jobs, jobs)
            raise

    def _wake(self, number: int) -> None:
        if (wakeup := self._wakeups.pop(number, None)) is not None:
            wakeup.wake()
        elif number in self._tasks:
            task, call = self._tasks[number]
            task.cancel()
            # The task has the grace time to answer all the same. After that it is cancelled once more.
            if not call.is_over and call.watch(self.queue, number, once_more=True):
                task.cancel()
        elif number in self._ending:
            self._let_go(number)

    def _start(self, call: HostCall, work: Any, context: Context, is_shared: bool = False) -> None:
        """Starts a task for a coroutine, in a copy of the context, or in the context itself if it is shared. It is cancelled when
        the run no longer needs the answer; a tool's also when its call is cancelled, unless it waits for the token."""
        create_task = asyncio.get_running_loop().create_task
        task = create_task(work, context=context) if is_shared else context.run(create_task, work)
        number = next(numbers)
        self._tasks[number] = task, call
        task.add_done_callback(functools.partial(self._tasks.pop, number))
        if call.watch(self.queue, number):
            self._wake(number)

    def _call(self, call: HostCall) -> None:
        """Calls a function of the application. Whatever it raises or returns, the call is answered."""
        try:
            kind = call.kind
            if kind in ("tool", "model"):
                # They answer by themselves.
                return self._start(call, call.function(call), of_call(call))
            if kind == "store":
                return self._start(call, call.function(call), call.vars.copy())
            is_listener = kind == "listener"
            context = call.vars if is_listener else of_call(call)
            arguments = call.take_input() if is_listener else (call,)
            # What a hook sets is for those that are called later.
            keeps = not is_listener and call.hook is not None
            answer = (context if keeps else context.copy()).run(call.function, *arguments)
            if not inspect.isawaitable(answer):
                call.respond(answer)
            elif not keeps:
                self._start(call, respond(call, answer), context)
            elif sys.version_info >= (3, 11) and asyncio.get_running_loop().get_task_factory() is None:
                self._start(call, respond(call, answer), context, is_shared=True)
            else:
                # Tasks cannot be given a context, or a factory of the application may not know how.
                self._start(call, respond(call, kept_in(context, answer)), context)
        except BaseException as error:
            call.fail(one_line(error), error)
            if not issubclass(type(error), Exception):
                raise


async def kept_in(context: Context, answer: Awaitable[T]) -> T:
    """Awaits a hook, and keeps in the context what it has set."""
    value = await answer
    for variable, set_to in copy_context().items():
        if variable not in context or context[variable] is not set_to:
            context.run(variable.set, set_to)
    return value


async def respond(call: HostCall, answer: Awaitable[Any]) -> None:
    """Awaits an async function and answers with its value."""
    try:
        call.respond(await answer)
    except BaseException as error:
        call.fail(one_line(error), error)
        if not issubclass(type(error), Exception):
            raise


def run_sync(method: str, start: Callable[[], Coroutine[Any, Any, T]], owner: str = "agent.") -> T:
    """Awaits a run on a new event loop. In errors, `method` names the method, of an agent unless `owner` is empty."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise InvalidStateError(f"{method}_sync would block the event loop that runs here; use `await {owner}{method}(…)`")
    # Not in the except block: an error of the call would have that one as its context.
    return asyncio.run(start())


atexit.register(at_exit.before_abort)
