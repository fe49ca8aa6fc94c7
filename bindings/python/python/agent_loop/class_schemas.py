"""The JSON Schemas of classes with fields: dataclasses, TypedDicts and named tuples."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from .described import Classes, Reader, Schema, Unsupported, at, is_requirement, made, of_object
from .docstrings import docstring_of

Described = tuple[Schema, Reader | None]


def describes_class(hint: Any, classes: Classes) -> Callable[[], Described] | None:
    """What describes a class with fields; None for another class."""
    # Also one of typing_extensions.
    if issubclass(hint, dict) and hasattr(hint, "__required_keys__"):
        return lambda: of_typed_dict(hint, classes)
    if issubclass(hint, tuple) and hasattr(hint, "_field_defaults"):
        return lambda: of_named_tuple(hint, classes)
    # What `dataclasses.is_dataclass` looks at: its import takes longer than the schemas of most programs.
    if hasattr(hint, "__dataclass_fields__"):
        return lambda: of_dataclass(hint, classes)
    return None


def of_typed_dict(hint: Any, classes: Classes) -> Described:
    fields = hints_of_class(hint)
    required = [name for name, field in fields.items() if is_required(name, field, hint)]
    schema, read = of_fields(hint, fields, required, classes)
    return schema, read if read is not as_it_is else None


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


def of_named_tuple(hint: Any, classes: Classes) -> Described:
    hints = hints_of_class(hint)
    fields = {name: hints.get(name, Any) for name in hint._fields}
    required = [name for name in hint._fields if name not in hint._field_defaults]
    schema, read = of_fields(hint, fields, required, classes)
    return schema, lambda values: made(lambda fields: hint(**fields), read(values))


def of_dataclass(hint: Any, classes: Classes) -> Described:
    import dataclasses

    hints = hints_of_class(hint)
    init_fields = [field for field in dataclasses.fields(hint) if field.init]
    missing = dataclasses.MISSING
    required = [field.name for field in init_fields if field.default is missing and field.default_factory is missing]
    schema, read = of_fields(hint, {field.name: hints[field.name] for field in init_fields}, required, classes)
    return schema, lambda values: made(lambda fields: hint(**fields), read(values))


def hints_of_class(hint: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(hint, include_extras=True)
    except Exception as error:
        raise Unsupported(f"the annotations of {hint.__name__} cannot be read: {error}") from error


def as_it_is(values: Any) -> Any:
    return values


def of_fields(hint: Any, fields: dict[str, Any], required: list[str], classes: Classes) -> tuple[Schema, Reader]:
    """The schema of a class, with what its docstring says, and the reader of its fields into a dict."""
    docstring = docstring_of(hint)
    properties = {}
    readers = {}
    for name, field in fields.items():
        try:
            schema, reader = classes.describe(field)
        except Unsupported as why:
            raise Unsupported(f"{hint.__name__}.{name}: {why}") from None
        if name in docstring.parameters:
            schema = {"description": docstring.parameters[name]} | schema
        properties[name] = schema
        if reader is not None:
            readers[name] = reader
    schema = of_object(properties, required)
    if docstring.summary:
        schema["description"] = docstring.summary
    if not readers:
        return schema, as_it_is

    def read(values: Any) -> Any:
        return {name: at(name, readers[name], value) if name in readers else value for name, value in values.items()}

    return schema, read
