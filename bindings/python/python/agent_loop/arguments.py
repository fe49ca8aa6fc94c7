"""Checks of what the application gives, when it is given: functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def must_take(what: str, function: Callable[..., Any], *parameters: str) -> None:
    """Raises TypeError for a function that cannot be called with these arguments; the message begins with `what`."""
    import inspect

    try:
        # What is called is the wrapper, whatever it calls then.
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        # A built-in function without a signature.
        return
    try:
        signature.bind(*parameters)
    except TypeError as error:
        form = ", ".join(parameters)
        raise TypeError(f"{what}: expected a function that is called as f({form}): {error}") from None
