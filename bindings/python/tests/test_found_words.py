"""Errors in the user's words: what was wrong, where, and what was expected, without a parser's terms."""

import pytest
from agent_loop import Agent, AssistantMessage, ImageBlock, InvalidArgumentError, TextBlock, TextDelta, ToolCall, UserMessage
from scripts import agent, says

JARGON = ("enum", "invalid type", "variant", "missing field", "sequence", " map", "struct", "EOF", "u64", "i64", "`", "base")


def test_found_p6_a_message_is_made_of_its_text():
    assert UserMessage("hi").content[0].text == "hi"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: UserMessage(7), "UserMessage: user message: content: expected an array of blocks or text, got 7"),
        (
            lambda: UserMessage([7]),
            'UserMessage: user message: content[0]: expected a block such as {"type": "text", "text": "…"}, got 7',
        ),
        (
            lambda: UserMessage([{"text": "hi"}]),
            "UserMessage: user message: content[0]: type is missing; the types of blocks are text, thinking, image, tool_call, "
            "opaque",
        ),
        (
            lambda: UserMessage([{"type": "text"}]),
            "UserMessage: user message: content[0]: text block: text is missing",
        ),
        (
            lambda: UserMessage("hi", timestamp="now"),
            'UserMessage: user message: timestamp: expected a whole number of at least 0, got "now"',
        ),
        (lambda: TextBlock(7), "TextBlock: text: expected text, got 7"),
        (lambda: ImageBlock("aGk=", mime_type=3), "ImageBlock: mime_type: expected text, got 3"),
        (lambda: ToolCall("x", id="c", arguments=[1]), "ToolCall: arguments: expected an object, got an array"),
        (lambda: TextDelta(7, content_index=0), "TextDelta: delta: expected text, got 7"),
        (
            lambda: AssistantMessage("hi", error={"kind": "io"}),
            "AssistantMessage: assistant message: error: message is missing",
        ),
        (
            lambda: Agent({"provider": "openai", "id": "m", "cost": {"tiers": [{}]}}),
            "model: cost: tiers[0]: above is missing",
        ),
    ],
)
def test_found_p6_a_wrong_field_is_named(make, text):
    with pytest.raises(InvalidArgumentError) as caught:
        make()
    assert str(caught.value) == text


@pytest.mark.parametrize(
    "prompt",
    [
        [7],
        ["hi", 7],
        {"content": "hi"},
        {"role": "user"},
        {"role": "user", "content": {}},
        {"role": "user", "content": [[]]},
        {"role": "user", "content": "hi", "timestamp": -1},
        {"role": "assistant", "content": "hi", "usage": 3},
        {"role": "assistant", "content": "hi", "usage": {"cost": "much"}},
        {"role": "assistant", "content": "hi", "stop_reason": "done"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "n"}]},
        {"role": "assistant", "content": [{"type": "tool_call", "id": "c", "name": "n", "arguments": "{}"}]},
        {"role": "tool_result", "content": "hi"},
        {"role": "tool_result", "tool_call_id": "c", "content": "hi", "is_error": "yes"},
    ],
)
async def test_found_p6_no_prompt_is_refused_in_a_parser_s_words(prompt):
    with pytest.raises(InvalidArgumentError) as caught:
        await agent(says("never")).prompt(prompt)
    text = str(caught.value)
    assert not [word for word in JARGON if word in text], text
    for history in ([prompt], prompt):
        with pytest.raises((InvalidArgumentError, TypeError)) as caught:
            agent(says("never"), messages=history)
        assert not [word for word in JARGON if word in str(caught.value)], caught.value


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("localhost:8080/v1", "it does not begin with http:// or https://"),
        ("api.example.com/v1", "it does not begin with http:// or https://"),
        ("http://", "it has no host"),
        ("http://host:port/v1", "its port is not a number up to 65535"),
    ],
)
def test_found_p6_an_address_that_cannot_be_used_says_why(address, why):
    with pytest.raises(InvalidArgumentError) as caught:
        Agent("openai/gpt-5", base_url=address)
    assert str(caught.value) == f'base_url "{address}": {why}; give an address such as "http://127.0.0.1:8080/v1"'
