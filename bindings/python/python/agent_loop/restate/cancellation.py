"""An invocation that was cancelled in Restate."""

from __future__ import annotations

from restate import TerminalError


def cancelled() -> TerminalError:
    """What Restate raises in a handler whose invocation was cancelled."""
    return TerminalError("cancelled", 409)


def is_cancellation(error: TerminalError) -> bool:
    return (error.status_code, error.message) == (409, "cancelled")
