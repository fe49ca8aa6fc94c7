"""A call of a tool, or of one of its own functions, as a step of the journal."""

from __future__ import annotations

import asyncio
import inspect
import time
from typing import Any

from restate import ObjectContext, TerminalError

from .. import _native
from ..errors import one_line
from ..generators import is_async_generator, last_of
from ..hooks import HookContext, takes_context
from ..tool_context import Suspension
from ..tool_run import DetachedContext, in_thread
from ..tools import Tool
from .cancellation import is_cancellation

ABORTED: dict[str, Any] = {"error": "aborted"}
"""The outcome of a call that is not executed, as the run is aborted."""


class StepContext(DetachedContext):
    """The context of a call that is a step of the journal. Its updates go nowhere: events are not kept in a journal."""

    __slots__ = ()

    def __init__(self, action: Any) -> None:
        super().__init__(action["tool_call_id"], action["tool_name"], action["idempotency_key"])


class RestateContext(StepContext):
    """The context of a tool that uses Restate itself: calls other services, sleeps for days, waits for an awakeable.

    A tool with a parameter annotated with this class is an async function that is called in the handler: what it does is
    replayed, so it does nothing but through `restate`. While it waits, the run waits: its other calls, steering and aborts come
    after it.
    """

    __slots__ = ("restate",)

    restate: ObjectContext
    """Restate's own context of the handler."""

    def __init__(self, action: Any, restate: ObjectContext) -> None:
        super().__init__(action)
        self.restate = restate


def wants_restate(tool: Tool) -> bool:
    """Whether a tool has a parameter that is annotated with `RestateContext`."""
    return tool._signature is not None and issubclass(tool._signature.context_class, RestateContext)


def check_tool(tool: Tool) -> None:
    """Raises TypeError for a tool that cannot be called on Restate."""
    if wants_restate(tool) and not tool.is_async:
        raise TypeError(f'tool "{tool.name}": a tool with a RestateContext is called in the handler; make it an async function')


async def call_in_handler(tool: Tool, action: Any, restate: ObjectContext) -> dict[str, Any]:
    """Calls a tool that uses Restate itself. Its failure is a value; Restate's own exceptions are no failures."""
    context = RestateContext(action, restate)
    try:
        return {"result": _native.plain_result(await tool.execute(action["arguments"], context), "the tool's result")}
    except Suspension as suspension:
        return {"suspended": suspension.reason}
    except Exception as error:
        if isinstance(error, TerminalError) and is_cancellation(error):
            raise
        return {"error": one_line(error)}


class ToolStep:
    """Executes a call. A failure is a value: the model reads it."""

    def __init__(self, tool: Tool, action: Any) -> None:
        self._tool = tool
        self._action = action
        self._context: StepContext | None = None
        self._task: asyncio.Task[dict[str, Any]] | None = None
        self._is_cancelled = False

    async def run(self) -> Any:
        """The outcome in JSON, and when it was known."""
        return await self._outcome() | {"at_ms": time.time_ns() // 1_000_000}

    async def _outcome(self) -> dict[str, Any]:
        if self._is_cancelled:
            return ABORTED
        self._context = StepContext(self._action)
        self._task = asyncio.ensure_future(self._execute(self._context))
        try:
            return await self._task
        except asyncio.CancelledError as error:
            if self._is_cancelled:
                return {"error": one_line(error)}
            # The attempt is over, and another one calls the tool again.
            self._context.cancel()
            raise

    async def _execute(self, context: StepContext) -> dict[str, Any]:
        tool, arguments = self._tool, self._action["arguments"]
        try:
            if tool.is_async:
                value = tool.execute(arguments, context)
                result = await (last_of(value, context) if is_async_generator(value) else value)
            else:
                result = await in_thread(f"tool {tool.name}", tool._result, arguments, context)
            return {"result": _native.plain_result(result, "the tool's result")}
        except Suspension as suspension:
            return {"suspended": suspension.reason}
        except (Exception, SystemExit) as error:
            return {"error": one_line(error)}

    def cancel(self) -> None:
        """The answer is no longer wanted, or not for long."""
        self._is_cancelled = True
        if self._context is not None:
            self._context.cancel()
        if self._task is not None and self._tool.is_async and self._tool.cancel_mode == "task":
            self._task.cancel()


class StepHookContext(HookContext):
    """The context of a tool's own function."""

    __slots__ = ("_step",)

    def __init__(self, step: HookStep) -> None:
        self._step = step

    @property
    def is_cancelled(self) -> bool:
        return self._step.is_cancelled

    async def sleep(self, ms: float) -> bool:
        await asyncio.sleep(ms / 1000)
        return not self.is_cancelled


class HookStep:
    """Asks `prepare_arguments` or `needs_approval` of a tool."""

    def __init__(self, tool: Tool, hook: str, arguments: dict[str, Any]) -> None:
        self._tool = tool
        self._hook = hook
        self._arguments = arguments
        self.is_cancelled: bool = False

    async def run(self) -> Any:
        """The answer or the failure, and when."""
        function = getattr(self._tool, self._hook)
        try:
            contexts = [StepHookContext(self)] if takes_context(self._hook, function, 1) else []
            answer = function(self._arguments, *contexts)
            if inspect.isawaitable(answer):
                answer = await answer
            done = {"answer": _native.plain(answer, "the answer")}
        except (Exception, SystemExit) as error:
            done = {"error": one_line(error)}
        return done | {"at_ms": time.time_ns() // 1_000_000}

    def cancel(self) -> None:
        self.is_cancelled = True
