"""The options of agents and runs, for type checkers. `Agent` documents them."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

if TYPE_CHECKING:
    from os import PathLike
    from typing import Protocol

    from typing_extensions import Required, TypeAlias

    from ._native import (
        Message,
        ModelRequest,
        RunResult,
        _ContentBlock,
        _Message,
        # <generated: inputs of hooks>
        AfterToolCall,
        ApprovalRequest,
        BeforeToolCall,
        Failure,
        InterruptedCall,
        McpElicitation,
        McpSampling,
        McpSignIn,
        NextRequest,
        Payload,
        ResponseHead,
        TurnSummary,
        # </generated>
    )
    from .answers import ApiKeyHeaders, ToolDecision, ToolOverride, TurnChange
    from .hooks import HookContext
    from .middleware import MiddlewareCall, Next
    from .provider import ModelContext
    from .output import Output
    from .session import OpenSession, Session
    from .tool_context import ToolContext
    from .tools import Tool, _Approve, _OnInterrupted, _Prepare

    _I = TypeVar("_I")
    _O = TypeVar("_O")

    # <generated: words>
    _ThinkingLevel: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
    _QueueMode: TypeAlias = Literal["one_at_a_time", "all"]
    _SteeringPolicy: TypeAlias = Literal["skip_remaining", "after_batch"]
    _ExecutionMode: TypeAlias = Literal["parallel", "sequential"]
    # </generated>
    _HookName: TypeAlias = Literal[
        # <generated: names of hooks>
        "transform_context",
        "convert_to_llm",
        "get_api_key",
        "before_tool_call",
        "after_tool_call",
        "prepare_next_turn",
        "should_stop_after_turn",
        "get_steering_messages",
        "get_follow_up_messages",
        "on_payload",
        "on_response",
        "on_error",
        "before_run",
        "after_run",
        "on_interrupted_call",
        "check_output",
        "prepare_request",
        "on_mcp_sampling",
        "on_mcp_elicitation",
        "on_mcp_sign_in",
        "on_approval",
        # </generated>
    ]
    _JsonObject: TypeAlias = Mapping[str, Any]
    _Decisions: TypeAlias = Mapping[str, str | _JsonObject]
    # What is given may be of the base class: mypy infers `list[_Message]` for `[UserMessage("a"), AssistantMessage("b")]`.
    _Prompt: TypeAlias = str | _JsonObject | _Message | Sequence[_JsonObject | _Message | _ContentBlock]
    _Model: TypeAlias = "str | ModelSpec | _JsonObject"
    _Messages: TypeAlias = Sequence[_Message | _JsonObject]
    # A type of any kind: a class, a union, a generic alias.
    _Output: TypeAlias = "Output[Any] | _JsonObject | type[Any] | Any"
    _Hook: TypeAlias = Callable[[_I], _O | Awaitable[_O]] | Callable[[_I, HookContext], _O | Awaitable[_O]]
    _HookWithoutInput: TypeAlias = Callable[[], _O | Awaitable[_O]] | Callable[[HookContext], _O | Awaitable[_O]]
    _SystemPrompt: TypeAlias = _HookWithoutInput[str]
    _Middleware: TypeAlias = Callable[[MiddlewareCall, Next], Any]

    class _TracerProvider(Protocol):
        """One of OpenTelemetry."""

        def get_tracer(self, *args: Any, **kwargs: Any) -> Any: ...

    _Chunks: TypeAlias = AsyncIterable[str | _JsonObject] | Iterable[str | _JsonObject]
    _Provider: TypeAlias = (
        Callable[[ModelRequest], _Chunks | Awaitable[_Chunks]]
        | Callable[[ModelRequest, ModelContext], _Chunks | Awaitable[_Chunks]]
    )


class _Tier(TypedDict):
    above: int


class PriceTier(_Tier, total=False):
    """Prices of a whole request whose prompt has more than `above` tokens, cached ones included. One that is left out stays."""

    input: float
    output: float
    cache_read: float
    cache_write: float


class Prices(TypedDict, total=False):
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    tiers: Sequence[PriceTier]
    """Other prices for long prompts."""


class _Named(TypedDict):
    provider: str
    id: str


class ModelSpec(_Named, total=False):
    """A model in detail, where `provider/id` is not enough. `docs/providers.md` documents the fields."""

    label: str | None
    """The name for user interfaces."""
    base_model: str | None
    """Which of `models()` it is, such as `openai/gpt-5`, where `id` is a custom name (a deployment on Azure, an alias)."""
    protocol: Literal["anthropic", "openai_responses", "openai_chat", "gemini", "bedrock_converse", "relay"] | None
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
    input: Sequence[Literal["text", "image", "document", "audio"]] | None
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


class ContextPolicy(TypedDict, total=False):
    """What a model reads of a long conversation. `docs/context.md` documents it."""

    max_tokens: int | None
    """The most tokens of a request, as they are estimated; what the model's window leaves beside the answer by default."""
    keep_last: int | None
    """How many exchanges before the current one are kept; 2 by default."""
    max_result_tokens: int | None
    """The most tokens of a tool's result that a request has at once; 12,000 by default, 0 for no limit."""
    keep_tools: Sequence[str] | None
    """The tools whose last call is kept; `scratch_pad` by default."""
    compact: bool | None
    """Whether a model writes a summary of what is left out, which takes its place."""
    summarize_results: bool | None
    """Whether a model writes a summary of a tool's result that is too long, in place of its beginning and its end."""
    summary_model: str | None
    """The model that writes summaries, `provider/id`; the run's own by default."""


