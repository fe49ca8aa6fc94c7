"""The native half of `agent_loop`, for readers and type checkers.

Messages, blocks, events and results are frozen. What they show is converted when looked at; dicts and lists they give are
copies.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context
from types import TracebackType
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar, final

from typing_extensions import Self, disjoint_base

from .errors import AgentError
from .options import _JsonObject, _Model, _ThinkingLevel
from .tools import Tool

__all__ = [
    "HOOKS",
    "VERSION",
    "AfterToolCall",
    "Agent",
    "AgentEnd",
    "AgentStart",
    "Asking",
    "AssistantMessage",
    "BeforeToolCall",
    "Call",
    "CallContext",
    "Caller",
    "ContentBlock",
    "Cost",
    "CustomMessage",
    "Diagnostic",
    "Event",
    "Failure",
    "ImageBlock",
    "Mailbox",
    "Message",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "ModelCall",
    "ModelRequest",
    "OpaqueBlock",
    "PartialResult",
    "Passing",
    "Payload",
    "Pending",
    "Raw",
    "Repair",
    "Repaired",
    "ResponseHead",
    "Retry",
    "Run",
    "RunResult",
    "Subscription",
    "Telling",
    "TextBlock",
    "TextDelta",
    "TextEnd",
    "TextStart",
    "ThinkingBlock",
    "ThinkingDelta",
    "ThinkingEnd",
    "ThinkingStart",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallStart",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "ToolOutput",
    "ToolResultMessage",
    "ToolSpec",
    "TurnEnd",
    "TurnStart",
    "TurnSummary",
    "Undelivered",
    "Usage",
    "UserMessage",
    "check",
    "check_events",
    "is_retryable",
    "models",
    "repair",
]

VERSION: Final[str]
HOOKS: Final[tuple[str, ...]]

_T = TypeVar("_T", covariant=True)

_StopReason = Literal["stop", "length", "tool_use", "refusal", "error", "aborted"]
_Outcome = Literal["completed", "stopped", "max_turns", "aborted", "error"]

# ---- usage ----------------------------------------------------------------------------------------------------------------

@final
class Usage:
    """Tokens of one message, or the sum of a run. The counts are disjoint except that `reasoning` is part of `output`."""

    @property
    def input(self) -> int:
        """Tokens read that were not in a cache."""
    @property
    def output(self) -> int:
        """Tokens written by the model, thinking included."""
    @property
    def cache_read(self) -> int: ...
    @property
    def cache_write(self) -> int: ...
    @property
    def reasoning(self) -> int:
        """The part of `output` that was thinking."""
    @property
    def total(self) -> int:
        """`input + output + cache_read + cache_write`."""
    @property
    def cost(self) -> Cost | None:
        """None when no price is known."""
    def to_dict(self) -> dict[str, Any]: ...

@final
class Cost:
    """A price in US dollars."""

    @property
    def input(self) -> float: ...
    @property
    def output(self) -> float: ...
    @property
    def cache_read(self) -> float: ...
    @property
    def cache_write(self) -> float: ...
    @property
    def total(self) -> float: ...
    def to_dict(self) -> dict[str, Any]: ...

# ---- messages -------------------------------------------------------------------------------------------------------------

@disjoint_base
class Message:
    """One message of a conversation: a `UserMessage`, `AssistantMessage`, `ToolResultMessage` or `CustomMessage`."""

    @property
    def role(self) -> str:
        """`user`, `assistant`, `tool_result` or the application's own word."""
    @property
    def text(self) -> str:
        """All text of the message, joined with nothing between the blocks."""
    def to_dict(self) -> dict[str, Any]:
        """The message in canonical JSON values, as `prompt` and the option `messages` take it."""
    def to_json(self) -> str:
        """The message in canonical JSON."""

@final
class UserMessage(Message):
    """What the user said: text and images."""

    __match_args__: ClassVar[tuple[Literal["content"]]]
    @property
    def content(self) -> tuple[ContentBlock, ...]: ...
    @property
    def timestamp(self) -> int:
        """Milliseconds since the epoch."""

