"""`prompt_sync` and `resume_sync`: for code without an event loop."""

import asyncio

import pytest
from agent_loop import InvalidStateError, ServerError, tool
from stories import agent, calls, fails, results, says


@tool
async def nap():
    """Waits on the loop."""
    await asyncio.sleep(0)
    return "slept"


@tool
def plain():
    """Works on a thread."""
    return "worked"


def test_a_run_without_a_loop():
    story = agent(calls("nap"), calls("plain"), says("done"), says("more"), tools=[nap, plain])
    heard = []
    story.subscribe(lambda event: heard.append(event.type))
    result = story.prompt_sync("go")
    assert (result.text, results(result), heard[-1]) == ("done", ["slept", "worked"], "agent_end")
    story.follow_up("on")
    assert story.resume_sync().text == "more"


def test_its_errors_are_raised():
    story = agent(fails("server", "broken"), says("fine"), max_retries=0)
    with pytest.raises(ServerError) as caught:
        story.prompt_sync("go")
    assert caught.value.result.outcome == "error"
    assert story.resume_sync().text == "fine"
    with pytest.raises(InvalidStateError, match="there is nothing to resume"):
        story.resume_sync()


async def test_inside_a_loop_it_says_what_to_do():
    story = agent(says("a"))
    with pytest.raises(InvalidStateError, match=r"prompt_sync would block the event loop .* use `await agent.prompt\(…\)`"):
        story.prompt_sync("go")
    with pytest.raises(InvalidStateError, match=r"resume_sync would block the event loop .* use `await agent.resume\(…\)`"):
        story.resume_sync()
    assert (await asyncio.to_thread(story.prompt_sync, "go")).text == "a"


async def test_a_plain_tool_may_use_another_agent_but_not_its_own():
    @tool
    def asks(own: bool):
        """Asks an agent."""
        return (story if own else agent(says("from another"))).prompt_sync("go").text

    story = agent(calls("asks", {"own": False}, {"own": True}), says("done"), tools=[asks])
    other, own = results(await story.prompt("go"))
    assert other == "from another"
    assert own.startswith("InvalidStateError: starting a run inside a listener, hook or tool")
