"""Schemas from annotations, and arguments converted to the annotated types."""

import dataclasses
import enum
import typing
from typing import Annotated, Any, Literal, Optional, TypedDict, Union

import pytest
from agent_loop import ToolContext, tool
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


UserId = typing.NewType("UserId", int)
POINT = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "y": {"type": "number"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["x"],
    "additionalProperties": False,
}
COLOR = {"type": "string", "enum": ["red", "blue"]}


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
        (Color, COLOR),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (UserId, {"type": "integer"}),
        (Annotated[str, "a city"], {"type": "string", "description": "a city"}),
        (Annotated[int, 5, "a number"], {"type": "integer", "description": "a number"}),
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
        (Color | str, "green", "green"),
        (list[Color], ["red", "blue"], [Color.RED, Color.BLUE]),
        (dict[str, Color], {"a": "red"}, {"a": Color.RED}),
        (Point, {"x": 1}, Point(1)),
        (Point | None, {"x": 1, "tags": ["t"]}, Point(1, 0, ["t"])),
        (Line, {"start": {"x": 1, "y": 2}, "color": "blue"}, Line(Point(1, 2), Color.BLUE)),
        (Extra, {"title": "T", "color": "red", "year": 1999.0}, {"title": "T", "color": Color.RED, "year": 1999}),
        (UserId, 7, 7),
        (Any, {"any": 1}, {"any": 1}),
    ],
)
def test_arguments_are_converted_to_the_annotated_types(hint, given, got):
    value = signature_of(hint).bound({"p": given}, None)["p"]
    assert value == got and type(value) is type(got)


@pytest.mark.parametrize(
    ("hint", "why"),
    [
        (set, "there is no JSON Schema for set"),
        (bytes, "there is no JSON Schema for bytes"),
        (object(), "there is no JSON Schema for <object object"),
        (tuple[int, str], "there is no JSON Schema for tuple"),
        (list[set], "there is no JSON Schema for set"),
        (dict[int, str], "the keys of a JSON object are str"),
        (Point | Line, "a Union can have at most one Enum, dataclass or container of those"),
        (Literal[b"x"], "the values [b'x'] are not all JSON"),
        (Node, "Node.child: Node contains itself"),
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
