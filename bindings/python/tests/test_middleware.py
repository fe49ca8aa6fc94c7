"""Middleware: around the execution of tools."""

import asyncio
import functools

import pytest
from agent_loop import MiddlewareCall, ToolContext, tool
from scripts import agent, calls, results, says


@tool
async def double(n: int):
    """Doubles."""
    return n * 2


@tool
def plain(n: int):
    """Doubles on a thread."""
    if n == 13:
        raise ValueError("unlucky")
    return n * 2


async def text_of(*middleware, made=double, n=2):
    """The result's text when a tool is called through a chain."""
    subject = agent(calls(made.name, n=n), says("done"), tools=[made], middleware=middleware)
    (text,) = results(await subject.prompt("go"))
    return text


async def test_the_chain_is_in_order_and_the_first_is_outermost():
    order = []

    def link(name):
        async def f(call, next):
            order.append(f"{name} in")
            result = await next()
            order.append(f"{name} out")
            return result

        return f

    subject = agent(calls("double", n=2), says("done"), tools=[double], middleware=[link("a"), link("b")])
    subject.add_middleware(link("c"))
    assert results(await subject.prompt("go")) == ["4"]
    assert order == ["a in", "b in", "c in", "c out", "b out", "a out"]


async def test_the_arguments_of_a_middleware():
    seen = []

    async def look(call, next):
        assert isinstance(call, MiddlewareCall) and isinstance(call.context, ToolContext)
        seen.append((call.id, call.name, call.arguments, call.context.is_cancelled, repr(call)))
        call.context.update("half")
        assert await call.context.sleep(1000)
        result = await next()
        seen.append(result)
        return result

    assert await text_of(look) == "4"
    assert seen[0] == ("call_0", "double", {"n": 2}, False, "<MiddlewareCall of double, call_0>")
    assert seen[1] == {"content": [{"type": "text", "text": "4"}], "details": None, "is_error": False, "terminate": False}


@pytest.mark.parametrize("made", [double, plain])
async def test_arguments_results_short_cuts_and_second_tries(made):
    async def other_arguments(call, next):
        return await next({"n": call.arguments["n"] + 1})

    async def other_result(call, next):
        return {**await next(), "content": [{"type": "text", "text": "hidden"}]}

    async def short_cut(call, next):
        return "cached"

    async def twice(call, next):
        first, second = await next(), await next({"n": 5})
        return [first["content"][0]["text"], second["content"][0]["text"]]

    def not_async(call, next):
        return next()

    assert await text_of(other_arguments, made=made) == "6"
    assert await text_of(other_result, made=made) == "hidden"
    assert await text_of(short_cut, made=made) == "cached"
    assert await text_of(twice, made=made) == '["4","10"]'
    assert await text_of(not_async, made=made) == "4"
    assert await text_of(lambda call, next: "at once", made=made) == "at once"


async def test_found_r3_a_middleware_that_returns_nothing_fails_the_call():
    ran = []

    async def forgets(call, next):
        ran.append(await next())

    async def passes(call, next):
        return await next()

    nothing = "returned nothing for a call of double; it has to return what next gives, or a result of its own (an empty text if"
    assert (await text_of(forgets)).startswith(f"the middleware {nothing}")
    assert (await text_of(passes, forgets)).startswith(f"middleware 2 of 2 {nothing}")
    assert [result["content"][0]["text"] for result in ran] == ["4", "4"]


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
async def test_found_r3_a_plain_middleware_that_does_not_await_next_fails_the_call():
    def drops(call, next):
        next()
        return "measured"

    def keeps(call, next):
        result = next({"n": 3})
        return {"content": [{"type": "text", "text": str(type(result))}]}

    def reads(call, next):
        return next()["content"]

    def changes(call, next):
        result = next()
        result.update(details=1)
        return result

    class Forgets:
        def __call__(self, call, next):
            next()

    for link in (drops, keeps, reads, changes, Forgets()):
        name = getattr(link, "__name__", "Forgets")
        text = f"TypeError: the middleware {name} did not await next(), so that the tool did not run; "
        assert await text_of(link) == text + "write `async def` and `await next()`"


