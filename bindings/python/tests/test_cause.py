"""The exceptions of callbacks: they reach the code around them, and the error of the run has them as its cause."""

import asyncio
import logging
import traceback
import weakref

import agent_loop
import pytest
from agent_loop import Agent, AgentError, CallbackError, ProviderError, RateLimitedError, tool
from collection import wait_until_collected
from scripts import agent, calls, results, says


class Unlucky(Exception):
    """An exception of the application."""


def unlucky(*_):
    raise Unlucky("boom")


async def unlucky_later(*_):
    await asyncio.sleep(0)
    raise Unlucky("boom")


@tool
def plain():
    """Fails on a thread."""
    unlucky()


@tool
async def later():
    """Fails on the event loop."""
    await unlucky_later()


TOOLS = pytest.mark.parametrize("made", [plain, later], ids=["plain", "async"])
HOOKS = pytest.mark.parametrize("hook", [unlucky, unlucky_later], ids=["plain", "async"])
ENDING = ["transform_context", "convert_to_llm", "get_api_key", "before_run", "get_steering_messages"]
ENDING_LATER = ["prepare_next_turn", "should_stop_after_turn", "get_follow_up_messages"]


async def error_of(subject):
    with pytest.raises(AgentError) as caught:
        await subject.prompt("go")
    return caught.value


def frames(error):
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


@HOOKS
@pytest.mark.parametrize("name", ENDING + ENDING_LATER)
async def test_found_e15_a_hooks_exception_is_the_cause_of_the_runs_error(name, hook):
    function = (lambda: hook()) if name.endswith("_messages") else (lambda _: hook())
    error = await error_of(agent(says("hello"), **{name: function}))
    assert (type(error), error.message) == (CallbackError, f"the hook {name} failed: Unlucky: boom")
    assert type(error.__cause__) is Unlucky and frames(error.__cause__)[-1] == hook.__name__
    # Whoever prints it sees where it was raised.
    assert f"in {hook.__name__}" in "".join(traceback.format_exception(error))
    assert error.result.error.__cause__ is error.__cause__


async def test_found_e15_on_payload_has_its_exception():
    model = {"provider": "openai", "id": "gpt-4o", "base_url": "http://127.0.0.1:9/v1"}
    error = await error_of(Agent(model, api_key="k", on_payload=unlucky))
    assert error.message == "the hook on_payload failed: Unlucky: boom" and type(error.__cause__) is Unlucky


@pytest.mark.parametrize("name", ["transform_context", "convert_to_llm", "get_api_key", "prepare_next_turn"])
async def test_found_e15_an_answer_that_cannot_be_converted_has_its_exception(name):
    error = await error_of(agent(says("hello"), **{name: lambda _: object()}))
    assert isinstance(error.__cause__, TypeError) and str(error.__cause__) in error.message


async def test_found_e15_streams_and_other_ways_to_start_have_the_cause():
    subject = agent(says("hello"), transform_context=unlucky)
    with pytest.raises(CallbackError) as caught:
        async for event in subject.stream("go"):
            last = event
    assert type(caught.value.__cause__) is Unlucky
    assert type(last.error.__cause__) is Unlucky
    with pytest.raises(CallbackError) as caught:
        await subject.resume()
    assert type(caught.value.__cause__) is Unlucky
    run = agent_loop.run({}, "go", model=subject_model(), transform_context=unlucky)
    with pytest.raises(CallbackError) as caught:
        await run.result()
    assert type(caught.value.__cause__) is Unlucky


def subject_model():
    return {"provider": "scripted", "id": "s", "script": [says("hello")]}


@HOOKS
def test_found_e15_the_sync_methods_have_the_cause(hook):
    subject = agent(says("hello"), transform_context=hook)
    with pytest.raises(CallbackError) as caught:
        subject.prompt_sync("go")
    assert type(caught.value.__cause__) is Unlucky
    run = subject.stream_sync("go")
    with pytest.raises(CallbackError) as caught:
        list(run)
    assert type(caught.value.__cause__) is Unlucky
    with pytest.raises(CallbackError) as caught:
        run.result()
    assert type(caught.value.__cause__) is Unlucky


async def test_found_e15_hooks_and_listeners_see_the_cause_of_a_failure():
    seen = []
    subject = agent(
        says("hello"),
        transform_context=unlucky,
        on_error=lambda failure: seen.append(failure.error.__cause__),
        after_run=lambda result: seen.append(result.error.__cause__),
    )
    subject.subscribe(lambda event: event.type == "agent_end" and seen.append(event.error.__cause__))
    error = await error_of(subject)
    assert len(seen) == 3 and all(one is error.__cause__ for one in seen)


async def provider(request):
    yield "a piece"
    raise Unlucky("boom")


def plain_provider(request):
    yield "a piece"
    raise Unlucky("boom")


@pytest.mark.parametrize("function", [provider, plain_provider, unlucky, unlucky_later])
async def test_found_e15_a_providers_exception_is_the_cause(function):
    error = await error_of(Agent("mine/m", provider=function if function in (provider, plain_provider) else lambda _: function()))
    assert (type(error), error.message) == (ProviderError, "Unlucky: boom")
    assert type(error.__cause__) is Unlucky


async def test_found_e15_a_providers_own_error_keeps_its_cause():
    async def limited(request):
        try:
            unlucky()
        except Unlucky as error:
            raise RateLimitedError("slow down", retryable=False) from error
        yield

    error = await error_of(Agent("mine/m", provider=limited))
    assert (type(error), error.message) == (RateLimitedError, "slow down")
    assert type(error.__cause__) is RateLimitedError and type(error.__cause__.__cause__) is Unlucky


