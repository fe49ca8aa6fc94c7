"""Sessions: conversations in a store. One at a time may write; all may read."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

    from typing_extensions import Self

    from . import _native
    from ._native import Message
    from .store import Store


class SessionInfo(NamedTuple):
    """What a store knows of a session without reading it."""

    id: str
    title: str | None
    """What the application calls it."""
    metadata: dict[str, Any] | None
    """What the application keeps with it."""
    created_ms: int
    """When it was created, in milliseconds since the epoch."""
    updated_ms: int
    """When something was last appended, in milliseconds since the epoch; up to a second earlier."""
    holder: str | None
    """Who has it open."""


class SalvagedSession(NamedTuple):
    """What can be read of a session that is damaged."""

    records: list[dict[str, Any]]
    """The records before the damage."""
    text: str
    """The same as JSON lines, as `Store.import_` takes them."""
    damage: str | None
    """What is wrong behind them; None for a session that is whole."""


class CallProgress(NamedTuple):
    """How far a tool call came before its process ended."""

    state: Literal["waiting", "started", "answered"]
    """`waiting`: the tool was not called; `started`: it was called, and what it did is not known; `answered`: it has answered."""
    result: dict[str, Any] | None = None
    """The answer, `{"content", "details", "terminate"}`; None where there is none."""
    is_error: bool = False
    """Whether the call has failed."""


class OpenCall(NamedTuple):
    """A tool call of the last answer that has no result."""

    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any]
    """Those that the tool got, where it was called, else the model's own."""
    progress: CallProgress
    idempotency_key: str | None = None
    """The same in each execution of the call; None for one that was not called and has not waited for a decision."""
    decision: str | dict[str, Any] | None = None
    """What was decided about it; None where nothing was."""
    is_checked: bool = False
    """Of a call that has waited for a decision: whether its arguments were found right."""


class InterruptedRun(NamedTuple):
    """A run that did not end, as its process has ended; see `Agent.interrupted`."""

    run_id: str
    of: Literal["prompt", "resume", "queued", "decisions"]
    """What it was begun with."""
    phase: Literal["model", "tools"]
    """Whether the model was to answer, or calls of its last answer were under way."""
    calls: tuple[OpenCall, ...]
    """The calls of the last answer that have no result, in the order in which the model made them."""


def interrupted_run(fields: dict[str, Any]) -> InterruptedRun:
    """Of its canonical JSON."""
    calls = (OpenCall(**call | {"progress": CallProgress(**call["progress"])}) for call in fields["calls"])
    return InterruptedRun(fields["run_id"], fields["of"], fields["phase"], tuple(calls))


