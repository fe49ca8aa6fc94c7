"""Schemas from annotations, and arguments converted to the annotated types."""

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import pathlib
import typing
import uuid
from typing import Annotated, Any, Literal, Optional, TypedDict, Union

import pydantic
import pytest
from agent_loop import CallbackError, ToolContext, tool
from agent_loop.schema import Signature


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Movie(TypedDict):
    title: str
    color: Color


class Extra(Movie, total=False):
    year: Annotated[int, "of its release"]


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Line:
    start: Point
    color: Color | None = None


@dataclasses.dataclass
class Node:
    child: "Node | None" = None


@dataclasses.dataclass
class Twin:
    x: float
    y: float = 0
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Circle:
    """A circle.

    Attributes:
        radius: In meters.
    """

    kind: Literal["circle"]
    radius: float


@dataclasses.dataclass
class Square:
    kind: Literal["square"]
    side: float


@dataclasses.dataclass
class Group:
    """Of shapes."""

    shapes: "list[Circle | Square | Group]"
    center: "Place | None" = None


class Place(typing.NamedTuple):
    latitude: float
    longitude: float = 0


class Tree(TypedDict):
    name: str
    children: "list[Tree]"


UserId = typing.NewType("UserId", int)
POINT = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "y": {"type": "number"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["x"],
    "additionalProperties": False,
}
COLOR = {"type": "string", "enum": ["red", "blue"]}
CIRCLE = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["circle"]},
        "radius": {"description": "In meters.", "type": "number"},
    },
    "required": ["kind", "radius"],
    "additionalProperties": False,
    "description": "A circle.",
}
UTC = datetime.timezone.utc
TREE = {"name": "a", "children": [{"name": "b", "children": []}]}
KEY = uuid.UUID("6f1c2e0a-9f0e-4d56-8a3b-1f2d3c4b5a69")


