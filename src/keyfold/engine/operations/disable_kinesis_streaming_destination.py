"""The DisableKinesisStreamingDestination operation."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.streams.kinesis import check_stream_arn, disable_destination
from keyfold.errors import ValidationException


def disable_kinesis_streaming_destination(
    context: EngineContext, request: dict[str, Any]
) -> dict[str, Any]:
    """Record that a Kinesis stream is no longer a destination of a table's changes."""
    name, arn = table_name(request), request["StreamArn"]
    check_stream_arn(arn)
    if request.get("EnableKinesisStreamingConfiguration") is not None:
        raise ValidationException(
            "Stream cannot be disabled using EnableKinesisStreamingConfiguration parameters"
        )
    disable_destination(context, name, arn)
    return {"TableName": name, "StreamArn": arn, "DestinationStatus": "DISABLING"}
