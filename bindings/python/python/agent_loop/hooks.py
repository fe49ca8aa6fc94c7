"""Hooks: functions of the application that a run calls at fixed points, plain or async."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .scope import DEPS

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._native import HostCall

WITHOUT_INPUT = (
    # <generated: hooks without input>
    "get_steering_messages",
    "get_follow_up_messages",
    # </generated>
)
"""The hooks without input. Each of the others gets one object."""


class HookContext:
    """The context of a hook call. A hook that takes one argument more than its input receives it.

    `is_cancelled` may be read from any thread; `sleep` is awaited on the event loop.
    """

    __slots__ = ("_call",)

    def __init__(self, call: HostCall) -> None:
        self._call = call

    @property
    def deps(self) -> Any:
        """What the application has given for its tools and hooks: the option `deps` of the agent or of the run."""
        return self._call.vars.get(DEPS)

    @property
    def is_cancelled(self) -> bool:
        """Whether the answer is no longer needed: the run was aborted or a time limit passed."""
        return self._call.is_cancelled

    async def sleep(self, ms: float) -> bool:
        """Sleeps for `ms` milliseconds of the engine's time, which is virtual with a scripted model.

        Returns False when the hook was cancelled meanwhile. Raises ValueError for a negative number.
        """
        from .bridge import wait

        return await wait(self._call.sleep(ms))

    def __repr__(self) -> str:
        return f"<HookContext{': cancelled' if self.is_cancelled else ''}>"


def hook_callback(what: str, function: Callable[..., Any], inputs: int) -> Callable[[HostCall], Any]:
    """The function as the bridge calls it. It is called with `inputs` arguments, and a context if it takes one more."""
    if takes_context(what, function, inputs):
        return lambda call: function(*call.take_input(), HookContext(call))
    return lambda call: function(*call.take_input())


def with_context(what: str, function: Callable[..., Any], inputs: int) -> Callable[..., Any]:
    """The function, to be called with `inputs` arguments and a context, which it gets if it takes one more."""
    return function if takes_context(what, function, inputs) else lambda *given: function(*given[:inputs])


def takes_context(what: str, function: Callable[..., Any], inputs: int) -> bool:
    """Whether a function takes a context after `inputs` arguments.

    Raises TypeError for a function that cannot be called so; the message begins with `what`.
    """
    import inspect

    if not callable(function):
        raise TypeError(f"{what}: expected a function, got {type(function).__name__}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # A built-in function without a signature.
        return False
    positional = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    more = [parameter for parameter in signature.parameters.values() if parameter.kind in positional][inputs : inputs + 1]
    # A parameter with a default is not meant for the context, unless it is named so.
    one_more = any(parameter.default is parameter.empty or parameter.name == "context" for parameter in more)
    try:
        signature.bind(*[None] * (inputs + one_more))
    except TypeError as error:
        forms = "f() or f(context)" if inputs == 0 else "f(input) or f(input, context)"
        raise TypeError(f"{what}: expected a function that is called as {forms}: {error}") from None
    return one_more
