"""Waits until nothing refers to an object any more."""

import gc
import time


def wait_until_collected(*references):
    """Returns once the objects of these weak references are gone; fails when one is still there after half a minute.

    A thread of the engine may hold what its last call has used for a moment after a run has ended.
    """
    for _ in range(3000):
        gc.collect()
        if all(one() is None for one in references):
            return
        time.sleep(0.01)
    raise AssertionError(f"still referred to: {[one() for one in references if one() is not None]}")
