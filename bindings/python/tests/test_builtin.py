"""Built-in tools, as Python's agents have them; the rules are in the tests of the core."""

import pytest
from agent_loop import Agent, InvalidArgumentError, InvalidStateError
from scripts import agent, calls, results, says


async def approved(subject: Agent):
    result = await subject.prompt("Go.")
    while result.outcome == "suspended":
        result = await subject.resume({call.tool_call_id: "approve" for call in result.pending})
    return result


async def test_an_agent_reads_and_edits_a_file_and_undoes_it(tmp_path):
    (tmp_path / "notes.txt").write_text("one\ntwo\n")
    subject = agent(
        calls("read_file", path="./notes.txt"),
        calls("edit_file", path="notes.txt", edits=[{"old_text": "two", "new_text": "2"}]),
        calls("write_file", path="new/file.txt", content="new"),
        says("Done."),
        builtin_tools={"tools": ["read_file", "edit_file", "write_file"], "root": str(tmp_path)},
    )
    await approved(subject)
    texts = [message.text for message in subject.messages if message.role == "tool_result"]
    assert texts == ["one\ntwo\n", "notes.txt: replaced 1 place, at line 2.", "new/file.txt: created, 3 bytes."]
    assert (tmp_path / "notes.txt").read_text() == "one\n2\n"

    removed = {"path": "new/file.txt", "action": "removed", "tool_call_id": "call_0"}
    restored = {"path": "notes.txt", "action": "restored", "tool_call_id": "call_0"}
    assert subject.undo_writes(5) == {"undone": [removed, restored], "refused": None}
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert (tmp_path / "notes.txt").read_text() == "one\ntwo\n"
    assert subject.messages[-1].role == "undo_writes"
    assert subject.undo_writes(5) == {"undone": [], "refused": None}


async def test_a_file_that_was_changed_since_is_refused(tmp_path):
    subject = agent(
        calls("write_file", path="a", content="1"),
        says("Done."),
        builtin_tools={"tools": ["write_file"], "root": str(tmp_path)},
    )
    assert results(await approved(subject)) == ["a: created, 1 bytes."]
    (tmp_path / "a").write_text("mine")
    assert subject.undo_writes(1) == {"undone": [], "refused": {"path": "a", "reason": "it was changed since"}}


def test_wrong_uses_are_errors():
    with pytest.raises(InvalidStateError, match="no built-in tools"):
        agent(says("Hi.")).undo_writes(1)
    with pytest.raises(InvalidArgumentError, match="count: expected a whole number from 0 on, got -1"):
        agent(says("Hi."), builtin_tools=["read_file"]).undo_writes(-1)
