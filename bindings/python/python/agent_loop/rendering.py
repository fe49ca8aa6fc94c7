"""The JSON of a tool's result: what values of other types than JSON's own are in it."""

from __future__ import annotations

import enum
import sys
from typing import Any


def rendered(value: Any) -> Any:
    """A value in types that are JSON, or are rendered in their turn: as the annotation of its type is read. NotImplemented for
    one that has no such form. The engine calls it."""
    if isinstance(value, enum.Enum):
        return value.value
    kind = type(value)
    if isinstance(value, type):
        return NotImplemented
    if hasattr(kind, "model_dump") and hasattr(kind, "model_validate"):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, tuple):  # a named one: the others are lists
        return {name: in_order(item) for name, item in value._asdict().items()}  # type: ignore[attr-defined]
    if hasattr(kind, "__dataclass_fields__"):
        import dataclasses

        return {field.name: in_order(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return as_text(value)


def in_order(value: Any) -> Any:
    """A set as a list: the same set gives the same text, where its values have an order. Not one that is the result itself, or in
    a plain dict: that is more often a mistake, `{"city", "Oslo"}`."""
    if not isinstance(value, (set, frozenset)):
        return value
    try:
        return sorted(value)
    except TypeError:
        return list(value)


def is_of(value: Any, module: str, *names: str) -> bool:
    """Whether it is of one of these classes. Their module is not imported: without it, there is no such value."""
    classes = [getattr(sys.modules.get(module), name, None) for name in names]
    return any(isinstance(one, type) and isinstance(value, one) for one in classes)


def as_text(value: Any) -> Any:
    if is_of(value, "datetime", "date", "time"):
        return value.isoformat()
    if is_of(value, "datetime", "timedelta"):
        return duration(value)
    if is_of(value, "uuid", "UUID") or is_of(value, "decimal", "Decimal") or is_of(value, "pathlib", "PurePath"):
        return str(value)
    return NotImplemented


def duration(value: Any) -> str:
    """A `timedelta` as ISO 8601 writes it, for example `P1DT2H30M`."""
    sign, value = ("-", -value) if value.days < 0 else ("", value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{value.microseconds:06d}".rstrip("0") if value.microseconds else ""
    parts = [(hours, "H", str(hours)), (minutes, "M", str(minutes)), (seconds or fraction, "S", f"{seconds}{fraction}")]
    time = "".join(text + unit for amount, unit, text in parts if amount)
    days = f"{value.days}D" if value.days else ""
    return f"{sign}P{days}T{time}" if time else f"{sign}P{days or 'T0S'}"
