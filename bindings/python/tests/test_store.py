"""Stores and sessions, as Python has them; the rules of stores are tested in Rust."""

import gc

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
from stores import KINDS, open_store, said, texts


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    return open_store(request.param, tmp_path)


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