class Gate(TypedDict, total=False):
    """Which tool calls run, which wait for a decision, and which are refused: rules, `tool` or `tool(pattern)`. `docs/gate.md`
    documents them."""

    allow: Sequence[str] | None
    """These calls run, whatever their tool's `needs_approval` says."""
    ask: Sequence[str] | None
    """These calls wait for a decision."""
    deny: Sequence[str] | None
    """These calls do not run."""


class Remembered(TypedDict):
    """What a conversation remembers of decisions for always, as rules of a `Gate`."""

    allow: list[str]
    deny: list[str]


class ToolSubject(TypedDict, total=False):
    """What of a tool's calls the patterns of a `Gate` are compared with. `docs/gate.md` documents it."""

    argument: Required[str]
    """The name of the argument."""
    kind: Literal["text", "path", "command", "url"]
    """How it is compared; as `text` by default."""


class CallLimits(TypedDict, total=False):
    """The limits of one key of a provider. `docs/limiter.md` documents them."""

    requests_per_minute: int | None
    """How many requests may begin in a minute."""
    tokens_per_minute: int | None
    """How many tokens requests and answers may have in a minute."""
    max_concurrent: int | None
    """How many calls may be under way."""


class Limiter(CallLimits, total=False):
    """Limits that the model calls of several agents have in common. `docs/limiter.md` documents it."""

    name: str | None
    """Sets it apart from another one with the same limits."""
    providers: Mapping[str, CallLimits] | None
    """What holds for a provider in its place, by its name."""


class RecordOptions(TypedDict, total=False):
    """Where runs are recorded. `docs/recording.md` documents the fields."""

    path: Required[str | PathLike[str]]
    frames: bool | None
    """Whether the frames of the models' answers are recorded as the providers sent them."""


class ReplayOptions(TypedDict, total=False):
    """Which recording is played. `docs/recording.md` documents the fields."""

    path: Required[str | PathLike[str]]
    run: int | None
    """The first run of the file to be played: 1, 2, 3 …"""


class McpOAuth(TypedDict, total=False):
    """How access to a server of the Model Context Protocol is had that wants a sign-in: see `docs/mcp-sign-in.md`."""

    grant: Literal["authorization_code", "client_credentials"]
    """Whether a user signs in, which is the default, or the program has an account of its own."""
    client_id: str | None
    """The client id at the authorization server. Default: dynamic registration."""
    client_secret: str | None
    scopes: Sequence[str]
    """The scopes to ask for. Default: those that the server says it needs."""
    redirect_uri: str | None
    """Where the authorization server sends the user's browser. Default: a free port of 127.0.0.1, where the engine listens."""
    client_name: str | None
    """The name that the user reads when they sign in. Default: `agent-loop`."""
    client_metadata_url: str | None
    """The address of a client ID metadata document, used as the client id where the authorization server supports that."""
    tokens_file: str | None
    """The file that keeps the tokens, one per server."""


