"""Stores and sessions, as Python has them; the rules of stores are tested in Rust."""

import asyncio
import gc
import os
import stat
import subprocess
import sys
import textwrap
import threading
import weakref
from pathlib import Path

import pytest
from agent_loop import (
    AgentIOError,
    BusyError,
    DamagedError,
    InvalidArgumentError,
    InvalidStateError,
    NewerVersionError,
    NotFoundError,
    Store,
    UserMessage,
)
from stores import JSONL, SQLITE, Lists, open_store, said, texts

KINDS = ["sqlite", "jsonl", "memory", "custom", "async"]


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    return open_store(request.param, tmp_path)


def run(program, *arguments):
    """The output of a program in a new process."""
    here = str(Path(__file__).parent)
    command = [sys.executable, "-X", "dev", "-c", textwrap.dedent(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | {"PYTHONPATH": here})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


async def test_what_is_appended_is_there_when_the_session_is_opened_again(store):
    session = store.session("user-7")
    assert await session.info() is None
    async with session.open() as open:
        assert (open.id, open.last, open.messages, open.diagnostics) == ("user-7", 1, (), ())
        assert await open.append([said("a"), {"kind": "message", "message": {"role": "user", "content": "b"}}]) == 3
        await open.set_info(title="Letters", metadata={"user": 7})
        await open.flush()
    again = await session.open()
    assert texts(again.messages) == ["a", "b"]
    assert again.messages[0] == UserMessage("a")
    rebuilt = again.rebuilt
    assert (rebuilt["start"]["id"], rebuilt["info"]) == ("user-7", {"title": "Letters", "metadata": {"user": 7}})
    assert [message["content"][0]["text"] for message in rebuilt["messages"]] == ["a", "b"]
    await again.close()
    await again.close()
    with pytest.raises(InvalidStateError, match='the session "user-7" was closed; open it again'):
        await again.append([said("c")])
    info = await session.info()
    assert (info.id, info.title, info.metadata, info.holder) == ("user-7", "Letters", {"user": 7}, None)
    assert [record["kind"] for record in await session.records()] == ["session", "message", "message", "info"]
    assert [record["seq"] for record in await session.records(after=1, limit=2)] == [2, 3]
    await session.set_info(title="")
    assert ((await session.info()).title, (await session.info()).metadata) == (None, {"user": 7})


def test_all_of_it_without_an_event_loop(store):
    session = store.session("a")
    with session.open_sync() as open:
        assert open.append_sync([said("a")]) == 2
        open.set_info_sync(title="A")
        open.flush_sync()
    session.set_info_sync(metadata={"n": 1})
    assert session.info_sync().metadata == {"n": 1}
    assert len(session.records_sync()) == 4
    assert next(session.follow_sync(after=1))["message"]["content"] == [{"type": "text", "text": "a"}]
    fork = session.fork_sync(2, id="fork")
    text = session.export_sync()
    assert text.count("\n") == 4
    copy = store.import_sync(text, "copy")
    assert copy.salvage_sync().damage is None
    assert sorted(info.id for info in store.list_sync().sessions) == ["a", "copy", "fork"]
    assert sorted(info.id for info in store.list_all_sync()) == ["a", "copy", "fork"]
    fork.delete_sync()
    with pytest.raises(NotFoundError):
        fork.delete_sync()


async def test_what_is_for_code_without_an_event_loop_says_what_to_use(store):
    with pytest.raises(InvalidStateError, match="open_sync would block the event loop .* `await session.open\\(…\\)`"):
        store.session("a").open_sync()
    with pytest.raises(InvalidStateError, match="use `await store.list\\(…\\)`"):
        store.list_sync()


async def test_a_fork_and_an_import_have_what_the_session_had(store):
    session = store.session("a")
    async with session.open() as open:
        await open.append([said("one"), said("two")])
        await open.set_info(title="A")
    fork = await session.fork(2, id="b")
    assert (await fork.info()).title == "A"
    async with fork.open() as open:
        assert (texts(open.messages), open.rebuilt["start"]["forked_from"]) == (["one"], {"id": "a", "seq": 2})
    text = await session.export()
    copy = await store.import_(text, "c")
    assert (await copy.info()).title == "A"
    # The first record is its own.
    assert (await copy.export()).split("\n")[1:] == text.split("\n")[1:]
    with pytest.raises(InvalidArgumentError, match='there is a session "a" already'):
        await store.import_(text)
    with pytest.raises(InvalidArgumentError, match="import: line 2: its checksum does not match"):
        await store.import_(text.replace("one", "eno"), "d")
    with pytest.raises(InvalidArgumentError, match="fork: at: the session \"a\" has records 1 to 4, and not 9"):
        await session.fork(9, id="d")


@pytest.mark.parametrize("kind", ["sqlite", "jsonl", "memory"])
async def test_a_list_has_pages_times_and_metadata(kind, tmp_path):
    store = open_store(kind, tmp_path)
    for n in range(5):
        async with store.session(f"s{n}").open() as open:
            await open.set_info(metadata={"n": n})
    first = await store.list(limit=2)
    assert (len(first.sessions), first.next is None) == (2, False)
    ids = [info.id for info in first.sessions]
    ids += [info.id for info in (await store.list(limit=3, cursor=first.next)).sessions]
    assert sorted(ids) == ["s0", "s1", "s2", "s3", "s4"]
    assert [info.id async for info in store.list_all(metadata={"n": 3})] == ["s3"]
    assert (await store.list(updated_before=1_000)).sessions == ()
    assert len((await store.list(updated_from=1_000)).sessions) == 5


@pytest.mark.parametrize(
    ("records", "text"),
    [
        ("x", "records: expected a list of records, got \"x\""),
        ([1], "records\\[0\\]: expected a record such as"),
        ([said("a"), {"kind": "mesage"}], "records\\[1\\]: unknown kind \"mesage\"; did you mean \"message\"?"),
        ([{"kind": "info", "tilte": "x"}], "records\\[0\\]: info: unknown field \"tilte\"; did you mean \"title\"?"),
        ([{"kind": "info", "title": True}], "records\\[0\\]: info: title: expected text, got True"),
        ([{"kind": "session", "version": 1, "id": "b", "created_ms": 1}], "the session \"a\" has its first record already"),
    ],
)
async def test_a_wrong_record_is_refused_and_others_go_on(records, text, tmp_path):
    async with open_store("sqlite", tmp_path).session("a").open() as open:
        with pytest.raises(InvalidArgumentError, match=text):
            await open.append(records)
        assert await open.append([said("a")]) == 2


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"sync": "ful"}, "store: sync: unknown value \"ful\"; did you mean \"full\"?"),
        ({"lease_ms": 3}, "store: lease_ms: at least 100 ms, got 3"),
        ({"holder": ""}, "store: holder: expected 1 to 200 bytes"),
        ({"network": {"ca": "x"}}, "unknown network field \"ca\""),
    ],
)
def test_a_wrong_option_is_refused(options, text):
    with pytest.raises(InvalidArgumentError, match=text):
        Store.open("memory:", **options)


