"""Hooks: input and answer of each, plain and async, and the effect of their failures."""

import asyncio
from contextvars import ContextVar

import pytest
from agent_loop import (
    AfterToolCall,
    Agent,
    BeforeToolCall,
    CallbackError,
    Failure,
    HookContext,
    InvalidArgumentError,
    InvalidStateError,
    Payload,
    ResponseHead,
    RunResult,
    ServerError,
    TurnSummary,
    UserMessage,
    tool,
)
from mock import asked, chat, mock
from scripts import agent, calls, events_of, fails, kinds, results, says, waits

WHO: ContextVar[str] = ContextVar("who", default="unset")


@tool
async def double(n: int):
    """Doubles."""
    return n * 2


def recording(name, answer=None):
    """A plain and an async hook that record their input."""
    got = []

    def plain(*given):
        got.append(given)
        return answer

    async def waiting(*given):
        await asyncio.sleep(0)
        return plain(*given)

    if name in ("get_steering_messages", "get_follow_up_messages"):
        return got, [lambda: plain(), lambda: waiting()]
    return got, [lambda given: plain(given), lambda given: waiting(given)]


# ---- what each gets and answers -------------------------------------------------------------------------------------------


async def test_transform_context_changes_what_one_call_sees():
    seen = []

    def provider(request):
        seen.append([message.text for message in request.messages])
        yield "ok"

    def transform_context(messages):
        assert isinstance(messages, list) and isinstance(messages[0], UserMessage)
        return [*messages, {"role": "user", "content": "and be brief"}]

    subject = Agent("own/model", provider=provider, transform_context=transform_context)
    await subject.prompt("go")
    assert seen == [["go", "and be brief"]]
    assert [message.text for message in subject.messages] == ["go", "ok"]


async def test_returned_messages_are_shared_and_not_parsed_again():
    kept = []

    async def provider(request):
        kept.append(request.messages[0])
        yield "ok"

    subject = Agent("own/model", provider=provider, transform_context=lambda messages: tuple(messages))
    await subject.prompt("go")
    assert kept[0] == subject.messages[0]


async def test_convert_to_llm_makes_something_of_application_messages():
    seen = []

    def provider(request):
        seen.extend((message.role, message.text) for message in request.messages)
        yield "ok"

    async def convert_to_llm(messages):
        assert [message.role for message in messages] == ["note", "user"]
        return [{"role": "user", "content": message.data["words"]} if message.role == "note" else message for message in messages]

    note = {"role": "note", "words": "it rains"}
    subject = Agent("own/model", provider=provider, convert_to_llm=convert_to_llm, messages=[note])
    await subject.prompt("go")
    assert seen == [("user", "it rains"), ("user", "go")]


async def test_get_api_key():
    keys = []

    def provider(request):
        keys.append(request.api_key)
        yield "ok"

    got, hooks = recording("get_api_key", "fresh")
    for hook in [*hooks, lambda provider: None]:
        await Agent("own/model", provider=provider, api_key="configured", get_api_key=hook).prompt("go")
    assert got == [("own",)] * 2
    assert keys == ["fresh", "fresh", "configured"]


async def keys_and_headers(answer):
    """What a provider gets when the hook answers this beside a configured key."""
    got = []

    def provider(request):
        got.append((request.api_key, request.options.get("headers")))
        assert "sk-hook" not in repr(request)
        yield "ok"

    given = {"api_key": "configured", "headers": {"x-team": "blue"}}
    subject = Agent("own/model", provider=provider, get_api_key=lambda provider: answer, **given)
    await subject.prompt("go")
    return got[0]


@pytest.mark.parametrize("answer", ["", " \n\t ", None, {}, {"bearer": ""}, {"bearer": None}, {"headers": {}}])
async def test_found_e9_an_empty_key_is_no_answer(answer):
    assert await keys_and_headers(answer) == ("configured", {"x-team": "blue"})


async def test_found_w13_a_token_or_headers():
    assert await keys_and_headers("sk-hook\n") == ("sk-hook", {"x-team": "blue"})
    assert await keys_and_headers({"bearer": "sk-hook\n"}) == ("sk-hook", {"x-team": "blue"})
    given = {"headers": {"x-sign": "sk-hook", "x-team": "red"}}
    assert await keys_and_headers(given) == (None, {"x-team": "red", "x-sign": "sk-hook"})


async def test_found_r3_a_hook_returns_what_it_changes():
    async def changes(call):
        call.arguments["n"] = 5
        assert call.arguments == {"n": 2}, "each reading is a new copy"
        with pytest.raises(AttributeError):
            call.arguments = {"n": 5}
        arguments = call.arguments
        arguments["n"] = 3
        return {"arguments": arguments}

    subject = agent(calls("double", n=2), says("done"), tools=[double], before_tool_call=changes)
    assert results(await subject.prompt("go")) == ["6"]


