"""Agents that keep their conversation in a session, as Python has them; the rules are tested in Rust."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
from itertools import islice
from pathlib import Path

import pytest
from agent_loop import Agent, AgentIOError, BusyError, InvalidArgumentError, InvalidStateError, Store, UserMessage, complete, run
from scripts import agent, calls, results, says, scripted
from stores import open_store, said

TEXTS = ["Rain in Oslo?", "Yes.", "And Bergen?", "Always."]


def texts(subject):
    return [message.text for message in subject.messages]


@pytest.fixture(params=["sqlite", "jsonl", "memory"])
def store(request, tmp_path):
    return open_store(request.param, tmp_path)


async def test_another_agent_goes_on_with_the_conversation(store):
    subject = agent(says("Yes."), session=store.session("user-7"))
    assert (subject.interrupted, subject.session.id) == (None, "user-7")
    await subject.prompt("Rain in Oslo?")
    subject.steer("And Bergen?")
    await subject.flush()
    with pytest.raises(BusyError, match=f"process {os.getpid()}|pid {os.getpid()}"):
        agent(says(""), session=store.session("user-7"))
    await subject.session.close()
    with pytest.raises(InvalidStateError, match='the session "user-7" was closed'):
        subject.append_message(UserMessage("More."))

    other = agent(says("Always."), session=await store.session("user-7").open())
    assert (texts(other), other.has_queued_messages()) == (TEXTS[:2], True)
    await other.resume()
    assert texts(other) == TEXTS


async def test_an_agent_that_is_dropped_gives_its_session_back(store):
    subject = agent(says("Yes."), session=store.session("a"))
    await subject.prompt("Rain in Oslo?")
    del subject
    gc.collect()
    async with store.session("a").open() as open:
        assert [message.text for message in open.messages] == TEXTS[:2]


def test_changes_between_runs_are_kept(store):
    subject = agent(session=store.session("a"))
    subject.append_message(UserMessage("one"))
    subject.append_messages([UserMessage("two")])
    subject.replace_messages([UserMessage("three"), UserMessage("four")])
    subject.session.close_sync()
    again = agent(session=store.session("a"))
    assert texts(again) == ["three", "four"]
    again.reset()
    again.session.close_sync()
    assert texts(agent(session=store.session("a"))) == []


async def test_records_do_not_pass_the_agent_by(store):
    subject = agent(session=store.session("a"))
    with pytest.raises(InvalidStateError, match="\"a\" has an agent, .* append messages with the agent's append_messages"):
        await subject.session.append([said("past it")])
    await subject.session.append([{"kind": "info", "title": "Weather"}])
    await subject.session.set_info(metadata={"user": 7})
    info = await store.session("a").info()
    assert (info.metadata, subject.messages) == ({"user": 7}, ())
    await subject.session.close()

    async with store.session("a").open() as session:
        await session.append([said("by hand")])
        with pytest.raises(InvalidStateError, match='records were appended to this open session "a".* open it again'):
            agent(session=session)
    assert texts(agent(session=store.session("a"))) == ["by hand"]


async def test_a_prompt_uses_the_answers_that_the_journal_has(store):
    session = store.session("a")
    call = {"type": "tool_call", "id": "call_1", "name": "pay", "arguments": {}}
    records = [
        {"kind": "run_start", "run_id": "r", "of": "prompt"},
        said("Pay."),
        {"kind": "message", "message": {"role": "assistant", "content": [call], "stop_reason": "tool_use"}},
        {"kind": "tool_start", "tool_call_id": "call_1", "tool_name": "pay", "arguments": {}, "idempotency_key": "a/1/call_1"},
        {
            "kind": "tool_answer",
            "tool_call_id": "call_1",
            "result": {"content": [{"type": "text", "text": "paid"}], "details": None, "terminate": False},
            "is_error": False,
        },
    ]
    async with session.open() as open:
        await open.append(records)
    subject = agent(says("Done."), session=session)
    assert subject.interrupted.calls[0].progress.result["content"] == [{"type": "text", "text": "paid"}]
    await subject.prompt("And now?")
    assert (results(subject), texts(subject)) == (["paid"], ["Pay.", "", "paid", "And now?", "Done."])


async def test_an_export_that_is_refused_closes_its_session(store):
    before = agent(says("Yes."))
    await before.prompt("Rain in Oslo?")
    session = await store.session("a").open()
    for given in (store.session("b"), session):
        # The exception refers to the agent.
        with pytest.raises(InvalidArgumentError, match="the export cannot be read") as caught:
            Agent.from_export("{}", scripted(), session=given)
        after = Agent.from_export(before.export(), scripted(), session=store.session(given.id))
        assert (texts(after), caught.value.kind) == (TEXTS[:2], "invalid_argument")
        await after.session.close()


@pytest.mark.parametrize("kind", ["custom", "async"])
async def test_a_store_of_the_program_needs_an_open_session(kind, tmp_path):
    store = open_store(kind, tmp_path)
    with pytest.raises(InvalidArgumentError, match=r'open the session first, .* store\.session\("a"\)\.open\(\)'):
        agent(says("Yes."), session=store.session("a"))
    session = await store.session("a").open()
    await agent(says("Yes."), session=session).prompt("Rain in Oslo?")
    await session.close()
    async with store.session("a").open() as open:
        assert [message.text for message in open.messages] == TEXTS[:2]


@pytest.mark.parametrize("kind", ["custom", "async"])
def test_found_a_store_of_the_program_needs_an_open_session_without_a_loop_too(kind, tmp_path):
    with pytest.raises(InvalidArgumentError, match=r'open the session first, as in session=store\.session\("a"\)\.open_sync\(\)'):
        agent(says("Yes."), session=open_store(kind, tmp_path).session("a"))


def test_found_a_constructor_waits_for_a_server_only_where_no_event_loop_runs():
    session = Store.open("postgres://a@127.0.0.1:1/b").session("a")

    async def in_a_loop():
        with pytest.raises(InvalidArgumentError, match=r'as in session=await store\.session\("a"\)\.open\(\)'):
            agent(says("Yes."), session=session)

    asyncio.run(in_a_loop())
    # There is no server.
    with pytest.raises(AgentIOError):
        agent(says("Yes."), session=session)


async def test_what_is_no_session_is_refused(store):
    with pytest.raises(TypeError, match='option "session": expected a Session or an OpenSession, got str'):
        agent(session="agents.db")
    with pytest.raises(TypeError, match='option "session": an opening that is not awaited'):
        agent(session=store.session("a").open())
    with pytest.raises(InvalidArgumentError, match="messages: the session has the conversation"):
        agent(session=store.session("a"), messages=[UserMessage("Hello.")])
    # It was given back.
    session = await store.session("a").open()
    subject = agent(session=session)
    with pytest.raises(InvalidStateError, match="an agent has, or had, the conversation of this open session"):
        agent(session=session)
    with pytest.raises(InvalidArgumentError, match='option "session" is not a plain value; use the constructor'):
        subject.set_options(session=session)
    model = {"provider": "scripted", "id": "s", "script": []}
    kept = store.session("kept")
    for start in (lambda: run({}, "Hello.", model=model, session=kept), lambda: complete(model, "Hello.", session=kept)):
        with pytest.raises(InvalidArgumentError, match='option "session": a run without an agent has no conversation'):
            await start()
    assert [one.id for one in (await store.list()).sessions] == ["a"]
    assert agent().session is None


PROGRAM = """
    import asyncio, os, signal, sys
    from agent_loop import Store, tool
    from scripts import agent, calls, says

    @tool
    async def pay(n: int):
        '''Pays.'''
        if n == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"paid {n}"

    store = Store.open(sys.argv[1])
    asyncio.run(agent(calls("pay", {"n": 1}, {"n": 2}), says("Done."), tools=[pay], tool_execution="sequential",
                      session=store.session("a")).prompt("Pay."))
