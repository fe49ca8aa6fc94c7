"""What a session has in Restate's state."""

from __future__ import annotations

from typing import Any

from restate import ObjectContext, ObjectSharedContext
from restate.serde import BytesSerde, JsonSerde

JSON: JsonSerde[Any] = JsonSerde()
BYTES: BytesSerde = BytesSerde()


async def stored(ctx: ObjectContext | ObjectSharedContext, name: str) -> dict[str, Any]:
    """The object of this name; an empty one if there is none."""
    value: Any = await ctx.get(name, JSON)
    return value or {}
