"""Messages, blocks, events and results as values: made from their fields, compared, pickled, copied."""

import base64
import copy
import pickle
import subprocess
import sys

import agent_loop
import pytest
from agent_loop import (
    AgentEnd,
    AgentStart,
    AssistantMessage,
    AudioBlock,
    CallbackError,
    Cost,
    CustomMessage,
    DocumentBlock,
    Event,
    ImageBlock,
    InvalidArgumentError,
    Message,
    MessageUpdate,
    OpaqueBlock,
    PartialResult,
    RunResult,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ToolCall,
    ToolExecutionEnd,
    ToolOutput,
    ToolResultMessage,
    TurnEnd,
    Undelivered,
    Usage,
    UserMessage,
    tool,
    transcript,
)
from scripts import Agent, agent, calls, events_of, says, scripted

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

VALUES = [
    TextBlock("hi"),
    TextBlock("hi", signature="s"),
    ThinkingBlock("hm", redacted=True),
    ImageBlock(PNG),
    ImageBlock("aGk=", "image/png"),
    ImageBlock(url="https://h/cat.png"),
    DocumentBlock(b"hi", "text/plain", name="a.txt"),
    AudioBlock("aGk=", "audio/wav"),
    ToolCall("add", {"a": 1}, id="c"),
    OpaqueBlock("anthropic", {"x": [1, None]}),
    UserMessage("hi"),
    UserMessage([TextBlock("see"), ImageBlock(PNG)], timestamp=5),
    AssistantMessage("so", model="m", provider="p", usage=Usage(input=1, output=2), stop_reason="stop"),
    AssistantMessage([ToolCall("add", {}, id="c")], stop_reason="error", error=CallbackError("broken")),
    ToolResultMessage("add", "3", tool_call_id="c", details={"n": 3}),
    CustomMessage("note", data={"x": 1}),
    Usage(input=1, output=2, cost=Cost(input=0.5)),
    Cost(input=0.25, output=0.5),
    ToolOutput("done", details=[1], terminate=True),
    PartialResult("half"),
    RunResult(messages=[UserMessage("hi"), AssistantMessage("so")]),
    RunResult(outcome="error", error=CallbackError("broken")),
    Undelivered(steering=[UserMessage("wait")]),
    TextDelta("hi", content_index=0),
    AgentStart(run_id="r", seq=3, turn=2),
    ToolExecutionEnd("add", ToolOutput("3"), False, tool_call_id="c", duration_ms=5),
    TurnEnd(AssistantMessage("so"), [ToolResultMessage("add", "3", tool_call_id="c")]),
    AgentEnd("completed", messages=[UserMessage("hi")], turns=1, usage=Usage(input=1), queued=0),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_found_p3_values_are_pickled_copied_and_compared(value):
    again = pickle.loads(pickle.dumps(value))
    assert again == value and type(again) is type(value) and repr(again) == repr(value)
    assert again.to_dict() == value.to_dict()
    assert copy.copy(value) is value and copy.deepcopy(value) is value
    assert copy.deepcopy({"x": [value]}) == {"x": [value]}
    assert value != object() and value is not None
    assert repr(value).startswith(type(value).__name__ + "(")


def test_found_p3_different_values_are_not_equal():
    for one in range(len(VALUES)):
        for other in range(one):
            assert VALUES[one] != VALUES[other]


async def test_found_p3_all_that_a_run_gives_is_pickled():
    @tool
    async def add(a: int):
        """Adds."""
        return {"content": [{"type": "text", "text": "3"}], "details": {"x": a}}

    subject = agent(calls("add", a=1), says("three"), tools=[add])
    events = await events_of(subject.stream("go"))
    result = RunResult(messages=subject.messages)
    for value in [*events, *subject.messages, result]:
        again = pickle.loads(pickle.dumps(value))
        assert again == value and again.to_json() == value.to_json()
    # Also where nothing of this package was imported before.
    program = "import pickle, sys; print(pickle.load(sys.stdin.buffer)[-1].text)"
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(subject.messages), capture_output=True, timeout=60)
    assert done.stdout == b"three\n"


