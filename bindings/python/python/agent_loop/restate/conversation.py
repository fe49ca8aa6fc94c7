"""A prompt of a session: from the conversation in Restate's state to the next one there."""

from __future__ import annotations

import json
from typing import Any

import restate
from restate import ObjectContext, RestateDurableFuture, TerminalError

from .. import _native
from ..errors import AgentError
from ..loop import Loop
from .cancellation import cancelled, is_cancellation
from .definition import Definition, raised
from .inbox import ABORT, Inbox, Inputs
from .run import Run
from .stored import BYTES, JSON


class Rejected(Exception):
    """An awakeable was rejected."""


async def value_of(awakeable: RestateDurableFuture[Any]) -> Any:
    """The value of an awakeable that is complete. Raises Rejected."""
    try:
        return await awakeable
    except TerminalError as error:
        raise Rejected from error


class Conversation:
    """One invocation of `prompt` or `resume`."""

    def __init__(self, ctx: ObjectContext, definition: Definition, inbox: Inbox) -> None:
        self._ctx = ctx
        self._definition = definition
        self._inbox = inbox
        self._inputs = Inputs(ctx)
        # How many of the inputs need not be read again.
        self._saved = 0
        self._is_cancelled = False

    async def run(self, **begin: Any) -> Any:
        """Runs the agent until no call waits for a decision; returns the result."""
        stored = await self._ctx.get("conversation", BYTES)
        kept = json.loads(stored or b"{}")
        self._runs: int = kept.get("runs", 0)
        self._export: Any = kept.get("export")
        # Calls still wait when a handler begins only if the invocation that waited for them was killed, or has failed.
        self._pending: list[Any] = kept.get("pending", [])
        loop = None
        with raised():
            if begin:
                asked = {"message": begin["prompt"], "pending": self._pending, "room": self._definition.room(stored)}
                _native.workflow_step("check_prompt", asked)
            if not self._pending:
                loop = self._loop(**begin)
        try:
            result = await self._result(loop)
            await self._inbox.call(self._ctx, "close", self._saved)
        except TerminalError:
            # Nothing reads the inbox any more. A cancellation also ends the call of another handler that it meets.
            await self._inbox.call(self._ctx, "close", self._saved)
            raise
        if self._is_cancelled:
            raise cancelled()
        return result

    async def _result(self, loop: Loop | None) -> Any:
        """The result of the run, or of the one that goes on with decisions about its calls."""
        opened = await self._inbox.call(self._ctx, "open", self._ctx.request().id)
        now_ms, items = opened["at_ms"], opened["waiting"]
        self._inputs.read = len(items)
        while True:
            if loop is None:
                loop = await self._decided(items)
                # From here on their tools may run: what ends this run without a conversation to keep leaves calls of unknown
                # outcome, and not calls that wait, which would run again when they are decided again.
                self._store(self._export | {"suspended": []})
                # The time that calls wait for a decision is not that of the run.
                now_ms = max(now_ms, int(await self._ctx.time() * 1000))
            run = Run(self._ctx, self._definition, loop, self._inputs, now_ms)
            for item in items:
                run.take_input(item)
            result = await run.to_end()
            self._is_cancelled |= run.is_cancelled
            # What it took in goes with a conversation that is too large to be stored: the next run would be too large with it.
            self._saved = self._inputs.read
            self._store(loop.export())
            if not self._pending:
                return result
            loop, items, now_ms = None, [], run.now_ms

    def _store(self, export: Any) -> None:
        """Stores the conversation. Raises the error of one that Restate does not take: it would try again for ever."""
        with raised():
            given = {"runs": self._runs, "export": export, "max_bytes": self._definition.max_bytes}
            text = _native.workflow_step("store", given)["answer"]
        self._ctx.set("conversation", text.encode(), BYTES)
        kept = json.loads(text)
        self._export, self._pending = kept["export"], kept["pending"]

    def _loop(self, **begin: Any) -> Loop:
        """The loop of the next run. Its id and its seed are the same in each replay."""
        self._runs += 1
        seed = self._ctx.random().getrandbits(63)
        run_id = f"{self._definition.name}/{self._ctx.key()}/{self._runs}"
        return self._definition.loop(export=self._export, run_id=run_id, run_seed=seed, **begin)

    async def _decided(self, items: list[Any]) -> Loop:
        """Waits for decisions about the calls that wait, without a process if that takes long. Returns the loop that goes on with
        them; appends the inputs that arrive meanwhile. An abort denies all calls."""
        ids = [call["tool_call_id"] for call in self._pending]
        while True:
            try:
                return self._loop(decisions=await self._decisions(ids, items))
            except (AgentError, TypeError, Rejected):
                # Whoever knows the awakeable's id can complete it without `decide`, which checks.
                continue

    async def _decisions(self, ids: list[str], items: list[Any]) -> Any:
        """The next decisions; denials after an abort. Appends other inputs."""
        decided: RestateDurableFuture[Any]
        name, decided = self._ctx.awakeable(JSON)
        try:
            await self._inbox.call(self._ctx, "suspend", {"awakeable": name, "ids": ids, "saved": self._saved})
            while items[-1:] != [ABORT]:
                done, _ = await restate.wait_completed(decided, self._inputs.next())
                if decided in done:
                    return await value_of(decided)
                items.append(await self._inputs.take())
        except TerminalError as error:
            if not is_cancellation(error):
                raise
            self._is_cancelled = True
            items.append(ABORT)
        return {id: {"deny": "aborted"} for id in ids}
