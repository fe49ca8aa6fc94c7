"""The typed final answer: the option `output` as a type, and how the values of that type are read."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Union, overload

from ._native import HOOKS
from .errors import InvalidArgumentError
from .hooks import HookContext, with_context

if TYPE_CHECKING:
    from typing import Literal

    from typing_extensions import TypeAlias

    from ._native import HostCall
    from .described import Reader

    _Mode: TypeAlias = Literal["auto", "native", "tool"]

T = TypeVar("T")


class Output(Generic[T]):
    """The type of a run's final answer, with more than the type: for the option `output`.

    ```python
    agent = Agent(MODEL, output=Output(list[str], description="The cities where it rains."))
    ```

    - `type`: a dataclass, TypedDict, NamedTuple, pydantic model, enum, list, union, number … as of a tool's parameters; or a JSON
      Schema as a dict. With `str` in a union (`Weather | str`) the model may also answer with text
    - `name`: the name of the final tool; letters, digits, `_`, `-`. Default: `final_answer`
    - `description`: what the model reads about the answer
    - `mode`: `native` asks for it in the provider's own way, `tool` by a tool that the model calls with the answer; `auto`, the
      default, in the provider's way where it has one for this type

    Raises TypeError for a type without a JSON Schema. It does not change and may be shared by agents and threads.
    """

    __slots__ = ("reader", "spec")

    @overload
    def __init__(
        self, type: type[T], *, name: str | None = None, description: str | None = None, mode: _Mode | None = None
    ) -> None: ...

    @overload
    def __init__(
        self: Output[Any], type: object, *, name: str | None = None, description: str | None = None, mode: _Mode | None = None
    ) -> None: ...

    def __init__(
        self,
        type: Any,  # noqa: A002
        *,
        name: str | None = None,
        description: str | None = None,
        mode: _Mode | None = None,
    ) -> None:
        from .annotations import KNOWN, describe
        from .described import Classes, Unsupported, with_definitions

        self.reader: Reader | None = None
        or_text = False
        if isinstance(type, Mapping):
            schema: Mapping[str, Any] = type
        else:
            of, or_text = without_text(type)
            try:
                described, self.reader = describe(of, Classes(describe))
            except Unsupported as why:
                raise TypeError(
                    f"output: {getattr(type, '__name__', type)}: {why}. Known are {KNOWN}; or give a JSON Schema, as a dict"
                ) from None
            schema = with_definitions(described)
        given = {"name": name, "description": description, "mode": mode, "or_text": or_text or None}
        self.spec: dict[str, Any] = {"schema": schema} | {key: value for key, value in given.items() if value is not None}

    def read(self, value: Any) -> T:
        """The value of the type in JSON. Raises ValueError for one that does not fit the type."""
        if self.reader is None or (isinstance(value, str) and "or_text" in self.spec):
            return typing.cast("T", value)
        return typing.cast("T", self.reader(value))

    def __repr__(self) -> str:
        return f"Output({self.spec!r})"


def without_text(hint: Any) -> tuple[Any, bool]:
    """A union without its member `str`, and whether it had one."""
    if typing.get_origin(hint) is not Union and not isinstance(hint, types.UnionType):
        return hint, False
    members = typing.get_args(hint)
    others = tuple(member for member in members if member is not str)
    if len(others) == len(members) or all(member is type(None) for member in others):
        return hint, False
    return Union[others], True  # noqa: UP007


def output_of(given: Any) -> Output[Any] | None:
    """What was given as the option `output`."""
    if given is None or isinstance(given, Output):
        return given
    if isinstance(given, Mapping):
        output: Output[Any] = Output({})
        output.spec = dict(given)
        return output
    return Output(given)


def options_of(given: Mapping[str, Any]) -> tuple[dict[str, Any], Output[Any] | None]:
    """Options as the engine takes them, and the type of the answer among them."""
    options = dict(given)
    output = output_of(options.get("output"))
    if output is not None:
        options["output"] = output.spec
    return options, output


RUN_OUTPUT: ContextVar[Output[Any] | None] = ContextVar("agent_loop_output", default=None)
"""The type of the answer of one run, in the run's context. None: that of its agent."""


class Answers:
    """How an agent's typed answers are checked: the type, and the hook of the application."""

    __slots__ = ("function", "output")

    def __init__(self) -> None:
        self.output: Output[Any] | None = None
        self.function: Callable[..., Any] | None = None

    def set_hook(self, function: Callable[..., Any] | None) -> None:
        self.function = None if function is None else with_context('hook "check_output"', function, 1)

    def check(self, call: HostCall) -> Any:
        """The hook `check_output`: what is wrong with an answer that fits the schema, or None."""
        from .described import Misfit

        (value,) = call.take_input()
        output = RUN_OUTPUT.get() or self.output
        if output is not None:
            try:
                value = output.read(value)
            except Misfit as misfit:
                return misfit.text()
        return None if self.function is None else self.function(value, HookContext(call))

    def needs_hook(self, output: Output[Any] | None) -> bool:
        return self.function is not None or (output is not None and output.reader is not None)


def checked_options(options: Mapping[str, Any]) -> None:
    """Raises `InvalidArgumentError` for what is given to a run and is the agent's."""
    for name in options:
        if name in HOOKS or name in ("tools", "session", "middleware", "provider", "providers", "plugins"):
            text = f"option \"{name}\": it is the agent's, and the same for all of its runs; give it to the agent"
            raise InvalidArgumentError(text)
