"""Following a session."""

import asyncio
import sys
import textwrap

import pytest
from agent_loop import InvalidArgumentError, NotFoundError, Store
from stores import KINDS, SQLITE, open_store, said


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    return open_store(request.param, tmp_path)


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
