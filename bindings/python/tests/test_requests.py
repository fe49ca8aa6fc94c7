"""What changes each request: `prepare_request` and a system prompt that is a function; and what an application gives its tools
and hooks (`deps`)."""

import asyncio
import threading

import pytest
from agent_loop import Agent, AgentError, CallbackError, HookContext, InvalidArgumentError, ToolContext, run, tool
from scripts import calls, says, scripted


@tool
async def who(context: ToolContext) -> str:
    """Who asks."""
    return str(context.deps)


@tool
def who_plainly(context: ToolContext) -> str:
    """Who asks, on a thread."""
    return str(context.deps)


def prompts_of(payloads):
    return [payload["system_prompt"] for payload in payloads]


def recorder():
    payloads = []
    return payloads, lambda request: payloads.append(request.payload)


async def test_prepare_request_gets_the_request_and_changes_it():
    seen, (payloads, on_payload) = [], recorder()

    def prepare(request):
        seen.append((request.turn, request.model, request.system_prompt, request.tools, request.thinking_level))
        if request.turn == 1:
            return {"context": {"system_prompt": "First.", "tools": []}, "thinking_level": "low"}
        return None

    model = scripted(calls("who_plainly"), says("Done."))
    tools = [who, who_plainly]
    agent = Agent(model, tools=tools, system_prompt="Be brief.", prepare_request=prepare, on_payload=on_payload)
    await agent.prompt("go")
    names = ["who", "who_plainly"]
    assert seen == [(n, "scripted/scenario", "Be brief.", names, "off") for n in (1, 2)]
    assert prompts_of(payloads) == ["First.", "Be brief."]
    assert [[one["name"] for one in payload["tools"]] for payload in payloads] == [[], names]


async def test_a_system_prompt_may_be_a_function():
    payloads, on_payload = recorder()
    count = iter(range(9))
    agent = Agent(scripted(calls("who"), says("a"), says("b"), says("c")), tools=[who], on_payload=on_payload)
    agent.set_options(system_prompt=lambda: f"prompt {next(count)}")
    await agent.prompt("go")

    async def of(context: HookContext) -> str:
        await asyncio.sleep(0)
        return f"for {context.deps}"

    agent.set_options(system_prompt=of)
    await agent.prompt("go", deps="Ann")
    agent.set_options(system_prompt="plain")
    await agent.prompt("go")
    assert prompts_of(payloads) == ["prompt 0", "prompt 1", "for Ann", "plain"]
    assert agent.system_prompt == "plain"


async def test_a_text_stands_in_the_place_of_the_function():
    payloads, on_payload = recorder()
    agent = Agent(scripted(*[says("a")] * 4), system_prompt=lambda: "the function's", on_payload=on_payload)
    await agent.prompt("go", system_prompt="of the run")
    with pytest.raises(InvalidArgumentError, match='option "system_prompt": expected text, got 5'):
        agent.set_options(system_prompt=5)
    with pytest.raises(InvalidArgumentError, match='option "temperature"'):
        agent.set_options(system_prompt="other", temperature="hot")
    await agent.prompt("go")
    agent.system_prompt = "set"
    await agent.prompt("go")
    agent.system_prompt = lambda: "another"
    await agent.prompt("go")
    assert prompts_of(payloads) == ["of the run", "the function's", "set", "another"]


async def test_a_system_prompt_and_the_hook_work_together():
    payloads, on_payload = recorder()

    async def prepare(request):
        return {"context": {"system_prompt": "the hook's"}} if request.turn == 1 else {"thinking_level": "high"}

    agent = Agent(
        scripted(calls("who"), says("a"), says("b")),
        tools=[who],
        system_prompt=lambda: "the function's",
        prepare_request=prepare,
        on_payload=on_payload,
    )
    await agent.prompt("go")
    agent.set_hook("prepare_request", None)
    await agent.prompt("go")
    seen = [(payload["system_prompt"], payload.get("thinking_level")) for payload in payloads]
    assert seen == [("the hook's", "off"), ("the function's", "high"), ("the function's", "off")]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"system_prompt": lambda: 5}, "the hook prepare_request failed: TypeError: system_prompt: the function returned int"),
        ({"prepare_request": lambda _: "text"}, "the hook prepare_request failed: its answer cannot be used: expected null or"),
        ({"prepare_request": lambda _: {"context": {"tools": ["x"]}}}, "there is no tool named \"x\"; the tools are: who"),
    ],
)
async def test_what_is_no_change_fails_the_request(options, text):
    with pytest.raises(CallbackError) as raised:
        await Agent(scripted(says("a")), tools=[who], **options).prompt("go")
    assert text in str(raised.value)


def test_a_function_that_cannot_be_called_so_is_refused():
    with pytest.raises(TypeError, match=r'option "system_prompt": expected a function that is called as f\(\) or f\(context\)'):
        Agent(scripted(says("a")), system_prompt=lambda a, b: "")


async def test_deps_are_what_tools_and_hooks_find():
    seen = []

    def before(call, context):
        seen.append(context.deps)

    async def around(call, next):
        seen.append(call.context.deps)
        return await next()

    model = scripted(calls("who"), calls("who_plainly"), says("a"), calls("who"), says("b"))
    agent = Agent(model, tools=[who, who_plainly], deps="Ann", before_tool_call=before, middleware=[around])
    result = await agent.prompt("go")
    assert [result.messages[at].text for at in (2, 4)] == ["Ann", "Ann"]
    async with agent.stream("go", deps="Bob") as stream:
        result = await stream.result()
    assert result.messages[2].text == "Bob"
    assert seen == ["Ann"] * 4 + ["Bob"] * 2


async def test_each_run_has_its_own_deps():
    def started(name):
        return run({"messages": [], "tools": [who]}, "go", model=scripted(calls("who"), says("a")), deps=name).result()

    results = await asyncio.gather(*(started(name) for name in "abc"))
    assert [result.messages[2].text for result in results] == ["a", "b", "c"]


async def test_a_tool_outside_of_an_agent_has_deps_too():
    @tool
    async def asks(context: ToolContext) -> str:
        """Asks another tool."""
        return await who.run({}, context=context)

    assert await who.run({}, deps="Ann") == "Ann"
    assert await asks.run({}, deps="Ann") == "Ann"
    assert await who.run({}) == "None"


async def test_deps_are_not_changed_by_set_options():
    with pytest.raises(AgentError, match=r'option "deps" is not a plain value; use the constructor, or prompt\(…, deps=…\)'):
        Agent(scripted(says("a"))).set_options(deps=1)


async def test_stop_after_turn():
    @tool
    async def stops() -> str:
        """Stops the run."""
        stream.stop_after_turn()
        return "stopping"

    agent = Agent(scripted(calls("stops"), says("Done.")), tools=[stops])
    agent.stop_after_turn()  # no run: nothing happens
    async with agent.stream("go") as stream:
        result = await stream.result()
    assert (result.outcome, result.turns, agent.messages[-1].text) == ("stopped", 1, "stopping")
    assert (await agent.resume()).text == "Done."


def test_stop_after_turn_without_an_event_loop():
    asked = threading.Event()

    @tool
    def waits() -> bool:
        """Returns when the run was asked to stop."""
        return asked.wait(timeout=30)

    agent = Agent(scripted(calls("waits"), says("Done.")), tools=[waits])
    with agent.stream_sync("go") as stream:
        for _event in stream:
            stream.stop_after_turn()
            asked.set()
        assert stream.result().outcome == "stopped"
