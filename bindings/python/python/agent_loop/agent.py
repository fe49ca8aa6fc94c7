"""The agent: model, system prompt, tools, limits and the conversation so far, with at most one active run."""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import InvalidArgumentError
from .runs import Run
from .scope import INSIDE
from .tools import Tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from typing_extensions import Unpack

    from ._native import AssistantMessage, Event, Message, RunResult, Subscription
    from .errors import AgentError
    from .options import AgentOptions, Settings, _JsonObject, _Middleware, _Model, _Prompt, _ThinkingLevel


class Agent:
    """A model, tools and a conversation. Every method may be called from any thread; runs are started from async code.

    ```python
    agent = Agent("anthropic/claude-sonnet-4-5", system_prompt="Be brief.", tools=[weather])
    result = await agent.prompt("Rain in Oslo?")
    print(result.text)
    ```

    `model` is `provider/id`, or a dict (or its JSON) with the fields of `ModelSpec`: `{"provider", "id", "protocol", "base_url",
    "headers", "project", "location", "api_version", "thinking", "cost", "quirks", …}`. The options, all by keyword; None is the default:

    What the model gets
    - `system_prompt`: what it is told first
    - `messages`: the conversation so far, as messages or dicts
    - `tools`: what it may call; see `tool`
    - `thinking_level`: `off` (default), `minimal`, `low`, `medium`, `high` or `xhigh`; `thinking_budgets`: tokens by level
    - `temperature`, `max_tokens`, `stop_sequences`, `session_id`: passed on; 0 is a value. What a model does not take, it is asked
      without, which a `diagnostic` with the code `option_ignored` tells
    - `tool_choice`: `auto`, `none`, `required` or `{"tool": name}`
    - `cache_retention`: `short` (default), `long` or `none`: how long the provider is asked to keep what it has read

    Where it is
    - `base_url`: the server's address, with or without `/v1`, instead of the provider's own; a key is then optional
    - `api_key`: instead of the provider's environment variable
    - `fallbacks`: models (names or dicts) that are asked, in this order, when the model fails before it said anything and no retry
      is left; one of the same provider at the agent's address and with its key, another at its own and with its own
    - `headers`: for each request
    - `network`: the way there, if it is not a direct one: `{"proxy", "no_proxy", "ca_file", "client_certificate", "client_key",
      "roots", "resolve"}`; without it, the environment's proxy variables count
    - `provider`: a generator that answers itself, whatever the model's name; see below

    The run
    - `max_turns`: the most turns of one run (10); 0 for no limit
    - `tool_execution`: `parallel` (default) or `sequential`; `max_parallel_tools`: how many at once (8)
    - `validation`: of tool arguments: `coerce` (default), `strict` or `off`
    - `max_result_bytes`: the most of a tool's text that goes to the model whole (50,000)
    - `steering_mode`, `follow_up_mode`: how much of its queue one poll takes: `one_at_a_time` (default) or `all`
    - `steering_policy`: what steering does to calls that do not run yet: `skip_remaining` (default) or `after_batch`
    - `raw_events`: whether each frame is told as the provider sent it

    Limits in milliseconds, 0 for none: `connect_timeout_ms` (10,000), `first_byte_timeout_ms` and `idle_timeout_ms` (120,000),
    `request_timeout_ms` (600,000), `tool_timeout_ms` and `run_timeout_ms` (0); `abort_grace_ms`: how long an aborted run waits for
    its tools (1,000). Failed model calls are tried again `max_retries` times (2), after pauses that begin at `retry_base_ms` (500) and
    are at most `max_retry_delay_ms` (60,000).

    Hooks are functions `f(input)` or `f(input, context)`, plain or async, that a run asks on its event loop; see `HookContext`. What
    they raise is their failure. They may answer None for no change.
    - `transform_context(messages)`: before each model call, the messages that it is to see, for this call only
    - `convert_to_llm(messages)`: after that, messages of the standard roles; without it, other roles are dropped
    - `get_api_key(provider)`: the key for this call
    - `before_tool_call(call)`, a `BeforeToolCall`: `{"block": True, "reason"}` or `{"arguments"}`
    - `after_tool_call(call)`, an `AfterToolCall`: any of `{"content", "details", "is_error", "terminate"}`
    - `prepare_next_turn(turn)`, a `TurnSummary`: any of `{"context": {"system_prompt", "messages", "tools" (names)}, "model",
      "thinking_level"}`, for the rest of the run
    - `should_stop_after_turn(turn)`: whether the run shall end here
    - `get_steering_messages()`, `get_follow_up_messages()`: with each poll of the queue, more of such messages: text, a message, a list
    - `on_payload(payload)`, a `Payload`: the new body of the request
    - `on_response(head)`, a `ResponseHead`; `on_error(failure)`, a `Failure`; `before_run(prompts)`; `after_run(result)`: to look on

    `middleware`: a list of functions `async def f(call, next)` around each tool's execution, the first one outermost. `call` is a
    `MiddlewareCall`; `await next()`, or `await next(arguments)`, runs the rest and gives the full result, `{"content", "details",
    "is_error", "terminate"}`, or raises `CallbackError` with what the tool failed with. What the function returns is the answer.

    A provider of one's own is `async def f(request, context)`, or a plain generator (which gets a thread). `request` is a
    `ModelRequest`, `context` a `ModelContext` (it may be left out). It yields pieces: text, `{"text"}`, `{"thinking"}`,
    `{"tool_call": {"id", "name", "arguments"}}`, or `{"type": "text_delta", …}` as events have it; at the end, if wanted, `{"end":
    {"stop_reason", "usage"}}`. What it raises is the answer's error, of kind `provider` if it is no `AgentError`. An abort closes it.
    """

    def __init__(self, model: _Model, **options: Unpack[AgentOptions]) -> None:
        given: dict[str, Any] = dict(options)
        tools, middleware, provider = given.pop("tools", None), given.pop("middleware", None), given.pop("provider", None)
        hooks = {name: given.pop(name) for name in _native.HOOKS if name in given}
        if provider is not None:
            from .provider import provided

            provider = provided(provider)
        # The engine knows which names there are, and which is nearest to a wrong one.
        self._native = _native.Agent(model, given, provider)
        self.tools = tools or ()
        for name, function in hooks.items():
            self.set_hook(name, function)
        for function in middleware or ():
            self.add_middleware(function)

    async def prompt(self, prompt: _Prompt) -> RunResult:
        """Runs until the model is done and gives what came of it.

        `prompt` is text, a message, a list of messages, or a list of content blocks (text with images). Raises the run's
        error, with the result in it, when the outcome is `error`; `BusyError` while a run is active. When the task is cancelled,
        the run is aborted and settles first, as by `Run.close`.
        """
        return await self._begin(lambda caller: self._native.start(prompt, True, caller)).result()

    async def resume(self) -> RunResult:
        """Goes on from the conversation as it stands, adding no message: after a failure, an abort or `max_turns`.

        After an answer of the model it goes on with what is queued, steering first. `InvalidStateError` when nothing is, or there
        is no message at all; else as `prompt`.
        """
        return await self._begin(lambda caller: self._native.resume(True, caller)).result()

    def stream(self, prompt: _Prompt) -> Run:
        """Starts a run, at once, and gives its events as they come. Best used with `async with`."""
        return self._begin(lambda caller: self._native.start(prompt, False, caller))

    def stream_resume(self) -> Run:
        """As `resume`, and gives the events as they come."""
        return self._begin(lambda caller: self._native.resume(False, caller))

    def prompt_sync(self, prompt: _Prompt) -> RunResult:
        """As `prompt`, for code without an event loop: it makes one for the run, on which async tools run.

        Ctrl-C aborts the run, and raises KeyboardInterrupt once it has settled. `InvalidStateError` where an event loop runs.
        """
        from .bridge import run_sync

        return run_sync("prompt", lambda: self.prompt(prompt))

    def resume_sync(self) -> RunResult:
        """As `resume`, for code without an event loop; see `prompt_sync`."""
        from .bridge import run_sync

        return run_sync("resume", self.resume)

    def _begin(self, start: Callable[[_native.Caller], _native.Run]) -> Run:
        from .bridge import current, numbers

        bridge = current()
        number = next(numbers)
        inside = INSIDE.get()
        # Tools, hooks and listeners see the caller's context variables, and that they are inside this run.
        context = copy_context()
        context.run(INSIDE.set, (*inside, number))
        run = Run(self, start(_native.Caller(bridge.mailbox, context, number, inside)), number)
        bridge.runs.add(run)
        return run

    def steer(self, message: _Prompt) -> None:
        """Queues a message that joins the active run, or the next one, as soon as it can: before the first model call, after a
        turn, or among tool calls, of which those that do not run yet are skipped (see `steering_policy`).

        It is given as for `prompt`. From any thread and any callback.
        """
        self._native.steer(message)

    def follow_up(self, message: _Prompt) -> None:
        """Queues a message for when a run would have ended. From any thread and any callback."""
        self._native.follow_up(message)

    def clear_steering_queue(self) -> None:
        """Takes all messages out of the steering queue that no turn has begun with."""
        self._native.clear_steering_queue()

    def clear_follow_up_queue(self) -> None:
        """Takes all messages out of the follow-up queue that no turn has begun with."""
        self._native.clear_follow_up_queue()

    def clear_all_queues(self) -> None:
        """Takes all messages out of both queues that no turn has begun with."""
        self._native.clear_all_queues()

    def has_queued_messages(self) -> bool:
        """Whether a message waits in either queue, or is about to be shown."""
        return self._native.has_queued_messages()

    def abort(self) -> None:
        """Aborts the active run, if there is one. From any thread and any callback; returns at once.

        Tools see it in their context at once. Those that do not answer within `abort_grace_ms` are given up, and the tasks of
        async ones are then cancelled.
        """
        self._native.abort()

    async def wait_for_idle(self) -> None:
        """Waits until no run is active and all listeners have returned."""
        from .bridge import wait

        await wait(self._native.wait_for_idle(INSIDE.get()))

    def subscribe(self, listener: Callable[[Event], Awaitable[object] | object]) -> Subscription:
        """Has a function told each event of this agent's runs, which wait for it.

        It may be async. It is called on the event loop that started the run, one event at a time, after the listeners that
        were there before it, until the subscription's `unsubscribe()`. One that raises is told in a `diagnostic` and counted
        in `listener_errors`; the run goes on.
        """
        if not callable(listener):
            raise TypeError(f"listener: expected a function of an event, got {type(listener).__name__}")
        return self._native.subscribe(listener)

    def set_options(self, **options: Unpack[Settings]) -> None:
        """Sets options by name: all, or on an error none; None is the default. A change during a run takes effect at its next turn."""
        for name in options:
            if name in (*_native.HOOKS, "tools", "middleware", "provider"):
                way = "set_hook" if name in _native.HOOKS else f"the agent's {name}" if name == "tools" else "a new agent"
                raise InvalidArgumentError(f"option {name!r} is no plain value; use {way}")
        self._native.set_options(dict(options))

    def set_hook(self, name: str, function: Callable[..., Any] | None) -> None:
        """Sets the hook of that name, for example `before_tool_call`, or with None takes it out. At the next turn it holds."""
        if function is not None:
            from .hooks import WITHOUT_INPUT, asked

            function = asked(f"hook {name}", function, 0 if name in WITHOUT_INPUT else 1)
        self._native.set_hook(name, function)

    def add_middleware(self, function: _Middleware) -> None:
        """Adds a function `async def f(call, next)` around the execution of tools, inside of those that are there."""
        from .middleware import passed

        self._native.add_middleware(passed(function))

    def __setattr__(self, name: str, value: object) -> None:
        # What is no setting is refused, not kept unread. A class of one's own may add attributes.
        if type(self) is Agent and not name.startswith("_") and not hasattr(Agent, name):
            raise AttributeError(f"an agent has no attribute {name!r} to set; options are set with set_options, as in set_options(temperature=0)")
        super().__setattr__(name, value)

    @property
    def system_prompt(self) -> str:
        """What the model is told first. A change during a run takes effect at its next turn."""
        return self._native.system_prompt

    @system_prompt.setter
    def system_prompt(self, text: str) -> None:
        self._native.set_options({"system_prompt": text})

    @property
    def model(self) -> str:
        """`provider/id` of the model; a dict may be set too. A change during a run takes effect at its next turn."""
        return self._native.model

    @model.setter
    def model(self, model: _Model) -> None:
        self._native.set_model(model)

    @property
    def thinking_level(self) -> _ThinkingLevel:
        """How much thinking is asked for. A change during a run takes effect at its next turn."""
        return self._native.thinking_level

    @thinking_level.setter
    def thinking_level(self, level: _ThinkingLevel) -> None:
        self._native.set_options({"thinking_level": level})

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What the model may call. A change during a run takes effect at its next turn."""
        return self._native.tools

    @tools.setter
    def tools(self, tools: Iterable[Tool]) -> None:
        tools = list(tools)
        for index, tool in enumerate(tools):
            if not isinstance(tool, Tool):
                hint = "; decorate the function with @tool" if callable(tool) else ""
                raise TypeError(f"tools[{index}]: expected a Tool, got {type(tool).__name__}{hint}")
        self._native.set_tools(tools)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation: exactly what `MessageEnd` events have shown. The messages are shared, not copied."""
        return self._native.messages

    def append_message(self, message: Message | _JsonObject) -> None:
        """Appends a message to the conversation. `BusyError` during a run."""
        self._native.append_message(message)

    def append_messages(self, messages: Sequence[Message | _JsonObject]) -> None:
        """Appends messages to the conversation: all, or on an error none. `BusyError` during a run."""
        self._native.append_messages(messages)

    def replace_messages(self, messages: Sequence[Message | _JsonObject]) -> None:
        """Replaces the conversation. `BusyError` during a run."""
        self._native.replace_messages(messages)

    def clear_messages(self) -> None:
        """Empties the conversation. `BusyError` during a run."""
        self._native.clear_messages()

    def reset(self) -> None:
        """Empties the conversation and both queues, and forgets the last error. `BusyError` during a run."""
        self._native.reset()

    @property
    def is_streaming(self) -> bool:
        """Whether a run is active: from its acceptance until the agent is idle."""
        return self._native.is_streaming

    @property
    def streaming_message(self) -> AssistantMessage | None:
        """The assistant's message that is being streamed, as it stands."""
        return self._native.streaming_message

    @property
    def pending_tool_calls(self) -> tuple[str, ...]:
        """The ids of the calls between their execution's start and end."""
        return self._native.pending_tool_calls

    @property
    def error(self) -> AgentError | None:
        """The error of the last run, if its outcome was `error` or `aborted`."""
        return self._native.error

    @property
    def listener_errors(self) -> int:
        """How many times a listener failed."""
        return self._native.listener_errors

    def __repr__(self) -> str:
        names = ", ".join(tool.name for tool in self.tools)
        return f"<Agent {self.model}: tools [{names}], {len(self.messages)} messages>"
