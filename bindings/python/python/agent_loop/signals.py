"""Lets signals wake the event loop of the main thread.

Python only notes a signal when it comes; the handler is called by the main thread, between two steps of Python code. asyncio
relies on the system to end its wait for events when there is a signal. That misses a signal which comes just before the wait,
and one which the system gives to another thread: Ctrl-C would be handled with the next event, which may be as late as the end of
a tool that works on a thread. Such a tool makes it likely, as the loop must often wait for Python just before it waits for
events. So Python writes each signal to a pipe, too, which the loop watches.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    import asyncio


class SignalPipe:
    """The pipe of this process. Of the loops that watch it only one runs at a time, and that one is woken."""

    def __init__(self) -> None:
        self.process: int = os.getpid()
        self.writers: set[int] = set() if _pipe is None else _pipe.writers
        self._loops: WeakSet[asyncio.AbstractEventLoop] = WeakSet()
        self._reader, self._writer = os.pipe()
        # Of a forked child's own and its parents'; never closed, so that their numbers stay theirs.
        self.writers.add(self._writer)
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    def wake(self, loop: asyncio.AbstractEventLoop) -> bool:
        """From now on signals wake this loop. False: they are written elsewhere, by `loop.add_signal_handler` for example, and
        that stays so."""
        before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        if before != -1 and before not in self.writers:
            with contextlib.suppress(OSError):
                signal.set_wakeup_fd(before)
                # Those that came here meanwhile.
                os.write(before, os.read(self._reader, 4096))
            return False
        loop.add_reader(self._reader, self._empty)
        self._loops.add(loop)
        return True

    def leave(self, loop: asyncio.AbstractEventLoop) -> None:
        """The loop ends. With the last one, signals are written nowhere any more, unless somebody else has them."""
        if not loop.is_closed():
            loop.remove_reader(self._reader)
        self._loops.discard(loop)
        # Only the main thread may change it; and what somebody else had may be closed.
        with contextlib.suppress(ValueError, OSError):
            if all(other.is_closed() for other in self._loops) and (owner := signal.set_wakeup_fd(-1)) != self._writer:
                signal.set_wakeup_fd(owner)

    def _empty(self) -> None:
        # The handlers are called anyway, now that Python code runs.
        with contextlib.suppress(BlockingIOError):
            os.read(self._reader, 4096)


_pipe: SignalPipe | None = None


def wake(loop: asyncio.AbstractEventLoop) -> SignalPipe | None:
    """Lets signals wake a running event loop, until `leave`. None if they do not reach it or already wake it: on a thread other
    than the main one, on Windows, with another owner of Python's wakeup descriptor."""
    global _pipe
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        return None
    if _pipe is None or _pipe.process != os.getpid():
        try:
            _pipe = SignalPipe()
        except OSError:
            # There are no descriptors left.
            return None
    return _pipe if _pipe.wake(loop) else None