async def test_found_p3_made_messages_are_a_conversation():
    history = [
        UserMessage("add"),
        AssistantMessage([ToolCall("add", {"a": 1}, id="c")], stop_reason="tool_use"),
        ToolResultMessage("add", "1", tool_call_id="c"),
        AssistantMessage("one"),
        CustomMessage("note", text="kept"),
    ]
    subject = Agent(scripted(says("ok")), messages=history)
    assert list(subject.messages) == history
    assert (await subject.prompt([UserMessage("more")])).text == "ok"
    assert [message.text for message in subject.messages[:1]] == ["add"]
    # As an answer of a hook, of a tool.
    subject = Agent(scripted(says("ok")), transform_context=lambda messages: [UserMessage("instead")])
    assert (await subject.prompt("hi")).text == "ok"


def test_found_p3_images(tmp_path):
    path = tmp_path / "one.bin"
    path.write_bytes(PNG)
    block = ImageBlock.from_path(path)
    assert (block.mime_type, base64.b64decode(block.data)) == ("image/png", PNG)
    assert block == ImageBlock.from_path(str(path)) == ImageBlock(bytearray(PNG)) == ImageBlock(data=memoryview(PNG))
    for head, kind in [(b"\xff\xd8\xff\xe0", "jpeg"), (b"GIF89a", "gif"), (b"RIFF\0\0\0\0WEBP", "webp")]:
        assert ImageBlock(head + b"rest").mime_type == f"image/{kind}"
    assert ImageBlock(b"BM", "image/bmp").mime_type == "image/bmp"
    with pytest.raises(ValueError, match="ImageBlock: the type of these bytes is not recognised; give its mime_type"):
        ImageBlock(b"BM")
    with pytest.raises(FileNotFoundError):
        ImageBlock.from_path(tmp_path / "none.png")
    with pytest.raises(TypeError):
        ImageBlock(5)


def test_files_are_made_from_bytes_paths_and_addresses(tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("hi")
    block = DocumentBlock.from_path(notes)
    assert block.to_dict() == {"type": "document", "data": "aGk=", "mime_type": "text/plain", "name": "notes.txt"}
    assert block == DocumentBlock(b"hi", "text/plain", name="notes.txt")
    assert (DocumentBlock.from_path(notes, name="a").name, DocumentBlock(b"%PDF-1.7").name) == ("a", None)
    assert DocumentBlock.from_path(notes, mime_type="text/x").mime_type == "text/x"
    wav = tmp_path / "tone"
    wav.write_bytes(b"RIFF\0\0\0\0WAVE")
    assert (AudioBlock.from_path(wav).mime_type, AudioBlock.from_path(wav).type) == ("audio/wav", "audio")
    image = ImageBlock(url="https://h/cat.png")
    assert (image.data, image.url, image.mime_type) == (None, "https://h/cat.png", "")
    assert image.to_dict() == {"type": "image", "url": "https://h/cat.png"}
    inline = ImageBlock(url="data:image/png;base64,aGk=")
    assert (inline.data, inline.url, inline.mime_type) == ("aGk=", None, "image/png")
    with pytest.raises(ValueError, match="AudioBlock: the type of these bytes is image/png, which is no audio; give"):
        AudioBlock(PNG)
    odd = tmp_path / "a.xyz"
    odd.write_bytes(b"?")
    with pytest.raises(ValueError, match='DocumentBlock: the type of the file "a.xyz" is not recognised; give its mime_type'):
        DocumentBlock.from_path(odd)
    assert DocumentBlock(b"hi", name="notes.md").mime_type == "text/markdown"
    with pytest.raises(InvalidArgumentError, match='the type of the file "notes.txt" is text/plain, which is no image'):
        ImageBlock.from_path(notes)
    empty = tmp_path / "empty.png"
    empty.touch()
    with pytest.raises(InvalidArgumentError, match="ImageBlock: data is empty"):
        ImageBlock.from_path(empty)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ImageBlock(), 'data is missing; a file has "data" (base64) or a "url"'),
        (lambda: ImageBlock("aGk="), "mime_type is missing"),
        (lambda: ImageBlock("aGk=", "image/png", url="https://h/a"), "it has both data and url; give one of them"),
        (lambda: DocumentBlock(url="a.pdf"), 'url: expected an address such as "https://…", got "a.pdf"'),
        (lambda: AudioBlock("", "audio/wav"), "data is empty"),
    ],
)
def test_files_that_are_none_are_refused(make, message):
    with pytest.raises(InvalidArgumentError) as refused:
        make()
    assert message in str(refused.value)


