"""What a docstring says of a function and its parameters, in the styles of Google, NumPy and Sphinx."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

PARAMETERS = frozenset({
    "args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters", "attributes",
})
"""The sections that describe parameters, or the fields of a class."""

SECTIONS = PARAMETERS | {
    "returns", "return", "yields", "yield", "receives", "raises", "raise", "except", "exceptions", "warns", "methods", "warnings",
    "warning", "example", "examples", "note", "notes", "see also", "references", "todo", "todos", "usage", "deprecated",
}

GOOGLE = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?P<type>\([^)]*(?:\([^)]*\)[^)]*)*\))?\s*:(?:\s+(?P<text>.*))?$")
"""`city (str, optional): The city.`"""

NUMPY = re.compile(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
"""`lat, lon : float`"""

SPHINX = re.compile(r"[:@](?P<field>\w+)(?:\s+(?P<rest>[^:]*))?:(?:\s+(?P<text>.*))?$")
"""`:param str city: The city.`"""

SPHINX_PARAMETERS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword", "kwarg", "ivar", "var", "cvar"})
SPHINX_FIELDS = SPHINX_PARAMETERS | {
    "type", "vartype", "return", "returns", "rtype", "raise", "raises", "except", "exception", "yield", "yields", "ytype", "meta",
}


class Docstring:
    """`summary` is its first paragraph, on one line; `parameters` has the description of each parameter that has one."""

    def __init__(self, text: str | None) -> None:
        lines = inspect.cleandoc(text or "").expandtabs(4).split("\n")
        begin = next((number for number in range(len(lines)) if begins_section(lines, number)), len(lines))
        self.summary: str = " ".join("\n".join(lines[:begin]).split("\n\n")[0].split())
        self.parameters: dict[str, str] = {}
        for name, description in described(lines[begin:]):
            if description:
                self.parameters.setdefault(name, description)


def docstring_of(documented: Any) -> Docstring:
    """The docstring of a function, or of a class where it is the class's own."""
    if not isinstance(documented, type):
        return Docstring(inspect.getdoc(documented))
    text = vars(documented).get("__doc__")
    # What a dataclass or a named tuple without a docstring has is its signature.
    made = isinstance(text, str) and text.startswith(f"{documented.__name__}(")
    return Docstring(None if made or not isinstance(text, str) else text)


def is_title(line: str) -> bool:
    return line[:1] not in ("", " ") and line.endswith(":") and line[:-1].strip().lower() in SECTIONS


def is_underlined(lines: list[str], number: int) -> bool:
    below = lines[number + 1].rstrip() if number + 1 < len(lines) else ""
    return lines[number].strip().lower() in SECTIONS and len(below) >= 3 and not below.strip("-")


def begins_section(lines: list[str], number: int) -> bool:
    line = lines[number].rstrip()
    field = SPHINX.match(line)
    return is_title(line) or is_underlined(lines, number) or (field is not None and field["field"] in SPHINX_FIELDS)


def described(lines: list[str]) -> Iterator[tuple[str, str]]:
    """The names of parameters and what the sections say of them."""
    number = 0
    while number < len(lines):
        line, end = lines[number].rstrip(), number + 1
        while end < len(lines) and not begins_section(lines, end):
            end += 1
        inside = lines[number + 1 : end]
        if is_underlined(lines, number):
            if line.strip().lower() in PARAMETERS:
                yield from of_numpy(inside[1:])
        elif is_title(line):
            if line[:-1].strip().lower() in PARAMETERS:
                yield from of_google(inside)
        elif (field := SPHINX.match(line)) and field["field"] in SPHINX_PARAMETERS and field["rest"]:
            # The name is the last word: a type may stand before it. What is not indented belongs to nothing.
            rest = [one for one in inside if not one or one.startswith(" ")]
            yield field["rest"].split()[-1].lstrip("*\\"), joined([field["text"] or "", *rest])
        number = end


def joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def entries(lines: list[str], indent: int) -> Iterator[tuple[str, list[str]]]:
    """The lines with this indent, and those below each that are indented further. What is less indented ends the section."""
    head: str | None = None
    below: list[str] = []
    for line in lines:
        if not line.strip():
            continue
        if indent_of(line) < indent:
            break
        if indent_of(line) == indent:
            if head is not None:
                yield head, below
            head, below = line.strip(), []
        else:
            below.append(line)
    if head is not None:
        yield head, below


def of_google(lines: list[str]) -> Iterator[tuple[str, str]]:
    first = next((line for line in lines if line.strip()), "")
    if not indent_of(first):
        return
    for head, below in entries(lines, indent_of(first)):
        if entry := GOOGLE.match(head):
            yield entry["name"], joined([entry["text"] or "", *below])


def of_numpy(lines: list[str]) -> Iterator[tuple[str, str]]:
    for head, below in entries(lines, 0):
        if entry := NUMPY.match(head):
            for name in entry["names"].split(","):
                yield name.strip().lstrip("*"), joined(below)
