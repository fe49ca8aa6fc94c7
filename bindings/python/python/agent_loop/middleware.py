"""Middleware: functions around the execution of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .tool_context import ToolContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._native import Passing


class MiddlewareCall:
    """A call on its way through the chain."""

    __slots__ = ("_passing", "context")

    context: ToolContext
    """The call's cancel token, `update` and `sleep`."""

    def __init__(self, passing: Passing) -> None:
        self._passing = passing
        self.context = ToolContext(passing.context)

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
        """The arguments, checked; a copy each time."""
        return self._passing.arguments()

    def __repr__(self) -> str:
        return f"<MiddlewareCall of {self.name}, {self.id}>"


def passed(function: Callable[..., Any]) -> Callable[[Passing], Any]:
    """The function as the bridge calls it."""
    import inspect

    if not callable(function):
        raise TypeError(f"middleware: expected a function of (call, next), got {type(function).__name__}")
    try:
        inspect.signature(function).bind(None, None)
    except ValueError:
        # A built-in function that does not say what it takes.
        pass
    except TypeError as error:
        raise TypeError(f"middleware: expected a function that is called as f(call, next): {error}") from None

    def called(passing: Passing) -> Any:
        async def next(arguments: dict[str, Any] | None = None) -> dict[str, Any]:
            from .bridge import wait

            return await wait(passing.next(arguments))

        return function(MiddlewareCall(passing), next)

    return called
