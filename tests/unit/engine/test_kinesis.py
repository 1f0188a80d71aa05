"""Kinesis destinations: stored and described, with a warning that nothing is sent."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import ResourceNotFoundException, ValidationException
from tests.unit.engine.storage.tables import TABLE, create

STREAM = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"
NAMED = {"TableName": TABLE, "StreamArn": STREAM}


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        create(engine)
        yield engine


def _list(engine: Engine) -> list[tuple[str, str]]:
    answer = engine.execute("DescribeKinesisStreamingDestination", {"TableName": TABLE})
    assert answer["TableName"] == TABLE
    return [
        (each["DestinationStatus"], each["ApproximateCreationDateTimePrecision"])
        for each in answer["KinesisDataStreamDestinations"]
    ]


def _precision(kind: str, precision: str) -> dict[str, Any]:
    name = f"{kind}KinesisStreamingConfiguration"
    return {**NAMED, name: {"ApproximateCreationDateTimePrecision": precision}}


def test_a_destination_is_enabled_changed_and_disabled(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    assert _list(engine) == []
    with caplog.at_level(logging.WARNING, logger="keyfold.engine"):
        answer = engine.execute("EnableKinesisStreamingDestination", NAMED)
    assert answer["DestinationStatus"] == "ENABLING"
    assert "nothing is sent to it" in caplog.text
    assert _list(engine) == [("ACTIVE", "MILLISECOND")]
    request = _precision("Update", "MICROSECOND")
    answer = engine.execute("UpdateKinesisStreamingDestination", request)
    assert answer == {**request, "DestinationStatus": "UPDATING"}
    assert _list(engine) == [("ACTIVE", "MICROSECOND")]
    answer = engine.execute("DisableKinesisStreamingDestination", NAMED)
    assert answer == {**NAMED, "DestinationStatus": "DISABLING"}
    assert _list(engine) == [("DISABLED", "MICROSECOND")]
    engine.execute("EnableKinesisStreamingDestination", _precision("Enable", "MICROSECOND"))
    assert _list(engine) == [("ACTIVE", "MICROSECOND")]


def test_a_destination_in_the_wrong_state_is_refused(engine: Engine) -> None:
    with pytest.raises(ValidationException, match="must be ACTIVE to perform DISABLE operation"):
        engine.execute("DisableKinesisStreamingDestination", NAMED)
    with pytest.raises(ValidationException, match="Updates are only allowed in ACTIVE state"):
        engine.execute("UpdateKinesisStreamingDestination", _precision("Update", "MICROSECOND"))
    engine.execute("EnableKinesisStreamingDestination", NAMED)
    with pytest.raises(ValidationException, match="must be DISABLED or ENABLE_FAILED"):
        engine.execute("EnableKinesisStreamingDestination", NAMED)
    other = {**NAMED, "StreamArn": STREAM + "-too"}
    with pytest.raises(ValidationException, match="must be DISABLED or ENABLE_FAILED"):
        engine.execute("EnableKinesisStreamingDestination", other)
    with pytest.raises(ValidationException, match="Stream cannot be disabled using"):
        engine.execute("DisableKinesisStreamingDestination", _precision("Enable", "MICROSECOND"))
    with pytest.raises(ValidationException, match="Precision is already set"):
        engine.execute("UpdateKinesisStreamingDestination", _precision("Update", "MILLISECOND"))
    with pytest.raises(ValidationException, match="cannot be null or contain only null values"):
        engine.execute("UpdateKinesisStreamingDestination", NAMED)


def test_invalid_streams_and_missing_tables_are_refused(engine: Engine) -> None:
    other = "arn:aws:sqs:us-east-1:000000000000:a-queue-and-no-stream"
    with pytest.raises(ValidationException, match="is not the ARN of a Kinesis stream"):
        engine.execute("EnableKinesisStreamingDestination", {**NAMED, "StreamArn": other})
    for operation in ("EnableKinesisStreamingDestination", "DescribeKinesisStreamingDestination"):
        with pytest.raises(ResourceNotFoundException):
            engine.execute(operation, {**NAMED, "TableName": "Absent"})
