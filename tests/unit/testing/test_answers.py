"""Responses of in-process clients equal those that botocore parses from the wire.

Every conformance case runs on both: a service that builds botocore's response directly, and an
engine whose JSON goes through botocore's parser.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator
from copy import copy
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyfold.engine import Engine
from keyfold.errors import EngineClosed, ServiceError
from keyfold.testing import Clock, FaultProfile
from keyfold.testing._answers import answer
from keyfold.testing._core import Core
from keyfold.testing._operations import changes_tables
from tests.conformance.cases import Case, Step, case_files, fill_in, load_cases, with_said
from tests.unit.testing.tables import CREATE, TABLE, key_of, make_item

NOW = 1_800_000_000.0


class Models:
    """Botocore's models of the service and of its streams, combined."""

    def __init__(self) -> None:
        session = import_module("botocore.session").get_session()
        self._models = [session.get_service_model(name) for name in ("dynamodb", "dynamodbstreams")]

    def operation_model(self, name: str) -> Any:
        (model,) = [model for model in self._models if name in model.operation_names]
        return model.operation_model(name)

    def shape_for_error_code(self, code: str) -> Any:
        shapes = [model.shape_for_error_code(code) for model in self._models]
        return next((shape for shape in shapes if shape is not None), None)


@pytest.fixture(scope="module")
def model() -> Any:
    return Models()


@pytest.fixture
def core() -> Iterator[Core]:
    core = Core(clock=Clock(NOW), faults=FaultProfile(), region="us-east-1")
    yield core
    assert core.engine.verify() == []
    core.close()


