"""Context variables: what the code that starts a run, its hooks and its middleware set is seen by what is called later."""

import asyncio
import gc
import weakref
from contextvars import ContextVar

import pytest
from agent_loop import Agent, tool
from scripts import agent, calls, results, says

WHO: ContextVar[str] = ContextVar("who", default="unset")


@tool
def plain():
    """Says who it is for, on a thread."""
    return WHO.get()


@tool
async def later():
    """Says who it is for, on the event loop."""
    await asyncio.sleep(0)
    return WHO.get()


@tool
def values():
    """A generator on a thread."""
    yield "soon"
    return WHO.get()


TOOLS = pytest.mark.parametrize("made", [plain, later, values], ids=["plain", "async", "generator"])


def sets(value):
    def hook(*_):
        WHO.set(value)

    async def hook_later(*_):
        await asyncio.sleep(0)
        WHO.set(value)
        await asyncio.sleep(0)

    return {"plain": hook, "async": hook_later}


KINDS = pytest.mark.parametrize("kind", ["plain", "async"])


def asking(made, **options):
    return agent(calls(made.name), says("done"), tools=[made], **options)


@TOOLS
async def test_found_e16_what_middleware_sets_reaches_the_tool(made):
    async def outer(call, next):
        WHO.set("outer")
        result = await next()
        assert WHO.get() == "outer"
        return result

    async def inner(call, next):
        assert WHO.get() == "outer"
        token = WHO.set("inner")
        try:
            return await next()
        finally:
            WHO.reset(token)

    assert results(await asking(made, middleware=[outer]).prompt("go")) == ["outer"]
    assert results(await asking(made, middleware=[outer, inner]).prompt("go")) == ["inner"]
    assert WHO.get() == "unset"


@TOOLS
def test_found_e16_the_sync_methods_do_so_too(made):
    async def link(call, next):
        assert WHO.get() == "caller"
        WHO.set("link")
        return await next()

    token = WHO.set("caller")
    try:
        assert results(asking(made).prompt_sync("go")) == ["caller"]
        assert results(asking(made, middleware=[link]).prompt_sync("go")) == ["link"]
        run = asking(made, before_run=sets("hook")["plain"]).stream_sync("go")
        assert [event.result.text for event in run if event.type == "tool_execution_end"] == ["hook"]
        assert WHO.get() == "caller"
    finally:
        WHO.reset(token)


async def test_found_e16_parallel_calls_do_not_see_each_others():
    @tool
    async def numbered(n: int):
        """Waits for the others."""
        await asyncio.sleep(0.001 * (n % 3))
        return WHO.get()

    @tool
    def threaded(n: int):
        """On a thread."""
        return WHO.get()

    async def link(call, next):
        WHO.set(f"{WHO.get()} {call.arguments['n']}")
        await asyncio.sleep(0)
        return await next()

    def before(call):
        WHO.set(f"for {call.arguments['n']}")

    for made in (numbered, threaded):
        many = [{"n": n} for n in range(20)]
        subject = agent(calls(made.name, *many), says("done"), tools=[made], middleware=[link], before_tool_call=before)
        assert results(await subject.prompt("go")) == [f"for {n} {n}" for n in range(20)]


async def test_found_e16_each_call_of_next_has_the_context_of_its_caller():
    async def twice(call, next):
        async def one(name):
            WHO.set(name)
            return (await next())["content"][0]["text"]

        return await asyncio.gather(one("a"), one("b"))

    assert results(await asking(later, middleware=[twice]).prompt("go")) == ['["a","b"]']


@TOOLS
@KINDS
@pytest.mark.parametrize("name", ["before_run", "transform_context", "get_api_key", "get_steering_messages", "before_tool_call"])
async def test_found_e16_what_a_hook_sets_reaches_the_tools(name, kind, made):
    assert results(await asking(made, **{name: sets("hook")[kind]}).prompt("go")) == ["hook"]
    assert WHO.get() == "unset"


