"""The EnableKinesisStreamingDestination operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.streams.kinesis import DEFAULT_PRECISION, check_stream_arn, enable_destination


def enable_kinesis_streaming_destination(
    context: EngineContext, request: dict[str, Any]
) -> dict[str, Any]:
    """Record a Kinesis stream as a destination of a table's changes; nothing is sent to it."""
    name, arn = table_name(request), request["StreamArn"]
    check_stream_arn(arn)
    configuration: dict[str, Any] = request.get("EnableKinesisStreamingConfiguration") or {}
    precision = configuration.get("ApproximateCreationDateTimePrecision") or DEFAULT_PRECISION
    enable_destination(context, name, arn, precision)
    return {
        "TableName": name,
        "StreamArn": arn,
        "DestinationStatus": "ENABLING",
        "EnableKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": precision},
    }
