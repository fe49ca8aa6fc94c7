"""What `@tool` makes a tool of: types and constraints, methods, generators, partials."""

import asyncio
import dataclasses
import functools
import re
import sys
from typing import Annotated, Any

import future_types
import pytest
from agent_loop import Agent, InvalidArgumentError, Tool, ToolContext, ToolExecutionUpdate, tool
from scripts import agent, answer_of, calls, events_of, results, says, scripted
from typing_extensions import NotRequired, TypedDict


class Here(TypedDict):
    a: int
    b: NotRequired[str]


def parameters(function):
    return tool(function).parameters["properties"]


def test_found_p2_fields_that_are_not_required():
    place = parameters(future_types.find)["place"]
    assert sorted(place["required"]) == ["city", "id"] and list(place["properties"]) == ["id", "note", "city", "country", "zone"]

    def here(here: Here):
        """Here."""

    assert parameters(here)["here"]["required"] == ["a"]


# ---- constraints. The classes stand for those of the packages, which the tests with servers try themselves. ----


def constraint(package, **fields):
    made = dataclasses.make_dataclass("Field", fields)(**fields)
    type(made).__module__ = package
    return made


@pytest.mark.parametrize(
    ("hint", "given", "schema"),
    [
        (int, {"ge": 1, "lt": 5}, {"minimum": 1, "exclusiveMaximum": 5}),
        (float, {"gt": 0, "le": 1.5, "multiple_of": 0.5}, {"exclusiveMinimum": 0, "maximum": 1.5, "multipleOf": 0.5}),
        (str, {"min_length": 1, "max_length": 9}, {"minLength": 1, "maxLength": 9}),
        (str, {"pattern": "^a"}, {"pattern": "^a"}),
        (str, {"pattern": re.compile("^a")}, {"pattern": "^a"}),
        (list[int], {"min_length": 2}, {"minItems": 2}),
        (dict[str, int], {"max_length": 2}, {"maxProperties": 2}),
        (int, {"description": "how many", "title": "N"}, {"description": "how many", "title": "N"}),
        (int, {"examples": [1]}, {"examples": [1]}),
    ],
)
@pytest.mark.parametrize("package", ["pydantic.fields", "annotated_types", "msgspec"])
def test_found_p2_constraints(hint, given, schema, package):
    def function(p: Annotated[hint, constraint(package, **given)]):
        """A function."""

    assert schema.items() <= parameters(function)["p"].items()


def test_found_p2_what_cannot_be_said_is_refused():
    def predicate(p: Annotated[int, constraint("annotated_types", func=lambda n: n > 1)]):
        """A function."""

    with pytest.raises(TypeError, match="parameter \"p\": Field: there is no JSON Schema for func=.*check it in the tool"):
        tool(predicate)

    def length(p: Annotated[int, constraint("annotated_types", min_length=1)]):
        """A function."""

    with pytest.raises(TypeError, match="the constraint min_length is for texts, lists and dicts"):
        tool(length)

    def field(p: int = constraint("pydantic.fields", default_factory=None, metadata=[])):
        """A function."""

    with pytest.raises(TypeError, match=r"its default is a Field; write p: Annotated\[…, Field\(…\)\], with a plain default"):
        tool(field)

    def marker(p: Annotated[int, object(), "a number"]):
        """A function."""

    assert parameters(marker)["p"] == {"type": "integer", "description": "a number"}


async def test_found_p2_a_constraint_is_checked():
    @tool
    def pick(n: Annotated[int, constraint("annotated_types", ge=1)]):
        """Picks."""
        return n

    assert (await answer_of(pick, n=1))[1] is False
    text, is_error = await answer_of(pick, n=0)
    assert is_error and "minimum" in text


# ---- methods ----


class Weather:
    """Tools of an object."""

    name = "of the class"

    def __init__(self, name):
        self.name = name

    @tool
    async def forecast(self, city: str, context: ToolContext) -> str:
        """The forecast."""
        return f"{self.name}: {city} {context.name}"

    @tool
    def plain(self, n: int = 1) -> str:
        """Plain."""
        return self.name * n

    @tool
    @classmethod
    async def shared(cls, city: str) -> str:
        """Shared."""
        return f"{cls.name}: {city}"

    @tool
    @staticmethod
    def static(city: str) -> str:
        """Static."""
        return city

    @staticmethod
    @tool
    def static_inside(city: str) -> str:
        """Static."""
        return city


