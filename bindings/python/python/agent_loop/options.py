"""The options of agents and runs, for type checkers. `Agent` documents them."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from ._native import (
        AfterToolCall,
        BeforeToolCall,
        ContentBlock,
        Failure,
        Message,
        ModelRequest,
        Payload,
        ResponseHead,
        RunResult,
        TurnSummary,
    )
    from .hooks import HookContext
    from .middleware import MiddlewareCall
    from .provider import ModelContext
    from .tools import Tool

    _I = TypeVar("_I")
    _O = TypeVar("_O")

    _ThinkingLevel: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
    _QueueMode: TypeAlias = Literal["one_at_a_time", "all"]
    _JsonObject: TypeAlias = Mapping[str, Any]
    _Prompt: TypeAlias = str | _JsonObject | Message | Sequence[_JsonObject | Message | ContentBlock]
    _Model: TypeAlias = str | "ModelSpec" | _JsonObject
    _Messages: TypeAlias = Sequence[Message | _JsonObject]
    _Hook: TypeAlias = Callable[[_I], _O | Awaitable[_O]] | Callable[[_I, HookContext], _O | Awaitable[_O]]
    _Poll: TypeAlias = (
        Callable[[], _Prompt | Sequence[str] | None | Awaitable[_Prompt | Sequence[str] | None]]
        | Callable[[HookContext], _Prompt | Sequence[str] | None | Awaitable[_Prompt | Sequence[str] | None]]
    )
    _Next: TypeAlias = Callable[..., Awaitable[dict[str, Any]]]
    _Middleware: TypeAlias = Callable[[MiddlewareCall, _Next], Any]
    _Chunks: TypeAlias = AsyncIterable[str | _JsonObject] | Iterable[str | _JsonObject]
    _Provider: TypeAlias = (
        Callable[[ModelRequest], _Chunks | Awaitable[_Chunks]]
        | Callable[[ModelRequest, ModelContext], _Chunks | Awaitable[_Chunks]]
    )


class Prices(TypedDict, total=False):
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


class _Named(TypedDict):
    provider: str
    id: str


class ModelSpec(_Named, total=False):
    """A model in detail, where `provider/id` is not enough. `docs/providers.md` documents the fields."""

    label: str | None
    """The name for user interfaces."""
    base_model: str | None
    """Which of `models()` it is, such as `openai/gpt-5`, where `id` is a custom name (a deployment on Azure, an alias)."""
    protocol: Literal["anthropic", "openai_responses", "openai_chat", "gemini", "relay"] | None
    """The wire format, instead of the provider's default."""
    base_url: str | None
    """The server's address, with or without `/v1`."""
    headers: Mapping[str, str]
    """HTTP headers for each request."""
    project: str | None
    """Vertex AI's, instead of `GOOGLE_CLOUD_PROJECT`."""
    location: str | None
    """Vertex AI's, a region or `global`, instead of `GOOGLE_CLOUD_LOCATION`."""
    api_version: str | None
    """Azure's `api-version`, instead of `AZURE_OPENAI_API_VERSION`."""
    context_window: int | None
    """In tokens."""
    max_output_tokens: int | None
    input: Sequence[Literal["text", "image"]] | None
    """The kinds of content it accepts."""
    thinking: bool | str | None
    """Whether it supports thinking, or how: a value of the quirk `thinking`."""
    cost: Prices | None
    quirks: Mapping[str, Any]
    """How its server differs from the protocol, by name."""
    script: Sequence[Any] | None
    """The answers of a `scripted` model."""


class Network(TypedDict, total=False):
    """Proxy, certificates and name resolution; None is the default. `docs/network.md` documents the fields."""

    proxy: str | Literal[False] | None
    no_proxy: str | Sequence[str] | None
    ca_file: str | None
    client_certificate: str | None
    client_key: str | None
    roots: Literal["system", "bundled", "both"] | None
    resolve: Mapping[str, str] | None


class Settings(TypedDict, total=False):
    """The options that can also be changed later, with `Agent.set_options`."""

    base_url: str | None
    api_key: str | None
    fallbacks: Sequence[_Model] | None
    headers: Mapping[str, str] | None
    thinking_level: _ThinkingLevel | None
    thinking_budgets: Mapping[str, int] | None
    temperature: float | None
    max_tokens: int | None
    stop_sequences: Sequence[str] | None
    tool_choice: Literal["auto", "none", "required"] | _JsonObject | None
    session_id: str | None
    cache_retention: Literal["short", "long", "none"] | None

    max_turns: int | None
    tool_execution: Literal["parallel", "sequential"] | None
    max_parallel_tools: int | None
    validation: Literal["coerce", "strict", "off"] | None
    max_result_bytes: int | None
    steering_mode: _QueueMode | None
    follow_up_mode: _QueueMode | None
    steering_policy: Literal["skip_remaining", "after_batch"] | None
    raw_events: bool | None

    abort_grace_ms: int | None
    connect_timeout_ms: int | None
    first_byte_timeout_ms: int | None
    idle_timeout_ms: int | None
    request_timeout_ms: int | None
    tool_timeout_ms: int | None
    run_timeout_ms: int | None
    max_retries: int | None
    retry_base_ms: int | None
    max_retry_delay_ms: int | None

    network: Network | None


class RunOptions(Settings, total=False):
    """The options of agents and of stateless runs."""

    provider: _Provider | None
    middleware: Iterable[_Middleware] | None
    transform_context: _Hook[list[Message], _Messages | None] | None
    convert_to_llm: _Hook[list[Message], _Messages | None] | None
    get_api_key: _Hook[str, str | None] | None
    before_tool_call: _Hook[BeforeToolCall, _JsonObject | None] | None
    after_tool_call: _Hook[AfterToolCall, _JsonObject | None] | None
    prepare_next_turn: _Hook[TurnSummary, _JsonObject | None] | None
    should_stop_after_turn: _Hook[TurnSummary, bool | None] | None
    get_steering_messages: _Poll | None
    get_follow_up_messages: _Poll | None
    on_payload: _Hook[Payload, _JsonObject | None] | None
    on_response: _Hook[ResponseHead, object] | None
    on_error: _Hook[Failure, object] | None
    before_run: _Hook[list[Message], object] | None
    after_run: _Hook[RunResult, object] | None


class AgentOptions(RunOptions, total=False):
    """The options of agents."""

    system_prompt: str | None
    tools: Iterable[Tool] | None
    messages: _Messages | None
