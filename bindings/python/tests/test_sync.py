"""`prompt_sync`, `resume_sync`, `stream_sync`: for code without an event loop."""

import asyncio
import signal
import sys
import threading

import pytest
from agent_loop import Agent, BusyError, InvalidStateError, NotFoundError, ProviderError, ServerError, Store, UserMessage, tool
from scripts import agent, calls, fails, kinds, results, says


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


def test_its_errors_have_no_other_error_as_their_context():
    with pytest.raises(ServerError) as raised:
        agent(fails("server", "broken"), max_retries=0).prompt_sync("go")
    with pytest.raises(NotFoundError) as missing:
        Store.open("memory:").session("none").records_sync()
    assert (raised.value.__context__, missing.value.__context__) == (None, None)


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


# ---- events without an event loop -----------------------------------------------------------------------------------------


def test_found_p8_events_in_a_plain_for():
    @tool
    async def add(a: int):
        """Adds."""
        await asyncio.sleep(0)
        return a

    subject, heard = agent(calls("add", a=1), says("a", "b"), says("again"), tools=[add]), []
    subject.subscribe(heard.append)
    run = subject.stream_sync("go")
    events = list(run)
    assert kinds(events) == kinds(heard) and kinds(events)[-1] == "agent_end"
    assert (run.result().text, run.id, list(run)) == ("ab", events[0].run_id, [])
    assert run.result() == run.result()
    with subject.stream_sync("again") as run:
        text = "".join(event.delta for event in run if event.type == "text_delta")
    assert text == run.result().text == "again"
    assert repr(run) == f"<SyncRun {run.id}: completed>"


def endless():
    async def provider(request):
        while True:
            yield "word "
            await asyncio.sleep(0.001)

    ended = []
    return Agent("own/endless", provider=provider, after_run=lambda result: ended.append(result.outcome)), ended


@pytest.mark.parametrize("how", ["with", "close", "dropped", "abort", "error"])
def test_found_p8_leaving_it_aborts_the_run(how):
    subject, ended = endless()
    if how == "error":
        with pytest.raises(ZeroDivisionError), subject.stream_sync("go") as run:
            for event in run:
                if event.type == "text_delta":
                    1 / 0
    elif how == "with":
        with subject.stream_sync("go") as run:
            next(event for event in run if event.type == "text_delta")
        assert run.result().outcome == "aborted"
    elif how == "dropped":
        for event in subject.stream_sync("go"):
            if event.type == "text_delta":
                break
        del event
    else:
        run = subject.stream_sync("go")
        next(event for event in run if event.type == "text_delta")
        if how == "abort":
            run.abort()
            assert kinds(list(run))[-1] == "agent_end"
        run.close()
        run.close()
        assert run.result().outcome == "aborted"
    assert (subject.is_streaming, ended, subject.messages[-1].stop_reason) == (False, ["aborted"], "aborted")


def test_found_p8_a_run_that_was_left_is_named_where_the_agent_is_busy():
    subject, ended = endless()
    run = subject.stream_sync("go")
    for event in run:
        if event.type == "text_delta":
            break
    works = [
        lambda: subject.prompt_sync("again"),
        subject.resume_sync,
        lambda: subject.stream_sync("again"),
        subject.stream_resume_sync,
        lambda: subject.append_message(UserMessage("more")),
        lambda: subject.append_messages([UserMessage("more")]),
        lambda: subject.replace_messages([]),
        subject.clear_messages,
        subject.reset,
    ]
    for work in works:
        with pytest.raises(BusyError, match=r"^the run of stream_sync is still active: .* run\.close\(\), .* `with agent"):
            work()
    assert ended == []
    run.close()
    assert ended == ["aborted"]
    other = agent(says("ok"), says("again"))
    held = other.stream_sync("go")
    assert (held.result().text, other.prompt_sync("again").text) == ("ok", "again")


def test_found_p8_a_callback_of_the_run_is_not_told_to_close_it():
    @tool
    async def forgets():
        """Empties the transcript."""
        subject.reset()

    @tool
    def forgets_on_a_thread():
        """Empties the transcript."""
        subject.reset()

    subject = agent(calls("forgets"), calls("forgets_on_a_thread"), says("ok"), tools=[forgets, forgets_on_a_thread])
    run = subject.stream_sync("go")
    for text in results(run.result()):
        assert text.startswith("BusyError: a run is active on this agent, ")


async def test_found_p8_a_run_on_an_event_loop_is_not_taken_for_one():
    subject, _ = endless()
    async with subject.stream("go") as run:
        await run.__anext__()
        with pytest.raises(BusyError, match="^a run is active on this agent, "):
            await asyncio.to_thread(subject.prompt_sync, "again")


def test_found_p8_ctrl_c_aborts_it():
    subject, ended = endless()
    main = threading.get_ident()
    with pytest.raises(KeyboardInterrupt):
        for event in subject.stream_sync("go"):
            if event.type == "text_start":
                threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT)).start()
    # On Python 3.10 it may hit the provider, which then fails.
    assert not subject.is_streaming and len(ended) == 1
    assert ended == ["aborted"] or sys.version_info < (3, 11)


def test_found_p8_a_failed_run_raises_at_its_end():
    subject, events = agent(*[fails("provider", "out of order")] * 3), []
    run = subject.stream_sync("go")
    with pytest.raises(ProviderError, match="^out of order$") as caught:
        for event in run:
            events.append(event)
    assert kinds(events)[-1] == "agent_end"
    with pytest.raises(ProviderError) as again:
        run.result()
    assert again.value is caught.value
    assert kinds(list(subject.stream_sync("go", raise_errors=False)))[-1] == "agent_end"
    assert kinds(list(subject.stream_resume_sync(raise_errors=False)))[-1] == "agent_end"


def test_found_p8_a_result_without_reading():
    run = agent(says(*"x" * 3000)).stream_sync("go")
    assert run.result().text == "x" * 3000
    assert list(run) == []


async def test_found_p8_inside_an_event_loop_it_is_refused():
    subject = agent(says("ok"))
    with pytest.raises(InvalidStateError, match=r"stream_sync would block the event loop that runs here; use `async for"):
        subject.stream_sync("go")
    assert (await asyncio.to_thread(lambda: subject.stream_sync("go").result())).text == "ok"


def test_found_p8_a_wrong_prompt_is_raised_at_once():
    with pytest.raises(TypeError, match="prompt"):
        agent(says("ok")).stream_sync(object())
