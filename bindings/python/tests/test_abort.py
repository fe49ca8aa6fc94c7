"""Aborts, in each phase of a run."""

import asyncio
import threading

import pytest
from agent_loop import InvalidArgumentError, ToolContext, tool
from scripts import agent, calls, events_of, kinds, results, says, waits


def abort_at(subject, when):
    """Aborts at the first event that `when` selects, in a listener, for which the run waits: so the point is exact."""

    def listener(event):
        if when(event):
            subject.abort()

    subject.subscribe(listener)
    return subject


def is_running(event):
    """The tool reported that it runs."""
    return event.type == "tool_execution_update"


async def test_at_the_start_the_prompt_is_still_appended():
    subject = abort_at(agent(says("never")), lambda event: event.type == "agent_start")
    events = await events_of(subject.stream("hi"))
    assert kinds(events) == [
        *["agent_start", "turn_start", "message_start", "message_end", "message_start", "message_end", "turn_end", "agent_end"]
    ]
    assert (events[-1].outcome, events[-1].error.kind) == ("aborted", "aborted")
    assert (events[-3].message.stop_reason, events[-3].message.content) == ("aborted", ())


async def test_before_the_model_answers():
    subject = abort_at(agent([waits(1000), *says("never")]), lambda event: event.type == "message_end")
    result = await subject.prompt("hi")
    assert (result.outcome, result.text, result.message.stop_reason) == ("aborted", "", "aborted")


async def test_while_the_model_answers():
    subject = abort_at(agent(says("a", "b", "c")), lambda event: event.type == "text_delta" and event.delta == "b")
    events = await events_of(subject.stream("hi"))
    assert [event.delta for event in events if event.type == "text_delta"] == ["a", "b"]
    assert "text_end" not in kinds(events)
    assert events[-1].messages[-1].text == "ab"
    assert events[-1].messages[-1].error.kind == "aborted"


async def test_while_it_calls_a_tool_the_call_is_taken_out():
    @tool
    async def never():
        """Is never called."""
        raise AssertionError

    subject = abort_at(agent(calls("never"), tools=[never]), lambda event: event.type == "tool_call_end")
    result = await subject.prompt("hi")
    assert (result.outcome, result.message.tool_calls) == ("aborted", ())


async def test_a_tool_that_answers_in_time_keeps_its_answer():
    @tool(cancel_mode="token")
    async def work(context: ToolContext):
        """Works until it is cancelled."""
        context.update("at work")
        await context.wait_cancelled()
        return ["cancelled", context.is_cancelled]

    @tool(cancel_mode="token")
    async def nap(context: ToolContext):
        """Sleeps until it is cancelled."""
        context.update("at work")
        return await context.sleep(1_000_000)

    for made, answer in [(work, '["cancelled",true]'), (nap, "false")]:
        subject = abort_at(agent(calls(made.name), tools=[made]), is_running)
        result = await subject.prompt("hi")
        assert (result.outcome, results(result)) == ("aborted", [answer])


async def test_a_plain_tool_sees_the_abort_too():
    @tool
    def work(context: ToolContext):
        """Sleeps on its thread until it is cancelled."""
        context.update("at work")
        return [context.sleep_sync(1_000_000), context.is_cancelled]

    @tool
    def poll(context: ToolContext):
        """Polls."""
        context.update("at work")
        while not context.is_cancelled:
            pass
        return "seen"

    for made, answer in [(work, "[false,true]"), (poll, "seen")]:
        subject = abort_at(agent(calls(made.name), tools=[made]), is_running)
        result = await subject.prompt("hi")
        assert (result.outcome, results(result)) == ("aborted", [answer])


async def test_a_tool_that_raises_after_the_abort_is_aborted():
    @tool(cancel_mode="token")
    async def work(context: ToolContext):
        """Raises when it is cancelled."""
        context.update("at work")
        await context.wait_cancelled()
        raise ValueError("too bad")

    subject = abort_at(agent(calls("work"), tools=[work]), is_running)
    assert results(await subject.prompt("hi")) == ["aborted"]