async def test_before_tool_call_allows_blocks_and_replaces():
    got, hooks = recording("before_tool_call")
    for answer, text in [
        (None, "4"),
        ({}, "4"),
        ({"block": True, "reason": "not today"}, "not today"),
        ({"arguments": {"n": 21}}, "42"),
    ]:
        got, hooks = recording("before_tool_call", answer)
        for hook in hooks:
            subject = agent(calls("double", n="2"), says("done"), tools=[double], before_tool_call=hook)
            assert results(await subject.prompt("go")) == [text]
        assert len(got) == 2
        (call,) = got[0]
        assert isinstance(call, BeforeToolCall)
        assert (call.tool_call_id, call.tool_name, call.arguments) == ("call_0", "double", {"n": 2})
        assert call.message.tool_calls[0].name == "double"
        assert repr(call) == "BeforeToolCall(tool_call_id='call_0', tool_name='double', arguments={'n': 2})"


async def test_after_tool_call_replaces_parts():
    got, (hook, _) = recording("after_tool_call", {"content": "hidden", "details": [1], "is_error": True, "terminate": True})
    subject = agent(calls("double", n=2), tools=[double], after_tool_call=hook)
    result = await subject.prompt("go")
    assert result.outcome == "stopped"
    (message,) = [message for message in result.messages if message.role == "tool_result"]
    assert (message.text, message.details, message.is_error) == ("hidden", [1], True)
    ((call,),) = got
    assert isinstance(call, AfterToolCall)
    assert (call.tool_name, call.arguments, call.result.content[0].text, call.is_error) == ("double", {"n": 2}, "4", False)


async def test_prepare_next_turn_and_should_stop_after_turn():
    answer = {"thinking_level": "high", "context": {"system_prompt": "Other.", "tools": []}}
    got, (prepare, _) = recording("prepare_next_turn", answer)
    asked_with = []

    def provider(request):
        asked_with.append((request.system_prompt, request.thinking_level, [tool["name"] for tool in request.tools]))
        yield {"tool_call": {"id": f"c{len(asked_with)}", "name": "double", "arguments": {"n": 2}}}

    async def stop(turn):
        return turn.turn == 2

    subject = Agent(
        "own/model",
        system_prompt="First.",
        provider=provider,
        tools=[double],
        prepare_next_turn=prepare,
        should_stop_after_turn=stop,
    )
    result = await subject.prompt("go")
    assert (result.outcome, result.turns) == ("stopped", 2)
    assert asked_with == [("First.", "off", ["double"]), ("Other.", "high", [])]
    (turn,) = got[0]
    assert isinstance(turn, TurnSummary) and turn.turn == 1
    assert (turn.message.tool_calls[0].id, turn.tool_results[0].text) == ("c1", "4")
    assert subject.thinking_level == "off" and subject.system_prompt == "First."


async def test_hooks_that_give_messages():
    steering = [["be brief", "be kind"], None, []]
    follow_up = [{"role": "user", "content": "more"}, None]
    subject = agent(
        says("a"),
        says("b"),
        get_steering_messages=lambda: steering.pop(0) if steering else None,
        get_follow_up_messages=lambda: follow_up.pop(0),
    )
    result = await subject.prompt("go")
    assert [message.text for message in result.messages] == ["go", "be brief", "be kind", "a", "more", "b"]


async def test_hooks_of_a_request_over_http(tmp_path):
    heads, failures = [], []

    def on_payload(request):
        assert isinstance(request, Payload) and (request.provider, request.model) == ("openai", "tiny")
        return request.payload | {"seed": 7}

    answers = [{"when": {"method": "POST"}, "status": 500, "body": "broken"}] * 2
    with mock(tmp_path, *answers, {"when": {"method": "POST"}, "body": chat({"content": "fine"})}) as url:
        subject = Agent(
            "openai/tiny",
            base_url=url,
            retry_base_ms=1,
            on_payload=on_payload,
            on_response=lambda head: heads.append(head),
            on_error=lambda failure: failures.append(failure),
        )
        try:
            text = (await subject.prompt("go")).text
        except ServerError:
            text = None
        bodies = [request["body"] for request in asked(url)]
    assert all(isinstance(head, ResponseHead) for head in heads)
    assert all(isinstance(failure, Failure) for failure in failures)
    assert [head.status for head in heads][:2] == [500, 500] and heads[0].provider == "openai"
    assert "content-length" in heads[0].headers or "content-type" in heads[0].headers
    assert (type(failures[0].error), failures[0].attempt, failures[0].will_retry) == (ServerError, 1, True)
    assert all('"seed":7' in str(body).replace("'", '"').replace(" ", "") for body in bodies)
    assert text in ("fine", None)


