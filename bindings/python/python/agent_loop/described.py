"""What describes an annotation: its JSON Schema, and how its values are read from JSON."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]
Reader = Callable[[Any], Any]
"""Converts a JSON value to the annotated type. Raises Misfit."""


class Unsupported(Exception):
    """An annotation without a JSON Schema; the message is the reason."""


class Misfit(ValueError):
    """A value that fits the schema and not the annotated type: what is wrong, each with its place, a JSON pointer."""

    def __init__(self, why: str, *others: tuple[str, str], place: str = "") -> None:
        super().__init__(why)
        self.found: list[tuple[str, str]] = [(place, why), *others]

    def text(self, place: str = "") -> str:
        """What is wrong, a line each, of a value at this place."""
        return "\n".join(f"{place}{inner}: {why}" if place or inner else why for inner, why in self.found)


class Classes:
    """The classes of an annotation: those that contain the one that is being described, and those that contain themselves, whose
    schemas are definitions. `describe` gives the schema and the reader of what is in them."""

    def __init__(self, describe: Callable[[Any, Classes], tuple[Schema, Reader | None]]) -> None:
        self._describe = describe
        self.outer: list[Any] = []
        self.definitions: dict[str, Schema] = {}
        self._recursive: set[Any] = set()
        self._readers: dict[Any, Reader | None] = {}

    def describe(self, hint: Any) -> tuple[Schema, Reader | None]:
        return self._describe(hint, self)

    def of(self, hint: Any, describe_class: Callable[[], tuple[Schema, Reader | None]]) -> tuple[Schema, Reader | None]:
        """The schema and the reader of a class."""
        name = hint.__name__
        reference = {"$ref": f"#/$defs/{name}"}
        if hint in self.outer:
            self._recursive.add(hint)

            def read(value: Any) -> Any:
                # Known by the time that a value is read.
                reader = self._readers[hint]
                return value if reader is None else reader(value)

            return reference, read
        self.outer.append(hint)
        schema, reader = describe_class()
        self.outer.pop()
        self._readers[hint] = reader
        if hint not in self._recursive:
            return schema, reader
        self.definitions[name] = schema
        return {**reference, "$defs": {name: schema}}, reader


def of_object(properties: dict[str, Schema], required: list[str]) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema | {"additionalProperties": False}


def at(place: object, reader: Reader, value: Any) -> Any:
    """Reads what is inside of a value."""
    try:
        return reader(value)
    except Misfit as misfit:
        (first, why), *others = [(f"/{place}{inner}", why) for inner, why in misfit.found]
        raise Misfit(why, *others, place=first) from misfit.__cause__


def made(make: Callable[[Any], Any], value: Any) -> Any:
    """What a class makes of a value. Where it raises ValueError, as a validator does, the value does not fit."""
    try:
        return make(value)
    except Misfit:
        raise
    except ValueError as error:
        # A ValidationError of pydantic has several.
        listed: list[dict[str, Any]] = [{"loc": (), "msg": str(error)}]
        if hasattr(error, "errors"):
            listed = typing.cast("Any", error).errors()
        (first, why), *others = [
            (
                "".join(f"/{part}" for part in one["loc"]),
                one["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, "),
            )
            for one in listed
        ]
        raise Misfit(why, *others, place=first) from error


def whole(value: Any) -> Any:
    """JSON has one kind of number: 2.0 is an integer too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_requirement(origin: Any, *names: str) -> bool:
    """Whether it is one of these words about a field, of the language or of typing_extensions."""
    # Looked up when needed: typing_extensions may be imported after this module.
    modules = typing, sys.modules.get("typing_extensions")
    return origin is not None and any(origin is getattr(module, name, None) for module in modules for name in names)


def with_definitions(schema: Schema) -> Schema:
    """Moves the definitions of classes to the whole schema, where their references look for them."""
    definitions: Schema = {}

    def collect(part: Any) -> Any:
        if isinstance(part, list):
            return [collect(item) for item in part]
        if not isinstance(part, dict):
            return part
        for name, definition in part.get("$defs", {}).items():
            collected = collect(definition)
            if definitions.setdefault(name, collected) != collected:
                raise TypeError(f"two different classes {name} in the parameters of a tool; give one of them another name")
        return {name: collect(item) for name, item in part.items() if name != "$defs"}

    collected: Schema = collect(schema)
    return collected | {"$defs": definitions} if definitions else collected
