"""The typed final answer: the option `output` as a type, of an agent and of one run; and options of one run."""

import dataclasses
import enum
import typing
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import pytest
from agent_loop import Agent, AgentEnd, InvalidArgumentError, InvalidStateError, Loop, Output, ProtocolError, RunResult, run
from scripts import calls, says, scripted


@dataclasses.dataclass
class Weather:
    """The weather."""

    city: str
    degrees: int


class Sky(enum.Enum):
    CLEAR = "clear"
    CLOUDY = "cloudy"


class Place(NamedTuple):
    city: str
    sky: Sky


class Options(TypedDict, total=False):
    city: str


def answers(*given):
    """A model that calls the final tool with each of these, or says a text."""
    return scripted(*(says(one) if isinstance(one, str) else calls("final_answer", one) for one in given))


OSLO = {"city": "Oslo", "degrees": 7}


@pytest.mark.parametrize(
    ("output", "given", "value"),
    [
        (Weather, OSLO, Weather("Oslo", 7)),
        (Place, {"city": "Oslo", "sky": "clear"}, Place("Oslo", Sky.CLEAR)),
        (Options, {"city": "Oslo"}, {"city": "Oslo"}),
        (list[Weather], {"result": [OSLO]}, [Weather("Oslo", 7)]),
        (Sky, {"result": "cloudy"}, Sky.CLOUDY),
        (Weather | Place, {"result": {"city": "Oslo", "sky": "clear"}}, Place("Oslo", Sky.CLEAR)),
        (typing.Optional[Weather], {"result": None}, None),  # noqa: UP045
        (dict[str, int], {"a": 1}, {"a": 1}),
        (tuple[int, str], {"result": [1, "a"]}, (1, "a")),
        (Literal["yes", "no"], {"result": "yes"}, "yes"),
        (Annotated[int, "a count"], {"result": 3}, 3),
        (float, {"result": 2}, 2),
        ({"type": "object", "properties": {"n": {"type": "integer"}}}, {"n": "4"}, {"n": 4}),
        ({"schema": {"type": "array"}, "name": "final_answer"}, {"result": []}, []),
        (Output(Weather, description="Where it rains."), OSLO, Weather("Oslo", 7)),
    ],
)
async def test_the_answer_is_a_value_of_the_type(output, given, value):
    of_agent = await Agent(answers(given), output=output).prompt("go")
    of_run = await Agent(answers(given)).prompt("go", output=output)
    assert (of_agent.output, of_run.output) == (value, value)
    assert type(of_run.output) is type(value)


async def test_text_or_a_type():
    agent = Agent(answers("In which country?", OSLO), output=Weather | str)
    assert (await agent.prompt("go")).output == "In which country?"
    assert (await agent.prompt("Norway")).output == Weather("Oslo", 7)