class BuiltinTools(TypedDict, total=False):
    """Built-in tools for files, commands and notes, and the folder they stay in. See `docs/builtin-tools.md`."""

    tools: Sequence[str]
    """The names of the tools."""
    root: str
    """The folder they stay in. Default: the current one."""
    command_timeout_ms: int
    """The time limit of a command, in milliseconds, unless its call asks for another one. Default: 120,000."""
    env: Mapping[str, str]
    """Environment variables of commands. They have few of this process, and none that may be a key."""
    sandbox: Literal["auto", "required", "off"]
    """Whether commands run in a sandbox: "auto", where the system has one. Default: "auto"."""
    network: bool
    """Whether commands in the sandbox have a network. Default: True."""
    readable: Sequence[str]
    """Files and folders outside of the root that commands in the sandbox may read, and run programs of."""
    writable: Sequence[str]
    """Those that they may also change."""
    private_addresses: bool
    """Whether `fetch_url` may ask servers in private networks, those of this machine included. Default: False."""
    oracle: str
    """The model that `oracle` asks: `provider/id`, or a model in JSON. Default: that of the agent."""


class UndoneWrite(TypedDict):
    """A write of a built-in tool that was taken back."""

    path: str
    """The file, relative to the root; of a commit its id."""
    action: Literal["removed", "restored", "uncommitted"]
    """`removed` if the write had created it; `uncommitted` of a commit, whose changes are staged again."""
    tool_call_id: str
    """The call that had written it."""


class RefusedUndo(TypedDict):
    """A write of a built-in tool that cannot be taken back."""

    path: str
    """The file, relative to the root; of a commit its id."""
    reason: str


class UndoneWrites(TypedDict):
    """What `Agent.undo_writes` has done."""

    undone: list[UndoneWrite]
    """The writes that were taken back, the newest first."""
    refused: RefusedUndo | None
    """The write at which it has stopped, as that one cannot be taken back."""


class McpServer(TypedDict, total=False):
    """A server of the Model Context Protocol: `command` or `url` is required. `docs/mcp.md` documents the fields."""

    command: str
    """The program that is started, and whose standard input and output are the connection."""
    args: Sequence[str]
    env: Mapping[str, str]
    """Environment variables, beside the few that it gets in any case."""
    cwd: str | None
    url: str
    """The address of a server that is reached over HTTP."""
    headers: Mapping[str, str]
    oauth: bool | McpOAuth | None
    """How access is had, if the server wants a sign-in: the hook `on_mcp_sign_in` shows the user where."""
    name: str | None
    prefix: str
    """What the names of all its tools begin with."""
    include: Sequence[str] | None
    exclude: Sequence[str]
    offer: Sequence[Literal["tools", "resources", "prompts"]]
    approval: Literal["never", "destructive", "always"] | Sequence[str]
    """Which calls wait for a decision: those of these tools. Default: `never`."""
    timeout_ms: int
    connect_timeout_ms: int
    optional: bool
    """Whether runs go on without its tools when it cannot be reached."""
    shared: bool
    """Whether agents whose servers are described alike have one together."""


class McpServing(TypedDict, total=False):
    """How an agent is served as a server of the Model Context Protocol: see `Agent.serve_mcp`."""

    name: str
    """The name of the tool that the agent is. Default: `ask`."""
    description: str
    """What it is described by, for the models of clients."""
    server_name: str
    """What the server calls itself. Default: `agent-loop`."""
    tools: bool
    """Whether the agent's own tools are there, too, one by one. Default: False."""
    keep_conversation: bool
    """Whether calls go on with the agent's own conversation; they take turns then. Default: False."""


class McpToolInfo(TypedDict):
    """A tool that a server of the Model Context Protocol gives an agent: see `Agent.mcp_tools`."""

    name: str
    """The name by which the model calls it."""
    server: str
    """The server, by the name that messages have for it."""
    server_tool: str | None
    """The name that the server has for it; None for a tool that stands for the server's resources or prompts."""
    description: str
    input_schema: dict[str, Any]
    annotations: dict[str, Any] | None
    """What the server says about it, as MCP has it (`readOnlyHint`, `destructiveHint` and others)."""
    needs_approval: bool
    """Whether its calls wait for a decision."""


