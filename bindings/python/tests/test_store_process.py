"""Stores and processes: others that use the same store, forks, exit, and what the system refuses."""

import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from agent_loop import AgentIOError, Store
from stores import JSONL, SQLITE, said, texts


def run(program, *arguments):
    """The output of a program in a new process."""
    here = str(Path(__file__).parent)
    command = [sys.executable, "-X", "dev", "-c", textwrap.dedent(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | {"PYTHONPATH": here})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


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
