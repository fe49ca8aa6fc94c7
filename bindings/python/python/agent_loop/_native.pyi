"""The native half of `agent_loop`, for readers and type checkers. Applications import from `agent_loop`.

Messages, blocks, events and results are frozen and may be used from any thread. They can be made from their fields, compared,
pickled and copied; a copy is the same object, and an event from another process has no `partial()`. Their values are converted
when read; the dicts and lists they return are copies. Every `to_dict` returns JSON values in the canonical form, the same in
every language.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context
from os import PathLike
from types import TracebackType
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar, Union, final

from typing_extensions import Self, TypeAlias, disjoint_base
from typing_extensions import TypeVar as _TypeVar

from .errors import AgentError
from .options import Remembered, _HookName, _JsonObject, _Model, _ThinkingLevel
from .tools import Tool

__all__ = [
    "HOOKS",
    "OPTIONS",
    "VERSION",
    "Agent",
    "AssistantMessage",
    "AudioBlock",
    "CallContext",
    "Caller",
    "ContentBlock",
    "Cost",
    "CustomMessage",
    "DocumentBlock",
    "Exchange",
    "Exported",
    "Follow",
    "HostCall",
    "ImageBlock",
    "Imported",
    "JobQueue",
    "LogRecord",
    "Loop",
    "Loss",
    "Message",
    "ModelRequest",
    "NativeFuture",
    "OpaqueBlock",
    "OpenSession",
    "PartialResult",
    "Repair",
    "Repaired",
    "Run",
    "RunResult",
    "STORE_METHODS",
    "Session",
    "Store",
    "Subscription",
    "TextBlock",
    "ThinkingBlock",
    "ToolCall",
    "ToolOutput",
    "ToolResultMessage",
    "ToolSpec",
    "Traces",
    "SuspendedCall",
    "UiFrames",
    "UiRequest",
    "Undelivered",
    "Usage",
    "UserMessage",
    "check",
    "check_call_options",
    "check_context_fields",
    "check_events",
    "check_exchange",
    "export_messages",
    "import_messages",
    "is_retryable",
    "models",
    "plain",
    "plain_result",
    "read_history",
    "estimate_tokens",
    "recent",
    "repair",
    "restore",
    "run_agent",
    "run_program",
    "test_file_name",
    "ui_frames_after",
    "ui_messages",
    "workflow_step",
    # <generated: exports of hook inputs>
    "AfterToolCall",
    "ApprovalRequest",
    "BeforeToolCall",
    "Failure",
    "InterruptedCall",
    "McpElicitation",
    "McpSampling",
    "McpSignIn",
    "NextRequest",
    "Payload",
    "ResponseHead",
    "TurnSummary",
    # </generated>
    # <generated: exports of events>
    "AgentEnd",
    "AgentStart",
    "Diagnostic",
    "Event",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "Raw",
    "Retry",
    "SubagentEvent",
    "TextDelta",
    "TextEnd",
    "TextStart",
    "ThinkingDelta",
    "ThinkingEnd",
    "ThinkingStart",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallStart",
    "ToolCallSuspended",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "TurnEnd",
    "TurnStart",
    # </generated>
]

VERSION: Final[str]
"""The version of the package."""
HOOKS: Final[tuple[_HookName, ...]]
"""The names of all hooks."""
OPTIONS: Final[tuple[str, ...]]
"""The names of all options, `model` included."""
STORE_METHODS: Final[Sequence[tuple[str, Sequence[str]]]]
"""The methods of a custom store, with the names of their parameters."""

_T = TypeVar("_T", covariant=True)
_Output = _TypeVar("_Output", covariant=True, default=Any)
_M = TypeVar("_M", bound="_Message | _JsonObject")

# What is given may be of the base class: mypy infers `list[_Message]` for `[UserMessage("a"), AssistantMessage("b")]`.
_Content: TypeAlias = str | Sequence["_ContentBlock | _JsonObject"]
_StopReason = Literal[
    # <generated: stop reasons>
    "stop",  # The model finished.
    "length",  # The answer was cut at a token limit.
    "tool_use",  # The model called tools.
    "refusal",  # The model refused, or a filter applied.
    "error",  # The model call failed; the message has an `error`.
    "aborted",  # The run was aborted; the message has an `error`.
    # </generated>
]
_Outcome = Literal[
    # <generated: outcomes>
    "aborted",  # The run was aborted: by a call of abort, by what else cancels it in the language, or by the end of its runtime.
    "error",  # The model failed, a hook outside of tool calls failed, or `run_timeout_ms` elapsed.
    "suspended",  # Tool calls wait for a decision.
    "stopped",  # `should_stop_after_turn`, `max_repeated_calls`, or results with `terminate` and no queued message ended it.
    "budget",  # A limit such as `max_cost` was used up, and tool results or queued messages were left.
    "max_turns",  # The last allowed turn left tool results or queued messages.
    "completed",  # No work was left.
    # </generated>
]

# ---- usage ----------------------------------------------------------------------------------------------------------------

@final
class Usage:
    """Tokens of one message, or the sum of a run. The counts are disjoint, except that `reasoning` is part of `output`."""

    def __new__(
        cls,
        *,
        input: int = 0,
        output: int = 0,
        cache_read: int = 0,
        cache_write: int = 0,
        reasoning: int = 0,
        total: int | None = None,
        cost: Cost | None = None,
    ) -> Self: ...

    @property
    def input(self) -> int:
        """Input tokens that were not in a cache."""
    @property
    def output(self) -> int:
        """Output tokens, thinking included."""
    @property
    def cache_read(self) -> int:
        """Input tokens read from the provider's cache."""
    @property
    def cache_write(self) -> int:
        """Input tokens written to the provider's cache."""
    @property
    def reasoning(self) -> int:
        """The part of `output` that was thinking."""
    @property
    def total(self) -> int:
        """`input + output + cache_read + cache_write`."""
    @property
    def cost(self) -> Cost | None:
        """The cost in US dollars; None when no price or no count is known."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class Cost:
    """A cost in US dollars, by kind of token."""

    def __new__(
        cls,
        *,
        input: float = 0.0,
        output: float = 0.0,
        cache_read: float = 0.0,
        cache_write: float = 0.0,
        total: float | None = None,
    ) -> Self: ...

    @property
    def input(self) -> float:
        """For input tokens."""
    @property
    def output(self) -> float:
        """For output tokens."""
    @property
    def cache_read(self) -> float:
        """For tokens read from the cache."""
    @property
    def cache_write(self) -> float:
        """For tokens written to the cache."""
    @property
    def total(self) -> float:
        """The sum."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

# ---- messages -------------------------------------------------------------------------------------------------------------

@disjoint_base
class _Message:
    """One message of a conversation: a `UserMessage`, `AssistantMessage`, `ToolResultMessage` or `CustomMessage`."""

    @property
    def role(self) -> str:
        """`user`, `assistant`, `tool_result`, or the custom role."""
    @property
    def text(self) -> str:
        """All text of the message, joined with nothing between the blocks."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def to_dict(self) -> dict[str, Any]:
        """The message as a dict, which `prompt` and the option `messages` accept."""
    def to_json(self) -> str:
        """The message in canonical JSON, on one line."""

@final
class UserMessage(_Message):
    """The user's text and files."""

    __match_args__: ClassVar[tuple[Literal["content"]]]
    def __new__(
        cls,
        content: _Content,
        *,
        timestamp: int = ...,
        id: str | None = ...,
        metadata: Any = ...,
    ) -> Self: ...
    @property
    def role(self) -> Literal["user"]: ...
    @property
    def content(self) -> tuple[ContentBlock, ...]:
        """The blocks."""
    @property
    def timestamp(self) -> int:
        """When it was made, in milliseconds since the epoch."""
    @property
    def id(self) -> str | None:
        """The application's name for the message, unique in its transcript."""
    @property
    def metadata(self) -> Any:
        """Any JSON of the application, kept with the message and never sent to a model; None when there is none."""