class CallSettings(TypedDict, total=False):
    """The options of runs and of single model calls that are plain values."""

    # <generated: options of calls>
    base_url: str | None
    """The server's address, with or without `/v1`. With one, a key is optional. Default: the provider's."""
    api_key: str | None
    """The API key; `"keyring"` for what `agent auth login` has stored for the provider. Default: the provider's environment
    variable."""
    fallbacks: Sequence[_Model] | None
    """Models that are called in this order when the model fails before its first content and no retry is left. One of the same
    provider uses the agent's address and key, another one its own. Default: none."""
    headers: Mapping[str, str] | None
    """Headers of each request, beside those that are sent anyway, or in their place. Default: none."""
    network: Network | None
    """Proxy, certificates and name resolution. Default: the environment's proxy variables and the system's certificates."""
    limiter: Literal[True] | Limiter | None
    """Limits that the model calls of several agents have in common: those of one runtime share a limiter of the same value.
    Default: none."""
    record: str | PathLike[str] | RecordOptions | None
    """The file to which each run is appended, for `replay`. Default: none."""
    replay: str | PathLike[str] | ReplayOptions | None
    """The recording from which models answer, instead of their servers: for tests. Default: none."""
    traces: bool | _TracerProvider | None
    """Whether runs, model calls and tool calls are spans and measurements of OpenTelemetry. Default: none."""
    trace_content: bool | None
    """Whether spans also have the texts of messages, arguments and results. Default: what
    `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says, or else `false`."""
    traceparent: str | None
    """The value of a `traceparent` header, as W3C has it: the caller's trace, which the spans of runs join. Default: the trace of
    the code that starts the run."""
    agent_name: str | None
    """The agent's name, in its spans. Default: of a subagent, the name of its tool; else none."""
    thinking_budgets: Mapping[str, int] | None
    """The token budget of each level, for models whose thinking has one. Levels that are left out keep their default. Default:
    1,024, 2,048, 8,192, 16,384 and 32,768 tokens from `minimal` to `xhigh`."""
    temperature: float | None
    """The sampling temperature; 0 is sent as 0. Default: the provider's."""
    top_p: float | None
    """Nucleus sampling: tokens are chosen from the most probable ones that together have this probability, from 0 to 1. Default:
    the provider's."""
    top_k: int | None
    """Tokens are chosen from so many of the most probable ones. Default: the provider's."""
    seed: int | None
    """The same request with the same seed gets the same answer, as far as the provider can. Default: none."""
    frequency_penalty: float | None
    """How much less probable a token becomes each time it is written, from -2 to 2. Default: the provider's."""
    presence_penalty: float | None
    """How much less probable a token becomes once it has been written, from -2 to 2. Default: the provider's."""
    max_tokens: int | None
    """The most tokens of a message, of thinking and answer together. Raised where a thinking budget would leave none for the
    answer. Default: the provider's."""
    stop_sequences: Sequence[str] | None
    """Texts that end the answer when the model writes them. Default: none."""
    tool_choice: Literal["auto", "none", "required"] | _JsonObject | None
    """Whether the model may, must or must not call tools, or the one that it must call: `"auto"`, `"required"`, `"none"` or
    `{"tool": name}`. What it must call is asked for until the first such call of a run. Default: the provider's."""
    session_id: str | None
    """Identifies the conversation to providers that cache or route by it. Default: none."""
    cache_retention: Literal["short", "long", "none"] | None
    """How long the provider is asked to cache the prompt. One of `short`, `long`, `none`. Default: `short`."""
    extra_body: _JsonObject | None
    """Fields of the body of each request, for what no option is there: `{"service_tier": "flex"}`. An object is merged into the
    one that is sent, null removes a field, and all else replaces it. Not the fields that the engine decides, such as `messages`,
    `tools` and `stream`. Default: none."""
    hosted_tools: Sequence[_JsonObject] | None
    """Tools that the provider runs itself, each as the provider describes it: `{"type": "web_search"}`, `{"google_search": {}}`.
    One in the words of another wire format is left out of a request. Default: none."""
    thinking_level: _ThinkingLevel | None
    """How much thinking to ask for. One of `off`, `minimal`, `low`, `medium`, `high`, `xhigh`. Default: `off`."""
    raw_events: bool | None
    """Whether each frame is also emitted as the provider sent it, as a `raw` event. Default: False."""
    max_result_bytes: int | None
    """The most bytes of a tool result's text that the model receives; a longer text is shortened. Default: 50,000."""
    max_message_bytes: int | None
    """The most bytes of a model's message; one that grows larger is cut off with an error. Default: 67,108,864."""
    max_transcript_bytes: int | None
    """The most bytes of the transcript, as JSON, that a model is called with; 0 for no limit. Default: 0."""
    abort_grace_ms: int | None
    """How long an aborted run waits for its tools, and for each listener, in milliseconds. Default: 1,000."""
    connect_timeout_ms: int | None
    """The time limit for opening a connection, in milliseconds; 0 for none. Default: 10,000."""
    first_byte_timeout_ms: int | None
    """The time limit until the first byte of a model's response, in milliseconds; 0 for none. Default: 120,000."""
    idle_timeout_ms: int | None
    """The time limit between two bytes of a model's response, in milliseconds; 0 for none. Default: 120,000."""
    request_timeout_ms: int | None
    """The time limit of one attempt of a model call, in milliseconds; 0 for none. Default: 600,000."""
    run_timeout_ms: int | None
    """The time limit of a run, in milliseconds; 0 for none. Default: 0."""
    listener_timeout_ms: int | None
    """How long a run waits for a listener, and for `after_run`, in milliseconds; 0 for no limit. Default: 30,000."""
    max_retries: int | None
    """The most retries of a failed model call. Default: 2."""
    retry_base_ms: int | None
    """The upper bound of the first backoff, in milliseconds; it doubles with each retry. Default: 500."""
    max_retry_delay_ms: int | None
    """The longest backoff, in milliseconds; a call whose provider demands a longer one fails. Default: 60,000."""
    # </generated>


