"""The agent: model, system prompt, tools, limits and the conversation so far, with at most one active run."""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from . import _native
from .run import INSIDE, Run
from .tools import Tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from typing import Literal

    from typing_extensions import Never

    from ._native import AssistantMessage, ContentBlock, Event, Message, RunResult, Subscription
    from .errors import AgentError

    _JsonObject = Mapping[str, Any]
    _Prompt = str | _JsonObject | Message | Sequence[_JsonObject | Message | ContentBlock]


class Agent:
    """A model, tools and a conversation. Every method may be called from any thread; runs are started from async code.

    ```python
    agent = Agent("anthropic/claude-sonnet-4-5", system_prompt="Be brief.", tools=[weather])
    result = await agent.prompt("Rain in Oslo?")
    print(result.text)
    ```

    - `model`: `provider/id`, or a dict `{"provider", "id", "protocol", "base_url", "headers", "cost", …}`
    - `system_prompt`: what the model is told first
    - `tools`: what it may call; see `tool`
    - `base_url`: the server's address, with or without `/v1`, instead of the provider's own; a key is then optional
    - `api_key`: instead of the provider's environment variable
    - `temperature`, `max_tokens`: passed on; 0 is a value
    - `headers`: for each request
    - `max_turns`: the most turns of one run (10); 0 for no limit
    - `tool_execution`: `parallel` (default) or `sequential`; `max_parallel_tools`: how many at once (8)
    - `validation`: of tool arguments: `coerce` (default), `strict` or `off`
    - `max_result_bytes`: the most of a tool's text that goes to the model whole (50,000)
    - `abort_grace_ms`: how long an aborted run waits for its tools (1,000)
    - `raw_events`: whether each frame is told as the provider sent it
    - `messages`: the conversation so far, as messages or dicts
    """

    def __init__(
        self,
        model: str | _JsonObject,
        *,
        system_prompt: str | None = None,
        tools: Iterable[Tool] = (),
        base_url: str | None = None,
        api_key: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        headers: Mapping[str, str] | None = None,
        max_turns: int | None = None,
        tool_execution: Literal["parallel", "sequential"] | None = None,
        max_parallel_tools: int | None = None,
        validation: Literal["coerce", "strict", "off"] | None = None,
        max_result_bytes: int | None = None,
        abort_grace_ms: int | None = None,
        raw_events: bool | None = None,
        messages: Sequence[Message | _JsonObject] | None = None,
        **unknown: Never,
    ) -> None:
        options = {
            "system_prompt": system_prompt,
            "base_url": base_url,
            "api_key": api_key,
            "temperature": temperature,
            "max_tokens": max_tokens,
            "headers": headers,
            "max_turns": max_turns,
            "tool_execution": tool_execution,
            "max_parallel_tools": max_parallel_tools,
            "validation": validation,
            "max_result_bytes": max_result_bytes,
            "abort_grace_ms": abort_grace_ms,
            "raw_events": raw_events,
            "messages": messages,
        }
        # The engine knows which names there are, and which is nearest to a wrong one.
        self._native = _native.Agent(model, options | unknown)
        self._abort_grace_ms = 1000 if abort_grace_ms is None else abort_grace_ms
        self.tools = tools

    async def prompt(self, prompt: _Prompt) -> RunResult:
        """Runs until the model is done and gives what came of it.

        `prompt` is text, a message, a list of messages, or a list of content blocks (text with images). Raises the run's
        error, with the result in it, when the outcome is `error`. When the task is cancelled, the run is aborted and settles
        first, as by `Run.close`.
        """
        return await self._start(prompt, quiet=True).result()

    def stream(self, prompt: _Prompt) -> Run:
        """Starts a run, at once, and gives its events as they come. Best used with `async with`."""
        return self._start(prompt, quiet=False)

    def _start(self, prompt: _Prompt, *, quiet: bool) -> Run:
        from .bridge import current, numbers

        bridge = current()
        number = next(numbers)
        inside = INSIDE.get()
        # Tools and listeners see the caller's context variables, and that they are inside this run.
        context = copy_context()
        context.run(INSIDE.set, (*inside, number))
        native = self._native.start(prompt, quiet, bridge.mailbox, context, number, inside)
        run = Run(self, native, number)
        bridge.runs.add(run)
        return run

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
    def model(self, model: str | _JsonObject) -> None:
        self._native.set_model(model)

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