async def test_before_and_after_a_run():
    got = []
    subject = agent(
        says("a"), fails("server", "broken"), max_retries=0, before_run=lambda prompts: got.append(prompts), after_run=got.append
    )
    subject.subscribe(lambda event: got.append(event.type) if event.type in ("agent_start", "agent_end") else None)
    result = await subject.prompt("go")
    (prompts, start, end, after) = got
    assert (prompts[0].text, start, end) == ("go", "agent_start", "agent_end")
    assert isinstance(after, RunResult) and after == result
    with pytest.raises(ServerError):
        await subject.prompt("again")
    assert got[-1].outcome == "error"


# ---- how they are called --------------------------------------------------------------------------------------------------


async def test_hooks_run_on_the_loop_in_the_callers_context_with_a_context_if_they_take_one():
    seen = []
    WHO.set("the caller")

    def plain(messages, context):
        seen.append((asyncio.get_running_loop(), WHO.get(), type(context), context.is_cancelled))
        WHO.set("changed")

    async def waiting(messages, context):
        assert await context.sleep(1000)
        plain(messages, context)

    class Object:
        async def __call__(self, messages, more=5, *rest, context=None):
            assert more == 5
            seen.append("without one")

    for hook in (plain, waiting, Object()):
        await agent(says("a"), transform_context=hook).prompt("go")
    assert seen == [(asyncio.get_running_loop(), "the caller", HookContext, False)] * 2 + ["without one"]
    assert WHO.get() == "the caller"


async def test_hooks_without_input_may_take_a_context():
    seen = []

    async def poll(context):
        seen.append(type(context))

    await agent(says("a"), get_steering_messages=poll, get_follow_up_messages=poll).prompt("go")
    assert set(seen) == {HookContext}


async def test_a_hook_can_be_set_and_taken_out():
    subject = agent(says("a"), says("b"), says("c"))
    got = []
    subject.set_hook("before_run", got.append)
    await subject.prompt("one")
    subject.set_hook("before_run", lambda prompts: got.append("other"))
    await subject.prompt("two")
    subject.set_hook("before_run", None)
    await subject.prompt("three")
    assert [got[0][0].text, *got[1:]] == ["one", "other"]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (
            lambda: agent(before_tool_cal=print),
            InvalidArgumentError,
            'unknown option "before_tool_cal"; did you mean "before_tool_call"?',
        ),
        (lambda: agent().set_hook("on_eror", print), InvalidArgumentError, 'unknown hook "on_eror"; did you mean "on_error"?'),
        (lambda: agent(on_error="print"), TypeError, 'hook "on_error": expected a function, got str'),
        (
            lambda: agent(on_error=lambda: None),
            TypeError,
            'hook "on_error": expected a function that is called as f(input) or f(input, context): too many positional',
        ),
        (
            lambda: agent(get_steering_messages=lambda a, b: None),
            TypeError,
            'hook "get_steering_messages": expected a function that is called as f() or f(context): missing a required',
        ),
    ],
)
def test_what_cannot_be_a_hook(make, error, text):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value).startswith(text)


# ---- failures -------------------------------------------------------------------------------------------------------------


async def broken(*given):
    raise ValueError("no")


@pytest.mark.parametrize("name", ["before_run", "transform_context", "convert_to_llm", "get_api_key"])
async def test_a_failure_before_the_call_is_the_answers_error(name):
    for hook in (lambda given: 1 / 0, lambda given: broken(given)):
        with pytest.raises(CallbackError) as caught:
            await agent(says("a"), **{name: hook}).prompt("go")
        assert caught.value.message.startswith(f"the hook {name} failed: ")
        assert caught.value.message.endswith(("ZeroDivisionError: division by zero", "ValueError: no"))
        assert caught.value.result.message.stop_reason == "error"


async def test_a_failure_around_a_tool_is_its_result():
    for name in ("before_tool_call", "after_tool_call"):
        subject = agent(calls("double", n=2), says("done"), tools=[double], **{name: lambda call: broken()})
        assert results(await subject.prompt("go")) == [f"the hook {name} failed: ValueError: no"]


async def test_of_a_callback_error_only_the_message_is_reported():
    def refuse(call):
        raise CallbackError("not on Sundays")

    subject = agent(calls("double", n=2), says("done"), tools=[double], before_tool_call=refuse)
    assert results(await subject.prompt("go")) == ["the hook before_tool_call failed: not on Sundays"]


