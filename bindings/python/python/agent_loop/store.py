"""Stores: where sessions are kept."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native
from .session import Session, SessionInfo
from .store_backend import Backend, name_of

if TYPE_CHECKING:
    from typing import Literal

    from .options import Network
    from .store_backend import StoreBackend


class SessionPage(NamedTuple):
    """A page of `Store.list`."""

    sessions: tuple[SessionInfo, ...]
    """The one that was changed last comes first."""
    next: str | None
    """The `cursor` of the next page; None if there is none."""


class Store:
    """Where sessions are kept: conversations that outlive their process.

    ```python
    store = Store.open("agents.db")
    async with store.session("user-7").open() as session:
        await session.append([{"kind": "message", "message": UserMessage("Rain in Oslo?")}])
    for info in (await store.list(limit=10)).sessions:
        print(info.id, info.title)
    ```

    Made by `open`, or by `custom` for a database of your own. Every method may be called from any thread. Those named `…_sync`
    are for code without an event loop. The store is closed when nothing refers to it or to its sessions any more. In a child of
    a fork each call raises `InvalidStateError`: open the store again there.

    What a session holds is described in docs/journal.md. Runtime failures are `BusyError` for a session that is open elsewhere,
    `DamagedError`, `NewerVersionError`, `NotFoundError`, and `AgentIOError` for what a disk or a server refuses.
    """

    __slots__ = ("__weakref__", "_native")

    def __init__(self, native: _native.Store) -> None:
        if not isinstance(native, _native.Store):
            raise TypeError("a store is made with Store.open(address), or with Store.custom(backend)")
        self._native = native

    @classmethod
    def open(
        cls,
        address: str | os.PathLike[str],
        *,
        sync: Literal["full", "normal", "off"] | None = None,
        lease_ms: int | None = None,
        holder: str | None = None,
        network: Network | Mapping[str, Any] | None = None,
    ) -> Store:
        """Opens the store at an address:

        - `agents.db` or `sqlite:PATH`: an SQLite file, which is made if there is none
        - `jsonl:FOLDER`: a folder, which is made if there is none, with a readable file for each session
        - `postgres://USER:PASSWORD@HOST:PORT/DATABASE`: a Postgres database, in which tables are made
        - `memory:`: the memory of this process, for tests

        Options:

        - `sync`: what a record survives once it is written. "full": the end of the process and a loss of power. "normal", the
          default: the end of the process; after a loss of power the last records may be missing. "off": the same, and after a
          loss of power the store may be damaged.
        - `lease_ms`: how long a session stays with who has opened it and does not answer any more, in milliseconds; 30,000 unless
          given, at least 100
        - `holder`: what others read who want to open a session that is open here; the process and its machine unless given
        - `network`: certificates for a Postgres server, as the option of `Agent`

        Raises `InvalidArgumentError` for an unknown address or a wrong option, `AgentIOError` for what the system refuses,
        `DamagedError` for a file that is no store, `NewerVersionError` for a store of a newer version.
        """
        options = {"sync": sync, "lease_ms": lease_ms, "holder": holder, "network": network}
        return cls(_native.Store.open(os.fspath(address), options))

    @classmethod
    def custom(cls, backend: StoreBackend, *, lease_ms: int | None = None, holder: str | None = None) -> Store:
        """A store that keeps sessions where an object does: in a database that you have already, for example.

        The object has the methods of `StoreBackend`, each async or plain. An async one is called on the event loop that has last
        used the store, a plain one on a thread of its own, several of them concurrently.

        The options are those of `open`. Raises TypeError for an object that lacks a method.
        """
        from contextvars import copy_context

        from .scope import INSIDE

        called = Backend(backend)
        context = copy_context()
        # Whatever calls the store later is not inside the run that has made it.
        context.run(INSIDE.set, ())
        options = {"lease_ms": lease_ms, "holder": holder}
        name = name_of(backend)
        return cls(_native.Store.custom(called, name, called.blocking, called.has_changed, context, options))

    @property
    def name(self) -> str:
        """What it is called in errors."""
        return self._native.name

    def session(self, id: str) -> Session:
        """The session of this id, which need not exist. Nothing is read or written.

        Raises `InvalidArgumentError` for an id that is empty, longer than 200 bytes, or has control characters.
        """
        return Session(self._native.session(id), self)

    async def list(
        self,
        *,
        updated_from: int | None = None,
        updated_before: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> SessionPage:
        """Sessions, the one that was changed last first; what is given has to hold for each:

        - `updated_from`, `updated_before`: it was changed at or after, and before, this time in milliseconds since the epoch
        - `metadata`: its metadata have these fields with these values

        `limit` is the most sessions of a page, 100 unless given. `cursor` continues behind a page: its `next`.

        Raises `InvalidArgumentError` for a wrong option.
        """
        from .bridge import current, wait

        query = {
            "updated_from": updated_from,
            "updated_before": updated_before,
            "metadata": metadata,
            "limit": limit,
            "cursor": cursor,
        }
        page = await wait(self._native.list(current().queue, query))
        return SessionPage(tuple(SessionInfo(**info) for info in page["sessions"]), page["next"])

    def list_sync(
        self,
        *,
        updated_from: int | None = None,
        updated_before: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> SessionPage:
        """Same as `list`, for code without an event loop."""
        from .bridge import run_sync

        def start() -> Any:
            return self.list(
                updated_from=updated_from, updated_before=updated_before, metadata=metadata, limit=limit, cursor=cursor
            )

        page: SessionPage = run_sync("list", start, "store.")
        return page

    async def list_all(
        self,
        *,
        updated_from: int | None = None,
        updated_before: int | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> AsyncIterator[SessionInfo]:
        """All sessions that `list` gives, page by page: `async for info in store.list_all()`."""
        cursor: str | None = None
        while True:
            page = await self.list(
                updated_from=updated_from, updated_before=updated_before, metadata=metadata, cursor=cursor
            )
            for info in page.sessions:
                yield info
            cursor = page.next
            if cursor is None:
                return

    def list_all_sync(
        self,
        *,
        updated_from: int | None = None,
        updated_before: int | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Iterator[SessionInfo]:
        """Same as `list_all`, for code without an event loop."""
        cursor: str | None = None
        while True:
            page = self.list_sync(updated_from=updated_from, updated_before=updated_before, metadata=metadata, cursor=cursor)
            yield from page.sessions
            cursor = page.next
            if cursor is None:
                return

    async def import_(self, text: str, id: str | None = None) -> Session:
        """Makes a session of JSON lines, as `Session.export` and `Session.salvage` give them: with its own id, or another one.

        Raises `InvalidArgumentError` for a text that is no whole session, with the line, and if there is a session of that id;
        `NewerVersionError` for a text of a newer version.
        """
        from .bridge import current, wait

        return Session(await wait(self._native.import_text(current().queue, text, id)), self)

    def import_sync(self, text: str, id: str | None = None) -> Session:
        """Same as `import_`, for code without an event loop."""
        from .bridge import run_sync

        return run_sync("import_", lambda: self.import_(text, id), "store.")

    def __repr__(self) -> str:
        return f"<Store {self.name}>"
