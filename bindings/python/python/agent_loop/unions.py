"""Unions: a value is read as the member that it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .described import Classes, Misfit, Reader, Schema, Unsupported, of_object, whole, with_definitions
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._native import ToolSpec

def of_union(
    members: Sequence[Any], described: list[tuple[Schema, Reader | None]], classes: Classes
) -> tuple[Schema, Reader | None]:
    """The schema and the reader of a union of these members. Raises Unsupported for two that the same values fit."""
    schema = {"anyOf": [schema for schema, _ in described]}
    others = [(member, *one) for member, one in zip(members, described, strict=True) if member is not type(None)]
    read_as = [(member, schema, reader) for member, schema, reader in others if reader is not None and reader is not whole]
    for number, (member, one, _) in enumerate(read_as):
        for other, same, _ in read_as[:number]:
            if one == same:
                text = "have the same JSON Schema, so that it cannot be known which one a value is; give each a field with a"
                names = f"{getattr(other, '__name__', other)} and {getattr(member, '__name__', member)}"
                raise Unsupported(f'{names} {text} value of its own, as in kind: Literal["a"]')
    reads_whole = int in members and float not in members
    if not read_as:
        return schema, whole if reads_whole else None
    if len(others) == 1:
        [(_, _, reader)] = read_as
        return schema, lambda value: None if value is None else reader(value)
    fits = [(Fit(one, classes), reader) for _, one, reader in read_as]
    is_open = len(read_as) < len(members)

    def read(value: Any) -> Any:
        why: Misfit | None = None
        for fit, reader in fits:
            if fit(value):
                try:
                    return reader(value)
                except Misfit as misfit:
                    why = misfit
        if is_open:
            return whole(value) if reads_whole else value
        raise why or Misfit(f"it fits none of {', '.join(getattr(member, '__name__', str(member)) for member, _, _ in read_as)}")

    return schema, read


class Fit:
    """Whether a value fits a schema. The engine's validation is made when the first value comes."""

    def __init__(self, schema: Schema, classes: Classes) -> None:
        self._schema = schema
        self._classes = classes
        self._spec: ToolSpec | None = None

    def __call__(self, value: Any) -> bool:
        if self._spec is None:
            from . import _native

            # A class within itself is a reference to its definition.
            parameters = of_object({"value": self._schema}, ["value"]) | {"$defs": self._classes.definitions}
            self._spec = _native.ToolSpec({"name": "fit", "parameters": with_definitions(parameters)})
        try:
            self._spec.check({"value": value}, "strict")
        except InvalidArgumentError:
            return False
        return True