async def test_wrong_arguments_are_refused(tmp_path):
    store = open_store("sqlite", tmp_path)
    with pytest.raises(InvalidArgumentError, match="list: limit: expected a whole number of at least 0, got -1"):
        await store.list(limit=-1)
    with pytest.raises(InvalidArgumentError, match="list: metadata: expected a dict, got a list"):
        await store.list(metadata=[1])
    with pytest.raises(InvalidArgumentError, match="list: cursor"):
        await store.list(cursor="x")
    with pytest.raises(InvalidArgumentError, match="session: the id \"\" cannot be used: it is empty"):
        store.session("")
    with pytest.raises(TypeError, match="records: after: expected a whole number of at least 0, got str"):
        await store.session("a").records("1")
    with pytest.raises(InvalidArgumentError, match="the address \"mysql:x\" is not known"):
        Store.open("mysql:x")
    with pytest.raises(TypeError, match="a store is made with Store.open"):
        Store("agents.db")
    with pytest.raises(NotFoundError, match="there is no session \"a\" in the SQLite store"):
        await store.session("a").records()


def test_every_option_is_taken(tmp_path):
    store = Store.open(tmp_path / "agents.db", sync="full", lease_ms=500, holder="tests", network={"roots": "system"})
    with store.session("a").open_sync():
        assert store.list_sync().sessions[0].holder == "tests"
    assert repr(store) == f"<Store the SQLite store {tmp_path}/agents.db>"
    assert repr(store.session("a")) == f"<Session 'a' in the SQLite store {tmp_path}/agents.db>"