async def test_found_e15_of_several_attempts_the_last_exception_counts():
    raised = []

    async def busy(request):
        raised.append(RateLimitedError(f"attempt {len(raised)}"))
        raise raised[-1]
        yield

    error = await error_of(Agent("mine/m", provider=busy, max_retries=1, retry_base_ms=1))
    assert len(raised) == 2 and error.__cause__ is raised[-1]


@TOOLS
async def test_found_e15_middleware_gets_the_tools_own_exception(made):
    seen = []

    async def outer(call, next):
        try:
            return await next()
        except Unlucky as error:
            seen.append(error)
            return "repaired"

    async def look(call, next):
        try:
            return await next()
        except Unlucky as error:
            seen.append(error)
            raise

    async def pass_on(call, next):
        return await next()

    subject = agent(calls(made.name), says("done"), tools=[made], middleware=[outer, look, pass_on])
    assert results(await subject.prompt("go")) == ["repaired"]
    first, second = seen
    assert first is second and frames(first)[-1].startswith("unlucky")
    assert (first.__context__, first.__cause__, str(first)) == (None, None, "boom")


@TOOLS
async def test_found_e15_what_a_middleware_lets_through_is_the_same_failure(made):
    async def pass_on(call, next):
        return await next()

    async def other(call, next):
        try:
            return await next()
        except Unlucky as error:
            raise KeyError("no key") from error

    subject = agent(calls(made.name), says("done"), tools=[made], middleware=[pass_on, pass_on])
    assert results(await subject.prompt("go")) == ["Unlucky: boom"]
    caught = []

    async def outermost(call, next):
        try:
            return await next()
        except KeyError as error:
            caught.append(error)
            raise

    subject = agent(calls(made.name), says("done"), tools=[made], middleware=[outermost, other])
    assert results(await subject.prompt("go")) == ["KeyError: 'no key'"]
    assert type(caught[0].__cause__) is Unlucky


async def test_found_e15_the_middlewares_of_parallel_calls_get_their_own():
    @tool
    def numbered(n: int):
        """Fails with its number."""
        raise Unlucky(n)

    seen = {}

    async def look(call, next):
        try:
            return await next()
        except Unlucky as error:
            seen[call.arguments["n"]] = error.args
            raise

    subject = agent(calls("numbered", *({"n": n} for n in range(20))), says("done"), tools=[numbered], middleware=[look])
    await subject.prompt("go")
    assert seen == {n: (n,) for n in range(20)}


async def test_found_e15_middleware_keeps_its_task_whatever_a_tool_raises():
    @tool
    async def cancels_itself():
        """Raises what ends tasks."""
        raise asyncio.CancelledError

    @tool
    def ends_iteration():
        """Raises what coroutines cannot raise."""
        raise StopIteration(7)

    seen = []

    async def look(call, next):
        try:
            return await next()
        except CallbackError as error:
            seen.append(type(error.__cause__))
            raise

    for made in (cancels_itself, ends_iteration):
        subject = agent(calls(made.name), says("done"), tools=[made], middleware=[look])
        (text,) = results(await subject.prompt("go"))
        assert text.startswith(("CancelledError", "StopIteration"))
    assert seen == [asyncio.CancelledError, StopIteration]


async def test_found_e15_a_result_that_is_not_json_is_its_type_error_in_middleware():
    seen = []

    async def look(call, next):
        try:
            return await next()
        except TypeError as error:
            seen.append(str(error))
            raise

    @tool
    def odd():
        """Returns what is not JSON."""
        return object()

    subject = agent(calls("odd"), says("done"), tools=[odd], middleware=[look])
    (text,) = results(await subject.prompt("go"))
    assert [text] == [f"TypeError: {one}" for one in seen]


@pytest.fixture
def unlogged(monkeypatch):
    """Log records have the exceptions, too, and pytest keeps them until the end of a test."""
    monkeypatch.setattr(logging.getLogger("agent_loop"), "disabled", True)


class Marker:
    """Something that a function has while it fails."""


async def test_found_e15_exceptions_go_with_their_run(unlogged):
    alive = []

    def keep(*_):
        marker = Marker()
        alive.append(weakref.ref(marker))
        raise Unlucky("boom")

    @tool
    def fails():
        """Fails on a thread."""
        keep()

    async def pass_on(call, next):
        return await next()

    subject = agent(
        calls("fails"), says("done"), says("again"), tools=[fails], middleware=[pass_on], should_stop_after_turn=keep
    )
    error = await error_of(subject)
    assert type(error.__cause__) is Unlucky
    del error
    # The agent and its transcript live on.
    assert len(alive) == 2
    wait_until_collected(*alive)
    assert subject.error.message == "the hook should_stop_after_turn failed: Unlucky: boom"
    assert subject.error.__cause__ is None


async def test_found_e15_an_agent_in_a_traceback_is_collected(unlogged):
    def make():
        held = agent(says("hello"))

        def fail(_):
            here = held, run  # noqa: F841
            raise Unlucky("boom")

        held.set_hook("transform_context", fail)
        run = held.stream("go", raise_errors=False)
        return held, run

    subject, run = make()
    async for event in run:
        assert event.run_id == run.id
    gone = weakref.ref(subject), weakref.ref(run)
    del subject, run
    wait_until_collected(*gone)


async def test_found_e15_a_logged_error_shows_where_the_exception_was_raised(caplog):
    error = await error_of(agent(says("hello"), transform_context=unlucky))
    logging.getLogger("application").error("a run failed", exc_info=error)
    assert "in unlucky" in caplog.text and "direct cause" in caplog.text