@final
class AssistantMessage(Message):
    """What the model said: text, thinking, tool calls."""

    __match_args__: ClassVar[tuple[Literal["content"]]]
    @property
    def content(self) -> tuple[ContentBlock, ...]: ...
    @property
    def provider(self) -> str: ...
    @property
    def protocol(self) -> str: ...
    @property
    def model(self) -> str:
        """The configured model id."""
    @property
    def usage(self) -> Usage: ...
    @property
    def stop_reason(self) -> _StopReason | None:
        """None in a partial message."""
    @property
    def raw_stop_reason(self) -> str | None:
        """The vendor's own word."""
    @property
    def response_id(self) -> str | None: ...
    @property
    def error(self) -> AgentError | None:
        """There exactly when `stop_reason` is `error` or `aborted`."""
    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in `content`, in the order the model made them."""
    @property
    def timestamp(self) -> int:
        """When the request was made, in milliseconds since the epoch."""

@final
class ToolResultMessage(Message):
    """What a tool answered."""

    __match_args__: ClassVar[tuple[Literal["tool_name"], Literal["content"], Literal["is_error"]]]
    @property
    def tool_call_id(self) -> str: ...
    @property
    def tool_name(self) -> str: ...
    @property
    def content(self) -> tuple[ContentBlock, ...]: ...
    @property
    def details(self) -> Any:
        """Anything for the application; never sent to the model."""
    @property
    def is_error(self) -> bool: ...
    @property
    def timestamp(self) -> int: ...

@final
class CustomMessage(Message):
    """An application's own message: kept in the transcript, never sent to a model as it stands."""

    @property
    def data(self) -> dict[str, Any]:
        """The whole message, `role` included."""

# ---- content blocks -------------------------------------------------------------------------------------------------------

@disjoint_base
class ContentBlock:
    """A part of a message: a `TextBlock`, `ThinkingBlock`, `ImageBlock`, `ToolCall` or `OpaqueBlock`."""

    @property
    def type(self) -> Literal["text", "thinking", "image", "tool_call", "opaque"]: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class TextBlock(ContentBlock):
    """Text."""

    __match_args__: ClassVar[tuple[Literal["text"]]]
    @property
    def text(self) -> str: ...
    @property
    def signature(self) -> str | None: ...

@final
class ThinkingBlock(ContentBlock):
    """The model's reasoning."""

    __match_args__: ClassVar[tuple[Literal["thinking"]]]
    @property
    def thinking(self) -> str: ...
    @property
    def signature(self) -> str | None: ...
    @property
    def redacted(self) -> bool:
        """Whether the vendor hid the text."""

@final
class ImageBlock(ContentBlock):
    """An image, base64."""

    __match_args__: ClassVar[tuple[Literal["data"], Literal["mime_type"]]]
    @property
    def data(self) -> str: ...
    @property
    def mime_type(self) -> str: ...

@final
class ToolCall(ContentBlock):
    """What the model asks a tool to do."""

    __match_args__: ClassVar[tuple[Literal["name"], Literal["arguments"]]]
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> dict[str, Any]: ...
    @property
    def raw_arguments(self) -> str | None:
        """The exact text, when no JSON object could be made of it; `arguments` is then empty."""
    @property
    def signature(self) -> str | None: ...

@final
class OpaqueBlock(ContentBlock):
    """What a vendor sent that is only kept and sent back."""

    __match_args__: ClassVar[tuple[Literal["protocol"], Literal["data"]]]
    @property
    def protocol(self) -> str: ...
    @property
    def data(self) -> Any: ...

# ---- events ---------------------------------------------------------------------------------------------------------------

@disjoint_base
class Event:
    """One event of a run. There is a class for each type."""

    @property
    def type(self) -> str:
        """The type's word, for example `text_delta`."""
    @property
    def run_id(self) -> str: ...
    @property
    def seq(self) -> int:
        """0, 1, 2 … without gaps."""
    @property
    def turn(self) -> int:
        """1-based; 0 in `AgentStart`."""
    def partial(self) -> AssistantMessage | None:
        """The assistant's message as it stood after this event; None for events that are not part of its stream."""
    def to_dict(self) -> dict[str, Any]:
        """The event in canonical JSON values."""
    def to_json(self) -> str:
        """The event in canonical JSON, on one line."""

@final
class AgentStart(Event):
    """The run begins."""

    __match_args__: ClassVar[tuple[()]]

@final
class TurnStart(Event):
    """A turn begins."""

    __match_args__: ClassVar[tuple[()]]

@final
class MessageStart(Event):
    """A message begins. An assistant's is empty, with `stop_reason` None."""

    __match_args__: ClassVar[tuple[Literal["message"]]]
    @property
    def message(self) -> Message: ...

