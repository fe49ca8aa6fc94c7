"""Stateless runs: runs without an agent, over a context that the caller owns and that the run never changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._native import check_context_fields
from .agent import Agent
from .arguments import items_of
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from typing_extensions import Unpack

    from .options import _Decisions, _Messages, _Model, _Prompt, RunOptions
    from .runs import Run
    from .tools import Tool

FIELDS = ("system_prompt", "messages", "tools")


class Context:
    """The input of a stateless run: a system prompt, the conversation so far, and tools."""

    def __init__(
        self, *, system_prompt: str = "", messages: _Messages = (), tools: Iterable[Tool] = ()
    ) -> None:
        self.system_prompt = system_prompt
        self.messages = messages
        self.tools = tools

    def __repr__(self) -> str:
        return f"Context(system_prompt={self.system_prompt!r}, messages={self.messages!r}, tools={self.tools!r})"


def run(
    context: Context | Mapping[str, Any],
    /,
    prompts: _Prompt,
    *,
    model: _Model,
    raise_errors: bool = True,
    **options: Unpack[RunOptions],
) -> Run:
    """Starts a stateless run of `prompts` over a context, which it does not change, and returns the run.

    ```python
    async with agent_loop.run({"messages": history, "tools": [weather]}, "Rain in Oslo?", model=model) as run:
        async for event in run:
            ...
    history += (await run.result()).messages
    ```

    The context is a `Context`, or a dict of its fields; the option `context` is another thing. `prompts` is what `Agent.prompt`
    takes. The options are those of `Agent`, except those that are in the context. Steering and follow-up messages come from
    `Run.steer`, `Run.follow_up` and the hooks `get_steering_messages` and `get_follow_up_messages`; queued messages that were not
    appended are in the result's `undelivered`. Reading a failed run to its end raises its error after the last event, unless
    `raise_errors` is False.

    It must be called where an event loop runs, which then calls the tools, hooks and listeners. Raises `InvalidArgumentError` or
    TypeError for a wrong argument, `InvalidStateError` where no event loop runs.
    """
    return start(context, prompts, model, options, raise_errors)


def resume(
    context: Context | Mapping[str, Any],
    /,
    decisions: _Decisions | None = None,
    *,
    model: _Model,
    raise_errors: bool = True,
    **options: Unpack[RunOptions],
) -> Run:
    """Resumes from a context, adding no message; else as `run`.

    `decisions`, as `Agent.resume` takes them, are for the calls of the last answer that have no result in the context.

    Also raises `InvalidStateError` when the context has no message, or ends with the model's answer.
    """
    return start(context, None, model, options, raise_errors, decisions)


def refuse_session(options: Mapping[str, Any]) -> None:
    """Raises `InvalidArgumentError` if there is a session among the options of what has no agent."""
    if options.get("session") is not None:
        raise InvalidArgumentError('option "session": a run without an agent has no conversation to keep; give it to an Agent')


def start(
    context: Context | Mapping[str, Any],
    prompts: _Prompt | None,
    model: _Model,
    options: Mapping[str, Any],
    raise_errors: bool,
    decisions: _Decisions | None = None,
) -> Run:
    if not isinstance(context, Context):
        check_context_fields([str(name) for name in context])
        context = Context(**context)
    for name in FIELDS:
        if name in options:
            raise InvalidArgumentError(f'option "{name}": give it in the context')
    refuse_session(options)
    # Only the options of this agent are used.
    agent = Agent(model, tools=context.tools, **options)
    messages = items_of("context: messages", "messages", context.messages)
    native, system_prompt = agent._native, context.system_prompt
    return agent._begin(lambda caller: native.start_stateless(system_prompt, messages, prompts, decisions, caller), raise_errors)
