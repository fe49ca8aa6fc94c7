"""Agents: options, state, and the calls that are allowed in each state."""

import asyncio
import gc
import weakref

import agent_loop
import pytest
from agent_loop import Agent, BusyError, InvalidArgumentError, InvalidStateError, Tool, ToolContext, tool
from agent_loop._native import OPTIONS
from collection import wait_until_collected
from scripts import agent, calls, events_of, results, says, scripted


@tool
async def noop():
    """Does nothing."""


@pytest.mark.parametrize(
    ("options", "right"),
    [
        ({"system": "x"}, 'unknown option "system"; did you mean "system_prompt"?'),
        ({"instructions": "x"}, 'unknown option "instructions"; did you mean "system_prompt"?'),
        ({"timeout": 5}, 'unknown option "timeout"; did you mean "request_timeout_ms" or "run_timeout_ms"?'),
        ({"model": "gemini/gemini-2.5-pro"}, 'unknown provider "gemini"; did you mean "google"?'),
    ],
)
async def test_found_a_name_that_others_use_leads_to_ours(options, right):
    with pytest.raises(InvalidArgumentError) as caught:
        await Agent(**{"model": {"provider": "scripted", "id": "s", "script": []}} | options).prompt("x")
    assert right in str(caught.value)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"systemprompt": "x"}, 'unknown option "systemprompt"; did you mean "system_prompt"?'),
        ({"tool": []}, 'unknown option "tool"; did you mean "tools"?'),
        ({"max_turn": 1}, 'unknown option "max_turn"; did you mean "max_turns"?'),
        ({"max_turns": -1}, 'option "max_turns": expected a whole number of turns (0 for no limit), got -1'),
        ({"temperature": "hot"}, 'option "temperature": expected a number, got "hot"'),
        ({"tool_execution": "both"}, 'option "tool_execution": expected "parallel" or "sequential", got "both"'),
        ({"cache_retention": "ever"}, 'option "cache_retention": expected "short", "long" or "none", got "ever"'),
        ({"validation": "maybe"}, 'option "validation": expected "coerce", "strict" or "off", got "maybe"'),
        ({"max_parallel_tools": 0}, 'option "max_parallel_tools": expected a whole number of at least 1, got 0'),
        ({"headers": {"x": 1}}, 'option "headers": "x": expected text'),
        ({"extra_headers": {}}, 'unknown option "extra_headers"; did you mean "headers"?'),
        (
            {"extra_body": {"tools": []}},
            'option "extra_body": the engine writes "tools" itself; use tools of the agent, or the option hosted_tools',
        ),
        (
            {"hosted_tools": [{"type": "web_search"}, {"type": "function"}]},
            'option "hosted_tools": [1]: it would be called here, not by the provider; give it as a tool of the agent',
        ),
        ({"hosted_tools": {"type": "x"}}, 'option "hosted_tools": expected a list of objects, got {"type":"x"}'),
        ({"api_key": 5}, 'option "api_key": expected text'),
        ({"base_url": "ftp://x"}, 'base_url "ftp://x": it does not begin with http:// or https://; give an address such as'),
        ({"fallbacks": "openai/gpt-5"}, 'option "fallbacks": expected a list of models, got "openai/gpt-5"'),
        ({"fallbacks": ["groq/m", "gpt"]}, 'option "fallbacks": [1]: model "gpt": expected "provider/id"'),
        ({"fallbacks": ["groq/m", "nobody/m"]}, 'option "fallbacks": [1]: model "nobody/m": unknown provider "nobody"'),
        (
            {"fallbacks": [{"provider": "groq", "id": "m", "apiversion": "1"}]},
            'option "fallbacks": [0]: unknown model field "apiversion"',
        ),
        ({"messages": "x"}, 'option "messages": expected a list of messages, got "x"'),
        ({"raw_events": 1}, 'option "raw_events": expected True or False, got 1'),
    ],
)
def test_a_wrong_option_is_named(options, text):
    with pytest.raises(InvalidArgumentError) as caught:
        Agent("openai/tiny", **options)
    assert str(caught.value).startswith(text)
    assert isinstance(caught.value, ValueError)


def test_an_unknown_option_lists_the_known_ones():
    with pytest.raises(InvalidArgumentError) as caught:
        Agent("openai/tiny", zzzzzzzzzzzzzz=1)
    assert str(caught.value).startswith('unknown option "zzzzzzzzzzzzzz"; known are model, messages, ')