@pytest.mark.parametrize(
    ("name", "answer", "text"),
    [
        ("transform_context", "text", "TypeError: the answer: expected a list of messages, got str"),
        ("transform_context", [5], "the answer[0]: "),
        ("convert_to_llm", [{"role": "user"}], "the answer[0]: "),
        ("get_api_key", 5, 'expected text, {"bearer": text}, {"headers": object of texts} or null'),
        ("get_api_key", object(), "TypeError: the answer: a value of type object is not JSON"),
        ("should_stop_after_turn", "yes", 'expected true or false, got "yes"'),
        ("prepare_next_turn", {"modle": 1}, 'unknown field "modle"; did you mean "model"?'),
    ],
)
async def test_an_answer_that_is_none(name, answer, text):
    with pytest.raises(CallbackError) as caught:
        await agent(calls("double", n=2), says("a"), tools=[double], **{name: lambda given: answer}).prompt("go")
    assert text in caught.value.message


async def test_a_failing_observer_hook_changes_nothing():
    subject = agent(fails("server", "broken"), says("a"), on_error=lambda failure: broken(), after_run=lambda result: broken())
    events = await events_of(subject.stream("go"))
    assert events[-1].outcome == "completed"
    (diagnostic,) = [event for event in events if event.type == "diagnostic"]
    assert diagnostic.message == "the hook on_error failed: ValueError: no"


# ---- aborts, and the agent from inside ------------------------------------------------------------------------------------


async def test_an_abort_ends_a_hook_immediately_and_cancels_its_task():
    ended = []

    async def stuck(messages, context):
        subject.abort()
        assert context.is_cancelled
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    subject = agent(says("a"), transform_context=stuck)
    result = await subject.prompt("go")
    assert result.outcome == "aborted"
    await asyncio.sleep(0)
    assert ended == ["cancelled"]


async def test_an_abort_ends_a_hooks_sleep():
    slept = []

    async def abort():
        subject.abort()

    async def sleeping(context):
        # Both tasks start before the loop looks for what has come from the engine.
        slept.extend((await asyncio.gather(context.sleep(1_000_000), abort()))[:1])
        return "late"

    subject = agent([*says("a")[:1], waits(5), *says("a")[1:]], get_follow_up_messages=sleeping)
    result = await subject.prompt("go")
    assert (result.outcome, slept) == ("aborted", [False])


async def test_inside_a_hook_the_agent_can_be_changed_but_not_awaited():
    errors = []

    async def hook(turn):
        subject.steer("one more")
        subject.system_prompt = "Other."
        for start in (subject.prompt, subject.stream):
            try:
                started = start("x")
                if start == subject.prompt:
                    await started
            except InvalidStateError as error:
                errors.append(str(error).split(" inside")[0])
        try:
            await subject.wait_for_idle()
        except InvalidStateError as error:
            errors.append(str(error).split(" inside")[0])
        subject.set_hook("should_stop_after_turn", None)

    subject = agent(says("a"), says("b"), should_stop_after_turn=hook)
    result = await subject.prompt("go")
    assert errors == ["starting a run", "starting a run", "wait_for_idle"]
    assert [message.text for message in result.messages] == ["go", "a", "one more", "b"]


async def test_the_events_are_those_without_hooks():
    plain = kinds(await events_of(agent(calls("double", n=2), says("a"), tools=[double]).stream("go")))
    names = ["transform_context", "convert_to_llm", "before_tool_call", "after_tool_call", "prepare_next_turn", "before_run"]
    hooked = agent(calls("double", n=2), says("a"), tools=[double], **dict.fromkeys(names, lambda given: None))
    assert kinds(await events_of(hooked.stream("go"))) == plain


def nested(levels):
    value = "x"
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


async def test_found_a6_the_deepest_values_pass_through_every_hook_unchanged():
    @tool
    def deep(a: object):
        """Returns its argument."""
        return {"content": [], "details": nested(64)}

    seen = []

    def on_payload(request):
        seen.append(request.payload)
        return request.payload

    deepest = {"a": nested(63)}
    prompt = {"role": "user", "content": "go", "metadata": nested(64)}
    one = agent(
        calls("deep", deepest),
        says("ok"),
        says("again"),
        tools=[deep],
        transform_context=lambda messages: [message.to_dict() for message in messages],
        convert_to_llm=lambda messages: [message.to_dict() for message in messages],
        on_payload=on_payload,
        before_tool_call=lambda call: {"arguments": call.arguments},
        after_tool_call=lambda call: {"details": call.result.details},
    )
    await one.prompt(prompt)
    user, call, result, _ = one.messages
    assert (user.metadata, call.tool_calls[0].arguments, result.details) == (nested(64), deepest, nested(64))
    assert len(seen) == 2
    # What is written is read back, by a call too.
    again = agent(says("ok"), messages=[message.to_dict() for message in one.messages])
    await again.prompt("go")
    assert again.messages[:4] == one.messages
    with pytest.raises(InvalidArgumentError, match="metadata nests deeper than 64 levels"):
        one.append_message({"role": "user", "content": "go", "metadata": nested(65)})
