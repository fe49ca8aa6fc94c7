"""A run of the loop in a handler: its actions become steps of Restate's journal, and the values of the steps its inputs.

All inputs of the loop are in the journal, times included, so that a replay leads to the same actions.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import restate
from restate import ObjectContext, RestateDurableFuture, RunOptions, TerminalError

from ..errors import InvalidArgumentError
from .cancellation import is_cancellation
from .inbox import ABORT
from .model_step import ModelStep, body_of
from .stored import JSON
from .tool_step import ABORTED, HookStep, ToolStep, call_in_handler, wants_restate

if TYPE_CHECKING:
    from ..loop import Loop
    from .definition import Definition
    from .inbox import Inputs

STEP: RunOptions[Any] = RunOptions(serde=JSON)


class Run:
    """One run. It goes on until nothing is left to do."""

    def __init__(self, ctx: ObjectContext, definition: Definition, loop: Loop, inputs: Inputs, now_ms: int) -> None:
        self.now_ms: int = now_ms
        self.is_cancelled: bool = False
        self._ctx = ctx
        self._definition = definition
        self._loop = loop
        self._inputs = inputs
        # What is under way, in the order in which it began, each with the function that takes in its value.
        self._open: dict[tuple[str, int], tuple[RestateDurableFuture[Any], Callable[[Any], None]]] = {}
        self._steps: dict[tuple[str, int], ModelStep | ToolStep | HookStep] = {}
        self._timer_ms: int | None = None
        self._sleep: tuple[int, RestateDurableFuture[Any]] | None = None
        # When the model call was over whose answer was handed in last.
        self._passed_ms: int | None = None
        # An abort that the loop takes in after the model call that it ends.
        self._is_aborting = False

    async def to_end(self) -> Any:
        """Runs to the end; returns the result. A cancelled invocation is an aborted run."""
        while True:
            try:
                result = await self._act()
                if result is not None:
                    return result
                if self._passed_ms is not None:
                    self._advance(self._passed_ms)
                    self._passed_ms = None
                    if self._is_aborting:
                        self._loop.handle(ABORT)
                else:
                    await self._wait()
            except TerminalError as error:
                if not is_cancellation(error):
                    raise
                self.is_cancelled = True
                self.take_input(ABORT)

    def take_input(self, item: Any) -> None:
        """Takes in steering, a follow-up or an abort."""
        models = [step for step in self._steps.values() if isinstance(step, ModelStep)]
        if item != ABORT or not models:
            # One that the loop refuses has the id of another message: it was sent twice.
            with suppress(InvalidArgumentError):
                self._loop.handle(item)
            return
        # The answer so far is a part of the aborted message, so it has to be in the journal first.
        self._is_aborting = True
        for step in models:
            step.cancel()

    async def _act(self) -> Any:
        """Does what the loop asks for; the result at its end."""
        while (action := self._loop.poll(self.now_ms)) is not None:
            match action["type"]:
                case "call_model":
                    self._call_model(action)
                case "call_tool":
                    await self._call_tool(action)
                case "ask_hook":
                    self._ask(action)
                case "cancel_model":
                    self._close(("model", action["call"]))
                case "cancel_tool":
                    self._cancel_tool(action)
                case "cancel_hook" | "leave_hook":
                    self._close(("hook", action["question_id"]))
                case "set_timer":
                    self._timer_ms = action["at_ms"]
                case "done":
                    return action["result"]
        return None

    async def _wait(self) -> None:
        """Waits until something has happened, and takes it in."""
        waits = {future: (key, take) for key, (future, take) in self._open.items()}
        # While a model answers, its HTTP keeps the limits of time.
        if self._timer_ms is not None and not any(kind == "model" for kind, _ in self._open):
            if self._sleep is None or self._sleep[0] != self._timer_ms:
                delay = timedelta(milliseconds=max(0, self._timer_ms - self.now_ms))
                self._sleep = self._timer_ms, self._ctx.sleep(delay, "timer")
        else:
            self._sleep = None
        sleep = [self._sleep[1]] if self._sleep else []
        done, _ = await restate.wait_completed(*waits, self._inputs.next(), *sleep)
        for future in done:
            if future in waits:
                key, take = waits[future]
                value = await future
                if key in self._open:
                    self._close(key)
                    take(value)
            elif self._sleep is not None and future is self._sleep[1]:
                await future
                self._advance(self._sleep[0])
                self._sleep = None
            else:
                self.take_input(await self._inputs.take())

    def _advance(self, to_ms: int) -> None:
        """Clocks of machines differ; the loop's time does not go back."""
        self.now_ms = max(self.now_ms, to_ms)

    def _begin(self, key: tuple[str, int], name: str, step: Any, take: Callable[[Any], None]) -> None:
        if self._is_aborting:
            # The loop reads of the abort after it has asked for this.
            step.cancel()
        self._steps[key] = step
        self._open[key] = self._ctx.run_typed(name, step.run, STEP), take

    def _close(self, key: tuple[str, int]) -> None:
        self._open.pop(key, None)
        if (step := self._steps.pop(key, None)) is not None:
            step.cancel()

    def _call_model(self, action: Any) -> None:
        call = action["call"]

        def take(done: Any) -> None:
            self._advance(done["last_ms"])
            if done["status"] is not None:
                head = {"type": "model_response", "call": call, "status": done["status"], "headers": done["headers"]}
                self._loop.handle(head)
                self._loop.model_bytes(call, body_of(done))
            if done["error"] is not None:
                self._loop.handle({"type": "model_end", "call": call, "error": done["error"]})
            elif done["is_complete"]:
                self._loop.handle({"type": "model_end", "call": call})
            self._passed_ms = done["end_ms"]

        step = ModelStep(self._loop, call, self._definition.exchange)
        self._begin(("model", call), f"model call {call}", step, take)

    async def _call_tool(self, action: Any) -> None:
        call, tool = action["call"], self._definition.tools[action["tool_name"]]

        def take(done: Any) -> None:
            self._advance(done["at_ms"])
            if "suspended" in done:
                self._loop.handle({"type": "tool_suspended", "call": call, "reason": done["suspended"]})
            elif "error" in done:
                self._loop.handle({"type": "tool_done", "call": call, "error": done["error"]})
            else:
                self._loop.handle({"type": "tool_done", "call": call, "result": done["result"]})

        if wants_restate(tool):
            done = ABORTED if self._is_aborting else await call_in_handler(tool, action, self._ctx)
            take(done | {"at_ms": int(await self._ctx.time() * 1000)})
        else:
            name = f"{tool.name} {action['tool_call_id']}"
            self._begin(("tool", call), name, ToolStep(tool, action), take)

    def _cancel_tool(self, action: Any) -> None:
        key = "tool", action["call"]
        if action["abandoned"]:
            self._close(key)
        elif (step := self._steps.get(key)) is not None:
            step.cancel()

    def _ask(self, action: Any) -> None:
        number, hook, asked = action["question_id"], action["hook"], action["input"]
        tool = self._definition.tools[asked["tool_name"]]

        def take(done: Any) -> None:
            self._advance(done.pop("at_ms"))
            self._loop.handle({"type": "hook_answer", "question_id": number, **done})

        self._begin(("hook", number), f"{hook} {tool.name}", HookStep(tool, hook, asked["arguments"]), take)