@final
class AssistantMessage(_Message):
    """The model's text, thinking and tool calls."""

    __match_args__: ClassVar[tuple[Literal["content"]]]
    def __new__(
        cls,
        content: _Content,
        *,
        provider: str = ...,
        protocol: str = ...,
        model: str = ...,
        usage: Usage | _JsonObject = ...,
        stop_reason: _StopReason | None = None,
        raw_stop_reason: str | None = None,
        response_id: str | None = None,
        error: AgentError | _JsonObject | None = None,
        timestamp: int = ...,
        id: str | None = ...,
        metadata: Any = ...,
    ) -> Self: ...
    @property
    def role(self) -> Literal["assistant"]: ...
    @property
    def content(self) -> tuple[ContentBlock, ...]:
        """The blocks, in the order in which they started."""
    @property
    def provider(self) -> str:
        """The provider that answered."""
    @property
    def protocol(self) -> str:
        """The wire format of the answer."""
    @property
    def model(self) -> str:
        """The configured model id."""
    @property
    def usage(self) -> Usage:
        """The tokens and the cost of this message."""
    @property
    def stop_reason(self) -> _StopReason | None:
        """Why the message ended; None in a partial message."""
    @property
    def raw_stop_reason(self) -> str | None:
        """The stop reason in the vendor's own word."""
    @property
    def response_id(self) -> str | None:
        """The provider's id of the answer."""
    @property
    def response_model(self) -> str | None:
        """The model that has answered, where the server names another one than was asked for."""
    @property
    def error(self) -> AgentError | None:
        """The error; None unless `stop_reason` is `error` or `aborted`."""
    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in `content`, in the order the model made them."""
    @property
    def timestamp(self) -> int:
        """When the request was made, in milliseconds since the epoch."""
    @property
    def id(self) -> str | None:
        """The application's name for the message, unique in its transcript."""
    @property
    def metadata(self) -> Any:
        """Any JSON of the application, kept with the message and never sent to a model; None when there is none."""

@final
class ToolResultMessage(_Message):
    """The result of a tool call."""

    __match_args__: ClassVar[tuple[Literal["tool_name"], Literal["content"], Literal["is_error"]]]
    def __new__(
        cls,
        tool_name: str,
        content: _Content,
        is_error: bool = False,
        *,
        tool_call_id: str,
        details: Any = None,
        timestamp: int = ...,
        id: str | None = ...,
        metadata: Any = ...,
    ) -> Self: ...
    @property
    def role(self) -> Literal["tool_result"]: ...
    @property
    def tool_call_id(self) -> str:
        """The id of the call."""
    @property
    def tool_name(self) -> str:
        """The name of the tool."""
    @property
    def content(self) -> tuple[ContentBlock, ...]:
        """The blocks for the model."""
    @property
    def details(self) -> Any:
        """Any JSON value for the application; never sent to the model."""
    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
    @property
    def timestamp(self) -> int:
        """When it was made, in milliseconds since the epoch."""
    @property
    def id(self) -> str | None:
        """The application's name for the message, unique in its transcript."""
    @property
    def metadata(self) -> Any:
        """Any JSON of the application, kept with the message and never sent to a model; None when there is none."""

@final
class CustomMessage(_Message):
    """A message of a custom role: kept in the transcript, never sent to a model unless `convert_to_llm` converts it."""

    def __new__(
        cls,
        role: str,
        **fields: Any,
    ) -> Self: ...

    @property
    def data(self) -> dict[str, Any]:
        """The whole message, `role` included."""
    def __getattr__(self, name: str) -> Any:
        """A field of the message, where the class has no attribute of that name. AttributeError if there is none."""

# ---- content blocks -------------------------------------------------------------------------------------------------------

Message: TypeAlias = UserMessage | AssistantMessage | ToolResultMessage | CustomMessage
"""A message: an object of the class of its role. `isinstance` works with it."""

@disjoint_base
class _ContentBlock:
    """A part of a message: a `TextBlock`, `ThinkingBlock`, `ImageBlock`, `DocumentBlock`, `AudioBlock`, `ToolCall`
    or `OpaqueBlock`."""

    @property
    def type(self) -> Literal["text", "thinking", "image", "document", "audio", "tool_call", "opaque"]:
        """The kind of block."""
    @property
    def text(self) -> str:
        """The text of a `TextBlock`; empty in every other block."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class TextBlock(_ContentBlock):
    """Text."""

    __match_args__: ClassVar[tuple[Literal["text"]]]
    def __new__(
        cls,
        text: str,
        *,
        signature: str | None = None,
    ) -> Self: ...
    @property
    def type(self) -> Literal["text"]: ...
    @property
    def signature(self) -> str | None:
        """The vendor's signature, which is sent back with the block."""

@final
class ThinkingBlock(_ContentBlock):
    """The model's reasoning."""

    __match_args__: ClassVar[tuple[Literal["thinking"]]]
    def __new__(
        cls,
        thinking: str,
        *,
        signature: str | None = None,
        redacted: bool = False,
    ) -> Self: ...
    @property
    def type(self) -> Literal["thinking"]: ...
    @property
    def thinking(self) -> str:
        """The text; empty when it is redacted."""
    @property
    def signature(self) -> str | None:
        """The vendor's signature, which is sent back with the block."""
    @property
    def redacted(self) -> bool:
        """Whether the vendor hid the text."""

@final
class ImageBlock(_ContentBlock):
    """An image, base64 or at an address."""

    __match_args__: ClassVar[tuple[Literal["data"], Literal["mime_type"]]]
    def __new__(
        cls,
        data: str | bytes | bytearray | memoryview | None = None,
        mime_type: str | None = None,
        *,
        url: str | None = None,
    ) -> Self:
        """An image of bytes, of base64 text, which needs a `mime_type`, or at a `url`. Usual kinds are recognised in bytes."""
    @classmethod
    def from_path(cls, path: str | PathLike[str], mime_type: str | None = None) -> Self:
        """An image in a file. Raises `OSError` if it cannot be read, ValueError if its type is not recognised."""
    @property
    def type(self) -> Literal["image"]: ...
    @property
    def data(self) -> str | None:
        """The data, base64; None of a file that is given by its `url`."""
    @property
    def url(self) -> str | None:
        """The address that the provider reads it from."""
    @property
    def mime_type(self) -> str:
        """Such as `image/png`; empty where only an address is known."""

@final
class DocumentBlock(_ContentBlock):
    """A document, base64 or at an address: a PDF, a text, or what else the model takes."""

    __match_args__: ClassVar[tuple[Literal["data"], Literal["mime_type"]]]
    def __new__(
        cls,
        data: str | bytes | bytearray | memoryview | None = None,
        mime_type: str | None = None,
        *,
        name: str | None = None,
        url: str | None = None,
    ) -> Self:
        """A document of bytes or base64 text, with its `mime_type` (a PDF is recognised in bytes), or at a `url`."""
    @classmethod
    def from_path(cls, path: str | PathLike[str], mime_type: str | None = None, name: str | None = None) -> Self:
        """A document in a file, with its name. Raises `OSError` if it cannot be read, ValueError for an unknown type."""
    @property
    def type(self) -> Literal["document"]: ...
    @property
    def data(self) -> str | None:
        """The data, base64; None of a file that is given by its `url`."""
    @property
    def url(self) -> str | None:
        """The address that the provider reads it from."""
    @property
    def mime_type(self) -> str:
        """Such as `application/pdf`; empty where only an address is known."""
    @property
    def name(self) -> str | None:
        """The name of the document."""

