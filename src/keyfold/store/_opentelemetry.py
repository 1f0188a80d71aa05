"""Traces low-level calls as OpenTelemetry spans."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

from keyfold.clocks import Clock
from keyfold.store._call_records import CallRecord, Hook

_NANOSECONDS = 1_000_000_000


def trace_calls(tracer: Any = None, *, clock: Clock = time.time) -> Hook:
    """Return a hook for `on_call` that creates a span for every low-level call.

    Without a tracer, the one of the global provider is used. Requires the extra
    `keyfold[opentelemetry]`. Span names and attributes follow OpenTelemetry's conventions for
    DynamoDB.
    """
    trace: Any = import_module("opentelemetry.trace")
    used = trace.get_tracer("keyfold") if tracer is None else tracer

    def hook(record: CallRecord) -> None:
        ended = int(clock() * _NANOSECONDS)
        started = ended - int(record.seconds * _NANOSECONDS)
        span = used.start_span(
            f"DynamoDB.{record.operation}",
            kind=trace.SpanKind.CLIENT,
            start_time=started,
            attributes={
                "db.system.name": "aws.dynamodb",
                "db.operation.name": record.operation,
                "aws.dynamodb.table_names": list(record.tables),
                "keyfold.consumed_capacity": record.consumed,
                "keyfold.attempt": record.attempt,
            },
        )
        if record.error is not None:
            span.record_exception(record.error)
            span.set_attribute("error.type", type(record.error).__name__)
            span.set_status(trace.StatusCode.ERROR, str(record.error))
        span.end(ended)

    return hook
