"""Listeners: called with each event on the loop that started the run, while the run waits."""

import asyncio
import threading
from contextvars import ContextVar

from agent_loop import Diagnostic, tool
from scripts import agent, calls, events_of, kinds, says

WHO: ContextVar[str] = ContextVar("who", default="unset")


@tool
async def noop():
    """Does nothing."""


async def test_listeners_get_the_events_that_the_reader_gets():
    subject = agent(calls("noop"), says("a", "b"), tools=[noop])
    heard = []
    subject.subscribe(heard.append)
    events = await events_of(subject.stream("go"))
    assert [event.to_json() for event in heard] == [event.to_json() for event in events]


async def test_plain_and_async_listeners_in_the_order_they_came():
    subject = agent(says("a"))
    heard = []

    async def slow(event):
        await asyncio.sleep(0.001)
        heard.append(("slow", event.seq))

    subject.subscribe(lambda event: heard.append(("first", event.seq)))
    subject.subscribe(slow)
    subject.subscribe(lambda event: heard.append(("last", event.seq)))
    result = await subject.prompt("go")
    assert result.text == "a"
    assert heard == [(who, seq) for seq in range(len(heard) // 3) for who in ("first", "slow", "last")]


async def test_the_run_waits_for_listeners():
    subject = agent(says("a"))
    order = []

    async def slow(event):
        if event.type == "message_start":
            await asyncio.sleep(0.02)
        order.append(event.type)

    subject.subscribe(slow)
    await subject.prompt("go")
    assert order == kinds(await events_of(agent(says("a")).stream("go")))


async def test_listeners_are_called_on_the_loop_with_the_callers_context():
    subject = agent(says("a"))
    heard = set()
    WHO.set("the caller")

    def plain(event):
        heard.add((threading.get_ident(), asyncio.get_running_loop(), WHO.get()))
        WHO.set("changed")

    async def waits(event):
        await asyncio.sleep(0)
        plain(event)

    subject.subscribe(plain)
    subject.subscribe(waits)
    await subject.prompt("go")
    assert heard == {(threading.get_ident(), asyncio.get_running_loop(), "the caller")}
    assert WHO.get() == "the caller"


async def test_state_is_there_before_the_listener():
    subject = agent(says("a"))
    counts = []

    def listener(event):
        if event.type == "message_end":
            counts.append((len(subject.messages), subject.messages[-1] == event.message))

    subject.subscribe(listener)
    await subject.prompt("go")
    assert counts == [(1, True), (2, True)]


async def test_unsubscribing():
    subject = agent(*[says("a")] * 4)
    heard = []
    subscription = subject.subscribe(lambda event: heard.append("one"))
    with subject.subscribe(lambda event: heard.append("two")):
        await subject.prompt("go")
    assert {"one", "two"} == set(heard)
    heard.clear()
    await subject.prompt("go")
    assert set(heard) == {"one"}
    subscription.unsubscribe()
    subscription.unsubscribe()
    heard.clear()
    await subject.prompt("go")
    assert heard == []


async def test_a_listener_stays_without_its_handle():
    subject = agent(says("a"))
    heard = []
    subject.subscribe(heard.append)
    await subject.prompt("go")
    assert kinds(heard)[-1] == "agent_end"


async def test_changes_from_inside_take_effect_immediately():
    subject = agent(says("a"))
    heard = []

    def once(event):
        heard.append(("once", event.seq))
        first.unsubscribe()
        subject.subscribe(lambda event: heard.append(("new", event.seq)))

    first = subject.subscribe(once)
    await subject.prompt("go")
    assert heard[:3] == [("once", 0), ("new", 1), ("new", 2)]


async def test_a_failing_listener_is_reported_and_counted_and_breaks_nothing():
    subject = agent(says("a"))
    heard = []

    def broken(event):
        if event.type == "turn_start":
            raise ValueError("no turns today")

    async def broken_later(event):
        if event.type == "turn_start":
            await asyncio.sleep(0)
            raise KeyError("x")

    subject.subscribe(broken)
    subject.subscribe(broken_later)
    subject.subscribe(heard.append)
    result = await subject.prompt("go")
    assert result.outcome == "completed"
    assert subject.listener_errors == 2
    reported = [event for event in heard if isinstance(event, Diagnostic)]
    assert [event.code for event in reported] == ["listener_error"] * 2
    assert [event.message for event in reported] == [
        "a listener failed on turn_start: ValueError: no turns today",
        "a listener failed on turn_start: KeyError: 'x'",
    ]
    assert reported[0].data == {"event": "turn_start", "error": "ValueError: no turns today"}


async def test_abort_from_a_listener():
    subject = agent(says("a", "b", "c"))

    def listener(event):
        if event.type == "text_delta":
            subject.abort()

    subject.subscribe(listener)
    result = await subject.prompt("go")
    assert (result.outcome, result.text) == ("aborted", "a")


async def test_found_e4_a_listener_that_returns_late_gets_events_again():
    subject = agent(*[says("a")] * 1000, listener_timeout_ms=50)
    heard, release = [], asyncio.Event()

    async def silent(event):
        heard.append(event.type)
        if event.type == "turn_start":
            await release.wait()

    subject.subscribe(silent)
    events = await events_of(subject.stream("go"))
    (left,) = [event for event in events if event.type == "diagnostic"]
    assert (left.code, left.data["listener"], left.data["event"]) == ("listener_left", 1, "turn_start")
    assert heard == ["agent_start", "turn_start"]
    assert subject.listener_errors == 1

    release.set()
    emitted, back = len(events), []
    while not back:
        events = await events_of(subject.stream("again"))
        emitted += len(events)
        back = [event for event in events if event.type == "diagnostic" and event.code == "listener_back"]
    assert back[0].data == {"listener": 1, "missed": emitted - len(heard)}


async def test_found_e4_an_abort_frees_a_run_from_its_listener():
    subject = agent(says("a"), listener_timeout_ms=0, abort_grace_ms=50)

    async def silent(event):
        subject.abort()
        await asyncio.Event().wait()

    subject.subscribe(silent)
    assert (await subject.prompt("go")).outcome == "aborted"
    await subject.wait_for_idle()


async def test_found_a3_an_after_run_without_answer_holds_up_nothing():
    release, ended = asyncio.Event(), asyncio.Event()

    async def silent(result):
        await release.wait()
        ended.set()

    subject = agent(says("a"), says("b"), listener_timeout_ms=50, after_run=silent)
    assert (await subject.prompt("go")).text == "a"
    await subject.wait_for_idle()
    release.set()
    # It was left, not cancelled.
    await ended.wait()
    assert (await subject.prompt("again")).text == "b"
