"""JSON Schemas from the annotations of functions, and the conversion of JSON arguments to the annotated types."""

from __future__ import annotations

import enum
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Union

from .constraints import Unknown, constraints_of
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

KNOWN = """str, int, float, bool, None, list, dict, Optional, Union, Literal, Enum, TypedDict, dataclasses, pydantic models, \
Any, Annotated"""


CONTEXT_NAMES = ("context", "ctx", "tool_context")
"""What a parameter without an annotation is called that is meant for the context."""


class Unsupported(Exception):
    """An annotation without a JSON Schema; the message is the reason."""


class Signature:
    """A tool's function: the schema of its parameters, and how it is called with JSON."""

    def __init__(
        self, name: str, function: Callable[..., Any], *, derive: bool, skip: int = 0, described: Iterable[str] = ()
    ) -> None:
        """With `derive` false, annotations are read only to find the context parameter, as the schema of those that are
        `described` was given. `skip` are the parameters that a method gets from its object."""
        self.context: str | None = None
        self.context_class: type[ToolContext] = ToolContext
        self.readers: dict[str, Reader] = {}
        properties: dict[str, Schema] = {}
        required = []
        hints = hints_of(name, function) if derive else context_only(function)
        bound = bound_names(function)
        for parameter in parameters_of(function)[skip:]:
            hint = hints.get(parameter.name, parameter.empty)
            if (asked := context_class(hint)) is not None:
                self.context, self.context_class = parameter.name, asked
                continue
            is_context_name = hint is parameter.empty and parameter.name in CONTEXT_NAMES and parameter.name not in described
            if is_context_name and (derive or parameter.default is parameter.empty):
                raise TypeError(
                    f'tool "{name}": parameter "{parameter.name}": it has no annotation; for the context of the call write '
                    f"{parameter.name}: ToolContext"
                )
            if not derive or parameter.name in bound:
                continue
            try:
                check_kind(parameter)
                schema, reader = describe(hint, ())
            except Unsupported as why:
                raise TypeError(
                    f'tool "{name}": parameter "{parameter.name}": {why}. Known are {KNOWN}; '
                    f"or give the schema yourself: @tool(parameters={{…}})"
                ) from None
            if hasattr(parameter.default, "default_factory") and hasattr(parameter.default, "metadata"):
                raise TypeError(
                    f'tool "{name}": parameter "{parameter.name}": its default is a Field; '
                    f"write {parameter.name}: Annotated[…, Field(…)], with a plain default"
                )
            if parameter.default is parameter.empty:
                required.append(parameter.name)
            elif isinstance(parameter.default, (str, int, float)):
                schema = {**schema, "default": getattr(parameter.default, "value", parameter.default)}
            properties[parameter.name] = schema
            if reader is not None:
                self.readers[parameter.name] = reader
        self.schema: Schema = with_definitions(of_object(properties, required))

    def bound(self, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """The keyword arguments of a call."""
        readers = self.readers
        bound = {name: readers[name](value) if name in readers else value for name, value in arguments.items()}
        if self.context is not None:
            bound[self.context] = context
        return bound


def first_paragraph(function: Callable[..., Any]) -> str:
    """The first paragraph of a function's docstring, on one line."""
    text = inspect.getdoc(unwrapped(function)) or ""
    return " ".join(text.split("\n\n")[0].split())


def unwrapped(function: Any) -> Any:
    """The function in a partial."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def bound_names(function: Any) -> set[str]:
    """The parameters that a partial gives by name: the model does not."""
    names: set[str] = set()
    while isinstance(function, functools.partial):
        names |= function.keywords.keys()
        function = function.func
    return names


def hints_of(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function, also of one in a partial or of an object with `__call__`."""
    inner = unwrapped(function)
    if not isinstance(inner, type) and not inspect.isroutine(inner):
        inner = type(inner).__call__
    try:
        return typing.get_type_hints(inner, include_extras=True)
    except Exception as error:
        hint = "the names in them must be those of its module; or give the schema yourself: @tool(parameters={…})"
        raise TypeError(f'tool "{name}": its annotations cannot be read: {error}; {hint}') from error


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


def context_class(hint: Any) -> type[ToolContext] | None:
    """The class of the context that an annotation asks for."""
    hint = getattr(hint, "__forward_arg__", hint)
    if isinstance(hint, str):
        known = [ToolContext]
        for one in known:
            known.extend(one.__subclasses__())
        return next((one for one in known if one.__name__ == hint.rpartition(".")[2]), None)
    hints = (hint, *typing.get_args(hint))
    return next((one for one in hints if inspect.isclass(one) and issubclass(one, ToolContext)), None)


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
        for one in reversed(arguments[1:]):
            try:
                schema = {**schema, **constraints_of(one, schema)}
            except Unknown as why:
                raise Unsupported(str(why)) from None
        return schema, reader
    if is_requirement(origin, "Required", "NotRequired", "ReadOnly"):
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
        if hasattr(hint, "model_json_schema") and hasattr(hint, "model_validate"):
            return of_model(hint)
        if issubclass(hint, enum.Enum):
            return of_values([member.value for member in hint]), hint
        # Also one of typing_extensions.
        if issubclass(hint, dict) and hasattr(hint, "__required_keys__"):
            return of_typed_dict(hint, (*outer, hint))
        # What `dataclasses.is_dataclass` looks at: its import takes longer than the schemas of most programs.
        if hasattr(hint, "__dataclass_fields__"):
            return of_dataclass(hint, (*outer, hint))
    raise Unsupported(f"there is no JSON Schema for {getattr(hint, '__name__', hint)}")


def is_requirement(origin: Any, *names: str) -> bool:
    """Whether it is one of these words about a field, of the language or of typing_extensions."""
    # Looked up when needed: typing_extensions may be imported after this module.
    modules = typing, sys.modules.get("typing_extensions")
    return origin is not None and any(origin is getattr(module, name, None) for module in modules for name in names)


def is_required(name: str, hint: Any, owner: Any) -> bool:
    """Whether a `TypedDict` needs a field. What the class says of itself is wrong where its annotations were texts, and on Python
    3.10 with `NotRequired` of typing_extensions."""
    while (origin := typing.get_origin(hint)) is not None:
        if is_requirement(origin, "Required", "NotRequired"):
            return is_requirement(origin, "Required")
        if origin is not typing.Annotated and not is_requirement(origin, "ReadOnly"):
            break
        hint = typing.get_args(hint)[0]
    return name in owner.__required_keys__


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
    fields = hints_of_class(hint)
    required = [name for name, field in fields.items() if is_required(name, field, hint)]
    schema, readers = of_fields(hint, fields, required, outer)
    if not readers:
        return schema, None
    return schema, lambda values: {name: readers[name](value) if name in readers else value for name, value in values.items()}


def hints_of_class(hint: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(hint, include_extras=True)
    except Exception as error:
        raise Unsupported(f"the annotations of {hint.__name__} cannot be read: {error}") from error


def of_model(hint: Any) -> tuple[Schema, Reader]:
    """A pydantic model: its own schema, and objects of it. What it refuses is the call's error."""
    return hint.model_json_schema(), hint.model_validate


def with_definitions(schema: Schema) -> Schema:
    """Moves the definitions of models to the whole schema, where their references look for them."""
    definitions: Schema = {}

    def collect(part: Any) -> Any:
        if isinstance(part, list):
            return [collect(item) for item in part]
        if not isinstance(part, dict):
            return part
        for name, definition in part.get("$defs", {}).items():
            if definitions.setdefault(name, definition) != definition:
                raise TypeError(f"two different classes {name} in the parameters of a tool; give one of them another name")
        return {name: collect(item) for name, item in part.items() if name != "$defs"}

    collected: Schema = collect(schema)
    return collected | {"$defs": definitions} if definitions else collected


def of_dataclass(hint: Any, outer: tuple[Any, ...]) -> tuple[Schema, Reader | None]:
    import dataclasses

    hints = hints_of_class(hint)
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