@pytest.mark.parametrize(
    ("model", "error", "text"),
    [
        ("tiny", InvalidArgumentError, 'model "tiny": expected "provider/id", for example "anthropic/claude-sonnet-4-5"'),
        ("acme/x", InvalidArgumentError, 'model "acme/x": unknown provider "acme"; known are anthropic, openai'),
        (5, InvalidArgumentError, 'model: expected "provider/id" or a dict, got 5'),
        ({"provider": "openai"}, InvalidArgumentError, "model: id is missing"),
        (
            {"provider": "openai", "id": "x", "base_ur": "y"},
            InvalidArgumentError,
            'unknown model field "base_ur"; did you mean "base_url"?',
        ),
        ({"provider": "scripted", "id": "x"}, InvalidArgumentError, 'model "scripted/x": script is missing'),
        (
            {"provider": "scripted", "id": "x", "script": [[{"wait": 5}]]},
            InvalidArgumentError,
            'model "scripted/x": script[0][0]: unknown step "wait"; ',
        ),
        (object(), TypeError, "model: a value of type object is not JSON"),
    ],
)
def test_a_wrong_model_is_refused_immediately(model, error, text):
    with pytest.raises(error) as caught:
        Agent(model)
    assert str(caught.value).startswith(text)


def test_wrong_types_are_type_errors():
    with pytest.raises(TypeError, match=r'^option "temperature": a value of type object is not JSON'):
        Agent("openai/tiny", temperature=object())
    with pytest.raises(TypeError, match=r"^tools\[1\]: expected a Tool, got function; decorate the function with @tool$"):
        Agent("openai/tiny", tools=[noop, lambda: None])
    with pytest.raises(TypeError, match=r"^tools\[0\]: expected a Tool, got int$"):
        Agent("openai/tiny", tools=[5])
    with pytest.raises(TypeError, match=r"^listener: expected a function of an event, got str$"):
        Agent("openai/tiny").subscribe("x")
    with pytest.raises(TypeError, match=r"^listener: expected a function that is called as f\(event\): too many positional"):
        Agent("openai/tiny").subscribe(lambda: None)
    with pytest.raises(TypeError, match=r"^listener: expected a function that is called as f\(event\): missing a required"):
        Agent("openai/tiny").subscribe(lambda event, more: None)
    Agent("openai/tiny").subscribe([].append)
    with pytest.raises(TypeError):
        Agent("openai/tiny", "a system prompt by position")


def test_a_key_is_never_printed():
    with pytest.raises(InvalidArgumentError) as caught:
        Agent("openai/tiny", api_key={"secret": "sk-123"})
    assert "sk-123" not in str(caught.value)
    assert "sk-123" not in repr(Agent("openai/tiny", api_key="sk-123"))


def test_state_of_a_new_agent():
    subject = Agent("openai/tiny", system_prompt="Be brief.", tools=[noop], base_url="http://127.0.0.1:1")
    assert (subject.model, subject.system_prompt, subject.tools, subject.messages) == ("openai/tiny", "Be brief.", (noop,), ())
    assert (subject.is_streaming, subject.streaming_message, subject.pending_tool_calls) == (False, None, ())
    assert (subject.error, subject.listener_errors, subject.thinking_level) == (None, 0, "off")
    assert repr(subject) == "<Agent openai/tiny: tools [noop], 0 messages>"


