"""Hooks: functions of the application's that a run asks on its way, plain or async."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._native import Asking

WITHOUT_INPUT = ("get_steering_messages", "get_follow_up_messages")
"""The hooks that are asked about nothing; each of the others gets one object."""


class HookContext:
    """What a hook may use beside its input. A hook that takes one more argument than its input receives it."""

    __slots__ = ("_asking",)

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    @property
    def is_cancelled(self) -> bool:
        """Whether the answer is no longer wanted: the run was aborted or its time limit passed."""
        return self._asking.is_cancelled

    async def sleep(self, ms: float) -> bool:
        """Waits in the engine's time (virtual with a scripted model). False when the hook was cancelled meanwhile."""
        from .bridge import wait

        return await wait(self._asking.sleep(ms))

    def __repr__(self) -> str:
        return f"<HookContext{': cancelled' if self.is_cancelled else ''}>"


def asked(what: str, function: Callable[..., Any], inputs: int) -> Callable[[Asking], Any]:
    """The function as the bridge calls it: with its input, and a context if it takes one more argument."""
    if takes_one_more(what, function, inputs):
        return lambda asking: function(*asking.take_input(), HookContext(asking))
    return lambda asking: function(*asking.take_input())


def takes_one_more(what: str, function: Callable[..., Any], inputs: int) -> bool:
    """Whether a function takes a context after that many arguments. `what` names it in errors."""
    import inspect

    if not callable(function):
        raise TypeError(f"{what}: expected a function, got {type(function).__name__}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # A built-in function that does not say what it takes.
        return False
    positional = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    more = [parameter for parameter in signature.parameters.values() if parameter.kind in positional][inputs : inputs + 1]
    # One with a default of its own is not meant for us, unless it is named so.
    one_more = any(parameter.default is parameter.empty or parameter.name == "context" for parameter in more)
    try:
        signature.bind(*[None] * (inputs + one_more))
    except TypeError as error:
        forms = "f() or f(context)" if inputs == 0 else "f(input) or f(input, context)"
        raise TypeError(f"{what}: expected a function that is called as {forms}: {error}") from None
    return one_more