class Session:
    """A session of a store, which need not exist: nothing is read or written before a method is called.

    Made by `Store.session`. A record is a dict, `{"seq", "at", "kind", …}`, with the fields of docs/journal.md.
    """

    __slots__ = ("__weakref__", "_native", "_store")

    def __init__(self, native: _native.Session, store: Store) -> None:
        self._native = native
        # It has the object of a custom store.
        self._store = store

    @property
    def id(self) -> str:
        """Its id."""
        return self._native.id

    def open(self) -> Opening:
        """Opens it to write, and creates it if there is none: `async with session.open() as open:`, or
        `open = await session.open()` and later `await open.close()`.

        Raises `BusyError` with the holder's name while it is open elsewhere, `DamagedError` with the place for one that `salvage`
        reads in part, `NewerVersionError` for one that a newer version of this library has written, `AgentIOError` for what the
        store's disk or server refuses.
        """
        return Opening(self)

    def open_sync(self) -> OpenSession:
        """Same as `open`, for code without an event loop: `with session.open_sync() as open:`."""
        from .bridge import run_sync

        return run_sync("open", self._open, "session.")

    async def _open(self) -> OpenSession:
        from .bridge import current, wait

        return OpenSession(await wait(self._native.open(current().queue)), self)

    async def info(self) -> SessionInfo | None:
        """What the store knows of it without reading it; None if there is no such session."""
        from .bridge import current, wait

        info = await wait(self._native.info(current().queue))
        return None if info is None else SessionInfo(**info)

    def info_sync(self) -> SessionInfo | None:
        """Same as `info`, for code without an event loop."""
        from .bridge import run_sync

        return run_sync("info", self.info, "session.")

    async def records(self, after: int = 0, limit: int = 1_000) -> list[dict[str, Any]]:
        """The records behind the number `after` (0: from the first one on), at most `limit`; also while it is open elsewhere.

        Raises `NotFoundError` if there is no such session, and what `open` raises for what cannot be read.
        """
        from .bridge import current, wait

        return await wait(self._native.records(current().queue, after, limit))

    def records_sync(self, after: int = 0, limit: int = 1_000) -> list[dict[str, Any]]:
        """Same as `records`, for code without an event loop."""
        from .bridge import run_sync

        return run_sync("records", lambda: self.records(after, limit), "session.")

    def follow(self, after: int = 0, *, live: bool = False) -> Follow:
        """Its records behind the number `after`: those that are there, and those to come, from whichever process writes them.

        ```python
        session = Store.open("agents.db").session("user-7")
        async for record in session.follow():
            print(record["seq"], record["kind"])
        ```

        It does not end by itself; leave the loop. The session need not exist yet: its first record is awaited. Nothing is lost
        when waiting for a record is cancelled. Raises what `records` raises; `NotFoundError` only behind a record, for a session
        that was deleted. An error ends it: to go on, follow again behind the last record.

        With `live`, the events of the run that goes on in this process come between the records, delta by delta:
        `{"after": seq, "event": {"type", …}}`, where `after` is the number of the record before. There are those that say what no
        record says. Whoever joins in the middle of an answer begins with its `message_start`, which has the content so far; the
        whole message comes as a record. The run's session must have been opened with the same `Store`.
        """
        return Follow(self._native.follow(after, live), self)

    def follow_sync(self, after: int = 0, *, live: bool = False) -> Iterator[dict[str, Any]]:
        """Same as `follow`, for code without an event loop: `for record in session.follow_sync():`. Ctrl-C ends it."""
        from .bridge import run_sync

        follow = self.follow(after, live=live)
        while True:
            yield run_sync("follow", follow.__anext__, "session.")

    async def set_info(self, *, title: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        """Sets title, metadata or both of a session that is not open; one that is has `OpenSession.set_info`. What is None stays,
        and what is empty is taken away. Raises what `open` raises."""
        from .bridge import current, wait

        await wait(self._native.set_info(current().queue, {"title": title, "metadata": metadata}))

    def set_info_sync(self, *, title: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        """Same as `set_info`, for code without an event loop."""
        from .bridge import run_sync

        run_sync("set_info", lambda: self.set_info(title=title, metadata=metadata), "session.")

    async def fork(self, at: int | None = None, *, id: str) -> Session:
        """Makes another session, of this id, of the records up to the number `at`; None for all. This one keeps them.

        Title and metadata are those that this one has now.

        Raises `InvalidArgumentError` if there is a session of that id, or if this one has no such record.
        """
        from .bridge import current, wait

        return Session(await wait(self._native.fork(current().queue, at, id)), self._store)

    def fork_sync(self, at: int | None = None, *, id: str) -> Session:
        """Same as `fork`, for code without an event loop."""
        from .bridge import run_sync

        return run_sync("fork", lambda: self.fork(at, id=id), "session.")

    async def delete(self) -> None:
        """Deletes it. Raises `NotFoundError` if there is no such session, `BusyError` while it is open."""
        from .bridge import current, wait

        await wait(self._native.delete(current().queue))

    def delete_sync(self) -> None:
        """Same as `delete`, for code without an event loop."""
        from .bridge import run_sync

        run_sync("delete", self.delete, "session.")

    async def export(self) -> str:
        """All of it as JSON lines, each with its line end: what `Store.import_` takes, in each language. Raises what `records`
        raises."""
        from .bridge import current, wait

        return await wait(self._native.export(current().queue))

    def export_sync(self) -> str:
        """Same as `export`, for code without an event loop."""
        from .bridge import run_sync

        return run_sync("export", self.export, "session.")

    async def salvage(self) -> SalvagedSession:
        """What can be read of a damaged session: the records before the first one that cannot. The session stays as it is. To go
        on from there, import the text under another id.

        Raises `NotFoundError` if there is no such session, `AgentIOError` if nothing can be read.
        """
        from .bridge import current, wait

        return SalvagedSession(**await wait(self._native.salvage(current().queue)))

    def salvage_sync(self) -> SalvagedSession:
        """Same as `salvage`, for code without an event loop."""
        from .bridge import run_sync

        return run_sync("salvage", self.salvage, "session.")

    def __repr__(self) -> str:
        return f"<Session {self.id!r} in {self._store.name}>"


def give(agent: _native.Agent, session: object) -> OpenSession:
    """Lets an agent go on with what it was given: an open session, or one that is opened here."""
    if isinstance(session, OpenSession):
        agent.set_session(session._native)
        return session
    if isinstance(session, Session):
        return OpenSession(session._native.open_for(agent, runs_event_loop()), session)
    if isinstance(session, Opening):
        raise TypeError('option "session": an opening that is not awaited; give store.session(id), or await its open()')
    raise TypeError(f'option "session": expected a Session or an OpenSession, got {type(session).__name__}')


def runs_event_loop() -> bool:
    """Whether an event loop runs on this thread."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        # Whatever runs one imports it.
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Opening:
    """What `Session.open` returns: to be awaited, or entered with `async with`, which closes the session at its end."""

    __slots__ = ("_open", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._open: OpenSession | None = None

    def __await__(self) -> Generator[Any, None, OpenSession]:
        return self._session._open().__await__()

    async def __aenter__(self) -> OpenSession:
        self._open = await self._session._open()
        return self._open

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._open is not None:
            await self._open.close()


class Follow:
    """The records of a session, also those to come, and live events: an async iterator, made by `Session.follow`."""

    __slots__ = ("_has_failed", "_native", "_session")

    def __init__(self, native: _native.Follow, session: Session) -> None:
        self._native, self._session = native, session
        self._has_failed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> dict[str, Any]:
        """The next record or event, when it is there. There is nothing behind an error."""
        from .bridge import current, wait
        from .errors import AgentError

        if self._has_failed:
            raise StopAsyncIteration
        try:
            return await wait(self._native.next(current().queue))
        except AgentError:
            self._has_failed = True
            raise

    def __repr__(self) -> str:
        return f"<Follow of {self._session!r}>"


class OpenSession:
    """A session with the right to append to it, until it is closed: by `close`, by the end of `async with` or `with`, or when the
    last reference to it is dropped. Made by `Session.open`."""

    __slots__ = ("__weakref__", "_native", "_session")

    def __init__(self, native: _native.OpenSession, session: Session) -> None:
        self._native = native
        self._session = session

    @property
    def id(self) -> str:
        """The session's id."""
        return self._native.id

    @property
    def last(self) -> int:
        """The number of the last record that was appended, whether it is written or not."""
        return self._native.last

    @property
    def messages(self) -> tuple[Message, ...]:
        """The transcript as it was when the session was opened. Empty once an agent has got the session: `messages` of the agent
        has it then."""
        return self._native.messages

    @property
    def rebuilt(self) -> dict[str, Any]:
        """All that the session was when it was opened, as JSON: `start`, `messages`, `steering`, `follow_up`, `last_queued`,
        `suspended`, `open_calls`, `interrupted`, `last_run` and `info`. A new copy each time."""
        return self._native.rebuilt

    @property
    def diagnostics(self) -> tuple[dict[str, Any], ...]:
        """What was unusual when it was opened: `{"code", "message", "data"}`. `journal_torn` is the end of a record that was not
        written whole; it was removed."""
        return self._native.diagnostics

    async def append(self, records: Sequence[Mapping[str, Any]]) -> int:
        """Appends records, each a dict `{"kind", …}` with the fields of docs/journal.md, and returns the number of the last one.
        They are durable then, as the store's `sync` says. When an agent has the session, only records of the kind `info`: others
        would not reach the agent, which has `append_messages`.

        After an error of the store nothing more is written, and each further call raises it. Raises
        `BusyError` with the new holder's name if the lease was lost, `InvalidArgumentError` for what is no record,
        `InvalidStateError` after `close`, and for other records when an agent has the session.
        """
        from .bridge import current, wait

        return await wait(self._native.append(current().queue, records))

    def append_sync(self, records: Sequence[Mapping[str, Any]]) -> int:
        """Same as `append`, for code without an event loop."""
        from .bridge import run_sync

        return run_sync("append", lambda: self.append(records), "open.")

    async def set_info(self, *, title: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        """Sets title, metadata or both. What is None stays, and what is empty is taken away. Raises what `append` raises."""
        from .bridge import current, wait

        await wait(self._native.set_info(current().queue, {"title": title, "metadata": metadata}))

    def set_info_sync(self, *, title: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        """Same as `set_info`, for code without an event loop."""
        from .bridge import run_sync

        run_sync("set_info", lambda: self.set_info(title=title, metadata=metadata), "open.")

    async def flush(self) -> None:
        """Waits until the store has all records. Raises what `append` raises."""
        from .bridge import current, wait

        await wait(self._native.flush(current().queue))

    def flush_sync(self) -> None:
        """Same as `flush`, for code without an event loop."""
        from .bridge import run_sync

        run_sync("flush", self.flush, "open.")

    async def close(self) -> None:
        """Writes what waits, and lets others open the session; also if waiting for it is cancelled. A second call waits for the
        first. Raises what `append` raises, for records that could not be written."""
        from .bridge import current, wait

        await wait(self._native.close(current().queue))

    def close_sync(self) -> None:
        """Same as `close`, for code without an event loop."""
        from .bridge import run_sync

        run_sync("close", self.close, "open.")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close_sync()

    def __repr__(self) -> str:
        return f"<OpenSession {self.id!r}: {self.last} records>"
