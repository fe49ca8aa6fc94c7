"""Log records: those of the logger `agent_loop`, with the exceptions that are their cause."""

import asyncio
import contextlib
import contextvars
import gc
import logging
import subprocess
import sys
import threading
import time
import weakref

import pytest
from collection import wait_until_collected
from scripts import agent, calls, fails, says

import agent_loop
from agent_loop import Agent, AgentError, tool

BUSY = fails("overloaded", "busy")


class NoDisk(Exception):
    pass


@tool
async def forecast():
    """Fails."""
    raise ValueError("it rains")


@tool
def almanac():
    """Fails, on a thread."""
    raise KeyError("no page")


def fail_at(kind):
    def listener(event):
        if event.type == kind:
            raise NoDisk("no screen")

    return listener


async def failing_listener(event):
    if event.type == "turn_start":
        raise NoDisk("no screen")


def no_disk(result):
    raise NoDisk("no disk")


async def no_disk_async(result):
    raise NoDisk("no disk")


def records_of(caplog):
    """Without those of asyncio, which in debug mode logs what takes it long."""
    return [record for record in caplog.records if record.name == "agent_loop"]


def lines(caplog):
    return [(record.levelname, record.agent_loop["code"], record.getMessage()) for record in records_of(caplog)]


@pytest.mark.parametrize("after_run", [no_disk, no_disk_async])
@pytest.mark.parametrize("listener", [fail_at("turn_start"), failing_listener])
async def test_found_e15_log_of_what_fails(caplog, after_run, listener):
    caplog.set_level(logging.DEBUG, "agent_loop")
    speaker = agent(BUSY, calls("forecast"), says("Done."), tools=[forecast], after_run=after_run)
    speaker.subscribe(listener)
    result = await speaker.prompt("Go.")
    assert result.outcome == "completed"
    listened = ("WARNING", "listener_error", "a listener failed: NoDisk: no screen")
    assert lines(caplog) == [
        listened,
        ("WARNING", "retry", "a model call failed and is retried: busy"),
        ("DEBUG", "model_call", "a model call ended"),
        ("WARNING", "tool_error", "the tool forecast failed: ValueError: it rains"),
        ("DEBUG", "tool_call", "a tool call ended"),
        listened,
        ("DEBUG", "model_call", "a model call ended"),
        ("WARNING", "hook_error", "the hook after_run failed: NoDisk: no disk"),
        ("DEBUG", "run_end", "the run ended"),
    ]
    first, retry, called, failed, ended, _, _, hook, end = records_of(caplog)
    assert len({record.agent_loop["run_id"] for record in records_of(caplog)}) == 1
    assert first.agent_loop["data"] == {"listener": 1, "event": "turn_start"}
    assert retry.agent_loop["data"] == {"attempt": 1, "delay_ms": 500}
    assert isinstance(retry.agent_loop["error"], agent_loop.OverloadedError)
    assert failed.agent_loop["data"] == {"tool_call_id": "call_0", "tool_name": "forecast"}
    assert hook.agent_loop["data"] == {"hook": "after_run"}
    assert hook.agent_loop["error"].kind == "callback"
    tokens = {"latency_ms": 0, "input_tokens": 0, "output_tokens": 0}
    assert called.agent_loop["data"] == {"model": "scripted/scenario", "outcome": "tool_use", **tokens}
    call = {"tool_call_id": "call_0", "tool_name": "forecast", "outcome": "error", "latency_ms": 0}
    assert ended.agent_loop["data"] == call
    tokens["latency_ms"] = end.agent_loop["data"]["latency_ms"]
    assert end.agent_loop["data"] == {"outcome": "completed", "turns": 2, **tokens}
    assert [record.agent_loop["turn"] for record in records_of(caplog)] == [1, 1, 1, 1, 1, 2, 2, 2, 2]
    assert end.agent_loop["conversation_id"] == end.agent_loop["run_id"]
    assert end.agent_loop["error"] is None
    assert {record.agent_loop["code"] for record in records_of(caplog)} <= set(agent_loop.LOG_CODES)


async def test_found_e15_log_has_the_exception_with_its_traceback(caplog):
    speaker = agent(calls("forecast"), calls("almanac"), says("Done."), tools=[forecast, almanac], after_run=no_disk)
    speaker.subscribe(failing_listener)
    await speaker.prompt("Go.")
    causes = [(record.agent_loop["code"], record.exc_info[0], record.exc_info[2].tb_frame) for record in records_of(caplog)]
    assert [(code, kind) for code, kind, _ in causes] == [
        ("listener_error", NoDisk),
        ("tool_error", ValueError),
        ("listener_error", NoDisk),
        ("tool_error", KeyError),
        ("listener_error", NoDisk),
        ("hook_error", NoDisk),
    ]
    assert 'raise ValueError("it rains")' in logging.Formatter().format(records_of(caplog)[1])
    assert 'raise KeyError("no page")' in logging.Formatter().format(records_of(caplog)[3])
    assert 'raise NoDisk("no disk")' in logging.Formatter().format(records_of(caplog)[5])


