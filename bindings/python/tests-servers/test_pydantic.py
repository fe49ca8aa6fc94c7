"""Tools whose parameters are pydantic's, with pydantic itself and annotated_types."""

import asyncio
from typing import Annotated, Any

import annotated_types
import pytest
from agent_loop import Agent, tool
from pydantic import BaseModel, Field


class Inner(BaseModel):
    n: int = Field(ge=1)


class Outer(BaseModel):
    """An outer model."""

    inner: Inner
    many: list[Inner] = []


@tool
def show(
    outer: Outer, n: Annotated[int, Field(ge=1, description="how many")], t: Annotated[str, Field(pattern="^a")] = "a"
) -> Any:
    """Shows."""
    return [type(outer).__name__, outer.inner.n, n, t]


def answer(**arguments):
    call = {"delta": {"tool_call": {"id": "c", "name": "show", "arguments": arguments}}}
    script = [[call, {"end": {}}], [{"delta": "done"}, {"end": {}}]]
    result = asyncio.run(Agent({"provider": "scripted", "id": "s", "script": script}, tools=[show]).prompt("go"))
    (message,) = [message for message in result.messages if message.role == "tool_result"]
    return message.text, message.is_error


def test_found_p2_models_and_fields():
    properties = show.parameters["properties"]
    assert properties["n"] == {"type": "integer", "minimum": 1, "description": "how many"}
    assert properties["t"] == {"type": "string", "pattern": "^a", "default": "a"}
    assert show.parameters["required"] == ["outer", "n"]
    assert answer(outer={"inner": {"n": 2}}, n=1) == ('["Outer",2,1,"a"]', False)
    for wrong in ({"outer": {"inner": {"n": 0}}, "n": 1}, {"outer": {"inner": {"n": 1}}, "n": 0}):
        assert answer(**wrong)[1] is True


def test_found_p2_annotated_types():
    def function(
        a: Annotated[int, annotated_types.Interval(ge=1, lt=5)],
        b: Annotated[list[int], annotated_types.Len(1, 3)],
        c: Annotated[int, annotated_types.Gt(0), annotated_types.MultipleOf(5)],
        d: Annotated[str, annotated_types.MinLen(2), annotated_types.doc("a text")] = "xx",
    ):
        """A function."""

    properties = tool(function).parameters["properties"]
    assert properties["a"] == {"type": "integer", "minimum": 1, "exclusiveMaximum": 5}
    assert properties["b"] == {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3}
    assert properties["c"] == {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5}
    assert properties["d"] == {"type": "string", "minLength": 2, "description": "a text", "default": "xx"}


def test_found_p2_what_cannot_be_said_is_refused():
    def predicate(p: annotated_types.LowerCase[str]):
        """A function."""

    def alias(p: Annotated[int, Field(alias="q")]):
        """A function."""

    def strict(p: Annotated[int, Field(strict=True)]):
        """A function."""

    for function in (predicate, alias, strict):
        with pytest.raises(TypeError, match='parameter "p": .*there is no JSON Schema for'):
            tool(function)

    def default(p: int = Field(ge=1)):
        """A function."""

    with pytest.raises(TypeError, match="its default is a Field"):
        tool(default)