@final
class AudioBlock(_ContentBlock):
    """Audio, base64 or at an address."""

    __match_args__: ClassVar[tuple[Literal["data"], Literal["mime_type"]]]
    def __new__(
        cls,
        data: str | bytes | bytearray | memoryview | None = None,
        mime_type: str | None = None,
        *,
        url: str | None = None,
    ) -> Self:
        """Audio of bytes, of base64 text, which needs a `mime_type`, or at a `url`. WAV, MP3, Ogg and FLAC are recognised."""
    @classmethod
    def from_path(cls, path: str | PathLike[str], mime_type: str | None = None) -> Self:
        """Audio in a file. Raises `OSError` if it cannot be read, ValueError if its type is not recognised."""
    @property
    def type(self) -> Literal["audio"]: ...
    @property
    def data(self) -> str | None:
        """The data, base64; None of a file that is given by its `url`."""
    @property
    def url(self) -> str | None:
        """The address that the provider reads it from."""
    @property
    def mime_type(self) -> str:
        """Such as `audio/wav`; empty where only an address is known."""

@final
class ToolCall(_ContentBlock):
    """A call of a tool, made by the model."""

    __match_args__: ClassVar[tuple[Literal["name"], Literal["arguments"]]]
    def __new__(
        cls,
        name: str,
        arguments: _JsonObject = ...,
        *,
        id: str,
        raw_arguments: str | None = None,
        signature: str | None = None,
    ) -> Self: ...
    @property
    def type(self) -> Literal["tool_call"]: ...
    @property
    def id(self) -> str:
        """The id of the call."""
    @property
    def name(self) -> str:
        """The name of the tool."""
    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments."""
    @property
    def raw_arguments(self) -> str | None:
        """The exact text of the arguments when it is not a JSON object; `arguments` is empty then."""
    @property
    def signature(self) -> str | None:
        """The vendor's signature, which is sent back with the block."""

@final
class OpaqueBlock(_ContentBlock):
    """A vendor's own block: kept and sent back unchanged."""

    __match_args__: ClassVar[tuple[Literal["protocol"], Literal["data"]]]
    def __new__(
        cls,
        protocol: str,
        data: Any,
    ) -> Self: ...
    @property
    def type(self) -> Literal["opaque"]: ...
    @property
    def protocol(self) -> str:
        """The wire format it belongs to."""
    @property
    def data(self) -> Any:
        """The block as the vendor sent it."""

# ---- events ---------------------------------------------------------------------------------------------------------------

ContentBlock: TypeAlias = TextBlock | ThinkingBlock | ImageBlock | DocumentBlock | AudioBlock | ToolCall | OpaqueBlock
"""A content block: an object of the class of its type. `isinstance` works with it."""

@disjoint_base
class _Event:
    """One event of a run. There is a subclass for each type."""

    @property
    def type(self) -> str:
        """The name of the type, for example `text_delta`."""
    @property
    def run_id(self) -> str:
        """The id of the run."""
    @property
    def seq(self) -> int:
        """The number of the event in its run: 0, 1, 2 … without gaps."""
    @property
    def turn(self) -> int:
        """The number of the turn, from 1; 0 in `AgentStart`."""
    def partial(self) -> AssistantMessage | None:
        """The assistant message as of this event; None for events that are not part of a message's stream."""
    def partial_output(self) -> Any:
        """The typed final answer (option `output`) as far as it is written, in JSON values: what is not whole is left out, but
        for texts. None while there is nothing of it, and for events that are not part of a message's stream."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def to_dict(self) -> dict[str, Any]:
        """The event as a dict."""
    def to_json(self) -> str:
        """The event in canonical JSON, on one line."""

class MessageUpdate(_Event):
    """A part of the assistant message as it streams: one of its subclasses."""

    @property
    def content_index(self) -> int:
        """The index of the block, in the order in which the blocks started."""

# <generated: events>

@final
class AgentStart(_Event):
    """The run begins."""

    __match_args__: ClassVar[tuple[()]]
    def __new__(
        cls,
        *,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["agent_start"]: ...

@final
class TurnStart(_Event):
    """A turn begins."""

    __match_args__: ClassVar[tuple[()]]
    def __new__(
        cls,
        *,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["turn_start"]: ...

@final
class MessageStart(_Event):
    """A message begins. An assistant message is empty then, and has no stop reason yet."""

    __match_args__: ClassVar[tuple[Literal["message"]]]
    def __new__(
        cls,
        message: Message,
        *,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["message_start"]: ...
    @property
    def message(self) -> Message:
        """The message."""

@final
class TextStart(MessageUpdate):
    """A text block begins."""

    __match_args__: ClassVar[tuple[Literal["content_index"]]]
    def __new__(
        cls,
        content_index: int,
        *,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["text_start"]: ...

@final
class TextDelta(MessageUpdate):
    """More text of a text block."""

    __match_args__: ClassVar[tuple[Literal["delta"]]]
    def __new__(
        cls,
        delta: str,
        *,
        content_index: int,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["text_delta"]: ...
    @property
    def delta(self) -> str:
        """The added text."""

@final
class TextEnd(MessageUpdate):
    """A text block is complete."""

    __match_args__: ClassVar[tuple[Literal["block"]]]
    def __new__(
        cls,
        block: TextBlock,
        *,
        content_index: int,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["text_end"]: ...
    @property
    def block(self) -> TextBlock:
        """The complete block."""

@final
class ThinkingStart(MessageUpdate):
    """A thinking block begins."""

    __match_args__: ClassVar[tuple[Literal["content_index"]]]
    def __new__(
        cls,
        content_index: int,
        *,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["thinking_start"]: ...

@final
class ThinkingDelta(MessageUpdate):
    """More text of a thinking block."""

    __match_args__: ClassVar[tuple[Literal["delta"]]]
    def __new__(
        cls,
        delta: str,
        *,
        content_index: int,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["thinking_delta"]: ...
    @property
    def delta(self) -> str:
        """The added text."""

@final
class ThinkingEnd(MessageUpdate):
    """A thinking block is complete."""

    __match_args__: ClassVar[tuple[Literal["block"]]]
    def __new__(
        cls,
        block: ThinkingBlock,
        *,
        content_index: int,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["thinking_end"]: ...
    @property
    def block(self) -> ThinkingBlock:
        """The complete block."""

@final
class ToolCallStart(MessageUpdate):
    """A tool call of the model begins."""

    __match_args__: ClassVar[tuple[Literal["id"], Literal["name"]]]
    def __new__(
        cls,
        id: str,
        name: str,
        *,
        content_index: int,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["tool_call_start"]: ...
    @property
    def id(self) -> str:
        """The call's id."""
    @property
    def name(self) -> str:
        """The tool's name."""

