"""Traces requests as OpenTelemetry spans; the calls that they make are spans within."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from keyfold.errors import ExtraMissing


class RequestTracer:
    """Makes a span for each request, within the trace that its headers name.

    Without a tracer, that of the global provider is used. Raises ExtraMissing.
    """

    def __init__(self, tracer: Any = None) -> None:
        try:
            self._trace: Any = import_module("opentelemetry.trace")
            self._propagate: Any = import_module("opentelemetry.propagate")
        except ImportError:
            raise ExtraMissing("Tracing", "opentelemetry-api", "opentelemetry") from None
        self._tracer = self._trace.get_tracer("keyfold.service") if tracer is None else tracer

    @contextmanager
    def span(self, name: str, headers: Mapping[str, str]) -> Generator[Any]:
        """Make a span current; its attributes are those of an HTTP server."""
        context = self._propagate.extract(headers)
        kind = self._trace.SpanKind.SERVER
        with self._tracer.start_as_current_span(name, context=context, kind=kind) as span:
            yield span

    def finish(self, span: Any, *, endpoint: str, method: str, status: int, code: str) -> None:
        """Describe an answered request."""
        span.set_attribute("http.request.method", method)
        span.set_attribute("http.response.status_code", status)
        span.set_attribute("keyfold.pattern", endpoint)
        if code:
            span.set_attribute("error.type", code)
        if status >= 500:  # noqa: PLR2004 - the service's own faults
            span.set_status(self._trace.StatusCode.ERROR)
