"""Stores in a Postgres server, at $AGENT_POSTGRES: tests/postgres/with_server.py."""

import asyncio
import os
import subprocess
import sys
import textwrap
import uuid

import pytest
from agent_loop import AgentIOError, BusyError, Store, UserMessage

ADDRESS = os.environ.get("AGENT_POSTGRES")

pytestmark = pytest.mark.skipif(ADDRESS is None, reason="no Postgres server at $AGENT_POSTGRES")


def said(text):
    return {"kind": "message", "message": UserMessage(text)}


def begun(program, *arguments):
    command = [sys.executable, "-X", "dev", "-c", textwrap.dedent(program), ADDRESS, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_what_is_appended_is_there_when_the_session_is_opened_again():
    async def main():
        store, id = Store.open(ADDRESS, holder="worker 1"), str(uuid.uuid4())
        session = store.session(id)
        async with session.open() as open:
            assert await open.append([said("a"), said("b")]) == 3
            await open.set_info(title="Letters", metadata={"id": id})
            with pytest.raises(BusyError, match="is open elsewhere, by worker 1"):
                await Store.open(ADDRESS).session(id).open()
        async with session.open() as open:
            assert [message.text for message in open.messages] == ["a", "b"]
        (info,) = (await store.list(metadata={"id": id})).sessions
        assert (info.id, info.title) == (id, "Letters")
        fork = await session.fork(2, id=f"{id}-fork")
        text = await fork.export()
        await fork.delete()
        copy = await store.import_(text, f"{id}-copy")
        assert [record["kind"] for record in await copy.records()] == ["session", "message", "info"]

    asyncio.run(main())


def test_a_follower_of_what_another_process_writes():
    async def main():
        id = str(uuid.uuid4())
        session = Store.open(ADDRESS).session(id)
        async with session.open():
            pass
        program = """
            import sys
            from agent_loop import Store, UserMessage
            with Store.open(sys.argv[1]).session(sys.argv[2]).open_sync() as open:
                for n in range(20):
                    open.append_sync([{"kind": "message", "message": UserMessage(str(n))}])
        """
        with begun(program, id) as writer:
            seen = []
            async for record in session.follow(after=1):
                seen.append(record["message"]["content"][0]["text"])
                if len(seen) == 20:
                    break
            assert (writer.communicate(timeout=60)[1], writer.returncode) == ("", 0)
        assert seen == [str(n) for n in range(20)]

    asyncio.run(asyncio.wait_for(main(), 60))


def test_exit_with_an_open_session_gives_it_back():
    """Its lease has no process on this machine that others could ask for."""
    id = str(uuid.uuid4())
    program = """
        import sys
        from agent_loop import Store, UserMessage
        open = Store.open(sys.argv[1]).session(sys.argv[2]).open_sync()
        open.append_sync([{"kind": "message", "message": UserMessage("a")}])
    """
    with begun(program, id) as process:
        assert (process.communicate(timeout=60)[1], process.returncode) == ("", 0)
    with Store.open(ADDRESS).session(id).open_sync() as open:
        assert open.last == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="without fork")
def test_a_forked_child_opens_the_store_again():
    program = """
        import os, sys
        from agent_loop import InvalidStateError, Store
        store = Store.open(sys.argv[1])
        open = store.session(sys.argv[2]).open_sync()
        if os.fork() == 0:
            try:
                store.list_sync()
            except InvalidStateError as error:
                print(error, flush=True)
            del open, store
            assert Store.open(sys.argv[1]).session(sys.argv[2] + "-child").open_sync().last == 1
            os._exit(0)
        _, status = os.wait()
        print(status, open.append_sync([{"kind": "reset"}]))
    """
    with begun(program, str(uuid.uuid4())) as process:
        output, errors = process.communicate(timeout=60)
    refused, last = output.splitlines()
    assert "was opened before the process forked: open it again in the child" in refused
    assert last == "0 2", errors


def test_a_server_that_is_not_there_is_an_error():
    with pytest.raises(AgentIOError, match="connecting"):
        Store.open("postgres://nobody@127.0.0.1:9/none").list_sync()
