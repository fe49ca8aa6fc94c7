"""The JSON Schemas of annotations, and how the values of the annotated types are read from JSON."""

from __future__ import annotations

import enum
import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, Union

from .class_schemas import describes_class
from .constraints import Unknown, constraints_of
from .described import Classes, Misfit, Reader, Schema, Unsupported, at, is_requirement, made, whole
from .texts import of_text_class
from .unions import of_union

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

KNOWN = """str, int, float, bool, None, list, dict, tuple, set, Optional, Union, Literal, Enum, TypedDict, NamedTuple, \
dataclasses, pydantic models, datetime, date, time, timedelta, UUID, Decimal, Path, Any, Annotated"""


def describe(hint: Any, classes: Classes) -> tuple[Schema, Reader | None]:
    """An annotation's schema, and the reader of its values if they need one. Raises Unsupported."""
    if hint is inspect.Parameter.empty:
        raise Unsupported("it has no annotation")
    if isinstance(hint, typing.NewType):
        return describe(hint.__supertype__, classes)
    if hasattr(hint, "__value__"):  # type X = …
        return classes.of(hint, lambda: describe(hint.__value__, classes))
    try:
        simple = SIMPLE.get(hint)
    except TypeError:
        simple = None
    if simple is not None:
        return dict(simple), whole if hint is int else None
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        schema, reader = describe(arguments[0], classes)
        for one in reversed(arguments[1:]):
            try:
                schema = {**schema, **constraints_of(one, schema)}
            except Unknown as why:
                raise Unsupported(str(why)) from None
        return schema, reader
    if is_requirement(origin, "Required", "NotRequired", "ReadOnly"):
        return describe(arguments[0], classes)
    if origin is Literal:
        return of_literal(arguments)
    if origin is Union or isinstance(hint, types.UnionType):
        return of_union(arguments, [describe(member, classes) for member in arguments], classes)
    if (found := of_container(hint, origin, arguments, classes)) is not None:
        return found
    if isinstance(hint, type):
        if (text := of_text_class(hint)) is not None:
            return text
        if hasattr(hint, "model_json_schema") and hasattr(hint, "model_validate"):
            return of_model(hint)
        if issubclass(hint, enum.Enum):
            return of_values([member.value for member in hint]), of_enum(hint)
        if (describe_class := describes_class(hint, classes)) is not None:
            return classes.of(hint, describe_class)
    raise Unsupported(f"there is no JSON Schema for {getattr(hint, '__name__', hint)}")


def of_values(values: list[Any]) -> Schema:
    kinds = {type(value) for value in values}
    if not kinds <= {str, int, bool, float, type(None)}:
        raise Unsupported(f"the values {values} are not all JSON")
    kind = SIMPLE[kinds.pop()] if len(kinds) == 1 else {}
    return {**kind, "enum": values}


def of_literal(values: tuple[Any, ...]) -> tuple[Schema, Reader | None]:
    """These values; members of an enum are read by theirs."""
    members = {value.value: value for value in values if isinstance(value, enum.Enum)}
    schema = of_values([value.value if isinstance(value, enum.Enum) else value for value in values])
    return schema, (lambda value: members.get(value, value)) if members else None


def of_enum(hint: Any) -> Reader:
    def read(value: Any) -> Any:
        try:
            return hint(value)
        except ValueError as error:
            raise Misfit(str(error)) from None

    return read


LISTS = ("Sequence", "MutableSequence", "Iterable", "Collection")
SETS = ("Set", "MutableSet")
MAPPINGS = ("Mapping", "MutableMapping")


def of_container(hint: Any, origin: Any, arguments: tuple[Any, ...], classes: Classes) -> tuple[Schema, Reader | None] | None:
    """A list, tuple, set or dict, also by the name of what it can do."""
    kind = origin or hint
    name = kind.__name__ if getattr(kind, "__module__", None) == "collections.abc" else None
    item = arguments[0] if arguments else Any
    if kind is list or name in LISTS:
        return of_list(item, classes, None)
    if kind in (set, frozenset) or name in SETS:
        schema, reader = of_list(item, classes, frozenset if kind is frozenset else set)
        return schema | {"uniqueItems": True}, reader
    if kind is tuple:
        if not arguments or arguments[1:] == (...,):
            return of_list(item, classes, tuple)
        return of_tuple(arguments, classes)
    if kind is dict or name in MAPPINGS:
        return of_dict(arguments, classes)
    return None


def of_list(item: Any, classes: Classes, kind: Callable[[Any], Any] | None) -> tuple[Schema, Reader | None]:
    schema, reader = describe(item, classes)
    array = {"type": "array", "items": schema} if schema else {"type": "array"}
    if reader is None:
        return array, kind and (lambda values: in_kind(kind, values))

    def read(values: Any) -> Any:
        items = [at(number, reader, value) for number, value in enumerate(values)]
        return items if kind is None else in_kind(kind, items)

    return array, read


def in_kind(kind: Callable[[Any], Any], values: Any) -> Any:
    try:
        return kind(values)
    except TypeError as error:  # of a set: what is not hashable
        raise Misfit(str(error)) from None


def of_tuple(items: tuple[Any, ...], classes: Classes) -> tuple[Schema, Reader | None]:
    if items == ((),):  # tuple[()] of Python 3.10
        items = ()
    described = [describe(item, classes) for item in items]
    count = len(items)
    schema = {"type": "array", "prefixItems": [schema for schema, _ in described], "minItems": count, "maxItems": count}
    readers = [reader for _, reader in described]

    def read(values: Any) -> Any:
        pairs = enumerate(zip(values, readers, strict=True))
        return tuple(value if reader is None else at(number, reader, value) for number, (value, reader) in pairs)

    return schema, read


def of_dict(arguments: tuple[Any, ...], classes: Classes) -> tuple[Schema, Reader | None]:
    key, value = arguments or (str, Any)
    if key is not str:
        raise Unsupported("the keys of a JSON object are str")
    schema, reader = describe(value, classes)
    read = reader and (lambda values: {name: at(name, reader, item) for name, item in values.items()})
    return {"type": "object", "additionalProperties": schema} if schema else {"type": "object"}, read


def of_model(hint: Any) -> tuple[Schema, Reader]:
    """A pydantic model: its own schema, and objects of it."""
    return hint.model_json_schema(), functools.partial(made, hint.model_validate)
