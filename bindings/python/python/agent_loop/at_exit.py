"""Waits, as the interpreter exits, for the event loops of other threads that the end of their runs has woken.

Exit aborts all runs, and so resumes whoever awaits them. A daemon thread may be at work then, while the main thread goes on to
take the interpreter apart. Python ends such a thread when it next wants to run Python code, wherever it is (from 3.14 on it stops
it for ever), and frees what belongs to it, also under its hands, so that CPython may crash:
https://github.com/python/cpython/issues/110052. A thread that has ended or sleeps is safe.
"""

from __future__ import annotations

import atexit
import threading
import time
from typing import TYPE_CHECKING
from weakref import ref

if TYPE_CHECKING:
    from .bridge import Bridge

LIMIT = 1.0
"""How many seconds exit waits at most: a thread may never return to its event loop."""

_bridges: set[ref[Bridge]] = set()
_woken: list[Bridge] = []


def watch(bridge: Bridge) -> None:
    """Adds the bridge of a daemon thread's event loop."""
    _bridges.add(ref(bridge, _bridges.discard))


def before_abort() -> None:
    """Notes which event loops will be woken. A loop that has ended by then is not there any more."""
    for known in list(_bridges):
        bridge = known()
        # A daemon thread that forked is the main thread of the child, where the parent's other threads are not.
        if bridge is None or bridge.thread is threading.current_thread() or not bridge.thread.is_alive():
            continue
        if bridge.has_active_run():
            _woken.append(bridge)


def after_abort() -> None:
    """Waits until they are idle, or their threads have ended."""
    deadline = time.monotonic() + LIMIT
    for bridge in _woken:
        bridge.wait_until_idle(deadline)
    _woken.clear()


# The last that is registered is called first. This module is imported before the native one, which aborts the runs; the import of
# `bridge` registers the other function.
atexit.register(after_abort)
