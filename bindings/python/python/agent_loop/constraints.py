"""The constraints in `Annotated[int, Field(ge=1)]`, of pydantic, annotated_types and msgspec, as JSON Schema.

None of these packages is imported: their objects are read by the names of their attributes, which are the same in all three.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PLAIN = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
    "regex": "pattern",
    "description": "description",
    "documentation": "description",
    "title": "title",
    "examples": "examples",
}
LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}
PACKAGES = "pydantic", "pydantic_core", "annotated_types", "msgspec"
# What says nothing about the values, or is there in all of them.
IGNORED = {
    "annotation", "metadata", "default", "default_factory", "json_schema_extra", "repr", "init", "init_var", "kw_only",
    # Of a union: its members are told apart by what fits.
    "discriminator",
}


class Unknown(Exception):
    """A constraint without a JSON Schema; the message is the reason."""


def constraints_of(one: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """What an object in `Annotated` adds to the schema of its type. One that is of no known package adds nothing."""
    if isinstance(one, str):
        return {"description": one}
    package = type(one).__module__.partition(".")[0]
    if package not in PACKAGES and not hasattr(one, "documentation"):
        return {}
    if package == "annotated_types" and hasattr(one, "__iter__"):  # Interval, Len
        parts = list(one)
    else:
        parts = list(getattr(one, "metadata", ()))
    added: dict[str, Any] = {}
    for part in parts:
        added |= constraints_of(part, schema)
    if package == "annotated_types" and parts:
        return added
    for name, value in attributes(one).items():
        if value is None or name in IGNORED or name.startswith("_"):
            continue
        added |= translated(name, value, schema, one)
    extra = getattr(one, "json_schema_extra", None) or getattr(one, "extra_json_schema", None)
    return added | (dict(extra) if isinstance(extra, Mapping) else {})


def attributes(one: Any) -> dict[str, Any]:
    """The attributes that were set, and of `pydantic.Field` those only."""
    given = getattr(one, "_attributes_set", None)
    if isinstance(given, Mapping):
        return dict(given)
    if hasattr(one, "__struct_fields__"):
        return {name: getattr(one, name) for name in one.__struct_fields__}
    names = [name for cls in type(one).__mro__ for name in getattr(cls, "__slots__", ())]
    found = {name: getattr(one, name, None) for name in names} | getattr(one, "__dict__", {})
    known = [*PLAIN, "min_length", "max_length"]
    return found or {name: getattr(one, name, None) for name in known if hasattr(one, name)}


def translated(name: str, value: Any, schema: Mapping[str, Any], one: Any) -> dict[str, Any]:
    if name in PLAIN:
        value = getattr(value, "pattern", value)
        if not isinstance(value, (str, int, float, list, tuple)):
            raise Unknown(f"the constraint {name}={value!r} is not JSON")
        return {PLAIN[name]: list(value) if isinstance(value, tuple) else value}
    if name in ("min_length", "max_length"):
        kind = schema.get("type")
        if kind not in LENGTHS:
            raise Unknown(f"the constraint {name} is for texts, lists and dicts")
        return {name[:3] + LENGTHS[kind]: value}
    raise Unknown(f"{type(one).__name__}: there is no JSON Schema for {name}={value!r}; leave it out and check it in the tool")