async def test_found_p2_methods():
    one, other = Weather("one"), Weather("other")
    assert one.forecast.parameters == {
        **{"type": "object", "properties": {"city": {"type": "string"}}},
        **{"required": ["city"], "additionalProperties": False},
    }
    assert isinstance(one.forecast, Tool) and one.forecast.description == "The forecast."
    assert await answer_of(one.forecast, city="Oslo") == ("one: Oslo forecast", False)
    assert await answer_of(other.forecast, city="Rome") == ("other: Rome forecast", False)
    assert await answer_of(other.plain, n=2) == ("otherother", False)
    assert await answer_of(Weather.shared, city="Oslo") == ("of the class: Oslo", False)
    assert await answer_of(one.shared, city="Oslo") == ("of the class: Oslo", False)
    for made in (one.static, Weather.static, one.static_inside, Weather.static_inside):
        assert await answer_of(made, city="Oslo") == ("Oslo", False)
    # Called directly, as without the decorator.
    assert (one.plain(2), Weather.static("x"), await one.shared("x")) == ("oneone", "x", "of the class: x")
    assert await answer_of(tool(Weather("bound").plain._function, name="p")) == ("bound", False)


def test_found_p2_a_method_without_an_object_is_refused():
    with pytest.raises(TypeError, match=r"tools\[0\]: forecast is a method; give the tool of an object"):
        Agent(scripted(says("ok")), tools=[Weather.forecast])
    if sys.version_info >= (3, 13):

        class Other:
            @classmethod
            @tool
            def shared(cls):
                """Shared."""

        with pytest.raises(TypeError, match="write @tool above @classmethod"):
            Agent(scripted(says("ok")), tools=[Other.shared])


# ---- generators ----


async def updates_and_result(made):
    events = await events_of(agent(calls(made.name), says("done"), tools=[made]).stream("go"))
    updates = [event.partial_result.text for event in events if isinstance(event, ToolExecutionUpdate)]
    (result,) = [event.result.text for event in events if event.type == "tool_execution_end"]
    return updates, result


async def test_found_p2_generators():
    @tool
    async def rising():
        """Counts."""
        for n in range(3):
            yield f"{n} of 3"
            await asyncio.sleep(0)
        yield "done"

    @tool
    def returning():
        """Returns."""
        yield "half"
        yield "most"
        return "all"

    @tool
    def last():
        """Returns nothing."""
        yield "half"
        yield "all"

    @tool
    async def nothing():
        """Yields nothing."""
        return
        yield

    async def given(arguments, context):
        yield "half"
        yield {"content": [{"type": "text", "text": "all"}]}

    assert await updates_and_result(rising) == (["0 of 3", "1 of 3", "2 of 3"], "done")
    assert await updates_and_result(returning) == (["half", "most"], "all")
    assert await updates_and_result(last) == (["half"], "all")
    assert await updates_and_result(nothing) == ([], "")
    assert await updates_and_result(Tool(name="given", execute=given)) == (["half"], "all")
    assert await updates_and_result(tool(functools.partial(rising._function), name="rising")) == (
        *[["0 of 3", "1 of 3", "2 of 3"]],
        "done",
    )


@pytest.mark.parametrize("kind", ["async", "plain"])
@pytest.mark.parametrize("how", ["raises", "no JSON", "aborted"])
async def test_found_p2_a_generator_that_fails_is_closed(kind, how):
    closed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def close():
        loop.call_soon_threadsafe(closed.set)

    def values():
        yield "half"
        if how == "raises":
            raise ValueError("broken")
        for n in range(1_000_000):
            yield object() if how == "no JSON" else n

    if kind == "async":

        @tool
        async def work():
            """Works."""
            try:
                for value in values():
                    yield value
                    await asyncio.sleep(0)
            finally:
                close()
    else:

        @tool
        def work():
            """Works."""
            try:
                yield from values()
            finally:
                close()

    subject = agent(calls("work"), says("done"), tools=[work], abort_grace_ms=10_000)
    if how == "aborted":
        subject.subscribe(lambda event: subject.abort() if event.type == "tool_execution_update" else None)
    (text,) = results(await subject.prompt("go"))
    await asyncio.wait_for(closed.wait(), 30)
    expected = {"raises": "ValueError: broken", "no JSON": "TypeError: the update: a value of type object", "aborted": "aborted"}
    assert text.startswith(expected[how])


