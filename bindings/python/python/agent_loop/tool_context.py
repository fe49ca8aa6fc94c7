"""What a running tool may use beside its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _native


class ToolContext:
    """What a running tool may use beside its arguments. A parameter annotated with this class receives it."""

    __slots__ = ("_native",)

    def __init__(self, native: _native.CallContext) -> None:
        self._native = native

    @property
    def id(self) -> str:
        """The call's id."""
        return self._native.id

    @property
    def name(self) -> str:
        """The tool's name."""
        return self._native.name

    @property
    def is_cancelled(self) -> bool:
        """Whether the run was aborted or the call's time limit passed.

        After an abort the tool has the grace time left to answer; what it then answers still counts.
        """
        return self._native.is_cancelled

    async def wait_cancelled(self) -> None:
        """Waits until that is so."""
        from .bridge import wait

        await wait(self._native.wait_cancelled())

    def update(self, partial: Any) -> None:
        """Tells how far the tool is; `partial` is read like an answer. From any thread."""
        self._native.update(partial)

    async def sleep(self, ms: float) -> bool:
        """Waits in the engine's time (virtual with a scripted model). False when the call was cancelled meanwhile."""
        from .bridge import wait

        return await wait(self._native.sleep(ms))

    def sleep_sync(self, ms: float) -> bool:
        """The same for plain functions: blocks the thread."""
        return self._native.sleep_sync(ms)

    def __repr__(self) -> str:
        return f"<ToolContext of {self.name}, {self.id}{': cancelled' if self.is_cancelled else ''}>"
