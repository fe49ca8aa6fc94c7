"""The HTTP of a model call as a step of the journal."""

from __future__ import annotations

import base64
import time
import zlib
from typing import Any

from .. import _native
from ..bridge import wait
from ..errors import AgentError
from ..loop import Loop


class ModelStep:
    """Sends one request. A failed call is a value: whether it is tried again, the loop decides."""

    def __init__(self, loop: Loop, call: int, options: dict[str, Any]) -> None:
        self._loop = loop
        self._call = call
        self._options = options
        self._exchange: _native.Exchange | None = None
        self._is_cancelled = False

    async def run(self) -> Any:
        """The response in JSON, or the error; the body is compressed, as frames of a stream repeat themselves."""
        try:
            self._exchange = self._loop._native.exchange(self._call, self._options)
            if self._is_cancelled:
                self._exchange.cancel()
            done = await wait(self._exchange.send())
        except AgentError as error:
            now_ms = time.time_ns() // 1_000_000
            head: dict[str, Any] = {"status": None, "headers": {}, "body": "", "is_complete": False}
            return {**head, "error": error.to_dict(), "last_ms": now_ms, "end_ms": now_ms}
        return {**done, "body": base64.b64encode(zlib.compress(done["body"])).decode()}

    def cancel(self) -> None:
        """Ends it: its value is the response so far."""
        self._is_cancelled = True
        if self._exchange is not None:
            self._exchange.cancel()


def body_of(done: Any) -> bytes:
    """The bytes of the response, as far as they came."""
    return zlib.decompress(base64.b64decode(done["body"]))
