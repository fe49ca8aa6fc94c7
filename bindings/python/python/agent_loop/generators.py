"""What kind of function a tool is, and the result of one that is a generator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import CallbackError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator

    from typing_extensions import TypeGuard

    from .tool_context import ToolContext


async def last_of(values: AsyncGenerator[Any, None], context: ToolContext) -> Any:
    """Reports all values of an async generator but the last one, and returns that."""
    waiting: list[Any] = []
    try:
        async for value in values:
            for one in waiting:
                context.update(one)
            waiting = [value]
    finally:
        await values.aclose()
    return waiting[0] if waiting else None


def returned_by(values: Generator[Any, None, Any], context: ToolContext) -> Any:
    """Reports the values of a generator, and returns what it returns, or if that is nothing its last value."""
    waiting: list[Any] = []
    try:
        while not context.is_cancelled:
            try:
                value = next(values)
            except StopIteration as end:
                if end.value is None:
                    return waiting[0] if waiting else None
                for one in waiting:
                    context.update(one)
                return end.value
            for one in waiting:
                context.update(one)
            waiting = [value]
    finally:
        values.close()
    raise CallbackError("aborted")


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling a function returns a coroutine or an async generator."""
    import inspect

    both = inspect.iscoroutinefunction, inspect.isasyncgenfunction
    return any(is_of(one) for is_of in both for one in (function, getattr(function, "__call__", None)))


def is_async_generator(value: object) -> bool:
    import inspect

    return inspect.isasyncgen(value)


def is_generator(value: object) -> bool:
    import inspect

    return inspect.isgenerator(value)


def is_awaitable(value: object) -> TypeGuard[Awaitable[Any]]:
    import inspect

    return inspect.isawaitable(value)


def is_coroutine(value: object) -> bool:
    """Whether a value is a coroutine that was not awaited."""
    import inspect

    return inspect.iscoroutine(value)