class Settings(CallSettings, total=False):
    """The options that can also be changed later, with `Agent.set_options`."""

    # <generated: options of runs>
    builtin_tools: Sequence[str] | BuiltinTools | None
    """Built-in tools for files, commands and notes, by their names. Default: none."""
    mcp: Sequence[McpServer] | None
    """Servers of the Model Context Protocol, whose tools are the agent's. Default: none."""
    origin: str | None
    """What the idempotency keys of the conversation's tool calls begin with. Give it to stateless runs that go on with one
    conversation, and each conversation its own. Default: the id of the conversation's first run."""
    max_turns: int | None
    """The most turns of one run; 0 for no limit. Default: 10."""
    max_repeated_calls: int | None
    """How many identical tool calls in a row, of name and arguments, end the run with outcome `stopped`; 0 for no limit. The
    calls run; polling a state is such a row, too. Default: 0."""
    max_subagent_depth: int | None
    """How many levels of subagents may be below a run; 0: its tools that run an agent give an error result. Default: 4."""
    steering_mode: _QueueMode | None
    """How many messages one poll takes from the steering queue: the oldest one, or all. One of `one_at_a_time`, `all`. Default:
    `one_at_a_time`."""
    follow_up_mode: _QueueMode | None
    """How many messages one poll takes from the follow-up queue: the oldest one, or all. One of `one_at_a_time`, `all`. Default:
    `one_at_a_time`."""
    gate: Gate | None
    """Which tool calls run, which wait for a decision, and which are refused: rules such as `run_command(git push *)`. What no
    rule is about is as the tool's `needs_approval` says. Default: none."""
    steering_policy: _SteeringPolicy | None
    """What steering does to tool calls that have not started: they are skipped, or run first. One of `skip_remaining`,
    `after_batch`. Default: `skip_remaining`."""
    tool_execution: _ExecutionMode | None
    """Whether the tool calls of a message run concurrently or sequentially. One of `parallel`, `sequential`. Default:
    `parallel`."""
    max_parallel_tools: int | None
    """The most tool calls that run concurrently. Default: 8."""
    validation: Literal["coerce", "strict", "off"] | None
    """How tool arguments are validated: `coerce` also converts texts to what the schema asks for ("5" to 5), `strict` does not,
    `off` checks nothing. One of `coerce`, `strict`, `off`. Default: `coerce`."""
    max_result_bytes_kept: int | None
    """The most bytes of a tool's result that are kept, its details included; a larger one becomes an error result. Default:
    16,777,216."""
    context: Literal[True] | ContextPolicy | None
    """Keeps each request within a number of tokens: of a long conversation the oldest exchanges are left out of it. The
    transcript keeps them. Default: none: a request has all messages."""
    output: _Output | None
    """The type of a run's final answer: a JSON Schema, or an object where that is not enough. The result has it as `output`.
    Default: none: the answer is text."""
    output_retries: int | None
    """How often the model may correct a final answer that does not fit `output`. Default: 2."""
    tool_timeout_ms: int | None
    """The time limit of a tool call, in milliseconds; 0 for none. Default: 0."""
    max_cost: float | None
    """How many US dollars a run may use before it makes no further model call. Its models need prices. Default: no limit."""
    max_total_tokens: int | None
    """How many tokens a run may use, of prompts and answers, before it makes no further model call. Default: no limit."""
    max_output_tokens_total: int | None
    """How many tokens a run may use for answers, thinking included, before it makes no further model call. Default: no limit."""
    max_tool_calls: int | None
    """The most tool calls of a run: those over it get an error result, and no further model call is made. Default: no limit."""
    max_run_ms: int | None
    """After how many milliseconds a run makes no further model call. What is under way goes on. Default: no limit."""
    # </generated>