async def test_all_options_are_taken():
    options = dict(
        system_prompt="s",
        base_url="http://127.0.0.1:1",
        api_key="k",
        temperature=0,
        top_p=0.5,
        top_k=5,
        seed=-1,
        frequency_penalty=1,
        presence_penalty=-1.5,
        extra_body={"x": {"y": None}},
        hosted_tools=[{"type": "web_search"}],
        max_tokens=5,
        headers={"x-a": "b"},
        max_turns=0,
        tool_execution="sequential",
        max_parallel_tools=1,
        validation="strict",
        max_result_bytes=10,
        max_message_bytes=1_000_000,
        max_result_bytes_kept=100_000,
        max_transcript_bytes=10_000_000,
        abort_grace_ms=5,
        raw_events=True,
        thinking_level="low",
        thinking_budgets={"low": 100},
        stop_sequences=["END"],
        tool_choice="auto",
        session_id="s1",
        origin="o1",
        steering_mode="all",
        follow_up_mode="all",
        steering_policy="after_batch",
        connect_timeout_ms=1,
        first_byte_timeout_ms=0,
        idle_timeout_ms=0,
        request_timeout_ms=0,
        tool_timeout_ms=0,
        run_timeout_ms=0,
        listener_timeout_ms=0,
        max_cost=None,
        max_total_tokens=1_000_000,
        max_output_tokens_total=100_000,
        max_tool_calls=10,
        max_run_ms=60_000,
        max_repeated_calls=5,
        gate={"deny": ["rm"]},
        max_subagent_depth=1,
        max_retries=0,
        retry_base_ms=1,
        max_retry_delay_ms=1,
        network={"proxy": False, "roots": "bundled", "resolve": {"model.test": "127.0.0.1"}},
        record=None,
        replay=None,
        builtin_tools=["todo"],
        mcp=[],
        limiter={"requests_per_minute": 600},
        traces=False,
        trace_content=True,
        traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        agent_name="Ann",
        cache_retention="long",
        fallbacks=[scripted(says("no"))],
        messages=[{"role": "user", "content": "before"}],
        output={"type": "object"},
        output_retries=0,
        context={"max_tokens": 100_000, "keep_last": 1},
    )
    assert {"model", *options} == set(OPTIONS)
    subject = Agent(scripted(says("{}")), tools=[noop], middleware=[], transform_context=None, deps=1, **options)
    await subject.prompt("hi")
    assert [message.text for message in subject.messages] == ["before", "hi", "{}"]


async def test_setters():
    subject = agent(says("one"))
    subject.system_prompt = "New."
    assert subject.system_prompt == "New."
    subject.model = "anthropic/claude"
    assert subject.model == "anthropic/claude"
    subject.model = scripted(says("two"))
    assert subject.model == "scripted/scenario"
    subject.thinking_level = "high"
    assert subject.thinking_level == "high"
    subject.tools = [noop]
    assert subject.tools == (noop,)
    subject.tools = ()
    assert subject.tools == ()
    assert (await subject.prompt("hi")).text == "two"


def test_a_setter_that_fails_changes_nothing():
    subject = agent(says("one"), tools=[noop])
    with pytest.raises(InvalidArgumentError, match='unknown provider "acme"'):
        subject.model = "acme/x"
    with pytest.raises(InvalidArgumentError, match='option "system_prompt": expected text, got 5'):
        subject.system_prompt = 5
    with pytest.raises(InvalidArgumentError, match='there are two tools named "noop"; give each its own name'):
        subject.tools = [noop, noop]
    with pytest.raises(InvalidArgumentError, match='option "thinking_level": expected "off", "minimal", .*, got "much"'):
        subject.thinking_level = "much"
    with pytest.raises(TypeError, match="expected a Tool"):
        subject.tools = [5]
    with pytest.raises(AttributeError):
        subject.messages = []
    assert (subject.model, subject.system_prompt, subject.tools) == ("scripted/scenario", "", (noop,))


def test_a_refused_model_changes_nothing_whatever_set_the_one_before():
    made = Agent("anthropic/claude-sonnet-4-5")

    def refused(expected):
        for model in ("acme/x", {"provider": "scripted", "id": "x"}, "tiny"):
            with pytest.raises(InvalidArgumentError):
                made.model = model
            assert made.model == expected

    refused("anthropic/claude-sonnet-4-5")
    made.set_options(model="openai/gpt-5")
    refused("openai/gpt-5")
    made.model = "groq/m"
    refused("groq/m")
    made.set_options(model="openai/gpt-5")
    made.model = "groq/n"
    made.set_options(model="openai/gpt-5-mini", temperature=0)
    refused("openai/gpt-5-mini")
    for options in (
        {"model": "acme/x", "system_prompt": "New."},
        {"base_url": "localhost", "system_prompt": "New."},
        {"fallbacks": ["groq/m", "acme/x"], "system_prompt": "New."},
    ):
        with pytest.raises(InvalidArgumentError):
            made.set_options(**options)
        assert (made.model, made.system_prompt) == ("openai/gpt-5-mini", "")


async def test_a_refused_model_leaves_the_script_where_it_is():
    made = agent(says("one"), says("two"))
    assert (await made.prompt("go")).text == "one"
    with pytest.raises(InvalidArgumentError, match='unknown provider "acme"'):
        made.model = "acme/x"
    assert (await made.prompt("go")).text == "two"


