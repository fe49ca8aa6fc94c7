"""Tool calls: arguments, results, concurrency."""

import asyncio
import sys
import threading
import time

import pytest
from agent_loop import CallbackError, InvalidArgumentError, Tool, ToolContext, ToolExecutionEnd, ToolExecutionStart, tool
from scripts import agent, answer_of, calls, events_of, results, says

# ---- what becomes of answers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("text", "text"),
        (1.5, "1.5"),
        (345, "345"),
        (True, "true"),
        (2**64 - 1, str(2**64 - 1)),
        ({"b": 1, "a": [None, "é🙂"]}, '{"b":1,"a":[null,"é🙂"]}'),
        ((1, 2), "[1,2]"),
        ({"content": [{"type": "text", "text": "full"}], "details": {"x": 1}}, "full"),
        ({"content": "not blocks"}, '{"content":"not blocks"}'),
    ],
)
@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_answers(value, text, kind):
    async def give(arguments, context):
        return value

    def give_plain(arguments, context):
        return value

    made = Tool(name="give", execute=give if kind == "async" else give_plain)
    assert await answer_of(made) == (text, False)


def loops():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "ValueError: the tool's result: NaN is not JSON"),
        ({"x": [float("inf")]}, "ValueError: the tool's result: at /x/0: inf is not JSON"),
        (object(), "TypeError: the tool's result: a value of type object is not JSON (str, int, float, bool, None, list, dict)"),
        ({"number": 1j}, "TypeError: the tool's result: at /number: a value of type complex is not JSON"),
        ({1: 2}, "TypeError: the tool's result: the key 1 is not a str"),
        ({1, 2}, "TypeError: the tool's result: a value of type set is not JSON"),
        (b"bytes", "TypeError: the tool's result: a value of type bytes is not JSON"),
        (2**64, "ValueError: the tool's result: an integer beyond 64 bits; pass it as text"),
        (
            loops(),
            "ValueError: the tool's result: at /0/0/0/0/0/0/0/0/…: nested deeper than 127 levels",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_what_is_not_json_is_an_error_result(value, text, kind):
    async def give(arguments, context):
        return value

    def give_plain(arguments, context):
        return value

    text_of_result, is_error = await answer_of(Tool(name="give", execute=give if kind == "async" else give_plain))
    assert is_error and text_of_result.startswith(text)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (KeyError("x"), "KeyError: 'x'"),
        (ValueError(), "ValueError"),
        (asyncio.CancelledError(), "CancelledError"),
        (InvalidArgumentError("no"), "InvalidArgumentError: no"),
    ],
)
@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_what_a_tool_raises_goes_back_to_the_model(error, text, kind):
    async def give(arguments, context):
        await asyncio.sleep(0)
        raise error

    def give_plain(arguments, context):
        raise error

    assert await answer_of(Tool(name="give", execute=give if kind == "async" else give_plain)) == (text, True)


@pytest.mark.parametrize("kind", ["async", "plain", "async generator", "generator"])
async def test_found_sys_exit_in_a_tool_is_its_error_and_does_not_end_the_program(kind):
    async def leave():
        """Leaves."""
        sys.exit(3)

    def leave_plain():
        """Leaves."""
        sys.exit(3)

    async def leave_after_a_value():
        """Leaves."""
        yield 1
        sys.exit(3)

    def leave_plain_after_a_value():
        """Leaves."""
        yield 1
        sys.exit(3)

    functions = [leave, leave_plain, leave_after_a_value, leave_plain_after_a_value]
    function = functions[["async", "plain", "async generator", "generator"].index(kind)]
    assert await answer_of(tool(function)) == ("SystemExit: 3", True)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="this Python has no groups of exceptions")
async def test_found_a_group_of_exceptions_is_reported_with_its_first_ones():
    class Odd(ExceptionGroup):
        @property
        def exceptions(self):
            raise RuntimeError("not to be read")

    many = ExceptionGroup("all failed", [ValueError(f"no {n}") for n in range(7)])
    inner = ExceptionGroup("two", [ExceptionGroup("one", [TypeError("deep")]), CallbackError("mine")])
    head = "ExceptionGroup: all failed (7 sub-exceptions): "
    for error, text in [
        (many, head + "ValueError: no 0; ValueError: no 1; ValueError: no 2; ValueError: no 3; ValueError: no 4; and 2 more"),
        (inner, "ExceptionGroup: two (2 sub-exceptions): ExceptionGroup: one (1 sub-exception): TypeError: deep; mine"),
        (ExceptionGroup("long", [OSError("x" * 10_000)]), f"ExceptionGroup: long (1 sub-exception): OSError: {'x' * 491}…"),
        (Odd("odd", [KeyError("k")]), "Odd: odd (1 sub-exception): KeyError: 'k'"),
    ]:

        async def give(arguments, context, error=error):
            raise error

        assert await answer_of(Tool(name="give", execute=give)) == (text, True)

    async def fails_later():
        raise LookupError("not there")

    @tool
    async def many_tasks():
        """Raises."""
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(0))
            group.create_task(fails_later())

    text, is_error = await answer_of(many_tasks)
    assert (text.endswith(" (1 sub-exception): LookupError: not there"), is_error) == (True, True)