def signature_of(hint, name="p"):
    def function(p):
        pass

    function.__annotations__ = {"p": hint}
    return Signature("t", function, derive=True)


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (list, {"type": "array"}),
        (typing.List, {"type": "array"}),  # noqa: UP006
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (typing.List[str], {"type": "array", "items": {"type": "string"}}),  # noqa: UP006
        (dict, {"type": "object"}),
        (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
        (Optional[str], {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Union[int, None], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Literal["add", "divide"], {"type": "string", "enum": ["add", "divide"]}),
        (Literal[1, "one"], {"enum": [1, "one"]}),
        (Literal[Color.RED, "green"], {"type": "string", "enum": ["red", "green"]}),
        (Color, COLOR),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (UserId, {"type": "integer"}),
        (Annotated[str, "a city"], {"type": "string", "description": "a city"}),
        (Annotated[int, 5, "a number"], {"type": "integer", "description": "a number"}),
        (Circle, CIRCLE),
        (tuple, {"type": "array"}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (
            tuple[int, str],
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        ),
        (set, {"type": "array", "uniqueItems": True}),
        (frozenset[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (collections.abc.Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (typing.Mapping[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),  # noqa: UP006
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (datetime.time, {"type": "string", "format": "time"}),
        (datetime.timedelta, {"type": "string", "format": "duration"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (pathlib.Path, {"type": "string", "format": "path"}),
        (
            Place,
            {
                "type": "object",
                "properties": {"latitude": {"type": "number"}, "longitude": {"type": "number"}},
                "required": ["latitude"],
                "additionalProperties": False,
            },
        ),
        (Point, POINT),
        (list[Point], {"type": "array", "items": POINT}),
        (
            Movie,
            {
                "type": "object",
                "properties": {"title": {"type": "string"}, "color": COLOR},
                "required": ["title", "color"],
                "additionalProperties": False,
            },
        ),
        (
            Extra,
            {
                "type": "object",
                "properties": {
                    "title": {"type": "string"},
                    "color": COLOR,
                    "year": {"type": "integer", "description": "of its release"},
                },
                "required": ["title", "color"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_annotations_and_their_schemas(hint, schema):
    assert signature_of(hint).schema["properties"]["p"] == schema


@pytest.mark.parametrize(
    ("hint", "given", "got"),
    [
        (int, 3.0, 3),
        (float, 3, 3),
        (int | None, 3.0, 3),
        (Color, "red", Color.RED),
        (Level, 2, Level.HIGH),
        (Color | None, None, None),
        (Literal[Color.RED, "green"], "red", Color.RED),
        (Literal[Color.RED, "green"], "green", "green"),
        (Color | str, "green", "green"),
        (list[Color], ["red", "blue"], [Color.RED, Color.BLUE]),
        (dict[str, Color], {"a": "red"}, {"a": Color.RED}),
        (Point, {"x": 1}, Point(1)),
        (Point | None, {"x": 1, "tags": ["t"]}, Point(1, 0, ["t"])),
        (Line, {"start": {"x": 1, "y": 2}, "color": "blue"}, Line(Point(1, 2), Color.BLUE)),
        (Extra, {"title": "T", "color": "red", "year": 1999.0}, {"title": "T", "color": Color.RED, "year": 1999}),
        (UserId, 7, 7),
        (Any, {"any": 1}, {"any": 1}),
        (tuple[int, Color], [2.0, "red"], (2, Color.RED)),
        (tuple[()], [], ()),
        (tuple[int, ...], [1.0, 2], (1, 2)),
        (set[int], [1, 2], {1, 2}),
        (frozenset, ["a"], frozenset({"a"})),
        (list[tuple[int, int]], [[1, 2]], [(1, 2)]),
        (datetime.datetime, "2026-05-17T12:30:00Z", datetime.datetime(2026, 5, 17, 12, 30, tzinfo=UTC)),
        (datetime.date, "2026-05-17", datetime.date(2026, 5, 17)),
        (datetime.time, "12:30:00", datetime.time(12, 30)),
        (datetime.timedelta, "P1DT2H30M0.5S", datetime.timedelta(days=1, hours=2, minutes=30, seconds=0.5)),
        (datetime.timedelta, "-PT1.5H", datetime.timedelta(hours=-1.5)),
        (uuid.UUID, str(KEY), KEY),
        (decimal.Decimal, "0.30", decimal.Decimal("0.30")),
        (decimal.Decimal, 0.1, decimal.Decimal("0.1")),
        (pathlib.PurePosixPath, "a/b", pathlib.PurePosixPath("a/b")),
        (Place, {"latitude": 1.5}, Place(1.5, 0)),
        (datetime.date | str, "2026-05-17", datetime.date(2026, 5, 17)),
        (datetime.date | str, "in May", "in May"),
        (datetime.date | datetime.datetime, "2026-05-17T12:30:00", datetime.datetime(2026, 5, 17, 12, 30)),
        (Circle | Square, {"kind": "square", "side": 1}, Square("square", 1)),
        (Circle | list[Square], [{"kind": "square", "side": 1}], [Square("square", 1)]),
        (Circle | int | None, 3.0, 3),
        (Circle | int | None, None, None),
        (Color | Level, 2, Level.HIGH),
        (Point | Line, {"start": {"x": 1}}, Line(Point(1))),
        (Node, {"child": {"child": None}}, Node(Node(None))),
        (Tree, TREE, TREE),
        (
            Group,
            {"shapes": [{"kind": "circle", "radius": 1}, {"shapes": [], "center": {"latitude": 1}}]},
            Group([Circle("circle", 1), Group([], Place(1))]),
        ),
    ],
)
def test_arguments_are_converted_to_the_annotated_types(hint, given, got):
    value = signature_of(hint).bound({"p": given}, None)["p"]
    assert value == got and type(value) is type(got)


@pytest.mark.parametrize(
    ("hint", "why"),
    [
        (bytes, "there is no JSON Schema for bytes"),
        (object(), "there is no JSON Schema for <object object"),
        (list[complex], "there is no JSON Schema for complex"),
        (dict[int, str], "the keys of a JSON object are str"),
        (Point | Twin, "Point and Twin have the same JSON Schema, so that it cannot be known which one a value is; give each"),
        (Literal[b"x"], "the values [b'x'] are not all JSON"),
        (datetime.tzinfo, "there is no JSON Schema for tzinfo"),
    ],
)
def test_an_annotation_without_a_schema_names_its_parameter(hint, why):
    with pytest.raises(TypeError) as caught:
        signature_of(hint)
    text = str(caught.value)
    assert text.startswith(f'tool "t": parameter "p": {why}')
    assert text.endswith("or give the schema yourself: @tool(parameters={…})")


def test_parameters_that_cannot_be():
    def missing(a, b: int): ...

    def star(*values: int): ...

    def stars(**values: int): ...

    def positional(a: int, /): ...

    def unresolved(a: "Nowhere"): ...  # noqa: F821

    for function, text in [
        (missing, 'tool "missing": parameter "a": it has no annotation. Known are str, int, '),
        (star, "tool \"star\": parameter \"values\": a tool's parameters each have a name"),
        (stars, "tool \"stars\": parameter \"values\": a tool's parameters each have a name"),
        (positional, 'tool "positional": parameter "a": tools are called with keyword arguments'),
        (unresolved, 'tool "unresolved": its annotations cannot be read: name \'Nowhere\' is not defined'),
    ]:
        with pytest.raises(TypeError) as caught:
            tool(function)
        assert str(caught.value).startswith(text)


def test_defaults_are_not_required_and_in_the_schema():
    def function(
        context: ToolContext,
        a: str,
        b: int = 5,
        c: str | None = None,
        d: Color = Color.RED,
        e: Annotated[bool, "on?"] = True,
        f: list[int] = (),
    ): ...

    signature = Signature("t", function, derive=True)
    properties = signature.schema["properties"]
    assert signature.context == "context"
    assert list(properties) == ["a", "b", "c", "d", "e", "f"]
    assert signature.schema["required"] == ["a"]
    assert properties["b"] == {"type": "integer", "default": 5}
    assert "default" not in properties["c"] and "default" not in properties["d"] and "default" not in properties["f"]
    assert properties["e"] == {"type": "boolean", "description": "on?", "default": True}


def test_no_parameters():
    def function(): ...

    assert Signature("t", function, derive=True).schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_a_class_that_contains_itself_is_a_definition():
    node = {
        "type": "object",
        "properties": {"child": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
        "additionalProperties": False,
    }
    schema = signature_of(list[Node]).schema
    assert schema["properties"]["p"] == {"type": "array", "items": {"$ref": "#/$defs/Node"}}
    assert schema["$defs"] == {"Node": node}
    # The engine takes it, and checks values against it.
    made = tool(name="t", parameters=schema)(lambda p: p)
    assert made.spec.check({"p": [{"child": {"child": None}}]}, "strict") == {"p": [{"child": {"child": None}}]}
    with pytest.raises(ValueError, match="/p/0/child"):
        made.spec.check({"p": [{"child": {"child": 7}}]}, "strict")


@pytest.mark.parametrize(
    ("hint", "given", "why"),
    [
        (datetime.datetime, "soon", "/p: 'soon' is not a date-time, for example 2026-05-17T12:30:00Z"),
        (list[datetime.date], ["2026-05-17", "May"], "/p/1: 'May' is not a date, for example 2026-05-17"),
        (dict[str, uuid.UUID], {"a": "b"}, "/p/a: 'b' is not a uuid, for example 6f1c2e0a-9f0e-4d56-8a3b-1f2d3c4b5a69"),
        (datetime.timedelta, "P1Y", "/p: 'P1Y' is not a duration, for example P1DT2H30M"),
        (datetime.timedelta, "P", "/p: 'P' is not a duration, for example P1DT2H30M"),
        (set, [["a"]], "/p: unhashable type: 'list'"),
        (Circle | Square, {"kind": "line"}, "/p: it fits none of Circle, Square"),
        (datetime.date | uuid.UUID, "x", "/p: 'x' is not a uuid, for example 6f1c2e0a-9f0e-4d56-8a3b-1f2d3c4b5a69"),
    ],
)
def test_a_value_that_is_not_of_its_type_is_named_with_its_place(hint, given, why):
    with pytest.raises(CallbackError) as caught:
        signature_of(hint).bound({"p": given}, None)
    assert str(caught.value) == f"the arguments of t do not fit its schema:\n{why}"


def test_a_model_that_refuses_a_value_says_why_also_where_none_is_allowed():
    class Even(pydantic.BaseModel):
        number: int

        @pydantic.field_validator("number")
        @classmethod
        def is_even(cls, number: int) -> int:
            if number % 2:
                raise ValueError("it is odd")
            return number

    assert signature_of(Even | None).bound({"p": {"number": 2}}, None)["p"] == Even(number=2)
    with pytest.raises(CallbackError) as caught:
        signature_of(Even | None).bound({"p": {"number": 1}}, None)
    assert str(caught.value) == "the arguments of t do not fit its schema:\n/p/number: it is odd"
    assert isinstance(caught.value.__cause__, pydantic.ValidationError)


def test_each_mistake_that_a_class_finds_is_named_with_its_place():
    class Small(pydantic.BaseModel):
        numbers: list[Annotated[int, pydantic.Field(lt=10)]]

    @dataclasses.dataclass
    class Span:
        start: int
        end: int

        def __post_init__(self) -> None:
            if self.end < self.start:
                raise ValueError("the end is before the start")

    def text_of(hint, given):
        with pytest.raises(CallbackError) as caught:
            signature_of(hint).bound({"p": given}, None)
        return str(caught.value).removeprefix("the arguments of t do not fit its schema:\n")

    too_large = "Input should be less than 10"
    assert text_of(list[Small], [{"numbers": [1, 20, 30]}]) == f"/p/0/numbers/1: {too_large}\n/p/0/numbers/2: {too_large}"
    assert text_of(dict[str, Span], {"a": {"start": 2, "end": 1}}) == "/p/a: the end is before the start"


def test_a_built_in_function_needs_a_schema():
    # Of some there is a signature, without annotations; of others there is none.
    for function in (print, min, dict):
        with pytest.raises(TypeError) as caught:
            tool(function)
        assert f'tool "{function.__name__}": ' in str(caught.value)
        made = tool(name="t", parameters={"type": "object"})(function)
        assert made.parameters == {"type": "object"}


def test_a_union_of_models_may_name_its_discriminator():
    class Cat(pydantic.BaseModel):
        kind: Literal["cat"]

    class Dog(pydantic.BaseModel):
        kind: Literal["dog"]

    hint = Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]
    assert signature_of(hint).bound({"p": {"kind": "dog"}}, None)["p"] == Dog(kind="dog")
