"""A tool's function: the JSON Schema of its parameters, and how it is called with JSON arguments."""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .annotations import KNOWN, describe
from .described import Classes, Misfit, Reader, Schema, Unsupported, of_object, with_definitions
from .docstrings import Docstring, docstring_of
from .errors import CallbackError
from .tool_context import ToolContext

CONTEXT_NAMES = ("context", "ctx", "tool_context")
"""What a parameter without an annotation is called that is meant for the context."""


class WrongArguments(CallbackError):
    """Arguments that fit the schema and not the annotated types; the message is what a model reads."""


class Signature:
    """A tool's function: the schema of its parameters, and how it is called with JSON."""

    def __init__(
        self, name: str, function: Callable[..., Any], *, derive: bool, skip: int = 0, described: Iterable[str] = ()
    ) -> None:
        """With `derive` false, annotations are read only to find the context parameter, as the schema of those that are
        `described` was given. `skip` are the parameters that a method gets from its object."""
        self.name = name
        self.docstring: Docstring = docstring_of(unwrapped(function))
        self.context: str | None = None
        self.context_class: type[ToolContext] = ToolContext
        self.readers: dict[str, Reader] = {}
        properties: dict[str, Schema] = {}
        required = []
        hints = hints_of(name, function) if derive else context_only(function)
        bound = bound_names(function)
        for parameter in signature_of(name, function, derive)[skip:]:
            hint = hints.get(parameter.name, parameter.empty)
            if (asked := context_class(hint)) is not None:
                self.context, self.context_class = parameter.name, asked
                continue
            is_context_name = hint is parameter.empty and parameter.name in CONTEXT_NAMES and parameter.name not in described
            if is_context_name and (derive or parameter.default is parameter.empty):
                raise TypeError(
                    f'tool "{name}": parameter "{parameter.name}": it has no annotation; for the context of the call write '
                    f"{parameter.name}: ToolContext"
                )
            if not derive or parameter.name in bound:
                continue
            try:
                check_kind(parameter)
                schema, reader = describe(hint, Classes(describe))
            except Unsupported as why:
                raise TypeError(
                    f'tool "{name}": parameter "{parameter.name}": {why}. Known are {KNOWN}; '
                    f"or give the schema yourself: @tool(parameters={{…}})"
                ) from None
            if hasattr(parameter.default, "default_factory") and hasattr(parameter.default, "metadata"):
                raise TypeError(
                    f'tool "{name}": parameter "{parameter.name}": its default is a Field; '
                    f"write {parameter.name}: Annotated[…, Field(…)], with a plain default"
                )
            if parameter.default is parameter.empty:
                required.append(parameter.name)
            elif isinstance(parameter.default, (str, int, float)):
                schema = {**schema, "default": getattr(parameter.default, "value", parameter.default)}
            if parameter.name in self.docstring.parameters:
                schema = {"description": self.docstring.parameters[parameter.name]} | schema
            properties[parameter.name] = schema
            if reader is not None:
                self.readers[parameter.name] = reader
        self.schema: Schema = with_definitions(of_object(properties, required))

    def bound(self, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """The keyword arguments of a call. Raises WrongArguments."""
        bound = dict(arguments)
        for name, reader in self.readers.items():
            if name in bound:
                try:
                    bound[name] = reader(bound[name])
                except Misfit as misfit:
                    raise WrongArguments(
                        f"the arguments of {self.name} do not fit its schema:\n{misfit.text('/' + name)}"
                    ) from misfit.__cause__
        if self.context is not None:
            bound[self.context] = context
        return bound


def unwrapped(function: Any) -> Any:
    """The function in a partial."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def bound_names(function: Any) -> set[str]:
    """The parameters that a partial gives by name: the model does not."""
    names: set[str] = set()
    while isinstance(function, functools.partial):
        names |= function.keywords.keys()
        function = function.func
    return names


def hints_of(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function, also of one in a partial or of an object with `__call__`."""
    inner = unwrapped(function)
    if not isinstance(inner, type) and not inspect.isroutine(inner):
        inner = type(inner).__call__
    try:
        return typing.get_type_hints(inner, include_extras=True)
    except Exception as error:
        hint = "the names in them must be those of its module; or give the schema yourself: @tool(parameters={…})"
        raise TypeError(f'tool "{name}": its annotations cannot be read: {error}; {hint}') from error


def context_only(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations, unevaluated where one of them cannot be evaluated."""
    try:
        return hints_of("", function)
    except TypeError:
        return {parameter.name: parameter.annotation for parameter in signature_of("", function, derive=False)}


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    if sys.version_info >= (3, 14):
        # Annotations are evaluated when read, and some may refer to names that do not exist.
        from annotationlib import Format

        return list(inspect.signature(function, annotation_format=Format.FORWARDREF).parameters.values())
    return list(inspect.signature(function).parameters.values())


def signature_of(name: str, function: Callable[..., Any], derive: bool) -> list[inspect.Parameter]:
    """The parameters; none of a built-in function without a signature, which needs a schema."""
    try:
        return parameters_of(function)
    except ValueError:
        if not derive:
            return []
        text = "its parameters are not known, as it is built in; give the schema yourself: @tool(parameters={…})"
        raise TypeError(f'tool "{name}": {text}') from None


def context_class(hint: Any) -> type[ToolContext] | None:
    """The class of the context that an annotation asks for."""
    hint = getattr(hint, "__forward_arg__", hint)
    if isinstance(hint, str):
        known = [ToolContext]
        for one in known:
            known.extend(one.__subclasses__())
        return next((one for one in known if one.__name__ == hint.rpartition(".")[2]), None)
    hints = (hint, *typing.get_args(hint))
    return next((one for one in hints if inspect.isclass(one) and issubclass(one, ToolContext)), None)


def check_kind(parameter: inspect.Parameter) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise Unsupported("a tool's parameters each have a name, so it cannot have a * or ** parameter")
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise Unsupported("tools are called with keyword arguments, so it cannot be positional-only")


