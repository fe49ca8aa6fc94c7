"""Tools: how they are made, functions of all kinds, and their arguments."""

import asyncio
import functools
import threading
from contextvars import ContextVar

import pytest
from agent_loop import InvalidArgumentError, Tool, ToolContext, ToolExecutionEnd, ToolExecutionUpdate, tool
from scripts import agent, answer_of, calls, events_of, kinds, says

WHO: ContextVar[str] = ContextVar("who", default="unset")


# ---- how tools are made ---------------------------------------------------------------------------------------------------


def test_a_tool_is_named_and_described_by_its_function():
    @tool
    async def weather(city: str, days: int = 1) -> dict:
        """The weather forecast
        for a city.

        More for people who read code.
        """
        return {"city": city, "days": days}

    assert isinstance(weather, Tool)
    assert (weather.name, weather.label, weather.execution_mode) == ("weather", "weather", None)
    assert (weather.timeout_ms, weather.prepare_arguments) == (0, None)
    assert weather.description == "The weather forecast for a city."
    assert weather.parameters == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}},
        "required": ["city"],
        "additionalProperties": False,
    }
    assert list(weather.parameters) == ["type", "properties", "required", "additionalProperties"]
    assert repr(weather) == "<Tool weather>"
    assert weather.__name__ == "weather" and weather.__doc__.startswith("The weather forecast\n")
    assert asyncio.run(weather("Oslo", days=2)) == {"city": "Oslo", "days": 2}, "it can be called as it was written"


def test_everything_can_be_given():
    schema = {"type": "object", "properties": {"x": {"type": "array"}}, "required": ["x"]}

    @tool(name="other", description="Other.", parameters=schema, label="The other", execution_mode="sequential")
    def function(x: "what is not known anywhere"):  # noqa: F722
        return x

    assert (function.name, function.description, function.label) == ("other", "Other.", "The other")
    assert (function.parameters, function.execution_mode) == (schema, "sequential")
    assert function(3) == 3


async def test_a_tool_without_a_decorator():
    async def execute(arguments, context):
        return [arguments, context.name]

    made = Tool(name="raw", execute=execute, description="Raw.", parameters={"type": "object"})
    assert await answer_of(made, a=1) == ('[{"a":1},"raw"]', False)
    assert Tool(name="none", execute=execute).parameters == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (
            lambda: Tool(name="a b", execute=print),
            InvalidArgumentError,
            "tool name \"a b\": use 1 to 64 letters, digits, '_' or '-'",
        ),
        (
            lambda: Tool(name="x", execute=print, parameters={"type": "object", "properties": {"a": {"type": "strin"}}}),
            InvalidArgumentError,
            'tool "x": parameters is not a JSON Schema: at "/properties/a/type": unknown type "strin"; did you mean "string"?',
        ),
        (
            lambda: tool(name="x", parameters={"type": "array"})(print),
            InvalidArgumentError,
            'tool "x": parameters is not a JSON Schema: at "/type": arguments are an object, so this must be "object"',
        ),
        (
            lambda: Tool(name="x", execute=print, paramters={}),
            InvalidArgumentError,
            'tool "x": unknown field "paramters"; did you mean "parameters"?',
        ),
        (
            lambda: tool(execution_mod="parallel")(test_all),
            InvalidArgumentError,
            'tool "test_all": unknown field "execution_mod"; did you mean "execution_mode"?',
        ),
        (
            lambda: tool(execution_mode="both")(test_all),
            InvalidArgumentError,
            'tool "test_all": execution_mode: expected "parallel" or "sequential", got "both"',
        ),
        (lambda: Tool("x", print), TypeError, "Tool: expected named arguments: Tool(name=…, execute=…, …); @tool makes"),
        (lambda: Tool(name="x", execute="print"), TypeError, 'tool "x": execute: expected a function, got str'),
        (
            lambda: Tool(name="x", execute=lambda arguments: "done"),
            TypeError,
            'tool "x": execute: expected a function that is called as f(arguments, context): too many positional arguments',
        ),
        (
            lambda: Tool(name="x", execute=lambda arguments, context, more: "done"),
            TypeError,
            'tool "x": execute: expected a function that is called as f(arguments, context): missing a required argument',
        ),
        (lambda: Tool(name=5, execute=print), InvalidArgumentError, "tool: name: expected text, got 5"),
        (
            lambda: Tool(name="x", execute=print, parameters={"a": object()}),
            TypeError,
            "tool: at /parameters/a: a value of type object",
        ),
        (lambda: tool("name"), TypeError, "tool: expected a function, got str; use Tool(name=…, execute=…) or @tool(name=…)"),
        (lambda: tool(lambda: 1), InvalidArgumentError, "tool: a lambda has no name; write tool(name=…, parameters="),
    ],
)
def test_a_wrong_tool_is_named(make, error, text):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value).startswith(text)


