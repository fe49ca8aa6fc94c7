"""What users write. test_types.py has mypy and pyright read it; it is never run."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import agent_loop
from agent_loop import (
    Agent,
    AgentEnd,
    AgentError,
    AgentStart,
    ApiKeyHeaders,
    AssistantMessage,
    AudioBlock,
    BeforeToolCall,
    AfterToolCall,
    CallbackError,
    ContentBlock,
    Context,
    CustomMessage,
    Diagnostic,
    DocumentBlock,
    Event,
    Failure,
    HeldLease,
    HookContext,
    ImageBlock,
    InterruptedRun,
    LeaseRequest,
    Loop,
    LoopAction,
    Message,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    MiddlewareCall,
    ModelContext,
    ModelRequest,
    Next,
    OpaqueBlock,
    OpenSession,
    Output,
    Payload,
    RateLimitedError,
    Raw,
    ResponseHead,
    Retry,
    SubagentEvent,
    Run,
    RunResult,
    SessionInfo,
    Store,
    TextBlock,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingBlock,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    Tool,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolCallSuspended,
    ToolContext,
    ToolDecision,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    ToolOverride,
    ToolResult,
    ToolResultMessage,
    TurnChange,
    TurnContext,
    TurnEnd,
    TurnStart,
    TurnSummary,
    UserMessage,
    tool,
    transcript,
)
from agent_loop.options import AgentOptions, ModelSpec
from agent_loop.testing import AgentRecording, check_events
from typing_extensions import NotRequired, assert_never, assert_type

logger = logging.getLogger(__name__)


# ---- events -----------------------------------------------------------------------------------------------------------------


def by_class(event: Event) -> object:
    match event:
        case AgentStart() | TurnStart() | TextStart() | ThinkingStart():
            return event.seq
        case MessageStart(message) | MessageEnd(message):
            assert_type(message, Message)
            return message.content[0].text
        case TextDelta(text) | ThinkingDelta(text) | ToolCallDelta(text):
            return text.upper()
        case TextEnd(block):
            return block.text
        case ThinkingEnd(thought):
            return thought.thinking
        case ToolCallStart(id, name):
            return id + name
        case ToolCallEnd(call):
            return call.arguments["city"]
        case ToolExecutionStart(tool_name=name, arguments=arguments):
            return name + arguments["city"]
        case ToolExecutionUpdate(partial_result=partial):
            return partial.content[0].text + partial.text
        case ToolExecutionEnd(result=result, is_error=False):
            return result.content[0].text + result.text
        case ToolExecutionEnd():
            return event.duration_ms
        case TurnEnd(message, results):
            return (message.usage.total if message else 0) + len(results[0].text)
        case ToolCallSuspended(tool_name=name, arguments=arguments, reason=reason):
            return name + arguments["city"] + reason
        case SubagentEvent(path, inner):
            return path[0] + inner.run_id
        case AgentEnd(outcome=outcome, error=error):
            return error.message if error else outcome
        case Retry(attempt, delay, error):
            return f"{attempt} {delay} {error.kind}"
        case Diagnostic(code, sentence):
            return code + sentence
        case Raw(data):
            return data
        case _:
            assert_never(event)


def by_type(event: Event) -> object:
    if event.type == "text_delta":
        assert_type(event, TextDelta)
        return event.delta
    elif event.type == "tool_execution_start":
        return event.tool_name
    if event.type in ("text_start", "thinking_start"):
        return event.seq
    if isinstance(event, MessageUpdate):
        return event.content_index
    match event.type:
        case "tool_execution_end":
            return event.result.text
        case "agent_end":
            return event.outcome
        case _:
            return None


def partial(event: Event) -> str:
    message = event.partial()
    return message.content[0].text if message else ""


# ---- messages ---------------------------------------------------------------------------------------------------------------


def by_block(block: ContentBlock) -> str:
    match block:
        case TextBlock(text):
            return text
        case ThinkingBlock(thinking):
            return thinking
        case ImageBlock(data, mime_type):
            return f"data:{mime_type};base64,{data}"
        case DocumentBlock(data, mime_type):
            return f"{block.name}: {mime_type} {data or block.url}"
        case AudioBlock(data, mime_type):
            return f"{mime_type} {data or block.url}"
        case ToolCall(name, arguments):
            return name + json.dumps(arguments)
        case OpaqueBlock():
            return block.protocol
        case _:
            assert_never(block)


def by_block_type(block: ContentBlock) -> str:
    if block.type == "text":
        assert_type(block, TextBlock)
        return block.text
    elif block.type == "thinking":
        return block.thinking
    elif block.type == "image":
        return block.url or block.mime_type
    elif block.type == "document":
        return block.name or block.mime_type
    elif block.type == "audio":
        return block.mime_type
    elif block.type == "tool_call":
        return block.name
    elif block.type == "opaque":
        return block.protocol
    else:
        assert_never(block)


def by_message(message: Message) -> str:
    match message:
        case UserMessage(content):
            return content[0].text
        case AssistantMessage(stop_reason="length"):
            return "cut"
        case AssistantMessage():
            return message.tool_calls[0].name
        case ToolResultMessage(tool_name, content, is_error):
            return f"{tool_name} {content[0].text} {is_error} {message.details['x']}"
        case CustomMessage(role="note"):
            return str(message.data["text"])
        case CustomMessage():
            return str(message.mood)
        case _:
            assert_never(message)


def of_messages(messages: list[Message]) -> None:
    for message in messages:
        print(message.role, message.text, message.content, message.id, message.metadata, message.timestamp, message.to_dict())
        match message.role:
            case "assistant":
                print(message.usage.input)
            case "tool_result":
                print(message.tool_name)
            case _:
                pass
    print([message.tool_name for message in messages if isinstance(message, ToolResultMessage)])
    print([block.name for message in messages for block in message.content if isinstance(block, ToolCall)])
    print("".join(block.text for block in messages[-1].content))


def of_result(result: RunResult) -> None:
    print(result.text, result.usage.cost.total if result.usage.cost else "?", result.messages[-1].content[0].text)
    if result.message and result.message.stop_reason == "length":
        print(result.message.content[0].text)
    if result.outcome == "error" and result.error:
        print(result.error.kind, result.error.retryable)


# ---- tools ------------------------------------------------------------------------------------------------------------------


class Place(TypedDict):
    city: str
    country: NotRequired[str]


@dataclass
class Span:
    start: int
    end: int


class Unit(Enum):
    CELSIUS = "celsius"
    KELVIN = "kelvin"


@tool
async def weather(place: Place, span: Span, unit: Unit = Unit.CELSIUS, days: Annotated[int, "1 to 7"] = 1) -> dict[str, Any]:
    """The weather."""
    return {"content": [{"type": "text", "text": place["city"]}], "details": {"days": days, "unit": unit.value, "to": span.end}}


@tool
def look_up(words: list[str], where: Literal["here", "there"] | None = None, *, context: ToolContext) -> str:
    """Looks words up."""
    context.update({"content": words[0]})
    return words[0] if context.sleep_sync(5) else "gone"


@tool(name="count", execution_mode="sequential", timeout_ms=5_000, cancel_mode="token")
async def counted(to: int) -> AsyncIterator[str]:
    """Counts."""
    for number in range(to):
        yield str(number)


@tool
def plain(to: int) -> Iterator[int]:
    """Counts."""
    yield from range(to)


class Warehouse:
    def __init__(self) -> None:
        self.rows: list[str] = []

    @tool
    async def add(self, row: str) -> int:
        """Adds a row."""
        self.rows.append(row)
        return len(self.rows)

    @tool
    @classmethod
    def made(cls) -> str:
        """Makes."""
        return cls.__name__

    @tool
    @staticmethod
    def version() -> str:
        """The version."""
        return "1"

    def agent(self) -> Agent:
        return Agent("openai/gpt-5", tools=[self.add, self.made, self.version, weather, look_up, counted, plain])


@tool
def full() -> ToolResult:
    """A full result."""
    return {"content": [{"type": "text", "text": "x"}, TextBlock("y")], "details": {"n": 1}, "is_error": False}


async def execute(arguments: dict[str, Any], context: ToolContext) -> str:
    return f"{context.id}: {arguments['x']}"


TOOLS: list[Tool] = [
    Tool(name="x", execute=execute, parameters={"type": "object"}),
    Tool(name="y", execute=lambda arguments, context: arguments["x"]),
    Tool(name="z", execute=execute, prepare_arguments=lambda arguments: {**arguments, "n": 1}),
]


async def called_directly() -> None:
    assert_type(weather, Tool)
    print(await weather({"city": "Oslo"}, Span(1, 2)), look_up.name, look_up.parameters["properties"])


# ---- hooks ------------------------------------------------------------------------------------------------------------------


def before(call: BeforeToolCall) -> dict[str, Any] | None:
    if call.tool_name == "rm":
        return {"block": True, "reason": "no"}
    return None


async def before_async(call: BeforeToolCall, context: HookContext) -> dict[str, object] | None:
    await context.sleep(5)
    return {"arguments": call.arguments}


class Decision(TypedDict, total=False):
    block: bool
    reason: str


def before_typed(call: BeforeToolCall) -> Decision | None:
    return {"block": True} if call.arguments else None


async def before_decided(call: BeforeToolCall) -> ToolDecision | None:
    if call.tool_name == "rm":
        return {"block": True, "reason": "no"}
    return {"arguments": {**call.arguments, "dry": True}} if call.arguments else None


def after_overridden(call: AfterToolCall) -> ToolOverride:
    return {"content": "x"} if call.is_error else {"content": [TextBlock("x")], "details": None}


def turn_changed(turn: TurnSummary) -> TurnChange | None:
    context: TurnContext = {"system_prompt": "x", "messages": [turn.message], "tools": ["weather"]}
    return {"context": context, "model": {"provider": "openai", "id": "x"}, "thinking_level": "low"}


async def key_in_headers(provider: str) -> ApiKeyHeaders | str:
    return {"bearer": "x"} if provider == "openai" else "y"


class Guard:
    async def before(self, call: BeforeToolCall) -> Decision | None:
        return None

    def __call__(self, call: BeforeToolCall) -> None:
        print(call.message.text)


async def after(call: AfterToolCall) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": call.result.text}], "is_error": call.is_error}


def shorten(messages: list[Message]) -> list[Message]:
    return transcript.recent(messages, 20)


async def shorten_async(messages: list[Message]) -> list[Message]:
    return messages[-20:]


def convert(messages: list[Message]) -> list[Message | dict[str, Any]]:
    return [{"role": "user", "content": m.data["text"]} if isinstance(m, CustomMessage) else m for m in messages]


async def key(provider: str) -> str | None:
    return {"openai": "x"}.get(provider)


def stop(turn: TurnSummary) -> bool:
    return turn.turn > 3


async def next_turn(turn: TurnSummary) -> dict[str, Any] | None:
    return {"model": "openai/x"} if turn.message.tool_calls else None


def payload(request: Payload) -> dict[str, Any]:
    return {**request.payload, "seed": 1}


def response(head: ResponseHead) -> None:
    print(head.headers.get("x-request-id"))


def failed(failure: Failure) -> None:
    logger.warning("%s", failure.error.message)


async def ended(result: RunResult) -> None:
    of_result(result)


async def more() -> list[str]:
    return ["one", "two"]


def hooked() -> list[Agent]:
    agents = [Agent("openai/x", before_tool_call=hook) for hook in (before, Guard())]
    return [
        *agents,
        Agent("openai/x", before_tool_call=before_async),
        Agent("openai/x", before_tool_call=before_typed),
        Agent("openai/x", before_tool_call=before_decided, after_tool_call=after_overridden),
        Agent("openai/x", prepare_next_turn=turn_changed, get_api_key=key_in_headers),
        Agent("openai/x", before_tool_call=Guard().before),
        Agent("openai/x", after_tool_call=after, convert_to_llm=convert, transform_context=shorten, get_api_key=key),
        Agent("openai/x", transform_context=shorten_async, should_stop_after_turn=stop, prepare_next_turn=next_turn),
        Agent("openai/x", on_payload=payload, on_response=response, on_error=failed, after_run=ended),
        Agent("openai/x", transform_context=lambda messages: messages[-5:], get_api_key=lambda provider: "x"),
        Agent("openai/x", before_tool_call=lambda call: None, after_tool_call=lambda call: {"terminate": call.is_error}),
        Agent("openai/x", before_tool_call=lambda call, context: {"block": context.is_cancelled or call.tool_name == "rm"}),
        Agent("openai/x", should_stop_after_turn=lambda turn: turn.turn == 3, before_run=lambda prompts: print(prompts[0].text)),
        Agent("openai/x", get_follow_up_messages=lambda: None, get_steering_messages=more, after_run=print),
    ]


async def timed(call: MiddlewareCall, next: Next) -> dict[str, Any]:
    result = await next({**call.arguments, "more": call.id})
    return {**result, "details": {"name": call.name}}


async def guard(call: MiddlewareCall, next: Next) -> str | dict[str, Any]:
    try:
        return "it has sunk" if call.arguments["city"] == "Atlantis" else await next()
    except CallbackError as error:
        return error.message


def at_once(call: MiddlewareCall, next: Next) -> str:
    return call.name


# ---- providers --------------------------------------------------------------------------------------------------------------


async def parrot(request: ModelRequest) -> AsyncIterator[str]:
    yield request.messages[-1].text


async def chunks(request: ModelRequest, context: ModelContext) -> AsyncIterator[str | dict[str, Any]]:
    yield "text"
    if not context.is_cancelled:
        yield {"end": {"stop_reason": "stop"}}


def sync_chunks(request: ModelRequest) -> Iterator[str]:
    yield request.system_prompt


# ---- agents and runs --------------------------------------------------------------------------------------------------------


class StoredMessage(TypedDict):
    role: str
    content: str


def options() -> list[Agent]:
    given: AgentOptions = {"system_prompt": "Be brief.", "tools": [weather], "temperature": 0}
    anything: dict[str, Any] = json.loads("{}")
    spec: ModelSpec = {"provider": "openai", "id": "x", "base_url": "http://h", "quirks": {"temperature": False}}
    plain_spec = {"provider": "openai", "id": "x"}
    stored: list[StoredMessage] = [{"role": "user", "content": "x"}]
    history: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "x"}]}]
    inferred = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    made = [UserMessage("x"), AssistantMessage("y"), UserMessage([TextBlock("z"), ImageBlock(b"", "image/png")])]
    loaded = transcript.read_history(Path("history.json").read_text())
    loaded.append(UserMessage("x", metadata={"from": "here"}))
    tools = [weather, look_up]
    tools.append(counted)
    headers = {"x-a": "b"}
    agents = [
        Agent("openai/x", **given),
        Agent("openai/x", **anything),
        Agent(spec, messages=stored, fallbacks=["openai/y", spec, plain_spec]),
        Agent(plain_spec, messages=history, tools=tools, headers=headers),
        Agent(model="openai/x", messages=inferred, network={"proxy": False}),
        Agent("openai/x", messages=[*made, {"role": "note", "text": "ours"}], middleware=[timed, guard, at_once]),
        Agent("openai/x", messages=loaded, stop_sequences=("END",), tool_choice={"tool": "x"}, tools=(weather,)),
        Agent("own/x", provider=parrot, thinking_budgets={"low": 5}),
        Agent("own/x", provider=chunks, providers={"mine": parrot, "his": sync_chunks}),
        Agent("own/x", provider=lambda request: ["x", request.model]),
    ]
    again = Agent("openai/x", messages=agents[0].messages, tools=agents[0].tools)
    again.set_options(temperature=1, max_turns=5)
    again.tools = [*again.tools, look_up]
    again.set_hook("before_tool_call", before)
    again.add_middleware(timed)
    return agents


async def runs(agent: Agent, queue: asyncio.Queue[Event]) -> None:
    seen: list[Event] = []
    listeners = [agent.subscribe(seen.append), agent.subscribe(queue.put), agent.subscribe(queue.put_nowait)]
    with agent.subscribe(lambda event: print(event.type)), agent.subscribe(print):
        await agent.prompt("x")
    for listener in listeners:
        listener.unsubscribe()
    async for event in agent.stream("x"):
        assert_type(event, Event)
        by_class(event)
    files = [ImageBlock.from_path("x.png"), DocumentBlock(url="https://h/a"), AudioBlock(b"", "audio/wav")]
    async with agent.stream([{"type": "text", "text": "x"}, *files]) as run:
        assert_type(run, Run)
        async for event in run:
            if isinstance(event, TextDelta):
                print(event.delta, end="")
            run.steer("more")
    print((await run.result()).text)
    events = [event async for event in agent.stream_resume(raise_errors=False)]
    check_events(events)
    check_events(seen)
    deltas = [event.delta for event in events if event.type == "text_delta"]
    print("".join(deltas))
    prompts: list[Message] = [UserMessage("x")]
    message = {"role": "user", "content": "x"}
    results = await asyncio.gather(agent.prompt(prompts), agent.prompt(UserMessage("x")), agent.prompt(message))
    assert_type(results[0], RunResult)
    try:
        await agent.resume()
    except RateLimitedError as error:
        print(error.retry_after_ms)
    except AgentError as error:
        print(error.kind, error.message, error.http_status, error.retryable, error.result.messages if error.result else ())
    if (queued := await agent.resume_if_queued()) is not None:
        print(queued.text)
    if agent.streaming_message:
        print(agent.streaming_message.content[0].text)
    print(agent.error.message if agent.error else "", agent.messages[-1].text, agent.pending_tool_calls)


def without_a_loop(agent: Agent) -> None:
    for event in agent.stream_sync("x"):
        print(event.type)
    with agent.stream_sync("x") as run:
        for event in run:
            by_type(event)
    assert_type(run.result(), RunResult)
    print(agent.prompt_sync("x").text)


def stepped(messages: list[Message]) -> None:
    run = Loop("openai/x", prompt="x", messages=messages, tools=[weather, {"name": "t"}], hooks=["before_tool_call"], max_turns=3)
    while (action := run.poll(0)) is not None:
        if action["type"] == "call_tool":
            run.handle({"type": "tool_done", "call": action["call"], "result": {"city": action["arguments"]["city"]}})
        elif action["type"] == "call_model":
            print(action["url"], action["auth"]["header"], action["headers"].items())
            run.handle({"type": "model_end", "call": action["call"], "error": {"kind": "connection", "message": "refused"}})
        elif action["type"] == "done":
            print(action["result"]["outcome"])
    assert_type(Loop.load(run.save()).open_actions(), list[LoopAction])


async def stateless(messages: list[Message]) -> None:
    context = Context(system_prompt="x", messages=messages, tools=[weather])
    async with agent_loop.run(context, "x", model="openai/x", temperature=0, before_tool_call=before) as run:
        async for event in run:
            print(event.type)
    result = await agent_loop.resume({"messages": [{"role": "user", "content": "x"}]}, model="openai/x").result()
    messages.extend(result.messages)
    cheap = [model["id"] for model in agent_loop.models() if model.get("cost", {}).get("output", 99) < 1]
    repaired = transcript.repair(messages, "openai/x")
    repairs = transcript.check([*repaired.messages, {"role": "user", "content": "x"}], "openai/x")
    assert_type(repairs, list[transcript.Repair])
    print(cheap, [repair.text for repair in repairs], result.undelivered.steering if result.undelivered else ())


def saved(agent: Agent) -> str:
    return json.dumps([message.to_dict() for message in agent.messages])


def of_mapping(data: Mapping[str, Any]) -> Agent:
    return Agent(data, messages=[data])


def made_of_classes() -> Agent:
    made = [UserMessage("x"), AssistantMessage("y")]
    updates = [TextStart(0), TextDelta("x", content_index=0)]
    check_events([AgentStart(), *updates])
    content = [TextBlock("x"), ImageBlock(b"")]
    transcript.recent(made, 3)
    transcript.repair(made, "openai/x")
    Agent("openai/x", messages=[UserMessage(content)]).follow_up(made)
    Agent("openai/x").steer(content)
    return Agent("openai/x", messages=made, transform_context=lambda messages: made)


class Rows:
    """A custom store, some methods async and some plain."""

    async def acquire(self, request: LeaseRequest) -> dict[str, int]:
        return {"token": len(request["id"])}

    def renew(self, leases: list[HeldLease], lease_ms: int) -> None: ...

    async def release(self, lease: HeldLease) -> None: ...

    def append(self, lease: HeldLease, seq: int, lines: list[str]) -> None: ...

    async def read(self, id: str, after: int, limit: int) -> list[dict[str, Any]]:
        return [{"seq": after + 1, "text": id}][:limit]

    def info(self, id: str) -> None: ...

    def set_info(self, lease: HeldLease, info: dict[str, Any]) -> None: ...

    async def delete(self, lease: HeldLease) -> None: ...

    def list(self, query: dict[str, Any]) -> dict[str, Any]:
        return {"sessions": [], "next": query["cursor"]}


async def kept(agent: Agent) -> str:
    store = Store.open("agents.db", sync="full", lease_ms=5_000)
    session = store.session("user-7")
    async with session.open() as open:
        assert_type(open, OpenSession)
        last = await open.append([{"kind": "message", "message": UserMessage("x")}])
        assert_type(last, int)
        await open.append([{"kind": "message", "message": message} for message in agent.messages])
        agent.replace_messages(open.messages)
    if (left := agent.interrupted) is not None:
        assert_type(left, InterruptedRun)
        assert_type(left.calls[0].progress.result, dict[str, Any] | None)
    again = await session.open()
    await again.close()
    assert_type((await store.list(metadata={"user": 7})).sessions[0], SessionInfo)
    ids = [info.id async for info in store.list_all()]
    async for record in session.follow(after=last):
        return f"{record['kind']} {ids}"
    with Store.custom(Rows(), holder="x").session("a").open_sync() as opened:
        opened.flush_sync()
    return (await session.salvage()).text


# ---- recordings -------------------------------------------------------------------------------------------------------------


async def test_with_a_recording(agent_recording: AgentRecording) -> None:
    agent = Agent("anthropic/claude-sonnet-4-5", **agent_recording)
    assert (await agent.prompt("Rain in Oslo?")).text


async def recorded_and_played(folder: Path) -> str:
    await Agent("anthropic/claude-sonnet-4-5", record={"path": folder / "runs.jsonl", "frames": True}).prompt("Rain in Oslo?")
    Agent("anthropic/claude-sonnet-4-5", record=folder / "runs.jsonl").set_options(record=None, replay="runs.jsonl")
    return (await agent_loop.replay(folder / "runs.jsonl", run=2, raise_errors=False).result()).text


@dataclass
class Forecast:
    city: str
    degrees: int


async def typed_answers(agent: Agent) -> None:
    result = await agent.prompt("Rain in Oslo?", output=Forecast, temperature=0)
    assert_type(result, RunResult[Forecast])
    assert_type(result.output.city, str)
    named = await agent.prompt("Rain in Oslo?", output=Output(Forecast, name="forecast", mode="tool"))
    assert_type(named.output, Forecast)
    cities = await agent.prompt("Where does it rain?", output=list[str])
    assert_type(cities.output, list[str])
    either = await agent.prompt("Rain in Oslo?", output=Forecast | str)
    print(either.output)
    async with agent.stream("Rain in Oslo?", output=Forecast, raise_errors=False) as run:
        async for event in run:
            print(event.partial_output())
        assert_type((await run.result()).output, Forecast)
    assert_type(agent.prompt_sync("Rain in Oslo?", output=Forecast).output, Forecast)

    def only_oslo(forecast: Forecast) -> str | None:
        return None if forecast.city == "Oslo" else "only Oslo"

    other = Agent("openai/x", output=Forecast, output_retries=1, check_output=only_oslo)
    print((await other.prompt("Rain in Oslo?")).output.city)
    other.set_options(output={"type": "object"})
