"""What an agent changes of each request: the hook `prepare_request`, and the system prompt where that is a function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from .generators import is_awaitable
from .hooks import HookContext, takes_context

if TYPE_CHECKING:
    from ._native import HostCall


class Requests:
    """The functions that are asked before each request."""

    __slots__ = ("hook", "hook_takes_context", "prompt", "prompt_takes_context")

    def __init__(self) -> None:
        self.hook: Callable[..., Any] | None = None
        self.hook_takes_context: bool = False
        self.prompt: Callable[..., Any] | None = None
        self.prompt_takes_context: bool = False

    def set_hook(self, function: Callable[..., Any] | None) -> None:
        self.hook_takes_context = function is not None and takes_context('hook "prepare_request"', function, 1)
        self.hook = function

    def set_prompt(self, function: Callable[..., Any] | None) -> None:
        self.prompt_takes_context = function is not None and takes_context('option "system_prompt"', function, 0)
        self.prompt = function

    def callback(self) -> Callable[[HostCall], Any] | None:
        """The hook as the engine calls it; None if nothing is to be asked."""
        return None if self.hook is None and self.prompt is None else self.prepare

    def prepare(self, call: HostCall) -> Any:
        (request,) = call.take_input()
        context = HookContext(call)
        answer = None
        if self.hook is not None:
            answer = self.hook(request, context) if self.hook_takes_context else self.hook(request)
        if self.prompt is None:
            return answer
        text = self.prompt(context) if self.prompt_takes_context else self.prompt()
        if is_awaitable(answer) or is_awaitable(text):
            return awaited(answer, text)
        return merged(answer, text)


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