class LoopOptions(Settings, total=False):
    """The options of a `Loop` that are plain values. It takes no `api_key`, `network`, `record` and `replay`."""

    messages: _Messages | None
    """The conversation so far. Default: none."""
    system_prompt: str | None
    """The text that precedes the messages: instructions for the model. Default: none."""


class CallOptions(CallSettings, total=False):
    """The options of `complete`, which makes one model call."""

    provider: _Provider | None
    providers: Mapping[str, _Provider] | None

    # <generated: hooks of calls>
    transform_context: _Hook[list[Message], _Messages | None] | None
    """Before each model call: may replace the messages that the model reads, for this call only."""
    convert_to_llm: _Hook[list[Message], _Messages | None] | None
    """Before each model call, after `transform_context`: converts all messages to the three standard roles. Without this hook,
    messages of other roles are left out."""
    get_api_key: _Hook[str, str | ApiKeyHeaders | _JsonObject | None] | None
    """Before each model call: the API key for a provider, instead of the configured one, or a token, or headers."""
    on_payload: _Hook[Payload, _JsonObject | None] | None
    """Before each model call: may replace the body of the request."""
    on_response: _Hook[ResponseHead, object] | None
    """When the head of a response has arrived, for each attempt."""
    on_error: _Hook[Failure, object] | None
    """When a model call fails, and when anything else ends the run with an error."""
    before_run: _Hook[list[Message], object] | None
    """Before a run, also before its `agent_start`."""
    after_run: _Hook[RunResult, object] | None
    """After a run's last event, before the agent is idle."""
    prepare_request: _Hook[NextRequest, TurnChange | _JsonObject | None] | None
    """Before the request of each turn, the first one included: may change context, model and thinking level for this request. A
    retry and a fallback keep what it has changed, but for the model."""
    # </generated>


class RunOptions(Settings, CallOptions, total=False):
    """The options of agents and of stateless runs."""

    middleware: Iterable[_Middleware] | None
    deps: Any

    # <generated: hooks of runs>
    before_tool_call: _Hook[BeforeToolCall, ToolDecision | _JsonObject | None] | None
    """Before a tool runs: may block the call, with a reason for the model, replace its arguments, which are validated again, or
    suspend it until somebody decides."""
    after_tool_call: _Hook[AfterToolCall, ToolOverride | _JsonObject | None] | None
    """After a tool ran, successfully or not: may replace parts of its result."""
    prepare_next_turn: _Hook[TurnSummary, TurnChange | _JsonObject | None] | None
    """After each turn that another may follow: may change context, model and thinking level for the rest of the run."""
    should_stop_after_turn: _Hook[TurnSummary, bool | None] | None
    """After each turn: whether the run ends here, with the outcome `stopped`."""
    get_steering_messages: _HookWithoutInput[_Prompt | Sequence[str] | None] | None
    """With each poll of the steering queue: further steering messages."""
    get_follow_up_messages: _HookWithoutInput[_Prompt | Sequence[str] | None] | None
    """With each poll of the follow-up queue: further follow-up messages."""
    on_interrupted_call: _Hook[InterruptedCall, str | _JsonObject | None] | None
    """When `resume` finds a call without a result, of a tool whose `on_interrupted` is `ask`: whether the model reads that its
    outcome is not known, it runs again, or it has a result. Without this hook: `report`."""
    check_output: _Hook[Any, str | None] | None
    """When a final answer fits the option `output`: may refuse it, with a text for the model, which may correct it."""
    on_mcp_sampling: _Hook[McpSampling, str | _JsonObject | None] | None
    """When a server of MCP asks, during one of its calls, for an answer of a model (sampling): may give one. Without this hook,
    the capability is not announced to servers."""
    on_mcp_elicitation: _Hook[McpElicitation, _JsonObject | None] | None
    """When a server of MCP asks, during one of its calls, for what the user knows (elicitation): may give it. Without this hook,
    the capability is not announced to servers."""
    on_mcp_sign_in: _Hook[McpSignIn, str | None] | None
    """When a server of MCP with the field `oauth` wants a sign-in: shows the user the address, in a browser for example."""
    on_approval: _Hook[ApprovalRequest, str | _JsonObject | None] | None
    """When a call needs approval, as its tool or the option `gate` says, before it waits: may decide at once. Without an answer,
    the call waits."""
    # </generated>


