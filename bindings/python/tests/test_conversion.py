"""Transcripts of other programs."""

import json

import pytest
from agent_loop import LOSS_CODES, InvalidArgumentError, transcript
from scripts import agent, says

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Rain in Oslo?", "name": "Ann"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": "rain"},
    {"role": "assistant", "content": "Yes."},
]
FORMATS = ["openai", "openai_responses", "anthropic", "gemini", "ai_sdk", "pi"]


def test_openais_messages_come_in_and_go_out():
    read = transcript.from_openai(CHAT)
    assert (read.system_prompt, read.losses) == ("Be brief.", ())
    user, call, result, answer = read.messages
    assert (user.text, user.metadata) == ("Rain in Oslo?", {"openai_chat": {"name": "Ann"}})
    assert (call.tool_calls[0].arguments, result.tool_name, answer.text) == ({"city": "Oslo"}, "weather", "Yes.")
    written = transcript.to_openai(read.messages, system_prompt=read.system_prompt)
    assert (written.messages, written.losses) == (CHAT, ())
    assert transcript.import_messages("openai_chat", json.dumps(CHAT)) == read
    assert repr(read) == "<Imported: 4 messages, 0 losses>"
    assert repr(written) == "<Exported: 5 messages, 0 losses>"


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_has_two_functions(name):
    messages = transcript.from_openai(CHAT[2:]).messages
    written = getattr(transcript, f"to_{name}")(messages)
    again = getattr(transcript, f"from_{name}")(written.messages)
    assert [message.text for message in again.messages] == ["", "rain", "Yes."]
    assert again.messages[0].tool_calls[0].arguments == {"city": "Oslo"}
    assert written.losses == again.losses == ()


def test_losses_are_reported():
    video = {"type": "video_url", "video_url": {"url": "https://example.com/cat.mp4"}}
    (loss,) = transcript.from_openai([*CHAT, {"role": "user", "content": [video]}]).losses
    assert (loss.index, loss.code) == (5, "file")
    assert loss.code in LOSS_CODES
    assert loss.to_dict() == {"index": 5, "code": "file", "message": loss.message}
    written = transcript.to_anthropic([{"role": "note"}], system_prompt="Be brief.")
    assert [one.code for one in written.losses] == ["system_prompt", "custom_message"]


async def test_what_was_read_is_taken_by_an_agent():
    read = transcript.from_anthropic(
        [{"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}],
        model="anthropic/claude-sonnet-4-5",
    )
    message = read.messages[0]
    assert (message.provider, message.protocol, message.model) == ("anthropic", "anthropic", "claude-sonnet-4-5")
    one = agent(says("hello"), messages=transcript.from_openai(CHAT).messages)
    await one.prompt("Thanks")
    assert transcript.to_openai(one.messages).messages[-1] == {"role": "assistant", "content": "hello"}


def test_objects_of_the_vendors_packages_are_read():
    class Model:
        def __init__(self, **fields):
            self.fields = fields

        def model_dump(self, *, mode, exclude_none):
            assert mode == "json" and exclude_none
            return self.fields

    read = transcript.from_anthropic([{"role": "assistant", "content": [Model(type="text", text="hi")]}])
    assert read.messages[0].text == "hi"


def test_pi_s_lines_are_read():
    lines = "\n".join(json.dumps(entry) for entry in transcript.to_pi(transcript.from_openai(CHAT).messages).messages)
    assert [message.text for message in transcript.from_pi(lines).messages] == ["Rain in Oslo?", "", "rain", "Yes."]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: transcript.from_openai([{"content": "x"}]), "messages: /0: role is missing"),
        (lambda: transcript.from_openai([{"role": "tool", "content": 5}]), "messages: /0/content: expected text or a list of"),
        (lambda: transcript.import_messages("antropic", []), 'format: unknown format "antropic"; did you mean "anthropic"?'),
        (lambda: transcript.from_openai([], model="gpt"), 'model "gpt": expected "provider/id"'),
        (lambda: transcript.to_openai([{"role": "user"}]), "messages[0]: user message: content is missing"),
    ],
)
def test_what_is_wrong_is_refused(call, text):
    with pytest.raises(InvalidArgumentError) as caught:
        call()
    assert str(caught.value).startswith(text)


def test_a_refused_message_names_its_converter():
    with pytest.raises(InvalidArgumentError, match=r'transcript import reads such messages \(format "openai_chat"\)'):
        agent(says("hello")).append_message({"role": "tool", "content": "x"})
    with pytest.raises(InvalidArgumentError, match=r'transcript import reads such messages \(format "anthropic"\)'):
        agent(says("hello")).append_message({"role": "user", "content": [{"type": "tool_result"}]})
