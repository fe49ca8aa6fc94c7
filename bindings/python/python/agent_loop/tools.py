"""Tools: Python functions that a model can call."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, overload

from . import _native
from .errors import InvalidArgumentError, one_line
from .tool_context import ToolContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal

    from typing_extensions import Never, TypeAlias

    from .options import _Hook

    _ExecutionMode: TypeAlias = Literal["parallel", "sequential"]
    _CancelMode: TypeAlias = Literal["task", "token"]
    _Prepare: TypeAlias = _Hook[dict[str, Any], Mapping[str, Any]]


class Tool:
    """A function that a model can call, with its name, description and parameters. The decorator `tool` makes one of a function.

    - `name`: letters, digits, `_`, `-`; unique in an agent
    - `execute`: called with the arguments (a dict) and a `ToolContext`; an async function on the event loop of the run, a plain
      one on a thread of its own. Its return value is the tool's result: text, any other JSON value, or a full result
      `{"content": [blocks], "details", "is_error", "terminate"}`. An exception becomes an error result `Type: message`, of a
      `CallbackError` the message alone; so does a value that is not JSON.
    - `description`: for the model
    - `parameters`: the JSON Schema of the arguments, an object
    - `label`: a name for user interfaces; default: the name
    - `execution_mode`: `sequential` if calls of this tool must not run concurrently with others
    - `timeout_ms`: the time limit of a call in milliseconds, where it is less than the agent's `tool_timeout_ms`; 0 for no limit
    - `prepare_arguments`: `f(arguments)` or `f(arguments, context)`, plain or async, called on the event loop before validation;
      returns the arguments to validate
    - `cancel_mode`: what an abort does to an async function. `task`, the default, cancels its task at once: it raises
      `asyncio.CancelledError` where it awaits. `token` only sets the context's `is_cancelled`, and cancels the task when the
      agent's `abort_grace_ms` have passed. In both, a value that it returns before that counts. A plain function has the context.

    Raises `InvalidArgumentError` for a wrong or unknown argument, TypeError for an `execute` or `prepare_arguments` that is not a
    function. A tool does not change and may be shared by agents and threads.
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
        cancel_mode: _CancelMode = "task",
        **unknown: Never,
    ) -> None:
        if not callable(execute):
            raise TypeError(f"tool {name!r}: execute: expected a function, got {type(execute).__name__}")
        if cancel_mode not in ("task", "token"):
            text = f"tool {name!r}: cancel_mode: expected 'task' or 'token', got {cancel_mode!r}"
            raise InvalidArgumentError(text)
        fields = {
            "name": name,
            "description": description,
            "parameters": parameters,
            "label": label,
            "execution_mode": execution_mode,
            "timeout_ms": timeout_ms,
        }
        # The engine checks the names and suggests the nearest one.
        self.spec = _native.ToolSpec(fields | unknown)
        self.execute = execute
        self.cancel_mode = cancel_mode
        self.is_async = is_async(execute)
        self._function: Callable[..., Any] = execute
        self.prepare_arguments = prepare_arguments
        if prepare_arguments is not None:
            from .hooks import hook_callback

            self._prepare = hook_callback(f"tool {name!r}: prepare_arguments", prepare_arguments, 1)

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        return self.spec.name

    @property
    def label(self) -> str:
        """The name for user interfaces."""
        return self.spec.label

    @property
    def description(self) -> str:
        """The description for the model."""
        return self.spec.description

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return self.spec.parameters

    @property
    def execution_mode(self) -> _ExecutionMode | None:
        """`parallel`, `sequential`, or None for the agent's `tool_execution`."""
        return self.spec.execution_mode

    @property
    def timeout_ms(self) -> int:
        """The time limit of a call in milliseconds; 0 for the agent's `tool_timeout_ms` alone."""
        return self.spec.timeout_ms

    async def _answer(self, call: _native.HostCall) -> None:
        """Answers a call with an async function, on the event loop of the run."""
        try:
            call.respond(await self.execute(call.arguments(), ToolContext(call.context)))
        except BaseException as error:
            call.fail(one_line(error))
            if not issubclass(type(error), Exception):
                raise

    def _answer_in_thread(self, call: _native.HostCall) -> None:
        """Answers a call with a plain function, on a thread that may block."""
        try:
            value = call.vars.copy().run(self.execute, call.arguments(), ToolContext(call.context))
            if is_coroutine(value):
                value.close()
                raise TypeError(f"the tool {self.name} is a plain function that returned a coroutine; make it an async function")
            call.respond(value)
        except BaseException as error:
            call.fail(one_line(error))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the decorated function directly, without an agent."""
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
    cancel_mode: _CancelMode = "task",
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
    cancel_mode: _CancelMode = "task",
    **unknown: Never,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Makes a `Tool` of an async or plain function.

    ```python
    @tool
    async def weather(city: str, days: Annotated[int, "1 to 7"] = 1) -> dict:
        \"\"\"The weather forecast for a city.\"\"\"
    ```

    The function's name is the tool's name, the first paragraph of its docstring the description. The JSON Schema of the
    parameters comes from the annotations: `str`, `int`, `float`, `bool`, `None`, `list`, `dict`, `Optional`, `Union`, `Literal`,
    `Enum`, `TypedDict`, dataclasses, `Any`, and `Annotated[…, "description"]`. Parameters with a default are not required. A
    parameter annotated `ToolContext` receives the context and is not part of the schema.

    The keyword arguments are those of `Tool`; they replace what is derived from the function. With `parameters`,
    annotations are not read. Raises TypeError for an annotation without a JSON Schema, else as `Tool`.
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
            cancel_mode=cancel_mode,
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
        execute=as_execute(function, signature),
        description=first_paragraph(function) if description is None else description,
        parameters=signature.schema if parameters is None else parameters,
        label=label,
        execution_mode=execution_mode,
        timeout_ms=timeout_ms,
        prepare_arguments=prepare_arguments,
        cancel_mode=cancel_mode,
        **unknown,
    )
    functools.update_wrapper(made, function)
    made._function = function
    return made


def as_execute(function: Callable[..., Any], signature: Any) -> Callable[[dict[str, Any], ToolContext], Any]:
    """A decorated function as a tool's `execute`."""
    if is_async(function):

        async def execute_async(arguments: dict[str, Any], context: ToolContext) -> Any:
            return await function(**signature.bound(arguments, context))

        return execute_async

    def execute(arguments: dict[str, Any], context: ToolContext) -> Any:
        return function(**signature.bound(arguments, context))

    return execute


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling a function returns a coroutine."""
    import inspect

    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))


def is_coroutine(value: object) -> bool:
    """Whether a value is a coroutine that was not awaited."""
    import inspect

    return inspect.iscoroutine(value)
