"""What reaches a run while it is active: steering, follow-ups, aborts and decisions.

A handler that runs a prompt keeps all others of its key out, except for shared ones, which cannot write. So each session has a
second key, whose handlers are short: they know which invocation runs, and send it numbered signals. Without a run, inputs wait
here for the next one.
"""

from __future__ import annotations

import time
from typing import Any

from restate import ObjectContext, ObjectSharedContext, RestateDurableFuture, TerminalError, VirtualObject

from .stored import JSON, stored

SUFFIX = "#inbox"
"""Ends the key of a session's inbox."""

ABORT = {"type": "abort"}


def key_of(ctx: ObjectContext | ObjectSharedContext) -> str:
    """The key of the inbox of this session."""
    key = ctx.key()
    if key.endswith(SUFFIX):
        raise TerminalError(f"the key of a session must not end with {SUFFIX}", 400)
    return key + SUFFIX


def signal_name(number: int) -> str:
    return f"input-{number}"


def unread(state: dict[str, Any]) -> list[Any]:
    """The inputs for the next run: those that arrived without a run, and those that the last run has not kept.

    `sent` are the inputs of the active run, the first `saved` of which are in the stored conversation. A run that was killed
    leaves the others here.
    """
    items = [*state.get("sent", [])[state.get("saved", 0) :], *state.get("waiting", [])]
    return [item for item in items if item != ABORT]


class Inbox:
    """The handlers of inboxes, and how others call them."""

    def __init__(self, agent: VirtualObject) -> None:
        private: dict[str, Any] = {"ingress_private": True}

        @agent.handler(name="inbox_open", **private)
        async def open(ctx: ObjectContext, invocation: str) -> Any:
            """A run begins; returns its first inputs, and the time."""
            waiting = unread(await stored(ctx, "inbox"))
            ctx.set("inbox", {"invocation": invocation, "sent": waiting}, JSON)
            return {"waiting": waiting, "at_ms": time.time_ns() // 1_000_000}

        @agent.handler(name="inbox_put", **private)
        async def put(ctx: ObjectContext, item: Any) -> str:
            """Sends an input to the active run, or keeps it for the next one."""
            state = await stored(ctx, "inbox")
            if "invocation" not in state:
                if item != ABORT:
                    ctx.set("inbox", {"waiting": [*unread(state), item]}, JSON)
                return "queued"
            ctx.resolve_signal(state["invocation"], signal_name(len(state["sent"])), item, JSON)
            if item == ABORT:
                # It denies the calls that wait: later decisions are refused.
                state.pop("suspended", None)
            ctx.set("inbox", {**state, "sent": [*state["sent"], item]}, JSON)
            return "joined"

        @agent.handler(name="inbox_suspend", **private)
        async def suspend(ctx: ObjectContext, suspended: Any) -> None:
            """The active run waits for decisions. This many of its inputs are in the stored conversation."""
            state = await stored(ctx, "inbox")
            saved = suspended.pop("saved")
            ctx.set("inbox", {**state, "suspended": suspended, "saved": saved}, JSON)

        @agent.handler(name="inbox_decide", **private)
        async def decide(ctx: ObjectContext, decisions: Any) -> None:
            """The first decision about the calls counts."""
            state = await stored(ctx, "inbox")
            suspended = state.pop("suspended", None)
            if suspended is None:
                raise TerminalError("no call of this session waits for a decision; it may have been decided meanwhile", 409)
            if set(decisions) != set(suspended["ids"]):
                raise TerminalError(f"other calls wait for a decision meanwhile: {', '.join(suspended['ids'])}", 409)
            ctx.resolve_awakeable(suspended["awakeable"], decisions, JSON)
            ctx.set("inbox", state, JSON)

        @agent.handler(name="inbox_close", **private)
        async def close(ctx: ObjectContext, saved: int) -> None:
            """The run is over. This many of its inputs are in the stored conversation."""
            state = await stored(ctx, "inbox")
            ctx.set("inbox", {"waiting": unread({**state, "saved": saved})}, JSON)

        @agent.handler(name="inbox_state", kind="shared", **private)
        async def state(ctx: ObjectSharedContext) -> Any:
            """Whether a run is active, the inputs for the next one, and the ids of the calls that wait for a decision."""
            state = await stored(ctx, "inbox")
            suspended = state.get("suspended", {}).get("ids", [])
            return {"is_running": "invocation" in state, "waiting": state.get("waiting", []), "suspended": suspended}

        self._open, self._put, self._suspend, self._decide, self._close, self._state = open, put, suspend, decide, close, state

    async def open(self, ctx: ObjectContext) -> Any:
        """Reports that this invocation runs; returns its first inputs, and the time."""
        return await ctx.object_call(self._open, key_of(ctx), ctx.request().id)

    async def put(self, ctx: ObjectSharedContext, item: Any) -> str:
        return await ctx.object_call(self._put, key_of(ctx), item)

    async def suspend(self, ctx: ObjectContext, awakeable: str, ids: list[str], saved: int) -> None:
        await ctx.object_call(self._suspend, key_of(ctx), {"awakeable": awakeable, "ids": ids, "saved": saved})

    async def decide(self, ctx: ObjectSharedContext, decisions: Any) -> None:
        await ctx.object_call(self._decide, key_of(ctx), decisions)

    async def close(self, ctx: ObjectContext, saved: int) -> None:
        await ctx.object_call(self._close, key_of(ctx), saved)

    async def state(self, ctx: ObjectSharedContext) -> Any:
        return await ctx.object_call(self._state, key_of(ctx), None)


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
