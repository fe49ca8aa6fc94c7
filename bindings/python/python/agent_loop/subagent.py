"""Agents as tools of other agents: subagents, and handoffs."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from .arguments import must_take
from .errors import AgentError, InvalidArgumentError
from .tool_context import ToolContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ._native import CallContext, Caller
    from .agent import Agent
    from .tools import Tool

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"prompt": {"type": "string", "description": "What to do, with all that is needed to do it."}},
    "required": ["prompt"],
}


def call_of(context: ToolContext, events: str) -> tuple[CallContext, str] | None:
    """The call that a subagent works for; None where the tool is called outside of a run, and its agent runs by itself."""
    if not isinstance(context, ToolContext):
        raise TypeError(f'option "within": expected the ToolContext that a tool gets, got {type(context).__name__}')
    native = getattr(context, "_native", None)
    outer = getattr(context, "_outer", None)
    if native is None:
        return None if outer is None else call_of(outer, events)
    return native, events


def as_tool(
    agent: Agent,
    name: str,
    description: str,
    parameters: Mapping[str, Any] | None,
    prompt: Callable[[dict[str, Any]], Any] | None,
    events: str,
    keep_conversation: bool,
    options: Mapping[str, Any],
) -> Tool:
    """The tool that `Agent.as_tool` returns."""
    from .tools import Tool

    what = f'tool "{name}"'
    if events not in ("all", "messages", "none"):
        raise InvalidArgumentError(f'{what}: events: expected "all", "messages" or "none", got {events!r}')
    if not isinstance(keep_conversation, bool):
        raise InvalidArgumentError(f"{what}: keep_conversation: expected True or False, got {keep_conversation!r}")
    if parameters is not None and prompt is None:
        raise InvalidArgumentError(f"{what}: parameters: give prompt, too, a function that makes the prompt of the arguments")
    if prompt is not None:
        must_take(f"{what}: prompt", prompt, "arguments")
    messages = agent.messages
    turns: Any = None

    async def execute(arguments: dict[str, Any], context: ToolContext) -> Any:
        import asyncio
        import inspect

        nonlocal turns
        given = arguments["prompt"] if prompt is None else prompt(arguments)
        if inspect.isawaitable(given):
            given = await given
        try:
            if not keep_conversation:
                return await answer(forked(agent, messages), given, context, events)
            if turns is None:
                turns = asyncio.Lock()
            call = call_of(context, events)
            if call is not None:
                agent._native.check_turn_of(call[0])
            async with turns:
                if call is not None:
                    agent._native.check_turn_of(call[0])
                return await answer(agent, given, context, events)
        except AgentError as error:
            # Why it cannot run is for the model, in the same words in every language.
            return failed(error.message)

    return Tool(
        name=name,
        description=description,
        parameters=PARAMETERS if parameters is None else parameters,
        execute=execute,
        # The subagent is aborted with the call, and answers with what there is.
        cancel_mode="token",
        **options,
    )


async def answer(agent: Agent, prompt: Any, context: ToolContext, events: str) -> dict[str, Any]:
    try:
        result = await agent._start(prompt, True, {"within": context}, events=events).result()
    except AgentError as error:
        # A run that has failed has a result, too; one that has not begun has none.
        if error.result is None:
            raise
        result = error.result
    return result.to_tool_result()


def forked(agent: Agent, messages: Any) -> Agent:
    """Another agent of the same configuration, with these messages and no session."""
    made = copy.copy(agent)
    made._native = agent._native.fork(messages)
    made._session = None
    return made


def as_handoff(agent: Agent, name: str, description: str, options: Mapping[str, Any]) -> Tool:
    """The tool that `Agent.as_handoff` returns."""
    from .tools import Tool

    async def execute(arguments: dict[str, Any], context: ToolContext) -> Any:
        call = call_of(context, "none")
        if call is None:
            return failed("a conversation can be handed over only in a run of an agent")
        try:
            return forked(agent, ())._native.take_over(call[0], caller_of(agent))
        except AgentError as error:
            return failed(error.message)

    return Tool(name=name, description=description, execute=execute, **options)


def failed(why: str) -> dict[str, Any]:
    """An error result, in the same words in every language."""
    return {"content": [{"type": "text", "text": why}], "is_error": True}


def caller_of(agent: Agent) -> Caller:
    """The code that is inside a run, as who its callbacks are called for; its tools get what the agent gives them."""
    from contextvars import copy_context

    from ._native import Caller
    from .bridge import current, numbers
    from .logs import is_debugged
    from .scope import DEPS, INSIDE

    context = copy_context()
    if agent._deps is not None:
        context.run(DEPS.set, agent._deps)
    return Caller(current().queue, context, next(numbers), INSIDE.get(), is_debugged())
