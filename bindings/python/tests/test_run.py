"""Runs: one reader, a result, an end."""

import asyncio
import functools
import gc
import sys
import threading
import weakref

import agent_loop
import pytest
from agent_loop import AbortedError, BusyError, InvalidStateError, ProviderError, RunResult, StreamTruncatedError, TextDelta, tool
from scripts import END, Agent, agent, calls, events_of, fails, kinds, says, scripted


@tool
async def stuck():
    """Never ends."""
    await asyncio.Event().wait()


async def test_events_then_the_result():
    run = agent(says("Hel", "lo")).stream("hi")
    events = [event async for event in run]
    assert {event.run_id for event in events} == {run.id}
    result = await run.result()
    assert isinstance(result, RunResult)
    assert (result.outcome, result.text, result.turns, result.error) == ("completed", "Hello", 1, None)
    assert [message.role for message in result.messages] == ["user", "assistant"]
    assert result.message == result.messages[1]
    assert await run.result() == result
    assert repr(result).startswith("RunResult(outcome='completed', text='Hello', stop_reason='stop', usage={")
    assert result.to_dict() | {"usage": None, "message": None, "messages": None} == {
        **{"outcome": "completed", "text": "Hello", "stop_reason": "stop", "turns": 1},
        **{"usage": None, "message": None, "messages": None},
    }


async def test_found_e19_the_result_says_why_its_answer_ended():
    cut = [{"delta": {"thinking": "Hm, let me"}}, {"end": "length"}]
    result = await agent(cut).prompt("hi")
    assert (result.outcome, result.text, result.stop_reason) == ("completed", "", "length")
    assert result.to_dict()["stop_reason"] == "length"


async def test_found_e20_the_message_says_which_other_model_has_answered():
    said = [{"delta": "Hello."}, {"end": {"response_model": "scenario-2026-04-23"}}]
    result = await agent(said, says("Again.")).prompt("hi")
    assert (result.message.model, result.message.response_model) == ("scenario", "scenario-2026-04-23")

    async def gateway(request):
        yield {"text": "Hello."}
        yield {"end": {"response_model": "large"}}

    assert (await Agent("mine/auto", provider=gateway).prompt("hi")).message.response_model == "large"


async def test_a_run_without_a_reader_has_a_result():
    assert (await agent(says(*"x" * 5000)).stream("hi").result()).text == "x" * 5000


async def test_a_reader_gets_every_event_of_a_long_stream():
    pieces = [f"{n} " for n in range(5000)]
    async with agent(says(*pieces)).stream("hi") as run:
        assert [event.delta async for event in run if isinstance(event, TextDelta)] == pieces


async def test_a_fast_stream_lets_others_run():
    turns = 0

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    await events_of(agent(says(*"x" * 5000)).stream("hi"))
    task.cancel()
    assert turns > 5


async def test_a_second_iteration_continues_where_the_first_stopped():
    async with agent(says("a", "b", "c")).stream("hi") as run:
        seen = []
        async for event in run:
            seen.append(event)
            if event.type == "text_start":
                break
        seen += [event async for event in run]
    assert [event.seq for event in seen] == list(range(len(seen)))
    assert kinds(seen)[-1] == "agent_end"


async def test_a_cancelled_reader_is_told_why_and_another_one_reads_on():
    async def read():
        try:
            while True:
                await run.__anext__()
        except asyncio.CancelledError as error:
            return error.args

    subject = agent(calls("stuck"), says("ok"), tools=[stuck], abort_grace_ms=0)
    async with subject.stream("hi") as run:
        async for event in run:
            if event.type == "tool_execution_start":
                break
        reader = asyncio.create_task(read())
        await asyncio.sleep(0)
        reader.cancel("enough")
        assert await reader == ("enough",)
        run.abort()
        assert [event.type async for event in run][-1] == "agent_end"


async def test_break_inside_async_with_aborts_and_closes():
    subject = agent(calls("stuck"), says("ok"), tools=[stuck], abort_grace_ms=0)
    async with subject.stream("hi") as run:
        async for event in run:
            if event.type == "tool_execution_start":
                break
        assert subject.is_streaming
    assert not subject.is_streaming
    assert (await run.result()).outcome == "aborted"
    assert isinstance(subject.error, AbortedError) and subject.error.message == "the run was aborted"
    assert (await subject.prompt("again")).text == "ok"


