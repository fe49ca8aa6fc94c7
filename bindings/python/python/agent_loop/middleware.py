"""Middleware: functions around the execution of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from .arguments import must_take
from .errors import CallbackError
from .scope import here
from .tool_context import ToolContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import TypeGuard

    from ._native import HostCall


class MiddlewareCall:
    """A tool call in a middleware function. It may be read from any thread."""

    __slots__ = ("_call", "context")

    context: ToolContext
    """The tool's context: `is_cancelled`, `update` and `sleep`."""

    def __init__(self, call: HostCall) -> None:
        self._call = call
        self.context = ToolContext(call.context)

    @property
    def id(self) -> str:
        """The call's id."""
        return self.context.id

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.context.name

    @property
    def arguments(self) -> dict[str, Any]:
        """The validated arguments; a new copy each time."""
        return self._call.arguments()

    def __repr__(self) -> str:
        return f"<MiddlewareCall of {self.name}, {self.id}>"


class Next(Protocol):
    """The type of a middleware function's second argument: it runs the rest of the chain, the tool at its end."""

    async def __call__(self, arguments: dict[str, Any] | None = None, /) -> dict[str, Any]:
        """Calls it with these arguments, or with those of the call.

        Returns the full result, `{"content", "details", "is_error", "terminate"}`. When the tool failed, raises what the tool
        raised, the same object: see `Agent`.
        """
        raise NotImplementedError


def may_be_raised(original: BaseException | None) -> TypeGuard[Exception]:
    """Whether the tool's own exception can be raised in a middleware: not one that would be taken for the cancellation of its
    task or the end of the program, nor one that a coroutine cannot raise."""
    kind = type(original)
    return issubclass(kind, Exception) and not issubclass(kind, StopIteration)


def middleware_callback(function: Callable[..., Any]) -> Callable[[HostCall], Any]:
    """The function as the bridge calls it. Raises TypeError for one that cannot be called as `f(call, next)`."""
    if not callable(function):
        raise TypeError(f"middleware: expected a function of (call, next), got {type(function).__name__}")
    must_take("middleware", function, "call", "next")

    def callback(call: HostCall) -> Any:
        async def next(arguments: dict[str, Any] | None = None) -> dict[str, Any]:
            from .bridge import wait

            try:
                return await wait(call.next(arguments, here(call)))
            except CallbackError as error:
                failure = error
            # Outside of the `except`, which would become the context of the tool's own exception.
            original = failure.__cause__
            try:
                raise original if may_be_raised(original) else failure
            finally:
                # They refer to this frame.
                del failure, original

        return function(MiddlewareCall(call), next)

    return callback
