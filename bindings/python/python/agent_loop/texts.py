"""Classes whose values are texts in JSON: times, durations, UUIDs, paths, and decimal numbers."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

from .described import Misfit, Reader, Schema

DURATION = re.compile(
    r"(?P<sign>[+-]?)P(?=.)(?:(?P<weeks>\d+(?:[.,]\d+)?)W)?(?:(?P<days>\d+(?:[.,]\d+)?)D)?"
    r"(?:T(?=.)(?:(?P<hours>\d+(?:[.,]\d+)?)H)?(?:(?P<minutes>\d+(?:[.,]\d+)?)M)?(?:(?P<seconds>\d+(?:[.,]\d+)?)S)?)?"
)

NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"


def of_text_class(hint: type) -> tuple[Schema, Reader] | None:
    """The schema and the reader of a class of `datetime`, `uuid`, `decimal` or `pathlib`; None for another one."""
    if hint.__module__.partition(".")[0] not in ("datetime", "uuid", "decimal", "pathlib"):
        return None
    name = hint.__name__
    made: Any = hint
    if hint.__module__ == "datetime":
        formats: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
            "datetime": ("date-time", "2026-05-17T12:30:00Z", lambda text: made.fromisoformat(utc(text))),
            "date": ("date", "2026-05-17", lambda text: made.fromisoformat(text)),
            "time": ("time", "12:30:00", lambda text: made.fromisoformat(utc(text))),
            "timedelta": ("duration", "P1DT2H30M", lambda text: made(**duration(text))),
        }
        return of_format(*formats[name]) if name in formats else None
    if name == "UUID":
        return of_format("uuid", "6f1c2e0a-9f0e-4d56-8a3b-1f2d3c4b5a69", made)
    if name == "Decimal":
        schema = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": NUMBER}]}
        return schema, parsed("decimal number", "0.30", lambda value: made(str(value)))
    if issubclass(hint, sys.modules["pathlib"].PurePath):
        return {"type": "string", "format": "path"}, made
    return None


def of_format(name: str, example: str, parse: Callable[[Any], Any]) -> tuple[Schema, Reader]:
    return {"type": "string", "format": name}, parsed(name, example, parse)


def parsed(name: str, example: str, parse: Callable[[Any], Any]) -> Reader:
    def read(value: Any) -> Any:
        try:
            return parse(value)
        except (ValueError, TypeError, ArithmeticError, AttributeError):
            raise Misfit(f"{value!r} is not a {name}, for example {example}") from None

    return read


def utc(text: str) -> str:
    """Python reads the letter Z since 3.11."""
    return f"{text[:-1]}+00:00" if text[-1:] in ("Z", "z") else text


def duration(text: str) -> dict[str, float]:
    """The arguments of a `timedelta`. Raises ValueError for what is no duration; years and months have no fixed length."""
    found = DURATION.fullmatch(text)
    if found is None:
        raise ValueError(text)
    sign = -1 if found["sign"] == "-" else 1
    amounts = {unit: amount.replace(",", ".") for unit, amount in found.groupdict().items() if amount and unit != "sign"}
    return {unit: sign * (float(amount) if "." in amount else int(amount)) for unit, amount in amounts.items()}