@final
class ToolCallDelta(MessageUpdate):
    """More of a tool call's arguments."""

    __match_args__: ClassVar[tuple[Literal["delta"]]]
    def __new__(
        cls,
        delta: str,
        *,
        content_index: int,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["tool_call_delta"]: ...
    @property
    def delta(self) -> str:
        """The next part of the arguments' JSON text."""

@final
class ToolCallEnd(MessageUpdate):
    """A tool call of the model is complete."""

    __match_args__: ClassVar[tuple[Literal["block"]]]
    def __new__(
        cls,
        block: ToolCall,
        *,
        content_index: int,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["tool_call_end"]: ...
    @property
    def block(self) -> ToolCall:
        """The complete block."""

@final
class MessageEnd(_Event):
    """A message is complete and in the transcript."""

    __match_args__: ClassVar[tuple[Literal["message"]]]
    def __new__(
        cls,
        message: Message,
        *,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["message_end"]: ...
    @property
    def message(self) -> Message:
        """The complete message."""

@final
class ToolExecutionStart(_Event):
    """The execution of a tool call begins."""

    __match_args__: ClassVar[tuple[Literal["tool_name"], Literal["arguments"]]]
    def __new__(
        cls,
        tool_name: str,
        arguments: dict[str, Any],
        *,
        tool_call_id: str,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["tool_execution_start"]: ...
    @property
    def tool_call_id(self) -> str:
        """The call's id."""
    @property
    def tool_name(self) -> str:
        """The tool's name."""
    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as the model gave them, before validation."""

@final
class ToolExecutionUpdate(_Event):
    """A tool reports its progress."""

    __match_args__: ClassVar[tuple[Literal["tool_name"], Literal["partial_result"]]]
    def __new__(
        cls,
        tool_name: str,
        partial_result: PartialResult,
        *,
        tool_call_id: str,
        arguments: dict[str, Any],
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["tool_execution_update"]: ...
    @property
    def tool_call_id(self) -> str:
        """The call's id."""
    @property
    def tool_name(self) -> str:
        """The tool's name."""
    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as the model gave them, before validation."""
    @property
    def partial_result(self) -> PartialResult:
        """The progress that was reported."""

@final
class ToolExecutionEnd(_Event):
    """A tool call has its result."""

    __match_args__: ClassVar[tuple[Literal["tool_name"], Literal["result"], Literal["is_error"]]]
    def __new__(
        cls,
        tool_name: str,
        result: ToolOutput,
        is_error: bool,
        *,
        tool_call_id: str,
        duration_ms: int,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["tool_execution_end"]: ...
    @property
    def tool_call_id(self) -> str:
        """The call's id."""
    @property
    def tool_name(self) -> str:
        """The tool's name."""
    @property
    def result(self) -> ToolOutput:
        """The result."""
    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
    @property
    def duration_ms(self) -> int:
        """The time since the start event, in milliseconds."""

@final
class TurnEnd(_Event):
    """A turn is over."""

    __match_args__: ClassVar[tuple[Literal["message"], Literal["tool_results"]]]
    def __new__(
        cls,
        message: AssistantMessage | None,
        tool_results: tuple[ToolResultMessage, ...],
        *,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["turn_end"]: ...
    @property
    def message(self) -> AssistantMessage | None:
        """The turn's assistant message; null in the first turn of a run that went on with calls of an earlier one, and in a last
        turn for whose model call nothing was left of the budget."""
    @property
    def tool_results(self) -> tuple[ToolResultMessage, ...]:
        """The tool results, in the order of the calls."""

@final
class AgentEnd(_Event):
    """The run is over; no event follows."""

    __match_args__: ClassVar[tuple[Literal["outcome"]]]
    def __new__(
        cls,
        outcome: _Outcome,
        *,
        messages: tuple[Message, ...],
        error: AgentError | None = None,
        turns: int,
        usage: Usage,
        output: Any = None,
        pending: tuple[SuspendedCall, ...] | None = None,
        queued: int,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["agent_end"]: ...
    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages this run added, in transcript order."""
    @property
    def outcome(self) -> _Outcome:
        """Why the run ended."""
    @property
    def error(self) -> AgentError | None:
        """The error; present exactly when the outcome is `error` or `aborted`."""
    @property
    def turns(self) -> int:
        """How many turns began."""
    @property
    def usage(self) -> Usage:
        """The sum over the model calls of the run, with what failed attempts have reported."""
    @property
    def output(self) -> Any:
        """The typed final answer; present if the option `output` asked for one and the run has it."""
    @property
    def pending(self) -> tuple[SuspendedCall, ...] | None:
        """The calls that wait for a decision; present exactly when the outcome is `suspended`."""
    @property
    def queued(self) -> int:
        """How many steering and follow-up messages wait for another run."""

@final
class Retry(_Event):
    """The model call is retried after a backoff."""

    __match_args__: ClassVar[tuple[Literal["attempt"], Literal["delay_ms"], Literal["error"]]]
    def __new__(
        cls,
        attempt: int,
        delay_ms: int,
        error: AgentError,
        *,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["retry"]: ...
    @property
    def attempt(self) -> int:
        """1 for the first retry."""
    @property
    def delay_ms(self) -> int:
        """The backoff that begins now, in milliseconds."""
    @property
    def error(self) -> AgentError:
        """The error of the failed attempt."""

@final
class Diagnostic(_Event):
    """Something was repaired, dropped, late or unusual."""

    __match_args__: ClassVar[tuple[Literal["code"], Literal["message"]]]
    def __new__(
        cls,
        code: str,
        message: str,
        *,
        data: Any,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["diagnostic"]: ...
    @property
    def code(self) -> str:
        """A short word for programs: one of the codes of diagnostics, or a custom provider's."""
    @property
    def message(self) -> str:
        """A sentence for a person to read."""
    @property
    def data(self) -> Any:
        """More; which fields depends on the code."""

@final
class Raw(_Event):
    """One frame as the provider sent it; with the option `raw_events`."""

    __match_args__: ClassVar[tuple[Literal["data"]]]
    def __new__(
        cls,
        data: Any,
        *,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["raw"]: ...
    @property
    def data(self) -> Any:
        """The frame's JSON, or its text where it is not JSON."""

@final
class ToolCallSuspended(_Event):
    """A tool call waits for a decision, in place of its end: the run ends with the outcome `suspended`."""

    __match_args__: ClassVar[tuple[Literal["tool_name"], Literal["arguments"], Literal["reason"]]]
    def __new__(
        cls,
        tool_name: str,
        arguments: dict[str, Any],
        reason: str,
        *,
        tool_call_id: str,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["tool_call_suspended"]: ...
    @property
    def tool_call_id(self) -> str:
        """The call's id."""
    @property
    def tool_name(self) -> str:
        """The tool's name."""
    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments with which the call runs if it is approved."""
    @property
    def reason(self) -> str:
        """Why it waits, for the person who decides."""

@final
class SubagentEvent(_Event):
    """A subagent, an agent that a tool call runs, has emitted an event: between the start and the end of the call."""

    __match_args__: ClassVar[tuple[Literal["path"], Literal["event"]]]
    def __new__(
        cls,
        path: list[str],
        event: Event,
        *,
        tool_call_id: str,
        tool_name: str,
        run_id: str = "run",
        seq: int = 0,
        turn: int = 1,
    ) -> Self: ...
    @property
    def type(self) -> Literal["subagent_event"]: ...
    @property
    def tool_call_id(self) -> str:
        """The call's id."""
    @property
    def tool_name(self) -> str:
        """The tool's name."""
    @property
    def path(self) -> list[str]:
        """The ids of the calls that lead to the subagent, the one of this run first."""
    @property
    def event(self) -> Event:
        """The subagent's event, with the `run_id`, `seq` and `turn` of its own run."""

# </generated>

Event: TypeAlias = Union[
    # <generated: union of events>
    AgentStart,
    TurnStart,
    MessageStart,
    TextStart,
    TextDelta,
    TextEnd,
    ThinkingStart,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallStart,
    ToolCallDelta,
    ToolCallEnd,
    MessageEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    ToolExecutionEnd,
    TurnEnd,
    AgentEnd,
    Retry,
    Diagnostic,
    Raw,
    ToolCallSuspended,
    SubagentEvent,
    # </generated>
]
"""An event: an object of the class of its type. `isinstance` works with it."""

@final
class ToolOutput:
    """A tool's result as events and hooks carry it."""

    def __new__(
        cls,
        content: _Content,
        *,
        details: Any = None,
        terminate: bool = False,
    ) -> Self: ...

    @property
    def content(self) -> tuple[ContentBlock, ...]:
        """The text and files for the model."""
    @property
    def details(self) -> Any:
        """Any JSON value for the application; never sent to the model."""
    @property
    def terminate(self) -> bool:
        """Whether the run may end after this turn."""
    @property
    def text(self) -> str:
        """All text, joined with nothing between the blocks."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class PartialResult:
    """A tool's progress update, before its result."""

    def __new__(
        cls,
        content: _Content,
        *,
        details: Any = None,
    ) -> Self: ...

    @property
    def content(self) -> tuple[ContentBlock, ...]:
        """The text and files."""
    @property
    def details(self) -> Any:
        """Any JSON value for the application."""
    @property
    def text(self) -> str:
        """All text, joined with nothing between the blocks."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

# ---- results and subscriptions --------------------------------------------------------------------------------------------

@final
class RunResult(Generic[_Output]):
    """The result of a run. In `RunResult[T]`, T is the type of its typed final answer."""

    def __new__(
        cls,
        *,
        outcome: _Outcome = "completed",
        messages: Sequence[_Message | _JsonObject] | None = None,
        usage: Usage | None = None,
        turns: int | None = None,
        error: AgentError | None = None,
        pending: Sequence[SuspendedCall] | None = None,
        undelivered: Undelivered | None = None,
        output: Any = None,
    ) -> Self: ...

    @property
    def outcome(self) -> _Outcome:
        """Why the run ended."""
    @property
    def text(self) -> str:
        """The text of the last assistant message."""
    @property
    def message(self) -> AssistantMessage | None:
        """The last assistant message; None when no turn began."""
    @property
    def stop_reason(self) -> _StopReason | None:
        """Why that message ended. A run is completed, too, if its answer was cut (`length`) or refused."""
    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages this run appended, in transcript order."""
    @property
    def usage(self) -> Usage:
        """The sum over the model calls of the run, with what failed attempts have reported."""
    @property
    def turns(self) -> int:
        """How many turns began."""
    @property
    def output(self) -> _Output:
        """The typed final answer that the option `output` asked for, a value of its type; None if the run has none: it was not
        asked for, the model refused, or the run ended before it was given."""
    def _read_by(self, reader: Callable[[Any], Any]) -> RunResult[Any]: ...
    @classmethod
    def __class_getitem__(cls, _of: Any) -> type[Self]: ...
    @property
    def error(self) -> AgentError | None:
        """The error; None unless the outcome is `error` or `aborted`."""
    @property
    def pending(self) -> tuple[SuspendedCall, ...]:
        """The tool calls that wait for a decision, which `Agent.resume` takes; empty unless the outcome is `suspended`."""
    @property
    def undelivered(self) -> Undelivered | None:
        """The queued messages that a stateless run did not append; None for an agent's run, where they stay queued."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def to_tool_result(self) -> dict[str, Any]:
        """What a tool returns that has run the agent: its typed answer or its text; where the run ended without one, an error
        that says so, with the text there was. The `details` have the outcome, the turns and the usage."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""
    def to_json(self) -> str:
        """The object in canonical JSON, on one line."""

@final
class SuspendedCall:
    """A tool call that waits for a decision, which `Agent.resume` takes."""

    def __new__(
        cls,
        tool_call_id: str,
        tool_name: str,
        arguments: _JsonObject,
        reason: str,
        *,
        rule: str = "",
        idempotency_key: str = "",
    ) -> Self: ...

    @property
    def tool_call_id(self) -> str:
        """The call's id, by which it is decided."""
    @property
    def tool_name(self) -> str:
        """The tool's name."""
    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments with which it runs if it is approved; the model's own of a call that was not checked yet."""
    @property
    def reason(self) -> str:
        """Why it waits, for the person who decides."""
    @property
    def rule(self) -> str:
        """The rule that is remembered if the decision is for always; it is about this call alone. Empty in an older export."""
    @property
    def idempotency_key(self) -> str:
        """The same however often the call is executed, and wherever."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class Undelivered:
    """Queued messages that a stateless run did not append, in order."""

    def __new__(
        cls,
        *,
        steering: Sequence[_Message | _JsonObject] | None = None,
        follow_up: Sequence[_Message | _JsonObject] | None = None,
    ) -> Self: ...

    @property
    def steering(self) -> tuple[Message, ...]:
        """The messages of the steering queue."""
    @property
    def follow_up(self) -> tuple[Message, ...]:
        """The messages of the follow-up queue."""
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any) -> Self: ...
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class Subscription:
    """A registered listener. As a context manager, it unsubscribes on exit. For any thread."""

    def unsubscribe(self) -> None:
        """Removes the listener; it is not called again. May be called any number of times."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: type[BaseException] | BaseException | TracebackType | None) -> None: ...

# ---- inputs of hooks and custom providers ---------------------------------------------------------------------------------

# <generated: inputs of hooks>

@final
class BeforeToolCall:
    """A call that is about to run."""

    @property
    def tool_call_id(self) -> str:
        """The id of the call."""
    @property
    def tool_name(self) -> str:
        """The name of the tool."""
    @property
    def arguments(self) -> dict[str, Any]:
        """The validated arguments."""
    @property
    def message(self) -> AssistantMessage:
        """The message that made the call."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class AfterToolCall:
    """A call that ran, successfully or not."""

    @property
    def tool_call_id(self) -> str:
        """The id of the call."""
    @property
    def tool_name(self) -> str:
        """The name of the tool."""
    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments that the tool got."""
    @property
    def result(self) -> ToolOutput:
        """The result of the tool."""
    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class InterruptedCall:
    """A call without a result: the process ended while it ran, or the transcript is from elsewhere."""

    @property
    def tool_call_id(self) -> str:
        """The id of the call."""
    @property
    def tool_name(self) -> str:
        """The name of the tool."""
    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as the model gave them."""
    @property
    def idempotency_key(self) -> str:
        """The same in each execution of the call."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class ApprovalRequest:
    """A call that needs approval."""

    @property
    def tool_call_id(self) -> str:
        """The id of the call."""
    @property
    def tool_name(self) -> str:
        """The name of the tool."""
    @property
    def arguments(self) -> dict[str, Any]:
        """The validated arguments."""
    @property
    def reason(self) -> str:
        """Why it needs approval, for the person who decides."""
    @property
    def rule(self) -> str:
        """The rule that is remembered if the decision is for always. It is about this call alone."""
    @property
    def idempotency_key(self) -> str:
        """The same in each execution of the call."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class TurnSummary:
    """A turn that is over."""

    @property
    def turn(self) -> int:
        """The number of the turn, from 1."""
    @property
    def message(self) -> AssistantMessage:
        """The assistant message of the turn."""
    @property
    def tool_results(self) -> tuple[ToolResultMessage, ...]:
        """The results of its tool calls."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class NextRequest:
    """A request that is about to be made."""

    @property
    def turn(self) -> int:
        """The number of the turn, from 1."""
    @property
    def model(self) -> str:
        """The model, `provider/id`."""
    @property
    def system_prompt(self) -> str:
        """The text that precedes the messages."""
    @property
    def tools(self) -> list[str]:
        """The names of the tools that the model is offered."""
    @property
    def thinking_level(self) -> _ThinkingLevel:
        """How much thinking is asked for."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class Payload:
    """A request that is about to be sent."""

    @property
    def provider(self) -> str:
        """The provider that the request is for."""
    @property
    def model(self) -> str:
        """The model's id at the provider."""
    @property
    def payload(self) -> dict[str, Any]:
        """The body of the request, in the provider's format."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class ResponseHead:
    """The status and the headers of an HTTP response."""

    @property
    def provider(self) -> str:
        """The provider that answered."""
    @property
    def status(self) -> int:
        """The HTTP status."""
    @property
    def headers(self) -> dict[str, str]:
        """The headers by lower-case name; several of one name are joined with commas."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class Failure:
    """A failure of a model call or of the run."""

    @property
    def error(self) -> AgentError:
        """The error."""
    @property
    def attempt(self) -> int:
        """The attempt of the model call, from 1; 0 if no model call failed."""
    @property
    def will_retry(self) -> bool:
        """Whether a retry follows."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class McpSampling:
    """What a server of MCP asks a model."""

    @property
    def server(self) -> str:
        """The server, by the name that messages have for it."""
    @property
    def prompt(self) -> str:
        """The texts of its messages."""
    @property
    def system_prompt(self) -> str | None:
        """The text that is to precede the messages, if it gives one."""
    @property
    def max_tokens(self) -> int:
        """The most tokens of the answer."""
    @property
    def request(self) -> dict[str, Any]:
        """All that it asks with, as MCP has it: `messages`, `modelPreferences`, `temperature` and others."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class McpElicitation:
    """What a server of MCP asks the user."""

    @property
    def server(self) -> str:
        """The server, by the name that messages have for it."""
    @property
    def message(self) -> str:
        """What the user is to read."""
    @property
    def requested_schema(self) -> dict[str, Any]:
        """The JSON Schema of the answer: an object of plain values."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class McpSignIn:
    """A sign-in that a server of MCP wants."""

    @property
    def server(self) -> str:
        """The server, by the name that messages have for it."""
    @property
    def url(self) -> str:
        """The address where the user signs in."""
    @property
    def redirect_uri(self) -> str:
        """Where the browser is sent to after that. At a loopback address the engine listens."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

# </generated>

@final
class ModelRequest:
    """The request to a custom provider."""

    @property
    def model(self) -> str:
        """`provider/id`."""
    @property
    def system_prompt(self) -> str:
        """The system prompt; empty if there is none."""
    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages for the model, shared with the engine."""
    @property
    def tools(self) -> list[dict[str, Any]]:
        """A dict `{"name", "description", "parameters"}` for each tool."""
    @property
    def thinking_level(self) -> _ThinkingLevel:
        """The requested thinking level."""
    @property
    def options(self) -> dict[str, Any]:
        """The set ones of `temperature`, `top_p`, `top_k`, `seed`, `frequency_penalty`, `presence_penalty`, `max_tokens`,
        `stop_sequences`, `tool_choice`, `session_id`, `cache_retention`, `thinking_budgets`, `extra_body`,
        `hosted_tools` and `headers`."""
    @property
    def api_key(self) -> str | None:
        """The configured key, or the one from `get_api_key`. Left out of `to_dict`."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

# ---- transcript repair ----------------------------------------------------------------------------------------------------

@final
class Repair:
    """One change that a transcript needs."""

    __match_args__: ClassVar[tuple[Literal["code"], Literal["text"]]]
    @property
    def code(self) -> str:
        """What kind of change: one of `REPAIR_CODES`."""
    @property
    def message_index(self) -> int:
        """The index of the message in the transcript."""
    @property
    def content_index(self) -> int | None:
        """The index of the block in its message; None when the change is not about one block."""
    @property
    def text(self) -> str:
        """A sentence in English."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class Repaired:
    """A repaired transcript and its changes."""

    __match_args__: ClassVar[tuple[Literal["messages"], Literal["repairs"]]]
    @property
    def messages(self) -> tuple[Message, ...]:
        """The valid transcript. Messages that needed no change are shared, not copied."""
    @property
    def repairs(self) -> tuple[Repair, ...]:
        """The changes, in transcript order."""

# ---- transcripts of other programs ----------------------------------------------------------------------------------------

@final
class Loss:
    """Something that a conversion did not carry over."""

    __match_args__: ClassVar[tuple[Literal["code"], Literal["message"]]]
    @property
    def index(self) -> int:
        """The index of the message, item or entry that was given."""
    @property
    def code(self) -> str:
        """What kind of loss: one of `LOSS_CODES`."""
    @property
    def message(self) -> str:
        """A sentence in English."""
    def to_dict(self) -> dict[str, Any]:
        """The object as a dict of JSON values."""

@final
class Imported:
    """The messages that were read of another program's."""

    __match_args__: ClassVar[tuple[Literal["messages"], Literal["system_prompt"], Literal["losses"]]]
    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages, as an agent takes them."""
    @property
    def system_prompt(self) -> str:
        """What `system` and `developer` messages said; empty without any."""
    @property
    def losses(self) -> tuple[Loss, ...]:
        """What was not carried over, in the order of the messages given."""

@final
class Exported:
    """Messages as another program has them."""

    __match_args__: ClassVar[tuple[Literal["messages"], Literal["losses"]]]
    @property
    def messages(self) -> list[Any]:
        """The messages, items, contents or entries, as dicts; the list is yours."""
    @property
    def losses(self) -> tuple[Loss, ...]:
        """What was not carried over, in the order of the messages given."""

def import_messages(format: str, messages: Sequence[Any] | str, *, model: _Model | None = None) -> Imported:
    """Reads messages of another program: a list of dicts, or its text (of pi, the lines of a session's file).

    `format` is `openai_chat`, `openai_responses`, `anthropic`, `gemini`, `ai_sdk` or `pi`; each has a function of its own, such
    as `from_openai`. `model`, given as for `Agent`, is who wrote what the model said, where the messages do not say it.
    Raises `InvalidArgumentError` for what is no list of such messages, with a JSON pointer to what is wrong."""

def export_messages(format: str, messages: Sequence[_Message | _JsonObject], *, system_prompt: str = "") -> Exported:
    """Writes messages for another program; the formats are those of `import_messages`, each with a function such as `to_openai`.

    The system prompt becomes the first message where the format has a place for it; else it is among the losses.
    Raises `InvalidArgumentError` for an unknown format or a wrong message."""

def restore(kind: str, text: str) -> Any: ...
def plain(value: object, what: str) -> Any: ...
def plain_result(value: Any, what: str) -> Any: ...

def read_history(history: Sequence[_Message | _JsonObject] | str) -> list[Message]:
    """Reads a stored history: a list of messages as dicts, or its JSON text; the list is yours.

    Fields that no message has are moved to `metadata["unknown"]`, and so is an `id` that is no text or is there twice; `check`
    and each run report these messages (`unknown_field`). Raises `InvalidArgumentError` for what is not a list of messages, and
    says where; TypeError for what is not JSON."""

def repair(messages: Sequence[_Message | _JsonObject], model: _Model) -> Repaired:
    """Makes a transcript valid for a model, which is given as for `Agent`. For any thread; the arguments are not changed.

    Failed messages are left out, with the results of their calls. Each call gets one result, directly after its message. Call
    ids, thinking, signatures and images become what the model accepts. Messages of custom roles are left out without a `Repair`.
    Raises `InvalidArgumentError` for a wrong message or model, TypeError for what is not a list or not JSON."""

def check(messages: Sequence[_Message | _JsonObject], model: _Model) -> list[Repair]:
    """The changes that `repair` would make; empty when the transcript is valid. Raises what `repair` does."""

def estimate_tokens(messages: Sequence[_Message | _JsonObject]) -> int:
    """How many tokens the messages have for a model, about: by their characters, and 1,500 for an image.

    Raises what `repair` does."""

def recent(messages: Sequence[_M], count: int) -> list[_M]:
    """The last `count` messages, or fewer: they begin with a user's message, so that no result is cut from its call.

    If the last one is farther back, all that follows it; without any, all. They are the same objects. For `transform_context`,
    where what is left out stays in the transcript. Raises what `repair` does."""

# ---- used by the package's Python modules ---------------------------------------------------------------------------------

@final
class Agent:
    def __new__(
        cls,
        model: _Model,
        options: dict[str, Any],
        providers: Sequence[tuple[str | None, tuple[Callable[[HostCall], Any], bool]]] = ...,
        plugins: Sequence[str | PathLike[str]] = ...,
    ) -> Self: ...
    def set_options(self, options: dict[str, Any]) -> None: ...
    @property
    def tracer_provider(self) -> Any: ...
    def set_session(self, session: OpenSession) -> None: ...
    @property
    def interrupted(self) -> dict[str, Any] | None: ...
    def flush(self, queue: JobQueue) -> NativeFuture[None]: ...
    def set_provider(self, name: str | None, function: tuple[Callable[[HostCall], Any], bool] | None) -> None: ...
    def set_hook(self, name: str, function: Callable[[HostCall], Any] | None) -> None: ...
    def add_plugin(self, path: str | PathLike[str]) -> None: ...
    def add_middleware(self, function: Callable[[HostCall], Any]) -> None: ...
    def set_model(self, model: _Model) -> None: ...
    def set_tools(self, tools: list[Tool]) -> None: ...
    def fork(self, messages: Any) -> Agent: ...
    def take_over(self, context: CallContext, caller: Caller) -> str: ...
    def check_turn_of(self, context: CallContext) -> None: ...
    def start(
        self,
        prompt: Any,
        options: Mapping[str, Any],
        quiet: bool,
        caller: Caller,
        within: tuple[CallContext, str] | None = None,
    ) -> Run: ...
    def resume(
        self,
        quiet: bool,
        if_queued: bool,
        given: Mapping[str, Any] | None,
        options: Mapping[str, Any],
        caller: Caller,
        within: tuple[CallContext, str] | None = None,
    ) -> Run: ...
    def may_resume_queued(self) -> bool: ...
    def start_stateless(
        self, system_prompt: str, messages: Any, prompt: Any, given: Mapping[str, Any] | None, caller: Caller
    ) -> Run: ...
    def start_call(self, messages: Any, quiet: bool, caller: Caller) -> Run: ...
    def start_replay(self, recording: str | PathLike[str], run: int, caller: Caller) -> Run: ...
    def steer(self, message: Any) -> Literal["joined", "queued"]: ...
    def follow_up(self, message: Any) -> Literal["joined", "queued"]: ...
    def clear_steering_queue(self) -> None: ...
    def clear_follow_up_queue(self) -> None: ...
    def clear_all_queues(self) -> None: ...
    def has_queued_messages(self) -> bool: ...
    def append_message(self, message: Any) -> None: ...
    def append_messages(self, messages: Any) -> None: ...
    def undo_writes(self, count: int) -> Any: ...
    def replace_messages(self, messages: Any) -> None: ...
    def clear_messages(self) -> None: ...
    def export(self, key: bytes | None) -> str: ...
    def begin_with_export(self, text: str, key: bytes | None) -> None: ...
    def reset(self) -> None: ...
    def forget(self, rule: str | None) -> None: ...
    def stop_after_turn(self) -> None: ...
    def abort(self) -> None: ...
    def connect_mcp(self, caller: Caller) -> NativeFuture[None]: ...
    def mcp_tools(self, caller: Caller) -> NativeFuture[list[Any]]: ...
    def serve_mcp(self, options: dict[str, Any], caller: Caller) -> NativeFuture[None]: ...
    def close_mcp(self) -> NativeFuture[None]: ...
    def wait_for_idle(self, inside: tuple[int, ...]) -> NativeFuture[None]: ...
    def subscribe(self, function: Callable[[Event], Awaitable[object] | object]) -> Subscription: ...
    @property
    def system_prompt(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def thinking_level(self) -> _ThinkingLevel: ...
    @property
    def abort_grace_ms(self) -> int: ...
    @property
    def tools(self) -> tuple[Tool, ...]: ...
    @property
    def messages(self) -> tuple[Message, ...]: ...
    @property
    def is_streaming(self) -> bool: ...
    @property
    def streaming_message(self) -> AssistantMessage | None: ...
    @property
    def pending_tool_calls(self) -> tuple[str, ...]: ...
    @property
    def pending(self) -> tuple[SuspendedCall, ...]: ...
    @property
    def remembered(self) -> Remembered: ...
    @property
    def error(self) -> AgentError | None: ...
    @property
    def listener_errors(self) -> int: ...

@final
class Caller:
    def __new__(
        cls,
        queue: JobQueue,
        vars: Context,
        marker: int,
        inside: tuple[int, ...],
        is_debugged: bool,
        traces: Traces | None = None,
    ) -> Self: ...

@final
class Traces:
    SCOPE: str
    SCHEMA_URL: str
    def __new__(cls, number: int) -> Self: ...
    @property
    def number(self) -> int: ...
    @staticmethod
    def instruments() -> list[tuple[str, str, str, list[float]]]: ...
    def take(self) -> list[tuple[Any, ...]]: ...

@final
class Run:
    @property
    def id(self) -> str: ...
    @property
    def finished(self) -> RunResult | None: ...
    def steer(self, message: Any) -> Literal["joined", "queued"]: ...
    def follow_up(self, message: Any) -> Literal["joined", "queued"]: ...
    def stop_after_turn(self) -> None: ...
    def abort(self) -> None: ...
    def drain(self, queue: JobQueue, number: int) -> list[Event] | None: ...
    def keep_events(self) -> None: ...
    def drain_ui(self, queue: JobQueue, number: int, frames: UiFrames) -> str | None: ...
    def outcome(self, inside: tuple[int, ...]) -> NativeFuture[RunResult]: ...

def ui_frames_after(sent: str, last_event_id: str) -> str | None: ...
def ui_messages(agent: Agent, options: Any, until: int | None = None) -> list[Any]: ...

@final
class UiFrames:
    def __new__(cls, protocol: str, options: Any, request: UiRequest | None) -> Self: ...
    @property
    def headers(self) -> dict[str, str]: ...
    @property
    def keep_alive_ms(self) -> int | None: ...
    def push(self, event: Event) -> str: ...

@final
class UiRequest:
    @staticmethod
    def read(protocol: str, body: Any, options: Any) -> UiRequest: ...
    @property
    def id(self) -> str | None: ...
    @property
    def run_id(self) -> str | None: ...
    @property
    def message_id(self) -> str | None: ...
    @property
    def is_regenerate(self) -> bool: ...
    @property
    def history(self) -> tuple[Message, ...]: ...
    @property
    def prompt(self) -> Message | None: ...
    @property
    def losses(self) -> tuple[Loss, ...]: ...
    def start(self, agent: Agent) -> dict[str, Any]: ...

@final
class NativeFuture(Generic[_T]):
    def close(self) -> None: ...
    def poll(self, queue: JobQueue, number: int) -> tuple[_T] | None: ...

def check_exchange(options: dict[str, Any]) -> None: ...
def workflow_step(operation: str, given: Any, state: Any = None) -> dict[str, Any]: ...

@final
class Exchange:
    def send(self) -> NativeFuture[dict[str, Any]]: ...
    def cancel(self) -> None: ...

@final
class JobQueue:
    def __new__(cls, wake: Callable[[], object] | None = None) -> Self: ...
    def fileno(self) -> int | None: ...
    def take(self) -> list[int | HostCall | LogRecord | Traces]: ...
    def close(self) -> None: ...

@final
class Store:
    @staticmethod
    def open(address: str, options: dict[str, Any]) -> Store: ...
    @staticmethod
    def custom(
        object: Any, name: str, blocking: list[str], has_changed: bool, vars: Context, options: dict[str, Any]
    ) -> Store: ...
    @property
    def name(self) -> str: ...
    def session(self, id: str) -> Session: ...
    def list(self, queue: JobQueue, query: dict[str, Any]) -> NativeFuture[dict[str, Any]]: ...
    def import_text(self, queue: JobQueue, text: str, id: str | None) -> NativeFuture[Session]: ...

@final
class Session:
    @property
    def id(self) -> str: ...
    def info(self, queue: JobQueue) -> NativeFuture[dict[str, Any] | None]: ...
    def records(self, queue: JobQueue, after: int, limit: int) -> NativeFuture[list[dict[str, Any]]]: ...
    def follow(self, after: int, live: bool) -> Follow: ...
    def set_info(self, queue: JobQueue, info: dict[str, Any]) -> NativeFuture[None]: ...
    def fork(self, queue: JobQueue, at: int | None, id: str) -> NativeFuture[Session]: ...
    def delete(self, queue: JobQueue) -> NativeFuture[None]: ...
    def export(self, queue: JobQueue) -> NativeFuture[str]: ...
    def salvage(self, queue: JobQueue) -> NativeFuture[dict[str, Any]]: ...
    def open_for(self, agent: Agent, is_in_event_loop: bool) -> OpenSession: ...
    def open(self, queue: JobQueue) -> NativeFuture[OpenSession]: ...

@final
class Follow:
    def next(self, queue: JobQueue) -> NativeFuture[dict[str, Any]]: ...

@final
class OpenSession:
    @property
    def id(self) -> str: ...
    @property
    def last(self) -> int: ...
    @property
    def messages(self) -> tuple[Message, ...]: ...
    @property
    def rebuilt(self) -> dict[str, Any]: ...
    @property
    def diagnostics(self) -> tuple[dict[str, Any], ...]: ...
    def append(self, queue: JobQueue, records: Sequence[Mapping[str, Any]]) -> NativeFuture[int]: ...
    def set_info(self, queue: JobQueue, info: dict[str, Any]) -> NativeFuture[None]: ...
    def flush(self, queue: JobQueue) -> NativeFuture[None]: ...
    def close(self, queue: JobQueue) -> NativeFuture[None]: ...

@final
class LogRecord:
    @property
    def level(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def vars(self) -> Context | None: ...
    def fields(self) -> dict[str, Any]: ...

@final
class ToolSpec:
    def __new__(cls, fields: dict[str, Any]) -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> dict[str, Any]: ...
    @property
    def execution_mode(self) -> Literal["parallel", "sequential"] | None: ...
    @property
    def timeout_ms(self) -> int: ...
    def check(self, arguments: Mapping[str, Any], validation: str) -> dict[str, Any]: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class Loop:
    def __new__(cls, options: dict[str, Any]) -> Self: ...
    @staticmethod
    def load(text: str) -> Loop: ...
    def poll(self, now_ms: float) -> dict[str, Any] | None: ...
    def handle(self, input: Mapping[str, Any]) -> None: ...
    def model_bytes(self, call: int, data: bytes | bytearray) -> None: ...
    def open_actions(self) -> list[dict[str, Any]]: ...
    def exchange(self, call: int, options: dict[str, Any]) -> Exchange: ...
    def save(self) -> str: ...
    def export(self) -> str: ...

@final
class CallContext:
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def idempotency_key(self) -> str: ...
    @property
    def is_cancelled(self) -> bool: ...
    def update(self, partial: Any) -> None:
        """Reports progress; of a call's updates at most 64 wait, then the newest replaces the last (`updates_replaced`)."""
    def wait_cancelled(self) -> NativeFuture[None]: ...
    def sleep(self, ms: float) -> NativeFuture[bool]: ...
    def sleep_sync(self, ms: float) -> bool: ...

@final
class HostCall:
    @property
    def kind(self) -> Literal["tool", "hook", "middleware", "listener", "model", "store"]: ...
    @property
    def function(self) -> Callable[..., Any]: ...
    @property
    def vars(self) -> Context: ...
    @property
    def within(self) -> Context | None: ...
    @property
    def span(self) -> int: ...
    @property
    def store_method(self) -> str | None: ...
    @property
    def hook(self) -> str | None: ...
    @property
    def tool_call_id(self) -> str | None: ...
    @property
    def batch(self) -> int | None: ...
    @property
    def context(self) -> CallContext: ...
    @property
    def is_cancelled(self) -> bool: ...
    @property
    def is_over(self) -> bool: ...
    def arguments(self) -> dict[str, Any]: ...
    def take_input(self) -> tuple[Any, ...]: ...
    def request(self) -> ModelRequest: ...
    def sleep(self, ms: float) -> NativeFuture[bool]: ...
    def next(self, arguments: dict[str, Any] | None, vars: Context) -> NativeFuture[dict[str, Any]]: ...
    def push(self, chunk: Any) -> None: ...
    def ready(self) -> NativeFuture[bool]: ...
    def ready_sync(self) -> bool: ...
    def respond(self, value: Any = None) -> None: ...
    def fail(self, message: str, exception: BaseException) -> None: ...
    def fail_with(self, error: dict[str, Any], exception: BaseException) -> None: ...
    def watch(self, queue: JobQueue, number: int, once_more: bool = False) -> bool: ...

def check_call_options(names: list[str]) -> None: ...
def check_context_fields(names: list[str]) -> None: ...
def check_events(events: list[_Event | Mapping[str, Any]]) -> None: ...
def is_retryable(kind: str) -> bool: ...
def test_file_name(module: str, test: str) -> str: ...
def run_agent(arguments: list[str]) -> int: ...
def run_program(given: tuple[Any, ...], arguments: list[str], caller: Caller) -> NativeFuture[int]: ...
def models() -> list[dict[str, Any]]:
    """The known models, by provider and id, each a dict that `Agent` takes as its model. For any thread.

    The fields are `provider`, `id`, `label`, `context_window` and `max_output_tokens` (tokens), `input`, `thinking`, and where
    known `cost` (US dollars per million tokens: `input`, `output`, `cache_read`, `cache_write`, and `tiers` where long prompts
    cost more) and `quirks`. What a model's name or dict leaves out is taken from here. A model that is not listed works too,
    with an unknown cost."""
