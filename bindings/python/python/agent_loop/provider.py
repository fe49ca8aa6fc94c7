"""A provider of one's own: a generator that answers requests piece by piece."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable
from typing import TYPE_CHECKING, Any

from .errors import AgentError, InvalidArgumentError, ProviderError, one_line
from .hooks import takes_one_more

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._native import ModelCall


class ModelContext:
    """What a provider may use beside the request. One that takes a second argument receives it."""

    __slots__ = ("_call",)

    def __init__(self, call: ModelCall) -> None:
        self._call = call

    @property
    def is_cancelled(self) -> bool:
        """Whether the answer is no longer wanted. An async generator is then closed; a plain one at its next piece."""
        return self._call.is_cancelled

    def __repr__(self) -> str:
        return f"<ModelContext{': cancelled' if self.is_cancelled else ''}>"


def provided(function: Callable[..., Any]) -> tuple[Callable[[ModelCall], Any], bool]:
    """The function that answers a model call with the provider, and whether it gets a thread of its own."""
    import inspect

    with_context = takes_one_more("provider", function, 1)

    def begin(call: ModelCall) -> Any:
        request = call.request()
        return function(request, ModelContext(call)) if with_context else function(request)

    async def answer(call: ModelCall) -> None:
        try:
            await push_all(call, begin(call))
        except BaseException as error:
            call.fail(fields(error))
            if not isinstance(error, Exception):
                raise
        else:
            call.finish()

    def answer_in_thread(call: ModelCall) -> None:
        try:
            call.vars.copy().run(push_all_sync, call, begin)
        except BaseException as error:
            call.fail(fields(error))
        else:
            call.finish()

    plain = inspect.isgeneratorfunction(function) or inspect.isgeneratorfunction(getattr(function, "__call__", None))
    return (answer_in_thread if plain else answer), plain


async def push_all(call: ModelCall, pieces: Any) -> None:
    """Passes on what a provider yields, on the event loop of the run."""
    import inspect

    from .bridge import wait

    if inspect.isawaitable(pieces):
        pieces = await pieces
    if isinstance(pieces, AsyncIterable):
        await push_async(call, pieces)
    else:
        for piece in iterable(pieces):
            push(call, piece)
            if not await wait(call.ready()):
                break


async def push_async(call: ModelCall, pieces: AsyncIterable[Any]) -> None:
    from .bridge import wait

    iterator = aiter(pieces)
    close = getattr(iterator, "aclose", None)
    try:
        async for piece in iterator:
            push(call, piece)
            if not await wait(call.ready()):
                break
    except GeneratorExit:
        # The loop is gone, and nothing can be awaited any more.
        close = None
        raise
    finally:
        if close is not None:
            await close()


def push_all_sync(call: ModelCall, begin: Callable[[ModelCall], Any]) -> None:
    """Passes on what a plain generator yields, on a thread that may block."""
    pieces = begin(call)
    try:
        for piece in pieces:
            push(call, piece)
            if not call.ready_sync():
                break
    finally:
        pieces.close()


def iterable(pieces: Any) -> Iterable[Any]:
    if isinstance(pieces, str | dict) or not isinstance(pieces, Iterable):
        kind = type(pieces).__name__
        raise TypeError(f"the provider gave a value of type {kind}; make it a generator that yields the answer's pieces")
    return pieces


def push(call: ModelCall, piece: Any) -> None:
    try:
        call.push(piece)
    except InvalidArgumentError as error:
        # The caller's mistake is here the provider's.
        raise ProviderError(error.message) from None


def fields(error: BaseException) -> dict[str, Any]:
    """What becomes of an exception: an error of ours as it is, any other of kind `provider`."""
    return error.to_dict() if isinstance(error, AgentError) else {"kind": "provider", "message": one_line(error)}