HOOKS = [
    "before_run",
    "transform_context",
    "convert_to_llm",
    "get_api_key",
    "before_tool_call",
    "after_tool_call",
    "prepare_next_turn",
    "should_stop_after_turn",
    "get_steering_messages",
    "get_follow_up_messages",
    "after_run",
]


@pytest.mark.parametrize("name", HOOKS)
async def test_found_e15_log_of_each_hook(caplog, name):
    def broken(*given):
        raise NoDisk(name)

    @tool
    async def fine():
        """Works."""

    with contextlib.suppress(AgentError):
        await agent(calls("fine"), says("Done."), tools=[fine], **{name: broken}).prompt("Go.")
    record = records_of(caplog)[0]
    assert (record.agent_loop["code"], record.agent_loop["data"]) == ("hook_error", {"hook": name})
    assert (record.exc_info[0], str(record.exc_info[1])) == (NoDisk, name)


async def test_found_e15_log_of_prepare_arguments_middleware_and_a_provider(caplog):
    def broken(arguments):
        raise NoDisk("no shelf")

    async def fine():
        """Works."""

    async def around(call, next):
        raise NoDisk("no tape")

    async def provider(request):
        raise NoDisk("no line")
        yield

    await agent(calls("fine"), says("."), tools=[tool(fine, prepare_arguments=broken)]).prompt("Go.")
    await agent(calls("fine"), says("."), tools=[tool(fine)], middleware=[around]).prompt("Go.")
    with pytest.raises(AgentError):
        await Agent("acme/m", provider=provider, max_retries=0).prompt("Go.")
    assert lines(caplog) == [
        ("WARNING", "hook_error", "prepare_arguments of the tool fine failed: NoDisk: no shelf"),
        ("WARNING", "tool_error", "the tool fine failed: NoDisk: no tape"),
        ("ERROR", "run_error", "the run failed: NoDisk: no line"),
    ]
    assert [record.exc_info[0] for record in records_of(caplog)] == [NoDisk] * 3


async def test_found_e15_log_of_a_failed_run(caplog):
    with pytest.raises(AgentError) as raised:
        await agent(fails("authentication", "no key")).prompt("Go.")
    assert lines(caplog) == [("ERROR", "run_error", "the run failed: no key")]
    record = records_of(caplog)[0]
    assert isinstance(record.agent_loop["error"], agent_loop.AuthenticationError)
    assert record.agent_loop["error"].message == raised.value.message
    assert record.exc_info is None


async def test_found_e15_log_of_what_does_not_return(caplog):
    caplog.set_level(logging.INFO, "agent_loop")
    release = asyncio.Event()

    async def silent(event):
        await release.wait()

    async def late(result):
        await release.wait()
        raise NoDisk("too late")

    speaker = agent(*[says("Hello.")] * 1000, listener_timeout_ms=50, after_run=late)
    speaker.subscribe(silent)
    await speaker.prompt("Go.")
    assert [record.agent_loop["code"] for record in records_of(caplog)] == ["listener_left", "hook_left"]
    assert records_of(caplog)[0].agent_loop["data"] == {"listener": 1, "event": "agent_start"}
    release.set()
    codes = set()
    while not {"listener_back", "hook_error"} <= codes:
        await speaker.prompt("Go.")
        codes = {record.agent_loop["code"] for record in records_of(caplog)}
    back = next(record for record in records_of(caplog) if record.agent_loop["code"] == "listener_back")
    assert back.levelname == "INFO"
    assert back.agent_loop["data"]["missed"] > 0


@pytest.mark.parametrize("level", [logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG])
async def test_found_e15_log_levels(caplog, level):
    caplog.set_level(level, "agent_loop")
    await agent(BUSY, says("Hello."), after_run=no_disk).prompt("Go.")
    all_codes = ["retry", "model_call", "hook_error", "run_end"]
    expected = {logging.ERROR: [], logging.DEBUG: all_codes}.get(level, ["retry", "hook_error"])
    assert [record.agent_loop["code"] for record in records_of(caplog)] == expected


variable = contextvars.ContextVar("variable", default="none")


async def test_found_e15_log_in_the_context_of_the_run(caplog):
    seen = []

    class Reader(logging.Filter):
        def filter(self, record):
            seen.append((variable.get(), threading.current_thread() is threading.main_thread()))
            return True

    reader = Reader()
    logging.getLogger("agent_loop").addFilter(reader)
    try:
        variable.set("request 7")
        await agent(BUSY, calls("almanac"), says("Hello."), tools=[almanac], after_run=no_disk).prompt("Go.")
    finally:
        logging.getLogger("agent_loop").removeFilter(reader)
    assert seen == [("request 7", True)] * 3