class MessageUpdate(Event):
    """A piece of the assistant's message: one of the nine classes below."""

    @property
    def content_index(self) -> int:
        """Which block; counts the blocks in the order they started."""

@final
class TextStart(MessageUpdate):
    """A text block begins."""

    __match_args__: ClassVar[tuple[Literal["content_index"]]]

@final
class TextDelta(MessageUpdate):
    """More text."""

    __match_args__: ClassVar[tuple[Literal["delta"]]]
    @property
    def delta(self) -> str: ...

@final
class TextEnd(MessageUpdate):
    """A text block is complete."""

    __match_args__: ClassVar[tuple[Literal["block"]]]
    @property
    def block(self) -> TextBlock: ...

@final
class ThinkingStart(MessageUpdate):
    """A thinking block begins."""

    __match_args__: ClassVar[tuple[Literal["content_index"]]]

@final
class ThinkingDelta(MessageUpdate):
    """More thinking."""

    __match_args__: ClassVar[tuple[Literal["delta"]]]
    @property
    def delta(self) -> str: ...

@final
class ThinkingEnd(MessageUpdate):
    """A thinking block is complete."""

    __match_args__: ClassVar[tuple[Literal["block"]]]
    @property
    def block(self) -> ThinkingBlock: ...

@final
class ToolCallStart(MessageUpdate):
    """A tool call begins."""

    __match_args__: ClassVar[tuple[Literal["id"], Literal["name"]]]
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...

@final
class ToolCallDelta(MessageUpdate):
    """A piece of the text of a call's arguments."""

    __match_args__: ClassVar[tuple[Literal["delta"]]]
    @property
    def delta(self) -> str: ...

@final
class ToolCallEnd(MessageUpdate):
    """A tool call is complete."""

    __match_args__: ClassVar[tuple[Literal["block"]]]
    @property
    def block(self) -> ToolCall: ...

@final
class MessageEnd(Event):
    """A message is complete and in the transcript."""

    __match_args__: ClassVar[tuple[Literal["message"]]]
    @property
    def message(self) -> Message: ...

@final
class ToolExecutionStart(Event):
    """A tool call is taken up. `arguments` are the model's own."""

    __match_args__: ClassVar[tuple[Literal["tool_name"], Literal["arguments"]]]
    @property
    def tool_call_id(self) -> str: ...
    @property
    def tool_name(self) -> str: ...
    @property
    def arguments(self) -> dict[str, Any]: ...

@final
class ToolExecutionUpdate(Event):
    """A tool tells how far it is."""

    __match_args__: ClassVar[tuple[Literal["tool_name"], Literal["partial_result"]]]
    @property
    def tool_call_id(self) -> str: ...
    @property
    def tool_name(self) -> str: ...
    @property
    def arguments(self) -> dict[str, Any]: ...
    @property
    def partial_result(self) -> PartialResult: ...

@final
class ToolExecutionEnd(Event):
    """A tool call has its answer."""

    __match_args__: ClassVar[tuple[Literal["tool_name"], Literal["result"], Literal["is_error"]]]
    @property
    def tool_call_id(self) -> str: ...
    @property
    def tool_name(self) -> str: ...
    @property
    def result(self) -> ToolOutput: ...
    @property
    def is_error(self) -> bool: ...
    @property
    def duration_ms(self) -> int: ...

@final
class TurnEnd(Event):
    """A turn is over."""

    __match_args__: ClassVar[tuple[Literal["message"], Literal["tool_results"]]]
    @property
    def message(self) -> AssistantMessage: ...
    @property
    def tool_results(self) -> tuple[ToolResultMessage, ...]: ...

@final
class AgentEnd(Event):
    """The run is over; nothing follows."""

    __match_args__: ClassVar[tuple[Literal["outcome"]]]
    @property
    def messages(self) -> tuple[Message, ...]:
        """Those this run added, in transcript order."""
    @property
    def outcome(self) -> _Outcome: ...
    @property
    def error(self) -> AgentError | None:
        """There exactly when the outcome is `error` or `aborted`."""
    @property
    def turns(self) -> int:
        """How many turns began."""
    @property
    def usage(self) -> Usage:
        """The run's sum."""

@final
class Retry(Event):
    """The model call is tried again after a pause."""

    __match_args__: ClassVar[tuple[Literal["attempt"], Literal["delay_ms"], Literal["error"]]]
    @property
    def attempt(self) -> int:
        """1 for the first retry."""
    @property
    def delay_ms(self) -> int:
        """The pause that begins now."""
    @property
    def error(self) -> AgentError: ...

