"""Runs as spans and measurements of OpenTelemetry, with the packages of the application: the option `traces`.

The engine says when which span begins and ends; here they are made with `opentelemetry-api`. They belong to the trace of the code
that starts the run, and while a tool is called its span is the current one. Imported only where traces are on.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections import OrderedDict
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from . import _native
from ._native import Traces
from .errors import InvalidArgumentError

try:
    from opentelemetry import context as contexts
    from opentelemetry import metrics, trace
except ImportError as _missing:
    raise InvalidArgumentError(
        "option \"traces\": the package opentelemetry-api is not installed; `pip install opentelemetry-sdk`, or leave it out"
    ) from _missing

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram, MeterProvider
    from opentelemetry.trace import Span, SpanContext

TRACING: ContextVar[RunTraces | None] = ContextVar("agent_loop_tracing", default=None)
"""That of the run which this code is inside of."""

_numbers = itertools.count(1)

_OWN: ContextVar[RunTraces] = ContextVar("agent_loop_own_traces")

# By their numbers: the engine has nothing of Python. The contexts of the runs keep them.
_running: WeakValueDictionary[int, RunTraces] = WeakValueDictionary()

# The spans of runs that may be gone on with, the last ones.
_suspended: OrderedDict[int, SpanContext] = OrderedDict()
_MOST_SUSPENDED = 1000

_histograms: WeakKeyDictionary[MeterProvider, dict[str, Histogram]] = WeakKeyDictionary()

_lock = threading.RLock()


def taken(value: object) -> object:
    """The tracer provider that an agent is given, None for the global one."""
    if value is True:
        return None
    if callable(getattr(value, "get_tracer", None)):
        return value
    text = f"expected true or false, or a tracer provider of OpenTelemetry, got {type(value).__name__}"
    raise InvalidArgumentError(f"option \"traces\": {text}")


def begin(provider: Any, within: bool, context: Context) -> Traces:
    """A run begins here, in whose callbacks the context is. One that works for a call of a run that has spans has its spans
    there."""
    run = RunTraces(provider)
    context.run(_OWN.set, run)
    if not within or context.get(TRACING) is None:
        context.run(TRACING.set, run)
    return run.native


def write(native: Traces) -> None:
    """Takes what the engine has recorded."""
    with _lock:
        if (run := _running.get(native.number)) is not None:
            run.take()


def inside(span: int, context: Context) -> Context:
    """A context in which this span is the current one."""
    run = context.get(TRACING)
    if run is None:
        return context
    with _lock:
        run.take()
        found = run.spans.get(span)
    if found is None:
        return context
    copy = context.copy()
    copy.run(lambda: contexts.attach(trace.set_span_in_context(found)))
    return copy


def _instruments() -> dict[str, Histogram]:
    provider = metrics.get_meter_provider()
    found = _histograms.get(provider)
    if found is None:
        meter = metrics.get_meter(Traces.SCOPE, _native.VERSION, schema_url=Traces.SCHEMA_URL)
        found = {name: _histogram(meter, name, unit, text, bounds) for name, unit, text, bounds in Traces.instruments()}
        _histograms[provider] = found
    return found


def _histogram(meter: Any, name: str, unit: str, text: str, bounds: list[float]) -> Histogram:
    try:
        histogram: Histogram = meter.create_histogram(name, unit, text, explicit_bucket_boundaries_advisory=bounds)
    except TypeError:
        # Before version 1.30 of the API.
        histogram = meter.create_histogram(name, unit, text)
    return histogram


class RunTraces:
    """The spans of a run and of its subagents."""

    def __init__(self, provider: Any) -> None:
        self.native: Traces = Traces(next(_numbers))
        self.spans: dict[int, Span] = {}
        self._host = contexts.get_current()
        self._tracer = trace.get_tracer(Traces.SCOPE, _native.VERSION, provider, Traces.SCHEMA_URL)
        _running[self.native.number] = self

    def take(self) -> None:
        """In order: under the lock."""
        for record in self.native.take():
            try:
                if record[0] == 0:
                    self._start(*record[1:])
                elif record[0] == 1:
                    self._end(*record[1:])
                else:
                    _, name, value, attributes = record
                    _instruments()[name].record(value, attributes)
            except Exception:
                # Of the application's tracer: a run has nothing to do with it, and the other records are not lost.
                logging.getLogger("agent_loop").warning("a tracer of the option `traces` failed", exc_info=True)

    def _start(
        self,
        number: int,
        parent: int,
        is_client: bool,
        name: str,
        time: int,
        attributes: dict[str, Any],
        link: int,
        remote: tuple[int, int, int] | None,
    ) -> None:
        context = self._host
        if (around := self.spans.get(parent)) is not None:
            context = trace.set_span_in_context(around, context)
        elif remote is not None:
            trace_id, span_id, flags = remote
            caller = trace.SpanContext(trace_id, span_id, is_remote=True, trace_flags=trace.TraceFlags(flags))
            context = trace.set_span_in_context(trace.NonRecordingSpan(caller), context)
        links = [trace.Link(_suspended[link])] if link in _suspended else None
        kind = trace.SpanKind.CLIENT if is_client else trace.SpanKind.INTERNAL
        self.spans[number] = self._tracer.start_span(
            name, context, kind, attributes, links, start_time=time, record_exception=False, set_status_on_exception=False
        )

    def _end(self, number: int, time: int, attributes: dict[str, Any], error: str | None, is_suspended: bool) -> None:
        if (span := self.spans.pop(number, None)) is None:
            return
        if is_suspended:
            _suspended[number] = span.get_span_context()
            if len(_suspended) > _MOST_SUSPENDED:
                _suspended.popitem(last=False)
        span.set_attributes(attributes)
        if error is not None:
            span.set_status(trace.Status(trace.StatusCode.ERROR, error or None))
        span.end(time)
