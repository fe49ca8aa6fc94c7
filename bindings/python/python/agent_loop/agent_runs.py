"""What an agent does with runs: it starts them, waits for them, and queues messages for them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload
from weakref import ref

from ._native import Caller, ui_messages
from .errors import BusyError, InvalidArgumentError
from .output import RUN_OUTPUT, checked_options, options_of
from .runs import Run
from .scope import DEPS, INSIDE, begin
from .subagent import call_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from typing_extensions import Unpack

    from ._native import Agent as NativeAgent
    from ._native import Run as NativeRun
    from ._native import RunResult
    from .options import McpServing, McpToolInfo, PromptOptions, _Decisions, _Prompt, _PromptOptions
    from .output import Answers, Output
    from .sync import SyncRun
    from .ui import Replay, UiOptions, UiRequest, UiStream

T = TypeVar("T")


class AgentRuns:
    """The methods of an agent that start runs and steer them; see `Agent`."""

    _native: NativeAgent
    _answers: Answers
    _deps: Any

    _replay: Replay | None = None
    """What was sent of the last run, if it is resumable, and before how many messages it has begun."""
    _kept = 0

    _sync_run: Callable[[], SyncRun | None] = staticmethod(lambda: None)
    """The latest run of `stream_sync`, while someone holds it."""

    @overload
    async def prompt(
        self, prompt: _Prompt, *, output: type[T] | Output[T], **options: Unpack[PromptOptions]
    ) -> RunResult[T]: ...

    @overload
    async def prompt(self, prompt: _Prompt, *, output: object = None, **options: Unpack[PromptOptions]) -> RunResult: ...

    async def prompt(self, prompt: _Prompt, **options: Any) -> RunResult:
        """Starts a run, waits until it is over and the agent is idle, and returns the result.

        `prompt` is text, a message, a list of messages, or a list of content blocks (text with files). Raises the run's error,
        with the result in its `result`, when the outcome is `error`; `BusyError` while a run is active; `InvalidArgumentError`
        for a prompt that is empty (no file, and no text but white space) and for a prompt or model that cannot be used;
        `InvalidStateError` inside a callback of this agent. When the awaiting task is cancelled, the run is aborted and awaited
        first, as by `Run.close`.

        The `options` are for this run alone, in place of those of the agent: those that `set_options` takes, but for what is of
        the model's server and of the conversation. With `output`, a type or an `Output`, the result's `output` is its value.
        """
        return await self._start(prompt, True, options).result()

    @overload
    async def resume(
        self, decisions: _Decisions | None = None, *, output: type[T] | Output[T], **options: Unpack[PromptOptions]
    ) -> RunResult[T]: ...

    @overload
    async def resume(
        self, decisions: _Decisions | None = None, *, output: object = None, **options: Unpack[PromptOptions]
    ) -> RunResult: ...

    async def resume(self, decisions: _Decisions | None = None, **options: Any) -> RunResult:
        """Resumes from the current transcript, adding no message: after a failure, an abort or `max_turns`; else as `prompt`.

        When the last message is the model's answer, it continues with the queued messages, steering first. Also raises
        `InvalidStateError` when then no message is queued, and when the transcript is empty.

        `decisions` is for the calls of `pending`, which the outcome `suspended` leaves: a dict with a decision for each, by its
        `tool_call_id`. `"approve"`: it runs. `"deny"` or `{"deny": reason}`: its result is an error. `{"arguments": {...}}`: it
        runs with these arguments, which are validated. `{"result": value}`: this is its result. All of them are decided, or
        nothing runs: raises `InvalidArgumentError` for a call that is missing, unknown or answered, and for arguments that do
        not fit.

        The `options` are those of `prompt`. The run has those that are given here, and none of the run before.
        """
        return await self._go_on(decisions, True, options).result()

    @overload
    def stream(
        self,
        prompt: _Prompt,
        *,
        raise_errors: bool = True,
        output: type[T] | Output[T],
        **options: Unpack[PromptOptions],
    ) -> Run[T]: ...

    @overload
    def stream(
        self, prompt: _Prompt, *, raise_errors: bool = True, output: object = None, **options: Unpack[PromptOptions]
    ) -> Run: ...

    def stream(self, prompt: _Prompt, *, raise_errors: bool = True, **options: Any) -> Run:
        """Starts a run immediately and returns it, to read its events as they come. Best used with `async with`.

        Must be called where an event loop runs. Takes and raises what `prompt` does, except the run's own error: reading to the
        end raises that after the last event, unless `raise_errors` is False.
        """
        return self._start(prompt, False, options, raise_errors)

    @overload
    def stream_resume(
        self,
        decisions: _Decisions | None = None,
        *,
        raise_errors: bool = True,
        output: type[T] | Output[T],
        **options: Unpack[PromptOptions],
    ) -> Run[T]: ...

    @overload
    def stream_resume(
        self,
        decisions: _Decisions | None = None,
        *,
        raise_errors: bool = True,
        output: object = None,
        **options: Unpack[PromptOptions],
    ) -> Run: ...

    def stream_resume(
        self, decisions: _Decisions | None = None, *, raise_errors: bool = True, **options: Any
    ) -> Run:
        """Resumes as `resume` does, and returns the run, as `stream` does."""
        return self._go_on(decisions, False, options, raise_errors)

    def to_ui_messages(self, *, resume: bool = False, **options: Unpack[UiOptions]) -> list[dict[str, Any]]:
        """The conversation as `useChat` has it, for a page that is loaded again: UI messages of the AI SDK, as dicts.

        The calls that wait may be approved there. With `resume`, without what `resume_ui` streams to the page. The other options
        are those of `Run.to_ui_message_stream`."""
        return ui_messages(self._native, options, self._kept if resume and self._replay is not None else None)

    def resume_ui(self, last_event_id: str | None = None) -> UiStream | None:
        """The stream of the last run from its beginning, for a page that was loaded in mid-answer, or has lost its connection:
        what was sent before, and then what comes. Any number of pages may read it. With `last_event_id`, the header
        `Last-Event-ID` of a client that has lost its connection, it has only what follows that event, if it is one of this run.

        None if no run with a `resumable` stream was the last one, or if it went on with decided calls: answer with the status
        204, as `resumeStream` of `useChat` wants it. It is kept until the next run begins, also when the run is over: a page has
        the answer from it, and all before from `to_ui_messages(resume=True)`."""
        from .ui import UiStream

        return None if self._replay is None else UiStream._again(self._replay, last_event_id)

    def stream_ui(
        self, request: UiRequest, *, raise_errors: bool = False, **options: Unpack[_PromptOptions]
    ) -> Run:
        """Starts the run that a browser asks for, and returns it, as `stream` does; `agent_loop.ui` says how to answer with it.

        It is a run with the message that the user has sent, or goes on with what the user has decided about the calls that wait,
        or answers an earlier message anew, as it was or edited: then what follows it is removed from `messages`.
        Raises what `stream` raises, such as `BusyError` while a run is active and `InvalidStateError` for a message while calls
        wait; `InvalidStateError` also for decisions when no call waits, as when a request comes twice; `InvalidArgumentError` for
        what the request's options do not allow. The `options` are those of `prompt`.
        """
        from .ui import UiRequest

        if not isinstance(request, UiRequest):
            text = f"expected a UiRequest, as UiRequest.from_ai_sdk(body) reads one, got {type(request).__name__}"
            raise InvalidArgumentError(f"stream_ui: {text}")
        found = request._native.start(self._native)
        if "replace" in found:
            self._native.replace_messages(found["replace"])
        if "prompt" in found:
            run = self.stream(found["prompt"], raise_errors=raise_errors, **options)
        else:
            run = self.stream_resume(found.get("resume"), raise_errors=raise_errors, **options)
        self._kept = found["before"]
        return run

    async def resume_if_queued(self, **options: Unpack[_PromptOptions]) -> RunResult | None:
        """Starts a run with what was queued while no run was active, as `resume` does; the messages may begin a conversation.

        Returns None when no message waits, else as `prompt`. For messages that `steer` or `follow_up` reported as "queued", or
        that a run has left (`AgentEnd.queued`). Raises `BusyError` while a run is active. The `options` are those of `prompt`.
        """
        if not self._native.may_resume_queued():
            return None
        return await self._go_on(None, True, options, if_queued=True).result()

    def stream_resume_if_queued(
        self, *, raise_errors: bool = True, **options: Unpack[_PromptOptions]
    ) -> Run | None:
        """Same as `resume_if_queued`, but returns the run, as `stream` does."""
        if not self._native.may_resume_queued():
            return None
        return self._go_on(None, False, options, raise_errors, if_queued=True)

    def stream_sync(self, prompt: _Prompt, *, raise_errors: bool = True, **options: Unpack[_PromptOptions]) -> SyncRun:
        """Same as `stream`, for code without an event loop; see `SyncRun`.

        ```python
        with agent.stream_sync("Hello") as run:
            for event in run:
                ...
        ```

        Leaving the `with` aborts the run if it is still active. Without one, a run that is left early is active until its
        `close()`, or until the last reference to it is dropped. Raises `InvalidStateError` where an event loop runs.
        """
        from .sync import SyncRun

        with self._not_left():
            run = SyncRun("stream", lambda: self.stream(prompt, raise_errors=raise_errors, **options))
        self._sync_run = ref(run)
        return run

    def stream_resume_sync(
        self, decisions: _Decisions | None = None, *, raise_errors: bool = True, **options: Unpack[_PromptOptions]
    ) -> SyncRun:
        """Same as `stream_resume`, for code without an event loop; see `stream_sync`."""
        from .sync import SyncRun

        with self._not_left():
            run = SyncRun("stream_resume", lambda: self.stream_resume(decisions, raise_errors=raise_errors, **options))
        self._sync_run = ref(run)
        return run

    @overload
    def prompt_sync(
        self, prompt: _Prompt, *, output: type[T] | Output[T], **options: Unpack[PromptOptions]
    ) -> RunResult[T]: ...

    @overload
    def prompt_sync(self, prompt: _Prompt, *, output: object = None, **options: Unpack[PromptOptions]) -> RunResult: ...

    def prompt_sync(self, prompt: _Prompt, **options: Any) -> RunResult:
        """Same as `prompt`, for code without an event loop: it blocks the thread and makes an event loop for the run.

        Ctrl-C aborts the run and raises KeyboardInterrupt once the agent is idle. Raises `InvalidStateError` where an event loop
        runs.
        """
        from .bridge import run_sync

        with self._not_left():
            return run_sync("prompt", lambda: self.prompt(prompt, **options))

    @overload
    def resume_sync(
        self, decisions: _Decisions | None = None, *, output: type[T] | Output[T], **options: Unpack[PromptOptions]
    ) -> RunResult[T]: ...

    @overload
    def resume_sync(
        self, decisions: _Decisions | None = None, *, output: object = None, **options: Unpack[PromptOptions]
    ) -> RunResult: ...

    def resume_sync(self, decisions: _Decisions | None = None, **options: Any) -> RunResult:
        """Same as `resume`, for code without an event loop; see `prompt_sync`."""
        from .bridge import run_sync

        with self._not_left():
            return run_sync("resume", lambda: self.resume(decisions, **options))

    @contextmanager
    def _not_left(self) -> Iterator[None]:
        """Says to code without an event loop how a run ends that it has left and still holds: nothing else would end it."""
        try:
            yield
        except BusyError:
            left = self._sync_run()
            if left is None or left._is_over or INSIDE.get():
                raise
            text = "the run of stream_sync is still active: read it to its end, or end it with run.close(), as `with` does: " \
                "`with agent.stream_sync(…) as run:`"
            raise BusyError(text) from None

    def _start(
        self, prompt: _Prompt, quiet: bool, given: Mapping[str, Any], raise_errors: bool = True, events: str = "all"
    ) -> Run:
        """Starts a run of a prompt with options of its own; None is the default, whatever the agent has."""
        options, output, deps, call = self._options_of_run(given, events)
        start: Callable[[Caller], NativeRun] = lambda caller: self._native.start(prompt, options, quiet, caller, call)
        return self._begin(start, raise_errors, output, deps, call is not None)

    def _go_on(
        self,
        decisions: _Decisions | None,
        quiet: bool,
        given: Mapping[str, Any],
        raise_errors: bool = True,
        if_queued: bool = False,
    ) -> Run:
        """Starts a run from the current transcript, with options of its own."""
        options, output, deps, call = self._options_of_run(given, "all")
        start: Callable[[Caller], NativeRun] = lambda caller: self._native.resume(
            quiet, if_queued, decisions, options, caller, call
        )
        return self._begin(start, raise_errors, output, deps, call is not None)

    def _options_of_run(self, given: Mapping[str, Any], events: str) -> tuple[dict[str, Any], Output[Any] | None, Any, Any]:
        """The engine's options, the type of the answer, what hooks and tools get, and the call that the run works for."""
        checked_options(given)
        options, output = options_of(given)
        deps, within = options.pop("deps", None), options.pop("within", None)
        call = None if within is None else call_of(within, events)
        self._check_answers(output)
        return options, output, deps, call

    def _check_answers(self, output: Output[Any] | None) -> None:
        """The engine asks about answers whose type is more than their JSON Schema."""
        if self._answers.needs_hook(output):
            self._native.set_hook("check_output", self._answers.check)

    def _begin(
        self,
        start: Callable[[Caller], NativeRun],
        raise_errors: bool = True,
        output: Output[Any] | None = None,
        deps: Any = None,
        within: bool = False,
    ) -> Run:
        from .bridge import current, numbers
        from .logs import is_debugged

        bridge = current()
        number = next(numbers)
        inside = INSIDE.get()
        # Tools, hooks and listeners have the caller's context variables, and are inside this run.
        context = begin(number)
        context.run(RUN_OUTPUT.set, output)
        context.run(DEPS.set, self._deps if deps is None else deps)
        traces = None
        if (provider := self._native.tracer_provider) is not None:
            from .traces import begin as begin_traces

            traces = begin_traces(None if provider is True else provider, within, context)
        native = start(Caller(bridge.queue, context, number, inside, is_debugged(), traces))
        self._replay = None
        run: Run[Any] = Run(self, native, number, bridge, raise_errors, output)
        run._traces = traces
        bridge.runs.add(run)
        return run

    def steer(self, message: _Prompt) -> Literal["joined", "queued"]:
        """Queues a message that joins the active run, or the next one, as soon as it can: before the first model call, after a
        turn, or between tool calls; calls that were not started are then skipped (see `steering_policy`).

        Returns "joined" when a run is active: it takes the message up, or counts it in `AgentEnd.queued`. Returns "queued" when
        none is: `resume_if_queued` starts one. `message` is what `prompt` takes; `InvalidArgumentError` or TypeError if it is
        not. From any thread and any callback.
        """
        return self._native.steer(message)

    def follow_up(self, message: _Prompt) -> Literal["joined", "queued"]:
        """Queues a message that starts another turn when the run would have ended.

        Returns what `steer` returns. `message` is what `prompt` takes; `InvalidArgumentError` or TypeError if it is not. From
        any thread and any callback.
        """
        return self._native.follow_up(message)

    def clear_steering_queue(self) -> None:
        """Removes the messages from the steering queue, except those that a turn has already begun with."""
        self._native.clear_steering_queue()

    def clear_follow_up_queue(self) -> None:
        """Removes the messages from the follow-up queue, except those that a turn has already begun with."""
        self._native.clear_follow_up_queue()

    def clear_all_queues(self) -> None:
        """Removes the messages from both queues, except those that a turn has already begun with."""
        self._native.clear_all_queues()

    def has_queued_messages(self) -> bool:
        """Whether a message is in either queue, or is about to be appended."""
        return self._native.has_queued_messages()

    def stop_after_turn(self) -> None:
        """Ends the active run, if there is one, after its current turn, as the hook `should_stop_after_turn` does.

        The calls of the turn run, no queue is polled, and the outcome is `stopped`. `resume` goes on. From any thread and any
        callback; does not block.
        """
        self._native.stop_after_turn()

    def abort(self) -> None:
        """Aborts the active run, if there is one. From any thread and any callback; does not block.

        The contexts of running tools are cancelled immediately, and so are the tasks of async tools (see `Tool`,
        `cancel_mode`). The run waits at most `abort_grace_ms` for the tools' answers.
        """
        self._native.abort()

    async def connect_mcp(self) -> None:
        """Connects to the agent's MCP servers now, and not when the first run begins: `tools` of its state then has theirs.

        Raises the error of a server that cannot be reached and is not optional.
        """
        from .bridge import wait

        await wait(self._native.connect_mcp(self._caller()))

    async def mcp_tools(self) -> list[McpToolInfo]:
        """The tools that the agent's MCP servers give it, in the order in which the model has them.

        Connects to the servers if need be, and raises as `connect_mcp` does; of an optional server that cannot be reached there
        are none.
        """
        from .bridge import wait

        return await wait(self._native.mcp_tools(self._caller()))

    def _caller(self) -> Caller:
        """For callbacks of no run."""
        from .bridge import current, numbers
        from .logs import is_debugged

        number = next(numbers)
        context = begin(number)
        context.run(RUN_OUTPUT.set, None)
        context.run(DEPS.set, self._deps)
        return Caller(current().queue, context, number, INSIDE.get(), is_debugged())

    async def serve_mcp(self, **options: Unpack[McpServing]) -> None:
        """Serves this agent as a server of the Model Context Protocol over standard input and output, until the input ends.

        To a client the agent is a tool, `ask`, whose call is a run; the options are those of `McpServing`. Standard output is
        the protocol's alone: what is printed meanwhile goes to standard error. Cancelling this aborts the runs.
        `docs/mcp.md` documents it.

        Raises `InvalidArgumentError` for an unknown or wrong option, and for a name that one of the agent's tools has, and
        `InvalidStateError` where standard input is served already.
        """
        import contextlib
        import sys

        from .bridge import wait

        self._check_answers(None)
        caller = self._caller()
        with contextlib.redirect_stdout(sys.stderr):
            await wait(self._native.serve_mcp(dict(options), caller))

    async def close_mcp(self) -> None:
        """Closes the connections to the agent's MCP servers, and waits for their processes to end. The next run connects again.

        When the last agent goes that has a server, its connection is closed without waiting.
        """
        from .bridge import wait

        await wait(self._native.close_mcp())

    async def wait_for_idle(self) -> None:
        """Waits until no run is active and all listeners have returned.

        Raises `InvalidStateError` inside a callback of this agent.
        """
        from .bridge import wait

        await wait(self._native.wait_for_idle(INSIDE.get()))


# Python names a method so when it is called with wrong arguments.
for _method in vars(AgentRuns).values():
    if callable(_method):
        _method.__qualname__ = _method.__qualname__.replace("AgentRuns.", "Agent.", 1)