@pytest.fixture
def same_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make table ids deterministic, so that they are the same in both engines."""
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=7))


def ask_in_process(core: Core, model: Any, step: Step) -> dict[str, Any]:
    http, parsed = answer(core, model.operation_model(step.operation), orjson.dumps(step.request))
    metadata = parsed.pop("ResponseMetadata")
    assert metadata["HTTPStatusCode"] == http.status_code
    assert metadata["RetryAttempts"] == 0
    assert metadata["HTTPHeaders"]["x-amzn-requestid"] == metadata["RequestId"]
    return {"status": http.status_code, **parsed}


def ask_by_parser(engine: Engine, model: Any, step: Step) -> dict[str, Any]:
    """Return what botocore parses from the bytes that the service would send."""
    parser = import_module("botocore.parsers").create_parser("json")
    operation = model.operation_model(step.operation)
    received: dict[str, Any]
    try:
        body = engine.execute_json(step.operation, orjson.dumps(step.request))
        received = {"status_code": 200, "headers": {}, "body": body}
        parsed = parser.parse(received, operation.output_shape)
    except ServiceError as error:
        shape = model.shape_for_error_code(error.type)
        name = "Message" if shape is not None and "Message" in shape.members else "message"
        sent = {"__type": error.qualified_type, **error.fields}
        if error.message:
            sent[name] = error.message
        received = {"status_code": error.status, "headers": {}, "body": orjson.dumps(sent)}
        parsed = parser.parse(received, operation.output_shape)
        if shape is not None:
            parsed |= parser.parse(received, shape)
    del parsed["ResponseMetadata"]
    return {"status": received["status_code"], **parsed}


def compare(case: Case, core: Core, engine: Engine, model: Any) -> int:
    """Run a case on both; return the number of equal responses."""
    compared = 0
    answers: list[dict[str, Any]] = []
    for step in (*case.setup, *case.steps):
        if not step.operation:
            core.clock.advance(step.advance_seconds)
            engine.run_upkeep()
            continue
        request = with_said(fill_in(step.request, engine.execute), answers)
        known = Step(step.operation, request, None)
        expected = ask_by_parser(engine, model, known)
        answers.append(expected)
        if changes_tables(step.operation):
            engine.run_upkeep()
        assert ask_in_process(core, model, known) == expected, case.id
        compared += 1
    return compared


@pytest.mark.usefixtures("same_ids")
@pytest.mark.parametrize("path", case_files(), ids=lambda path: path.stem)
def test_every_case_is_answered_as_over_the_wire(path: Path, model: Any, tmp_path: Path) -> None:
    compared = 0
    (tmp_path / "bucket").mkdir()
    for case in load_cases([path]):
        clock = Clock(NOW)
        core = Core(clock=clock, faults=FaultProfile(), region="us-east-1", buckets=tmp_path)
        with Engine.open(
            ":memory:", clock=clock, expiry_grace=0, upkeep_seconds=None, buckets=tmp_path
        ) as engine:
            compared += compare(case, core, engine, model)
        core.close()
    assert compared


def test_timestamps_are_datetimes(core: Core, model: Any) -> None:
    _, parsed = answer(core, model.operation_model("CreateTable"), orjson.dumps(CREATE))
    created: datetime = parsed["TableDescription"]["CreationDateTime"]
    assert created.tzinfo is not None
    assert created.timestamp() == NOW


def test_a_body_may_be_text(core: Core, model: Any) -> None:
    for operation, request in (("CreateTable", CREATE), ("Scan", {"TableName": TABLE})):
        body = orjson.dumps(request).decode()
        http, _ = answer(core, model.operation_model(operation), body)
        assert http.status_code == 200


def test_every_response_has_a_unique_id(core: Core, model: Any) -> None:
    operation = model.operation_model("ListTables")
    ids = {answer(core, operation, b"{}")[1]["ResponseMetadata"]["RequestId"] for _ in range(3)}
    assert len(ids) == 3
    assert {len(each) for each in ids} == {52}


def test_unprocessed_items_have_binaries_as_bytes(core: Core, model: Any) -> None:
    core.execute("CreateTable", CREATE)
    core.set_faults(FaultProfile(unprocessed=1.0))
    text = base64.b64encode(b"raw").decode()
    puts = [{"PutRequest": {"Item": make_item(song, b={"B": text})}} for song in "ab"]
    body = orjson.dumps({"RequestItems": {TABLE: puts}})
    _, parsed = answer(core, model.operation_model("BatchWriteItem"), body)
    (left,) = parsed["UnprocessedItems"][TABLE]
    assert left["PutRequest"]["Item"]["b"] == {"B": b"raw"}


def test_unprocessed_keys_have_binaries_as_bytes(core: Core, model: Any) -> None:
    core.execute(
        "CreateTable",
        {
            "TableName": "Blobs",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "B"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        },
    )
    core.set_faults(FaultProfile(unprocessed=1.0))
    keys = [{"id": {"B": base64.b64encode(each).decode()}} for each in (b"x", b"y")]
    body = orjson.dumps({"RequestItems": {"Blobs": {"Keys": keys, "ConsistentRead": True}}})
    _, parsed = answer(core, model.operation_model("BatchGetItem"), body)
    expected = {"Keys": [{"id": {"B": b"y"}}], "ConsistentRead": True}
    assert parsed["UnprocessedKeys"] == {"Blobs": expected}


def test_changing_a_response_does_not_affect_the_engine(core: Core, model: Any) -> None:
    core.execute("CreateTable", CREATE)
    describe = model.operation_model("DescribeTable")
    body = orjson.dumps({"TableName": TABLE})
    first = answer(core, describe, body)[1]["Table"]
    first["KeySchema"].clear()
    first["GlobalSecondaryIndexes"][0].clear()
    second = answer(core, describe, body)[1]["Table"]
    assert [each["AttributeName"] for each in second["KeySchema"]] == ["artist", "song"]
    assert second["GlobalSecondaryIndexes"][0]["IndexName"] == "ByGenre"


def test_an_error_that_is_not_the_services_is_raised(core: Core, model: Any) -> None:
    core.execute("CreateTable", CREATE)
    core.engine.close()
    body = orjson.dumps({"TableName": TABLE, "Key": key_of("a")})
    with pytest.raises(EngineClosed):
        answer(core, model.operation_model("GetItem"), body)
    core.reset()


def test_an_unknown_operation_is_refused(core: Core, model: Any) -> None:
    unknown = copy(model.operation_model("ListTables"))
    unknown.name = "ListNothing"
    http, parsed = answer(core, unknown, b"{}")
    assert http.status_code == 400
    assert parsed["Error"]["Code"] == "UnknownOperationException"
