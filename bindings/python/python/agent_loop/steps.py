"""What a stepped loop asks for and is given, for type checkers. All of it is JSON: dicts, lists and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired, TypeAlias

    from .options import _Prompt


class Auth(TypedDict):
    """What a host adds to a request to authenticate it."""

    header: str
    """The header that has the key."""
    prefix: str
    """What stands before the key in it: `Bearer ` or nothing."""
    variables: Sequence[str]
    """The environment variables in which an agent would look for the key."""
    optional: bool
    """Whether the server may answer without a key."""


# <generated: actions>


class EventAction(TypedDict):
    """The run emits an event: hand it to listeners and readers."""

    type: Literal["event"]
    event: dict[str, Any]
    """The event, in canonical JSON."""


class CallModelAction(TypedDict):
    """Send this request with the key that `auth` describes, and report the answer with `model_response`, its bytes as they come,
    and `model_end`."""

    type: Literal["call_model"]
    call: int
    """The number of the call."""
    method: str
    """The method: `POST`."""
    url: str
    """The address."""
    headers: Mapping[str, str]
    """The headers, without any that authenticates."""
    auth: Auth
    """What the host adds to authenticate."""
    body: str
    """The body, to be sent as it stands."""
    connect_timeout_ms: int
    """The longest that setting up a connection may take, in milliseconds; 0 for no limit. The loop itself keeps all other limits
    of time."""


class CallCustomModelAction(TypedDict):
    """Answer for a model of a custom provider: report its parts with `model_chunk`, and `model_end`."""

    type: Literal["call_custom_model"]
    call: int
    """The number of the call."""
    provider: str
    """The provider of the model, one of `providers`."""
    request: dict[str, Any]
    """The request, as custom providers get it: `{model, system_prompt, messages, tools, thinking_level, options}`."""


class CancelModelAction(TypedDict):
    """The answer of this model call is no longer wanted: close its connection."""

    type: Literal["cancel_model"]
    call: int
    """The number of the call."""


class CallToolAction(TypedDict):
    """Run a tool, and report with `tool_update`, and `tool_done` or `tool_suspended`."""

    type: Literal["call_tool"]
    call: int
    """The number of the call."""
    tool_call_id: str
    """The id of the model's call."""
    tool_name: str
    """The name of the tool."""
    arguments: dict[str, Any]
    """The arguments, validated."""
    idempotency_key: str
    """The same however often the call is executed, and wherever: for the services behind tools."""


class CancelToolAction(TypedDict):
    """Cancel a running tool. What it returns within the grace time of an abort still counts, unless it is `abandoned`."""

    type: Literal["cancel_tool"]
    call: int
    """The number of the call."""
    abandoned: bool
    """Whether the call has its result: what the tool still does is ignored."""


class AskHookAction(TypedDict):
    """Call a hook, and report its answer with `hook_answer`."""

    type: Literal["ask_hook"]
    question_id: int
    """The number of the question."""
    hook: str
    """The hook's name; of a tool's own functions `prepare_arguments` or `needs_approval`."""
    input: dict[str, Any]
    """The input of the hook; of a tool's own functions `{tool_name, arguments}`."""


class CancelHookAction(TypedDict):
    """The answer of this hook is no longer wanted: cancel what it does."""

    type: Literal["cancel_hook"]
    question_id: int
    """The number of the question."""


class LeaveHookAction(TypedDict):
    """The run no longer waits for this hook, which may go on."""

    type: Literal["leave_hook"]
    question_id: int
    """The number of the question."""


class SetTimerAction(TypedDict):
    """Poll again at this time at the latest. It replaces the timer before it."""

    type: Literal["set_timer"]
    at_ms: int | None
    """In the time that `poll` is given, in milliseconds; null for no timer."""


class DoneAction(TypedDict):
    """The run is over. Nothing follows."""

    type: Literal["done"]
    result: dict[str, Any]
    """The result of the run."""


# </generated>
LoopAction: TypeAlias = (
    # <generated: union of actions>
    EventAction
    | CallModelAction
    | CallCustomModelAction
    | CancelModelAction
    | CallToolAction
    | CancelToolAction
    | AskHookAction
    | CancelHookAction
    | LeaveHookAction
    | SetTimerAction
    | DoneAction
    # </generated>
)


