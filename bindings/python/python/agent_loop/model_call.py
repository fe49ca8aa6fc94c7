"""One model call, without a loop: what routers, summarizers and workflow engines need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._native import check_call_options
from .agent import Agent
from .arguments import items_of
from .errors import InvalidStateError
from .stateless import refuse_session
from .tools import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn

    from typing_extensions import Unpack

    from ._native import AssistantMessage, RunResult
    from .options import CallOptions, _JsonObject, _Model, _Prompt
    from .runs import Run
    from .sync import SyncRun


async def complete(
    model: _Model,
    messages: _Prompt,
    *,
    system_prompt: str | None = None,
    tools: Iterable[Tool | _JsonObject] | None = None,
    **options: Unpack[CallOptions],
) -> AssistantMessage:
    """Calls a model once over `messages`, without a loop, and returns its answer.

    ```python
    topic = await agent_loop.complete(model, "Rain in Oslo?", system_prompt="Name the topic, in one word.")
    print(topic.text)
    ```

    `model` is what `Agent` takes. `messages` is text, a message, a list of messages such as a history, or a list of content
    blocks; the last message is the one to be answered. `tools` are tools, or their descriptions (`{"name", "description",
    "parameters"}`): the calls of the answer are in its `tool_calls`, and none is executed. The options are those of `Agent` for
    requests, limits, retries and fallbacks, and the hooks of a model call.

    Raises the call's error, with the result in its `result`, when it failed and no retry and no fallback was left;
    `InvalidArgumentError` when nothing is to be answered (no message, an empty one, an answer as the last one), and for an
    option of the loop, such as `max_turns`; and what `Agent` raises. When the awaiting task is cancelled, the call is aborted and
    awaited first.
    """
    agent = agent_of(model, system_prompt, tools, options)
    result = await agent._begin(lambda caller: agent._native.start_call(messages, True, caller)).result()
    return answer_of(result)


def stream_complete(
    model: _Model,
    messages: _Prompt,
    *,
    system_prompt: str | None = None,
    tools: Iterable[Tool | _JsonObject] | None = None,
    raise_errors: bool = True,
    **options: Unpack[CallOptions],
) -> Run:
    """Starts a call as `complete` does, and returns it as a run, to read its events as they come.

    ```python
    async with agent_loop.stream_complete(model, history) as call:
        async for event in call:
            ...
    answer = (await call.result()).message
    ```

    The events are those of a run of one turn that has no input. `steer` and `follow_up` raise `InvalidStateError`. Must be called
    where an event loop runs. Reading a failed call to its end raises its error, unless `raise_errors` is False.
    """
    agent = agent_of(model, system_prompt, tools, options)
    return agent._begin(lambda caller: agent._native.start_call(messages, False, caller), raise_errors)


def complete_sync(
    model: _Model,
    messages: _Prompt,
    *,
    system_prompt: str | None = None,
    tools: Iterable[Tool | _JsonObject] | None = None,
    **options: Unpack[CallOptions],
) -> AssistantMessage:
    """Same as `complete`, for code without an event loop: it blocks the thread. Ctrl-C aborts the call.

    Raises `InvalidStateError` where an event loop runs.
    """
    from .bridge import run_sync

    return run_sync("complete", lambda: complete(model, messages, system_prompt=system_prompt, tools=tools, **options), "")


def stream_complete_sync(
    model: _Model,
    messages: _Prompt,
    *,
    system_prompt: str | None = None,
    tools: Iterable[Tool | _JsonObject] | None = None,
    raise_errors: bool = True,
    **options: Unpack[CallOptions],
) -> SyncRun:
    """Same as `stream_complete`, for code without an event loop; see `SyncRun`."""
    from .sync import SyncRun

    def start() -> Run:
        return stream_complete(
            model, messages, system_prompt=system_prompt, tools=tools, raise_errors=raise_errors, **options
        )

    return SyncRun("stream_complete", start, "")


def agent_of(
    model: _Model, system_prompt: str | None, tools: Iterable[Tool | _JsonObject] | None, options: Mapping[str, Any]
) -> Agent:
    """An agent of which only the options are used."""
    refuse_session(options)
    check_call_options([name for name, value in options.items() if value is not None])
    given = items_of('option "tools"', "tools", () if tools is None else tools)
    described = [Tool(execute=not_executed, **one) if isinstance(one, Mapping) else one for one in given]
    return Agent(model, system_prompt=system_prompt, tools=described, **options)


def not_executed(arguments: dict[str, Any], context: object) -> NoReturn:
    """The function of a tool that was only described."""
    raise InvalidStateError("one model call executes no tool")


def answer_of(result: RunResult) -> AssistantMessage:
    if result.message is None:
        # Only a shutdown leaves none.
        raise result.error or InvalidStateError("the call was ended before the model answered")
    return result.message
