"""`resume`, and changes of the transcript between runs."""

import asyncio

import pytest
from agent_loop import BusyError, InvalidArgumentError, InvalidStateError, ServerError, UserMessage, tool
from scripts import agent, calls, events_of, fails, kinds, says


@tool
async def noop():
    """Does nothing."""


def texts(subject):
    return [message.text for message in subject.messages]


async def test_resume_after_a_failure():
    subject = agent(fails("server", "broken"), says("fine"), max_retries=0)
    with pytest.raises(ServerError):
        await subject.prompt("go")
    result = await subject.resume()
    assert (result.text, [message.role for message in result.messages]) == ("fine", ["assistant"])


async def test_resume_after_max_turns():
    subject = agent(calls("noop"), says("done"), tools=[noop], max_turns=1)
    assert (await subject.prompt("go")).outcome == "max_turns"
    async with subject.stream_resume() as run:
        events = [event async for event in run]
    assert kinds(events)[:3] == ["agent_start", "turn_start", "message_start"]
    assert events[-1].outcome == "completed" and texts(subject)[-1] == "done"


async def test_resume_with_nothing_to_resume():
    subject = agent(says("a"), says("b"), says("c"))
    with pytest.raises(InvalidStateError, match="the transcript is empty; use prompt"):
        await subject.resume()
    await subject.prompt("go")
    with pytest.raises(InvalidStateError, match="no message is queued"):
        subject.stream_resume()
    subject.follow_up("later")
    subject.steer("now")
    result = await subject.resume()
    assert [message.text for message in result.messages] == ["now", "b", "later", "c"]


async def test_the_conversation_between_runs():
    subject = agent(says("a"), says("b"))
    subject.append_message({"role": "user", "content": "one"})
    subject.append_messages([{"role": "note", "n": 1}, {"role": "user", "content": "two"}])
    assert texts(subject) == ["one", "", "two"]
    await subject.resume()
    last = subject.messages[-1]
    subject.replace_messages([last, {"role": "user", "content": "three"}])
    assert texts(subject) == ["a", "three"] and subject.messages[0] == last
    subject.clear_messages()
    assert subject.messages == ()
    subject.append_message(last)
    assert subject.messages == (last,)


def test_a_value_that_is_not_a_message():
    subject = agent()
    for call, error, text in [
        (lambda: subject.append_message({"role": "user"}), InvalidArgumentError, "message: "),
        (lambda: subject.append_messages([{"role": "user", "content": "x"}, 5]), InvalidArgumentError, "messages[1]: "),
        (lambda: subject.replace_messages("x"), TypeError, "messages: expected a list of messages, got str"),
    ]:
        with pytest.raises(error) as caught:
            call()
        assert str(caught.value).startswith(text)
    assert subject.messages == (), "all or none"


async def test_reset_forgets_all():
    subject = agent(fails("server", "broken"), says("fine"), max_retries=0, system_prompt="Stays.")
    with pytest.raises(ServerError):
        await subject.prompt("go")
    subject.steer("x")
    subject.follow_up("y")
    assert subject.error.kind == "server"
    subject.reset()
    assert (subject.messages, subject.error, subject.has_queued_messages()) == ((), None, False)
    assert subject.system_prompt == "Stays."
    assert (await subject.prompt("again")).text == "fine"


async def test_a_conversation_stays_as_it_is_during_a_run():
    gate = asyncio.Event()

    @tool
    async def wait():
        """Waits."""
        await gate.wait()

    subject = agent(calls("wait"), says("a"), tools=[wait])
    run = subject.stream("go")
    message = {"role": "user", "content": "x"}
    for call in (
        lambda: subject.append_message(message),
        lambda: subject.append_messages([message]),
        lambda: subject.replace_messages([message]),
        subject.clear_messages,
        subject.reset,
        subject.stream_resume,
    ):
        with pytest.raises(BusyError, match="a run is active on this agent"):
            call()
    gate.set()
    assert kinds(await events_of(run))[-1] == "agent_end"
    assert isinstance(subject.messages[0], UserMessage)
