"""Going on: `resume`, and what may be done to the conversation between runs."""

import asyncio

import pytest
from agent_loop import BusyError, InvalidArgumentError, InvalidStateError, ServerError, UserMessage, tool
from stories import agent, calls, events_of, fails, kinds, says


@tool
async def noop():
    """Does nothing."""


def texts(story):
    return [message.text for message in story.messages]


async def test_resume_goes_on_after_a_failure():
    story = agent(fails("server", "broken"), says("fine"), max_retries=0)
    with pytest.raises(ServerError):
        await story.prompt("go")
    result = await story.resume()
    assert (result.text, [message.role for message in result.messages]) == ("fine", ["assistant"])


async def test_resume_goes_on_after_max_turns():
    story = agent(calls("noop"), says("done"), tools=[noop], max_turns=1)
    assert (await story.prompt("go")).outcome == "max_turns"
    async with story.stream_resume() as run:
        events = [event async for event in run]
    assert kinds(events)[:3] == ["agent_start", "turn_start", "message_start"]
    assert events[-1].outcome == "completed" and texts(story)[-1] == "done"


async def test_resume_with_nothing_to_go_on_from():
    story = agent(says("a"), says("b"), says("c"))
    with pytest.raises(InvalidStateError, match="the transcript is empty; use prompt"):
        await story.resume()
    await story.prompt("go")
    with pytest.raises(InvalidStateError, match="no message is queued"):
        story.stream_resume()
    story.follow_up("later")
    story.steer("now")
    result = await story.resume()
    assert [message.text for message in result.messages] == ["now", "b", "later", "c"]


async def test_the_conversation_between_runs():
    story = agent(says("a"), says("b"))
    story.append_message({"role": "user", "content": "one"})
    story.append_messages([{"role": "note", "n": 1}, {"role": "user", "content": "two"}])
    assert texts(story) == ["one", "", "two"]
    await story.resume()
    last = story.messages[-1]
    story.replace_messages([last, {"role": "user", "content": "three"}])
    assert texts(story) == ["a", "three"] and story.messages[0] == last
    story.clear_messages()
    assert story.messages == ()
    story.append_message(last)
    assert story.messages == (last,)


def test_what_is_no_message():
    story = agent()
    for call, error, text in [
        (lambda: story.append_message({"role": "user"}), InvalidArgumentError, "message: "),
        (lambda: story.append_messages([{"role": "user", "content": "x"}, 5]), InvalidArgumentError, "messages[1]: "),
        (lambda: story.replace_messages("x"), TypeError, "messages: expected a list of messages, got str"),
    ]:
        with pytest.raises(error) as caught:
            call()
        assert str(caught.value).startswith(text)
    assert story.messages == (), "all or none"


async def test_reset_forgets_all():
    story = agent(fails("server", "broken"), says("fine"), max_retries=0, system_prompt="Stays.")
    with pytest.raises(ServerError):
        await story.prompt("go")
    story.steer("x")
    story.follow_up("y")
    assert story.error.kind == "server"
    story.reset()
    assert (story.messages, story.error, story.has_queued_messages()) == ((), None, False)
    assert story.system_prompt == "Stays."
    assert (await story.prompt("again")).text == "fine"


async def test_a_conversation_stays_as_it_is_during_a_run():
    gate = asyncio.Event()

    @tool
    async def wait():
        """Waits."""
        await gate.wait()

    story = agent(calls("wait"), says("a"), tools=[wait])
    run = story.stream("go")
    message = {"role": "user", "content": "x"}
    for call in (
        lambda: story.append_message(message),
        lambda: story.append_messages([message]),
        lambda: story.replace_messages([message]),
        story.clear_messages,
        story.reset,
        story.stream_resume,
    ):
        with pytest.raises(BusyError, match="a run is active on this agent"):
            call()
    gate.set()
    assert kinds(await events_of(run))[-1] == "agent_end"
    assert isinstance(story.messages[0], UserMessage)