async def test_files_of_a_prompt_and_what_a_model_does_not_take():
    content = [TextBlock("see"), DocumentBlock(b"%PDF-1.7", name="a.pdf"), AudioBlock(b"ID3\4", "audio/mpeg")]
    subject = Agent(scripted(says("ok")))
    await subject.prompt(content)
    assert list(subject.messages[0].content) == content
    blind = {"provider": "scripted", "id": "m", "input": ["text"], "script": []}
    repaired = transcript.repair([UserMessage(content)], blind)
    assert [repair.code for repair in repaired.repairs] == ["file_replaced", "file_replaced"]
    assert "(a document was here: \"a.pdf\", application/pdf; this model reads no documents" in repaired.messages[0].text


def test_found_p3_defaults():
    usage = Usage(input=1, output=2, cache_read=3, cache_write=4, reasoning=1)
    assert (usage.total, usage.cost, Usage().total) == (10, None, 0)
    assert Cost(input=0.5, output=0.25).total == 0.75
    result = RunResult(messages=[UserMessage("hi"), AssistantMessage("so", usage=usage)])
    assert (result.outcome, result.text, result.turns, result.usage.total) == ("completed", "so", 1, 10)
    assert ToolCall("add", id="c").arguments == {}
    assert (TextDelta("x", content_index=1).run_id, TextDelta("x", content_index=1).turn) == ("run", 1)
    assert TextDelta("x", content_index=1).partial() is None


def test_found_p3_classes_of_unions():
    assert isinstance(UserMessage("x"), Message) and isinstance(TextBlock("x"), agent_loop.ContentBlock)
    assert isinstance(TextDelta("x", content_index=0), Event) and isinstance(TextDelta("x", content_index=0), MessageUpdate)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Message("x"), TypeError, "Message is the base of all messages; make a UserMessage, AssistantMessage, "),
        (lambda: agent_loop.ContentBlock(), TypeError, "make a TextBlock"),
        (lambda: Event(), TypeError, "make an event of its own class"),
        (lambda: UserMessage("a", "b"), TypeError, "2 arguments without a name, at most 1 expected"),
        (lambda: UserMessage("a", content="b"), TypeError, "content is given twice"),
        (lambda: UserMessage(5), InvalidArgumentError, "UserMessage"),
        (lambda: UserMessage(), InvalidArgumentError, "content"),
        (lambda: CustomMessage("user"), InvalidArgumentError, "make a UserMessage"),
        (lambda: TextDelta("x"), InvalidArgumentError, "TextDelta: content_index is missing"),
        (lambda: TextDelta("x", content_index=0, detla=1), InvalidArgumentError, "did you mean \"delta\""),
        (lambda: ToolOutput("x", terminat=True), InvalidArgumentError, "did you mean \"terminate\""),
        (lambda: UserMessage(object()), TypeError, "a value of type object is not JSON"),
    ],
)
def test_found_p3_wrong_fields(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_found_p4_each_block_has_a_text():
    """Because the type of a message's content is the union of all blocks."""
    blocks = [
        TextBlock("seen"),
        ThinkingBlock("hidden"),
        ImageBlock(b"\x89PNG\r\n\x1a\n"),
        DocumentBlock(b"%PDF-1.7"),
        ToolCall("x", {}, id="c"),
        OpaqueBlock("anthropic", {"text": "theirs"}),
    ]
    assert [block.text for block in blocks] == ["seen", "", "", "", "", ""]
    message = AssistantMessage(blocks)
    assert "".join(block.text for block in message.content) == message.text == "seen"


def test_found_p4_fields_of_custom_messages_are_attributes():
    note = CustomMessage("note", mood={"good": True}, content="ours", text="hidden by the method of all messages")
    assert (note.mood, note.content, note.text) == ({"good": True}, "ours", "")
    assert [getattr(message, "content", None) for message in (note, CustomMessage("note"))] == ["ours", None]
    with pytest.raises(AttributeError, match="this message of the role \"note\" has no field \"usage\""):
        note.usage
    assert copy.deepcopy(note) == note == pickle.loads(pickle.dumps(note))