def test_all():
    """A function without parameters."""


# ---- functions of all kinds -----------------------------------------------------------------------------------------------


async def test_async_tools_run_on_the_callers_loop_with_its_context():
    seen = []

    @tool
    async def look():
        """Looks."""
        await asyncio.sleep(0)
        seen.append((threading.get_ident(), asyncio.get_running_loop(), WHO.get()))
        WHO.set("changed")

    WHO.set("the caller")
    assert await answer_of(look) == ("", False)
    assert seen == [(threading.get_ident(), asyncio.get_running_loop(), "the caller")]
    assert WHO.get() == "the caller"


async def test_plain_functions_run_off_the_loop_with_its_context():
    seen = []

    @tool
    def look():
        """Looks."""
        seen.append((threading.get_ident() == main, WHO.get()))
        WHO.set("changed")
        return "plain"

    main = threading.get_ident()
    WHO.set("the caller")
    assert await answer_of(look) == ("plain", False)
    assert seen == [(False, "the caller")]
    assert WHO.get() == "the caller"


async def test_a_plain_function_that_blocks_does_not_block_the_loop():
    entered, leave = threading.Event(), threading.Event()

    @tool
    def block():
        """Blocks."""
        entered.set()
        assert leave.wait(30)
        return "left"

    task = asyncio.create_task(answer_of(block))
    while not entered.is_set():
        await asyncio.sleep(0.001)
    leave.set()
    assert await task == ("left", False)


async def test_objects_methods_and_partials_are_functions_too():
    class Adder:
        def __init__(self, base):
            self.base = base

        async def __call__(self, n: int):
            return self.base + n

        def plain(self, n: int):
            """Adds."""
            return self.base + n

    async def add(a: int, n: int):
        return a + n

    assert await answer_of(tool(Adder(1), name="adder"), n=2) == ("3", False)
    assert await answer_of(tool(Adder(1).plain), n=2) == ("3", False)
    made = tool(name="partial")(functools.partial(add, 1))
    assert await answer_of(made, n=2) == ("3", False)


# ---- what they get --------------------------------------------------------------------------------------------------------


async def test_the_context_knows_the_call():
    @tool
    async def look(context: ToolContext, word: str = "none"):
        """Looks."""
        return [context.id, context.name, context.is_cancelled, word, repr(context)]

    assert look.parameters["properties"].keys() == {"word"}
    text, _ = await answer_of(look, word="w")
    assert text == '["call_0","look",false,"w","<ToolContext of look, call_0>"]'


async def test_the_context_is_found_under_any_name_and_in_strings():
    @tool
    async def one(*, it: "ToolContext | None" = None):
        """One."""
        return it.name

    @tool(parameters={"type": "object"})
    async def two(x: "unknown", it: "ToolContext"):  # noqa: F821
        """Two."""
        return it.name + x

    assert await answer_of(one) == ("one", False)
    assert await answer_of(two, x="!") == ("two!", False)


async def test_updates_come_in_order_before_the_end():
    @tool
    async def work(context: ToolContext):
        """Works."""
        for n in range(3):
            context.update(n)
        return "done"

    @tool
    def plain(context: ToolContext):
        """Works on a thread."""
        context.update({"at": 1})

    subject = agent(calls("work"), calls("plain"), says("end"), tools=[work, plain])
    events = await events_of(subject.stream("go"))
    updates = [event for event in events if isinstance(event, ToolExecutionUpdate)]
    assert [update.partial_result.content[0].text for update in updates] == ["0", "1", "2", '{"at":1}']
    assert [(update.tool_call_id, update.tool_name) for update in updates][2:] == [("call_0", "work"), ("call_0", "plain")]
    assert kinds(events).index("tool_execution_end") > kinds(events).index("tool_execution_update")


async def test_an_update_that_is_not_json_is_the_tools_own_error():
    @tool
    async def work(context: ToolContext):
        """Works."""
        context.update({"number": 1j})

    text, is_error = await answer_of(work)
    assert is_error and text.startswith("TypeError: the update: at /number: a value of type complex is not JSON")


async def test_late_updates_are_dropped_with_a_word():
    contexts = []

    @tool
    async def first(context: ToolContext):
        """Keeps its context."""
        contexts.append(context)

    @tool
    async def second():
        """Uses the other's."""
        contexts[0].update("late")

    subject = agent(calls("first"), calls("second"), says("end"), tools=[first, second])
    events = await events_of(subject.stream("go"))
    assert [event.code for event in events if event.type == "diagnostic"] == ["late_update"]


