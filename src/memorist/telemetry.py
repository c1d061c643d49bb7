"""Sends event counters and operation spans to OpenTelemetry (an extra). They contain only ids and sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .errors import Unsupported
from .extras import install_command


class Telemetry:
    """Provides metrics and spans under the name `memorist`."""

    def __init__(self) -> None:
        try:
            from opentelemetry import metrics, propagate, trace
        except ModuleNotFoundError as cause:
            raise Unsupported(f"OpenTelemetry is not installed; run: {install_command('otel')}") from cause
        meter = metrics.get_meter("memorist")
        self._tracer = trace.get_tracer("memorist")
        self._error, self._server = trace.StatusCode.ERROR, trace.SpanKind.SERVER
        self._extract, self._inject = propagate.extract, propagate.inject
        self._events = meter.create_counter("memorist.events", unit="1", description="Number of events by name")
        self._sizes = meter.create_histogram("memorist.size", unit="1", description="Sizes reported with events")

    def count(self, name: str, org: str, data: Mapping[str, Any]) -> None:
        """Count one event, and record each of its sizes."""
        self._events.add(1, {"event": name, "org": org})
        for key, value in data.items():
            if isinstance(value, int) and not isinstance(value, bool):
                self._sizes.record(value, {"event": name, "size": key})

    @contextmanager
    def span(self, name: str, **attributes: Any) -> Iterator[None]:
        """Return a span around an operation. After a failure, it contains the error's type, but never its message."""
        with self._tracer.start_as_current_span(
            f"memorist.{name}", attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except Exception as problem:
                span.set_status(self._error, type(problem).__name__)
                raise

    @contextmanager
    def request(self, headers: Mapping[str, str]) -> Iterator[RequestSpan]:
        """Return a span around an incoming request, which is a child of the caller's span if `traceparent` names
        one."""
        with self._tracer.start_as_current_span(
            "memorist.request", self._extract(headers), self._server, record_exception=False,
            set_status_on_exception=False,
        ) as span:  # fmt: skip
            yield RequestSpan(span, self._error)

    def headers(self) -> dict[str, str]:
        """Return headers that pass the current span on to a server (`traceparent`)."""
        headers: dict[str, str] = {}
        self._inject(headers)
        return headers


class RequestSpan:
    """Represents a span around one request, which is named once the operation is known."""

    def __init__(self, span: Any = None, error: object = None) -> None:
        self._span = span
        self._error = error

    def done(self, operation: str, status: int) -> None:
        """Name the span after the operation, and record the response's status."""
        if self._span is not None:
            self._span.update_name(f"memorist.{operation}")
            self._span.set_attribute("http.response.status_code", status)
            if status >= 500:
                self._span.set_status(self._error, str(status))


NO_REQUEST_SPAN = RequestSpan()
"""Used when tracing is off; it does nothing."""
