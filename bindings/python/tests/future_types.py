"""Types whose annotations are texts."""

from __future__ import annotations

from typing import TypedDict

from typing_extensions import NotRequired, Required


class Base(TypedDict):
    id: int
    note: NotRequired[str]


class Place(Base, total=False):
    city: Required[str]
    country: NotRequired[str]
    zone: str


async def find(place: Place) -> str:
    """Finds a place."""
    return place["city"]
