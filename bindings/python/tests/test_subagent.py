"""Agents as tools of other agents: `Agent.as_tool`, and `within` in a tool of one's own."""

import asyncio
import pickle
from contextvars import ContextVar

import pytest
from agent_loop import Agent, InvalidArgumentError, SubagentEvent, TextDelta, ToolContext, tool
from scripts import agent, calls, events_of, says, scripted

HERE = ContextVar("HERE", default="nowhere")


@tool
async def who(context: ToolContext) -> str:
    """Says what it was given."""
    return f"{context.deps} {HERE.get()}"


def texts(result):
    return [message.text for message in result.messages if message.role == "tool_result"]


async def test_events_are_objects_with_a_path():
    inner = agent(says("It ", "rains."))
    outer = agent(calls("research", prompt="Rain?"), says("Yes."), tools=[inner.as_tool("research", "Finds out.")])
    events = await events_of(outer.stream("go"))
    nested = [event for event in events if isinstance(event, SubagentEvent)]
    assert [event.event.delta for event in nested if isinstance(event.event, TextDelta)] == ["It ", "rains."]
    assert {tuple(event.path) for event in nested} == {("call_0",)}
    assert nested[0].tool_name == "research"
    assert pickle.loads(pickle.dumps(nested[-1])) == nested[-1]
    assert inner.messages == ()


async def test_a_subagent_has_its_own_tools_hooks_deps_and_the_variables_of_its_caller():
    asked = []
    inner = agent(calls("who"), says("done"), tools=[who], deps="inner", before_run=lambda prompts: asked.append(prompts[0].text))
    outer = agent(calls("sub", prompt="one"), says("."), tools=[inner.as_tool("sub", events="none")], deps="outer")
    HERE.set("here")
    seen = []
    inner.set_hook("after_tool_call", lambda call: seen.append(call.result.text))
    await outer.prompt("go")
    assert (asked, seen) == (["one"], ["inner here"])


async def test_several_run_at_once_each_with_its_own_agent():
    running, most = 0, 0

    @tool
    async def slow() -> str:
        nonlocal running, most
        running, most = running + 1, max(most, running + 1)
        await asyncio.sleep(0.01)
        running -= 1
        return "x"

    async def answer(request, context):
        yield "done" if any(message.role == "tool_result" for message in request.messages) else {
            "tool_call": {"id": "s", "name": "slow", "arguments": {}}
        }

    inner = Agent("mine/any", provider=answer, tools=[slow], system_prompt=lambda request: "Be brief.")
    outer = agent(calls("sub", {"prompt": "a"}, {"prompt": "b"}, {"prompt": "c"}), says("."), tools=[inner.as_tool("sub")])
    assert texts(await outer.prompt("go")) == ["done"] * 3
    assert (most, running) == (3, 0)


async def test_own_parameters_and_a_prompt_of_them():
    inner = agent(says("yes"), says("no"))
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

    async def prompt(arguments):
        return f"Rain in {arguments['city']}?"

    kept = inner.as_tool("rain", parameters=schema, prompt=prompt, keep_conversation=True)
    outer = agent(calls("rain", city="Oslo"), calls("rain", city="Bergen"), says("."), tools=[kept])
    assert texts(await outer.prompt("go")) == ["yes", "no"]
    assert [message.text for message in inner.messages] == ["Rain in Oslo?", "yes", "Rain in Bergen?", "no"]


async def test_a_tool_of_ones_own_runs_an_agent_within_its_call():
    inner = agent(says("It rains."))

    @tool
    async def research(question: str, context: ToolContext) -> dict:
        result = await inner.prompt(question, within=context)
        return result.to_tool_result()

    outer = agent(calls("research", question="Rain?"), says("."), tools=[research])
    events = await events_of(outer.stream("go"))
    assert any(isinstance(event, SubagentEvent) and event.event.type == "agent_end" for event in events)
    # By itself, outside of a run.
    inner = agent(says("It rains."))
    assert (await research.run({"question": "Rain?"}))["content"] == [{"type": "text", "text": "It rains."}]
    with pytest.raises(TypeError, match="within"):
        await inner.prompt("go", within="no context")


async def test_a_cancelled_caller_ends_the_subagents():
    inner = Agent(scripted([{"delta": "So "}, {"wait_ms": 60_000}, {"end": {}}]))
    outer = agent(calls("slow", prompt="x"), says("."), tools=[inner.as_tool("slow")])
    outer.subscribe(lambda event: outer.abort() if event.type == "subagent_event" and event.event.type == "text_delta" else None)
    result = await outer.prompt("go")
    assert result.outcome == "aborted"
    assert texts(result) == ["the subagent has no whole answer: the run was aborted. Its text so far: So "]


async def test_a_kept_conversation_does_not_wait_for_itself():
    inner = agent(calls("again", prompt="b"), says("Then not."))
    again = inner.as_tool("again", keep_conversation=True)
    inner.tools = [again]
    outer = agent(calls("again", prompt="a"), says("Done."), tools=[again])
    assert texts(await outer.prompt("go")) == ["Then not."]
    assert "already at work on this" in inner.messages[2].text


async def test_a_call_that_is_cancelled_before_its_turn_adds_nothing_to_a_kept_conversation():
    inner = Agent(scripted([{"delta": "So "}, {"wait_ms": 60_000}, {"end": {}}], says("never")))
    kept = inner.as_tool("kept", keep_conversation=True)
    outer = agent(calls("kept", {"prompt": "one"}, {"prompt": "two"}), says("."), tools=[kept])
    outer.subscribe(lambda event: outer.abort() if event.type == "subagent_event" and event.event.type == "text_delta" else None)
    assert (await outer.prompt("go")).outcome == "aborted"
    await inner.wait_for_idle()
    assert [message.text for message in inner.messages] == ["one", "So "]


async def test_another_agent_goes_on_after_a_handoff():
    seen = []
    other = agent(calls("who"), says("I am the other."), tools=[who], deps="other")
    other.set_hook("after_tool_call", lambda call: seen.append(call.result.text))
    other.system_prompt = lambda request: seen.append("asked") or "Other."
    mine = agent(calls("to_other"), says("Mine again."), tools=[other.as_handoff("to_other", "Knows.")], deps="mine")
    HERE.set("here")
    events = await events_of(mine.stream("go"))
    [handoff] = [event for event in events if event.type == "diagnostic"]
    assert (handoff.code, handoff.data["tool_name"]) == ("handoff", "to_other")
    assert mine.messages[-1].text == "I am the other."
    assert seen == ["asked", "other here", "asked"]
    assert (await mine.prompt("again")).text == "Mine again."
    with pytest.raises(InvalidArgumentError, match="tool name"):
        other.as_handoff("a name")
    assert (await other.as_handoff("x").run({}))["is_error"]


def test_what_is_wrong_is_said():
    inner = agent(says("x"))
    with pytest.raises(InvalidArgumentError, match="events: expected"):
        inner.as_tool("sub", events="some")
    with pytest.raises(InvalidArgumentError, match="give prompt, too"):
        inner.as_tool("sub", parameters={"type": "object"})
    with pytest.raises(InvalidArgumentError, match="tool name"):
        inner.as_tool("a name")
    with pytest.raises(InvalidArgumentError, match="timeout_ms"):
        inner.as_tool("sub", timeout=3)
