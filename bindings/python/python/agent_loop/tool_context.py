"""The context of a tool call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _native


class Suspension(Exception):
    """Raised by a tool whose answer comes from elsewhere, later: made by `ToolContext.suspend`. `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ToolContext:
    """The context of a tool call. A tool's parameter annotated with this class receives it.

    `wait_cancelled` and `sleep` are awaited on an event loop; the rest may be used from any thread.
    """

    # `_calls`: how many tools were run with it, once there was one.
    __slots__ = ("_calls", "_native", "deps")

    _calls: int

    deps: Any
    """What the application has given for its tools and hooks: the option `deps` of the agent or of the run."""

    def __init__(self, native: _native.CallContext, deps: Any = None) -> None:
        self._native = native
        self.deps = deps

    @property
    def id(self) -> str:
        """The call's id."""
        return self._native.id

    @property
    def name(self) -> str:
        """The tool's name."""
        return self._native.name

    @property
    def idempotency_key(self) -> str:
        """The same however often this call is executed, in this run or in one that goes on with it elsewhere, and different for
        each other call: for a service that does the same thing once."""
        return self._native.idempotency_key

    def suspend(self, reason: str) -> Suspension:
        """What to raise if the call's answer comes from elsewhere, later: `raise context.suspend("waits for the signature")`.

        The call then waits for a decision, and the run ends with the outcome `suspended`. `reason` is for the person who decides.
        An approved call is executed again, from its start.
        """
        return Suspension(reason)

    @property
    def is_cancelled(self) -> bool:
        """Whether the run was aborted or the call's time limit passed.

        After an abort the tool has the agent's `abort_grace_ms` to answer; an answer within that time still counts. An async tool
        sees `asyncio.CancelledError` first, unless its `cancel_mode` is `token`.
        """
        return self._native.is_cancelled

    async def wait_cancelled(self) -> None:
        """Waits until `is_cancelled` is true."""
        from .bridge import wait

        await wait(self._native.wait_cancelled())

    def update(self, partial: Any) -> None:
        """Reports progress in a `ToolExecutionUpdate` event. `partial` is read like the tool's answer. From any thread.

        Does not wait: at most 64 updates of a call wait to be emitted. Then the newest takes the place of the one before it,
        which a `Diagnostic` (`updates_replaced`) counts at the end of the call. An update after the answer is dropped with a
        `Diagnostic` (`late_update`), one after an abort without.

        Raises TypeError or ValueError for a value that is not JSON.
        """
        self._native.update(partial)

    async def sleep(self, ms: float) -> bool:
        """Sleeps for `ms` milliseconds of the engine's time, which is virtual with a scripted model.

        Returns False when the call was cancelled meanwhile. Raises ValueError for a negative number.
        """
        from .bridge import wait

        return await wait(self._native.sleep(ms))

    def sleep_sync(self, ms: float) -> bool:
        """Same as `sleep`, for plain functions: blocks the thread."""
        return self._native.sleep_sync(ms)

    def __repr__(self) -> str:
        return f"<ToolContext of {self.name}, {self.id}{': cancelled' if self.is_cancelled else ''}>"
