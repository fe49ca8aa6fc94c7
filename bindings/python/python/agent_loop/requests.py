"""What an agent changes of each request: the hook `prepare_request`, and the system prompt where that is a function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from .generators import is_awaitable
from .hooks import HookContext, with_context

if TYPE_CHECKING:
    from ._native import HostCall


class Requests:
    """The functions that are asked before each request. Both get a context."""

    __slots__ = ("hook", "prompt")

    def __init__(self) -> None:
        self.hook: Callable[..., Any] | None = None
        self.prompt: Callable[..., Any] | None = None

    def set_hook(self, function: Callable[..., Any] | None) -> None:
        self.hook = None if function is None else with_context('hook "prepare_request"', function, 1)

    def callback(self) -> Callable[[HostCall], Any] | None:
        """The hook as the engine calls it; None if nothing is to be asked."""
        return None if self.hook is None and self.prompt is None else self.prepare

    def prepare(self, call: HostCall) -> Any:
        (request,) = call.take_input()
        context = HookContext(call)
        answer = None if self.hook is None else self.hook(request, context)
        # A text of this run, or of `prepare_next_turn`, stands in its place.
        if self.prompt is None or request.system_prompt:
            return answer
        text = self.prompt(context)
        if is_awaitable(answer) or is_awaitable(text):
            return awaited(answer, text)
        return merged(answer, text)


def prompt_taken(options: dict[str, Any]) -> Callable[..., Any] | None:
    """Takes a system prompt that is a function out of options."""
    prompt = options.get("system_prompt")
    if not callable(prompt):
        return None
    options["system_prompt"] = None
    return with_context('option "system_prompt"', prompt, 0)


async def awaited(answer: Awaitable[Any] | Any, text: Awaitable[Any] | Any) -> Any:
    answer = await answer if is_awaitable(answer) else answer
    return merged(answer, await text if is_awaitable(text) else text)


def merged(answer: Any, text: Any) -> Any:
    """The hook's answer with this system prompt, unless it has one of its own."""
    if not isinstance(text, str):
        raise TypeError(f"system_prompt: the function returned {type(text).__name__}; expected str")
    if answer is not None and not isinstance(answer, Mapping):
        # The engine says what is wrong with it.
        return answer
    change = dict(answer or {})
    return {**change, "context": {"system_prompt": text, **(change.get("context") or {})}}
