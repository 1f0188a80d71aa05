"""Kinesis streaming destinations of tables: recorded and described, but nothing is sent."""

from __future__ import annotations

import logging
import re
from typing import Any

from keyfold.engine.metadata_operations import MetadataCall
from keyfold.engine.tables.extras import DestinationBody
from keyfold.engine.tables.table import TableBody
from keyfold.errors import ValidationException
from keyfold.values.wording import INVALID

DEFAULT_PRECISION = "MILLISECOND"

_PRECISION = "ApproximateCreationDateTimePrecision"
_log = logging.getLogger("keyfold.engine")
_ARN = re.compile(r"arn:[a-z0-9-]+:kinesis:[a-z0-9-]+:[0-9]+:stream/[a-zA-Z0-9_.-]{1,128}")
# The service uses this prefix also for requests that disable or update a destination.
_STATE = "Table is not in a valid state to enable Kinesis Streaming Destination: "


def check_stream_arn(request: dict[str, Any]) -> None:
    """Raise ValidationException unless `StreamArn` is that of a Kinesis stream."""
    arn = request["StreamArn"]
    if not _ARN.fullmatch(arn):
        raise ValidationException(f"{INVALID}StreamArn is not the ARN of a Kinesis stream: {arn}")


def check_disabling(request: dict[str, Any]) -> None:
    """Raise ValidationException for a request to disable a destination that configures it."""
    check_stream_arn(request)
    if "EnableKinesisStreamingConfiguration" in request:
        raise ValidationException(
            "Stream cannot be disabled using EnableKinesisStreamingConfiguration parameters"
        )


def check_updating(request: dict[str, Any]) -> None:
    """Raise ValidationException for a request to update a destination that changes nothing."""
    check_stream_arn(request)
    if _PRECISION not in request.get("UpdateKinesisStreamingConfiguration", {}):
        raise ValidationException(
            "Streaming destination cannot be updated with given parameters: "
            "UpdateKinesisStreamingConfiguration cannot be null or contain only null values"
        )


def enable_destination(body: TableBody, call: MetadataCall) -> dict[str, Any]:
    """Record a Kinesis stream as a destination of a table's changes."""
    arn = call.request["StreamArn"]
    given = call.request.get("EnableKinesisStreamingConfiguration", {})
    precision = given.get(_PRECISION, DEFAULT_PRECISION)
    known = body.get("kinesis", [])
    # Only one stream may be active at a time.
    if any(each["status"] == "ACTIVE" for each in known):
        raise ValidationException(
            f"{_STATE}EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED "
            "to perform ENABLE operation."
        )
    added = DestinationBody(arn=arn, status="ACTIVE", precision=precision)
    body["kinesis"] = [*(each for each in known if each["arn"] != arn), added]
    response = _respond(body, arn, "ENABLING")
    return {**response, "EnableKinesisStreamingConfiguration": {_PRECISION: precision}}


def warn_unsent(response: dict[str, Any]) -> None:
    """Log a warning that nothing is sent to a stream that was recorded."""
    table, arn = response["TableName"], response["StreamArn"]
    _log.warning("table %s: Kinesis stream %s is recorded, but nothing is sent to it", table, arn)


def disable_destination(body: TableBody, call: MetadataCall) -> dict[str, Any]:
    """Record that a Kinesis stream is no longer a destination of a table's changes."""
    arn = call.request["StreamArn"]
    known = _find_active(body, arn)
    if known is None:
        raise ValidationException(
            f"{_STATE}KinesisStreamingDestination must be ACTIVE to perform DISABLE operation."
        )
    known["status"] = "DISABLED"
    return _respond(body, arn, "DISABLING")


def update_destination(body: TableBody, call: MetadataCall) -> dict[str, Any]:
    """Record another precision for the timestamps of a destination."""
    arn = call.request["StreamArn"]
    configuration = call.request["UpdateKinesisStreamingConfiguration"]
    precision = configuration[_PRECISION]
    known = _find_active(body, arn)
    if known is None:
        raise ValidationException(
            f"{_STATE}Kinesis streaming is not in ACTIVE state. Updates are only allowed "
            f"in ACTIVE state. TableName: {body['name']}, kdsArn: {arn}"
        )
    if known["precision"] == precision:
        raise ValidationException(
            f"Invalid Request: Precision is already set to the desired value of {precision} "
            f"for tableId: {body['id']}, kdsArn: {arn}"
        )
    known["precision"] = precision
    response = _respond(body, arn, "UPDATING")
    return {**response, "UpdateKinesisStreamingConfiguration": {_PRECISION: precision}}


def _find_active(body: TableBody, arn: str) -> DestinationBody | None:
    for each in body.get("kinesis", []):
        if each["arn"] == arn and each["status"] == "ACTIVE":
            return each
    return None


def _respond(body: TableBody, arn: str, status: str) -> dict[str, Any]:
    return {"TableName": body["name"], "StreamArn": arn, "DestinationStatus": status}


def describe_destinations(body: TableBody, _: MetadataCall) -> dict[str, Any]:
    """Return the Kinesis streams that are recorded as destinations of a table's changes."""
    destinations = [
        {
            "StreamArn": each["arn"],
            "DestinationStatus": each["status"],
            _PRECISION: each["precision"],
        }
        for each in body.get("kinesis", [])
    ]
    return {"TableName": body["name"], "KinesisDataStreamDestinations": destinations}