@KINDS
async def test_found_e16_what_a_hook_sets_is_seen_by_all_that_comes_later(kind):
    seen = []

    async def provider(request):
        seen.append(("provider", WHO.get()))
        yield "done"

    subject = Agent("mine/m", provider=provider, before_run=sets("hook")[kind])
    subject.set_hook("transform_context", lambda _: seen.append(("transform_context", WHO.get())))
    subject.set_hook("should_stop_after_turn", lambda _: seen.append(("should_stop", WHO.get())))
    subject.set_hook("after_run", lambda _: seen.append(("after_run", WHO.get())))
    subject.subscribe(lambda event: event.type == "agent_end" and seen.append(("listener", WHO.get())))
    await subject.prompt("go")
    names = ["transform_context", "provider", "should_stop", "listener", "after_run"]
    assert seen == [(name, "hook") for name in names]
    # The next run begins with its caller's.
    seen.clear()
    subject.set_hook("before_run", None)
    await subject.prompt("again")
    assert seen == [(name, "unset") for name in names]


@KINDS
async def test_found_e16_a_later_hook_can_reset_what_an_earlier_one_set(kind):
    tokens = []

    def attach(_):
        tokens.append(WHO.set("span"))

    def detach(_):
        WHO.reset(tokens.pop())
        tokens.append(WHO.get())

    async def attach_later(_):
        attach(_)

    async def detach_later(_):
        detach(_)

    if kind == "async" and not hasattr(asyncio, "Runner"):
        pytest.skip("tasks have a copy of the context in Python 3.10")
    hooks = {"plain": (attach, detach), "async": (attach_later, detach_later)}[kind]
    await asking(later, before_run=hooks[0], after_run=hooks[1]).prompt("go")
    assert tokens == ["unset"]


@TOOLS
async def test_found_e16_the_hooks_around_a_call_share_its_context(made):
    seen = []
    subject = asking(
        made,
        before_tool_call=sets("this call")["async"],
        after_tool_call=lambda _: seen.append(WHO.get()),
        should_stop_after_turn=lambda _: seen.append(WHO.get()),
    )
    await subject.prompt("go")
    assert seen == ["this call", "unset", "unset"]


async def test_found_e16_a_task_factory_of_the_application_keeps_what_hooks_set():
    def factory(loop, work, **_):  # uvloop always gives it a context, asyncio only one that was asked for.
        return asyncio.Task(work, loop=loop)

    asyncio.get_running_loop().set_task_factory(factory)
    try:
        subject = asking(plain, before_run=sets("hook")["async"])
        assert results(await asyncio.Task(subject.prompt("go"))) == ["hook"]
    finally:
        asyncio.get_running_loop().set_task_factory(None)


async def test_found_e16_the_context_of_the_prompt_reaches_all():
    seen = set()
    subject = asking(
        plain,
        transform_context=lambda _: seen.add(WHO.get()),
        before_tool_call=lambda _: seen.add(WHO.get()),
        after_run=lambda _: seen.add(WHO.get()),
        middleware=[lambda call, next: next()],
    )
    subject.subscribe(lambda _: seen.add(WHO.get()))
    token = WHO.set("caller")
    run = subject.stream("go")
    WHO.reset(token)
    assert results(await run.result()) == ["caller"]
    assert seen == {"caller"}


async def test_found_e16_a_middleware_that_calls_next_elsewhere_is_inside_its_run():
    async def link(call, next):
        loop = asyncio.get_running_loop()
        return await loop.create_task(next())

    assert results(await asking(later, middleware=[link], before_run=sets("hook")["plain"]).prompt("go")) == ["hook"]


async def test_the_contexts_of_calls_end_with_them_also_without_after_tool_call_and_where_a_call_is_blocked():
    class Value:
        pass

    held = ContextVar("held")
    values, alive = [], []

    @tool
    async def count(n: int):
        """Counts the values that are alive."""
        gc.collect()
        alive.append(sum(value() is not None for value in values))

    def before(call):
        value = Value()
        values.append(weakref.ref(value))
        held.set(value)
        return {"block": True} if call.arguments["n"] % 2 else None

    turns = [calls("count", {"n": n}) for n in range(8)]
    await agent(*turns, says("done"), tools=[count], before_tool_call=before).prompt("go")
    assert len(values) == 8
    assert alive == [1, 1, 1, 1]