@pytest.mark.parametrize("address", [SQLITE, JSONL])
async def test_a_session_has_one_writer_in_all_processes(address, tmp_path):
    address = address.format(tmp_path)
    async with Store.open(address, holder="worker 1").session("a").open() as open:
        await open.append([said("here")])
        program = """
            import sys
            from agent_loop import BusyError, Store
            session = Store.open(sys.argv[1]).session("a")
            try:
                session.open_sync()
            except BusyError as error:
                print(error)
            print(session.records_sync()[1]["message"]["content"][0]["text"])
        """
        busy, text = run(program, address).splitlines()
        assert busy.startswith('the session "a" is open elsewhere, by worker 1, and has one writer at a time')
        assert text == "here"


async def test_a_follower_sees_each_record_once(store):
    session = store.session("a")
    open = await session.open()

    async def write():
        for n in range(20):
            await open.append([said(str(n))])
            await asyncio.sleep(0.002)

    writing = asyncio.create_task(write())
    seen, follow = [], session.follow()
    while len(seen) < 21:
        try:
            # Cancelled between two records, or with one that has just come.
            seen.append((await asyncio.wait_for(follow.__anext__(), 0.001))["seq"])
        except asyncio.TimeoutError:
            pass
    await writing
    assert seen == list(range(1, 22))
    async for record in session.follow(after=20):
        assert record["seq"] == 21
        break
    await open.close()


async def test_a_follower_of_what_another_process_writes(tmp_path):
    address = SQLITE.format(tmp_path)
    program = """
        import sys
        from agent_loop import Store, UserMessage
        with Store.open(sys.argv[1]).session("a").open_sync() as open:
            for n in range(10):
                open.append_sync([{"kind": "message", "message": UserMessage(str(n))}])
    """
    store = Store.open(address)
    async with store.session("a").open():
        pass
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", textwrap.dedent(program), address)
    seen = []
    async for record in store.session("a").follow(after=1):
        seen.append(record["message"]["content"][0]["text"])
        if len(seen) == 10:
            break
    assert (await process.wait(), seen) == (0, [str(n) for n in range(10)])


async def test_following_may_begin_before_the_session(store):
    first = asyncio.ensure_future(store.session("early").follow().__anext__())
    await asyncio.sleep(0)
    async with store.session("early").open():
        assert (await first)["seq"] == 1
    gone = store.session("none").follow(after=5)
    with pytest.raises(NotFoundError):
        await gone.__anext__()
    # There is nothing behind an error.
    assert [record async for record in gone] == []
    with pytest.raises(InvalidArgumentError, match="follow: after: expected a whole number of at least 0, got -1"):
        store.session("a").follow(after=-1)


async def test_what_cannot_be_asked_for_or_imported(tmp_path):
    store = open_store("sqlite", tmp_path)
    async with store.session("a").open():
        pass
    with pytest.raises(InvalidArgumentError, match="records: after: expected a whole number of at least 0, got -1"):
        await store.session("a").records(after=-1)
    for refused in (store.session("a").records(limit=0), store.list(limit=0)):
        with pytest.raises(InvalidArgumentError, match="limit: expected a whole number of at least 1, got 0"):
            await refused
    expected = "expected JSON lines as export gives them, from the first one on"
    for text, why in [
        ("hello", "import: line 1: it is no record of a session; "),
        ("hello\nyou", "import: line 1: it does not end with a checksum; "),
        ("", "import: the text is empty; "),
    ]:
        with pytest.raises(InvalidArgumentError) as caught:
            await store.import_(text)
        assert str(caught.value) == why + expected
    async with store.session("b").open() as open:
        with pytest.raises(InvalidArgumentError, match=r'records\[0\]: reset: unknown field "to"; there are none here'):
            await open.append([{"kind": "reset", "to": 1}])


async def test_an_address_that_is_a_folder(tmp_path):
    with pytest.raises(AgentIOError) as caught:
        Store.open(str(tmp_path))
    assert f'it is a folder; name a file in it, or give "jsonl:{tmp_path}"' in str(caught.value)