async def test_what_the_type_refuses_goes_back_to_the_model():
    from pydantic import BaseModel, field_validator

    class Small(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def small(cls, n):
            if n > 3:
                raise ValueError("it is too large")
            return n

    result = await Agent(answers({"n": 5}, {"n": 2}), output=Small).prompt("go")
    assert result.output == Small(n=2)
    assert "it is too large" in result.messages[2].text and result.messages[2].is_error
    # What only the class knows, of another place.
    result = await Agent(answers('{"city": "Oslo", "sky": "green"}', {"city": "Oslo", "sky": "clear"}), output=Place).prompt("go")
    assert result.output == Place("Oslo", Sky.CLEAR)
    assert result.output is result.output


async def test_check_output_gets_the_value():
    seen = []

    async def only_oslo(weather, context):
        seen.append((weather, context.is_cancelled))
        return None if weather.city == "Oslo" else f"{weather.city} is not in Norway"

    agent = Agent(answers({"city": "Rome", "degrees": 20}, OSLO), output=Weather, check_output=only_oslo)
    result = await agent.prompt("go")
    assert result.output == Weather("Oslo", 7)
    assert result.messages[2].text == "Rome is not in Norway"
    assert seen == [(Weather("Rome", 20), False), (Weather("Oslo", 7), False)]
    # Of a schema it is plain, and without the hook nothing is asked.
    plain = []
    agent = Agent(answers(OSLO, OSLO), output={"type": "object"}, check_output=plain.append)
    await agent.prompt("go")
    agent.set_hook("check_output", None)
    await agent.prompt("go")
    assert plain == [OSLO]


async def test_a_hook_that_fails_ends_the_run():
    def broken(_weather):
        raise OSError("no connection")

    with pytest.raises(Exception, match="no connection") as raised:
        await Agent(answers(OSLO), output=Weather, check_output=broken).prompt("go")
    assert isinstance(raised.value.__cause__, OSError)


async def test_an_answer_that_stays_wrong_is_an_error():
    wrong = {"city": "Oslo"}
    agent = Agent(answers(wrong, wrong), output=Weather, output_retries=1)
    with pytest.raises(ProtocolError, match=r"is not what output asks for, .*\n/degrees: is required") as e:
        await agent.prompt("go")
    assert e.value.result.output is None


async def test_the_answer_is_read_while_it_is_written():
    model = scripted([{"delta": '{"city": "Os'}, {"delta": 'lo", "degr'}, {"delta": 'ees": 7}'}, {"end": {}}])
    async with Agent(model).stream("go", output=Output(Weather, mode="native")) as stream:
        seen = [(event.type, event.partial_output()) async for event in stream if event.partial_output() is not None]
        result = await stream.result()
    parts = [{"city": "Os"}, {"city": "Oslo"}, OSLO]
    assert [part for kind, part in seen if kind == "text_delta"] == parts
    assert result.output == Weather("Oslo", 7)


async def test_events_and_json_have_the_plain_answer():
    events = []
    agent = Agent(answers(OSLO), output=Weather)
    agent.subscribe(events.append)
    result = await agent.prompt("go")
    assert isinstance(events[-1], AgentEnd) and events[-1].output == OSLO
    assert result.to_dict()["output"] == OSLO
    assert RunResult(output=OSLO).output == OSLO


async def test_the_type_of_one_run_is_its_own():
    agent = Agent(answers(OSLO, {"city": "Oslo", "sky": "clear"}, "Hello."), output=Weather)
    assert (await agent.prompt("go")).output == Weather("Oslo", 7)
    assert (await agent.prompt("go", output=Place)).output == Place("Oslo", Sky.CLEAR)
    # None is the default, whatever the agent has.
    result = await agent.prompt("go", output=None)
    assert (result.output, result.text) == (None, "Hello.")


async def test_set_options_changes_the_type():
    agent = Agent(answers({"city": "Oslo", "sky": "clear"}, "Hello."), output=Weather)
    agent.set_options(output=Place)
    assert (await agent.prompt("go")).output == Place("Oslo", Sky.CLEAR)
    agent.set_options(output=None)
    assert (await agent.prompt("go")).text == "Hello."


async def test_stateless_runs_have_an_answer_too():
    result = await run({"messages": []}, "go", model=answers(OSLO), output=Weather).result()
    assert result.output == Weather("Oslo", 7)


def test_without_an_event_loop():
    agent = Agent(answers(OSLO, OSLO))
    assert agent.prompt_sync("go", output=Weather).output == Weather("Oslo", 7)
    with agent.stream_sync("go", output=Weather) as stream:
        assert stream.result().output == Weather("Oslo", 7)


def test_a_stepped_loop_takes_the_type():
    loop = Loop(answers(OSLO), prompt="go", output=Weather)
    actions = []
    while (action := loop.poll(0)) is not None:
        actions.append(action)
        if action["type"] == "call_custom_model":
            break
    assert any(action["type"] != "event" for action in actions)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"output": print}, "output: print: there is no JSON Schema for print. Known are"),
        ({"output": {"type": "strin"}}, 'option "output": schema is not a JSON Schema: at "/type": unknown type "strin"'),
        ({"output": {"schema": {}, "nam": 1}}, 'option "output": unknown field "nam"; did you mean "name"?'),
        ({"output": Output(Weather, name="a b")}, 'option "output": name "a b": use 1 to 64 letters'),
        ({"max_turn": 1}, 'unknown option "max_turn"; did you mean "max_turns"?'),
        ({"tools": []}, 'option "tools": it is the agent\'s, and the same for all of its runs; give it to the agent'),
        ({"on_error": print}, 'option "on_error": it is the agent\'s, and the same for all of its runs'),
        ({"api_key": "k"}, 'option "api_key": it is the agent\'s, and the same for all of its runs'),
        ({"temperature": "hot"}, 'option "temperature": expected a number, got "hot"'),
    ],
)
async def test_what_cannot_be_an_option_of_a_run(options: dict[str, Any], text):
    agent = Agent(answers(OSLO))
    with pytest.raises((InvalidArgumentError, TypeError)) as raised:
        await agent.prompt("go", **options)
    assert text in str(raised.value)
    assert agent.messages == ()


async def test_options_of_one_run():
    payloads = []
    agent = Agent(scripted(says("a"), says("b")), on_payload=lambda request: payloads.append(request.payload))
    await agent.prompt("go", temperature=0.5, system_prompt="Be brief.")
    async with agent.stream("go") as stream:
        await stream.result()
    assert [(p["options"].get("temperature"), p["system_prompt"]) for p in payloads] == [(0.5, "Be brief."), (None, "")]


async def test_a_busy_agent_keeps_the_type_of_its_run():
    agent = Agent(answers(OSLO))
    async with agent.stream("go", output=Weather) as stream:
        with pytest.raises(Exception, match="busy|active") as raised:
            await agent.prompt("go", output=Place)
        assert not isinstance(raised.value, InvalidStateError)
        assert (await stream.result()).output == Weather("Oslo", 7)
