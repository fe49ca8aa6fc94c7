"""Steering and follow-up: queued from anywhere, in both modes, with both policies, and never lost."""

import asyncio
import threading

import pytest
from agent_loop import Agent, BusyError, InvalidArgumentError, TextBlock, UserMessage, tool
from scripts import agent, calls, events_of, results, says, waits


@tool
async def noop():
    """Does nothing."""
    return "done"


def texts(messages):
    return [message.text for message in messages]


async def test_what_is_queued_before_a_run_joins_it():
    subject = agent(says("a"), says("b"))
    subject.steer("first")
    subject.follow_up("last")
    assert subject.has_queued_messages()
    result = await subject.prompt("go")
    assert texts(result.messages) == ["go", "first", "a", "last", "b"]
    assert not subject.has_queued_messages()


async def test_it_is_given_as_a_prompt_is():
    subject = agent(says("a"), steering_mode="all")
    message = UserMessage
    subject.steer([{"type": "text", "text": "block"}])
    subject.steer({"role": "user", "content": "message"})
    subject.steer([{"role": "user", "content": "one"}, {"role": "note", "x": 1}])
    result = await subject.prompt("go")
    assert texts(result.messages) == ["go", "block", "message", "one", "", "a"]
    assert isinstance(result.messages[1], message) and isinstance(result.messages[1].content[0], TextBlock)
    for call in (subject.steer, subject.follow_up):
        with pytest.raises(InvalidArgumentError, match="message: expected text, a message or a list of messages, got 5"):
            call(5)
        with pytest.raises(TypeError, match="message: a value of type object is not JSON"):
            call(object())


@pytest.mark.parametrize(("mode", "turns"), [("one_at_a_time", 3), ("all", 2)])
async def test_modes_of_follow_up(mode, turns):
    subject = agent(says("a"), says("b"), says("c"), follow_up_mode=mode)
    subject.follow_up("one")
    subject.follow_up("two")
    assert (await subject.prompt("go")).turns == turns


@pytest.mark.parametrize("policy", ["skip_remaining", "after_batch"])
async def test_steering_while_tools_run(policy):
    @tool
    async def steers(n: int):
        """Steers."""
        if n == 1:
            subject.steer("stop that")
        return n

    subject = agent(
        calls("steers", {"n": 1}, {"n": 2}), says("ok"), tools=[steers], tool_execution="sequential", steering_policy=policy
    )
    result = await subject.prompt("go")
    second = "2" if policy == "after_batch" else "skipped because of a queued user message, which comes next"
    assert results(result) == ["1", second]
    assert texts(result.messages)[-2:] == ["stop that", "ok"]


async def test_steering_a_run_from_its_reader_and_from_a_thread():
    steered = asyncio.Event()
    answers = iter("bcd")

    async def provider(request):
        if len(request.messages) == 1:
            yield "a"
            await steered.wait()
        yield next(answers)

    subject = Agent("own/m", provider=provider)
    async with subject.stream("go") as run:
        async for event in run:
            if event.type == "text_delta" and event.delta == "a":
                run.steer("now")
                thread = threading.Thread(target=run.follow_up, args=("later",))
                thread.start()
                await asyncio.to_thread(thread.join)
                steered.set()
        result = await run.result()
    assert texts(result.messages) == ["go", "ab", "now", "c", "later", "d"]
    assert result.undelivered is None


async def test_clearing():
    subject = agent(says("a"))
    for clear, left in [
        (subject.clear_steering_queue, True),
        (subject.clear_follow_up_queue, True),
        (subject.clear_all_queues, False),
    ]:
        subject.clear_all_queues()
        subject.steer("x")
        subject.follow_up("y")
        clear()
        assert subject.has_queued_messages() is left
    assert texts((await subject.prompt("go")).messages) == ["go", "a"]


async def test_found_e14_after_its_end_a_run_steers_the_agents_next():
    subject = agent(says("a"), says("b"), says("c"))
    run = subject.stream("go")
    await run.result()
    assert (run.steer("late"), run.follow_up("later")) == ("queued", "queued")
    assert subject.has_queued_messages()
    assert texts((await subject.prompt("again")).messages) == ["again", "late", "b", "later", "c"]


async def test_found_e14_resume_if_queued_takes_up_what_waits():
    subject = agent(says("a"), says("b"))
    assert await subject.resume_if_queued() is None
    assert subject.stream_resume_if_queued() is None
    assert subject.steer("hello") == "queued"
    result = await subject.resume_if_queued()
    assert result is not None and texts(result.messages) == ["hello", "a"]
    subject.follow_up("and then")
    # It holds the run until this task waits.
    subject.subscribe(lambda event: None)
    run = subject.stream_resume_if_queued()
    assert run is not None
    with pytest.raises(BusyError):
        subject.stream_resume_if_queued()
    end = (await events_of(run))[-1]
    assert (texts(end.messages), end.queued) == (["and then", "b"], 0)


async def test_messages_that_were_not_appended_stay_queued_after_an_abort():
    subject = agent([waits(1), *says("a")], says("b"))

    def listener(event):
        if event.type == "turn_start" and event.turn == 1:
            subject.steer("kept")
            subject.abort()

    with subject.subscribe(listener):
        assert (await subject.prompt("go")).outcome == "aborted"
    assert subject.has_queued_messages()
    events = await events_of(subject.stream("again"))
    assert "kept" in texts(events[-1].messages)
