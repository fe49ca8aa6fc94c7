"""`agent_loop.restate` without a server: what `restate_agent` makes and refuses. tests-restate has the runs."""

import asyncio
import importlib

import pytest
from agent_loop import InvalidArgumentError, Loop, ToolContext, tool
from agent_loop.bridge import wait
from agent_loop.restate import RestateContext, cancellation, restate_agent
from agent_loop.restate.model_step import ModelStep, body_of
from agent_loop.restate.tool_step import HookStep, StepContext, ToolStep, wants_restate
from mock import asked, chat, mock
from restate.server_context import ServerInvocationContext

MODEL = "openai/gpt-4.1"
CALL = {"call": 0, "tool_call_id": "c1", "tool_name": "t", "arguments": {}, "idempotency_key": "k"}


def test_an_agent_is_a_virtual_object_with_its_handlers():
    agent = restate_agent("assistant", MODEL)
    public = {name for name, handler in agent.handlers.items() if not handler.ingress_private}
    assert agent.name == "assistant"
    assert public == {"prompt", "resume", "steer", "follow_up", "abort", "decide", "state"}
    exclusive = {name for name in public if agent.handlers[name].kind == "exclusive"}
    assert exclusive == {"prompt", "resume"}


def test_wrong_options_are_refused_when_the_program_starts():
    for options, text in [
        ({"max_turn": 3}, "max_turn"),
        ({"network": {"proxi": "x"}}, "proxi"),
        ({"api_key": 7}, 'option "api_key": expected text, got 7'),
        ({"before_tool_call": print}, 'option "before_tool_call" is a function'),
        ({"middleware": []}, 'option "middleware" is a function'),
        ({"messages": []}, 'option "messages": the conversation of a session is kept by Restate'),
        ({"max_conversation_bytes": 0}, 'option "max_conversation_bytes": expected a whole number of at least 1, got 0'),
        ({"max_conversation_bytes": 1e6}, "at least 1, got 1000000.0"),
        ({"max_conversation_bytes": "1000"}, "at least 1, got '1000'"),
    ]:
        with pytest.raises(InvalidArgumentError, match=text):
            restate_agent("assistant", MODEL, **options)
    with pytest.raises(InvalidArgumentError, match="nope"):
        restate_agent("assistant", "nope/x")
    # None is the default, as everywhere.
    restate_agent("assistant", MODEL, max_conversation_bytes=None)


def test_an_sdk_whose_cancellations_are_not_known_is_refused(monkeypatch):
    monkeypatch.delattr(ServerInvocationContext, "create_poll_or_cancel_coroutine")
    with pytest.raises(ImportError, match="does not know this version of Restate's SDK: pip install"):
        importlib.reload(cancellation)


def test_a_tool_that_uses_restate_is_async():
    @tool
    async def nap(seconds: int, context: RestateContext) -> None: ...

    @tool
    async def plain(context: ToolContext) -> None: ...

    assert (wants_restate(nap), wants_restate(plain)) == (True, False)
    assert list(nap.parameters["properties"]) == ["seconds"]

    @tool
    def blocking(context: RestateContext) -> None: ...

    with pytest.raises(TypeError, match='tool "blocking": a tool with a RestateContext'):
        restate_agent("assistant", MODEL, tools=[blocking])


def outcome(function, **options):
    step = ToolStep(tool(name="t", parameters={"type": "object"}, **options)(function), CALL)
    done = asyncio.run(step.run())
    assert done.pop("at_ms") > 0
    return done


def test_the_result_of_a_step_is_json():
    async def updates(context: ToolContext):
        context.update({"half": 1})
        yield 1
        yield (context.id, context.name, context.idempotency_key)

    def fails():
        raise ValueError("no")

    async def suspends(context: ToolContext):
        raise context.suspend("later")

    async def coroutine():
        return fails

    assert outcome(lambda: {"a": (1, 2)}) == {"result": {"a": [1, 2]}}
    assert outcome(updates) == {"result": ["c1", "t", "k"]}
    assert outcome(fails) == {"error": "ValueError: no"}
    assert outcome(suspends) == {"suspended": "later"}
    assert "is not JSON" in outcome(coroutine)["error"] or "the tool's result" in outcome(coroutine)["error"]


async def test_a_cancelled_step_ends():
    async def waits(context: ToolContext):
        await asyncio.sleep(3600)

    step = ToolStep(tool(name="t")(waits), CALL)
    running = asyncio.ensure_future(step.run())
    await asyncio.sleep(0.01)
    step.cancel()
    assert "CancelledError" in (await running)["error"]

    step = ToolStep(tool(name="t")(waits), CALL)
    step.cancel()
    assert (await step.run())["error"] == "aborted"

    # The end of an attempt is no answer.
    step = ToolStep(tool(name="t")(waits), CALL)
    running = asyncio.ensure_future(step.run())
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_the_context_of_a_step():
    context = StepContext(CALL)
    assert await context.sleep(1) and not context.is_cancelled
    with pytest.raises(ValueError, match="ms"):
        await context.sleep(-1)
    context.cancel()
    await context.wait_cancelled()
    assert not await context.sleep(3_600_000) and context.is_cancelled
    assert not await asyncio.to_thread(context.sleep_sync, 3_600_000)


