"""Messages, blocks and usage as typed objects."""

import json
import pickle

import agent_loop
import pytest
from agent_loop import (
    AssistantMessage,
    CustomMessage,
    ImageBlock,
    InvalidArgumentError,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolContext,
    ToolResultMessage,
    UserMessage,
    tool,
)
from scripts import CALCULATOR, Agent, agent, results, says

HISTORY = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "Look"}, {"type": "image", "data": "aGk=", "mime_type": "image/png"}],
        "timestamp": 1,
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
            {"type": "text", "text": "I see "},
            {"type": "text", "text": "it"},
            {"type": "tool_call", "id": "c1", "name": "zoom", "arguments": {"z": 1, "a": [True, None, 1.5]}},
            {"type": "opaque", "protocol": "anthropic", "data": {"any": "thing"}},
        ],
        "provider": "anthropic",
        "protocol": "anthropic",
        "model": "m",
        "usage": {
            **{"input": 10, "output": 5, "cache_read": 3, "cache_write": 2, "reasoning": 4, "total": 20},
            "cost": {"input": 0.5, "output": 0.25, "cache_read": 0.125, "cache_write": 0.125, "total": 1.5},
        },
        "stop_reason": "tool_use",
        "raw_stop_reason": "tool_use",
        "response_id": "msg_1",
        "timestamp": 2,
    },
    {
        "role": "tool_result",
        "tool_call_id": "c1",
        "tool_name": "zoom",
        "content": [{"type": "text", "text": "closer"}],
        "details": {"x": 2},
        "is_error": False,
        "timestamp": 3,
    },
    {"role": "note", "anything": ["of", "mine"]},
]


def history():
    return agent(messages=HISTORY).messages


def test_messages_have_the_class_of_their_role():
    user, assistant, result, note = history()
    assert [type(message) for message in history()] == [UserMessage, AssistantMessage, ToolResultMessage, CustomMessage]
    assert [message.role for message in history()] == ["user", "assistant", "tool_result", "note"]
    assert (user.text, user.timestamp, user.content[1].mime_type) == ("Look", 1, "image/png")
    assert (assistant.text, assistant.provider, assistant.protocol, assistant.model) == (
        "I see it",
        "anthropic",
        "anthropic",
        "m",
    )
    assert (assistant.stop_reason, assistant.raw_stop_reason, assistant.response_id) == ("tool_use", "tool_use", "msg_1")
    assert assistant.error is None
    assert [call.name for call in assistant.tool_calls] == ["zoom"]
    assert (result.tool_call_id, result.tool_name, result.details, result.is_error) == ("c1", "zoom", {"x": 2}, False)
    assert note.data == {"role": "note", "anything": ["of", "mine"]}


def test_blocks_have_the_class_of_their_type():
    blocks = history()[0].content[1:] + history()[1].content
    assert [type(block) for block in blocks] == [ImageBlock, ThinkingBlock, TextBlock, TextBlock, ToolCall, OpaqueBlock]
    image, thinking, text, _, call, opaque = blocks
    assert [block.type for block in blocks] == ["image", "thinking", "text", "text", "tool_call", "opaque"]
    assert image.data == "aGk="
    assert (thinking.thinking, thinking.signature, thinking.redacted) == ("Hm", "c2ln", False)
    assert (text.text, text.signature) == ("I see ", None)
    assert (call.id, call.arguments, call.raw_arguments) == ("c1", {"z": 1, "a": [True, None, 1.5]}, None)
    assert list(call.arguments) == ["z", "a"]
    assert (opaque.protocol, opaque.data) == ("anthropic", {"any": "thing"})


def test_usage_has_its_parts():
    usage = history()[1].usage
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning, usage.total)
    assert counts == (10, 5, 3, 2, 4, 20)
    assert (usage.cost.input, usage.cost.output, usage.cost.cache_read, usage.cost.cache_write) == (0.5, 0.25, 0.125, 0.125)
    assert usage.cost.total == 1.5
    assert repr(usage).startswith("Usage(input=10, output=5, cache_read=3, cache_write=2, reasoning=4, total=20, cost={")
    assert repr(usage.cost).startswith("Cost(input=0.5, ")


def test_a_saved_conversation_is_the_same_again():
    saved = json.dumps([message.to_dict() for message in history()])
    assert json.loads(saved) == HISTORY
    again = agent(messages=json.loads(saved)).messages
    assert again == history()
    assert "".join(message.to_json() for message in again) == "".join(json.dumps(m, separators=(",", ":")) for m in HISTORY)
    # Messages are accepted as well as dicts.
    assert agent(messages=history()).messages == history()


def test_equality_is_by_value():
    first, second = history(), history()
    assert first[1] == second[1] and first[1] is not second[1]
    assert first[1].content == second[1].content
    assert first[1].usage == second[1].usage and first[1].usage.cost == second[1].usage.cost
    assert first[0] != first[1] and first[0] != "Look"
    assert first[1].content[1] != first[1].content[2]


def test_messages_match_patterns():
    match history():
        case (UserMessage([TextBlock(text), ImageBlock(_, mime)]), AssistantMessage(content), ToolResultMessage(name), _):
            assert (text, mime, name) == ("Look", "image/png", "zoom")
            match content[3]:
                case ToolCall("zoom", {"z": z}):
                    assert z == 1
                    return
    pytest.fail("no pattern matched")


def test_messages_are_frozen_and_have_a_repr():
    user = history()[0]
    with pytest.raises(AttributeError):
        user.timestamp = 5
    assert repr(user).startswith("UserMessage(content=[{'type': 'text', 'text': 'Look'}, ")
    assert repr(user.content[0]) == "TextBlock(text='Look')"
    with pytest.raises(TypeError):
        hash(user)