async def test_sleeping_in_the_engines_time():
    @tool
    async def nap(context: ToolContext):
        """Sleeps an hour."""
        return await context.sleep(3_600_000)

    @tool
    def plain_nap(context: ToolContext):
        """Sleeps an hour on a thread."""
        return context.sleep_sync(3_600_000)

    subject = agent(calls("nap"), calls("plain_nap"), says("end"), tools=[nap, plain_nap])
    events = await events_of(subject.stream("go"))
    ends = [event for event in events if isinstance(event, ToolExecutionEnd)]
    assert [(end.result.content[0].text, end.duration_ms) for end in ends] == [("true", 3_600_000)] * 2


async def test_sleep_wants_milliseconds():
    @tool
    async def nap(context: ToolContext):
        """Sleeps."""
        await context.sleep(-1)

    assert await answer_of(nap) == ("ValueError: ms: expected milliseconds, got -1", True)


# ---- time limits, and arguments put right -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_a_call_that_takes_too_long_is_cancelled(kind):
    over = threading.Event()

    @tool(timeout_ms=50)
    async def slow(context: ToolContext):
        """Sleeps."""
        try:
            await context.sleep(1_000_000)
        finally:
            assert context.is_cancelled
            over.set()

    @tool(name="slow", timeout_ms=50)
    def slow_plain(context: ToolContext):
        """Sleeps on a thread."""
        assert context.sleep_sync(1_000_000) is False
        assert context.is_cancelled
        over.set()

    made = slow if kind == "async" else slow_plain
    assert made.timeout_ms == 50
    text = "the tool slow did not answer within its timeout_ms (50); the call was cancelled"
    assert await answer_of(made) == (text, True)
    assert await asyncio.to_thread(over.wait, 30)


async def test_arguments_are_prepared_before_validation():
    def prepare(arguments):
        assert arguments == {"number": "4"}
        return {"n": arguments["number"]}

    async def prepare_later(arguments, context):
        assert not context.is_cancelled
        await asyncio.sleep(0)
        return prepare(arguments)

    for function in (prepare, prepare_later):

        @tool(prepare_arguments=function)
        async def double(n: int):
            """Doubles."""
            return n * 2

        assert double.prepare_arguments is function
        assert await answer_of(double, number="4") == ("8", False)


async def test_a_failure_of_it_is_the_calls_error():
    def broken(arguments):
        raise ValueError("no")

    for function, text in [
        (broken, "prepare_arguments of noop failed: ValueError: no"),
        (lambda arguments: None, "prepare_arguments of noop failed: expected a dict of arguments, got None"),
    ]:

        @tool(prepare_arguments=function)
        async def noop():
            """Does nothing."""

        assert await answer_of(noop) == (text, True)
    with pytest.raises(TypeError, match='tool "x": prepare_arguments: expected a function, got int'):
        Tool(name="x", execute=print, prepare_arguments=5)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        (
            {"city": {"type": "string"}},
            'has no JSON Schema keyword; did you mean {"type": "object", "properties": {"city": …}}?',
        ),
        ({"city": "string"}, 'has no JSON Schema keyword; did you mean {"type": "object", "properties": {"city": …}}?'),
        (
            {"type": "object", "properties": {"city": {"type": "str"}}},
            'is not a JSON Schema: at "/properties/city/type": unknown type "str"; did you mean "string"?',
        ),
        (
            {"type": "object", "properties": {"city": {}}, "required": ["citty"]},
            'is not a JSON Schema: at "/required": "citty" is not in "properties"; did you mean "city"?',
        ),
    ],
)
def test_found_r2_what_is_certainly_no_schema_is_refused(parameters, text):
    for make in (tool(name="t", parameters=parameters), lambda f: Tool(name="t", execute=f, parameters=parameters)):
        with pytest.raises(InvalidArgumentError) as caught:
            make(print)
        assert str(caught.value) == f'tool "t": parameters {text}'


def test_found_a15_a_schema_without_bounds_is_refused():
    def made(schema):
        return Tool(name="t", execute=print, parameters=schema)

    endless = {"type": "object", "$ref": "#"}
    deep = {"type": "string"}
    for _ in range(70):
        deep = {"items": deep}
    for schema, text in [
        (endless, "parameters is not a JSON Schema: .*refers to itself"),
        ({"type": "object", "properties": {"x": deep}}, "nests deeper than 64 levels"),
        ({"type": "object", "properties": {"x": {"enum": ["word"] * 50_000}}}, "at most 256 KiB"),
        ({"type": "object", "properties": {"x": {"pattern": "((a{100}){100}){100}"}}}, "patterns are too large"),
    ]:
        with pytest.raises(InvalidArgumentError, match=text):
            made(schema)
