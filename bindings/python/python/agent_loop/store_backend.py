"""Custom stores: objects that keep sessions, in a database that the application has already, for example."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from ._native import STORE_METHODS
from .arguments import must_take
from .errors import AgentError, one_line, pass_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._native import HostCall


class LeaseRequest(TypedDict):
    """Who asks for a lease."""

    id: str
    """The session's id."""
    holder: str
    """What others read who want to open the session meanwhile."""
    lease_ms: int
    """How long the lease lasts unless it is renewed, in milliseconds."""


class HeldLease(TypedDict):
    """A lease, with the session that it is for."""

    id: str
    token: int


class StoreBackend(Protocol):
    """What a custom store is made of; see `Store.custom`. Each method may be async or plain.

    A session is a list of lines, numbered 1, 2, 3 … without gaps, with a lease that says who may append. Lines are opaque: text
    without a line end.

    An exception that is an `AgentError`, or has a `kind` of one (`busy`, `not_found`, …), is raised with this kind to who uses
    the session; any other one as `AgentIOError`. Say in its text what was wrong and where.

    It may have a method `changed(id, after)`, which returns when there may be a line behind that number, or earlier. Without one,
    `read` is called every 50 ms for who follows a session. It may have an attribute `name`, a text: what the store is called in
    errors.
    """

    def acquire(self, request: LeaseRequest, /) -> Awaitable[Mapping[str, Any]] | Mapping[str, Any]:
        """Gives the right to append to a session, which it creates if there is none of this id.

        Returns `{"token"}`, a number larger than all that the session had before; also `last`, the number of the last line that
        the session is known to have had, and `torn`, how many bytes of a line that was not written whole were removed. Raises an
        error of the kind `busy` with the holder's name while another has a lease that has not ended.
        """
        raise NotImplementedError

    def renew(
        self, leases: list[HeldLease], lease_ms: int, /
    ) -> Awaitable[Sequence[str] | None] | Sequence[str] | None:
        """Prolongs leases to this many milliseconds from now, and returns the ids of those that somebody else has taken."""
        raise NotImplementedError

    def release(self, lease: HeldLease, /) -> Awaitable[None] | None:
        """Gives a lease back. One that was lost is left as it is."""
        raise NotImplementedError

    def append(self, lease: HeldLease, seq: int, lines: list[str], /) -> Awaitable[None] | None:
        """Appends lines, of which the first has the number `seq`: all or none. Raises an error of the kind `busy` with the new
        holder's name if the lease was taken by somebody else; nothing is appended then."""
        raise NotImplementedError

    def read(
        self, id: str, after: int, limit: int, /
    ) -> Awaitable[Sequence[Mapping[str, Any]] | Mapping[str, Any]] | Sequence[Mapping[str, Any]] | Mapping[str, Any]:
        """The lines behind the number `after`, in order, at most `limit`: `[{"seq", "text"}]`. Or `{"lines", "last"}`: that list,
        and the number of the last line that the session is known to have had, read before the lines; one that has fewer is
        damaged. Raises an error of the kind `not_found` if there is no such session."""
        raise NotImplementedError

    def info(self, id: str, /) -> Awaitable[Mapping[str, Any] | None] | Mapping[str, Any] | None:
        """What the store knows of a session, as a dict with the fields of `SessionInfo`; None if there is no such session."""
        raise NotImplementedError

    def set_info(self, lease: HeldLease, info: dict[str, Any], /) -> Awaitable[None] | None:
        """Sets `title` and `metadata` of a session, both: one that is None is taken away. Raises what `append` raises."""
        raise NotImplementedError

    def list(self, query: dict[str, Any], /) -> Awaitable[Mapping[str, Any]] | Mapping[str, Any]:
        """Sessions, the one that was changed last first: `{"sessions", "next"}`, of dicts with the fields of `SessionInfo`.
        `query` has what `Store.list` takes; `next` is the `cursor` of the next page, None for none."""
        raise NotImplementedError

    def delete(self, lease: HeldLease, /) -> Awaitable[None] | None:
        """Removes a session. Raises what `append` raises."""
        raise NotImplementedError


class Backend:
    """The object as the engine calls it."""

    def __init__(self, backend: StoreBackend) -> None:
        from .generators import is_async

        self._backend = backend
        self.blocking: list[str] = []
        """The methods that are called on threads."""
        for name, parameters in STORE_METHODS:
            method = getattr(backend, name, None)
            if not callable(method):
                if name == "changed" and method is None:
                    continue
                raise TypeError(f"store: {type(backend).__name__} has no method {name}({', '.join(parameters)})")
            must_take(f"store: {name}", method, *parameters)
            if not is_async(method):
                self.blocking.append(name)
        self.has_changed: bool = getattr(backend, "changed", None) is not None

    def call(self, call: HostCall) -> None:
        """Calls a plain method, on a thread that may block."""
        try:
            call.respond(call.vars.copy().run(self._method(call), *call.take_input()))
        except BaseException as error:
            fail(call, error)
            pass_on(error)

    async def call_async(self, call: HostCall) -> None:
        """Calls an async method, on the event loop."""
        try:
            call.respond(await self._method(call)(*call.take_input()))
        except BaseException as error:
            fail(call, error)
            if pass_on(error):
                raise

    def _method(self, call: HostCall) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(self._backend, call.store_method or "")
        return method


def name_of(backend: StoreBackend) -> str:
    """What the store is called in errors."""
    name = getattr(backend, "name", None)
    return name if isinstance(name, str) and name else f"the store {type(backend).__name__}"


def fail(call: HostCall, error: BaseException) -> None:
    """Fails a call: with an `AgentError` unchanged, another exception of a kind of ours with that, and any other as a failure."""
    try:
        if isinstance(error, AgentError):
            return call.fail_with(error.to_dict(), error)
        if isinstance(kind := getattr(error, "kind", None), str):
            return call.fail_with({"kind": kind, "message": str(error)}, error)
    except BaseException:
        # Its fields are of other types than they should be, or its code fails.
        pass
    call.fail(one_line(error), error)