async def test_options_can_be_set_later():
    seen = []

    async def provider(request):
        seen.append(request.options)
        yield "ok"

    subject = Agent("own/m", provider=provider)
    subject.set_options(temperature=0, max_tokens=5, abort_grace_ms=5)
    for options, text in [
        ({"temperature": 1, "max_tokens": "x"}, 'option "max_tokens": expected a whole number of tokens, got "x"'),
        ({"temprature": 1}, 'unknown option "temprature"; did you mean "temperature"?'),
        ({"temperature": 1, "before_run": print}, 'option "before_run" is not a plain value; use set_hook'),
        ({"temperature": 1, "tools": []}, "option \"tools\" is not a plain value; use the agent's tools"),
        ({"temperature": 1, "messages": []}, 'option "messages" is not a plain value; use replace_messages'),
    ]:
        with pytest.raises(InvalidArgumentError) as caught:
            subject.set_options(**options)
        assert str(caught.value).startswith(text)
    await subject.prompt("go")
    subject.set_options(temperature=None)
    await subject.prompt("go")
    assert seen == [{"temperature": 0, "max_tokens": 5}, {"max_tokens": 5}]


async def test_messages_are_the_same_objects_until_they_change():
    subject = agent(says("One."), says("Two."))
    await subject.prompt("first")
    before = subject.messages
    assert subject.messages is before
    await subject.prompt("second")
    assert len(subject.messages) == 4
    assert all(now is then for now, then in zip(subject.messages, before))
    subject.replace_messages([before[0], {"role": "user", "content": "b"}, *subject.messages[2:]])
    assert [message.text for message in subject.messages] == ["first", "b", "second", "Two."]
    assert subject.messages[0] is before[0]
    subject.reset()
    assert subject.messages == ()
    subject.append_message(before[1])
    assert [message.text for message in subject.messages] == ["One."]
    subject.clear_messages()
    subject.append_message({"role": "user", "content": "c"})
    assert [message.text for message in subject.messages] == ["c"]


async def test_changes_during_a_run_take_effect_at_its_next_turn():
    @tool
    async def swap():
        """Swaps the tools."""
        subject.system_prompt = "changed"
        subject.tools = [noop]
        return "swapped"

    subject = agent(calls("swap"), calls("noop"), calls("swap"), says("end"), tools=[swap])
    outcome = await subject.prompt("go")
    assert results(outcome) == ["swapped", "", 'there is no tool named "swap"; the tools are: noop']


async def test_state_during_a_run():
    seen = []

    @tool
    async def look(context: ToolContext):
        """Looks."""
        seen.append((subject.is_streaming, subject.pending_tool_calls, len(subject.messages), subject.streaming_message))
        return context.id

    subject = agent(calls("look"), says("a", "b"), tools=[look])
    partial = []

    def listener(event):
        if event.type == "text_delta":
            partial.append(subject.streaming_message.text)

    subject.subscribe(listener)
    await subject.prompt("go")
    assert seen == [(True, ("call_0",), 2, None)]
    assert partial == ["a", "ab"]
    assert (subject.is_streaming, subject.pending_tool_calls, subject.streaming_message) == (False, (), None)


@pytest.mark.parametrize("ask", ["prompt", "stream", "wait_for_idle", "result"])
async def test_awaiting_the_own_run_is_an_error_not_a_deadlock(ask):
    async def wait(run=None):
        if ask == "prompt":
            await subject.prompt("more")
        elif ask == "stream":
            subject.stream("more")
        elif ask == "wait_for_idle":
            await subject.wait_for_idle()
        else:
            await runs[0].result()

    caught = []

    @tool
    async def waiter():
        """Waits for itself."""
        with pytest.raises(InvalidStateError) as error:
            await wait()
        caught.append(str(error.value))

    async def listener(event):
        if event.type == "turn_end":
            with pytest.raises(InvalidStateError) as error:
                await wait()
            caught.append(str(error.value))

    subject = agent(calls("waiter"), says("done"), tools=[waiter])
    subject.subscribe(listener)
    runs = [subject.stream("go")]
    assert (await runs[0].result()).text == "done"
    assert len(caught) == 3 and len(set(caught)) == 1
    assert "inside a listener, hook or tool of the same agent would deadlock" in caught[0]


