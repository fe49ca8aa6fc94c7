"""The context variables of callbacks. In a module of its own, as the event loop bridge shares it.

A run has a context, a copy of the caller's. What its hooks set stays there, for all that is called later. What is set for one
tool call, by its hooks and middleware, is seen by that call alone.
"""

from __future__ import annotations

from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._native import HostCall

INSIDE: ContextVar[tuple[int, ...]] = ContextVar("agent_loop_inside", default=())
"""The numbers of the runs whose tools, hooks or listeners called this code, the outermost first."""


DEPS: ContextVar[Any] = ContextVar("agent_loop_deps", default=None)
"""What the application gives its tools and hooks, in the context of a run."""


class _Calls(dict[str, Context]):
    """The contexts of the tool calls of one message that `before_tool_call` has seen, by id."""

    batch: int | None = None


_CALLS: ContextVar[_Calls] = ContextVar("agent_loop_calls")


def begin(number: int) -> Context:
    """The context of a run that begins here."""
    context = copy_context()
    context.run(INSIDE.set, (*INSIDE.get(), number))
    context.run(_CALLS.set, _Calls())
    return context


def here(call: HostCall) -> Context:
    """The context of this code, for what a middleware calls of its chain."""
    context = copy_context()
    inside = call.vars[INSIDE]
    if context.get(INSIDE) != inside:
        # The middleware does its work in a task or thread of its own.
        context.run(INSIDE.set, inside)
    return context


def of_call(call: HostCall) -> Context:
    """The context that a callback sees. Whatever it sets there stays, so that it should run in a copy, unless it is a hook."""
    context = _of_call(call)
    if not call.span or call.within is not None:
        return context
    from .traces import inside

    return inside(call.span, context)


def _of_call(call: HostCall) -> Context:
    vars, calls = call.vars, call.vars[_CALLS]
    if call.hook is None:
        if (within := call.within) is not None:
            return within
        return calls.get(call.tool_call_id or "", vars) if calls else vars
    tool_call = call.tool_call_id
    if tool_call is None:
        return vars
    if call.hook == "before_tool_call":
        if call.batch != calls.batch:
            # The calls of the message before have ended, some of them without `after_tool_call`.
            calls.clear()
            calls.batch = call.batch
        calls[tool_call] = vars.copy()
        return calls[tool_call]
    # It is the last one of its call.
    return calls.pop(tool_call, None) or vars.copy()