@final
class Diagnostic(Event):
    """Something was repaired, dropped, late or odd."""

    __match_args__: ClassVar[tuple[Literal["code"], Literal["message"]]]
    @property
    def code(self) -> str:
        """A short word for programs."""
    @property
    def message(self) -> str:
        """A sentence for people."""
    @property
    def data(self) -> Any: ...

@final
class Raw(Event):
    """One frame as the provider sent it (`raw_events=True`)."""

    __match_args__: ClassVar[tuple[Literal["data"]]]
    @property
    def data(self) -> Any:
        """The frame's JSON, or its text where it is not JSON."""

@final
class ToolOutput:
    """A tool's answer as events show it."""

    @property
    def content(self) -> tuple[ContentBlock, ...]:
        """Text and images for the model."""
    @property
    def details(self) -> Any:
        """Anything for the application."""
    @property
    def terminate(self) -> bool:
        """Whether the run may end here."""
    @property
    def text(self) -> str:
        """All text, joined with nothing between the blocks."""
    def to_dict(self) -> dict[str, Any]: ...

@final
class PartialResult:
    """What a tool says before its answer."""

    @property
    def content(self) -> tuple[ContentBlock, ...]: ...
    @property
    def details(self) -> Any: ...
    def to_dict(self) -> dict[str, Any]: ...

# ---- results and subscriptions --------------------------------------------------------------------------------------------

@final
class RunResult:
    """What a run came to."""

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
    def messages(self) -> tuple[Message, ...]:
        """The messages this run added, in transcript order."""
    @property
    def usage(self) -> Usage:
        """The sum over the run's assistant messages."""
    @property
    def turns(self) -> int:
        """How many turns began."""
    @property
    def error(self) -> AgentError | None:
        """There exactly when the outcome is `error` or `aborted`."""
    @property
    def undelivered(self) -> Undelivered | None:
        """Of a run without an agent: the queued messages that it did not show. None of an agent's run, whose queues keep them."""
    def to_dict(self) -> dict[str, Any]: ...
    def to_json(self) -> str: ...

@final
class Undelivered:
    """Queued messages that a run without an agent gives back, in order."""

    @property
    def steering(self) -> tuple[Message, ...]: ...
    @property
    def follow_up(self) -> tuple[Message, ...]: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class Subscription:
    """A listener's place. As a context manager it unsubscribes at the end."""

    def unsubscribe(self) -> None:
        """The listener is not called again. Any number of times."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: type[BaseException] | BaseException | TracebackType | None) -> None: ...

# ---- what hooks and providers get -----------------------------------------------------------------------------------------

@final
class BeforeToolCall:
    """A call that is about to run."""

    @property
    def tool_call_id(self) -> str: ...
    @property
    def tool_name(self) -> str: ...
    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments, checked."""
    @property
    def message(self) -> AssistantMessage:
        """The message that made the call."""
    def to_dict(self) -> dict[str, Any]: ...

@final
class AfterToolCall:
    """A call that ran."""

    @property
    def tool_call_id(self) -> str: ...
    @property
    def tool_name(self) -> str: ...
    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments that the tool got."""
    @property
    def result(self) -> ToolOutput: ...
    @property
    def is_error(self) -> bool: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class TurnSummary:
    """A turn that is over."""

    @property
    def turn(self) -> int:
        """Which, from 1 on."""
    @property
    def message(self) -> AssistantMessage: ...
    @property
    def tool_results(self) -> tuple[ToolResultMessage, ...]: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class Payload:
    """A request about to be sent."""

    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str:
        """The model's id there."""
    @property
    def payload(self) -> dict[str, Any]:
        """The request's body."""
    def to_dict(self) -> dict[str, Any]: ...

@final
class ResponseHead:
    """The head of an HTTP answer."""

    @property
    def provider(self) -> str: ...
    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> dict[str, str]:
        """By lower-case name; several of one name are joined with commas."""
    def to_dict(self) -> dict[str, Any]: ...

