"""Runs for a browser; what is in the frames is the core's business."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from agent_loop import Agent, BusyError, InvalidArgumentError, InvalidStateError, Store, tool
from agent_loop.ui import UiRequest, UiStream

CALLS = [{"delta": {"tool_call": {"id": "1", "name": "pay", "arguments": {"to": "ann"}}}}, {"end": "tool_use"}]
SAYS = [{"delta": "Done."}, {"end": "stop"}]


def scripted(*answers: list[object]) -> dict[str, object]:
    return {"provider": "scripted", "id": "s", "script": list(answers)}


def asked(*more: object, **fields: object) -> dict[str, object]:
    first = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "Pay Ann."}]}
    return {"id": "chat", "messages": [first, *more]} | fields


def answered(approval: dict[str, object]) -> dict[str, object]:
    call = {"type": "tool-pay", "toolCallId": "1", "state": "approval-responded", "input": {}, "approval": approval}
    return {"id": "a", "role": "assistant", "parts": [{"type": "step-start"}, call]}


async def frames(stream: AsyncIterator[str]) -> list[dict[str, object]]:
    text = "".join([piece async for piece in stream])
    data = [frame.removeprefix("data: ") for frame in text.split("\n\n")[:-1]]
    return [json.loads(frame) for frame in data if frame != "[DONE]"]


def kinds(sent: list[dict[str, object]]) -> list[object]:
    return [frame["type"] for frame in sent]


@tool(needs_approval=True)
async def pay(to: str) -> dict[str, str]:
    """Pays."""
    return {"paid": to}


async def test_a_call_is_approved_and_a_request_that_comes_twice_is_refused() -> None:
    agent = Agent(scripted(CALLS, SAYS), tools=[pay])
    request = UiRequest.from_ai_sdk(json.dumps(asked()).encode())
    assert (request.id, request.history, request.is_regenerate) == ("chat", (), False)
    sent = await frames(agent.stream_ui(request).to_ui_message_stream(request))
    assert kinds(sent)[-3:] == ["tool-approval-request", "finish-step", "finish"]

    request = UiRequest.from_ai_sdk(asked(answered({"id": "1", "approved": True})))
    sent = await frames(agent.stream_ui(request).to_ui_message_stream(request))
    assert sent[1] == {"type": "tool-output-available", "toolCallId": "1", "output": {"paid": "ann"}}
    with pytest.raises(InvalidStateError, match="perhaps it came twice"):
        agent.stream_ui(request)


async def test_a_denied_call_is_denied_in_the_browser() -> None:
    agent = Agent(scripted(CALLS, SAYS), tools=[pay])
    await agent.prompt("Pay Ann.")
    request = UiRequest.from_ai_sdk(asked(answered({"id": "1", "approved": False, "reason": "too dear"})))
    sent = await frames(agent.stream_ui(request).to_ui_message_stream(request))
    assert sent[1] == {"type": "tool-output-denied", "toolCallId": "1"}
    assert "too dear" in agent.messages[-2].text


async def test_only_a_client_tool_takes_a_result_of_the_browser() -> None:
    agent = Agent(scripted(CALLS, SAYS), tools=[pay])
    await agent.prompt("Pay Ann.")
    call = {"type": "tool-pay", "toolCallId": "1", "state": "output-available", "input": {}, "output": "paid"}
    body = asked({"id": "a", "role": "assistant", "parts": [call]})
    with pytest.raises(InvalidArgumentError, match="none of client_tools"):
        agent.stream_ui(UiRequest.from_ai_sdk(body))
    assert [call.tool_call_id for call in agent.pending] == ["1"]
    request = UiRequest.from_ai_sdk(body, client_tools=["pay"])
    sent = await frames(agent.stream_ui(request).to_ui_message_stream(request))
    assert sent[1] == {"type": "tool-output-available", "toolCallId": "1", "output": "paid"}
    with pytest.raises(InvalidArgumentError, match='did you mean "client_tools"'):
        UiRequest.from_ai_sdk(body, client_tool=["pay"])  # type: ignore[call-arg]


async def test_an_answer_is_made_anew() -> None:
    agent = Agent(scripted([{"delta": "One."}, {"end": "stop"}], [{"delta": "Two."}, {"end": "stop"}]))
    request = UiRequest.from_ai_sdk(asked())
    await frames(agent.stream_ui(request).to_ui_message_stream(request))
    request = UiRequest.from_ai_sdk(asked(trigger="regenerate-message"))
    await frames(agent.stream_ui(request).to_ui_message_stream(request))
    assert [message.text for message in agent.messages] == ["Pay Ann.", "Two."]


async def test_an_edited_message_cuts_the_conversation_of_a_session(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "chats.db")
    agent = Agent(scripted([{"delta": "One."}, {"end": "stop"}], SAYS), session=store.session("chat"))
    request = UiRequest.from_ai_sdk(asked())
    await frames(agent.stream_ui(request).to_ui_message_stream(request))
    body = asked(trigger="submit-message", messageId="u")
    body["messages"] = [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "Pay Bob."}]}]
    with pytest.raises(InvalidArgumentError, match="the server keeps them"):
        agent.stream_ui(UiRequest.from_ai_sdk(body, keep_messages=True))
    request = UiRequest.from_ai_sdk(body)
    await frames(agent.stream_ui(request).to_ui_message_stream(request))
    assert [message.text for message in agent.messages] == ["Pay Bob.", "Done."]
    await agent.session.close()
    again = Agent(scripted(), session=store.session("chat"))
    assert [message["id"] for message in again.to_ui_messages()] == ["u", "message-1"]
    assert [message.text for message in again.messages] == ["Pay Bob.", "Done."]


async def test_a_history_of_the_browser() -> None:
    request = UiRequest.from_ai_sdk(asked(answered({"id": "1", "approved": True})), open_calls=True)
    agent = Agent(scripted(SAYS), tools=[pay], messages=request.history)
    sent = await frames(agent.stream_ui(request).to_ui_message_stream(request))
    assert kinds(sent)[:3] == ["start", "tool-output-error", "start-step"]  # its arguments have no `to`


async def test_ag_ui() -> None:
    request = UiRequest.from_ag_ui({"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "Hi"}]})
    stream = Agent(scripted(SAYS)).stream_ui(request).to_ag_ui_stream(request)
    assert stream.headers["content-type"] == "text/event-stream"
    sent = await frames(stream)
    assert sent[0] == {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    assert kinds(sent)[-1] == "RUN_FINISHED"


async def test_a_cancelled_reader_aborts_the_run() -> None:
    agent = Agent(scripted(SAYS))

    agent.set_hook("on_payload", lambda payload: asyncio.sleep(3600))
    run = agent.stream("Hello.")
    reading = asyncio.create_task(frames(run.to_ui_message_stream()))
    await asyncio.sleep(0)
    with pytest.raises(BusyError):
        agent.stream("Again.")
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert (await run.result()).outcome == "aborted"


async def test_a_page_that_is_loaded_again_has_the_answer_from_its_beginning() -> None:
    goes_on = asyncio.Event()

    async def provider(request: object) -> AsyncIterator[object]:
        yield "One, "
        await goes_on.wait()
        yield "two."
        yield {"end": "stop"}

    agent = Agent("own/m", provider=provider)
    assert agent.resume_ui() is None
    request = UiRequest.from_ai_sdk(asked())
    stream = agent.stream_ui(request).to_ui_message_stream(request, resumable=True)

    async def until_text(stream: UiStream) -> str:
        sent = ""
        while "One, " not in sent:
            sent += await stream.__anext__()
        return sent

    before = await until_text(stream)
    leaving = asyncio.create_task(stream.__anext__())
    await asyncio.sleep(0)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    # The page has the question from the conversation, and the answer from the stream.
    assert [message["role"] for message in agent.to_ui_messages(resume=True)] == ["user"]
    again, beside = agent.resume_ui(), agent.resume_ui()
    assert again is not None and beside is not None
    assert await until_text(again) == before
    goes_on.set()
    rest = [piece async for piece in again]
    assert "two." in "".join(rest) and rest[-1].endswith("data: [DONE]\n\n")
    assert before + "".join(rest) == "".join([piece async for piece in beside])
    assert [message["role"] for message in agent.to_ui_messages()] == ["user", "assistant"]
    await agent.prompt("And now?")
    assert agent.resume_ui() is None


async def test_a_page_that_has_lost_its_connection_goes_on_where_it_was() -> None:
    words = [{"delta": f"{word} "} for word in range(3000)]
    agent = Agent({"provider": "scripted", "id": "s", "script": [[*words, {"end": "stop"}]] * 2})
    request = UiRequest.from_ai_sdk(asked())
    stream = agent.stream_ui(request).to_ui_message_stream(request, resumable=True)
    sent = await stream.__anext__()
    # Nobody reads it; it goes on, however much it says.
    del stream
    await agent.wait_for_idle()
    again = agent.resume_ui()
    assert again is not None
    everything = "".join([piece async for piece in again])
    assert everything.startswith(sent) and "2999 " in everything and everything.endswith("data: [DONE]\n\n")
    ids = [line.removeprefix("id: ") for line in everything.splitlines() if line.startswith("id: ")]
    assert len(ids) == everything.count("data: ") > 3000
    for index in (0, 1, len(ids) // 2, len(ids) - 2, len(ids) - 1):
        rest = agent.resume_ui(ids[index])
        assert rest is not None
        text = "".join([piece async for piece in rest])
        assert everything.endswith(text) and text.count("data: ") == len(ids) - index - 1
    for unknown in ("1", "", f"{ids[0]}0000", None):
        whole = agent.resume_ui(unknown)
        assert whole is not None and "".join([piece async for piece in whole]) == everything
    plain = [piece async for piece in agent.stream("Hello.").to_ui_message_stream()]
    assert "id: " not in "".join(plain)


@pytest.mark.parametrize("resumable", [True, False])
async def test_who_waits_for_the_result_takes_nothing_from_the_page(resumable: bool) -> None:
    agent = Agent(scripted(SAYS))
    stream = agent.stream("Hello.").to_ui_message_stream(resumable=resumable)
    waiting = asyncio.create_task(stream.run.result())
    await asyncio.sleep(0.01)
    sent = "".join([piece async for piece in stream])
    assert sent.endswith("data: [DONE]\n\n")
    assert '"type":"text-delta"' in sent and (await waiting).outcome == "completed"


async def test_a_comment_is_sent_while_there_is_nothing_else() -> None:
    agent, goes_on = Agent(scripted(SAYS)), asyncio.Event()

    async def wait(payload: object) -> None:
        await goes_on.wait()

    agent.set_hook("on_payload", wait)
    sent = []
    async for piece in agent.stream("Hello.").to_ui_message_stream(keep_alive_ms=1):
        sent.append(piece)
        if piece.startswith(":"):
            goes_on.set()
    assert ": keep-alive\n\n" in sent
    assert sent[-1].endswith("data: [DONE]\n\n")


async def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="unknown protocol"):
        UiRequest("ai-sdk", {})
    with pytest.raises(InvalidArgumentError, match="messages: /0: role is missing"):
        UiRequest.from_ai_sdk({"messages": [{"id": "1"}]})
    with pytest.raises(InvalidArgumentError, match="the request"):
        UiRequest.from_ai_sdk(b"\xff")
    agent = Agent(scripted(SAYS))
    agent.set_hook("on_payload", lambda payload: asyncio.sleep(3600))
    run = agent.stream("Hello.")
    with pytest.raises(InvalidArgumentError, match='did you mean "show_errors"'):
        run.to_ui_message_stream(show_error=True)  # type: ignore[call-arg]
    assert (await run.result()).outcome == "aborted"
    with pytest.raises(InvalidArgumentError, match=r"expected a UiRequest, as UiRequest.from_ai_sdk\(body\) reads one, got dict"):
        agent.stream_ui({"messages": []})  # type: ignore[arg-type]
