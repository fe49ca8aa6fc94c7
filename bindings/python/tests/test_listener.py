"""Listeners: told each event on the loop that started the run, while the run waits."""

import asyncio
import threading
from contextvars import ContextVar

from agent_loop import Diagnostic, tool
from stories import agent, calls, events_of, kinds, says

WHO: ContextVar[str] = ContextVar("who", default="nobody")


@tool
async def noop():
    """Does nothing."""


async def test_listeners_hear_what_the_reader_reads():
    story = agent(calls("noop"), says("a", "b"), tools=[noop])
    heard = []
    story.subscribe(heard.append)
    events = await events_of(story.stream("go"))
    assert [event.to_json() for event in heard] == [event.to_json() for event in events]


async def test_plain_and_async_listeners_in_the_order_they_came():
    story = agent(says("a"))
    heard = []

    async def slow(event):
        await asyncio.sleep(0.001)
        heard.append(("slow", event.seq))

    story.subscribe(lambda event: heard.append(("first", event.seq)))
    story.subscribe(slow)
    story.subscribe(lambda event: heard.append(("last", event.seq)))
    result = await story.prompt("go")
    assert result.text == "a"
    assert heard == [(who, seq) for seq in range(len(heard) // 3) for who in ("first", "slow", "last")]


async def test_the_run_waits_for_listeners():
    story = agent(says("a"))
    order = []

    async def slow(event):
        if event.type == "message_start":
            await asyncio.sleep(0.02)
        order.append(event.type)

    story.subscribe(slow)
    await story.prompt("go")
    assert order == kinds(await events_of(agent(says("a")).stream("go")))


async def test_listeners_are_called_on_the_loop_with_the_callers_context():
    story = agent(says("a"))
    heard = set()
    WHO.set("the caller")

    def plain(event):
        heard.add((threading.get_ident(), asyncio.get_running_loop(), WHO.get()))
        WHO.set("changed")

    async def waits(event):
        await asyncio.sleep(0)
        plain(event)

    story.subscribe(plain)
    story.subscribe(waits)
    await story.prompt("go")
    assert heard == {(threading.get_ident(), asyncio.get_running_loop(), "the caller")}
    assert WHO.get() == "the caller"


async def test_state_is_there_before_the_listener():
    story = agent(says("a"))
    counts = []

    def listener(event):
        if event.type == "message_end":
            counts.append((len(story.messages), story.messages[-1] == event.message))

    story.subscribe(listener)
    await story.prompt("go")
    assert counts == [(1, True), (2, True)]


async def test_unsubscribing():
    story = agent(*[says("a")] * 4)
    heard = []
    subscription = story.subscribe(lambda event: heard.append("one"))
    with story.subscribe(lambda event: heard.append("two")):
        await story.prompt("go")
    assert {"one", "two"} == set(heard)
    heard.clear()
    await story.prompt("go")
    assert set(heard) == {"one"}
    subscription.unsubscribe()
    subscription.unsubscribe()
    heard.clear()
    await story.prompt("go")
    assert heard == []


async def test_a_listener_stays_without_its_handle():
    story = agent(says("a"))
    heard = []
    story.subscribe(heard.append)
    await story.prompt("go")
    assert kinds(heard)[-1] == "agent_end"


async def test_changes_from_inside_hold_at_once():
    story = agent(says("a"))
    heard = []

    def once(event):
        heard.append(("once", event.seq))
        first.unsubscribe()
        story.subscribe(lambda event: heard.append(("new", event.seq)))

    first = story.subscribe(once)
    await story.prompt("go")
    assert heard[:3] == [("once", 0), ("new", 1), ("new", 2)]


async def test_a_failing_listener_is_told_and_counted_and_breaks_nothing():
    story = agent(says("a"))
    heard = []

    def broken(event):
        if event.type == "turn_start":
            raise ValueError("no turns today")

    async def broken_later(event):
        if event.type == "turn_start":
            await asyncio.sleep(0)
            raise KeyError("x")

    story.subscribe(broken)
    story.subscribe(broken_later)
    story.subscribe(heard.append)
    result = await story.prompt("go")
    assert result.outcome == "completed"
    assert story.listener_errors == 2
    told = [event for event in heard if isinstance(event, Diagnostic)]
    assert [event.code for event in told] == ["listener_error"] * 2
    assert [event.message for event in told] == [
        "a listener failed on turn_start: ValueError: no turns today",
        "a listener failed on turn_start: KeyError: 'x'",
    ]
    assert told[0].data == {"event": "turn_start", "error": "ValueError: no turns today"}


async def test_abort_from_a_listener():
    story = agent(says("a", "b", "c"))

    def listener(event):
        if event.type == "text_delta":
            story.abort()

    story.subscribe(listener)
    result = await story.prompt("go")
    assert (result.outcome, result.text) == ("aborted", "a")
