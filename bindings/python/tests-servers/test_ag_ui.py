"""The stream for AG-UI, by the models of AG-UI's own package: its requests in, its events out."""

import asyncio

from ag_ui.core import (
    AssistantMessage,
    Event,
    FunctionCall,
    ResumeEntry,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    ToolCall,
    ToolCallResultEvent,
    UserMessage,
)
from agent_loop import Agent, tool
from agent_loop.ui import UiRequest
from pydantic import TypeAdapter

EVENT = TypeAdapter(Event)


@tool(needs_approval=True)
async def pay(to: str) -> str:
    """Pays."""
    return f"paid {to}"


def says(text):
    return [{"delta": text}, {"end": "stop"}]


def calls(id, to):
    return [{"delta": {"tool_call": {"id": id, "name": "pay", "arguments": {"to": to}}}}, {"end": "tool_use"}]


async def answer(agent, messages, resume=None, **options):
    """The events of the run that a client of AG-UI asks for."""
    asked = RunAgentInput(threadId="chat", runId="run", messages=messages, resume=resume)
    request = UiRequest.from_ag_ui(asked.model_dump_json(by_alias=True, exclude_none=True))
    text = "".join([piece async for piece in agent.stream_ui(request).to_ag_ui_stream(request, **options)])
    return [EVENT.validate_json(frame.removeprefix("data: ")) for frame in text.split("\n\n")[:-1]]


async def approved():
    agent = Agent({"provider": "scripted", "id": "s", "script": [calls("1", "ann"), says("Done.")]}, tools=[pay])
    messages = [UserMessage(id="u", role="user", content="Pay Ann.")]
    events = await answer(agent, messages)
    assert isinstance(events[0], RunStartedEvent) and isinstance(events[-1], RunFinishedEvent)
    [interrupt] = events[-1].outcome.interrupts
    called = ToolCall(id="1", type="function", function=FunctionCall(name="pay", arguments='{"to": "bob"}'))
    messages.append(AssistantMessage(id="a", role="assistant", toolCalls=[called]))  # the browser's word, which counts nothing
    events = await answer(agent, messages, [ResumeEntry(interruptId=interrupt.id, status="resolved", payload={"approved": True})])
    assert [event.content for event in events if isinstance(event, ToolCallResultEvent)] == ["paid ann"]
    assert events[-1].outcome.type == "success"


async def customized():
    inner = Agent({"provider": "scripted", "id": "i", "script": [says("Oslo.")]})
    call = {"delta": {"tool_call": {"id": "1", "name": "research", "arguments": {"prompt": "Where?"}}}}
    model = {"provider": "scripted", "id": "s", "script": [[call, {"end": "tool_use"}], says("In Oslo.")]}
    agent = Agent(model, tools=[inner.as_tool("research", "Finds out.")])
    messages = [UserMessage(id="u", role="user", content="Where is it?")]
    events = await answer(agent, messages, subagents=True)
    custom = [event.value for event in events if event.type == "CUSTOM" and event.name == "subagent"]
    assert [value["delta"] for value in custom if value["type"] == "text_delta"] == ["Oslo."]
    assert custom[-1] == {"type": "agent_end", "outcome": "completed", "toolCallId": "1", "path": ["1"]}


def test_a_call_waits_and_is_approved():
    asyncio.run(approved())


def test_what_a_subagent_does_is_a_custom_event():
    asyncio.run(customized())
