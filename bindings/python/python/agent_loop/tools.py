"""Tools: Python functions that a model can call."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, overload

from . import _native
from .errors import one_line
from .tool_context import ToolContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal

    from typing_extensions import Never, TypeAlias

    from .options import _Hook

    _ExecutionMode: TypeAlias = Literal["parallel", "sequential"]
    _Prepare: TypeAlias = _Hook[dict[str, Any], Mapping[str, Any]]


class Tool:
    """Something a model can call; mostly made by `tool`.

    - `name`: letters, digits, `_`, `-`; unique in an agent
    - `execute`: called with the arguments (a dict) and a `ToolContext`; an async function runs on the event loop of the run,
      a plain one on a thread of its own. What it returns is the answer: text, or any other JSON value, or
      `{"content": [blocks], "details", "is_error", "terminate"}`. What it raises goes back to the model as `Type: message`.
    - `description`: for the model
    - `parameters`: the JSON Schema of the arguments, an object
    - `label`: for people; the name unless given
    - `execution_mode`: `sequential` if it may not run beside others
    - `timeout_ms`: the longest a call may run, where that is less than the agent's `tool_timeout_ms`; 0 for no limit
    - `prepare_arguments`: `f(arguments)` or `f(arguments, context)`, plain or async, called on the event loop: puts the model's
      arguments right, and returns them, before they are checked
    """

    def __init__(
        self,
        *,
        name: str,
        execute: Callable[[dict[str, Any], ToolContext], Any],
        description: str = "",
        parameters: Mapping[str, Any] | None = None,
        label: str | None = None,
        execution_mode: _ExecutionMode | None = None,
        timeout_ms: int | None = None,
        prepare_arguments: _Prepare | None = None,
        **unknown: Never,
    ) -> None:
        if not callable(execute):
            raise TypeError(f"tool {name!r}: execute: expected a function, got {type(execute).__name__}")
        fields = {
            "name": name,
            "description": description,
            "parameters": parameters,
            "label": label,
            "execution_mode": execution_mode,
            "timeout_ms": timeout_ms,
        }
        # The engine knows which names there are, and which is nearest to a wrong one.
        self.spec = _native.ToolSpec(fields | unknown)
        self.execute = execute
        self.is_async = is_async(execute)
        self._function: Callable[..., Any] = execute
        self.prepare_arguments = prepare_arguments
        if prepare_arguments is not None:
            from .hooks import asked

            self._prepare = asked(f"tool {name!r}: prepare_arguments", prepare_arguments, 1)

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def label(self) -> str:
        return self.spec.label

    @property
    def description(self) -> str:
        return self.spec.description

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return self.spec.parameters

    @property
    def execution_mode(self) -> _ExecutionMode | None:
        return self.spec.execution_mode

    @property
    def timeout_ms(self) -> int:
        """The longest a call may run, in milliseconds; 0 for no limit of its own."""
        return self.spec.timeout_ms

    async def _answer(self, call: _native.Call) -> None:
        """Answers a call with an async function, on the event loop of the run."""
        try:
            value = await self.execute(call.arguments(), ToolContext(call.context))
        except BaseException as error:
            call.fail(one_line(error))
            if not isinstance(error, Exception):
                raise
        else:
            call.respond(value)

    def _answer_in_thread(self, call: _native.Call) -> None:
        """Answers a call with a plain function, on a thread that may block."""
        try:
            value = call.vars.copy().run(self.execute, call.arguments(), ToolContext(call.context))
            if is_coroutine(value):
                value.close()
                raise TypeError(f"the tool {self.name} is a plain function that returned a coroutine; make it an async function")
        except BaseException as error:
            call.fail(one_line(error))
        else:
            call.respond(value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function as it was written, without an agent."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    function: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    label: str | None = None,
    execution_mode: _ExecutionMode | None = None,
    timeout_ms: int | None = None,
    prepare_arguments: _Prepare | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    label: str | None = None,
    execution_mode: _ExecutionMode | None = None,
    timeout_ms: int | None = None,
    prepare_arguments: _Prepare | None = None,
    **unknown: Never,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Makes a tool of a function, async or plain.

    ```python
    @tool
    async def weather(city: str, days: Annotated[int, "1 to 7"] = 1) -> dict:
        \"\"\"The weather forecast for a city.\"\"\"
    ```

    Its name is the tool's, the first paragraph of its docstring the description, and the JSON Schema comes from its
    annotations: `str`, `int`, `float`, `bool`, `None`, `list`, `dict`, `Optional`, `Union`, `Literal`, `Enum`, `TypedDict`,
    dataclasses, `Any`, and `Annotated[…, "description"]`. Parameters with a default are not required. A parameter annotated
    `ToolContext` gets the context and is not shown to the model.
    """
    if function is None:
        return functools.partial(
            tool,
            name=name,
            description=description,
            parameters=parameters,
            label=label,
            execution_mode=execution_mode,
            timeout_ms=timeout_ms,
            prepare_arguments=prepare_arguments,
            **unknown,
        )
    if not callable(function):
        raise TypeError(f"tool: expected a function, got {type(function).__name__}; use Tool(name=…, execute=…) or @tool(name=…)")
    from .schema import Signature, first_paragraph

    if name is None:
        name = getattr(function, "__name__", type(function).__name__)
    signature = Signature(name, function, derive=parameters is None)
    made = Tool(
        name=name,
        execute=caller(function, signature),
        description=first_paragraph(function) if description is None else description,
        parameters=signature.schema if parameters is None else parameters,
        label=label,
        execution_mode=execution_mode,
        timeout_ms=timeout_ms,
        prepare_arguments=prepare_arguments,
        **unknown,
    )
    functools.update_wrapper(made, function)
    made._function = function
    return made


def caller(function: Callable[..., Any], signature: Any) -> Callable[[dict[str, Any], ToolContext], Any]:
    """The function as a tool's `execute`."""
    if is_async(function):

        async def execute_async(arguments: dict[str, Any], context: ToolContext) -> Any:
            return await function(**signature.bound(arguments, context))

        return execute_async

    def execute(arguments: dict[str, Any], context: ToolContext) -> Any:
        return function(**signature.bound(arguments, context))

    return execute


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine."""
    import inspect

    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))


def is_coroutine(value: object) -> bool:
    """Whether a value is a coroutine that was not awaited."""
    import inspect

    return inspect.iscoroutine(value)