async def test_functions_of_tools_are_steps():
    async def approve(arguments, context):
        return f"{arguments['n']} {context.is_cancelled} {await context.sleep(0)}"

    functions = {"needs_approval": approve, "prepare_arguments": lambda given: {"n": 1 / given["n"]}}
    made = tool(name="t", parameters={"type": "object"}, **functions)(lambda **_: None)
    assert (await HookStep(made, "needs_approval", {"n": 2}).run())["answer"] == "2 False True"
    assert (await HookStep(made, "prepare_arguments", {"n": 2}).run())["answer"] == {"n": 0.5}
    assert (await HookStep(made, "prepare_arguments", {"n": 0}).run())["error"].startswith("ZeroDivisionError")


def asking(url, **options):
    """A loop that wants its model called."""
    run = Loop({"provider": "openai", "id": "gpt-4.1", "base_url": url}, prompt="Hello.", run_id="r", run_seed=1, **options)
    while run.poll(1)["type"] != "call_model":
        pass
    return run


async def test_the_http_of_a_model_call(tmp_path):
    with mock(tmp_path, {"body": chat({"content": "Hi."}), "stall": True}) as url:
        done = await ModelStep(asking(url), 0, {"api_key": "secret-key-1"}).run()
        (request,) = asked(url)
    # It ends with the answer, though the server keeps the connection open.
    assert (done["status"], done["is_complete"], done["error"]) == (200, True, None)
    assert body_of(done).endswith(b"data: [DONE]\n\n")
    assert request["headers"]["authorization"] == "Bearer secret-key-1"
    assert 0 < done["last_ms"] <= done["end_ms"]


def test_a_call_that_is_sent_again_much_later_is_not_too_late():
    run = asking("http://127.0.0.1:9")
    # The process died, and another one made the call hours later.
    run.handle({"type": "model_response", "call": 0, "status": 200, "headers": {}})
    run.model_bytes(0, chat({"content": "Hi."}).encode())
    run.handle({"type": "model_end", "call": 0})
    while (action := run.poll(10_000_000))["type"] != "done":
        pass
    assert (action["result"]["outcome"], action["result"]["text"]) == ("completed", "Hi.")


async def test_a_key_is_taken_out_of_a_refusal(tmp_path):
    with mock(tmp_path, {"status": 401, "body": '{"error": {"message": "wrong key secret-key-1"}}'}) as url:
        done = await ModelStep(asking(url), 0, {"api_key": "secret-key-1"}).run()
    assert done["status"] == 401 and b"secret-key-1" not in body_of(done)


async def test_failures_of_the_http_are_values(tmp_path, monkeypatch):
    done = await ModelStep(asking("http://127.0.0.1:9"), 0, {"api_key": "k"}).run()
    assert (done["status"], done["error"]["kind"]) == (None, "connection")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run = Loop(MODEL, prompt="Hello.")
    while run.poll(1)["type"] != "call_model":
        pass
    done = await ModelStep(run, 0, {}).run()
    assert done["error"]["kind"] == "authentication"
    assert done["error"]["message"] == "no API key for openai: set the environment variable OPENAI_API_KEY, or give api_key"
    with pytest.raises(InvalidArgumentError, match="apikey"):
        run._native.exchange(0, {"apikey": "k"})


async def test_limits_and_cancellation_end_an_exchange_without_an_error(tmp_path):
    late = {"body": chat({"content": "Hi."}), "delay_ms": 60_000}
    for limits in ({"first_byte_timeout_ms": 50}, {"run_timeout_ms": 50}, {"run_timeout_ms": 50, "request_timeout_ms": 60_000}):
        with mock(tmp_path, late) as url:
            done = await ModelStep(asking(url, **limits), 0, {"api_key": "k"}).run()
        assert (done["status"], done["is_complete"], done["error"]) == (None, False, None)
        assert done["end_ms"] - done["last_ms"] >= 50
    with mock(tmp_path, {"body": "data: {}\n\n", "stall": True}) as url:
        silent = await ModelStep(asking(url, idle_timeout_ms=50), 0, {"api_key": "k"}).run()
        assert (silent["status"], silent["is_complete"], body_of(silent)) == (200, False, b"data: {}\n\n")
    with mock(tmp_path, late) as url:
        exchange = asking(url)._native.exchange(0, {"api_key": "k"})
        sent = exchange.send()
        exchange.cancel()
        assert (await wait(sent))["is_complete"] is False