@final
class Failure:
    """Something failed."""

    @property
    def error(self) -> AgentError: ...
    @property
    def attempt(self) -> int:
        """Which try of the model call this was, from 1 on; 0 when it was none."""
    @property
    def will_retry(self) -> bool: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class ModelRequest:
    """What a provider of one's own is asked."""

    @property
    def model(self) -> str:
        """`provider/id`."""
    @property
    def system_prompt(self) -> str:
        """Empty for none."""
    @property
    def messages(self) -> tuple[Message, ...]:
        """What of the conversation the model is to see, shared."""
    @property
    def tools(self) -> list[dict[str, Any]]:
        """`{name, description, parameters}` each."""
    @property
    def thinking_level(self) -> _ThinkingLevel: ...
    @property
    def options(self) -> dict[str, Any]:
        """Of `temperature`, `max_tokens`, `stop_sequences`, `tool_choice`, `session_id`, `cache_retention`, `thinking_budgets` and `headers` those that are set."""
    @property
    def api_key(self) -> str | None:
        """The configured key, or what `get_api_key` gave. Not in `to_dict`."""
    def to_dict(self) -> dict[str, Any]: ...

# ---- the doctor -----------------------------------------------------------------------------------------------------------

@final
class Repair:
    """One thing that was done to a transcript, or would have to be."""

    __match_args__: ClassVar[tuple[Literal["code"], Literal["text"]]]
    @property
    def code(self) -> str:
        """A short word for programs: `failed_message`, `empty_message`, `empty_block`, `missing_result`, `stray_result`, `call_id`,
        `call_name`, `thinking_to_text`, `thinking_dropped`, `opaque_dropped`, `image_replaced`, `image_dropped`, `misplaced_block` or
        `foreign_role`."""
    @property
    def message_index(self) -> int:
        """Which message of the transcript, from 0."""
    @property
    def content_index(self) -> int | None:
        """Which of its blocks, from 0, where it was one."""
    @property
    def text(self) -> str:
        """A sentence for people."""
    def to_dict(self) -> dict[str, Any]: ...

@final
class Repaired:
    """A transcript that fits, and what was done to it."""

    __match_args__: ClassVar[tuple[Literal["messages"], Literal["repairs"]]]
    @property
    def messages(self) -> tuple[Message, ...]:
        """Those that needed no repair are shared."""
    @property
    def repairs(self) -> tuple[Repair, ...]:
        """In the order of the transcript."""

def repair(messages: Sequence[Message | _JsonObject], model: _Model) -> Repaired:
    """The transcript made to fit the model, which is given as for `Agent`.

    Failed messages are left out, with the results of their calls; each call has one result, right behind its message; ids of calls,
    thinking, signatures and images are such as the model takes. Messages of an application's own roles are left out without a word.
    `InvalidArgumentError` for a message or a model that is none."""

def check(messages: Sequence[Message | _JsonObject], model: _Model) -> list[Repair]:
    """What `repair` would do: empty when the transcript fits."""

# ---- behind the package's own classes -------------------------------------------------------------------------------------

@final
class Agent:
    def __new__(
        cls,
        model: _Model,
        options: dict[str, Any],
        provider: tuple[Callable[[ModelCall], Any], bool] | None = None,
    ) -> Self: ...
    def set_options(self, options: dict[str, Any]) -> None: ...
    def set_hook(self, name: str, function: Callable[[Asking], Any] | None) -> None: ...
    def add_middleware(self, function: Callable[[Passing], Any]) -> None: ...
    def set_model(self, model: _Model) -> None: ...
    def set_tools(self, tools: list[Tool]) -> None: ...
    def start(self, prompt: Any, quiet: bool, caller: Caller) -> Run: ...
    def resume(self, quiet: bool, caller: Caller) -> Run: ...
    def start_alone(self, system_prompt: str, messages: Any, prompt: Any, caller: Caller) -> Run: ...
    def steer(self, message: Any) -> None: ...
    def follow_up(self, message: Any) -> None: ...
    def clear_steering_queue(self) -> None: ...
    def clear_follow_up_queue(self) -> None: ...
    def clear_all_queues(self) -> None: ...
    def has_queued_messages(self) -> bool: ...
    def append_message(self, message: Any) -> None: ...
    def append_messages(self, messages: Any) -> None: ...
    def replace_messages(self, messages: Any) -> None: ...
    def clear_messages(self) -> None: ...
    def reset(self) -> None: ...
    def abort(self) -> None: ...
    def wait_for_idle(self, inside: tuple[int, ...]) -> Pending[None]: ...
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
    def error(self) -> AgentError | None: ...
    @property
    def listener_errors(self) -> int: ...

