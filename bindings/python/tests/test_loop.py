"""Loops that are stepped: the program does the HTTP, the timers and the tools."""

import contextlib
import http.client
import json
import threading
from urllib.parse import urlsplit

import pytest
from agent_loop import Agent, BusyError, InvalidArgumentError, InvalidStateError, Loop, Tool, tool
from expected import difference, filled, with_keys_of_run
from mock import chat, mock
from scripts import ROOT
from stepper import Stepper

TAPES = [json.loads(line) for line in (ROOT / "tests/scenarios/steps.jsonl").read_text(encoding="utf-8").splitlines()]


def parameter(tape):
    why = tape.get("skipped")
    return pytest.param(tape, id=tape["scenario"], marks=[pytest.mark.skip(reason=why)] if why else [])


@pytest.mark.parametrize("tape", [parameter(tape) for tape in TAPES])
def test_scenario(tape):
    expected = filled(json.loads((ROOT / "tests/scenarios" / tape["scenario"] / "expected.json").read_text(encoding="utf-8")))
    for place, run in enumerate(tape["runs"]):
        played, saved = Stepper(run, False), Stepper(run, True)
        assert difference("", with_keys_of_run(played.events), expected["runs"][place]["events"]) is None
        assert saved.actions == played.actions


def actions_of(run, now_ms=0):
    return list(iter(lambda: run.poll(now_ms), None))


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


def send(run, action):
    """The host's own HTTP."""
    url, auth = urlsplit(action["url"]), action["auth"]
    headers = action["headers"] | {auth["header"]: f"{auth['prefix']}sk-secret"}
    with contextlib.closing(http.client.HTTPConnection(url.netloc)) as connection:
        connection.request("POST", url.path, action["body"], headers)
        response = connection.getresponse()
        head = {"call": action["call"], "status": response.status, "headers": dict(response.getheaders())}
        run.handle({"type": "model_response"} | head)
        while data := response.read1(50):
            run.model_bytes(action["call"], data)
    run.handle({"type": "model_end", "call": action["call"]})


def test_a_run_over_http_with_a_tool(tmp_path):
    call = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}]}
    answers = [{"body": chat(call, end="tool_calls")}, {"body": chat({"content": "It "}, {"content": "rains."})}]
    for answer in answers:
        answer["headers"] = {"content-type": "text/event-stream"}
    with mock(tmp_path, *answers) as url:
        model = {"provider": "mine", "id": "m", "protocol": "openai_chat", "base_url": url}
        run, text, result = Loop(model, prompt="Rain in Oslo?", tools=[weather], system_prompt="Be brief."), "", None
        while result is None:
            for action in actions_of(run):
                match action:
                    case {"type": "event", "event": {"type": "text_delta", "delta": delta}}:
                        text += delta
                    case {"type": "call_model", "body": body}:
                        assert json.loads(body)["messages"][0] == {"role": "system", "content": "Be brief."}
                        run = Loop.load(run.save())
                        assert run.open_actions()[0] == action
                        send(run, action)
                    case {"type": "call_tool", "call": number, "tool_name": "weather", "arguments": arguments}:
                        run.handle({"type": "tool_done", "call": number, "result": weather(**arguments)})
                    case {"type": "done"}:
                        result = action["result"]
    assert (text, result["text"], result["outcome"], result["turns"]) == ("It rains.", "It rains.", "completed", 2)


def custom(**options):
    return Loop("mine/parrot", prompt="Hi", providers=["mine"], **options)


def answer(run, *chunks, call=0):
    for chunk in chunks:
        run.handle({"type": "model_chunk", "call": call, "chunk": chunk})
    run.handle({"type": "model_end", "call": call})


