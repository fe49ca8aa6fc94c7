"""Errors: one base class, and a subclass for each kind of a closed list.

Runtime failures (a refused key, a truncated stream) end a run: `prompt`, `Run.result` and the end of `async for event in run`
raise them, with the run's result in `result`, and in `__cause__` what a hook or custom provider has raised. Usage errors
(`invalid_argument`, `invalid_state`, `busy`) are raised by the call that is wrong.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

from ._native import is_retryable

if TYPE_CHECKING:
    from ._native import RunResult

__all__ = [
    # <generated: exports>
    "AbortedError",
    "AgentConnectionError",
    "AgentError",
    "AgentIOError",
    "AgentTimeoutError",
    "AuthenticationError",
    "BusyError",
    "CallbackError",
    "ContextOverflowError",
    "DamagedError",
    "InvalidArgumentError",
    "InvalidRequestError",
    "InvalidStateError",
    "LimitError",
    "NewerVersionError",
    "NotFoundError",
    "OverloadedError",
    "PanicError",
    "PermissionDeniedError",
    "ProtocolError",
    "ProviderError",
    "QuotaError",
    "RateLimitedError",
    "ReplayError",
    "ServerError",
    "StreamTruncatedError",
    "TlsError",
    # </generated>
]


class AgentError(Exception):
    """The base of all errors of this package."""

    kind: ClassVar[str] = "error"
    """The name of the kind, the same in every language. Each subclass has its own."""

    message: str
    """What is wrong, where, and what to do."""
    provider: str | None
    """The provider that answered; None when none did."""
    http_status: int | None
    """The HTTP status of the answer; None without an answer."""
    request_id: str | None
    """The provider's id of the failed request, for its support."""
    retryable: bool
    """Whether the same request may succeed later. The default depends on the kind."""
    retry_after_ms: int | None
    """How long the provider asks to wait before a retry, in milliseconds."""
    result: RunResult | None
    """The result of the run that the error ended; None of a usage error."""

    def __init__(
        self,
        message: str = "",
        *,
        provider: str | None = None,
        http_status: int | None = None,
        request_id: str | None = None,
        retryable: bool | None = None,
        retry_after_ms: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.provider = provider
        self.http_status = http_status
        self.request_id = request_id
        self.retryable = is_retryable(self.kind) if retryable is None else retryable
        self.retry_after_ms = retry_after_ms
        self.result = None

    def to_dict(self) -> dict[str, Any]:
        """The error as a dict of JSON values: `kind`, `message`, and the other fields that are not None."""
        optional = {
            "provider": self.provider,
            "http_status": self.http_status,
            "request_id": self.request_id,
            "retryable": self.retryable,
            "retry_after_ms": self.retry_after_ms,
        }
        return {"kind": self.kind, "message": self.message} | {k: v for k, v in optional.items() if v is not None}

    def __reduce__(self) -> tuple[Any, ...]:
        # The result stays in its process: it shares its messages with the engine.
        return type(self), self.args, {k: v for k, v in self.__dict__.items() if k != "result"} | {"result": None}


# <generated: classes>


class AuthenticationError(AgentError):
    """No key, or the provider refused it (HTTP 401)."""

    kind = "authentication"


class PermissionDeniedError(AgentError):
    """The key is valid but not allowed to do this (HTTP 403)."""

    kind = "permission"


class NotFoundError(AgentError):
    """The model or address does not exist (HTTP 404), or the session; in C also a tool, an argument or a listener."""

    kind = "not_found"


class InvalidRequestError(AgentError):
    """The provider rejects the request as malformed (HTTP 400, 409, 422, other 4xx)."""

    kind = "invalid_request"


class ContextOverflowError(AgentError):
    """The conversation exceeds the model's context window (HTTP 413, some 400)."""

    kind = "context_overflow"


class RateLimitedError(AgentError):
    """Too many requests; the same request may succeed later (HTTP 429)."""

    kind = "rate_limited"


class QuotaError(AgentError):
    """The account's credit or quota is used up (HTTP 402, some 429)."""

    kind = "quota"


class OverloadedError(AgentError):
    """The provider has no capacity now (HTTP 503, 529)."""

    kind = "overloaded"


class ServerError(AgentError):
    """The provider failed (other HTTP 5xx)."""

    kind = "server"


class AgentTimeoutError(AgentError, TimeoutError):
    """A time limit passed, here or at a gateway (HTTP 408, 504, 524)."""

    kind = "timeout"


class AgentConnectionError(AgentError, ConnectionError):
    """No connection, or it broke before the response began."""

    kind = "connection"


class TlsError(AgentError):
    """The secure connection could not be set up."""

    kind = "tls"


class StreamTruncatedError(AgentError):
    """The response ended before its protocol's closing event."""

    kind = "stream_truncated"


class ProtocolError(AgentError):
    """The response violates its protocol."""

    kind = "protocol"


class ProviderError(AgentError):
    """A custom provider failed or panicked."""

    kind = "provider"


class CallbackError(AgentError):
    """A hook failed; the message names it. In middleware, the tool failed."""

    kind = "callback"


class LimitError(AgentError):
    """A size limit was exceeded."""

    kind = "limit"


class InvalidArgumentError(AgentError, ValueError):
    """An argument is wrong; the message names it."""

    kind = "invalid_argument"


class InvalidStateError(AgentError, RuntimeError):
    """The call is not possible in the present state, or in this callback."""

    kind = "invalid_state"


class BusyError(AgentError, RuntimeError):
    """A run is active on this agent; or the session is open elsewhere, and the message names the holder."""

    kind = "busy"


class AbortedError(AgentError):
    """The run was aborted."""

    kind = "aborted"


class AgentIOError(AgentError, OSError):
    """The operating system refused something, or the server of a store."""

    kind = "io"


class DamagedError(AgentError):
    """What is stored is not as it was written; the message names the place. What stands before it can be salvaged."""

    kind = "damaged"


class NewerVersionError(AgentError):
    """What is stored is of a newer version of this library: update it."""

    kind = "newer_version"


class ReplayError(AgentError):
    """A run that is replayed does something else than its recording; the message names the place, and both."""

    kind = "replay"


class PanicError(AgentError, RuntimeError):
    """A panic was caught: a bug in this library. Panics of tools, hooks and providers count as their failures."""

    kind = "panic"


# </generated>


_MAX_ERRORS = 5
"""How many exceptions of a group are reported."""
_MAX_LENGTH = 500
"""How many characters of each."""
_MAX_DEPTH = 3
"""How far groups in groups are followed."""


def one_line(error: BaseException, depth: int = 0) -> str:
    """An exception as the engine reports it: `Type: message`; for a `CallbackError`, the message alone; for a group also its
    first exceptions.

    Never raises, whatever the code of the exception does.
    """
    kind = type.__dict__["__name__"].__get__(type(error))  # not an attribute of a metaclass
    try:
        is_alone = isinstance(error, CallbackError) and bool(error.message)
        # Of a text's subclass the text, without the subclass's code.
        text = str.__str__(error.message if isinstance(error, CallbackError) and is_alone else str(error))
        if depth < _MAX_DEPTH and (inner := exceptions_of(error)):
            lines = [one_line(one, depth + 1) for one in inner[:_MAX_ERRORS]]
            lines = [line if len(line) <= _MAX_LENGTH else f"{line[:_MAX_LENGTH]}…" for line in lines]
            more = [f"and {len(inner) - _MAX_ERRORS} more"] if len(inner) > _MAX_ERRORS else []
            text = f"{text}: {'; '.join(lines + more)}"
    except BaseException:
        return f"{kind}, whose text cannot be read"
    if is_alone:
        return text
    return f"{kind}: {text}" if text else kind


def exceptions_of(error: BaseException) -> tuple[BaseException, ...]:
    """The exceptions of a group, of which its text has only the number. Python 3.10 has groups of the package exceptiongroup."""
    if sys.version_info >= (3, 11):
        group: Any = BaseExceptionGroup
    else:
        group = getattr(sys.modules.get("exceptiongroup"), "BaseExceptionGroup", None)
    return group.exceptions.__get__(error) if group is not None and issubclass(type(error), group) else ()


def pass_on(error: BaseException) -> bool:
    """Passes on what a tool or a custom provider has raised, once its call has failed; returns whether it is to be raised again.

    That is a cancellation. A `KeyboardInterrupt`, of what reads a terminal for example, interrupts the main thread as Ctrl-C
    does, whichever thread it was raised on. `sys.exit()` is the failure of the call alone.
    """
    kind = type(error)
    if issubclass(kind, KeyboardInterrupt):
        import _thread

        _thread.interrupt_main()
    return not issubclass(kind, (Exception, SystemExit, KeyboardInterrupt))
