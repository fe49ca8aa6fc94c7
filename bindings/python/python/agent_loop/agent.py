"""The agent: model, system prompt, tools, limits and the conversation so far, with at most one active run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _native
from .agent_runs import AgentRuns
from .arguments import items_of, must_take
from .errors import InvalidArgumentError
from .output import Answers, options_of
from .requests import Requests, prompt_taken
from .tools import Tool, tools_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from os import PathLike
    from typing import Literal

    from typing_extensions import Self, Unpack

    from ._native import AssistantMessage, Event, Message, Subscription, SuspendedCall, _Message
    from .errors import AgentError
    from .options import (
        AgentOptions,
        Remembered,
        Settings,
        SubagentOptions,
        UndoneWrites,
        _HookName,
        _JsonObject,
        _Messages,
        _Middleware,
        _Model,
        _Prompt,
        _Provider,
        _SystemPrompt,
        _ThinkingLevel,
    )
    from .session import InterruptedRun, OpenSession


def as_bytes(key: str | bytes | None) -> bytes | None:
    return key.encode() if isinstance(key, str) else key


class Agent(AgentRuns):
    """A model, tools and the conversation so far, with at most one active run.

    ```python
    agent = Agent("anthropic/claude-sonnet-4-5", system_prompt="Be brief.", tools=[weather])
    result = await agent.prompt("Rain in Oslo?")
    print(result.text)
    ```

    Every method may be called from any thread. Methods that start a run need a running event loop, on which tools, hooks and
    listeners are called; those named `…_sync` are for code without one, and run their own.

    `model` is `provider/id`, or a dict (or its JSON) with the fields of `ModelSpec`: `{"provider", "id", "protocol", "base_url",
    "headers", "project", "location", "api_version", "thinking", "cost", "quirks", …}`. Raises `InvalidArgumentError` for a model
    that cannot be used, and for an unknown or wrong option; TypeError for a value that is not JSON, or not a function where one
    is expected. The options are keyword arguments; None is the default:

    - `tools`: the tools it may call; see `tool`
    - `provider`: a custom provider, which answers whatever the model's name is; see below
    - `providers`: custom providers by name, `{"mine": f}` for all models `mine/…`, also of `fallbacks`
    - `system_prompt`: also a function, plain or async, `f()` or `f(context)` with a `HookContext`: it returns the text, and is
      called before each request
    - `deps`: anything of yours that tools and hooks find as `context.deps`; `prompt(…, deps=…)` gives it for one run
    - `plugins`: paths of plugins, `["./dice.so"]`; see `add_plugin`
    - `session`: the session that keeps the conversation, `store.session(id)`, which the agent opens, or an open one, as of
      `await store.session(id).open()`; the agent goes on from there, and each change is written before it has an effect. In an
      event loop, sessions in Postgres must be open, and those in stores of your own everywhere

    An option that a model does not support is left out, and a `Diagnostic` with the code `option_ignored` reports it.

    <!-- <generated: options> -->

    Options of the conversation
    - `messages`: The conversation so far. Not during a run. Default: none.
    - `record`: The file to which each run is appended, for `replay`. Default: none.
    - `replay`: The recording from which models answer, instead of their servers: for tests. Default: none.
    - `traces`: Whether runs, model calls and tool calls are spans and measurements of OpenTelemetry. Default: none.
    - `trace_content`: Whether spans also have the texts of messages, arguments and results. Default: what
      `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says, or else `false`.
    - `traceparent`: The value of a `traceparent` header, as W3C has it: the caller's trace, which the spans of runs join.
      Default: the trace of the code that starts the run.
    - `agent_name`: The agent's name, in its spans. Default: of a subagent, the name of its tool; else none.
    - `session_id`: Identifies the conversation to providers that cache or route by it. Default: none.
    - `system_prompt`: The text that precedes the messages: instructions for the model. Default: none.
    - `origin`: What the idempotency keys of the conversation's tool calls begin with. Give it to stateless runs that go on with
      one conversation, and each conversation its own. Default: the id of the conversation's first run.

    Options of the model and its requests
    - `base_url`: The server's address, with or without `/v1`. With one, a key is optional. Default: the provider's.
    - `api_key`: The API key; `"keyring"` for what `agent auth login` has stored for the provider. Default: the provider's
      environment variable.
    - `fallbacks`: Models that are called in this order when the model fails before its first content and no retry is left. One of
      the same provider uses the agent's address and key, another one its own. Default: none.
    - `headers`: Headers of each request, beside those that are sent anyway, or in their place. Default: none.
    - `network`: Proxy, certificates and name resolution. Default: the environment's proxy variables and the system's
      certificates.
    - `thinking_budgets`: The token budget of each level, for models whose thinking has one. Levels that are left out keep their
      default. Default: 1,024, 2,048, 8,192, 16,384 and 32,768 tokens from `minimal` to `xhigh`.
    - `temperature`: The sampling temperature; 0 is sent as 0. Default: the provider's.
    - `top_p`: Nucleus sampling: tokens are chosen from the most probable ones that together have this probability, from 0 to 1.
      Default: the provider's.
    - `top_k`: Tokens are chosen from so many of the most probable ones. Default: the provider's.
    - `seed`: The same request with the same seed gets the same answer, as far as the provider can. Default: none.
    - `frequency_penalty`: How much less probable a token becomes each time it is written, from -2 to 2. Default: the provider's.
    - `presence_penalty`: How much less probable a token becomes once it has been written, from -2 to 2. Default: the provider's.
    - `max_tokens`: The most tokens of a message, of thinking and answer together. Raised where a thinking budget would leave none
      for the answer. Default: the provider's.
    - `stop_sequences`: Texts that end the answer when the model writes them. Default: none.
    - `tool_choice`: Whether the model may, must or must not call tools, or the one that it must call: `"auto"`, `"required"`,
      `"none"` or `{"tool": name}`. What it must call is asked for until the first such call of a run. Default: the provider's.
    - `cache_retention`: How long the provider is asked to cache the prompt. One of `short`, `long`, `none`. Default: `short`.
    - `extra_body`: Fields of the body of each request, for what no option is there: `{"service_tier": "flex"}`. An object is
      merged into the one that is sent, null removes a field, and all else replaces it. Not the fields that the engine decides,
      such as `messages`, `tools` and `stream`. Default: none.
    - `hosted_tools`: Tools that the provider runs itself, each as the provider describes it: `{"type": "web_search"}`,
      `{"google_search": {}}`. One in the words of another wire format is left out of a request. Default: none.
    - `thinking_level`: How much thinking to ask for. One of `off`, `minimal`, `low`, `medium`, `high`, `xhigh`. Default: `off`.
    - `raw_events`: Whether each frame is also emitted as the provider sent it, as a `raw` event. Default: False.

    Options of the loop and its tools
    - `builtin_tools`: Built-in tools for files, commands and notes, by their names. Default: none.
    - `mcp`: Servers of the Model Context Protocol, whose tools are the agent's. Default: none.
    - `max_turns`: The most turns of one run; 0 for no limit. Default: 10.
    - `max_repeated_calls`: How many identical tool calls in a row, of name and arguments, end the run with outcome `stopped`; 0
      for no limit. The calls run; polling a state is such a row, too. Default: 0.
    - `max_subagent_depth`: How many levels of subagents may be below a run; 0: its tools that run an agent give an error result.
      Default: 4.
    - `steering_mode`: How many messages one poll takes from the steering queue: the oldest one, or all. One of `one_at_a_time`,
      `all`. Default: `one_at_a_time`.
    - `follow_up_mode`: How many messages one poll takes from the follow-up queue: the oldest one, or all. One of `one_at_a_time`,
      `all`. Default: `one_at_a_time`.
    - `gate`: Which tool calls run, which wait for a decision, and which are refused: rules such as `run_command(git push *)`.
      What no rule is about is as the tool's `needs_approval` says. Default: none.
    - `steering_policy`: What steering does to tool calls that have not started: they are skipped, or run first. One of
      `skip_remaining`, `after_batch`. Default: `skip_remaining`.
    - `tool_execution`: Whether the tool calls of a message run concurrently or sequentially. One of `parallel`, `sequential`.
      Default: `parallel`.
    - `max_parallel_tools`: The most tool calls that run concurrently. Default: 8.
    - `validation`: How tool arguments are validated: `coerce` also converts texts to what the schema asks for ("5" to 5),
      `strict` does not, `off` checks nothing. One of `coerce`, `strict`, `off`. Default: `coerce`.
    - `max_result_bytes`: The most bytes of a tool result's text that the model receives; a longer text is shortened. Default:
      50,000.
    - `context`: Keeps each request within a number of tokens: of a long conversation the oldest exchanges are left out of it. The
      transcript keeps them. Default: none: a request has all messages.
    - `output`: The type of a run's final answer: a JSON Schema, or an object where that is not enough. The result has it as
      `output`. Default: none: the answer is text.
    - `output_retries`: How often the model may correct a final answer that does not fit `output`. Default: 2.

    Options of limits and retries
    - `limiter`: Limits that the model calls of several agents have in common: those of one runtime share a limiter of the same
      value. Default: none.
    - `max_message_bytes`: The most bytes of a model's message; one that grows larger is cut off with an error. Default:
      67,108,864.
    - `max_result_bytes_kept`: The most bytes of a tool's result that are kept, its details included; a larger one becomes an
      error result. Default: 16,777,216.
    - `max_transcript_bytes`: The most bytes of the transcript, as JSON, that a model is called with; 0 for no limit. Default: 0.
    - `abort_grace_ms`: How long an aborted run waits for its tools, and for each listener, in milliseconds. Default: 1,000.
    - `connect_timeout_ms`: The time limit for opening a connection, in milliseconds; 0 for none. Default: 10,000.
    - `first_byte_timeout_ms`: The time limit until the first byte of a model's response, in milliseconds; 0 for none. Default:
      120,000.
    - `idle_timeout_ms`: The time limit between two bytes of a model's response, in milliseconds; 0 for none. Default: 120,000.
    - `request_timeout_ms`: The time limit of one attempt of a model call, in milliseconds; 0 for none. Default: 600,000.
    - `tool_timeout_ms`: The time limit of a tool call, in milliseconds; 0 for none. Default: 0.
    - `run_timeout_ms`: The time limit of a run, in milliseconds; 0 for none. Default: 0.
    - `listener_timeout_ms`: How long a run waits for a listener, and for `after_run`, in milliseconds; 0 for no limit. Default:
      30,000.
    - `max_cost`: How many US dollars a run may use before it makes no further model call. Its models need prices. Default: no
      limit.
    - `max_total_tokens`: How many tokens a run may use, of prompts and answers, before it makes no further model call. Default:
      no limit.
    - `max_output_tokens_total`: How many tokens a run may use for answers, thinking included, before it makes no further model
      call. Default: no limit.
    - `max_tool_calls`: The most tool calls of a run: those over it get an error result, and no further model call is made.
      Default: no limit.
    - `max_run_ms`: After how many milliseconds a run makes no further model call. What is under way goes on. Default: no limit.
    - `max_retries`: The most retries of a failed model call. Default: 2.
    - `retry_base_ms`: The upper bound of the first backoff, in milliseconds; it doubles with each retry. Default: 500.
    - `max_retry_delay_ms`: The longest backoff, in milliseconds; a call whose provider demands a longer one fails. Default:
      60,000.

    <!-- </generated> -->

    Hooks are functions `f(input)` or `f(input, context)`, plain or async, which are called on the event loop of the run;
    `context` is a `HookContext`. An exception makes the hook fail; it is the `__cause__` of the error
    that the run then ends with. None means no change. A hook returns what it changes: each attribute of its input is a new copy
    when it is read, and a change of that has no effect.

    <!-- <generated: hooks> -->

    - `transform_context(messages)`: Before each model call: may replace the messages that the model reads, for this call only.
      Returns a list of messages.
    - `convert_to_llm(messages)`: Before each model call, after `transform_context`: converts all messages to the three standard
      roles. Without this hook, messages of other roles are left out. Returns a list of messages.
    - `get_api_key(provider)`: Before each model call: the API key for a provider, instead of the configured one, or a token, or
      headers. Returns a text, `{bearer}` or `{headers}`; of what is empty, the configured key.
    - `before_tool_call(call)`, the `BeforeToolCall`: Before a tool runs: may block the call, with a reason for the model, replace
      its arguments, which are validated again, or suspend it until somebody decides. Returns
      `{block: True, reason?, terminate?}`, `{arguments}` or `{suspend: reason}`.
    - `after_tool_call(call)`, the `AfterToolCall`: After a tool ran, successfully or not: may replace parts of its result.
      Returns any of `{content, details, is_error, terminate}`; `content` is text or blocks.
    - `prepare_next_turn(turn)`, the `TurnSummary`: After each turn that another may follow: may change context, model and
      thinking level for the rest of the run. Returns any of `{context, model, thinking_level}`; `context` is any of
      `{system_prompt, messages, tools}`, with the tools by name.
    - `should_stop_after_turn(turn)`, the `TurnSummary`: After each turn: whether the run ends here, with the outcome `stopped`.
      Returns True or False.
    - `get_steering_messages()`: With each poll of the steering queue: further steering messages. Returns a text, a message, or a
      list of texts or of messages.
    - `get_follow_up_messages()`: With each poll of the follow-up queue: further follow-up messages. Returns a text, a message, or
      a list of texts or of messages.
    - `on_payload(request)`, the `Payload`: Before each model call: may replace the body of the request. Returns the new body.
    - `on_response(response)`, the `ResponseHead`: When the head of a response has arrived, for each attempt.
    - `on_error(failure)`, the `Failure`: When a model call fails, and when anything else ends the run with an error.
    - `before_run(prompts)`: Before a run, also before its `agent_start`.
    - `after_run(result)`: After a run's last event, before the agent is idle.
    - `on_interrupted_call(call)`, the `InterruptedCall`: When `resume` finds a call without a result, of a tool whose
      `on_interrupted` is `ask`: whether the model reads that its outcome is not known, it runs again, or it has a result. Without
      this hook: `report`. Returns `report`, `retry` or `{result}`.
    - `check_output(output)`: When a final answer fits the option `output`: may refuse it, with a text for the model, which may
      correct it. Returns null, or a text: what is wrong with it.
    - `prepare_request(request)`, the `NextRequest`: Before the request of each turn, the first one included: may change context,
      model and thinking level for this request. A retry and a fallback keep what it has changed, but for the model. Returns as
      `prepare_next_turn`.
    - `on_mcp_sampling(sampling)`, the `McpSampling`: When a server of MCP asks, during one of its calls, for an answer of a model
      (sampling): may give one. Without this hook, the capability is not announced to servers. Returns a text, or the result as
      MCP has it; null refuses.
    - `on_mcp_elicitation(elicitation)`, the `McpElicitation`: When a server of MCP asks, during one of its calls, for what the
      user knows (elicitation): may give it. Without this hook, the capability is not announced to servers. Returns
      `{action: "accept", content}`, `{action: "decline"}`, `{action: "cancel"}`; null declines.
    - `on_mcp_sign_in(request)`, the `McpSignIn`: When a server of MCP with the field `oauth` wants a sign-in: shows the user the
      address, in a browser for example. Returns null, or the address that the browser was sent to, where that is received
      elsewhere.
    - `on_approval(call)`, the `ApprovalRequest`: When a call needs approval, as its tool or the option `gate` says, before it
      waits: may decide at once. Without an answer, the call waits. Returns null, or a decision as `resume` takes it: `approve`,
      `approve_always`, `deny`, `{deny: reason}`, `deny_always`, `{deny_always: reason}`, `{arguments}` or `{result}`.

    <!-- </generated> -->

    `middleware`: a list of functions `async def f(call, next)` around each tool's execution, the first one outermost. `call` is a
    `MiddlewareCall`. `await next()`, or `await next(arguments)`, runs the rest of the chain and returns the full result,
    `{"content", "details", "is_error", "terminate"}`; when the tool failed, it raises the tool's exception, the same object
    (`CallbackError` where there is none, or one that is not for the middleware: a `CancelledError`, or another that is no
    `Exception`; then as its cause). The function returns the result of the call; if it returns None, the call fails. So it does
    when a plain function calls `next()` and drops it or takes it for the result: nothing has run, as nothing awaited it.

    A custom provider is `async def f(request, context)`, or a plain generator, which runs on a thread of its own. `request` is a
    `ModelRequest`, `context` a `ModelContext`, which may be left out. It yields chunks: text, `{"text"}`, `{"thinking"}`,
    `{"tool_call": {"id", "name", "arguments"}}`, or `{"type": "text_delta", …}` in the form of an event; and optionally at the
    end `{"end": {"stop_reason", "usage"}}`. An exception is the answer's error, of kind `provider` unless it is an `AgentError`;
    it is the `__cause__` of the error that is raised. An abort closes the generator.
    """

    def __init__(self, model: _Model, **options: Unpack[AgentOptions]) -> None:
        given: dict[str, Any] = dict(options)
        self._deps = given.pop("deps", None)
        tools, middleware = given.pop("tools", None), given.pop("middleware", None)
        session = given.pop("session", None)
        provider, providers = given.pop("provider", None), given.pop("providers", None)
        plugins = items_of('option "plugins"', "paths", given.pop("plugins", None) or ())
        hooks: dict[_HookName, Any] = {name: given.pop(name, None) for name in _native.HOOKS}
        self._answers = Answers()
        self._requests = Requests()
        given, self._answers.output = options_of(given)
        self._requests.prompt = prompt_taken(given)
        callbacks = []
        if provider is not None or providers:
            from .provider import provider_callbacks

            callbacks = provider_callbacks(provider, providers or {})
        # The engine checks the names and suggests the nearest one.
        self._native = _native.Agent(model, given, callbacks, plugins)
        self.tools = () if tools is None else tools
        for name, function in hooks.items():
            if function is not None:
                self.set_hook(name, function)
        self._check_answers(self._answers.output)
        self._native.set_hook("prepare_request", self._requests.callback())
        for function in items_of('option "middleware"', "functions", () if middleware is None else middleware):
            self.add_middleware(function)
        self._session: OpenSession | None = None
        if session is not None:
            from .session import give

            # Last: nothing fails after it, which would leave the session open.
            self._session = give(self._native, session)

    def export(self, key: str | bytes | None = None) -> str:
        """The conversation as one JSON text: messages, queues, and calls that wait for a decision. `from_export` goes on with it,
        in another process or language. It has no settings, no tools and no keys.

        With a `key` of yours (at least 32 random bytes) the text has a signature, and `from_export` refuses what was changed. A
        signature stops changes, not reuse: an older text of the same conversation has a valid one, too. Raises `BusyError` while
        a run is active, `InvalidArgumentError` for a key of less than 32 bytes.
        """
        return self._native.export(as_bytes(key))

    @classmethod
    def from_export(
        cls, text: str, model: _Model, *, key: str | bytes | None = None, **options: Unpack[AgentOptions]
    ) -> Self:
        """An agent that goes on with the conversation that `export` returned, with this model and these options, which are those
        of an agent without `messages`: the export has them.

        Raises `InvalidArgumentError` for a text that is no export, and for the option `messages`; with a `key` for a text that is
        not signed, was signed with another key, or was changed; without one for one that is signed. Raises `NewerVersionError`
        for an export of a newer version of this library.
        """
        agent = cls(model, **options)
        agent._native.begin_with_export(text, as_bytes(key))
        return agent

    def as_tool(
        self,
        name: str,
        description: str = "",
        *,
        parameters: Mapping[str, Any] | None = None,
        prompt: Callable[[dict[str, Any]], _Prompt | Awaitable[_Prompt]] | None = None,
        events: Literal["all", "messages", "none"] = "all",
        keep_conversation: bool = False,
        **options: Unpack[SubagentOptions],
    ) -> Tool:
        """A tool that runs this agent, as a subagent of the agent that calls it.

        Each call has an agent of its own, with this one's configuration as it is then, and begins with the messages that this
        one has now: several calls may run at once, and none knows of another. The call's result is the agent's typed answer or
        its last text; if the run ends otherwise, an error that says so. What it uses counts as the calling run's, too.

        - `parameters`, `prompt`: the JSON Schema of the arguments, and the function, plain or async, that makes the prompt of
          them. By default the model gives the `prompt`, a text
        - `events`: which of its events come in the run that calls it, as `SubagentEvent`: `all`, `messages` (all but the pieces
          of messages), or `none`
        - `keep_conversation`: calls go on with this agent's own conversation, and its session if it has one; they take turns
        - the other arguments are those of `Tool`

        Raises `InvalidArgumentError` for a wrong argument.
        """
        from .subagent import as_tool

        return as_tool(self, name, description, parameters, prompt, events, keep_conversation, options)

    def as_handoff(self, name: str, description: str = "", **options: Unpack[SubagentOptions]) -> Tool:
        """A tool that hands the conversation to this agent, for the rest of the run that calls it.

        From the next turn on the run has this agent's system prompt, model, tools, hooks, middleware, deps and options, as they
        are then, and the transcript so far. The limits of the run, its typed answer, its session and its listeners stay. A
        `Diagnostic` (`handoff`) says so. The next run begins with its own agent again. The other arguments are those of `Tool`.
        """
        from .subagent import as_handoff

        return as_handoff(self, name, description, options)

    def subscribe(self, listener: Callable[[Event], Awaitable[object] | object]) -> Subscription:
        """Calls a function, plain or async, with each event of this agent's runs, until the subscription's `unsubscribe()`.

        It is called on the event loop that started the run, one event at a time, after the listeners that were added before. The
        run waits until it has returned, at most `listener_timeout_ms`: then it gets no event until it returns. That, and when it
        raises, a `Diagnostic` reports, `listener_errors` counts it, and the run continues. One that blocks the event loop cannot
        be left so. Raises TypeError for a function that cannot be called so.
        """
        if not callable(listener):
            raise TypeError(f"listener: expected a function of an event, got {type(listener).__name__}")
        must_take("listener", listener, "event")
        return self._native.subscribe(listener)

    def set_options(self, **options: Unpack[Settings]) -> None:
        """Sets options by name; None is the default. A change during a run takes effect at its next turn.

        The options are those of `Agent` that are plain values. Raises `InvalidArgumentError` for an unknown or wrong option,
        TypeError for a value that is not JSON; no option is changed then.
        """
        for name in options:
            if name in (*_native.HOOKS, "tools", "messages", "session", "middleware", "provider", "providers", "plugins", "deps"):
                ways = {
                    "tools": "the agent's tools",
                    "messages": "replace_messages",
                    "session": "the constructor",
                    "deps": "the constructor, or prompt(…, deps=…)",
                    "middleware": "add_middleware",
                    "plugins": "add_plugin",
                }
                way = "set_hook" if name in _native.HOOKS else ways.get(name, "set_provider")
                raise InvalidArgumentError(f'option "{name}" is not a plain value; use {way}')
        self._change_options(options)

    def _change_options(self, options: Mapping[str, Any]) -> None:
        given, output = options_of(options)
        prompt = prompt_taken(given)
        self._native.set_options(given)
        if "system_prompt" in options:
            self._requests.prompt = prompt
            self._native.set_hook("prepare_request", self._requests.callback())
        if "output" in options:
            self._answers.output = output
            self._check_answers(output)

    def set_hook(self, name: _HookName, function: Callable[..., Any] | None) -> None:
        """Sets a hook by name, for example `before_tool_call`; None removes it.

        A change during a run takes effect at its next turn.
        Raises `InvalidArgumentError` for an unknown name, TypeError for a function that cannot be called as the hook.
        """
        if name == "check_output":
            # It gets the value of the type.
            self._answers.set_hook(function)
            function = self._answers.check if self._answers.needs_hook(self._answers.output) else None
        elif name == "prepare_request":
            self._requests.set_hook(function)
            function = self._requests.callback()
        elif function is not None:
            from .hooks import WITHOUT_INPUT, hook_callback

            function = hook_callback(f'hook "{name}"', function, 0 if name in WITHOUT_INPUT else 1)
        self._native.set_hook(name, function)

    def set_provider(self, name: str | None, function: _Provider | None) -> None:
        """Sets the custom provider of this name, as the option `providers` does; None for the function removes it. Without a name
        it is the one of the option `provider`.

        A change during a run takes effect at its next turn. Raises `InvalidArgumentError` for an empty name, one with a slash, or
        when the model or a fallback cannot be used without it, TypeError for a function that cannot be called so; nothing changes
        then.
        """
        callback = None
        if function is not None:
            from .provider import provider_callback

            callback = provider_callback(function)
        self._native.set_provider(name, callback)

    def add_plugin(self, path: str | PathLike[str]) -> None:
        """Loads a plugin, a shared library, and adds its tools, hooks, middleware and providers: all, or on an error none.

        `path` has a folder, `"./dice.so"`: plugins are not searched for. It may do what this process may, so it must be trusted
        as an extension module is. It stays loaded until the process ends, and what it has added stays when `tools` is set. Raises
        `NotFoundError` if there is no such file, `InvalidArgumentError` for what is no plugin and for a tool of a name that is
        taken, `NewerVersionError` for one that needs a newer version of this package, `InvalidStateError` for a hook or provider
        that the agent has, `AgentIOError` for what the system's loader refuses, and what the plugin fails with.
        """
        self._native.add_plugin(path)

    def add_middleware(self, function: _Middleware) -> None:
        """Adds a function `async def f(call, next)` around the execution of tools, inside of those that were added before.

        A plain function cannot await `next()`: it may return that, or a result. Raises TypeError for a function that cannot be
        called so.
        """
        from .middleware import middleware_callback

        self._native.add_middleware(middleware_callback(function))

    if not TYPE_CHECKING:  # with it, type checkers would accept any attribute

        def __setattr__(self, name: str, value: object) -> None:
            # An attribute that nothing would read is refused. Subclasses may add attributes.
            if type(self) is Agent and not name.startswith("_") and not hasattr(Agent, name):
                hint = "options are set with set_options, as in set_options(temperature=0)"
                raise AttributeError(f"an agent has no attribute {name!r} to set; {hint}")
            if name == "messages" and type(self).messages is Agent.messages:
                raise AttributeError("an agent's messages are not set; use replace_messages, as in agent.replace_messages([])")
            super().__setattr__(name, value)

    @property
    def system_prompt(self) -> str:
        """The instructions for the model; empty where it is a function. A change during a run takes effect at its next turn."""
        return self._native.system_prompt

    @system_prompt.setter
    def system_prompt(self, text: str | _SystemPrompt) -> None:
        self._change_options({"system_prompt": text})

    @property
    def model(self) -> str:
        """`provider/id` of the model. A change during a run takes effect at its next turn.

        A name or a dict may be set. Setting a model that cannot be used raises `InvalidArgumentError` and changes nothing.
        """
        return self._native.model

    @model.setter
    def model(self, model: _Model) -> None:
        self._native.set_model(model)

    @property
    def thinking_level(self) -> _ThinkingLevel:
        """The thinking level that is requested. A change during a run takes effect at its next turn."""
        return self._native.thinking_level

    @thinking_level.setter
    def thinking_level(self, level: _ThinkingLevel) -> None:
        self._native.set_options({"thinking_level": level})

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model may call. A change during a run takes effect at its next turn."""
        return self._native.tools

    @tools.setter
    def tools(self, tools: Iterable[Tool]) -> None:
        self._native.set_tools(tools_of(tools))

    @property
    def messages(self) -> tuple[Message, ...]:
        """The transcript: the messages of all `MessageEnd` events, and those that were set. The same tuple until it changes.

        A tuple equals no list: compare `list(agent.messages)` with one, or its length, or a message.
        """
        return self._native.messages

    def append_message(self, message: _Message | _JsonObject) -> None:
        """Appends a message to the transcript.

        Raises `BusyError` during a run, `InvalidArgumentError` or TypeError for what is not a message.
        """
        with self._not_left():
            self._native.append_message(message)

    def append_messages(self, messages: _Messages) -> None:
        """Appends messages to the transcript: all, or on an error none. Raises what `append_message` does."""
        with self._not_left():
            self._native.append_messages(messages)

    def replace_messages(self, messages: _Messages) -> None:
        """Replaces the transcript. Raises what `append_message` does; nothing is changed then."""
        with self._not_left():
            self._native.replace_messages(messages)

    def clear_messages(self) -> None:
        """Empties the transcript. Raises `BusyError` during a run."""
        with self._not_left():
            self._native.clear_messages()

    def undo_writes(self, count: int) -> UndoneWrites:
        """Takes back the newest writes of the built-in tools `write_file` and `edit_file`, and commits of `git`, in this
        conversation that were not taken back: `count` of them, or all if there are fewer, the newest first. It stops at a file
        that was changed since, and at a commit that others followed.

        What was taken back is appended to the transcript as a message of the role `undo_writes`, so that a session keeps it.
        Blocks while it writes. Raises `BusyError` during a run, `InvalidStateError` without built-in tools and while calls wait
        for a decision.
        """
        with self._not_left():
            undone: UndoneWrites = self._native.undo_writes(count)
            return undone

    def reset(self) -> None:
        """Empties the transcript and both queues, clears `error`, and forgets what was decided for always. Raises `BusyError`
        during a run."""
        with self._not_left():
            self._native.reset()

    def forget(self, rule: str | None = None) -> None:
        """Forgets what was decided for always about a rule of `remembered`, or all of it.

        Raises `BusyError` during a run, `InvalidArgumentError` for a text that is no rule.
        """
        with self._not_left():
            self._native.forget(rule)

    @property
    def is_streaming(self) -> bool:
        """Whether a run is active: from its start until the agent is idle."""
        return self._native.is_streaming

    @property
    def streaming_message(self) -> AssistantMessage | None:
        """The assistant message that is being streamed, as far as it was received; None when there is none."""
        return self._native.streaming_message

    @property
    def session(self) -> OpenSession | None:
        """The session that keeps the conversation. The agent gives it back when it is dropped; closing it here waits for that,
        and the agent takes no more changes then."""
        return self._session

    @property
    def interrupted(self) -> InterruptedRun | None:
        """The run that was interrupted when the process that had the session ended, until another run begins; `resume` goes on
        with it. None also when there is nothing left to go on with."""
        fields = self._native.interrupted
        if fields is None:
            return None
        from .session import interrupted_run

        return interrupted_run(fields)

    async def flush(self) -> None:
        """Waits until the session's store has all changes that were made before. Returns immediately without a session.

        Raises the store's error, also for what was changed before; `InvalidStateError` inside a callback of this agent, where it
        might wait for itself.
        """
        from .bridge import current, wait

        await wait(self._native.flush(current().queue))

    @property
    def pending(self) -> tuple[SuspendedCall, ...]:
        """The tool calls that wait for a decision, which `resume` takes; none while a run is active."""
        return self._native.pending

    @property
    def remembered(self) -> Remembered:
        """What was decided for always, as rules. During a run, it is as it was at the end of the last turn."""
        return self._native.remembered

    @property
    def pending_tool_calls(self) -> tuple[str, ...]:
        """The ids of the tool calls between their `ToolExecutionStart` and `ToolExecutionEnd`."""
        return self._native.pending_tool_calls

    @property
    def error(self) -> AgentError | None:
        """The error of the last run, if its outcome was `error` or `aborted`."""
        return self._native.error

    @property
    def listener_errors(self) -> int:
        """How often a listener failed."""
        return self._native.listener_errors

    def __repr__(self) -> str:
        names = ", ".join(tool.name for tool in self.tools)
        return f"<Agent {self.model}: tools [{names}], {len(self.messages)} messages>"