# ---- partials, lambdas, objects ----


async def test_found_p2_partials_keep_their_own_arguments():
    async def find(city: str, unit: str = "C", days: Annotated[int, "1 to 7"] = 1) -> str:
        """Finds."""
        return f"{city} {unit} {days}"

    made = tool(functools.partial(find, unit="F"))
    assert (made.name, made.description, list(made.parameters["properties"])) == ("find", "Finds.", ["city", "days"])
    assert await answer_of(made, city="Oslo", days=2) == ("Oslo F 2", False)
    made = tool(functools.partial(functools.partial(find, "Oslo"), unit="F"))
    assert list(made.parameters["properties"]) == ["days"]
    assert await answer_of(made) == ("Oslo F 1", False)


async def test_found_p2_lambdas_and_objects():
    with pytest.raises(InvalidArgumentError, match=r"tool: a lambda has no name; write tool\(name=…, parameters="):
        tool(lambda n: n)
    made = tool(name="same", parameters={"type": "object", "properties": {"n": {"type": "integer"}}})(lambda n: n)
    assert await answer_of(made, n=3) == ("3", False)

    class Find:
        """Finds."""

        async def __call__(self, city: str) -> Any:
            return city

    assert await answer_of(tool(Find(), name="find"), city="Oslo") == ("Oslo", False)


# ---- what a tool gets, and what it is called ----


@pytest.mark.parametrize("name", ["context", "ctx", "tool_context"])
def test_found_a_context_without_an_annotation_is_refused_with_what_to_write(name):
    space = {}
    exec(f"def plain(city: str, {name}): 'x'\ndef free(city, {name}): 'x'\ndef model_s(city, {name}='x'): 'x'", space)
    of_city = {"type": "object", "properties": {"city": {"type": "string"}}}
    wanted = f'parameter "{name}": it has no annotation; for the context of the call write {name}: ToolContext$'
    with pytest.raises(TypeError, match=f'^tool "plain": {wanted}'):
        tool(space["plain"])
    with pytest.raises(TypeError, match=f'^tool "free": {wanted}'):
        tool(parameters=of_city)(space["free"])
    # One that the model gives, or that needs not be given, is no context.
    of_both = {"type": "object", "properties": {"city": {"type": "string"}, name: {"type": "string"}}}
    assert tool(parameters=of_both)(space["free"]).parameters == of_both
    assert tool(parameters=of_city)(space["model_s"]).parameters == of_city


async def test_found_a_function_without_a_docstring_has_no_description():
    @tool
    def silent(city: str):
        return city

    requests = []

    async def provider(request):
        requests.append(request.tools)
        yield "ok"

    await Agent("own/x", provider=provider, tools=[silent]).prompt("go")
    assert silent.description == "" and requests[0][0]["description"] == ""


# ---- pydantic models. The class stands for one; the tests with servers try pydantic itself. ----


class Model:
    def __init__(self, **fields):
        self.fields = fields

    @classmethod
    def model_json_schema(cls):
        reference = {"$ref": "#/$defs/Inner"}
        return {"type": "object", "properties": {"inner": reference}, "$defs": {"Inner": {"type": "integer"}}}

    @classmethod
    def model_validate(cls, value):
        return cls(**value)


async def test_found_p2_models():
    @tool
    def show(model: Model, many: list[Model]) -> Any:
        """Shows."""
        return [model.fields, *(one.fields for one in many)]

    assert show.parameters["$defs"] == {"Inner": {"type": "integer"}}
    assert show.parameters["properties"]["many"]["items"] == {
        "type": "object",
        "properties": {"inner": {"$ref": "#/$defs/Inner"}},
    }
    assert await answer_of(show, model={"inner": 1}, many=[{"inner": 2}]) == ('[{"inner":1},{"inner":2}]', False)
    assert (await answer_of(show, model={"inner": "x"}, many=[]))[1] is True
