"""Results that are no JSON by themselves: the model reads what the annotation of their type describes."""

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import typing
import uuid

import pydantic
import pytest
from agent_loop import Agent, tool
from agent_loop.schema import Signature
from scripts import calls, says, scripted


class Color(enum.Enum):
    RED = "red"


class Size(str, enum.Enum):
    BIG = "big"


class Place(typing.NamedTuple):
    latitude: float
    longitude: float


@dataclasses.dataclass
class Trip:
    color: Color
    places: list[Place]
    day: datetime.date


@dataclasses.dataclass
class Tags:
    numbers: set[int]
    texts: frozenset[str]


TRIP = Trip(Color.RED, [Place(1.5, 2)], datetime.date(2026, 5, 17))
RENDERED = {"color": "red", "places": [{"latitude": 1.5, "longitude": 2}], "day": "2026-05-17"}
UTC = datetime.timezone.utc


async def result_of(value):
    @tool(name="t", parameters={"type": "object"})
    async def made():
        return value

    agent = Agent(scripted(calls("t"), says("done")), tools=[made])
    result = await agent.prompt("go")
    [message] = [message for message in result.messages if message.role == "tool_result"]
    return message


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (TRIP, RENDERED),
        ([TRIP], [RENDERED]),
        ({"trip": TRIP, "n": 1}, {"trip": RENDERED, "n": 1}),
        (Color.RED, "red"),
        (Size.BIG, "big"),
        (Place(1, 2), {"latitude": 1, "longitude": 2}),
        ((1, 2), [1, 2]),
        (Tags({3, 1, 2}, frozenset({"b", "a"})), {"numbers": [1, 2, 3], "texts": ["a", "b"]}),
        (datetime.datetime(2026, 5, 17, 12, 30, tzinfo=UTC), "2026-05-17T12:30:00+00:00"),
        (datetime.time(12, 30), "12:30:00"),
        (datetime.timedelta(days=1, hours=2, seconds=0.25), "P1DT2H0.25S"),
        (-datetime.timedelta(minutes=3), "-PT3M"),
        (datetime.timedelta(), "PT0S"),
        (decimal.Decimal("0.30"), "0.30"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
    ],
)
async def test_what_is_rendered_is_what_its_type_is_read_from(value, shown):
    message = await result_of(value)
    assert not message.is_error
    text = message.text
    assert (text if isinstance(shown, str) else json.loads(text)) == shown

    def function(p):
        pass

    hint = type(value)
    if hint in (list, dict, tuple, set, frozenset):
        return
    function.__annotations__ = {"p": hint}
    assert Signature("t", function, derive=True).bound({"p": shown}, None)["p"] == value


async def test_models_of_pydantic_are_rendered_with_their_aliases():
    class Movie(pydantic.BaseModel):
        title: str = pydantic.Field(alias="movieTitle")
        day: datetime.date

    message = await result_of({"movies": [Movie(movieTitle="Up", day=datetime.date(2009, 5, 29))]})
    assert json.loads(message.text) == {"movies": [{"movieTitle": "Up", "day": "2009-05-29"}]}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (object(), "TypeError: the tool's result: a value of type object is not JSON"),
        ({"city", "Oslo"}, "TypeError: the tool's result: a value of type set is not JSON"),
        ([Trip], "TypeError: the tool's result: at /0: a value of type type is not JSON"),
        (dataclasses.replace(TRIP, day=b"x"), "TypeError: the tool's result: at /day: a value of type bytes is not JSON"),
    ],
)
async def test_what_has_no_json_is_named_with_its_place(value, why):
    message = await result_of(value)
    assert message.is_error and message.text.startswith(why)


async def test_updates_are_rendered():
    @tool
    async def trips():
        """Trips."""
        yield TRIP
        yield "done"

    agent = Agent(scripted(calls("trips"), says("done")), tools=[trips])
    updates = [event.partial_result async for event in agent.stream("go") if event.type == "tool_execution_update"]
    assert [json.loads(update.text) for update in updates] == [RENDERED]
