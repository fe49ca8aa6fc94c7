"""What a handler knows of its agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from restate import TerminalError

from .. import _native
from ..errors import AgentError, InvalidArgumentError
from ..loop import Loop
from .stored import JSON
from .tool_step import check_tool

if TYPE_CHECKING:
    from ..options import _Model
    from ..tools import Tool

OF_HTTP = ("api_key", "network")
"""Options that only the HTTP of a model call has: they stay in this process."""

MAX_CONVERSATION_BYTES = 30 * 1024 * 1024
"""A server of Restate takes messages of 32 MiB, unless its `message-size-limit` is another one. The rest is for what it adds to a
value, and for a run's result, which has its messages and the last one twice."""

STATUSES = {"invalid_argument": 400, "invalid_state": 409}
"""The HTTP status of an error that the caller of a handler gets, by its kind."""


class Definition:
    """The name, the model, the tools and the options of an agent."""

    def __init__(
        self, name: str, model: _Model, tools: list[Tool], options: Mapping[str, Any], max_bytes: int | None
    ) -> None:
        for tool in tools:
            check_tool(tool)
        if max_bytes is None:
            max_bytes = MAX_CONVERSATION_BYTES
        elif not isinstance(max_bytes, int) or max_bytes < 1 or isinstance(max_bytes, bool):
            raise InvalidArgumentError(
                f'option "max_conversation_bytes": expected a whole number of at least 1, got {max_bytes!r}'
            )
        self.name = name
        self.model = model
        self._max_bytes = max_bytes
        self.tools: dict[str, Tool] = {tool.name: tool for tool in tools}
        self.options: dict[str, Any] = {option: value for option, value in options.items() if option not in OF_HTTP}
        self.exchange: dict[str, Any] = {option: options.get(option) for option in OF_HTTP}
        # What is wrong is reported when the program starts, and not in the first prompt.
        self.loop(prompt="?")
        _native.check_exchange(self.exchange)

    def loop(self, **start: Any) -> Loop:
        """The loop of a run. Raises what `Loop` raises."""
        if "prompt" in start and start["prompt"] is None:
            # A loop without a prompt resumes.
            raise InvalidArgumentError("prompt: expected text, a message or a list of messages, got null")
        return Loop(self.model, tools=list(self.tools.values()), **start, **self.options)

    def check_message(self, message: Any) -> None:
        """Raises the error of what is no message, for the caller of a handler."""
        with raised():
            self.loop(prompt=message)

    def to_store(self, kept: dict[str, Any]) -> bytes:
        """The JSON of a conversation. Raises the error of one that Restate does not take: it would try again for ever."""
        data = JSON.serialize(kept)
        if len(data) > self._max_bytes:
            text = f"the conversation would have {len(data)} bytes, and max_conversation_bytes is {self._max_bytes}"
            rest = "it stays as it was before this run; begin a new session, with a summary of this one"
            raise TerminalError(f"{text}: {rest}", 413)
        return data


@contextmanager
def raised() -> Iterator[None]:
    """An error of a caller, as Restate reports it: it does not try again."""
    try:
        yield
    except AgentError as error:
        # What is the run's prompt is the handler's message.
        text = error.message.replace("prompt:", "message:", 1) if error.message.startswith("prompt:") else error.message
        raise TerminalError(text, STATUSES.get(error.kind, 500)) from error
    except TypeError as error:
        raise TerminalError(str(error), STATUSES["invalid_argument"]) from error
