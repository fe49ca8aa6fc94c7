"""Tools: Python functions that a model can call."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from . import _native
from .arguments import items_of, must_take
from .errors import InvalidArgumentError, one_line, pass_on
from .generators import is_async, is_async_generator, is_coroutine, is_generator, last_of, returned_by
from .scope import DEPS, of_call
from .tool_context import ToolContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from typing import Literal

    from typing_extensions import Never, TypeAlias

    from .options import ToolSubject, _Hook

    _ExecutionMode: TypeAlias = Literal["parallel", "sequential"]
    _CancelMode: TypeAlias = Literal["task", "token"]
    _OnInterrupted: TypeAlias = Literal["report", "retry", "ask"]
    _Function: TypeAlias = Callable[..., Any] | classmethod[Any, ..., Any] | staticmethod[..., Any]
    _Prepare: TypeAlias = _Hook[dict[str, Any], Mapping[str, Any]]
    _Approve: TypeAlias = _Hook[dict[str, Any], bool | str | None]


Init = TypeVar("Init", bound="Callable[..., None]")


def by_name(init: Init) -> Init:
    """An `__init__` without positional arguments that says so."""

    @functools.wraps(init)
    def checked(self: Tool, *positional: object, **named: Any) -> None:
        if positional:
            raise TypeError("Tool: expected named arguments: Tool(name=…, execute=…, …); @tool makes a tool of a function")
        init(self, **named)

    return checked  # type: ignore[return-value]


class Tool:
    """A function that a model can call, with its name, description and parameters. The decorator `tool` makes one of a function.

    - `name`: letters, digits, `_`, `-`; unique in an agent
    - `execute`: called with the arguments (a dict) and a `ToolContext`; an async function on the event loop of the run, a plain
      one on a thread of its own. Of a generator, plain or async, each value that it yields is an update, reported when the next
      one is there; the result is what it returns, or if that is nothing (as always of an async one) its last value, which is then
      no update. Its return value is the tool's result: text, any other JSON value, or a full result
      `{"content": [blocks], "details", "is_error", "terminate"}`; in the JSON may be dataclasses, named tuples, pydantic models,
      enums, dates and times, UUIDs, decimals and paths. An exception becomes an error result `Type: message`, of a
      `CallbackError` the message alone; so does a value that is not JSON, and one that is meant as a full result but has a
      wrong field. `sys.exit()` is such a failure, too: it does not end the program. A `KeyboardInterrupt` also interrupts the
      main thread, as Ctrl-C does.
    - `description`: for the model
    - `parameters`: the JSON Schema of the arguments, an object
    - `label`: a name for user interfaces; default: the name
    - `execution_mode`: `sequential` if calls of this tool must not run concurrently with others
    - `timeout_ms`: the time limit of a call in milliseconds, where it is less than the agent's `tool_timeout_ms`; 0 for no limit
    - `prepare_arguments`: `f(arguments)` or `f(arguments, context)`, plain or async, called on the event loop before validation;
      returns the arguments to validate
    - `needs_approval`: True if each call waits for a decision before it runs (`Agent.resume`), or `f(arguments)` or
      `f(arguments, context)`, plain or async, called on the event loop with the validated arguments: true or the reason, a text
      for the person who decides, if the call waits
    - `on_interrupted`: what becomes of a call without a result that `resume` finds, as the process has ended while it ran:
      `report` (default): the model reads that its outcome is not known; `retry`: it runs again; `ask`: the hook
      `on_interrupted_call` decides (without it as `report`)
    - `subject`: what of its calls the patterns of the option `gate` are compared with, `{"argument": name, "kind": "text"}`; the
      kind is `text`, `path`, `command` or `url`. Default: the JSON of all arguments
    - `cancel_mode`: what an abort does to an async function. `task`, the default, cancels its task at once: it raises
      `asyncio.CancelledError` where it awaits. `token` only sets the context's `is_cancelled`, and cancels the task when the
      agent's `abort_grace_ms` have passed. In both, a value that it returns before that counts. A plain function has the context.

    Raises `InvalidArgumentError` for a wrong or unknown argument, TypeError for an `execute` or `prepare_arguments` that cannot
    be called so. A tool does not change and may be shared by agents and threads.
    """

    @by_name
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
        needs_approval: bool | _Approve = False,
        on_interrupted: _OnInterrupted | None = None,
        subject: ToolSubject | None = None,
        cancel_mode: _CancelMode = "task",
        **unknown: Never,
    ) -> None:
        if not callable(execute):
            raise TypeError(f'tool "{name}": execute: expected a function, got {type(execute).__name__}')
        must_take(f'tool "{name}": execute', execute, "arguments", "context")
        if cancel_mode not in ("task", "token"):
            text = f'tool "{name}": cancel_mode: expected "task" or "token", got {cancel_mode!r}'
            raise InvalidArgumentError(text)
        fields = {
            "name": name,
            "description": description,
            "parameters": parameters,
            "label": label,
            "execution_mode": execution_mode,
            "timeout_ms": timeout_ms,
            "needs_approval": "ask" if callable(needs_approval) else needs_approval,
            "on_interrupted": on_interrupted,
            "subject": subject,
        }
        # The engine checks the names and suggests the nearest one.
        self.spec: _native.ToolSpec = _native.ToolSpec(fields | unknown)
        self.execute = execute
        self.cancel_mode = cancel_mode
        self.is_async: bool = is_async(execute)
        self.is_method = False
        self._function: Callable[..., Any] = execute
        self._signature: Any = None
        self.prepare_arguments = prepare_arguments
        if prepare_arguments is not None:
            from .hooks import hook_callback

            self._prepare = hook_callback(f'tool "{name}": prepare_arguments', prepare_arguments, 1)
        self.needs_approval = needs_approval
        if callable(needs_approval):
            from .hooks import hook_callback

            self._approve = hook_callback(f'tool "{name}": needs_approval', needs_approval, 1)

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
            context = ToolContext(call.context, call.vars.get(DEPS))
            value = self.execute(call.arguments(), context)
            call.respond(await (last_of(value, context) if is_async_generator(value) else value))
        except BaseException as error:
            call.fail(one_line(error), error)
            if pass_on(error):
                raise

    def _answer_in_thread(self, call: _native.HostCall) -> None:
        """Answers a call with a plain function, on a thread that may block."""
        try:
            call.respond(of_call(call).copy().run(self._result, call.arguments(), ToolContext(call.context, call.vars.get(DEPS))))
        except BaseException as error:
            call.fail(one_line(error), error)
            pass_on(error)

    def _result(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        """The result of a plain function."""
        value = self.execute(arguments, context)
        if is_coroutine(value):
            value.close()
            raise TypeError(f"the tool {self.name} is a plain function that returned a coroutine; make it an async function")
        if is_async_generator(value):
            raise TypeError(f"the tool {self.name} is a plain function that returned an async generator; make it one itself")
        return returned_by(value, context) if is_generator(value) else value

    async def run(
        self,
        arguments: Mapping[str, Any],
        *,
        context: ToolContext | None = None,
        validation: Literal["coerce", "strict", "off"] = "coerce",
        on_update: Callable[[Any], object] | None = None,
        sleep: Callable[[float], Awaitable[bool]] | None = None,
        tool_call_id: str | None = None,
        idempotency_key: str | None = None,
        deps: Any = None,
    ) -> Any:
        """Calls the tool outside of an agent: in a test, or in another tool. As in a run, `prepare_arguments` is called, the
        arguments are converted and validated, a plain function has a thread of its own, and the updates and the result must be
        JSON. There are no hooks, no middleware, no approval and no time limit. Returns what the tool returns; of a generator
        its result.

        - `arguments`: a dict of JSON; the tool gets a copy
        - `context`: that of the calling tool: its cancellation, its clock, its updates are those of this call, too. Of its
          `idempotency_key` one is made that is the same when the tool is executed again and makes the same calls in order
        - `validation`: as the option of an agent
        - `on_update`: called with each update, in place of the context's `update`
        - `sleep`: `async def f(ms)`, in place of the context's `sleep`: for a test that does not wait
        - `tool_call_id`, `idempotency_key`: what the tool gets; by default new ones
        - `deps`: what the tool finds as `context.deps`; by default that of the context

        Raises `InvalidArgumentError` for arguments that do not fit, with the text that a model would read; TypeError or
        ValueError for a result that is not JSON; `Suspension` if the tool suspends itself; else what the tool raises.
        """
        from .tool_run import run_tool

        return await run_tool(self, arguments, context, validation, on_update, sleep, tool_call_id, idempotency_key, deps)

    def __get__(self, instance: object, owner: type | None = None) -> Tool:
        """The tool of an object, or of the class for a `classmethod`, when this one was made of a method."""
        if not self.is_method:
            return self
        function: Any = self._function
        bound = function.__get__(instance, owner)
        if bound is function:
            return self
        made = copy.copy(self)
        made.is_method = False
        made._function = bound
        made.execute = as_execute(bound, self._signature)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the decorated function directly, without an agent."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"


@overload
def tool(function: _Function, /) -> Tool: ...


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
    needs_approval: bool | _Approve = False,
    on_interrupted: _OnInterrupted | None = None,
    subject: ToolSubject | None = None,
    cancel_mode: _CancelMode = "task",
) -> Callable[[_Function], Tool]: ...


def tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    label: str | None = None,
    execution_mode: _ExecutionMode | None = None,
    timeout_ms: int | None = None,
    prepare_arguments: _Prepare | None = None,
    needs_approval: bool | _Approve = False,
    on_interrupted: _OnInterrupted | None = None,
    subject: ToolSubject | None = None,
    cancel_mode: _CancelMode = "task",
    **unknown: Never,
) -> Tool | Callable[[_Function], Tool]:
    """Makes a `Tool` of an async or plain function.

    ```python
    @tool
    async def weather(city: str, days: Annotated[int, "1 to 7"] = 1) -> dict[str, object]:
        \"\"\"The weather forecast for a city.\"\"\"
        return {"city": city, "sky": ["rain"] * days}
    ```

    Also of a method, whose tool is then `object.method`, of a `classmethod` or `staticmethod`, of a generator (see `Tool`), of a
    partial, which keeps its own arguments, and of an object with `__call__`. A lambda needs `name` and `parameters`.

    The function's name is the tool's name, the first paragraph of its docstring the description; without a docstring the
    description is empty. What the docstring says of parameters, in the style of Google, NumPy or Sphinx, is their description.
    The JSON Schema of the parameters comes from the annotations: `str`, `int`, `float`, `bool`, `None`, `list`, `tuple`, `set`,
    `dict`, `Optional`, `Union`, `Literal`, `Enum`, `TypedDict`, `NamedTuple`, dataclasses, pydantic models, `datetime`, `date`,
    `time`, `timedelta`, `UUID`, `Decimal`, `Path`, `Any`, and `Annotated[…, "description"]`, also with constraints, as in
    `Annotated[int, Field(ge=1)]` of pydantic, annotated_types or msgspec. The function gets values of these types; of a union, of
    the first member that fits. Parameters with a default are not required. A parameter annotated `ToolContext` receives the
    context and is not part of the schema.

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
            needs_approval=needs_approval,
            on_interrupted=on_interrupted,
            subject=subject,
            cancel_mode=cancel_mode,
            **unknown,
        )
    receiver = receivers(function)
    function = getattr(function, "__func__", function) if isinstance(function, staticmethod) else function
    if not callable(function) and not isinstance(function, classmethod):
        raise TypeError(f"tool: expected a function, got {type(function).__name__}; use Tool(name=…, execute=…) or @tool(name=…)")
    from .schema import Signature, unwrapped

    if name is None:
        inner = unwrapped(function)
        name = str(getattr(inner, "__name__", type(inner).__name__))
        if name == "<lambda>":
            raise InvalidArgumentError("tool: a lambda has no name; write tool(name=…, parameters={…})(lambda …: …)")
    given: Any = function
    inside = given.__func__ if isinstance(function, classmethod) else given
    described = parameters.get("properties") if isinstance(parameters, Mapping) else None
    signature = Signature(name, inside, derive=parameters is None, skip=receiver, described=described or ())
    made = Tool(
        name=name,
        execute=as_execute(inside, signature),
        description=signature.docstring.summary if description is None else description,
        parameters=signature.schema if parameters is None else parameters,
        label=label,
        execution_mode=execution_mode,
        timeout_ms=timeout_ms,
        prepare_arguments=prepare_arguments,
        needs_approval=needs_approval,
        on_interrupted=on_interrupted,
        subject=subject,
        cancel_mode=cancel_mode,
        **unknown,
    )
    functools.update_wrapper(made, given)
    made.is_async = is_async(inside)
    made.is_method = receiver > 0
    made._signature = signature
    made._function = given
    return made


