"""For tests of one's own, of providers and of user interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ._native import Event

__all__ = ["check_events"]


def check_events(events: Iterable[Event | Mapping[str, Any]]) -> None:
    """Checks that the events of one run, in order, are such as the loop can give: their order, their numbers, their fields, and
    that what they say of messages fits together.

    They are `Event`s, or dicts as `Event.to_dict` gives them. `InvalidArgumentError` names the first that does not fit, by its
    place, and says why.
    """
    _native.check_events(list(events))