class AgentOptions(RunOptions, total=False):
    """The options of agents."""

    tools: Iterable[Tool] | None
    """The tools that the model may call; see `tool`."""
    session: Session | OpenSession | None
    """The session that keeps the conversation: the agent goes on from there, and each change is written before it has an effect.
    It opens one that is not open, and waits for that; the store of a program's own objects needs an open one."""

    plugins: Iterable[str | PathLike[str]] | None
    """Paths of plugins: shared libraries that add tools, hooks and providers; see `Agent.add_plugin`."""

    # <generated: options of agents>
    messages: _Messages | None
    """The conversation so far. Not during a run. Default: none."""
    system_prompt: str | _SystemPrompt | None
    """The text that precedes the messages: instructions for the model. Default: none."""
    # </generated>


class SubagentOptions(TypedDict, total=False):
    """The options of a tool that runs an agent that are those of any tool; see `Tool`."""

    label: str | None
    execution_mode: _ExecutionMode | None
    timeout_ms: int | None
    prepare_arguments: _Prepare | None
    needs_approval: bool | _Approve
    on_interrupted: _OnInterrupted | None
    subject: ToolSubject | None


class PromptOptions(TypedDict, total=False):
    """Options of one run, in place of those of its agent; None is the default, whatever the agent has."""

    system_prompt: str | None
    """The text that precedes the messages."""
    deps: Any
    """Anything of yours that tools and hooks of this run find as `context.deps`."""
    within: ToolContext | None
    """The context of the tool call that runs the agent, as its subagent: see `Agent.as_tool`."""

    # <generated: options of prompts>
    headers: Mapping[str, str] | None
    """Headers of each request, beside those that are sent anyway, or in their place. Default: none."""
    traceparent: str | None
    """The value of a `traceparent` header, as W3C has it: the caller's trace, which the spans of runs join. Default: the trace of
    the code that starts the run."""
    thinking_budgets: Mapping[str, int] | None
    """The token budget of each level, for models whose thinking has one. Levels that are left out keep their default. Default:
    1,024, 2,048, 8,192, 16,384 and 32,768 tokens from `minimal` to `xhigh`."""
    temperature: float | None
    """The sampling temperature; 0 is sent as 0. Default: the provider's."""
    top_p: float | None
    """Nucleus sampling: tokens are chosen from the most probable ones that together have this probability, from 0 to 1. Default:
    the provider's."""
    top_k: int | None
    """Tokens are chosen from so many of the most probable ones. Default: the provider's."""
    seed: int | None
    """The same request with the same seed gets the same answer, as far as the provider can. Default: none."""
    frequency_penalty: float | None
    """How much less probable a token becomes each time it is written, from -2 to 2. Default: the provider's."""
    presence_penalty: float | None
    """How much less probable a token becomes once it has been written, from -2 to 2. Default: the provider's."""
    max_tokens: int | None
    """The most tokens of a message, of thinking and answer together. Raised where a thinking budget would leave none for the
    answer. Default: the provider's."""
    stop_sequences: Sequence[str] | None
    """Texts that end the answer when the model writes them. Default: none."""
    tool_choice: Literal["auto", "none", "required"] | _JsonObject | None
    """Whether the model may, must or must not call tools, or the one that it must call: `"auto"`, `"required"`, `"none"` or
    `{"tool": name}`. What it must call is asked for until the first such call of a run. Default: the provider's."""
    session_id: str | None
    """Identifies the conversation to providers that cache or route by it. Default: none."""
    cache_retention: Literal["short", "long", "none"] | None
    """How long the provider is asked to cache the prompt. One of `short`, `long`, `none`. Default: `short`."""
    extra_body: _JsonObject | None
    """Fields of the body of each request, for what no option is there: `{"service_tier": "flex"}`. An object is merged into the
    one that is sent, null removes a field, and all else replaces it. Not the fields that the engine decides, such as `messages`,
    `tools` and `stream`. Default: none."""
    hosted_tools: Sequence[_JsonObject] | None
    """Tools that the provider runs itself, each as the provider describes it: `{"type": "web_search"}`, `{"google_search": {}}`.
    One in the words of another wire format is left out of a request. Default: none."""
    thinking_level: _ThinkingLevel | None
    """How much thinking to ask for. One of `off`, `minimal`, `low`, `medium`, `high`, `xhigh`. Default: `off`."""
    raw_events: bool | None
    """Whether each frame is also emitted as the provider sent it, as a `raw` event. Default: False."""
    max_turns: int | None
    """The most turns of one run; 0 for no limit. Default: 10."""
    max_repeated_calls: int | None
    """How many identical tool calls in a row, of name and arguments, end the run with outcome `stopped`; 0 for no limit. The
    calls run; polling a state is such a row, too. Default: 0."""
    max_subagent_depth: int | None
    """How many levels of subagents may be below a run; 0: its tools that run an agent give an error result. Default: 4."""
    steering_mode: _QueueMode | None
    """How many messages one poll takes from the steering queue: the oldest one, or all. One of `one_at_a_time`, `all`. Default:
    `one_at_a_time`."""
    follow_up_mode: _QueueMode | None
    """How many messages one poll takes from the follow-up queue: the oldest one, or all. One of `one_at_a_time`, `all`. Default:
    `one_at_a_time`."""
    gate: Gate | None
    """Which tool calls run, which wait for a decision, and which are refused: rules such as `run_command(git push *)`. What no
    rule is about is as the tool's `needs_approval` says. Default: none."""
    steering_policy: _SteeringPolicy | None
    """What steering does to tool calls that have not started: they are skipped, or run first. One of `skip_remaining`,
    `after_batch`. Default: `skip_remaining`."""
    tool_execution: _ExecutionMode | None
    """Whether the tool calls of a message run concurrently or sequentially. One of `parallel`, `sequential`. Default:
    `parallel`."""
    max_parallel_tools: int | None
    """The most tool calls that run concurrently. Default: 8."""
    validation: Literal["coerce", "strict", "off"] | None
    """How tool arguments are validated: `coerce` also converts texts to what the schema asks for ("5" to 5), `strict` does not,
    `off` checks nothing. One of `coerce`, `strict`, `off`. Default: `coerce`."""
    max_result_bytes: int | None
    """The most bytes of a tool result's text that the model receives; a longer text is shortened. Default: 50,000."""
    max_message_bytes: int | None
    """The most bytes of a model's message; one that grows larger is cut off with an error. Default: 67,108,864."""
    max_result_bytes_kept: int | None
    """The most bytes of a tool's result that are kept, its details included; a larger one becomes an error result. Default:
    16,777,216."""
    max_transcript_bytes: int | None
    """The most bytes of the transcript, as JSON, that a model is called with; 0 for no limit. Default: 0."""
    context: Literal[True] | ContextPolicy | None
    """Keeps each request within a number of tokens: of a long conversation the oldest exchanges are left out of it. The
    transcript keeps them. Default: none: a request has all messages."""
    output_retries: int | None
    """How often the model may correct a final answer that does not fit `output`. Default: 2."""
    abort_grace_ms: int | None
    """How long an aborted run waits for its tools, and for each listener, in milliseconds. Default: 1,000."""
    connect_timeout_ms: int | None
    """The time limit for opening a connection, in milliseconds; 0 for none. Default: 10,000."""
    first_byte_timeout_ms: int | None
    """The time limit until the first byte of a model's response, in milliseconds; 0 for none. Default: 120,000."""
    idle_timeout_ms: int | None
    """The time limit between two bytes of a model's response, in milliseconds; 0 for none. Default: 120,000."""
    request_timeout_ms: int | None
    """The time limit of one attempt of a model call, in milliseconds; 0 for none. Default: 600,000."""
    tool_timeout_ms: int | None
    """The time limit of a tool call, in milliseconds; 0 for none. Default: 0."""
    run_timeout_ms: int | None
    """The time limit of a run, in milliseconds; 0 for none. Default: 0."""
    listener_timeout_ms: int | None
    """How long a run waits for a listener, and for `after_run`, in milliseconds; 0 for no limit. Default: 30,000."""
    max_cost: float | None
    """How many US dollars a run may use before it makes no further model call. Its models need prices. Default: no limit."""
    max_total_tokens: int | None
    """How many tokens a run may use, of prompts and answers, before it makes no further model call. Default: no limit."""
    max_output_tokens_total: int | None
    """How many tokens a run may use for answers, thinking included, before it makes no further model call. Default: no limit."""
    max_tool_calls: int | None
    """The most tool calls of a run: those over it get an error result, and no further model call is made. Default: no limit."""
    max_run_ms: int | None
    """After how many milliseconds a run makes no further model call. What is under way goes on. Default: no limit."""
    max_retries: int | None
    """The most retries of a failed model call. Default: 2."""
    retry_base_ms: int | None
    """The upper bound of the first backoff, in milliseconds; it doubles with each retry. Default: 500."""
    max_retry_delay_ms: int | None
    """The longest backoff, in milliseconds; a call whose provider demands a longer one fails. Default: 60,000."""
    # </generated>


class _PromptOptions(PromptOptions, total=False):
    output: _Output | None
