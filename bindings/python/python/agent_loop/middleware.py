"""Middleware: functions around the execution of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from .arguments import must_take
from .errors import CallbackError
from .generators import is_async
from .scope import DEPS, here
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
        self.context = ToolContext(call.context, call.vars.get(DEPS))

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


def awaited(function: Callable[..., Any]) -> Callable[..., Any]:
    """A plain function, whose call fails when it cannot have meant what it did with `next()`: it dropped what that returned, or
    took that for the result. To return it is right, as a lambda does, and so is a task that awaits it."""
    import inspect
    from weakref import ref

    name = getattr(function, "__name__", type(function).__name__)

    def call_plain(call: MiddlewareCall, rest: Next) -> Any:
        made: list[Callable[[], object]] = []
        begun: list[bool] = []

        async def begin(arguments: dict[str, Any] | None) -> dict[str, Any]:
            begun.append(True)
            return await rest(arguments)

        def next(arguments: dict[str, Any] | None = None) -> Any:
            coroutine = begin(arguments)
            made.append(ref(coroutine))
            return coroutine

        failure: Exception | None = None
        try:
            answer = function(call, next)
            if inspect.isawaitable(answer) or begun or not made or any(one() is not None for one in made):
                return answer
        except (TypeError, AttributeError) as error:
            if begun or not made or type(error) not in (TypeError, AttributeError) or "coroutine" not in str(error):
                raise
            failure = error
        try:
            done = "did not await next(), so that the tool did not run"
            raise TypeError(f"the middleware {name} {done}; write `async def` and `await next()`") from failure
        finally:
            del failure  # it refers to this frame

    return call_plain


def middleware_callback(function: Callable[..., Any]) -> Callable[[HostCall], Any]:
    """The function as the bridge calls it. Raises TypeError for one that cannot be called as `f(call, next)`."""
    if not callable(function):
        raise TypeError(f"middleware: expected a function of (call, next), got {type(function).__name__}")
    must_take("middleware", function, "call", "next")
    function = function if is_async(function) else awaited(function)

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
