"""`prompt_sync` and `resume_sync`: for code without an event loop."""

import asyncio

import pytest
from agent_loop import InvalidStateError, ServerError, tool
from scripts import agent, calls, fails, results, says


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
    subject = agent(calls("nap"), calls("plain"), says("done"), says("more"), tools=[nap, plain])
    heard = []
    subject.subscribe(lambda event: heard.append(event.type))
    result = subject.prompt_sync("go")
    assert (result.text, results(result), heard[-1]) == ("done", ["slept", "worked"], "agent_end")
    subject.follow_up("on")
    assert subject.resume_sync().text == "more"


def test_its_errors_are_raised():
    subject = agent(fails("server", "broken"), says("fine"), max_retries=0)
    with pytest.raises(ServerError) as caught:
        subject.prompt_sync("go")
    assert caught.value.result.outcome == "error"
    assert subject.resume_sync().text == "fine"
    with pytest.raises(InvalidStateError, match="there is nothing to resume"):
        subject.resume_sync()


async def test_inside_a_loop_the_error_names_the_async_method():
    subject = agent(says("a"))
    with pytest.raises(InvalidStateError, match=r"prompt_sync would block the event loop .* use `await agent.prompt\(…\)`"):
        subject.prompt_sync("go")
    with pytest.raises(InvalidStateError, match=r"resume_sync would block the event loop .* use `await agent.resume\(…\)`"):
        subject.resume_sync()
    assert (await asyncio.to_thread(subject.prompt_sync, "go")).text == "a"


async def test_a_plain_tool_may_use_another_agent_but_not_its_own():
    @tool
    def asks(own: bool):
        """Asks an agent."""
        return (subject if own else agent(says("from another"))).prompt_sync("go").text

    subject = agent(calls("asks", {"own": False}, {"own": True}), says("done"), tools=[asks])
    other, own = results(await subject.prompt("go"))
    assert other == "from another"
    assert own.startswith("InvalidStateError: starting a run inside a listener, hook or tool")