"""


@pytest.mark.parametrize("address", ["sqlite:{}/agents.db", "jsonl:{}/sessions"])
async def test_a_run_whose_process_was_killed_goes_on(address, tmp_path):
    address = address.format(tmp_path)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    program = [sys.executable, "-c", textwrap.dedent(PROGRAM), address]
    killed = subprocess.run(program, capture_output=True, text=True, timeout=60, env=environment)
    assert (killed.returncode, killed.stderr) == (-signal.SIGKILL, "")

    subject = agent(says("Done."), session=Store.open(address).session("a"))
    interrupted = subject.interrupted
    assert (interrupted.of, interrupted.phase) == ("prompt", "tools")
    states = [(call.tool_call_id, call.progress.state) for call in interrupted.calls]
    assert (states, texts(subject)[-1]) == ([("call_1", "started")], "paid 1")
    assert (interrupted.calls[0].idempotency_key, interrupted.calls[0].arguments) == ("a/1/call_1", {"n": 2})
    result = await subject.resume()
    assert (result.text, subject.interrupted) == ("Done.", None)
    assert "not known" in results(result)[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_the_child_of_a_fork_writes_nothing(tmp_path):
    subject = agent(says("Yes."), session=Store.open(str(tmp_path / "agents.db")).session("a"))
    subject.append_message(UserMessage("one"))
    pid = os.fork()
    if pid == 0:
        try:
            subject.append_message(UserMessage("two"))
        except InvalidStateError as error:
            os._exit(0 if "forked" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    subject.append_message(UserMessage("three"))
    subject.session.close_sync()
    again = agent(session=Store.open(str(tmp_path / "agents.db")).session("a"))
    assert texts(again) == ["one", "three"]


async def test_a_follower_joins_in_the_middle_of_an_answer(store):
    go_on = asyncio.Event()

    async def provider(request):
        yield "It is "
        await go_on.wait()
        yield "raining."

    class Page:
        def __init__(self):
            self.follow, self.records, self.text, self.whole = store.session("a").follow(live=True), [], "", []

        async def until(self, is_so):
            while not is_so():
                item = await self.follow.__anext__()
                if "event" not in item:
                    self.records.append(item["kind"])
                    if item["kind"] == "message":
                        self.whole.append(item["message"]["content"][0]["text"])
                    continue
                assert item["after"] == len(self.records)
                event = item["event"]
                if event["type"] == "message_start":
                    self.text = "".join(block["text"] for block in event["message"]["content"])
                self.text += event.get("delta", "")

    subject = Agent("own/model", provider=provider, session=store.session("a"))
    prompted = asyncio.create_task(subject.prompt("Rain?"))
    first, second = Page(), Page()
    await first.until(lambda: first.text == "It is ")
    await second.until(lambda: second.text == "It is ")
    go_on.set()
    for page in first, second:
        await page.until(lambda page=page: page.records[-1:] == ["run_end"])
        assert (page.text, page.whole) == ("It is raining.", ["Rain?", "It is raining."])
        assert page.records == ["session", "run_start", "message", "message", "run_end"]
    await prompted
    with pytest.raises(TypeError):
        store.session("a").follow(live="yes")


def test_a_run_that_is_over_has_records_only(store):
    subject = agent(says("Yes."), session=store.session("a"))
    subject.prompt_sync("Rain in Oslo?")
    followed = islice(store.session("a").follow_sync(after=1, live=True), 4)
    assert [item["kind"] for item in followed] == ["run_start", "message", "message", "run_end"]
