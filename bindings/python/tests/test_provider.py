"""Custom providers: generators of all kinds, errors, abort and backpressure."""

import asyncio
import sys
import gc
import threading
import weakref
from contextvars import ContextVar

import pytest
from agent_loop import (
    Agent,
    AgentError,
    InvalidArgumentError,
    InvalidStateError,
    ModelContext,
    ModelRequest,
    ProviderError,
    QuotaError,
    RateLimitedError,
    tool,
)
from scripts import events_of, kinds, results

WHO: ContextVar[str] = ContextVar("who", default="unset")


@tool
async def double(n: int):
    """Doubles."""
    return n * 2


async def test_found_e10_custom_providers_and_known_ones_are_mixed():
    async def mine(request):
        yield f"mine: {request.model}"

    def tired(request):
        raise QuotaError("no more")
        yield

    script = {"provider": "scripted", "id": "s", "script": [[{"delta": "From a script."}, {"end": {}}]]}
    broken = {"provider": "scripted", "id": "b", "script": [[{"error": {"kind": "quota", "message": "pay first"}}]]}
    agent = Agent(broken, providers={"mine": mine, "tired": tired}, fallbacks=["tired/a", "mine/b"])
    assert (await agent.prompt("go")).text == "mine: mine/b"
    agent = Agent("tired/a", providers={"tired": tired}, fallbacks=[script])
    assert (await agent.prompt("go")).text == "From a script."
    # The one without a name is for the agent's own model: another vendor's is asked there.
    agent = Agent("openai/a", provider=tired, fallbacks=[script])
    assert (await agent.prompt("go")).text == "From a script."
    assert (await Agent("openai/a", provider=mine).prompt("go")).text == "mine: openai/a"


async def test_found_e10_providers_are_set_and_removed():
    async def mine(request):
        yield f"mine: {request.model}"

    agent = Agent("scripted/s", provider=mine)
    agent.set_provider("mine", mine)
    agent.model = "mine/a"
    assert (await agent.prompt("go")).text == "mine: mine/a"
    agent.set_provider(None, None)
    with pytest.raises(InvalidArgumentError, match="unknown provider"):
        agent.set_provider("mine", None)
    assert (await agent.prompt("go")).text == "mine: mine/a"
    agent.set_provider("never", None)
    for name in ["", "a/b"]:
        with pytest.raises(InvalidArgumentError, match="expected a name without a slash"):
            agent.set_provider(name, mine)
    for wrong in [{"mine": 5}, [mine], {5: mine}]:
        with pytest.raises(TypeError):
            Agent("mine/a", providers=wrong)
    with pytest.raises(InvalidArgumentError, match="set_provider"):
        agent.set_options(providers={"mine": mine})


def test_found_e10_an_agent_with_named_providers_is_collected():
    class Owner:
        pass

    owner = Owner()

    async def mine(request):
        yield str(owner.agent)

    owner.agent = Agent("mine/a", providers={"mine": mine})
    gone = weakref.ref(owner)
    del owner, mine
    gc.collect()
    assert gone() is None


async def test_all_forms_of_generators():
    async def waiting(request, context):
        assert isinstance(context, ModelContext) and not context.is_cancelled
        yield "a"
        await asyncio.sleep(0)
        yield {"text": "b"}

    def plain(request):
        yield from ["a", {"text": "b"}]

    async def gives_list(request):
        return ["a", "b"]

    class Made:
        def __call__(self, request):
            return iter("ab")

    class Threaded:
        def __call__(self, request, context):
            yield from plain(request)

    for provider in (waiting, plain, gives_list, Made(), Threaded(), lambda request, context: waiting(request, context)):
        assert (await Agent("own/model", provider=provider).prompt("go")).text == "ab"


