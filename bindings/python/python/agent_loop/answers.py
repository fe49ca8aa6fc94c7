"""What tools and hooks answer, as types: with them a type checker reports a field that does not exist. Plain dicts do as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from ._native import AudioBlock, DocumentBlock, ImageBlock, Message, TextBlock

if TYPE_CHECKING:
    from .options import ModelSpec, _ThinkingLevel


class _Content(TypedDict):
    content: Sequence[TextBlock | ImageBlock | DocumentBlock | AudioBlock | Mapping[str, Any]]
    """What the model sees."""


class ToolResult(_Content, total=False):
    """A full result of a tool. Any other value goes to the model as text: a `str` unchanged, the rest as JSON."""

    details: Any
    """Data for the application; never sent to the model."""
    is_error: bool
    """Whether the call failed."""
    terminate: bool
    """Whether the run may end after this call."""


class ToolDecision(TypedDict, total=False):
    """The answer of `before_tool_call`: blocks the call, replaces its arguments, which are validated again, or suspends it."""

    block: bool
    reason: str
    """Why, for the model."""
    terminate: bool
    """Of a blocked call: whether the run may end after it."""
    arguments: Mapping[str, Any]
    suspend: str
    """Why, for the person who decides; alone."""


class ToolOverride(TypedDict, total=False):
    """The answer of `after_tool_call`: replaces parts of a tool's result; what is left out stays."""

    content: str | Sequence[TextBlock | ImageBlock | DocumentBlock | AudioBlock | Mapping[str, Any]]
    details: Any
    """None replaces the details, too."""
    is_error: bool
    terminate: bool
    """Whether the run may end after this call."""


class TurnContext(TypedDict, total=False):
    """The `context` of a `TurnChange`; what is left out stays."""

    system_prompt: str
    messages: Sequence[Message | Mapping[str, Any]]
    """Replaces the messages that the model sees; what the run adds is appended to them."""
    tools: Sequence[str]
    """The names of the tools to offer, of the agent's."""


class TurnChange(TypedDict, total=False):
    """The answer of `prepare_next_turn`: changes the rest of the run; what is left out stays. The agent does not change."""

    context: TurnContext
    model: str | ModelSpec
    """`provider/id`, or a dict."""
    thinking_level: _ThinkingLevel


class ApiKeyHeaders(TypedDict, total=False):
    """The answer of `get_api_key`, where it is not the key: one of the two fields."""

    bearer: str
    """A token that is sent as `authorization: Bearer …`, whatever the provider."""
    headers: Mapping[str, str]
    """Headers that are sent in place of any key; they win over all others."""