async def test_a_task_that_does_not_end_is_given_up_and_cancelled():
    ended = asyncio.Event()

    @tool
    async def stuck(context: ToolContext):
        """Never ends by itself."""
        context.update("at work")
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    subject = agent(calls("stuck"), says("ok"), tools=[stuck], abort_grace_ms=0)
    abort_at(subject, is_running)
    assert results(await subject.prompt("hi")) == ["aborted"]
    await asyncio.wait_for(ended.wait(), 10)


async def test_a_task_that_does_not_look_has_the_grace_time():
    @tool(cancel_mode="token")
    async def work(context: ToolContext):
        """Continues for a while after the abort."""
        context.update("at work")
        await asyncio.sleep(0.05)
        return "finished"

    subject = abort_at(agent(calls("work"), tools=[work]), is_running)
    assert results(await subject.prompt("hi")) == ["finished"]


async def test_found_p5_an_async_tool_s_task_is_cancelled_at_once():
    seen = []

    @tool
    async def work(context: ToolContext):
        """Reports its cancellation."""
        context.update("at work")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append(context.is_cancelled)
            raise

    # A grace that would not end in this test.
    subject = agent(calls("work"), says("ok"), tools=[work], abort_grace_ms=10_000_000)
    abort_at(subject, is_running)
    assert results(await subject.prompt("hi")) == ["aborted"]
    assert seen == [True]


@pytest.mark.parametrize("waits_for", ["the context", "the loop"])
async def test_found_p5_a_value_that_is_still_returned_counts(waits_for):
    @tool
    async def work(context: ToolContext):
        """Returns what it has."""
        context.update("at work")
        try:
            await (context.wait_cancelled() if waits_for == "the context" else asyncio.Event().wait())
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)
            return "half"

    subject = agent(calls("work"), says("ok"), tools=[work], abort_grace_ms=10_000_000)
    abort_at(subject, is_running)
    assert results(await subject.prompt("hi")) == ["half"]


async def test_found_p5_a_tool_that_ignores_it_is_cancelled_again_after_the_grace():
    seen = []

    @tool
    async def work(context: ToolContext):
        """Ignores its first cancellation."""
        context.update("at work")
        while len(seen) < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                seen.append("cancelled")

    subject = agent(calls("work"), says("ok"), tools=[work], abort_grace_ms=10)
    abort_at(subject, is_running)
    assert results(await subject.prompt("hi")) == ["aborted"]
    while len(seen) < 2:
        await asyncio.sleep(0.001)


async def test_found_p5_with_the_token_it_is_asked_first():
    seen = []

    @tool(cancel_mode="token")
    async def work(context: ToolContext):
        """Is cancelled after the grace."""
        context.update("at work")
        await context.wait_cancelled()
        seen.append("asked")
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("cancelled")

    subject = agent(calls("work"), says("ok"), tools=[work], abort_grace_ms=10)
    abort_at(subject, is_running)
    assert results(await subject.prompt("hi")) == ["aborted"]
    while len(seen) < 2:
        await asyncio.sleep(0.001)
    assert seen == ["asked", "cancelled"] and work.cancel_mode == "token"


@pytest.mark.parametrize("raises", [True, False])
async def test_found_p5_a_cancelled_sleep_does_not_hold_virtual_time_up(raises):
    kept = []

    def sleeper(name, ms):
        @tool(name=name, timeout_ms=20)
        async def sleep(context: ToolContext):
            """Sleeps beyond its limit."""
            try:
                return await context.sleep(ms)
            except asyncio.CancelledError as error:
                kept.append(error)
                if raises:
                    raise
                return "late"

        return sleep

    both = [{"delta": {"tool_call": {"id": name, "name": name, "arguments": {}}}} for name in "ab"]
    subject = agent([*both, {"end": {}}], [waits(1000), *says("ok")], tools=[sleeper("a", 30), sleeper("b", 60)])
    result = await subject.prompt("hi")
    assert (result.text, len(kept)) == ("ok", 2)
    assert all("did not a" in text for text in results(result))


def test_found_p5_an_unknown_mode_is_refused():
    with pytest.raises(InvalidArgumentError, match="^tool \"work\": cancel_mode: expected \"task\" or \"token\", got 'soon'$"):

        @tool(cancel_mode="soon")
        async def work():
            """Works."""


