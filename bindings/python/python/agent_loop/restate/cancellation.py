"""An invocation that was cancelled in Restate."""

from __future__ import annotations

from restate import TerminalError

_WAIT = "create_poll_or_cancel_coroutine"
"""The function of Restate's SDK that raises a cancellation. What another invocation failed with is raised elsewhere."""


def cancelled() -> TerminalError:
    """What Restate raises in a handler whose invocation was cancelled."""
    return TerminalError("cancelled", 409)


def is_cancellation(error: TerminalError) -> bool:
    """Whether this invocation was cancelled, and not another one that it called: their errors are equal."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return error.status_code == 409 and trace is not None and trace.tb_frame.f_code.co_name == _WAIT