async def test_found_r3_a_middleware_that_has_next_awaited_is_taken():
    later, tasks, kept = [], [], []

    async def passes(call, next, note="passes"):
        later.append(note)
        return await next()

    class Passes:
        async def __call__(self, call, next):
            return await passes(call, next, "object")

        async def method(self, call, next):
            return await passes(call, next, "method")

    def begins(call, next):
        tasks.append(asyncio.ensure_future(next()))
        return tasks[-1]

    def leaves(call, next):
        tasks.append(asyncio.ensure_future(next()))
        return "at once"

    def holds(call, next):
        kept.append(next())
        return "at once"

    for link, text in [
        (passes, "4"),
        (functools.partial(passes, note="partial"), "4"),
        (functools.partial(functools.partial(passes), note="partial"), "4"),
        (Passes(), "4"),
        (Passes().method, "4"),
        (lambda call, next: passes(call, next, "lambda"), "4"),
        (lambda call, next: next({"n": 3}), "6"),
        (lambda call, next: asyncio.wait_for(next(), 30), "4"),
        (begins, "4"),
        (leaves, "at once"),
        (holds, "at once"),
    ]:
        assert await text_of(link) == text
    assert later == ["passes", "partial", "partial", "object", "method", "lambda"]
    assert (await tasks[0])["content"] == [{"type": "text", "text": "4"}]
    tasks[1].cancel()
    kept[0].close()
    await asyncio.gather(*tasks, return_exceptions=True)

    def wrong(call, next):
        raise TypeError("its own")

    assert await text_of(wrong) == "TypeError: its own"


async def test_found_r1_a_middleware_that_changes_a_result_wrongly_fails_the_call():
    async def changes(call, next):
        return {**await next(), "content": "changed"}

    text = await text_of(changes)
    assert text.startswith("the tool's result: content: expected an array of blocks such as ") and 'got "changed"' in text


async def test_a_tools_failure_is_raised_unchanged():
    caught = []

    async def look(call, next):
        try:
            return await next()
        except ValueError as error:
            caught.append(str(error))
            raise

    assert await text_of(look, made=plain, n=13) == "ValueError: unlucky"
    assert caught == ["unlucky"]

    async def repair(call, next):
        try:
            return await next()
        except ValueError:
            return "repaired"

    assert await text_of(repair, look, made=plain, n=13) == "repaired"


async def test_a_links_own_failure_is_the_calls():
    async def broken(call, next):
        await next()
        raise RuntimeError("broken")

    async def odd(call, next):
        return object()

    assert await text_of(broken) == "RuntimeError: broken"
    assert (await text_of(odd)).startswith("TypeError: the tool's result: a value of type object is not JSON")
    assert (await text_of(lambda call, next: next([1]))).startswith("TypeError: ")


async def test_an_abort_is_seen_by_a_link_and_gives_it_up():
    seen = []

    async def stuck(call, next):
        subject.abort()
        await call.context.wait_cancelled()
        seen.append(call.context.is_cancelled)
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("over")

    subject = agent(calls("double", n=2), tools=[double], middleware=[stuck], abort_grace_ms=5)
    result = await subject.prompt("go")
    assert (result.outcome, results(result)) == ("aborted", ["aborted"])
    await asyncio.sleep(0.01)
    assert seen == [True, "over"]


@pytest.mark.parametrize(
    ("link", "text"),
    [
        ("x", "middleware: expected a function of (call, next), got str"),
        (lambda call: None, "middleware: expected a function that is called as f(call, next): too many positional arguments"),
    ],
)
def test_what_cannot_be_middleware(link, text):
    with pytest.raises(TypeError) as caught:
        agent(middleware=[link])
    assert str(caught.value) == text


def test_a_wrapper_is_checked_and_not_what_it_wraps():
    def plain(number):
        """What is wrapped takes another number of arguments than its wrapper."""

    @functools.wraps(plain)
    async def link(call, next):
        return await next()

    agent(middleware=[link])
    with pytest.raises(TypeError, match="^middleware: expected a function that is called as"):
        agent(middleware=[functools.wraps(link)(lambda call: None)])


@pytest.mark.parametrize("given", ["ab", {"f": print}, 0, len])
def test_middleware_is_a_list(given):
    kind = type(given).__name__
    article = "an" if kind == "int" else "a"
    with pytest.raises(TypeError) as caught:
        agent(middleware=given)
    assert str(caught.value) == f'option "middleware": expected a list of functions, got {article} {kind}; write middleware=[…]'
