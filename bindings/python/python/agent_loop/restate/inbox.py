"""What reaches a run while it is active: steering, follow-ups, aborts and decisions.

A handler that runs a prompt keeps all others of its key out, except for shared ones, which cannot write. So each session has a
second key, whose handlers are short: they know which invocation runs, and send it numbered signals. Without a run, inputs wait
here for the next one. Which does what, the engine decides: `core/proto/src/workflow`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from restate import ObjectContext, ObjectSharedContext, RestateDurableFuture, TerminalError, VirtualObject

from .. import _native
from .definition import raised
from .stored import JSON

SUFFIX = "#inbox"
"""Ends the key of a session's inbox."""

ABORT = {"type": "abort"}


def signal_name(number: int) -> str:
    return f"input-{number}"


class Inbox:
    """The handlers of inboxes, and how others call them."""

    def __init__(self, agent: VirtualObject) -> None:
        operations = ("open", "put", "suspend", "decide", "close", "state")
        self._handlers = {operation: added(agent, operation) for operation in operations}

    async def call(self, ctx: ObjectContext | ObjectSharedContext, operation: str, given: Any = None) -> Any:
        """Carries out an operation on the inbox of this session."""
        key = ctx.key()
        if key.endswith(SUFFIX):
            raise TerminalError(f"the key of a session must not end with {SUFFIX}", 400)
        return await ctx.object_call(self._handlers[operation], key + SUFFIX, given)


def added(agent: VirtualObject, operation: str) -> Callable[[Any, Any], Awaitable[Any]]:
    """The handler of an operation on inboxes, which the agent gets."""
    kind: Literal["shared", "exclusive"] = "shared" if operation == "state" else "exclusive"

    @agent.handler(name=f"inbox_{operation}", kind=kind, ingress_private=True)
    async def handler(ctx: ObjectContext, given: Any) -> Any:
        with raised():
            step = _native.workflow_step(operation, given, await ctx.get("inbox", JSON))
        if (signal := step["signal"]) is not None:
            ctx.resolve_signal(signal["invocation"], signal_name(signal["number"]), signal["input"], JSON)
        if step["awakeable"] is not None:
            ctx.resolve_awakeable(step["awakeable"], given, JSON)
        if step["state"] is not None:
            ctx.set("inbox", step["state"], JSON)
        return step["answer"]

    return handler


class Inputs:
    """The inputs of the active run, in the order in which they were sent."""

    def __init__(self, ctx: ObjectContext) -> None:
        self._ctx = ctx
        self._next: RestateDurableFuture[Any] | None = None
        self.read: int = 0

    def next(self) -> RestateDurableFuture[Any]:
        """The next one; the same until it is taken."""
        if self._next is None:
            self._next = self._ctx.signal(signal_name(self.read), JSON)
        return self._next

    async def take(self) -> Any:
        """The next one, which has arrived."""
        item = await self.next()
        self._next = None
        self.read += 1
        return item
