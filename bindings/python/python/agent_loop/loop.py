"""A loop that its host steps: the program does the HTTP, the timers and the tools itself, in whatever event loop it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from . import _native
from .arguments import items_of
from .output import options_of
from .tools import Tool, tools_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from typing_extensions import Self, Unpack

    from .options import LoopOptions, _Decisions, _HookName, _JsonObject, _Model, _Prompt
    from .steps import LoopAction, LoopInput


class Loop:
    """One run that the program steps: `poll` returns what is to be done, `handle` takes in the result.

    ```python
    run = Loop(MODEL, prompt="Rain in Oslo?", tools=[weather])
    while (action := run.poll(0)) is not None:
        if action["type"] == "event":
            print(action["event"]["type"])
        if action["type"] == "call_model":
            print(action["url"], "is to get", action["body"])
        if action["type"] == "call_tool":
            run.handle({"type": "tool_done", "call": action["call"], "result": "rain"})
    ```

    When `poll` returns None, the program waits: for a response, for a tool, or until the time of the last `set_timer`.

    It does no IO, has no thread and no clock, and needs no event loop. Actions and inputs are dicts of JSON values, the same in
    every language; `docs/stepping.md` lists them. It has no API key: the program adds its own to the requests, as `auth` says.
    It may be used from any thread, by one at a time.

    - `model`: as `Agent` takes it
    - `prompt`: what the run begins with; without one it resumes, with `decisions` about calls that wait
    - `messages`: the conversation so far; or `export`: as `export` or `Agent.export` returned it
    - `tools`: tools, or descriptions of them (`{"name", "description", "parameters", …}`); the program executes them. With
      `"prepare_arguments": True` the loop asks `prepare_arguments`; with `"needs_approval": "ask"`, `needs_approval`
    - `hooks`: the names of the hooks that the loop asks
    - `providers`: the names of custom providers, for whose models the program answers itself (`call_custom_model`)
    - `run_id`: the id of the run; by default a new one
    - `run_seed`: a whole number, from which the jitter of the backoff and made ids come; by default a random one
    - `options`: other options of `Agent`, but for `api_key`, `network`, `record` and `replay`; headers may have no key

    Raises `InvalidArgumentError` for an unknown or wrong option, `InvalidStateError` when there is nothing to resume.
    """

    def __init__(
        self,
        model: _Model,
        *,
        prompt: _Prompt | None = None,
        decisions: _Decisions | None = None,
        export: str | _JsonObject | None = None,
        tools: Iterable[Tool | _JsonObject] | None = None,
        hooks: Sequence[_HookName] | None = None,
        providers: Sequence[str] | None = None,
        run_id: str | None = None,
        run_seed: int | None = None,
        **options: Unpack[LoopOptions],
    ) -> None:
        own = {
            "model": model,
            "prompt": prompt,
            "decisions": decisions,
            "export": export,
            "tools": None if tools is None else described(tools),
            "hooks": hooks,
            "providers": providers,
            "run_id": run_id,
            "run_seed": run_seed,
        }
        given, _ = options_of(options)
        self._native = _native.Loop({name: value for name, value in own.items() if value is not None} | given)

    @classmethod
    def load(cls, text: str) -> Self:
        """A loop as `save` returned it, in this or in another language. The same inputs lead to the same actions as those of the
        saved one; `open_actions` has what was under way.

        Raises `InvalidArgumentError` for a text that is no saved loop, or one of an older version; `NewerVersionError` for one of
        a newer version.
        """
        loaded = cls.__new__(cls)
        loaded._native = _native.Loop.load(text)
        return loaded

    def poll(self, now_ms: float) -> LoopAction | None:
        """The next thing to do; None until there is another input, or the time of the last `set_timer` has come.

        `now_ms` is milliseconds since the epoch, and must not go back. Each action comes once.
        """
        return cast("LoopAction | None", self._native.poll(now_ms))

    def handle(self, input: LoopInput | Mapping[str, Any]) -> None:
        """Takes in what happened. It does not act on it: poll again. What belongs to a call that is over is ignored.

        Raises `InvalidArgumentError` for an unknown input or a wrong field, TypeError for a value that is not JSON,
        `InvalidStateError` for what comes too early.
        """
        self._native.handle(input)

    def model_bytes(self, call: int, data: bytes | bytearray) -> None:
        """Takes in bytes of the response to a `call_model`, as they come, cut anywhere, and not compressed.

        Raises `InvalidStateError` before the call's `model_response`.
        """
        self._native.model_bytes(call, data)

    def open_actions(self) -> list[LoopAction]:
        """What is under way: model calls, tool calls and questions to hooks that have no end yet, and the timer.

        For a program that has loaded a loop. Of a model call that was open, hand in the rest of its bytes, or `model_end` with an
        error. A tool may have run already; its `idempotency_key` is the same.
        """
        return cast("list[LoopAction]", self._native.open_actions())

    def save(self) -> str:
        """The whole state as one text, for `load`: between any two calls, also in the middle of a model's answer.

        It has the conversation and the options, and no API key.
        """
        return self._native.save()

    def export(self) -> str:
        """The conversation that the run has left, as `Agent.export` returns it without a key: for the option `export` of another
        loop, or `Agent.from_export`. Raises `BusyError` before the end of the run.
        """
        return self._native.export()


def described(tools: Iterable[Tool | _JsonObject]) -> list[_JsonObject]:
    """Tools as the loop takes them: without their functions."""
    given = items_of('option "tools"', "tools or their descriptions", tools)
    return [description(one) if isinstance(one, Tool) else one for one in given]


def description(tool: Tool) -> _JsonObject:
    tools_of([tool])
    return tool.spec.to_dict() | ({} if tool.prepare_arguments is None else {"prepare_arguments": True})
