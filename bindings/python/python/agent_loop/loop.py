"""The loop without an agent: runs over a context that the caller owns and that is never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .agent import Agent
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from typing_extensions import Unpack

    from ._native import Message
    from .options import _JsonObject, _Model, _Prompt, RunOptions
    from .runs import Run
    from .tools import Tool

FIELDS = ("system_prompt", "messages", "tools")


class Context:
    """What a run without an agent begins with: a system prompt, the conversation so far, and tools."""

    def __init__(
        self, *, system_prompt: str = "", messages: Sequence[Message | _JsonObject] = (), tools: Iterable[Tool] = ()
    ) -> None:
        self.system_prompt = system_prompt
        self.messages = messages
        self.tools = tools

    def __repr__(self) -> str:
        return f"Context(system_prompt={self.system_prompt!r}, messages={self.messages!r}, tools={self.tools!r})"


def run(
    context: Context | Mapping[str, Any], prompts: _Prompt, *, model: _Model, **options: Unpack[RunOptions]
) -> Run:
    """Runs prompts over a context, which stays as it is; starts at once.

    ```python
    async with agent_loop.run({"messages": history, "tools": [weather]}, "Rain in Oslo?", model=model) as run:
        async for event in run:
            ...
    history += (await run.result()).messages
    ```

    The options are those of `Agent`, but for what is in the context. Steering and follow-up come from the run's own `steer` and
    `follow_up` and from the hooks `get_steering_messages` and `get_follow_up_messages`; what was not shown of them is in the
    result's `undelivered`.
    """
    return start(context, prompts, model, options)


def resume(context: Context | Mapping[str, Any], *, model: _Model, **options: Unpack[RunOptions]) -> Run:
    """Goes on with a context as it stands, adding no message; see `run`.

    `InvalidStateError` when it has no message, or ends with the model's answer.
    """
    return start(context, None, model, options)


def start(
    context: Context | Mapping[str, Any], prompts: _Prompt | None, model: _Model, options: Mapping[str, Any]
) -> Run:
    if not isinstance(context, Context):
        for name in context:
            if name not in FIELDS:
                raise InvalidArgumentError(f"unknown field {name!r} of a context; known are {', '.join(FIELDS)}")
        context = Context(**context)
    for name in FIELDS:
        if name in options:
            raise InvalidArgumentError(f"option {name!r}: it belongs into the context")
    # An agent of which only the settings are used.
    agent = Agent(model, tools=context.tools, **options)
    native, system_prompt, messages = agent._native, context.system_prompt, list(context.messages)
    return agent._begin(lambda caller: native.start_alone(system_prompt, messages, prompts, caller))