async def test_an_exception_inside_async_with_aborts_and_passes():
    subject = agent(calls("stuck"), tools=[stuck], abort_grace_ms=0)
    with pytest.raises(ZeroDivisionError):
        async with subject.stream("hi"):
            1 / 0
    assert not subject.is_streaming and subject.error.kind == "aborted"


async def test_a_run_without_references_is_aborted():
    subject = agent(calls("stuck"), tools=[stuck], abort_grace_ms=0)
    subject.stream("hi")
    gc.collect()
    await subject.wait_for_idle()
    assert subject.error.kind == "aborted"


async def test_a_loop_left_without_async_with_aborts_too():
    subject = agent(calls("stuck"), tools=[stuck], abort_grace_ms=0)
    async for event in subject.stream("hi"):
        if event.type == "tool_execution_start":
            break
    await subject.wait_for_idle()
    assert subject.error.kind == "aborted"


async def test_a_reader_that_gives_up_waiting_loses_nothing():
    subject = agent(calls("stuck"), tools=[stuck], abort_grace_ms=0)
    async with subject.stream("hi") as run:
        seen = []
        with pytest.raises(asyncio.TimeoutError):
            while True:
                seen.append(await asyncio.wait_for(anext(run), 0.2))
        assert kinds(seen)[-1] == "tool_execution_start"
        run.abort()
        seen += [event async for event in run]
    assert [event.seq for event in seen] == list(range(len(seen)))
    assert kinds(seen)[-1] == "agent_end"


async def test_a_run_has_one_reader():
    async with agent(calls("stuck"), tools=[stuck], abort_grace_ms=0).stream("hi") as run:
        first = asyncio.create_task(events_of(run))
        await asyncio.sleep(0.05)
        with pytest.raises(InvalidStateError, match="a run has one reader"):
            await anext(run)
        run.abort()
        assert kinds(await first)[-1] == "agent_end"
        with pytest.raises(StopAsyncIteration):
            await anext(run)


async def test_a_failed_run_raises_with_its_result():
    subject = agent(fails("provider", "out of order"), fails("provider", "still"))
    with pytest.raises(ProviderError, match="^out of order$") as caught:
        await subject.prompt("hi")
    assert caught.value.result.outcome == "error"
    assert [message.role for message in caught.value.result.messages] == ["user", "assistant"]
    assert caught.value.result.message.error.message == "out of order"
    assert caught.value.result.message.stop_reason == "error"
    assert caught.value.provider == "scripted"
    run = subject.stream("again")
    events = await events_of(run)
    assert events[-1].outcome == "error" and events[-1].error.message == "still"
    with pytest.raises(ProviderError, match="^still$"):
        await run.result()
    assert subject.error.message == "still"


async def read_all(run, events):
    async for event in run:
        events.append(event)


async def test_found_p7_reading_a_failed_run_to_its_end_raises_its_error():
    subject, events = agent(*[fails("provider", "out of order")] * 5), []
    async with subject.stream("hi") as run:
        with pytest.raises(ProviderError, match="^out of order$") as read:
            await read_all(run, events)
        assert kinds(events)[-1] == "agent_end" and not subject.is_streaming
        with pytest.raises(ProviderError) as waited:
            await run.result()
        assert waited.value is read.value and read.value.result.outcome == "error"
        # Once: whoever reads on is at the end.
        assert [event async for event in run] == []

    quiet = subject.stream("hi", raise_errors=False)
    assert [event.type async for event in quiet][-1] == "agent_end"
    with pytest.raises(ProviderError):
        await quiet.result()
    assert [event.type async for event in subject.stream_resume(raise_errors=False)][-1] == "agent_end"
    with pytest.raises(ProviderError):
        await read_all(subject.stream_resume(), [])
    heard = []
    subject.subscribe(heard.append)
    with pytest.raises(ProviderError):
        await subject.prompt("hi")
    assert kinds(heard)[-1] == "agent_end" and subject.listener_errors == 0


async def test_found_p7_of_stateless_runs_too():
    context, model = {"messages": [{"role": "user", "content": "hi"}]}, scripted(fails("provider", "out of order"))
    for start in (functools.partial(agent_loop.run, prompts="hi"), agent_loop.resume):
        with pytest.raises(ProviderError, match="^out of order$"):
            await read_all(start(context, model=model), [])
        run = start(context, model=model, raise_errors=False)
        assert [event.type async for event in run][-1] == "agent_end"


