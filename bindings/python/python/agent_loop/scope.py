"""Which runs the current code is inside of. The agent, its runs and the event loop bridge share it."""

from __future__ import annotations

from contextvars import ContextVar

INSIDE: ContextVar[tuple[int, ...]] = ContextVar("agent_loop_inside", default=())
"""The numbers of the runs whose tools, hooks or listeners called this code, the outermost first."""