# <generated: inputs>


class ModelResponseInput(TypedDict):
    """The head of the response to a `call_model` has arrived."""

    type: Literal["model_response"]
    call: int
    """The number of the call."""
    status: int
    """The HTTP status."""
    headers: Mapping[str, str]
    """The headers by name, in any case."""


class ModelChunkInput(TypedDict):
    """A part of the answer to a `call_custom_model`."""

    type: Literal["model_chunk"]
    call: int
    """The number of the call."""
    chunk: Any
    """The part, as custom providers give it: a text, `{"text"}`, `{"thinking"}`, `{"tool_call"}`, `{"usage"}`, `{"end"}` or
    `{"type", …}`."""


class ModelEndInput(TypedDict):
    """The answer of a model is over: its body has ended, or what kept it from ending."""

    type: Literal["model_end"]
    call: int
    """The number of the call."""
    error: NotRequired[Mapping[str, Any]]
    """Why there is no answer, or no more of it, `{kind, message}`: `connection`, `tls`, `timeout`, and `stream_truncated` where
    the connection broke within an answer."""


class ToolUpdateInput(TypedDict):
    """A running tool reports progress."""

    type: Literal["tool_update"]
    call: int
    """The number of the call."""
    partial_result: Any
    """The progress, in any form that a result may have."""


class ToolDoneInput(TypedDict):
    """A tool has answered, or failed: give one of `result` and `error`."""

    type: Literal["tool_done"]
    call: int
    """The number of the call."""
    result: NotRequired[Any]
    """The result: text, any other JSON, a full result `{content, details, is_error, terminate}`, null for nothing."""
    error: NotRequired[str]
    """The text of the failure, for the model."""


class ToolSuspendedInput(TypedDict):
    """A running tool waits for a decision: its answer comes from elsewhere, later. The run ends with it in `pending`."""

    type: Literal["tool_suspended"]
    call: int
    """The number of the call."""
    reason: str
    """Why, for the person who decides."""


class HookAnswerInput(TypedDict):
    """A hook has answered, or failed: give one of `answer` and `error`, or neither for no change."""

    type: Literal["hook_answer"]
    question_id: int
    """The number of the question."""
    answer: NotRequired[Any]
    """The answer, as the hook's documentation has it; null for no change."""
    error: NotRequired[str]
    """The text of the failure."""


class ListenerFailedInput(TypedDict):
    """A listener failed with the event that came last: a diagnostic reports it."""

    type: Literal["listener_failed"]
    event: str
    """The type of the event."""
    error: str
    """The text of the failure."""


class SteerInput(TypedDict):
    """Queue steering messages, which join the run as soon as they can."""

    type: Literal["steer"]
    message: _Prompt
    """Text, a message, or a list of messages."""


class FollowUpInput(TypedDict):
    """Queue messages for when the run would end."""

    type: Literal["follow_up"]
    message: _Prompt
    """Text, a message, or a list of messages."""


class ClearSteeringQueueInput(TypedDict):
    """Remove the steering messages that no turn has begun with."""

    type: Literal["clear_steering_queue"]


class ClearFollowUpQueueInput(TypedDict):
    """Remove the follow-up messages that no turn has begun with."""

    type: Literal["clear_follow_up_queue"]


class StopAfterTurnInput(TypedDict):
    """End the run after this turn, as if `should_stop_after_turn` asked for it: its outcome is `stopped`."""

    type: Literal["stop_after_turn"]


class AbortInput(TypedDict):
    """Abort the run."""

    type: Literal["abort"]


class ConfigureInput(TypedDict):
    """Change options from the next turn on: all, or on an error none."""

    type: Literal["configure"]
    options: Mapping[str, Any]
    """The options with their new values; null for the default."""


# </generated>
LoopInput: TypeAlias = (
    # <generated: union of inputs>
    ModelResponseInput
    | ModelChunkInput
    | ModelEndInput
    | ToolUpdateInput
    | ToolDoneInput
    | ToolSuspendedInput
    | HookAnswerInput
    | ListenerFailedInput
    | SteerInput
    | FollowUpInput
    | ClearSteeringQueueInput
    | ClearFollowUpQueueInput
    | StopAfterTurnInput
    | AbortInput
    | ConfigureInput
    # </generated>
)