async def test_found_p7_what_did_not_fail_or_was_not_read_does_not_raise():
    subject = agent(says("ok"), calls("stuck"), tools=[stuck], abort_grace_ms=0)
    await read_all(subject.stream("hi"), [])
    run = subject.stream("hi")
    async for event in run:
        if event.type == "tool_execution_start":
            run.abort()
    assert (await run.result()).outcome == "aborted"
    run = agent(fails("provider", "out of order")).stream("hi")
    with pytest.raises(ProviderError):
        await run.result()
    # The result has discarded the events.
    assert [event async for event in run] == []


async def test_a_truncated_stream_is_an_error_with_the_received_part():
    with pytest.raises(StreamTruncatedError) as caught:
        await agent(says("so far")[:1]).prompt("hi")
    assert caught.value.retryable and caught.value.result.text == "so far"


async def test_an_aborted_run_has_a_result():
    subject = agent(calls("stuck"), tools=[stuck], abort_grace_ms=0)
    run = subject.stream("hi")
    asyncio.get_running_loop().call_later(0.05, run.abort)
    result = await run.result()
    assert (result.outcome, result.error.kind) == ("aborted", "aborted")


@pytest.mark.parametrize("ask", ["prompt", "result", "close"])
async def test_cancelling_the_task_aborts_the_run_and_settles_first(ask):
    hold = asyncio.Event()

    async def work():
        if ask == "prompt":
            return await subject.prompt("hi")
        run = subject.stream("hi")
        if ask == "result":
            return await run.result()
        await hold.wait()
        await run.close()

    @tool(cancel_mode="token")
    async def wait():
        """Ignores its cancellation."""
        hold.set()
        await asyncio.sleep(0.1)
        return "kept"

    subject = agent(calls("wait"), tools=[wait])
    task = asyncio.create_task(work())
    await hold.wait()
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not subject.is_streaming and subject.error.kind == "aborted"
    assert [message.text for message in subject.messages if message.role == "tool_result"] == ["kept"]


async def test_a_listener_that_never_ends_does_not_keep_a_cancelled_task():
    async def listener(event):
        await asyncio.Event().wait()

    subject = agent(says("ok"), abort_grace_ms=0)
    subscription = subject.subscribe(listener)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(subject.prompt("hi"), 0.05)
    assert not subject.is_streaming and subject.listener_errors > 0
    subscription.unsubscribe()
    async with agent(says("ok"), abort_grace_ms=0).stream("hi") as run:
        run._agent.subscribe(listener)


# Python 3.10 does not pass the message of a cancellation on.
KEEPS_MESSAGES = sys.version_info >= (3, 11)


def ends(kept):
    """Hooks and a listener that keep the outcome of a run, and take some iterations of the event loop for it."""

    async def after_run(result):
        await asyncio.sleep(0.01)
        kept.append(("after_run", result.outcome, result.message.text))

    async def listener(event):
        if event.type == "agent_end":
            await asyncio.sleep(0.01)
            kept.append(("listener", event.outcome, event.messages[-1].text))

    return after_run, listener


ENDS = [("listener", "aborted", "so far"), ("after_run", "aborted", "so far")]


def slow_agent(kept):
    """An agent whose answer does not end."""

    async def provider(request):
        yield "so far"
        await asyncio.Event().wait()

    after_run, listener = ends(kept)
    subject = Agent("own/slow", provider=provider, after_run=after_run)
    subject.subscribe(listener)
    return subject


async def first_delta(run):
    async for event in run:
        if event.type == "text_delta":
            return


@pytest.mark.parametrize("how", ["prompt", "result", "async with", "close"])
async def test_found_p1_a_task_that_is_cancelled_again_and_again_waits_for_the_end(how):
    async def work():
        try:
            if how == "prompt":
                await subject.prompt("hi")
            run = subject.stream("hi")
            if how == "result":
                await run.result()
            elif how == "async with":
                async with run:
                    await asyncio.Event().wait()
            else:
                try:
                    await asyncio.Event().wait()
                finally:
                    await run.close()
        finally:
            kept.append(("finally", subject.is_streaming, subject.messages[-1].text))

    kept = []
    subject = slow_agent(kept)
    task = asyncio.create_task(work())
    while subject.streaming_message is None or not subject.streaming_message.text:
        await asyncio.sleep(0)
    first = True
    while not task.done():
        # As anyio does it: in each iteration of the event loop, until the task has ended.
        task.cancel("the first" if first else "another")
        first = False
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError, match=("another" if how == "close" else "the first") if KEEPS_MESSAGES else ""):
        await task
    assert kept == [*ENDS, ("finally", False, "so far")]