async def test_a_plain_function_that_gives_a_coroutine():
    async def later():
        return 1

    @tool
    def wrong():
        """Forgot the async."""
        return later()

    text, is_error = await answer_of(wrong)
    assert is_error
    assert text == "TypeError: the tool wrong is a plain function that returned a coroutine; make it an async function"


async def test_a_result_may_say_that_it_is_an_error_and_that_the_run_may_end():
    @tool
    async def give():
        """Gives a full result."""
        return {"content": [{"type": "text", "text": "bad"}], "is_error": True, "terminate": True}

    outcome = await agent(calls("give"), says("never"), tools=[give]).prompt("go")
    assert outcome.outcome == "stopped"
    assert (outcome.messages[-1].text, outcome.messages[-1].is_error) == ("bad", True)


# ---- arguments ------------------------------------------------------------------------------------------------------------


async def test_arguments_are_checked_before_the_tool_sees_them():
    seen = []

    @tool
    async def take(n: int, flag: bool = False):
        """Takes."""
        seen.append((n, flag))

    subject = agent(
        calls("take", n="5", flag="true"),
        calls("take", n="five"),
        calls("take", n=1, m=2),
        calls("take", n=2.0),
        says("end"),
        tools=[take],
    )
    texts = results(await subject.prompt("go"))
    assert seen == [(5, True), (2, False)] and type(seen[1][0]) is int
    assert texts[1] == 'the arguments of take do not fit its schema:\n/n: "five" is not of type "integer"'
    assert texts[2] == "the arguments of take do not fit its schema:\n/m: is not a parameter"


async def test_validation_can_be_off():
    @tool
    async def take(n: int):
        """Takes."""
        return n

    outcome = await agent(calls("take", n="five"), says("end"), tools=[take], validation="off").prompt("go")
    assert results(outcome) == ["five"]


def idle():
    """Does nothing."""


async def test_an_unknown_tool_is_reported_to_the_model():
    outcome = await agent(calls("nothing"), says("end"), tools=[tool(idle)]).prompt("go")
    assert results(outcome) == ['there is no tool named "nothing"; the tools are: idle']


# ---- several calls of one message -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_calls_of_a_message_run_side_by_side(kind):
    together = threading.Barrier(3, timeout=30)
    gate = asyncio.Event()
    inside = 0

    @tool(name="meet")
    async def meet():
        """Meets the others."""
        nonlocal inside
        inside += 1
        if inside == 3:
            gate.set()
        await gate.wait()
        return "met"

    @tool(name="meet")
    def meet_plain():
        """Meets the others."""
        together.wait()
        return "met"

    made = meet if kind == "async" else meet_plain
    outcome = await agent(calls("meet", {}, {}, {}), says("end"), tools=[made]).prompt("go")
    assert results(outcome) == ["met"] * 3


def most_at_once():
    """A tool, and the number of its concurrent calls."""
    inside, most = 0, [0]

    @tool
    async def count(context: ToolContext):
        """Counts."""
        nonlocal inside
        inside += 1
        most[0] = max(most[0], inside)
        await context.sleep(10)
        inside -= 1
        return most[0]

    return count, most


@pytest.mark.parametrize(
    ("options", "mode", "expected"),
    [
        ({}, None, 8),
        ({"max_parallel_tools": 3}, None, 3),
        ({"tool_execution": "sequential"}, None, 1),
        ({}, "sequential", 1),
    ],
)
async def test_the_number_of_concurrent_calls(options, mode, expected):
    count, most = most_at_once()
    made = Tool(name="count", execute=count.execute, execution_mode=mode)
    subject = agent(calls("count", *[{}] * 12), says("end"), tools=[made], **options)
    await subject.prompt("go")
    assert most == [expected]


async def test_results_are_in_the_order_of_the_calls():
    @tool
    async def nap(context: ToolContext, ms: int):
        """Sleeps."""
        await context.sleep(ms)
        return ms

    subject = agent(calls("nap", {"ms": 30}, {"ms": 20}, {"ms": 10}), says("end"), tools=[nap])
    events = await events_of(subject.stream("go"))
    ends = [event.result.content[0].text for event in events if isinstance(event, ToolExecutionEnd)]
    assert ends == ["10", "20", "30"]
    appended = [event.message.text for event in events if event.type == "message_end" and event.message.role == "tool_result"]
    assert appended == ["30", "20", "10"]
    assert [event.arguments["ms"] for event in events if isinstance(event, ToolExecutionStart)] == [30, 20, 10]


async def test_plain_and_async_tools_in_one_batch():
    @tool
    def plain():
        """Plain."""
        time.sleep(0.01)
        return "plain"

    @tool
    async def quick():
        """Async."""
        return "async"

    answer = [*calls("plain")[:1], *calls("quick")]
    answer[1]["delta"]["tool_call"]["id"] = "call_1"
    assert results(await agent(answer, says("end"), tools=[plain, quick]).prompt("go")) == ["plain", "async"]