async def test_a_plain_tool_that_does_not_end_is_left_behind():
    leave = threading.Event()

    @tool
    def stuck(context: ToolContext):
        """Blocks."""
        context.update("at work")
        leave.wait(30)
        return "late"

    subject = agent(calls("stuck"), says("ok"), tools=[stuck], abort_grace_ms=0)
    abort_at(subject, is_running)
    assert results(await subject.prompt("hi")) == ["aborted"]
    leave.set()
    assert (await subject.prompt("again")).text == "ok"


async def test_calls_that_wait_for_a_place_get_their_end():
    @tool
    async def work(context: ToolContext):
        """Works until it is cancelled."""
        await context.wait_cancelled()
        return "cancelled"

    subject = agent(calls("work", {}, {}, {}), tools=[work], max_parallel_tools=1)
    run = subject.stream("hi")
    events = []
    async for event in run:
        events.append(event)
        if kinds(events).count("tool_execution_start") == 3:
            run.abort()
    assert kinds(events).count("tool_execution_end") == 3
    assert set(results(await run.result())) <= {"cancelled", "aborted"}


async def test_sequential_calls_after_the_abort_are_not_executed():
    executed = []

    @tool(execution_mode="sequential")
    async def work(n: int):
        """Works."""
        executed.append(n)
        subject.abort()
        return n

    subject = agent(calls("work", {"n": 1}, {"n": 2}), tools=[work])
    result = await subject.prompt("hi")
    assert (executed, results(result)) == ([1], ["1", "aborted"])


async def test_after_the_turn():
    @tool
    async def work():
        """Works."""
        return "done"

    subject = abort_at(agent(calls("work"), says("never"), tools=[work]), lambda event: event.type == "turn_end")
    result = await subject.prompt("hi")
    assert (result.outcome, result.turns, results(result)) == ("aborted", 1, ["done"])


async def test_after_the_end_it_does_nothing():
    subject = agent(says("one"), says("two"))
    run = subject.stream("hi")
    assert (await run.result()).outcome == "completed"
    run.abort()
    run.abort()
    assert (await subject.prompt("again")).text == "two"


@pytest.mark.parametrize("how", ["run", "agent"])
async def test_abort_from_inside_the_tool(how):
    @tool
    async def work(context: ToolContext):
        """Aborts its own run."""
        (runs[0] if how == "run" else subject).abort()
        return context.is_cancelled

    subject = agent(calls("work"), tools=[work])
    runs = [subject.stream("hi")]
    result = await runs[0].result()
    assert (result.outcome, results(result)) == ("aborted", ["true"])


async def leave(subject, how):
    """Drops the run of an agent whose model calls a tool."""
    if how == "unread":
        subject.stream("hi")
        return
    async for event in subject.stream("hi"):
        if event.type == ("tool_execution_start" if how == "at its call" else "tool_execution_update"):
            return


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("how", ["unread", "at its call", "while it runs"])
async def test_a_dropped_run_is_aborted(how, at_once):
    @tool
    async def held(context: ToolContext):
        """Waits until it is cancelled."""
        context.update("at work")
        await asyncio.Event().wait()

    # A grace that would not end in this test.
    subjects = [agent(calls("held"), says("never"), tools=[held], abort_grace_ms=10_000_000) for _ in range(20)]
    if at_once:
        await asyncio.gather(*(leave(subject, how) for subject in subjects))
    for subject in subjects:
        if not at_once:
            await leave(subject, how)
        await asyncio.wait_for(subject.wait_for_idle(), 60)
        assert subject.error.kind == "aborted"


async def test_a_call_that_is_on_its_way_to_the_event_loop_is_cancelled_at_once():
    @tool
    async def held():
        """Waits until it is cancelled."""
        await asyncio.Event().wait()

    @tool(cancel_mode="token")
    async def asks(context: ToolContext):
        """Asks until it is cancelled."""
        await context.wait_cancelled()
        return "cancelled"

    for made, answers in [(held, {"aborted"}), (asks, {"aborted", "cancelled"})]:
        for _ in range(20):
            subject = agent(calls(made.name), says("never"), tools=[made], abort_grace_ms=10_000_000)
            run = subject.stream("hi")
            async for event in run:
                if event.type == "tool_execution_start":
                    subject.abort()
            result = await asyncio.wait_for(run.result(), 60)
            assert result.outcome == "aborted"
            assert set(results(result)) <= answers
