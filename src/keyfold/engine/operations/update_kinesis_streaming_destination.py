"""The UpdateKinesisStreamingDestination operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.streams.kinesis import check_stream_arn, update_destination
from keyfold.errors import ValidationException


def update_kinesis_streaming_destination(
    context: EngineContext, request: dict[str, Any]
) -> dict[str, Any]:
    """Record the precision of timestamps for a Kinesis stream; nothing is sent to it."""
    name, arn = table_name(request), request["StreamArn"]
    check_stream_arn(arn)
    configuration: dict[str, Any] = request.get("UpdateKinesisStreamingConfiguration") or {}
    precision = configuration.get("ApproximateCreationDateTimePrecision")
    if precision is None:
        raise ValidationException(
            "Streaming destination cannot be updated with given parameters: "
            "UpdateKinesisStreamingConfiguration cannot be null or contain only null values"
        )
    update_destination(context, name, arn, precision)
    return {
        "TableName": name,
        "StreamArn": arn,
        "DestinationStatus": "UPDATING",
        "UpdateKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": precision},
    }
