from __future__ import annotations

from decimal import Decimal

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import keyfold
from keyfold.errors import AlreadyExists
from keyfold.store import trace_calls
from tests.unit.model.shop import Rate, rates
from tests.unit.store.store_kinds import START


def test_every_call_becomes_a_span() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    hook = trace_calls(provider.get_tracer("tests"), clock=lambda: 5.0)
    rate = Rate(base="USD", target="EUR", rate=Decimal(1), at=START)
    with keyfold.open(rates, ":memory:", clock=START.timestamp) as store:
        assert store.run(Rate.get(base="USD", target="EUR")) is None
    with keyfold.open(rates, ":memory:", clock=START.timestamp, on_call=[hook]) as store:
        exporter.clear()
        store.run(rate.put())
        with pytest.raises(AlreadyExists):
            store.run(rate.create())
    put, create = exporter.get_finished_spans()
    assert (put.name, put.kind, put.end_time) == ("DynamoDB.PutItem", SpanKind.CLIENT, 5 * 10**9)
    assert put.start_time is not None
    assert put.start_time < 5 * 10**9
    assert put.attributes is not None
    assert put.attributes["aws.dynamodb.table_names"] == (rates.name,)
    assert put.attributes["keyfold.consumed_capacity"] == 2.0
    assert put.attributes["keyfold.attempt"] == 1
    assert put.status.status_code is StatusCode.UNSET
    assert create.status.status_code is StatusCode.ERROR
    assert create.attributes is not None
    assert create.attributes["error.type"] == "ConditionalCheckFailedException"