async def test_the_request():
    asked = []

    async def provider(request):
        asked.append(request)
        yield "ok"

    subject = Agent(
        "own/model",
        provider=provider,
        system_prompt="Be brief.",
        tools=[double],
        thinking_level="low",
        temperature=0,
        stop_sequences=["END"],
        tool_choice={"tool": "double"},
        session_id="s1",
        api_key="sk-secret",
    )
    result = await subject.prompt("go")
    (request,) = asked
    assert isinstance(request, ModelRequest)
    assert (request.model, request.system_prompt, request.thinking_level) == ("own/model", "Be brief.", "low")
    assert request.messages == subject.messages[:1]
    assert [sorted(tool) for tool in request.tools] == [["description", "name", "parameters"]]
    assert request.options == {
        "temperature": 0,
        "stop_sequences": ["END"],
        "tool_choice": {"tool": "double"},
        "session_id": "s1",
    }
    assert request.api_key == "sk-secret" and "secret" not in repr(request) + str(request.to_dict())
    message = result.message
    assert (message.provider, message.protocol, message.model, message.stop_reason) == ("own", "own", "model", "stop")


async def test_it_wins_over_known_providers():
    async def provider(request):
        yield request.model

    assert (await Agent("openai/gpt-x", provider=provider).prompt("go")).text == "openai/gpt-x"


async def test_tools_thinking_usage_and_the_end():
    async def provider(request):
        if len(request.messages) == 1:
            yield {"thinking": "Hm."}
            yield {"type": "tool_call_start", "id": "c1", "name": "double"}
            yield {"type": "tool_call_delta", "delta": '{"n":'}
            yield {"type": "tool_call_delta", "delta": "21}"}
            yield {"end": {"usage": {"input": 5, "output": 7}}}
        else:
            yield request.messages[-1].text
            yield {"end": {"stop_reason": "length"}}

    result = await Agent("own/model", provider=provider, tools=[double]).prompt("go")
    assert (result.text, results(result), result.message.stop_reason) == ("42", ["42"], "length")
    assert (result.usage.input, result.usage.output) == (5, 7)


async def test_an_async_one_runs_on_the_loop_and_a_plain_one_on_a_thread_with_the_callers_context():
    seen = []
    WHO.set("the caller")

    async def waiting(request):
        seen.append((asyncio.get_running_loop() is loop, WHO.get()))
        yield "a"

    def plain(request):
        seen.append((threading.get_ident() != here, WHO.get()))
        yield "a"

    loop, here = asyncio.get_running_loop(), threading.get_ident()
    for provider in (waiting, plain):
        await Agent("own/model", provider=provider).prompt("go")
    assert seen == [(True, "the caller")] * 2


# ---- errors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_an_exception_is_the_answers_error(kind):
    def raising(error):
        async def waiting(request):
            yield "so far"
            raise error

        def plain(request):
            yield "so far"
            raise error

        return waiting if kind == "async" else plain

    for error, expected, text in [
        (ValueError("no"), ProviderError, "ValueError: no"),
        (ProviderError("bad day"), ProviderError, "bad day"),
        (AgentError("odd"), ProviderError, "odd"),
        (RateLimitedError("slow down", retry_after_ms=5), RateLimitedError, "slow down"),
    ]:
        with pytest.raises(expected) as caught:
            await Agent("own/model", provider=raising(error)).prompt("go")
        assert (caught.value.message, caught.value.provider) == (text, "own")
        assert caught.value.result.text == "so far"


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_found_sys_exit_in_a_provider_is_its_error_and_does_not_end_the_program(kind):
    async def leave(request):
        yield "x"
        sys.exit(3)

    def leave_plain(request):
        yield "x"
        sys.exit(3)

    with pytest.raises(ProviderError, match="^SystemExit: 3$"):
        await Agent("own/x", provider=leave if kind == "async" else leave_plain).prompt("go")


async def test_an_error_that_may_be_retried_is():
    tries = []

    async def provider(request):
        tries.append(1)
        if len(tries) == 1:
            raise RateLimitedError("slow down", retry_after_ms=1)
        yield "ok"

    events = await events_of(Agent("own/model", provider=provider).stream("go"))
    (retry,) = [event for event in events if event.type == "retry"]
    assert (retry.delay_ms, retry.error.kind, len(tries)) == (1, "rate_limited", 2)
    assert RateLimitedError("x").retryable and not RateLimitedError("x", retryable=False).retryable


