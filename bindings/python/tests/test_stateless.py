"""Stateless runs: runs over a context that the caller owns."""

import asyncio
import weakref

import agent_loop
import pytest
from agent_loop import Context, InvalidArgumentError, InvalidStateError, Undelivered, UserMessage, tool
from collection import wait_until_collected
from scripts import calls, events_of, fails, kinds, results, says, scripted


@tool
async def double(n: int):
    """Doubles."""
    return n * 2


def texts(messages):
    return [message.text for message in messages]


@pytest.mark.parametrize("form", [dict, Context])
async def test_a_run_over_a_context(form):
    history = [
        {"role": "user", "content": "hello"},
        *(await agent_loop.run({}, "x", model=scripted(says("hi"))).result()).messages[1:],
    ]
    context = form(system_prompt="Be brief.", messages=history, tools=[double])
    before = list(history)
    run = agent_loop.run(context, "What is 2 doubled?", model=scripted(calls("double", n=2), says("4")))
    async with run:
        events = [event async for event in run]
        result = await run.result()
    assert kinds(events)[0] == "agent_start" and kinds(events)[-1] == "agent_end"
    assert (result.outcome, result.text, results(result)) == ("completed", "4", ["4"])
    assert texts(result.messages) == ["What is 2 doubled?", "", "4", "4"]
    assert history == before, "the context is the caller's"
    assert result.undelivered.to_dict() == {"steering": [], "follow_up": []}


async def test_the_model_sees_the_context():
    seen = []

    async def provider(request):
        seen.append((request.system_prompt, texts(request.messages), [tool["name"] for tool in request.tools]))
        yield "ok"

    context = Context(system_prompt="Be brief.", messages=({"role": "user", "content": "one"},), tools=(double,))
    await agent_loop.run(context, ["two"][0], model="own/m", provider=provider, max_turns=3).result()
    await agent_loop.resume(context, model="own/m", provider=provider).result()
    assert seen == [("Be brief.", ["one", "two"], ["double"]), ("Be brief.", ["one"], ["double"])]
    assert repr(Context(system_prompt="x")) == "Context(system_prompt='x', messages=(), tools=())"


async def test_several_prompts():
    prompts = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    result = await agent_loop.run({}, prompts, model=scripted(says("c"))).result()
    assert texts(result.messages) == ["a", "b", "c"]


async def test_resume_needs_something_to_resume():
    with pytest.raises(InvalidStateError, match="the transcript is empty"):
        agent_loop.resume({}, model=scripted())
    answer = (await agent_loop.run({}, "x", model=scripted(says("hi"))).result()).messages
    with pytest.raises(InvalidStateError, match="the last message is the model's answer; run with a prompt"):
        agent_loop.resume({"messages": answer}, model=scripted())


async def test_steering_follow_up_and_undelivered_messages():
    steered, answers = asyncio.Event(), iter("bcd")

    async def provider(request):
        if len(request.messages) == 1:
            yield "a"
            await steered.wait()
        yield next(answers)
        if len(request.messages) == 5:
            await asyncio.Event().wait()

    async with agent_loop.run({}, "go", model="own/m", provider=provider) as run:
        async for event in run:
            if event.type == "text_delta" and event.delta == "a":
                run.steer("now")
                run.follow_up("later")
                steered.set()
            if event.type == "text_delta" and event.delta == "d":
                run.steer("too late")
                run.abort()
        result = await run.result()
    assert texts(result.messages) == ["go", "ab", "now", "c", "later", "d"]
    assert isinstance(result.undelivered, Undelivered)
    assert (texts(result.undelivered.steering), result.undelivered.follow_up) == (["too late"], ())
    assert repr(result.undelivered).startswith("Undelivered(steering=[{'role': 'user'")
    for call in (run.steer, run.follow_up):
        with pytest.raises(InvalidStateError, match="the run is over, and without an agent there is no queue"):
            call("x")


async def test_hooks_and_options_apply():
    queued = [["one"], None]
    after = []
    result = await agent_loop.run(
        {"tools": [double]},
        "go",
        model=scripted(calls("double", n=2), says("a")),
        get_steering_messages=lambda: queued.pop(0) if queued else None,
        before_tool_call=lambda call: {"block": True, "reason": "no"},
        after_run=after.append,
    ).result()
    assert texts(result.messages) == ["go", "one", "", "no", "a"]
    assert after == [result]


async def test_a_failed_run_raises():
    with pytest.raises(agent_loop.ServerError) as caught:
        await agent_loop.run({}, "go", model=scripted(fails("server", "broken")), max_retries=0).result()
    assert caught.value.result.outcome == "error"


@pytest.mark.parametrize(
    ("context", "options", "error", "text"),
    [
        (
            {"mesages": []},
            {},
            InvalidArgumentError,
            'unknown context field "mesages"; did you mean "messages"?',
        ),
        (
            {"history": []},
            {},
            InvalidArgumentError,
            'unknown context field "history"; known are system_prompt, messages, tools',
        ),
        ({}, {"tools": []}, InvalidArgumentError, 'option "tools": give it in the context'),
        ({}, {"temprature": 0}, InvalidArgumentError, 'unknown option "temprature"; did you mean "temperature"?'),
        ({"messages": [5]}, {}, InvalidArgumentError, "context: messages[0]: "),
        (
            {"messages": UserMessage("hi")},
            {},
            TypeError,
            "context: messages: expected a list of messages, got a UserMessage; write messages=[…]",
        ),
        ({"tools": [5]}, {}, TypeError, "tools[0]: expected a Tool, got int"),
        ({"tools": double}, {}, TypeError, 'option "tools": expected a list of tools, got a Tool; write tools=[…]'),
    ],
)
async def test_a_wrong_argument_is_named(context, options, error, text):
    with pytest.raises(error) as caught:
        agent_loop.run(context, "go", model=scripted(says("a")), **options)
    assert str(caught.value).startswith(text)
    with pytest.raises(InvalidArgumentError, match="prompts: the list is empty"):
        agent_loop.run({}, [], model=scripted(says("a")))


async def test_a_tool_cannot_wait_for_its_own_run():
    @tool
    async def waiter():
        """Waits for itself."""
        await run.result()

    run = agent_loop.run({"tools": [waiter]}, "go", model=scripted(calls("waiter"), says("done")))
    (text,) = results(await run.result())
    assert text.startswith("InvalidStateError: waiting for the run inside")


async def test_a_forgotten_run_ends_and_is_collected():
    class Assistant:
        def __init__(self):
            model = scripted(calls("double", n=2), says("ok"))
            self.run = agent_loop.run({"tools": [double]}, "go", model=model, before_tool_call=self.hook, middleware=[self.link])

        def hook(self, call):
            pass

        async def link(self, call, next):
            return await next()

    assistant = Assistant()
    assert kinds(await events_of(assistant.run))[-1] == "agent_end"
    gone = weakref.ref(assistant), weakref.ref(assistant.run)
    del assistant
    await asyncio.sleep(0)
    wait_until_collected(*gone)
