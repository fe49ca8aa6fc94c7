"""`Tool.run`: a tool outside of an agent, with the engine's checks."""

import asyncio
import datetime
import threading

import pytest
from agent_loop import Agent, InvalidArgumentError, Suspension, Tool, ToolContext, tool
from scripts import calls, says, scripted


@tool
async def weather(context: ToolContext, city: str, day: datetime.date, days: int = 1):
    """The weather."""
    yield f"asking for {city}"
    await context.sleep(1_000)
    yield {"city": city, "rain": city == "Bergen", "key": context.idempotency_key, "day": day.day, "days": days}


@tool
async def compare(context: ToolContext, cities: list[str]) -> str:
    """Compares cities."""
    reports = [await weather.run({"city": city, "day": "2026-05-17"}, context=context) for city in cities]
    return ", ".join(f"{report['city']}: {'rain' if report['rain'] else 'sun'} ({report['key']})" for report in reports)


async def at_once(ms):
    return True


async def test_arguments_are_converted_and_updates_reported():
    updates = []
    result = await weather.run(
        {"city": "Oslo", "day": "2026-05-17", "days": "3"},
        sleep=at_once,
        on_update=updates.append,
        tool_call_id="c",
        idempotency_key="k",
    )
    assert result == {"city": "Oslo", "rain": False, "key": "k", "day": 17, "days": 3}
    assert updates == ["asking for Oslo"]


async def test_a_tool_that_runs_tools_gives_them_its_context():
    updates = []
    result = await compare.run({"cities": ["Oslo", "Bergen"]}, idempotency_key="k", sleep=at_once, on_update=updates.append)
    assert result == "Oslo: sun (k/weather/1), Bergen: rain (k/weather/2)"
    assert updates == ["asking for Oslo", "asking for Bergen"]
    # Executed again, it gives the same keys.
    assert await compare.run({"cities": ["Oslo", "Bergen"]}, idempotency_key="k", sleep=at_once) == result


async def test_in_an_agent_the_inner_call_has_the_clock_and_the_updates_of_the_outer_one():
    agent = Agent(scripted(calls("compare", cities=["Oslo"]), says("done")), tools=[compare])
    # The time of a scripted model is virtual: nothing waits for it.
    events = [event async for event in agent.stream("go")]
    updates = [event.partial_result.text for event in events if event.type == "tool_execution_update"]
    [end] = [event for event in events if event.type == "tool_execution_end"]
    assert updates == ["asking for Oslo"]
    assert end.result.text.startswith("Oslo: sun (") and end.result.text.endswith("/weather/1)")


@pytest.mark.parametrize(
    ("arguments", "options", "why"),
    [
        ({}, {}, "the arguments of weather do not fit its schema:\n/city: is required\n/day: is required"),
        ({"city": "Oslo", "day": "soon"}, {}, "the arguments of weather do not fit its schema:\n/day: 'soon' is not a date, for"),
        ({"city": "Oslo", "day": "2026-05-17", "days": "3"}, {"validation": "strict"}, '/days: "3" is not of type "integer"'),
        ({}, {"validation": "loose"}, 'validation: expected "coerce", "strict" or "off", got "loose"'),
    ],
)
async def test_arguments_that_do_not_fit(arguments, options, why):
    with pytest.raises(InvalidArgumentError) as caught:
        await weather.run(arguments, **options)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "options", "why"),
    [
        (["Oslo"], {}, 'tool "weather": run: expected a dict of arguments, got list'),
        ({"city": object()}, {}, "the arguments of weather: at /city: a value of type object is not JSON"),
        ({}, {"context": 7}, 'tool "weather": run: context: expected the ToolContext that the calling tool gets, got int'),
        ({}, {"on_update": 7}, 'tool "weather": run: on_update: expected a function, got int'),
        ({}, {"sleep": 7}, 'tool "weather": run: sleep: expected a function, got int'),
    ],
)
async def test_wrong_calls(arguments, options, why):
    with pytest.raises(TypeError) as caught:
        await weather.run(arguments, **options)
    assert str(caught.value).startswith(why)


async def test_a_plain_function_has_a_thread_and_its_generator_is_read():
    threads = []

    @tool
    def count(context: ToolContext, to: int):
        """Counts."""
        threads.append(threading.current_thread())
        for number in range(to):
            yield number
            context.sleep_sync(0)
        return {"counted": to}

    updates = []
    assert await count.run({"to": 3}, on_update=updates.append) == {"counted": 3}
    assert updates == [0, 1, 2] and threads != [threading.current_thread()]


async def test_what_a_tool_raises_is_raised():
    @tool
    def fails() -> None:
        """Fails."""
        raise LookupError("no such city")

    @tool
    async def waits(context: ToolContext) -> None:
        """Waits for somebody."""
        raise context.suspend("needs a signature")

    with pytest.raises(LookupError, match="no such city"):
        await fails.run({})
    with pytest.raises(Suspension, match="needs a signature"):
        await waits.run({})


async def test_a_result_that_is_no_json_or_a_wrong_full_one_is_refused():
    @tool
    async def odd(which: int):
        """Is odd."""
        return [object(), {"content": [], "is_error": "yes"}][which]

    with pytest.raises(TypeError, match="the tool's result: a value of type object is not JSON"):
        await odd.run({"which": 0})
    with pytest.raises(TypeError, match="the tool's result: is_error"):
        await odd.run({"which": 1})


async def test_prepared_arguments_are_checked():
    async def prepare(arguments, context):
        assert not context.is_cancelled and await context.sleep(5)
        return {"n": arguments["number"]}

    made = Tool(
        name="t",
        parameters={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        execute=lambda arguments, context: arguments["n"] + 1,
        prepare_arguments=prepare,
    )
    assert await made.run({"number": "4"}, sleep=at_once) == 5


async def test_a_cancelled_run_cancels_its_tool():
    cancelled, started = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @tool
    def works(context: ToolContext) -> None:
        """Works until it is cancelled."""
        loop.call_soon_threadsafe(started.set)
        while not context.is_cancelled:
            context.sleep_sync(1)
        cancelled.set()

    task = asyncio.ensure_future(works.run({}))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(cancelled.wait)


async def test_a_method_is_run_of_its_object():
    class Weather:
        unit = "C"

        @tool
        async def forecast(self, city: str) -> str:
            """The forecast."""
            return f"{city} {self.unit}"

    assert await Weather().forecast.run({"city": "Oslo"}) == "Oslo C"
    with pytest.raises(TypeError, match="it is a method; run the tool of an object"):
        await Weather.__dict__["forecast"].run({"city": "Oslo"})
