"""What a handler knows of its agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from restate import TerminalError

from .. import _native
from ..errors import AgentError, InvalidArgumentError
from ..loop import Loop
from .tool_step import check_tool

if TYPE_CHECKING:
    from ..options import _Model
    from ..tools import Tool

OF_HTTP = ("api_key", "network")
"""Options that only the HTTP of a model call has: they stay in this process."""


class Definition:
    """The name, the model, the tools and the options of an agent."""

    def __init__(
        self, name: str, model: _Model, tools: list[Tool], options: Mapping[str, Any], max_bytes: int | None
    ) -> None:
        for tool in tools:
            check_tool(tool)
        if max_bytes is not None and (not isinstance(max_bytes, int) or max_bytes < 1 or isinstance(max_bytes, bool)):
            raise InvalidArgumentError(
                f'option "max_conversation_bytes": expected a whole number of at least 1, got {max_bytes!r}'
            )
        self.name = name
        self.model = model
        self.max_bytes = max_bytes
        self.tools: dict[str, Tool] = {tool.name: tool for tool in tools}
        self.options: dict[str, Any] = {option: value for option, value in options.items() if option not in OF_HTTP}
        self.exchange: dict[str, Any] = {option: options.get(option) for option in OF_HTTP}
        # What is wrong is reported when the program starts, and not in the first prompt.
        self.loop(prompt="?")
        _native.check_exchange(self.exchange)

    def loop(self, **start: Any) -> Loop:
        """The loop of a run. Raises what `Loop` raises."""
        return Loop(self.model, tools=list(self.tools.values()), **start, **self.options)

    def room(self, stored: bytes | None) -> dict[str, Any]:
        """The room for messages that a session has beside its stored conversation."""
        return {"stored_bytes": len(stored or b""), "max_bytes": self.max_bytes}


@contextmanager
def raised() -> Iterator[None]:
    """An error of a caller, as Restate reports it: it does not try again."""
    try:
        yield
    except (AgentError, TypeError) as error:
        kind = error.kind if isinstance(error, AgentError) else "invalid_argument"
        raise TerminalError(str(error), _native.workflow_step("http_status", kind)["answer"]) from error
