"""The DescribeKinesisStreamingDestination operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.streams.kinesis import describe_destinations
from keyfold.engine.tables.catalog import require_body


def describe_kinesis_streaming_destination(
    context: EngineContext, request: dict[str, Any]
) -> dict[str, Any]:
    """Return the Kinesis streams that are recorded as destinations of a table's changes."""
    name = table_name(request)
    body = context.storage.read(lambda reader: require_body(reader, name))
    destinations = describe_destinations(body.get("kinesis", []))
    return {"TableName": name, "KinesisDataStreamDestinations": destinations}
