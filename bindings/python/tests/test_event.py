"""Events: a class for each type, canonical JSON, the message so far."""

import json

import agent_loop
import pytest
from agent_loop import (
    AgentEnd,
    AssistantMessage,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    tool,
)
from scripts import CALCULATOR, Agent, agent, calls, events_of, kinds, says


@tool
async def calculator(operation: str, a: float, b: float) -> dict:
    """Perform basic arithmetic operations."""
    return {"result": a * b if operation == "multiply" else a // b}


async def calculation(model=CALCULATOR):
    return await events_of(Agent(model, tools=[calculator]).stream("What is 15 multiplied by 23?"))


async def test_the_events_of_a_conversation_in_order():
    assert kinds(await calculation()) == [
        *["agent_start", "turn_start", "message_start", "message_end"],
        *["message_start", "thinking_start", "thinking_delta", "thinking_end"],
        *["tool_call_start", "tool_call_delta", "tool_call_delta", "tool_call_end", "message_end"],
        *["tool_execution_start", "tool_execution_end", "message_start", "message_end", "turn_end"],
        *["turn_start", "message_start", "text_start", "text_delta", "text_delta", "text_delta", "text_end", "message_end"],
        *["turn_end", "agent_end"],
    ]


async def test_each_event_has_its_class_its_place_and_its_run():
    events = await calculation()
    assert [event.seq for event in events] == list(range(len(events)))
    assert len({event.run_id for event in events}) == 1
    for event in events:
        name = "".join(word.capitalize() for word in event.type.split("_"))
        assert type(event) is getattr(agent_loop, name)
        assert isinstance(event, Event)
        assert isinstance(event, MessageUpdate) == hasattr(event, "content_index")


async def test_canonical_json_equals_the_attributes():
    # Without prices: Python writes small numbers in a way of its own.
    for event in await calculation({**CALCULATOR, "cost": None}):
        written = event.to_json()
        fields = json.loads(written)
        assert written == json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
        assert list(fields)[:4] == ["type", "run_id", "seq", "turn"]
        assert event.to_dict() == fields
        for name, value in fields.items():
            assert plain(getattr(event, name)) == value


def plain(value):
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


async def test_events_match_patterns():
    seen = []
    for event in await calculation():
        match event:
            case TextDelta(delta=text) | ThinkingDelta(text):
                seen.append(text)
            case ToolCallStart(name=name):
                seen.append(name)
            case ToolCallEnd(block):
                seen.append(block.arguments)
            case ToolExecutionStart(tool_name=name, arguments=a):
                seen.append((name, a))
            case ToolExecutionEnd(name, result, False):
                seen.append((name, result.content[0].text))
            case MessageEnd(AssistantMessage(content=[*_, agent_loop.TextBlock(text)])):
                seen.append(("end", text))
            case AgentEnd(outcome):
                seen.append(outcome)
    arguments = {"operation": "multiply", "a": 15, "b": 23}
    assert seen == [
        "They want a product.",
        "calculator",
        arguments,
        ("calculator", arguments),
        ("calculator", '{"result":345}'),
        *["15 multiplied", " by 23", " equals 345."],
        ("end", "15 multiplied by 23 equals 345."),
        "completed",
    ]


async def test_the_message_as_it_stood_after_an_event():
    events = await calculation()
    so_far = [event.partial().text for event in events if isinstance(event, TextDelta)]
    assert so_far == ["15 multiplied", "15 multiplied by 23", "15 multiplied by 23 equals 345."]
    calls_so_far = [event.partial().content[1].to_dict() for event in events if event.type == "tool_call_delta"]
    assert calls_so_far[0]["raw_arguments"] == '{"operation":"multiply",'
    assert calls_so_far[1]["arguments"] == {"operation": "multiply", "a": 15, "b": 23}
    assert {event.type for event in events if event.partial() is None} == {
        *["agent_start", "turn_start", "tool_execution_start", "tool_execution_end", "turn_end", "agent_end"],
        *["message_start", "message_end"],  # of the user and of the tool
    }
    starts = [event for event in events if isinstance(event, MessageStart) and event.message.role == "assistant"]
    assert [start.partial().content for start in starts] == [(), ()]
    assert [start.message.stop_reason for start in starts] == [None, None]


async def test_turn_and_agent_end_carry_the_results():
    *_, turn_end, agent_end = await calculation()
    assert isinstance(turn_end, TurnEnd) and turn_end.message.text == "15 multiplied by 23 equals 345."
    assert turn_end.tool_results == ()
    assert (agent_end.turns, agent_end.error, agent_end.usage.total) == (2, None, 98)
    assert [message.role for message in agent_end.messages] == ["user", "assistant", "tool_result", "assistant"]


async def test_events_are_frozen():
    event = (await calculation())[7]
    for name in ("seq", "block", "anything"):
        with pytest.raises(AttributeError):
            setattr(event, name, 1)


async def test_the_values_of_an_event_are_copies():
    start = next(event for event in await calculation() if isinstance(event, ToolExecutionStart))
    start.arguments["a"] = "changed"
    assert start.arguments["a"] == 15


async def test_reprs_show_the_fields():
    events = await calculation()
    assert repr(events[0]) == "AgentStart(seq=0, turn=0)"
    delta = next(event for event in events if isinstance(event, TextDelta))
    assert repr(delta) == f"TextDelta(seq={delta.seq}, turn=2, content_index=0, delta='15 multiplied')"


async def test_updates_and_outputs_have_typed_parts():
    @tool
    async def work(context: agent_loop.ToolContext):
        context.update({"content": [{"type": "text", "text": "half"}], "details": {"percent": 50}})
        return {"content": [{"type": "image", "data": "aGk=", "mime_type": "image/png"}], "details": [1]}

    events = await events_of(agent(calls("work"), says("done"), tools=[work]).stream("go"))
    update = next(event for event in events if isinstance(event, ToolExecutionUpdate))
    assert update.partial_result.content[0].text == "half"
    assert update.partial_result.details == {"percent": 50}
    end = next(event for event in events if isinstance(event, ToolExecutionEnd))
    assert end.result.content[0].mime_type == "image/png"
    assert (end.result.details, end.result.terminate, end.duration_ms) == ([1], False, 0)
    assert repr(end.result).startswith("ToolOutput(content=[{'type': 'image'")


async def test_a_text_end_has_its_block():
    events = await events_of(agent(says("a", "b")).stream("go"))
    end = next(event for event in events if isinstance(event, TextEnd))
    assert (end.block.text, end.content_index, end.turn) == ("ab", 0, 1)
