"""One model call, without a loop."""

import asyncio

import agent_loop
import pytest
from agent_loop import (
    AssistantMessage,
    InvalidArgumentError,
    InvalidStateError,
    PermissionDeniedError,
    ToolCall,
    UserMessage,
    tool,
)
from scripts import calls, fails, kinds, says, scripted


@tool
async def double(n: int):
    """Doubles."""
    raise AssertionError("it is not executed")


async def test_a_model_and_a_text_are_enough():
    answer = await agent_loop.complete(scripted(says("Hello.")), "Hi.")
    assert isinstance(answer, AssistantMessage)
    assert (answer.text, answer.stop_reason) == ("Hello.", "stop")


async def test_the_model_gets_the_messages_the_prompt_and_the_tools():
    seen = []

    async def provider(request):
        seen.append((request.system_prompt, [message.text for message in request.messages], request.options.get("temperature")))
        seen.append([(tool["name"], tool["description"]) for tool in request.tools])
        yield "ok"

    history = (UserMessage("one"), AssistantMessage("two"), {"role": "user", "content": "three"})
    tools = [double, {"name": "triple", "description": "Triples.", "parameters": {"type": "object"}}]
    answer = await agent_loop.complete(
        "own/m", history, system_prompt="Be brief.", tools=tools, provider=provider, temperature=0.5, max_turns=None
    )
    assert answer.text == "ok"
    assert seen == [("Be brief.", ["one", "two", "three"], 0.5), [("double", "Doubles."), ("triple", "Triples.")]]
    await agent_loop.complete("own/m", UserMessage("alone"), provider=provider)
    assert seen[2:] == [("", ["alone"], None), []]


async def test_its_tool_calls_are_the_callers():
    answer = await agent_loop.complete(scripted(calls("double", n=2)), "2 doubled?", tools=[double])
    assert answer.stop_reason == "tool_use"
    [call] = answer.tool_calls
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments) == ("double", {"n": 2})


async def test_its_events_are_those_of_one_turn():
    call = agent_loop.stream_complete(scripted(says("Hello.")), "Hi.")
    async with call:
        events = [event async for event in call]
        result = await call.result()
    assert [kind for kind in kinds(events) if not kind.startswith("text_")] == [
        "agent_start", "turn_start", "message_start", "message_end", "turn_end", "agent_end",
    ]  # fmt: skip
    assert (result.outcome, result.message.text, len(result.messages)) == ("completed", "Hello.", 1)


async def test_a_failed_call_raises_its_error():
    with pytest.raises(PermissionDeniedError) as raised:
        await agent_loop.complete(scripted(fails("permission", "no")), "Hi.")
    assert raised.value.result.message.stop_reason == "error"
    with pytest.raises(PermissionDeniedError):
        async for _ in agent_loop.stream_complete(scripted(fails("permission", "no")), "Hi."):
            pass
    call = agent_loop.stream_complete(scripted(fails("permission", "no")), "Hi.", raise_errors=False)
    assert kinds([event async for event in call])[-1] == "agent_end"


async def test_a_cancelled_call_is_aborted():
    begun, ended = asyncio.Event(), asyncio.Event()

    async def provider(request):
        yield "Well,"
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    call = asyncio.create_task(agent_loop.complete("own/m", "Hi.", provider=provider))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await ended.wait()

    begun.clear()
    async with agent_loop.stream_complete("own/m", "Hi.", provider=provider) as run:
        await begun.wait()
        with pytest.raises(InvalidStateError, match="steer: one model call takes no further messages; make another call"):
            run.steer("More.")
        run.abort()
        result = await run.result()
    assert (result.outcome, result.message.stop_reason) == ("aborted", "aborted")


async def test_what_has_no_use_is_refused():
    model = scripted(says("Never sent."))
    refused = "one model call has no further turn and no queue, and executes no tool; leave the option out, or use run"
    for name, value in {
        "max_turns": 3,
        "tool_execution": "parallel",
        "before_tool_call": lambda call: None,
        "should_stop_after_turn": lambda turn: None,
        "get_steering_messages": lambda: None,
        "middleware": [],
    }.items():
        with pytest.raises(InvalidArgumentError) as raised:
            await agent_loop.complete(model, "Hi.", **{name: value})
        assert str(raised.value) == f'option "{name}": {refused}'
    with pytest.raises(InvalidArgumentError, match="unknown option"):
        await agent_loop.complete(model, "Hi.", max_token=3)
    with pytest.raises(InvalidArgumentError, match="the list is empty"):
        await agent_loop.complete(model, [])
    with pytest.raises(InvalidArgumentError, match="messages: the user message is empty"):
        await agent_loop.complete(model, " ")
    with pytest.raises(InvalidArgumentError, match="messages: the last one is the model's answer"):
        await agent_loop.complete(model, [UserMessage("a"), AssistantMessage("b")])
    with pytest.raises(InvalidArgumentError, match="messages"):
        await agent_loop.complete(model, 5)
    with pytest.raises(TypeError, match="expected a list of tools"):
        await agent_loop.complete(model, "Hi.", tools=double)


def test_without_an_event_loop():
    assert agent_loop.complete_sync(scripted(says("Hello.")), "Hi.").text == "Hello."
    with agent_loop.stream_complete_sync(scripted(says("Hello.")), "Hi.") as run:
        assert kinds(run)[-1] == "agent_end"
    assert run.result().text == "Hello."


async def test_the_blocking_forms_are_refused_in_an_event_loop():
    with pytest.raises(InvalidStateError, match=r"complete_sync would block .* use `await complete\(…\)`"):
        agent_loop.complete_sync(scripted(), "Hi.")
    with pytest.raises(InvalidStateError, match=r"use `async for event in stream_complete\(…\)`"):
        agent_loop.stream_complete_sync(scripted(), "Hi.")
