"""Calls of a tool outside of an agent: in tests, and in tools that call tools."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import uuid
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import InvalidArgumentError
from .generators import is_async_generator, last_of
from .hooks import HookContext, takes_context
from .tool_context import ToolContext

if TYPE_CHECKING:
    from .tools import Tool


class DetachedContext(ToolContext):
    """The context of a call that is of no run."""

    __slots__ = ("_cancelled", "_id", "_key", "_loop", "_name")

    def __init__(self, id: str, name: str, idempotency_key: str) -> None:
        self.deps: Any = None
        self._id = id
        self._name = name
        self._key = idempotency_key
        self._cancelled = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def id(self) -> str:
        return self._id

    @property
    def name(self) -> str:
        return self._name

    @property
    def idempotency_key(self) -> str:
        return self._key

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    async def wait_cancelled(self) -> None:
        await self._cancelled.wait()

    def update(self, partial: Any) -> None:
        _native.plain_result(partial, "the update")

    async def sleep(self, ms: float) -> bool:
        check_ms(ms)
        try:
            await asyncio.wait_for(self.wait_cancelled(), ms / 1000)
        except (TimeoutError, asyncio.TimeoutError):
            return True
        return False

    def sleep_sync(self, ms: float) -> bool:
        return asyncio.run_coroutine_threadsafe(self.sleep(ms), self._loop).result()

    def cancel(self) -> None:
        """On the event loop."""
        self._cancelled.set()


def check_ms(ms: float) -> None:
    if not isinstance(ms, (int, float)) or not ms >= 0:
        raise ValueError(f"ms: expected milliseconds, got {ms!r}")


class RunContext(DetachedContext):
    """The context of a call by `Tool.run`."""

    __slots__ = ("_on_update", "_outer", "_sleep")

    def __init__(
        self,
        tool: Tool,
        outer: ToolContext | None,
        on_update: Callable[[Any], object] | None,
        sleep: Callable[[float], Awaitable[bool]] | None,
        id: str | None,
        key: str | None,
        deps: Any,
    ) -> None:
        id = id or f"call_{uuid.uuid4().hex}"
        super().__init__(id, tool.name, key or (inner_key(outer, tool.name) if outer is not None else id))
        self._outer = outer
        self.deps: Any = outer.deps if outer is not None and deps is None else deps
        self._on_update = on_update
        self._sleep = sleep

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set() or (self._outer is not None and self._outer.is_cancelled)

    async def wait_cancelled(self) -> None:
        await (self._cancelled.wait() if self._outer is None else self._outer.wait_cancelled())

    def update(self, partial: Any) -> None:
        super().update(partial)
        if self._on_update is not None:
            self._on_update(partial)
        elif self._outer is not None:
            self._outer.update(partial)

    async def sleep(self, ms: float) -> bool:
        if self._sleep is not None:
            check_ms(ms)
            return await self._sleep(ms)
        return await (super().sleep(ms) if self._outer is None else self._outer.sleep(ms))


class RunHookContext(HookContext):
    """The context of a tool's `prepare_arguments`."""

    __slots__ = ("_context",)

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    @property
    def deps(self) -> Any:
        return self._context.deps

    @property
    def is_cancelled(self) -> bool:
        return self._context.is_cancelled

    async def sleep(self, ms: float) -> bool:
        return await self._context.sleep(ms)


def inner_key(outer: ToolContext, name: str) -> str:
    """The same when the calling tool is executed again, if it then makes the same calls in the same order."""
    outer._calls = getattr(outer, "_calls", 0) + 1
    return f"{outer.idempotency_key}/{name}/{outer._calls}"


async def run_tool(
    tool: Tool,
    arguments: Mapping[str, Any],
    context: ToolContext | None,
    validation: str,
    on_update: Callable[[Any], object] | None,
    sleep: Callable[[float], Awaitable[bool]] | None,
    tool_call_id: str | None,
    idempotency_key: str | None,
    deps: Any,
) -> Any:
    """What the tool returns."""
    what = f'tool "{tool.name}": run'
    if tool.is_method:
        raise TypeError(f"{what}: it is a method; run the tool of an object, as in Weather().forecast.run(…)")
    if tool._signature is not None and not issubclass(RunContext, tool._signature.context_class):
        raise TypeError(f"{what}: it asks for a {tool._signature.context_class.__name__}, which there is only in such a run")
    if not isinstance(arguments, Mapping):
        raise TypeError(f"{what}: expected a dict of arguments, got {type(arguments).__name__}")
    if context is not None and not isinstance(context, ToolContext):
        expected = "expected the ToolContext that the calling tool gets"
        raise TypeError(f"{what}: context: {expected}, got {type(context).__name__}")
    for name, function in (("on_update", on_update), ("sleep", sleep)):
        if function is not None and not callable(function):
            raise TypeError(f"{what}: {name}: expected a function, got {type(function).__name__}")
    called = RunContext(tool, context, on_update, sleep, tool_call_id, idempotency_key, deps)
    given = _native.plain(arguments, f"the arguments of {tool.name}")
    if tool.prepare_arguments is not None:
        given = await prepared(tool, given, called)
    checked = tool.spec.check(given, validation)
    from .schema import WrongArguments

    try:
        result = await executed(tool, checked, called)
    except WrongArguments as wrong:
        raise InvalidArgumentError(wrong.message) from None
    _native.plain_result(result, "the tool's result")
    return result


async def prepared(tool: Tool, arguments: dict[str, Any], context: RunContext) -> Any:
    function: Any = tool.prepare_arguments
    what = f'tool "{tool.name}": prepare_arguments'
    contexts = [RunHookContext(context)] if takes_context(what, function, 1) else []
    answer = function(arguments, *contexts)
    if inspect.isawaitable(answer):
        answer = await answer
    return arguments if answer is None else _native.plain(answer, f"the answer of {what}")


async def executed(tool: Tool, arguments: dict[str, Any], context: RunContext) -> Any:
    if tool.is_async:
        value = tool.execute(arguments, context)
        return await (last_of(value, context) if is_async_generator(value) else value)
    try:
        return await in_thread(f"tool {tool.name}", tool._result, arguments, context)
    except asyncio.CancelledError:
        # A thread cannot be stopped; the tool sees it in its context.
        context.cancel()
        raise


async def in_thread(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function that may block, on a thread of its own: an event loop has only few. Does not keep the process alive."""
    done: Future[Any] = Future()
    # From here on it cannot be cancelled: the thread has to set a result.
    done.set_running_or_notify_cancel()
    context = contextvars.copy_context()

    def call() -> None:
        try:
            done.set_result(context.run(function, *arguments))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=call, name=name, daemon=True).start()
    return await asyncio.wrap_future(done)
