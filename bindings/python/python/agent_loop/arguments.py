"""Checks of what the application gives, when it is given: functions, and lists of things."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

T = TypeVar("T")


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


def items_of(what: str, kind: str, items: Iterable[T]) -> list[T]:
    """The items, which are of this kind. Raises TypeError for what is not a list of them, such as one alone; the message begins
    with `what`, whose last word is the name."""
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        got = type(items).__name__
        article = "an" if got[:1] in "AEIOaeio" else "a"
        name = what.split()[-1].strip('"')
        raise TypeError(f"{what}: expected a list of {kind}, got {article} {got}; write {name}=[…]")
    return list(items)
