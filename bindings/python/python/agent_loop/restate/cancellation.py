"""An invocation that was cancelled in Restate."""

from __future__ import annotations

from restate import TerminalError
from restate.server_context import ServerInvocationContext

try:
    # What raises a cancellation. What another invocation failed with, which is an equal error, is raised elsewhere. No other
    # means of Restate's SDK says which of the two it is; so the package depends on versions that are known to have this one.
    _WAIT = ServerInvocationContext.create_poll_or_cancel_coroutine.__code__
except AttributeError:
    raise ImportError(
        "agent_loop.restate does not know this version of Restate's SDK: pip install agent-loop[restate]", name="restate"
    ) from None


def cancelled() -> TerminalError:
    """What Restate raises in a handler whose invocation was cancelled."""
    return TerminalError("cancelled", 409)


def is_cancellation(error: TerminalError) -> bool:
    """Whether this invocation was cancelled, and not another one that it called."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return error.status_code == 409 and trace is not None and trace.tb_frame.f_code is _WAIT