@pytest.mark.parametrize("kind", ["async", "plain"])
@pytest.mark.parametrize(
    ("piece", "text"),
    [
        ({"txt": "a"}, 'chunk: unknown field "txt"; known are text'),
        ({"tool_call": {"name": "t", "args": {}}}, 'chunk: tool_call: unknown field "args"; known are id, name, arguments'),
        ({"type": "text_delta", "contentIndex": 1, "delta": "x"}, 'chunk: text_delta: unknown field "contentIndex"; did you'),
        (5, "chunk: expected text or an object, got 5"),
        (object(), "TypeError: chunk: a value of type object is not JSON"),
    ],
)
async def test_a_wrong_piece_is_an_error_and_closes_the_generator(kind, piece, text):
    closed = []

    async def waiting(request):
        try:
            yield piece
        finally:
            closed.append(True)

    def plain(request):
        try:
            yield piece
        finally:
            closed.append(True)

    with pytest.raises(ProviderError) as caught:
        await Agent("own/model", provider=waiting if kind == "async" else plain).prompt("go")
    assert caught.value.message.startswith(text)
    assert closed == [True]


async def test_a_provider_that_is_not_a_generator():
    for function, kind in [(lambda request: None, "NoneType"), (lambda request: "text", "str")]:
        with pytest.raises(ProviderError, match=f"TypeError: the provider returned a value of type {kind}; make it a generator"):
            await Agent("own/model", provider=function).prompt("go")
    with pytest.raises(TypeError, match="provider: expected a function, got str"):
        Agent("own/model", provider="x")
    with pytest.raises(TypeError, match=r"provider: expected a function that is called as f\(input\) or f\(input, context\)"):
        Agent("own/model", provider=lambda: None)


# ---- abort and backpressure -----------------------------------------------------------------------------------------------


async def test_an_abort_closes_an_async_generator():
    closed = asyncio.Event()

    async def provider(request, context):
        try:
            yield "a"
            await asyncio.Event().wait()
        finally:
            assert context.is_cancelled
            closed.set()

    subject = Agent("own/model", provider=provider)
    async with subject.stream("go") as run:
        async for event in run:
            if event.type == "text_delta":
                run.abort()
        result = await run.result()
    assert (result.outcome, result.text) == ("aborted", "a")
    await closed.wait()


async def test_an_abort_closes_a_plain_generator_at_its_next_piece():
    closed, go_on = threading.Event(), threading.Event()

    def provider(request):
        try:
            yield "a"
            go_on.wait(30)
            while True:
                yield "b"
        finally:
            closed.set()

    subject = Agent("own/model", provider=provider)
    async with subject.stream("go") as run:
        async for event in run:
            if event.type == "text_delta":
                run.abort()
    go_on.set()
    assert await asyncio.to_thread(closed.wait, 30)


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_a_fast_provider_waits_for_a_slow_reader(kind):
    given = [0]
    end = 20_000

    async def waiting(request):
        for n in range(end):
            given[0] = n
            yield "x"

    def plain(request):
        for n in range(end):
            given[0] = n
            yield "x"

    subject = Agent("own/model", provider=waiting if kind == "async" else plain)
    async with subject.stream("go") as run:
        async for event in run:
            if event.type == "text_delta":
                break
        # Nothing is read: the buffer has a limit.
        before = -1
        while before != given[0]:
            before = given[0]
            await asyncio.sleep(0.05)
        assert given[0] < end - 1
        rest = [event async for event in run]
    assert given[0] == end - 1
    assert kinds(rest)[-1] == "agent_end" and rest[-1].messages[-1].text == "x" * end


async def test_inside_it_the_agent_cannot_be_prompted():
    errors = []

    async def provider(request):
        try:
            await subject.prompt("x")
        except InvalidStateError as error:
            errors.append(str(error))
        yield "ok"

    subject = Agent("own/model", provider=provider)
    await subject.prompt("go")
    assert errors and errors[0].startswith("starting a run inside a listener, hook or tool")


async def test_a_provider_that_fails_gives_its_place_back():
    async def provider(request: ModelRequest):
        if request.messages[-1].text == "fail":
            raise LookupError("no")
        yield "done"

    subject = Agent("company/m", provider=provider, max_retries=0, limiter={"max_concurrent": 1, "name": "gives back"})
    gc.disable()
    try:
        with pytest.raises(AgentError) as failed:
            await subject.prompt("fail")
        # The traceback holds the request, and so does whoever has kept the error.
        assert "LookupError" in str(failed.value)
        assert (await subject.prompt("go")).text == "done"
    finally:
        gc.enable()