async def test_every_form_of_a_prompt():
    subject = agent(*[says("ok")] * 6)
    message = {"role": "user", "content": "a message"}
    prompts = [
        "text",
        message,
        [message, {"role": "note", "text": "mine"}],
        [{"type": "text", "text": "blocks"}, {"type": "image", "data": "aGk=", "mime_type": "image/png"}],
        history()[0],
        [*history()[0].content],
    ]
    added = [(await subject.prompt(prompt)).messages[:-1] for prompt in prompts]
    assert [[(m.role, m.text) for m in messages] for messages in added] == [
        [("user", "text")],
        [("user", "a message")],
        [("user", "a message"), ("note", "")],
        [("user", "blocks")],
        [("user", "Look")],
        [("user", "Look")],
    ]
    assert added[4][0].timestamp == 1, "a message keeps its time"


@pytest.mark.parametrize(
    ("prompt", "error", "text"),
    [
        (5, InvalidArgumentError, "prompt: expected text, a message or a list of messages, got 5"),
        ([], InvalidArgumentError, "prompt: the list is empty; give at least one message"),
        ({"role": 1}, InvalidArgumentError, 'prompt: role: expected a word such as "user", got 1'),
        ([{"type": "txt"}], InvalidArgumentError, 'prompt: content[0]: unknown type "txt"; did you mean "text"?'),
        (object(), TypeError, "prompt: a value of type object is not JSON (str, int, float, bool, None, list, dict)"),
        ([{"type": "text", "text": b"x"}], TypeError, "prompt: at /0/text: a value of type bytes is not JSON"),
        ({"role": "user", 3: "x"}, TypeError, "prompt: the key 3 is not a str"),
    ],
)
async def test_a_wrong_prompt_is_named(prompt, error, text):
    subject = agent(says("never"))
    with pytest.raises(error) as caught:
        await subject.prompt(prompt)
    assert str(caught.value).startswith(text)
    assert not subject.is_streaming and subject.messages == ()


def test_wrong_messages_say_which_one():
    with pytest.raises(InvalidArgumentError) as caught:
        agent(messages=[HISTORY[0], {"role": "user"}])
    assert str(caught.value) == 'option "messages": [1]: user message: content is missing'


async def test_half_a_character_becomes_the_replacement_character_wherever_text_comes_in():
    half = "half \ud83d"

    @tool
    async def fails():
        """Fails."""
        raise ValueError(half)

    @tool
    async def answers(where: str, context: ToolContext):
        """Answers."""
        context.update({half: [half]})
        return {"text": half + where}

    requests = []

    async def provider(request):
        requests.append(request)
        if len(requests) > 1:
            yield half
            return
        yield {"tool_call": {"id": "a", "name": "answers", "arguments": {"where": half}}}
        yield {"tool_call": {"id": "b", "name": "answers", "arguments": '{"where": "\\ud83d"}'}}
        yield {"tool_call": {"id": "c", "name": "fails", "arguments": {}}}

    def listener(event):
        if event.type == "turn_start":
            raise ValueError(half)

    subject = Agent(
        "acme/m",
        provider=provider,
        system_prompt=half,
        tools=[answers, fails],
        messages=[{"role": "user", "content": half}, {"role": "assistant", "content": [{"type": "text", "text": half}]}],
    )
    subject.subscribe(listener)
    subject.follow_up(half)
    result = await subject.prompt([{"type": "text", "text": half}])
    assert results(result) == ['{"text":"half �half �"}', '{"text":"half ��"}', "ValueError: half �"]
    assert (result.text, requests[0].system_prompt) == ("half �", "half �")
    assert [message.text for message in subject.messages if message.role == "user"] == ["half �", "half �", "half �"]
    assert subject.listener_errors == 3

    run = agent_loop.run({"system_prompt": half, "messages": []}, half, model="acme/m", provider=provider)
    run.steer(half)
    assert (await run.result()).text == "half �"
    assert requests[-1].system_prompt == "half �"


async def test_two_halves_of_a_character_are_joined():
    result = await agent(says("ok")).prompt("\ud83d\ude00")
    assert result.messages[0].text == "😀"


async def test_an_error_may_contain_unpaired_surrogates():
    async def provider(request):
        raise ValueError("half \ud83d")
        yield

    with pytest.raises(agent_loop.ProviderError) as caught:
        await Agent("acme/m", provider=provider, max_retries=0).prompt("x")
    assert str(caught.value) == "ValueError: half �"

    def hook(prompts):
        raise ValueError("half \ud83d")

    with pytest.raises(agent_loop.CallbackError, match="half �"):
        await agent(says("ok"), before_run=hook).prompt("x")


async def test_the_scenario_has_its_price():
    result = await Agent({**CALCULATOR, "script": [says("hi")[:1] + [{"end": {"usage": {"input": 1_000_000}}}]]}).prompt("x")
    assert result.usage.cost.total == 1.0


def test_found_e13_messages_are_made_with_id_and_metadata_and_no_other_field():
    made = UserMessage("hi", id="m1", metadata={"k": [1]})
    assert (made.id, made.metadata) == ("m1", {"k": [1]})
    assert pickle.loads(pickle.dumps(made)) == made
    assert AssistantMessage("hi").id is None
    with pytest.raises(InvalidArgumentError, match='unknown field "name"; a message has no name'):
        UserMessage("hi", name="Ann")
