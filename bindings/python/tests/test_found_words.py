"""Errors in the user's words: what was wrong, where, and what was expected, without a parser's terms."""

import pytest
from agent_loop import (
    Agent,
    AssistantMessage,
    Cost,
    CustomMessage,
    ImageBlock,
    InvalidArgumentError,
    RunResult,
    TextBlock,
    TextDelta,
    ToolCall,
    ToolContext,
    Undelivered,
    Usage,
    UserMessage,
    tool,
    transcript,
)
from agent_loop.testing import check_events
from scripts import agent, calls, results, says

JARGON = ("enum", "invalid type", "variant", "missing field", "sequence", " map", "struct", "EOF", "u64", "i64", "`", "base")


def test_found_p6_a_message_is_made_of_its_text():
    assert UserMessage("hi").content[0].text == "hi"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: UserMessage(7), "UserMessage: user message: content: expected a list of blocks or text, got 7"),
        (
            lambda: UserMessage([7]),
            'UserMessage: user message: content[0]: expected a block such as {"type": "text", "text": "…"}, got 7',
        ),
        (
            lambda: UserMessage([{"text": "hi"}]),
            "UserMessage: user message: content[0]: type is missing; the types of blocks are text, thinking, image, "
            "document, audio, tool_call, opaque",
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
        (lambda: ToolCall("x", id="c", arguments=[1]), "ToolCall: arguments: expected a dict, got a list"),
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


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Usage(input="x"), "Usage: input: expected a whole number of at least 0, got str"),
        (lambda: Usage(total=1.5), "Usage: total: expected a whole number of at least 0, got float"),
        (lambda: Usage(cost=3), "Usage: cost: expected a Cost, got int"),
        (lambda: Cost(output="x"), "Cost: output: expected a number, got str"),
        (lambda: RunResult(outcome=3), "RunResult: outcome: expected text, got int"),
        (lambda: RunResult(messages=3), "RunResult: messages: expected a list of messages, got int"),
        (lambda: RunResult(usage={}), "RunResult: usage: expected a Usage, got dict"),
        (lambda: RunResult(turns="x"), "RunResult: turns: expected a whole number of at least 0, got str"),
        (lambda: RunResult(error="x"), "RunResult: error: expected an AgentError, got str"),
        (lambda: RunResult(undelivered=[]), "RunResult: undelivered: expected an Undelivered, got list"),
        (lambda: Undelivered(steering=3), "Undelivered: steering: expected a list of messages, got int"),
        (lambda: ImageBlock(3), "ImageBlock: data: expected bytes, or text in base64, got int"),
        (lambda: ImageBlock.from_path(3), "path: expected a str or an os.PathLike, got int"),
        (lambda: ImageBlock.from_path("x", mime_type=3), "mime_type: expected text, got int"),
        (lambda: CustomMessage(3), "CustomMessage: role: expected text, got int"),
        (lambda: transcript.recent([], "x"), "count: expected a whole number of at least 0, got str"),
        (lambda: transcript.recent(3, 1), "messages: expected a list of messages, got int"),
        (lambda: check_events(3), "events: expected a list of events, got int"),
        (lambda: agent(says("x")).set_hook(3, None), "name: expected text, got int"),
        (lambda: agent(says("x")).set_provider(3, None), "name: expected text, got int"),
    ],
)
def test_found_p6_a_type_error_names_the_parameter(make, text):
    with pytest.raises(TypeError) as caught:
        make()
    assert str(caught.value) == text
    # PyO3 adds where it was, in its own words.
    assert not getattr(caught.value, "__notes__", None)


def test_found_p6_a_number_that_does_not_fit_and_a_missing_file_are_named():
    with pytest.raises(ValueError, match="^Usage: output: expected a whole number of at least 0, got -1$"):
        Usage(output=-1)
    with pytest.raises(ValueError, match="^RunResult: turns: the number is too large$"):
        RunResult(turns=2**40)
    with pytest.raises(FileNotFoundError) as caught:
        ImageBlock.from_path("no/such.png")
    assert caught.value.filename == "no/such.png"
    assert Usage(input=None) == Usage() and Cost(total=None) == Cost()


async def test_found_p6_a_wrong_time_to_sleep_is_named():
    caught = []

    @tool
    async def work(context: ToolContext) -> str:
        for ms in ("x", None, -1, float("nan")):
            with pytest.raises((TypeError, ValueError)) as error:
                await context.sleep(ms)
            caught.append(str(error.value))
        return "done"

    await agent(calls("work"), says("end"), tools=[work]).prompt("go")
    assert caught == [
        "ms: expected a number, got str",
        "ms: expected a number, got NoneType",
        "ms: expected milliseconds, got -1",
        "ms: expected milliseconds, got nan",
    ]


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([7], "events[0]: expected an event, a dict with a type, got 7"),
        ([{}], "events[0]: expected an event, a dict with a type, got {}"),
        ([{"type": "x"}], 'events[0] (x): unknown type "x"'),
        ([], "events: the last event must be agent_end"),
    ],
)
def test_found_p6_what_is_no_event_is_named(events, text):
    with pytest.raises(InvalidArgumentError) as caught:
        check_events(events)
    assert str(caught.value) == text


async def test_found_p6_a_tools_result_that_is_not_json_is_named_so():
    @tool
    async def cities():
        """Cities."""
        return {"Oslo"}

    @tool
    def photo():
        """A photo, made on a thread."""
        return b"x"

    subject = agent(calls("cities"), calls("photo"), says("done"), tools=[cities, photo])
    known = "is not JSON (str, int, float, bool, None, list, dict)"
    assert results(await subject.prompt("go")) == [
        f"TypeError: the tool's result: a value of type set {known}",
        f"TypeError: the tool's result: a value of type bytes {known}",
    ]


@pytest.mark.parametrize("name", ["steer", "follow_up", "clear_steering_queue", "resume_ui"])
def test_found_p6_a_wrong_argument_names_the_agents_method(name):
    with pytest.raises(TypeError, match=rf"^Agent\.{name}\(\) got an unexpected keyword argument 'max_turns'"):
        getattr(agent(says("ok")), name)(max_turns=3)


def test_found_p6_messages_that_are_set_name_the_method():
    class Mine(Agent):
        pass

    class Kept(Agent):
        messages = ()

    text = "an agent's messages are not set; use replace_messages, as in agent.replace_messages([])"
    for kind in (Agent, Mine):
        with pytest.raises(AttributeError) as caught:
            kind("openai/x").messages = []
        assert str(caught.value) == text
    kept = Kept("openai/x")
    kept.messages = [1]
    assert kept.messages == [1]


def test_found_p6_the_help_of_an_agent_says_how_to_leave_a_run():
    assert "`prompt_sync` and" not in Agent.__doc__ and "those named `…_sync` are for code without one" in Agent.__doc__
    assert 'with agent.stream_sync("Hello") as run:' in Agent.stream_sync.__doc__