async def test_a_plain_tool_cannot_wait_for_its_own_agent_either():
    @tool
    def waiter():
        """Waits for itself on another loop."""
        asyncio.run(subject.prompt("more"))

    subject = agent(calls("waiter"), says("done"), tools=[waiter])
    (text,) = results(await subject.prompt("go"))
    assert text.startswith("InvalidStateError: ")


async def test_a_task_started_in_a_callback_may_prompt_later():
    later = []

    def listener(event):
        if event.type == "agent_end" and not later:
            later.append(asyncio.create_task(again()))

    async def again():
        while subject.is_streaming:
            await asyncio.sleep(0.01)
        return await subject.prompt("again")

    subject = agent(says("one"), says("two"))
    subject.subscribe(listener)
    await subject.prompt("go")
    assert (await later[0]).text == "two"


async def test_tools_may_use_other_agents():
    inner = agent(says("from inside"))

    @tool
    async def ask():
        """Asks another agent."""
        return (await inner.prompt("hi")).text

    assert results(await agent(calls("ask"), says("done"), tools=[ask]).prompt("go")) == ["from inside"]


async def test_wait_for_idle():
    subject = agent(says("ok"))
    await subject.wait_for_idle()
    run = subject.stream("go")
    await subject.wait_for_idle()
    assert not subject.is_streaming
    assert (await run.result()).outcome == "completed"


async def test_max_turns():
    outcome = await agent(calls("noop"), calls("noop"), says("never"), tools=[noop], max_turns=2).prompt("go")
    assert (outcome.outcome, outcome.turns) == ("max_turns", 2)


async def test_abort_without_a_run_does_nothing():
    subject = agent(says("ok"))
    subject.abort()
    assert (await subject.prompt("go")).outcome == "completed"


async def test_a_busy_agent_stays_with_its_loop():
    gate = asyncio.Event()

    @tool
    async def wait():
        """Waits."""
        await gate.wait()

    subject = agent(calls("wait"), says("done"), tools=[wait])
    run = subject.stream("go")

    def elsewhere():
        async def ask():
            with pytest.raises(BusyError):
                await subject.prompt("more")
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(subject.wait_for_idle(), 0.05)

        asyncio.run(ask())

    await asyncio.to_thread(elsewhere)
    gate.set()
    assert (await run.result()).text == "done"


async def test_an_agent_its_tools_know_is_collected():
    class Assistant:
        def __init__(self):
            made = Tool(name="remember", execute=self.remember, prepare_arguments=self.prepare)
            hooks = {"transform_context": self.hook, "before_tool_call": self.hook, "after_run": self.hook}
            self.agent = Agent("own/m", provider=self.provider, tools=[made], middleware=[self.link], **hooks)
            self.agent.subscribe(self.listen)

        def hook(self, given):
            pass

        def prepare(self, arguments):
            return arguments

        async def link(self, call, next):
            return await next()

        async def provider(self, request):
            answered = request.messages[-1].role == "tool_result"
            yield "ok" if answered else {"tool_call": {"id": "c", "name": "remember", "arguments": {}}}

        async def remember(self, arguments, context):
            return "yes"

        def listen(self, event):
            pass

    assistant = Assistant()
    assert results(await assistant.agent.prompt("go")) == ["yes"]
    gone = weakref.ref(assistant), weakref.ref(assistant.agent)
    del assistant
    await asyncio.sleep(0)
    wait_until_collected(*gone)


async def test_a_run_keeps_its_agent():
    def make():
        class Holder:
            async def work(self, arguments, context):
                await asyncio.sleep(0.05)
                return "worked"

        holder = Holder()
        holder.agent = agent(calls("work"), says("ok"), tools=[Tool(name="work", execute=holder.work)])
        return holder.agent.stream("go")

    run = make()
    gc.collect()
    events = await events_of(run)
    assert "worked" in [event.result.content[0].text for event in events if event.type == "tool_execution_end"]


def test_everything_public_has_its_place():
    assert set(agent_loop.__all__) <= set(dir(agent_loop))
    for name in agent_loop.__all__:
        assert getattr(agent_loop, name).__doc__ or name == "__version__", name


def test_an_unknown_attribute_cannot_be_set():
    subject = agent(says("ok"))
    for name in ("max_turns", "thinking_levl"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}' to set; options are set with set_options"):
            setattr(subject, name, 1)

    class Own(Agent):
        def __init__(self):
            super().__init__("openai/tiny")
            self.user = "Ada"

    assert Own().user == "Ada"
