"""JSON Schemas from the annotations of functions, and the conversion of JSON arguments to the annotated types."""

from __future__ import annotations

import enum
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union

from .tool_context import ToolContext

Schema = dict[str, Any]
Reader = Callable[[Any], Any]
"""Converts a JSON value to the annotated type."""

SIMPLE: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    list: {"type": "array"},
    dict: {"type": "object"},
    Any: {},
    object: {},
}

KNOWN = "str, int, float, bool, None, list, dict, Optional, Union, Literal, Enum, TypedDict, dataclasses, Any, Annotated"


class Unsupported(Exception):
    """An annotation without a JSON Schema; the message is the reason."""


class Signature:
    """A tool's function: the schema of its parameters, and how it is called with JSON."""

    def __init__(self, name: str, function: Callable[..., Any], *, derive: bool) -> None:
        """With `derive` false, annotations are read only to find the context parameter."""
        self.context: str | None = None
        self.readers: dict[str, Reader] = {}
        properties: dict[str, Schema] = {}
        required = []
        hints = hints_of(name, function) if derive else context_only(function)
        for parameter in parameters_of(function):
            hint = hints.get(parameter.name, parameter.empty)
            if is_context(hint):
                self.context = parameter.name
                continue
            if not derive:
                continue
            try:
                check_kind(parameter)
                schema, reader = describe(hint, ())
            except Unsupported as why:
                raise TypeError(
                    f"tool {name!r}: parameter {parameter.name!r}: {why}. Known are {KNOWN}; "
                    f"or give the schema yourself: @tool(parameters={{…}})"
                ) from None
            if parameter.default is parameter.empty:
                required.append(parameter.name)
            elif isinstance(parameter.default, (str, int, float)):
                schema = {**schema, "default": getattr(parameter.default, "value", parameter.default)}
            properties[parameter.name] = schema
            if reader is not None:
                self.readers[parameter.name] = reader
        self.schema = of_object(properties, required)

    def bound(self, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """The keyword arguments of a call."""
        readers = self.readers
        bound = {name: readers[name](value) if name in readers else value for name, value in arguments.items()}
        if self.context is not None:
            bound[self.context] = context
        return bound


def first_paragraph(function: Callable[..., Any]) -> str:
    """The first paragraph of a function's docstring, on one line."""
    text = inspect.getdoc(function) or ""
    return " ".join(text.split("\n\n")[0].split())


def hints_of(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function, also of one in a partial or of an object with `__call__`."""
    inner: Any = function.func if isinstance(function, functools.partial) else function
    if not isinstance(inner, type) and not inspect.isroutine(inner):
        inner = type(inner).__call__
    try:
        return typing.get_type_hints(inner, include_extras=True)
    except Exception as error:
        raise TypeError(f"tool {name!r}: its annotations cannot be read: {error}") from error


def context_only(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations, unevaluated where one of them cannot be evaluated."""
    try:
        return hints_of("", function)
    except TypeError:
        return {parameter.name: parameter.annotation for parameter in parameters_of(function)}


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    if sys.version_info >= (3, 14):
        # Annotations are evaluated when read, and some may refer to names that do not exist.
        from annotationlib import Format

        return list(inspect.signature(function, annotation_format=Format.FORWARDREF).parameters.values())
    return list(inspect.signature(function).parameters.values())


def is_context(hint: Any) -> bool:
    hint = getattr(hint, "__forward_arg__", hint)
    if isinstance(hint, str):
        return hint.rpartition(".")[2] == ToolContext.__name__
    return hint is ToolContext or ToolContext in typing.get_args(hint)


def check_kind(parameter: inspect.Parameter) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise Unsupported("a tool's parameters each have a name, so it cannot have a * or ** parameter")
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise Unsupported("tools are called with keyword arguments, so it cannot be positional-only")


def of_object(properties: dict[str, Schema], required: list[str]) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema | {"additionalProperties": False}


def describe(hint: Any, outer: tuple[Any, ...]) -> tuple[Schema, Reader | None]:
    """An annotation's schema, and the reader of its values if they need one; `outer` are the classes that contain it."""
    if hint is inspect.Parameter.empty:
        raise Unsupported("it has no annotation")
    if isinstance(hint, typing.NewType):
        return describe(hint.__supertype__, outer)
    if hasattr(hint, "__value__"):  # type X = …
        return describe(hint.__value__, outer)
    try:
        simple = SIMPLE.get(hint)
    except TypeError:
        simple = None
    if simple is not None:
        return dict(simple), whole if hint is int else None
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        schema, reader = describe(arguments[0], outer)
        texts = [text for text in arguments[1:] if isinstance(text, str)]
        return ({**schema, "description": texts[0]} if texts else schema), reader
    if origin in REQUIREMENTS:
        return describe(arguments[0], outer)
    if origin is Literal:
        return of_values(list(arguments)), None
    if origin is Union or isinstance(hint, types.UnionType):
        return of_union(arguments, outer)
    if origin in (list, dict) and not arguments:
        return describe(origin, outer)
    if origin is list:
        return of_list(arguments[0], outer)
    if origin is dict:
        return of_dict(arguments, outer)
    if isinstance(hint, type):
        if hint in outer:
            raise Unsupported(f"{hint.__name__} contains itself")
        if issubclass(hint, enum.Enum):
            return of_values([member.value for member in hint]), hint
        if typing.is_typeddict(hint):
            return of_typed_dict(hint, (*outer, hint))
        # What `dataclasses.is_dataclass` looks at: its import takes longer than the schemas of most programs.
        if hasattr(hint, "__dataclass_fields__"):
            return of_dataclass(hint, (*outer, hint))
    raise Unsupported(f"there is no JSON Schema for {getattr(hint, '__name__', hint)}")


def requirements() -> set[Any]:
    """`Required` and `NotRequired`, of the language or of typing_extensions."""
    modules = [typing, sys.modules.get("typing_extensions")]
    found = [getattr(module, name, None) for module in modules for name in ("Required", "NotRequired")]
    return {one for one in found if one is not None}


REQUIREMENTS = requirements()


def whole(value: Any) -> Any:
    """JSON has one kind of number: 2.0 is an integer too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def of_values(values: list[Any]) -> Schema:
    kinds = {type(value) for value in values}
    if not kinds <= {str, int, bool, float, type(None)}:
        raise Unsupported(f"the values {values} are not all JSON")
    kind = SIMPLE[kinds.pop()] if len(kinds) == 1 else {}
    return {**kind, "enum": values}


def of_union(members: tuple[Any, ...], outer: tuple[Any, ...]) -> tuple[Schema, Reader | None]:
    described = [describe(member, outer) for member in members]
    readers = [reader for _, reader in described if reader is not None and reader is not whole]
    schema = {"anyOf": [schema for schema, _ in described]}
    if len(readers) > 1:
        raise Unsupported("a Union can have at most one Enum, dataclass or container of those, or values would be ambiguous")
    if not readers:
        return schema, whole if int in members and float not in members else None
    reader = readers[0]

    def read(value: Any) -> Any:
        if value is None:
            return None
        try:
            return reader(value)
        except (KeyError, TypeError, ValueError):
            return value  # a value of another member

    return schema, read


def of_list(item: Any, outer: tuple[Any, ...]) -> tuple[Schema, Reader | None]:
    schema, reader = describe(item, outer)
    return {"type": "array", "items": schema}, reader and (lambda values: [reader(value) for value in values])


def of_dict(arguments: tuple[Any, ...], outer: tuple[Any, ...]) -> tuple[Schema, Reader | None]:
    key, value = arguments
    if key is not str:
        raise Unsupported("the keys of a JSON object are str")
    schema, reader = describe(value, outer)
    read = reader and (lambda values: {name: reader(item) for name, item in values.items()})
    return {"type": "object", "additionalProperties": schema}, read


def of_typed_dict(hint: Any, outer: tuple[Any, ...]) -> tuple[Schema, Reader | None]:
    fields = typing.get_type_hints(hint, include_extras=True)
    required = [name for name in fields if name in hint.__required_keys__]
    schema, readers = of_fields(hint, fields, required, outer)
    if not readers:
        return schema, None
    return schema, lambda values: {name: readers[name](value) if name in readers else value for name, value in values.items()}


def of_dataclass(hint: Any, outer: tuple[Any, ...]) -> tuple[Schema, Reader | None]:
    import dataclasses

    hints = typing.get_type_hints(hint, include_extras=True)
    init_fields = [field for field in dataclasses.fields(hint) if field.init]
    missing = dataclasses.MISSING
    required = [field.name for field in init_fields if field.default is missing and field.default_factory is missing]
    schema, readers = of_fields(hint, {field.name: hints[field.name] for field in init_fields}, required, outer)

    def read(values: Any) -> Any:
        return hint(**{name: readers[name](value) if name in readers else value for name, value in values.items()})

    return schema, read


def of_fields(hint: Any, fields: dict[str, Any], required: list[str], outer: tuple[Any, ...]) -> tuple[Schema, dict[str, Reader]]:
    properties = {}
    readers = {}
    for name, field in fields.items():
        try:
            properties[name], reader = describe(field, outer)
        except Unsupported as why:
            raise Unsupported(f"{hint.__name__}.{name}: {why}") from None
        if reader is not None:
            readers[name] = reader
    return of_object(properties, required), readers