@pytest.mark.parametrize("how", ["left", "dropped", "in a cycle"])
async def test_found_p1_a_run_that_nobody_holds_calls_its_hooks_to_the_end(how):
    kept = []

    async def work():
        subject = slow_agent(kept)
        if how == "left":
            async for event in subject.stream("hi"):
                if event.type == "text_delta":
                    return
        run = subject.stream("hi")
        await first_delta(run)
        if how == "in a cycle":
            subject.subscribe(lambda event: run)

    await work()
    gc.collect()
    while len(kept) < 2:
        await asyncio.sleep(0.001)
    assert kept == ENDS


async def test_found_p1_the_agent_of_a_dropped_run_is_let_go_at_its_end():
    kept = []
    subject = slow_agent(kept)
    gone = weakref.ref(subject)
    run = subject.stream("hi")
    await first_delta(run)
    del subject, run
    while gone() is not None:
        await asyncio.sleep(0.001)
    assert kept == ENDS


async def test_found_p1_cancelled_by_asyncio_s_own_means():
    kept = []

    if sys.version_info >= (3, 11):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await slow_agent(kept).prompt("hi")
        assert kept == ENDS
        kept.clear()
        with pytest.raises(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                subject = slow_agent(kept)
                run = subject.stream("hi")
                group.create_task(run.result())
                listening = asyncio.Event()
                subject.subscribe(lambda event: listening.set() if event.type == "text_delta" else None)
                await listening.wait()
                raise ZeroDivisionError
        assert kept == ENDS
        kept.clear()
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(slow_agent(kept).prompt("hi"), 0.05)
    assert kept == ENDS


async def test_a_time_limit_around_prompt():
    subject = agent(calls("stuck"), tools=[stuck], abort_grace_ms=0)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(subject.prompt("hi"), 0.05)
    assert not subject.is_streaming


async def test_abort_from_another_thread():
    subject = agent(calls("stuck"), tools=[stuck], abort_grace_ms=0)
    run = subject.stream("hi")
    threading.Timer(0.05, run.abort).start()
    assert (await run.result()).outcome == "aborted"


async def test_close_waits_and_may_be_repeated():
    subject = agent(calls("stuck"), says("ok"), tools=[stuck], abort_grace_ms=0)
    run = subject.stream("hi")
    async for event in run:
        if event.type == "tool_execution_start":
            break
    await run.close()
    assert not subject.is_streaming
    await run.close()
    assert repr(run) == f"<Run {run.id}: aborted>"
    run = subject.stream("hi")
    await run.result()
    await run.close()
    assert repr(run) == f"<Run {run.id}: completed>"


async def test_one_run_at_a_time():
    subject = agent(calls("stuck"), tools=[stuck], abort_grace_ms=0)
    async with subject.stream("hi"):
        for ask in (subject.stream, subject.prompt):
            with pytest.raises(BusyError, match="a run is active on this agent"):
                await ask("more")


async def test_the_next_prompt_is_never_busy():
    subject = agent(*[says("ok")] * 200)
    for n in range(100):
        await subject.prompt("a")
        await events_of(subject.stream("b"))
        assert len(subject.messages) == (n + 1) * 4


async def test_many_concurrent_runs():
    @tool
    async def double(n: int) -> int:
        """Doubles."""
        await asyncio.sleep(0)
        return n * 2

    async def one(n):
        subject = agent(calls("double", n=n), says("done"), tools=[double])
        events = await events_of(subject.stream("go"))
        return next(event for event in events if event.type == "tool_execution_end").result.content[0].text

    assert await asyncio.gather(*map(one, range(300))) == [str(2 * n) for n in range(300)]


def test_without_an_event_loop():
    with pytest.raises(InvalidStateError, match="there is no running event loop here; call this from async code"):
        agent(says("ok")).stream("hi")


async def test_raw_events_are_opt_in():
    model = {**scripted(says("ok")), "id": "raw"}
    assert "raw" not in kinds(await events_of(Agent(model, raw_events=True).stream("hi")))  # a script has no frames
    assert END == {"end": {}}
