"""Transcript repair."""

import json

import pytest
from agent_loop import InvalidArgumentError, transcript
from scripts import agent, says


def call(id):
    return {"type": "tool_call", "id": id, "name": "t", "arguments": {}}


TRANSCRIPT = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "stop_reason": "error", "content": [call("f")]},
    {"role": "tool_result", "tool_call_id": "f", "tool_name": "t", "content": "without a call"},
    {"role": "note", "by": "me"},
    {"role": "assistant", "content": [call("a b")]},
]


def test_a_failed_message_an_orphan_and_a_foreign_id_are_repaired_and_reported():
    repaired = transcript.repair(TRANSCRIPT, "anthropic/claude-sonnet-4-5")
    user, assistant, result = repaired.messages
    assert (user.text, assistant.tool_calls[0].id) == ("hi", "a_b")
    assert (result.tool_call_id, result.is_error) == ("a_b", True)
    assert [(one.code, one.message_index, one.content_index) for one in repaired.repairs] == [
        ("failed_message", 1, None),
        ("stray_result", 2, None),
        ("call_id", 4, 0),
        ("missing_result", 4, 0),
    ]
    text = 'the call id "a b" became "a_b"'
    assert repaired.repairs[2].to_dict() == {"code": "call_id", "message_index": 4, "content_index": 0, "text": text}
    assert repr(repaired) == "<Repaired: 3 messages, 4 repairs>"
    match repaired.repairs[2]:
        case transcript.Repair("call_id", repaired_text):
            assert repaired_text == text
        case other:
            pytest.fail(repr(other))

    assert tuple(transcript.check(TRANSCRIPT, {"provider": "anthropic", "id": "any"})) == repaired.repairs
    assert transcript.check(repaired.messages, "anthropic/claude-sonnet-4-5") == []


async def test_an_agents_messages_are_accepted_and_shared():
    subject = agent(says("hello"))
    await subject.prompt("hi")
    assert transcript.repair(subject.messages, "groq/m").messages == subject.messages
    assert transcript.check([json.loads(message.to_json()) for message in subject.messages], "groq/m") == []


@pytest.mark.parametrize(
    ("messages", "model", "text"),
    [
        ([], "gpt", 'model "gpt": expected "provider/id"'),
        ([], {"provider": "groq", "id": "m", "qirks": {}}, 'unknown model field "qirks"; did you mean "quirks"?'),
        ([], {"provider": "groq", "id": "m", "quirks": {"call_ids": "none"}}, 'model: quirks: call_ids: unknown value "none"'),
        ([{"role": "user"}], "groq/m", "messages[0]: user message: content is missing"),
    ],
)
def test_a_wrong_model_or_message(messages, model, text):
    for function in (transcript.repair, transcript.check):
        with pytest.raises(InvalidArgumentError) as caught:
            function(messages, model)
        assert str(caught.value).startswith(text)


def test_messages_are_a_list():
    with pytest.raises(TypeError, match="messages: expected a list of messages, got str"):
        transcript.check("hi", "groq/m")


def test_found_d1_a_call_is_never_cut_from_its_result():
    call = {"type": "tool_call", "id": "a", "name": "t", "arguments": {}}
    messages = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "one"},
        {"role": "user", "content": "second"},
        {"role": "assistant", "content": [call]},
        {"role": "tool_result", "tool_call_id": "a", "tool_name": "t", "content": "result"},
    ]
    for count in range(7):
        recent = transcript.recent(messages, count)
        assert recent == (messages if count >= 5 else messages[2:])
        assert all(any(one is kept for kept in messages) for one in recent)
    assert transcript.recent([], 3) == []
    with pytest.raises(TypeError):
        transcript.recent(None, 3)


def test_found_e13_a_stored_history_keeps_what_is_unknown_in_its_metadata():
    stored = [
        {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {}}], "name": "Ann", "id": 7},
        {"role": "assistant", "content": "x", "tool_calls": [{}], "metadata": {"k": 1}, "id": "m"},
        {"role": "assistant", "content": "y", "id": "m"},
    ]
    messages = transcript.read_history(json.dumps(stored))
    assert [message.metadata for message in messages] == [
        {"unknown": {"name": "Ann", "id": 7, "content[0]": {"cache_control": {}}}},
        {"k": 1, "unknown": {"tool_calls": [{}]}},
        {"unknown": {"id": "m"}},
    ]
    assert [message.id for message in messages] == [None, "m", None]
    assert transcript.read_history(stored) == messages == transcript.read_history(messages)
    assert [one.code for one in transcript.check(messages, "groq/m")] == ["unknown_field"] * 3
    assert transcript.check(stored[:2], "groq/m") == transcript.check(messages[:2], "groq/m")
    # What was read is taken by a call.
    one = agent(says("hello"), messages=messages)
    one.append_message({"role": "user", "content": "go", "id": "n", "metadata": {"k": [1]}})
    assert (one.messages[3].id, one.messages[3].metadata) == ("n", {"k": [1]})
    for message, text in [
        (stored[1], "assistant message: unknown field \"tool_calls\"; a model's calls are blocks"),
        ({"role": "system", "content": "x"}, 'the role "system" is of another format; use the system prompt'),
        ({"role": "user", "content": "x", "id": "m"}, "the id \"m\" is another message's already"),
    ]:
        with pytest.raises(InvalidArgumentError, match=text):
            one.append_message(message)
    with pytest.raises(InvalidArgumentError, match="history: expected a list of messages"):
        transcript.read_history("{}")