async def test_a_damaged_session_is_salvaged(tmp_path):
    store = open_store("jsonl", tmp_path)
    async with store.session("a").open() as open:
        await open.append([said("one"), said("two"), said("three")])
    file = tmp_path / "sessions/a.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace("two", "owt"), encoding="utf-8")
    with pytest.raises(DamagedError, match="is damaged at record 3: its checksum does not match; salvage gives the 2 records"):
        await store.session("a").open()
    salvaged = await store.session("a").salvage()
    assert ([record["seq"] for record in salvaged.records], salvaged.damage) == ([1, 2], "record 3: its checksum does not match")
    copy = await store.import_(salvaged.text, "b")
    async with copy.open() as open:
        assert texts(open.messages) == ["one"]


async def test_a_torn_end_is_a_diagnostic(tmp_path):
    store = open_store("jsonl", tmp_path)
    async with store.session("a").open() as open:
        await open.append([said("one")])
    with (tmp_path / "sessions/a.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"seq":3,"at":17')
    async with store.session("a").open() as open:
        (torn,) = open.diagnostics
        assert (torn["code"], torn["data"]) == ("journal_torn", {"session": "a", "bytes": 16})
        assert await open.append([said("two")]) == 3


async def test_a_session_of_a_newer_version_is_refused(tmp_path):
    import zlib

    (tmp_path / "sessions").mkdir()
    line = '{"seq":1,"at":1,"kind":"session","version":2,"id":"a","created_ms":1'
    (tmp_path / "sessions/a.jsonl").write_text(f'{line},"crc":"{zlib.crc32(line.encode()):08x}"}}\n', encoding="utf-8")
    store = open_store("jsonl", tmp_path)
    with pytest.raises(NewerVersionError, match="as a journal of version 2.*update agent-loop"):
        await store.session("a").open()


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_folder_that_cannot_be_written(tmp_path):
    """As an unprivileged user, whom permissions stop."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
    program = """
        import os, sys
        import agent_loop, agent_loop.bridge
        from agent_loop import AgentIOError, Store
        os.chdir(sys.argv[1])
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        for address in "jsonl:.", "agents.db":
            try:
                Store.open(address).session("a").open_sync()
            except AgentIOError as error:
                print(error)
    """
    refused = run(program, folder).splitlines()
    assert len(refused) == 2, refused
    assert all("agents.db" in line or "Permission denied" in line for line in refused), refused
    with pytest.raises(AgentIOError, match="cannot be made"):
        Store.open(f"jsonl:{__file__}/sessions")


@pytest.mark.parametrize("address", [SQLITE, JSONL, "memory:", "custom"])
def test_exit_with_an_open_session(address, tmp_path):
    program = """
        import sys
        from agent_loop import Store
        from stores import Lists, said
        lists = Lists()
        store = Store.custom(lists) if sys.argv[1] == "custom" else Store.open(sys.argv[1])
        open = store.session("a").open_sync()
        open.append_sync([said("a")])
        follow = store.session("a").follow_sync(2)
        import atexit
        atexit.register(lambda: print("exit", lists.sessions.get("a", {}).get("holder")))
    """
    address = address.format(tmp_path)
    assert run(program, address).startswith("exit ")
    if address not in ("memory:", "custom"):
        with Store.open(address).session("a").open_sync() as open:
            assert texts(open.messages) == ["a"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="without fork")
@pytest.mark.parametrize("address", [SQLITE, JSONL, "custom"])
def test_a_forked_child_opens_the_store_again(address, tmp_path):
    program = """
        import gc, os, sys, warnings
        from agent_loop import InvalidStateError, Store
        from stores import Lists, said
        warnings.simplefilter("ignore")
        store = Store.custom(Lists()) if sys.argv[1] == "custom" else Store.open(sys.argv[1])
        open = store.session("a").open_sync()
        if os.fork() == 0:
            for call in (lambda: store.session("a").info_sync(), lambda: open.append_sync([said("b")])):
                try:
                    call()
                except InvalidStateError as error:
                    print(error, flush=True)
            del open, store
            gc.collect()
            if sys.argv[1] != "custom":
                assert Store.open(sys.argv[1]).session("b").open_sync().last == 1
            os._exit(0)
        _, status = os.wait()
        print(status, open.append_sync([said("a")]))
        open.close_sync()
    """
    *refused, last = run(program, address.format(tmp_path)).splitlines()
    assert last == "0 2"
    assert len(refused) == 2
    assert "was opened before the process forked: open it again in the child" in refused[0]
    assert 'the session "a" is open in the process that this one was forked from' in refused[1]


def test_a_custom_store_must_have_all_methods():
    with pytest.raises(TypeError, match="store: object has no method acquire\\(request\\)"):
        Store.custom(object())
    wrong = Lists()
    wrong.append = lambda lease: None
    with pytest.raises(TypeError, match="store: append: expected a function that is called as f\\(lease, seq, lines\\)"):
        Store.custom(wrong)


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_exception_of_a_custom_store_keeps_its_kind(is_async):
    class Mine(Exception):
        kind = "not_found"

    raised = []

    def failing(kind):
        def read(id, after, limit):
            raised.append(kind)
            raise kind

        async def read_async(id, after, limit):
            return read(id, after, limit)

        lists = Lists()
        lists.read = read_async if is_async else read
        return Store.custom(lists).session("a")

    for exception, error, text in [
        (BusyError("Ann has it"), BusyError, "Ann has it"),
        (Mine("none"), NotFoundError, "none"),
        (ValueError("no connection"), AgentIOError, "the lists: read: ValueError: no connection"),
    ]:
        session = failing(exception)
        with pytest.raises(error) as info:
            await session.records()
        assert str(info.value) == text
        assert info.value.__cause__ is exception


async def test_a_wrong_answer_of_a_custom_store_says_what_is_wrong():
    lists = Lists()
    for answer, why in [
        (7, "expected a dict|an object"),
        ([7], r"an array \(in \[7\]\)|a list"),
        (None, "got (null|None)"),
        ({}, "token is missing"),
    ]:
        lists.acquire = lambda request, answer=answer: answer
        with pytest.raises(AgentIOError, match=f"the lists: acquire: its answer cannot be used: .*({why})"):
            await Store.custom(lists).session("a").open()
    lists.acquire = lambda request: {"token": object()}
    with pytest.raises(AgentIOError, match="the lists: acquire: .*at /token: a value of type object is not JSON"):
        await Store.custom(lists).session("a").open()


async def test_a_custom_store_reports_to_followers_what_has_changed():
    class Changing(Lists):
        def __init__(self):
            super().__init__()
            self.waiting = asyncio.Event()

        async def changed(self, id, after):
            self.waiting.set()
            await self.more.wait()

    lists = Changing()
    lists.more = asyncio.Event()
    store = Store.custom(lists)
    async with store.session("a").open() as open:
        follow = store.session("a").follow(1)
        following = asyncio.create_task(follow.__anext__())
        await lists.waiting.wait()
        lists.more.set()
        await open.append([said("a")])
        assert (await following)["seq"] == 2


async def test_a_custom_store_is_freed_with_its_cycle():
    lists = Lists()
    lists.store = Store.custom(lists)
    async with lists.store.session("a").open() as open:
        await open.append([said("a")])
    freed = weakref.ref(lists)
    del lists, open
    # What the last call has used is dropped on its thread.
    while freed() is not None:
        gc.collect()
        await asyncio.sleep(0.01)


class Slow(Lists):
    """One whose `release` waits."""

    def __init__(self):
        super().__init__()
        self.asked, self.may_answer = threading.Event(), threading.Event()

    def release(self, lease):
        self.asked.set()
        assert self.may_answer.wait(60)
        super().release(lease)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
async def test_found_a_close_that_is_cancelled_is_done_to_its_end(when):
    lists = Slow()
    store = Store.custom(lists)
    open = await store.session("a").open()
    await open.append([said("Hello.")])
    task = asyncio.create_task(open.close())
    await asyncio.sleep(0)
    if when == "meanwhile":
        await asyncio.to_thread(lists.asked.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # Who opens it waits for that.
    opening = asyncio.create_task(store.session("a")._open())
    await asyncio.to_thread(lists.asked.wait)
    lists.may_answer.set()
    async with await opening as again:
        assert texts(again.messages) == ["Hello."]
    await open.close()


def test_a_session_that_is_dropped_can_be_opened_again(tmp_path):
    store = open_store("sqlite", tmp_path)
    open = store.session("a").open_sync()
    with pytest.raises(BusyError):
        store.session("a").open_sync()
    del open
    gc.collect()
    # It is closed on another thread.
    while True:
        try:
            store.session("a").open_sync().close_sync()
            break
        except BusyError:
            continue