def test_tools_are_given_as_tools_or_described():
    def prepared(arguments):
        return arguments

    asks = Tool(
        name="asks",
        execute=lambda arguments, context: None,
        prepare_arguments=prepared,
        needs_approval=lambda arguments: True,
        on_interrupted="retry",
    )
    run = custom(tools=[weather, asks, {"name": "described", "description": "One."}])
    request = actions_of(run)[-2]["request"]
    assert [one["name"] for one in request["tools"]] == ["weather", "asks", "described"]
    answer(run, {"tool_call": {"id": "a", "name": "asks", "arguments": {}}})
    asked = [action for action in actions_of(run) if action["type"] == "ask_hook"]
    assert [one["hook"] for one in asked] == ["prepare_arguments"]
    run.handle({"type": "hook_answer", "question_id": asked[0]["question_id"]})
    (asked,) = [action for action in actions_of(run) if action["type"] == "ask_hook"]
    assert (asked["hook"], asked["input"]) == ("needs_approval", {"tool_name": "asks", "arguments": {}})
    run.handle({"type": "hook_answer", "question_id": asked["question_id"], "answer": "it costs"})
    result = actions_of(run)[-1]["result"]
    assert (result["outcome"], result["pending"][0]["reason"]) == ("suspended", "it costs")
    # Another loop goes on, or an agent.
    again = Loop("mine/parrot", providers=["mine"], tools=[asks], export=run.export(), decisions={"a": {"result": "paid"}})
    answer(again, "Thanks.") if [action for action in actions_of(again) if action["type"] == "call_custom_model"] else None
    assert actions_of(again)[-1]["result"]["text"] == "Thanks."
    agent = Agent.from_export(again.export(), {"provider": "scripted", "id": "s", "script": []})
    assert agent.messages[-1].text == "Thanks."


def test_wrong_arguments_are_errors_in_python_s_words():
    for wrong, error, text in [
        (lambda: Loop("mine/parrot", prompt="Hi"), InvalidArgumentError, 'unknown provider "mine"'),
        (lambda: custom(max_turn=1), InvalidArgumentError, 'did you mean "max_turns"?'),
        (lambda: custom(tools=[len]), TypeError, 'option "tools"'),
        (lambda: custom(tools={}), TypeError, 'option "tools": expected'),
        (lambda: custom(hooks="x"), InvalidArgumentError, 'option "hooks": expected a list, got "x"'),
        (lambda: custom(on_payload=print), TypeError, 'option "on_payload"'),
        (lambda: custom().poll("now"), TypeError, "now_ms: expected a number, got str"),
        (lambda: custom().poll(-1), ValueError, "now_ms: expected milliseconds, got -1"),
        (lambda: custom().handle([]), InvalidArgumentError, "input: expected a dict"),
        (lambda: custom().handle({"type": "steer", "message": print}), TypeError, "input: at /message: a value of type"),
        (lambda: custom().model_bytes(0, "text"), TypeError, "data: expected bytes, got str"),
        (lambda: custom().model_bytes("0", b""), TypeError, "call: expected a whole number of at least 0, got str"),
        (lambda: custom().handle({"type": "tool_done", "call": 0}), InvalidArgumentError, "has returned (None for nothing)"),
        (lambda: custom().export(), BusyError, "the loop has not ended, and its conversation cannot be exported"),
        (lambda: Loop.load("{"), InvalidArgumentError, "the saved loop cannot be loaded"),
        (lambda: Loop.load(None), TypeError, "text: expected text, got NoneType"),
        (lambda: Loop("mine/parrot", providers=["mine"]), InvalidStateError, "there is nothing to resume"),
    ]:
        with pytest.raises(error) as raised:
            wrong()
        assert text in str(raised.value)


def test_a_loop_may_go_from_thread_to_thread():
    run = custom()
    actions_of(run)
    thread = threading.Thread(target=answer, args=(run, "Hello."))
    thread.start()
    thread.join()
    assert actions_of(run)[-1]["result"]["text"] == "Hello."


def test_the_same_seed_and_inputs_are_the_same_actions():
    def actions(seed):
        run, found = Loop("openai/gpt-4.1", prompt="Hello.", run_id="r", run_seed=seed, max_retries=5), []
        for now_ms in range(0, 100_000, 500):
            for action in actions_of(run, now_ms):
                found.append(action)
                if action["type"] == "call_model":
                    run.handle({"type": "model_end", "call": action["call"], "error": {"kind": "connection", "message": "no"}})
        return found

    assert actions(1) == actions(1)
    assert actions(1) != actions(2)
    with pytest.raises(InvalidArgumentError, match='option "run_seed"'):
        Loop("openai/gpt-4.1", prompt="Hello.", run_seed="x")