async def test_found_e15_log_handlers_that_fail_lose_nothing(caplog):
    """A handler may fail, and may use the library."""
    inner = []

    class Odd(logging.Handler):
        def emit(self, record):
            if record.agent_loop["code"] == "retry":
                inner.append(asyncio.get_running_loop().create_task(agent(says("From the log.")).prompt("Go.")))
            raise NoDisk("no log")

    odd, loop = Odd(), asyncio.get_running_loop()
    reported = []
    loop.set_exception_handler(lambda loop, context: reported.append(context["exception"]))
    logging.getLogger("agent_loop").addHandler(odd)
    try:
        result = await agent(BUSY, says("Hello."), after_run=no_disk).prompt("Go.")
        assert result.text == "Hello."
        assert [(await run).text for run in inner] == ["From the log."]
    finally:
        logging.getLogger("agent_loop").removeHandler(odd)
    assert [type(error) for error in reported] == [NoDisk] * 2


def test_found_e15_log_of_synchronous_runs(caplog):
    speaker = agent(BUSY, says("Hello."), says("Again."), after_run=no_disk)
    speaker.prompt_sync("Go.")
    for _ in speaker.stream_sync("Go."):
        pass
    assert [record.agent_loop["code"] for record in records_of(caplog)] == ["retry", "hook_error", "hook_error"]


def test_found_e15_log_of_a_run_whose_loop_was_closed():
    """It is logged on a thread of the engine."""
    closed, logged, messages = threading.Event(), threading.Event(), []

    class Waits(logging.Handler):
        def emit(self, record):
            messages.append(record.getMessage())
            if record.agent_loop["code"] == "hook_error":
                logged.set()

    waits = Waits()
    logging.getLogger("agent_loop").addHandler(waits)

    async def main():
        started, loop = asyncio.Event(), asyncio.get_running_loop()

        @tool
        def outlives():
            """Ends after the loop."""
            loop.call_soon_threadsafe(started.set)
            closed.wait()

        run = agent(calls("outlives"), tools=[outlives], after_run=lambda result: None).stream("Go.")
        await started.wait()
        return run

    try:
        run = asyncio.run(main())
        closed.set()
        assert logged.wait(30)
    finally:
        logging.getLogger("agent_loop").removeHandler(waits)
    assert messages[-1] == "the hook after_run failed: the event loop that started the run is closed", (messages, run)


PROGRAM = """
import asyncio, logging, sys
sys.path.insert(0, {folder!r})
from scripts import agent, says

def broken(result):
    raise ValueError("no disk")

if sys.argv[1] == "configured":
    logging.basicConfig(format="%(levelname)s %(name)s %(message)s")
asyncio.run(agent(says("Hello."), after_run=broken).prompt("Go."))
"""


@pytest.mark.parametrize("how", ["configured", "silent"])
def test_found_e15_log_is_silent_unless_logging_is_configured(how):
    program = PROGRAM.format(folder=str(__file__.rsplit("/", 1)[0]))
    done = subprocess.run([sys.executable, "-X", "dev", "-c", program, how], capture_output=True, text=True, check=True)
    if how == "silent":
        assert done.stderr == ""
    else:
        assert done.stderr.startswith("WARNING agent_loop the hook after_run failed: ValueError: no disk\nTraceback (most")
        assert done.stderr.endswith("ValueError: no disk\n")


async def test_found_e15_a_record_that_waits_outlives_its_agent(caplog):
    """The garbage collector may take an agent while the records of its run wait for the event loop."""
    for _ in range(20):
        owner = agent(fails("invalid_request", "no"), max_retries=0)
        run = owner.stream("x")
        owner.subscribe(lambda event, run=run: None)  # A cycle.
        time.sleep(0.01)  # The run goes on, on the engine's threads; its records wait for this one.
        del owner, run
        gc.collect()
        await asyncio.sleep(0)
    with pytest.raises(AgentError):
        await agent(fails("invalid_request", "no"), max_retries=0).prompt("x")
    assert "run_error" in {record.agent_loop["code"] for record in records_of(caplog)}


async def test_found_e15_log_of_an_agent_that_was_collected(caplog):
    """The collector empties the run's context with the agent, while the record waits for the event loop."""
    # The event loop keeps the context in which it is first used.
    await agent(says("Hello.")).prompt("Go.")
    held = []
    token = variable.set(held)
    subject = agent(fails("authentication", "no key"))
    run = subject.stream("Go.", raise_errors=False)
    variable.reset(token)
    # The run's context has the agent and the run, which have the context.
    held += [subject, run]
    while run._native.finished is None:
        time.sleep(0.001)  # and the loop takes no job
    gone, run_id = weakref.ref(subject), run.id
    del subject, run, held
    wait_until_collected(gone)

    def of_run():
        # What other tests have left to the collector may log, too.
        return [record for record in records_of(caplog) if record.agent_loop.get("run_id") == run_id]

    while not of_run():
        await asyncio.sleep(0.001)
    assert [(record.levelname, record.getMessage()) for record in of_run()] == [("ERROR", "the run failed: no key")]
