"""Helpers for tests of agents, of custom providers and of user interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from . import _native

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ._native import _Event

__all__ = ["AgentRecording", "check_events"]


class AgentRecording(TypedDict, total=False):
    """What the pytest fixture `agent_recording` is: one of these two options of an agent."""

    record: str
    replay: str


def check_events(events: Iterable[_Event | Mapping[str, Any]]) -> None:
    """Checks that the events of one run, in order, are valid: their order, numbers and fields, and that their messages agree.

    `events` are `Event`s, or dicts as `Event.to_dict` returns them. Raises `InvalidArgumentError`, with the index of the first
    event that is not valid and the reason; TypeError for what is neither. From any thread.
    """
    try:
        one_by_one = iter(events)
    except TypeError:
        raise TypeError(f"events: expected a list of events, got {type(events).__name__}") from None
    _native.check_events(list(one_by_one))
