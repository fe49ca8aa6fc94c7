"""Custom providers: generators that yield an answer in chunks."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .errors import AgentError, InvalidArgumentError, ProviderError, one_line, pass_on
from .hooks import takes_context

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._native import HostCall


class ModelContext:
    """The context of a model call. A custom provider that takes a second argument receives it."""

    __slots__ = ("_call",)

    def __init__(self, call: HostCall) -> None:
        self._call = call

    @property
    def is_cancelled(self) -> bool:
        """Whether the answer is no longer needed. May be read from any thread.

        An async generator is then closed immediately, a plain one at its next chunk.
        """
        return self._call.is_cancelled

    def __repr__(self) -> str:
        return f"<ModelContext{': cancelled' if self.is_cancelled else ''}>"


def provider_callback(function: Callable[..., Any]) -> tuple[Callable[[HostCall], Any], bool]:
    """The function that answers model calls with a provider, and whether it is called on a thread of its own."""
    import inspect

    with_context = takes_context("provider", function, 1)

    def begin(call: HostCall) -> Any:
        request = call.request()
        return function(request, ModelContext(call)) if with_context else function(request)

    async def answer(call: HostCall) -> None:
        try:
            await push_all(call, begin(call))
        except BaseException as error:
            fail(call, error)
            if pass_on(error):
                raise
        else:
            call.respond()

    def answer_in_thread(call: HostCall) -> None:
        try:
            call.vars.copy().run(push_all_sync, call, begin)
        except BaseException as error:
            fail(call, error)
            pass_on(error)
        else:
            call.respond()

    plain = inspect.isgeneratorfunction(function) or inspect.isgeneratorfunction(getattr(function, "__call__", None))
    return (answer_in_thread if plain else answer), plain


def provider_callbacks(provider: Callable[..., Any] | None, named: Any) -> list[tuple[str | None, tuple[Any, bool]]]:
    """The callbacks of the options `provider` and `providers`, by name."""
    if not isinstance(named, Mapping):
        raise TypeError(f'option "providers": expected a dict of functions by name, got {type(named).__name__}')
    given = ([] if provider is None else [(None, provider)]) + list(named.items())
    for name, _ in given:
        if name is not None and not isinstance(name, str):
            raise TypeError(f'option "providers": expected names that are text, got {type(name).__name__}')
    return [(name, provider_callback(function)) for name, function in given]


async def push_all(call: HostCall, chunks: Any) -> None:
    """Passes on a provider's chunks, on the event loop of the run."""
    import inspect

    from .bridge import wait

    if inspect.isawaitable(chunks):
        chunks = await chunks
    if isinstance(chunks, AsyncIterable):
        await push_async(call, chunks)
    else:
        for chunk in iterable(chunks):
            push(call, chunk)
            if not await wait(call.ready()):
                break


async def push_async(call: HostCall, chunks: AsyncIterable[Any]) -> None:
    from .bridge import wait

    iterator = aiter(chunks)
    close = getattr(iterator, "aclose", None)
    try:
        async for chunk in iterator:
            push(call, chunk)
            if not await wait(call.ready()):
                break
    except GeneratorExit:
        # The loop is closed; nothing can be awaited any more.
        close = None
        raise
    finally:
        if close is not None:
            await close()


def push_all_sync(call: HostCall, begin: Callable[[HostCall], Any]) -> None:
    """Passes on the chunks of a plain generator, on a thread that may block."""
    chunks = begin(call)
    try:
        for chunk in chunks:
            push(call, chunk)
            if not call.ready_sync():
                break
    finally:
        chunks.close()


def iterable(chunks: Any) -> Iterable[Any]:
    if isinstance(chunks, str | dict) or not isinstance(chunks, Iterable):
        kind = type(chunks).__name__
        raise TypeError(f"the provider returned a value of type {kind}; make it a generator that yields the answer in chunks")
    return chunks


def push(call: HostCall, chunk: Any) -> None:
    try:
        call.push(chunk)
    except InvalidArgumentError as error:
        # A wrong chunk is the provider's failure.
        raise ProviderError(error.message) from None


def fail(call: HostCall, error: BaseException) -> None:
    """Fails a model call: with an `AgentError` unchanged, any other exception as an error of kind `provider`."""
    try:
        if isinstance(error, AgentError):
            return call.fail_with(error.to_dict(), error)
    except BaseException:
        # Its fields are of other types than they should be.
        pass
    call.fail_with({"kind": "provider", "message": one_line(error)}, error)