def as_execute(function: Callable[..., Any], signature: Any) -> Callable[[dict[str, Any], ToolContext], Any]:
    """A decorated function as a tool's `execute`, of the same kind: another tool may be made of it."""

    def execute(arguments: dict[str, Any], context: ToolContext) -> Any:
        return function(**signature.bound(arguments, context))

    async def execute_async(arguments: dict[str, Any], context: ToolContext) -> Any:
        value = execute(arguments, context)
        return await (last_of(value, context) if is_async_generator(value) else value)

    return execute_async if is_async(function) else execute


def receivers(function: object) -> int:
    """How many parameters a function gets from its object: one that is defined in a class has `self` or `cls`."""
    import inspect

    if isinstance(function, classmethod):
        return 1
    if not inspect.isfunction(function):
        return 0
    scope = function.__qualname__.rpartition(".")[0]
    if not scope or scope.endswith("<locals>"):
        return 0
    first = next(iter(inspect.signature(function).parameters), None)
    return int(first in ("self", "cls"))


def tools_of(tools: Iterable[Tool]) -> list[Tool]:
    """The tools of an agent. Raises TypeError for what is no tool."""
    given = items_of('option "tools"', "tools", tools)
    for index, one in enumerate(given):
        if isinstance(one, Tool) and one.is_method:
            raise TypeError(f"tools[{index}]: {one.name} is a method; give the tool of an object, as in Weather().forecast")
        if not isinstance(one, Tool):
            hint = "; decorate the function with @tool" if callable(one) else ""
            if isinstance(getattr(one, "__func__", None), Tool):
                hint = "; write @tool above @classmethod"
            raise TypeError(f"tools[{index}]: expected a Tool, got {type(one).__name__}{hint}")
    return given
