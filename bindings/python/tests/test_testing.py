"""The checker of event streams."""

import pytest
from agent_loop import Agent, InvalidArgumentError, tool
from agent_loop.testing import check_events
from scripts import agent, calls, events_of, says


@tool
async def noop():
    """Does nothing."""


async def test_the_events_of_a_run_are_valid():
    subject = agent(calls("noop", {}, {}), says("a", "b"), says("c"), tools=[noop])
    subject.follow_up("more")
    events = await events_of(subject.stream("go"))
    check_events(events)
    check_events(event.to_dict() for event in events)


async def test_the_events_of_a_custom_provider_are_checked():
    async def provider(request):
        yield {"thinking": "Hm."}
        yield "a"

    check_events(await events_of(Agent("own/m", provider=provider).stream("go")))


async def test_the_first_wrong_event_is_named():
    events = await events_of(agent(says("a")).stream("go"))
    with pytest.raises(InvalidArgumentError, match="the last event must be agent_end"):
        check_events(events[:-1])
    with pytest.raises(InvalidArgumentError, match=r"events\[1\]"):
        check_events([events[0], events[2]])
    with pytest.raises(TypeError, match=r"events\[0\]: a value of type object is not JSON"):
        check_events([object()])