@final
class Caller:
    def __new__(cls, mailbox: Mailbox, vars: Context, marker: int, inside: tuple[int, ...]) -> Self: ...

@final
class Run:
    @property
    def id(self) -> str: ...
    @property
    def finished(self) -> RunResult | None: ...
    def steer(self, message: Any) -> None: ...
    def follow_up(self, message: Any) -> None: ...
    def abort(self) -> None: ...
    def drain(self, mailbox: Mailbox, token: int) -> list[Event] | None: ...
    def outcome(self, inside: tuple[int, ...]) -> Pending[RunResult]: ...

@final
class Pending(Generic[_T]):
    def poll(self, mailbox: Mailbox, token: int) -> tuple[_T] | None: ...

@final
class Mailbox:
    def __new__(cls, wake: Callable[[], object] | None = None) -> Self: ...
    def fileno(self) -> int | None: ...
    def take(self) -> list[int | Call | Asking | Passing | ModelCall | Telling]: ...
    def close(self) -> None: ...

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

@final
class Call:
    @property
    def tool(self) -> Tool: ...
    @property
    def vars(self) -> Context: ...
    @property
    def context(self) -> CallContext: ...
    def arguments(self) -> dict[str, Any]: ...
    def respond(self, value: Any) -> None: ...
    def fail(self, message: str) -> None: ...
    def refuse(self) -> None: ...
    def watch(self, mailbox: Mailbox, number: int) -> bool: ...

@final
class CallContext:
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def is_cancelled(self) -> bool: ...
    def update(self, partial: Any) -> None: ...
    def wait_cancelled(self) -> Pending[None]: ...
    def sleep(self, ms: float) -> Pending[bool]: ...
    def sleep_sync(self, ms: float) -> bool: ...

@final
class Asking:
    @property
    def function(self) -> Callable[[Asking], Any]: ...
    @property
    def vars(self) -> Context: ...
    @property
    def is_cancelled(self) -> bool: ...
    @property
    def is_over(self) -> bool: ...
    def take_input(self) -> tuple[Any, ...]: ...
    def sleep(self, ms: float) -> Pending[bool]: ...
    def respond(self, value: Any) -> None: ...
    def fail(self, message: str) -> None: ...
    def refuse(self) -> None: ...
    def watch(self, mailbox: Mailbox, number: int) -> bool: ...

@final
class Passing:
    @property
    def function(self) -> Callable[[Passing], Any]: ...
    @property
    def vars(self) -> Context: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def context(self) -> CallContext: ...
    def arguments(self) -> dict[str, Any]: ...
    def next(self, arguments: dict[str, Any] | None = None) -> Pending[dict[str, Any]]: ...
    def respond(self, value: Any) -> None: ...
    def fail(self, message: str) -> None: ...
    def refuse(self) -> None: ...
    def watch(self, mailbox: Mailbox, number: int) -> bool: ...

@final
class ModelCall:
    @property
    def function(self) -> Callable[[ModelCall], Any]: ...
    @property
    def vars(self) -> Context: ...
    @property
    def is_cancelled(self) -> bool: ...
    def request(self) -> ModelRequest: ...
    def push(self, piece: Any) -> None: ...
    def ready(self) -> Pending[bool]: ...
    def ready_sync(self) -> bool: ...
    def finish(self) -> None: ...
    def fail(self, error: dict[str, Any]) -> None: ...
    def refuse(self) -> None: ...
    def watch(self, mailbox: Mailbox, number: int) -> bool: ...

@final
class Telling:
    @property
    def function(self) -> Callable[[Event], Awaitable[object] | object]: ...
    @property
    def vars(self) -> Context: ...
    def take_event(self) -> Event: ...
    def done(self, error: str | None = None) -> None: ...
    def refuse(self) -> None: ...

def check_events(events: list[Event | Mapping[str, Any]]) -> None: ...
def is_retryable(kind: str) -> bool: ...
def models() -> list[dict[str, Any]]:
    """The models that are known, by provider and id, each a dict that `Agent` takes as its model: `provider`, `id`, `label`,
    `context_window`, `max_output_tokens`, `input`, `thinking`, and `cost` (US dollars per million tokens: `input`, `output`, `cache_read`,
    `cache_write`) and `quirks` where there are any. What a model's name or dict leaves open is taken from here; a model that is
    not here works, with an unknown cost."""
