"""Kinesis streaming destinations of tables: recorded and described, but nothing is sent."""

from __future__ import annotations

import logging
import re
from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.catalog import require_body, write_body
from keyfold.engine.tables.extras import DestinationBody
from keyfold.errors import ValidationException
from keyfold.values.wording import INVALID

DEFAULT_PRECISION = "MILLISECOND"

_log = logging.getLogger("keyfold.engine")
_ARN = re.compile(r"arn:[a-z0-9-]+:kinesis:[a-z0-9-]+:[0-9]+:stream/[a-zA-Z0-9_.-]{1,128}")
# The service uses this prefix also for requests that disable or update a destination.
_STATE = "Table is not in a valid state to enable Kinesis Streaming Destination: "


def check_stream_arn(arn: str) -> None:
    """Raise ValidationException unless an ARN is that of a Kinesis stream."""
    if not _ARN.fullmatch(arn):
        raise ValidationException(f"{INVALID}StreamArn is not the ARN of a Kinesis stream: {arn}")


def enable_destination(context: EngineContext, table: str, arn: str, precision: str) -> None:
    """Record a Kinesis stream as the destination of a table's changes, and log a warning."""

    def work(writer: StorageWriter) -> None:
        body = require_body(writer, table)
        others = [each for each in body.get("kinesis", []) if each["arn"] != arn]
        # Only one stream may be active at a time.
        if any(each["status"] == "ACTIVE" for each in body.get("kinesis", [])):
            raise ValidationException(
                f"{_STATE}EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED "
                "to perform ENABLE operation."
            )
        added = DestinationBody(arn=arn, status="ACTIVE", precision=precision)
        body["kinesis"] = [*others, added]
        write_body(writer, body)

    context.storage.write(work)
    _log.warning("table %s: Kinesis stream %s is recorded, but nothing is sent to it", table, arn)


def disable_destination(context: EngineContext, table: str, arn: str) -> None:
    """Record that a table's destination is disabled."""

    def work(writer: StorageWriter) -> None:
        body = require_body(writer, table)
        known = _find_active(body.get("kinesis", []), arn)
        if known is None:
            raise ValidationException(
                f"{_STATE}KinesisStreamingDestination must be ACTIVE to perform DISABLE operation."
            )
        known["status"] = "DISABLED"
        write_body(writer, body)

    context.storage.write(work)


def update_destination(context: EngineContext, table: str, arn: str, precision: str) -> None:
    """Record another precision for the timestamps of a destination."""

    def work(writer: StorageWriter) -> None:
        body = require_body(writer, table)
        known = _find_active(body.get("kinesis", []), arn)
        if known is None:
            raise ValidationException(
                f"{_STATE}Kinesis streaming is not in ACTIVE state. Updates are only allowed "
                f"in ACTIVE state. TableName: {table}, kdsArn: {arn}"
            )
        if known["precision"] == precision:
            raise ValidationException(
                f"Invalid Request: Precision is already set to the desired value of {precision} "
                f"for tableId: {body['id']}, kdsArn: {arn}"
            )
        known["precision"] = precision
        write_body(writer, body)

    context.storage.write(work)


def _find_active(destinations: list[DestinationBody], arn: str) -> DestinationBody | None:
    return next((each for each in destinations if _is_active(each, arn)), None)


def _is_active(destination: DestinationBody, arn: str) -> bool:
    return destination["arn"] == arn and destination["status"] == "ACTIVE"


def describe_destinations(destinations: list[DestinationBody]) -> list[dict[str, Any]]:
    """Return the KinesisDataStreamDestinations of a table."""
    return [
        {
            "StreamArn": each["arn"],
            "DestinationStatus": each["status"],
            "ApproximateCreationDateTimePrecision": each["precision"],
        }
        for each in destinations
    ]
