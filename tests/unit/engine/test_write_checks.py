"""Write checks: what the engine shows a check, and what it does with a refusal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.api import ProposedWrite
from keyfold.engine import Engine
from keyfold.errors import (
    ConditionalCheckFailedException,
    OptionInvalid,
    ServiceError,
    TransactionCanceledException,
    ValidationException,
)
from keyfold.values import Item
from tests.unit.engine.clocks import Clock

CREATE: dict[str, Any] = {
    "TableName": "Things",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
MESSAGE = "it is bad"
BAD = {"pk": {"S": "a"}, "bad": {"BOOL": True}}
KEY = {"pk": {"S": "a"}}
NAMED = {"TableName": "Things"}


def refuse_bad(write: ProposedWrite) -> str | None:
    """Refuse items with `bad`, and deletes of items with `kept`."""
    if write.after is None:
        return MESSAGE if "kept" in (write.before or {}) else None
    return MESSAGE if "bad" in write.after else None


class Recorder:
    """Accepts every write, and records what it was shown."""

    def __init__(self) -> None:
        self.seen: list[tuple[Item | None, Item | None, bool]] = []
        self.found: list[Item | None] = []

    def __call__(self, write: ProposedWrite) -> str | None:
        self.seen.append((write.before, write.after, write.is_put))
        self.found = [write.find({"pk": {"S": name}}) for name in "abc"]
        return None


def open_engine(check: Any, **more: Any) -> Engine:
    engine = Engine.open(":memory:", upkeep_seconds=None, write_checks={"Things": check}, **more)
    engine.execute("CreateTable", CREATE)
    return engine


@pytest.fixture
def engine() -> Iterator[Engine]:
    with open_engine(refuse_bad) as engine:
        yield engine
        assert engine.verify() == []


def items(engine: Engine) -> list[Item]:
    return engine.execute("Scan", NAMED)["Items"]


def put(engine: Engine, item: Item, **more: Any) -> None:
    engine.execute("PutItem", {**NAMED, "Item": item, **more})


UPDATE = {"UpdateExpression": "SET bad = :b", "ExpressionAttributeValues": {":b": {"BOOL": True}}}
INSERT = {"Statement": "INSERT INTO Things VALUE {'pk': 'a', 'bad': true}"}
REVISE = {"Statement": "UPDATE Things SET bad = true WHERE pk = 'z'"}


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("PutItem", {**NAMED, "Item": BAD}),
        ("PutItem", {**NAMED, "Item": BAD, "ReturnValues": "ALL_OLD"}),
        ("PutItem", {**NAMED, "Item": BAD, "ConditionExpression": "attribute_not_exists(pk)"}),
        ("UpdateItem", {**NAMED, "Key": KEY, **UPDATE}),
        ("UpdateItem", {**NAMED, "Key": {"pk": {"S": "z"}}, **UPDATE}),
        (
            "UpdateItem",
            {**NAMED, "Key": KEY, "AttributeUpdates": {"bad": {"Value": {"S": "x"}}}},
        ),
        ("ExecuteStatement", INSERT),
        ("ExecuteStatement", REVISE),
        (
            "BatchWriteItem",
            {
                "RequestItems": {
                    "Things": [{"PutRequest": {"Item": each}} for each in ({"pk": {"S": "b"}}, BAD)]
                }
            },
        ),
    ],
)
def test_a_refusal_is_a_validation_exception(
    engine: Engine, operation: str, request_: dict[str, Any]
) -> None:
    put(engine, {"pk": {"S": "z"}})
    with pytest.raises(ValidationException, match=MESSAGE):
        engine.execute(operation, request_)
    assert items(engine) == [{"pk": {"S": "z"}}]


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("DeleteItem", {**NAMED, "Key": KEY}),
        ("ExecuteStatement", {"Statement": "DELETE FROM Things WHERE pk = 'a'"}),
        ("BatchWriteItem", {"RequestItems": {"Things": [{"DeleteRequest": {"Key": KEY}}]}}),
    ],
)
def test_deletes_are_checked(engine: Engine, operation: str, request_: dict[str, Any]) -> None:
    put(engine, {**KEY, "kept": {"BOOL": True}})
    with pytest.raises(ValidationException, match=MESSAGE):
        engine.execute(operation, request_)
    put(engine, KEY)
    engine.execute(operation, request_)
    assert items(engine) == []


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        (
            "TransactWriteItems",
            {
                "TransactItems": [
                    {"Put": {**NAMED, "Item": {"pk": {"S": "b"}}}},
                    {"Put": {**NAMED, "Item": BAD}},
                ]
            },
        ),
        (
            "TransactWriteItems",
            {
                "TransactItems": [
                    {"Put": {**NAMED, "Item": {"pk": {"S": "b"}}}},
                    {"Update": {**NAMED, "Key": KEY, **UPDATE}},
                ]
            },
        ),
        (
            "ExecuteTransaction",
            {
                "TransactStatements": [
                    {"Statement": "INSERT INTO Things VALUE {'pk': 'b'}"},
                    INSERT,
                ]
            },
        ),
    ],
)
def test_a_transaction_is_cancelled_with_the_reason(
    engine: Engine, operation: str, request_: dict[str, Any]
) -> None:
    with pytest.raises(TransactionCanceledException) as caught:
        engine.execute(operation, request_)
    reasons = caught.value.fields["CancellationReasons"]
    assert reasons == [{"Code": "None"}, {"Code": "ValidationError", "Message": MESSAGE}]
    assert items(engine) == []


def test_each_statement_of_a_batch_is_checked_separately(engine: Engine) -> None:
    good = {"Statement": "INSERT INTO Things VALUE {'pk': 'b'}"}
    response = engine.execute("BatchExecuteStatement", {"Statements": [INSERT, good]})
    assert response["Responses"] == [
        {"Error": {"Code": "ValidationError", "Message": MESSAGE}, "TableName": "Things"},
        {"TableName": "Things"},
    ]
    assert items(engine) == [{"pk": {"S": "b"}}]


def test_each_of_the_writes_in_one_commit_is_checked(engine: Engine) -> None:
    calls = [("PutItem", {**NAMED, "Item": each}) for each in ({"pk": {"S": "b"}}, BAD, KEY)]
    results = engine.execute_together(calls)
    assert [isinstance(each, ServiceError) for each in results] == [False, True, False]
    assert len(items(engine)) == 2


def test_a_condition_is_decided_before_the_check(engine: Engine) -> None:
    put(engine, KEY)
    condition = {"ConditionExpression": "attribute_not_exists(pk)"}
    with pytest.raises(ConditionalCheckFailedException):
        put(engine, BAD, **condition)
    with pytest.raises(ConditionalCheckFailedException):
        put(engine, BAD, **condition, ReturnValues="ALL_OLD")


def test_a_check_sees_the_item_before_and_after() -> None:
    recorder = Recorder()
    with open_engine(recorder) as engine:
        put(engine, {**KEY, "n": {"N": "1.0"}})
        put(engine, {**KEY, "n": {"N": "2"}}, ReturnValues="ALL_OLD")
        update = {"UpdateExpression": "SET n = :n", "ExpressionAttributeValues": {":n": {"N": "3"}}}
        engine.execute("UpdateItem", {**NAMED, "Key": KEY, **update})
        batch = [{"PutRequest": {"Item": {**KEY, "n": {"N": "4"}}}}]
        engine.execute("BatchWriteItem", {"RequestItems": {"Things": batch}})
        engine.execute("DeleteItem", {**NAMED, "Key": KEY})
    one, two, three, four = ({**KEY, "n": {"N": n}} for n in "1234")
    assert recorder.seen == [
        (None, one, True),
        (one, two, True),
        (two, three, False),
        (three, four, True),
        (four, None, False),
    ]


def test_a_check_sees_other_items_as_they_are_after_the_transaction() -> None:
    recorder = Recorder()
    with open_engine(recorder) as engine:
        put(engine, {"pk": {"S": "a"}})
        put(engine, {"pk": {"S": "b"}})
        members = [
            {"Delete": {**NAMED, "Key": {"pk": {"S": "a"}}}},
            {
                "ConditionCheck": {
                    **NAMED,
                    "Key": {"pk": {"S": "b"}},
                    "ConditionExpression": "attribute_exists(pk)",
                }
            },
            {"Put": {**NAMED, "Item": {"pk": {"S": "c"}, "n": {"N": "1"}}}},
        ]
        recorder.seen.clear()
        engine.execute("TransactWriteItems", {"TransactItems": members})
        assert recorder.found == [None, {"pk": {"S": "b"}}, {"pk": {"S": "c"}, "n": {"N": "1"}}]
        # A condition check writes nothing.
        assert len(recorder.seen) == 2


def test_what_changes_nothing_is_not_checked() -> None:
    recorder = Recorder()
    with open_engine(recorder) as engine:
        engine.execute("DeleteItem", {**NAMED, "Key": KEY})
        engine.execute("UpdateItem", {**NAMED, "Key": KEY, "UpdateExpression": "REMOVE n"})
    assert recorder.seen == []


def test_other_tables_are_not_checked(engine: Engine) -> None:
    engine.execute("CreateTable", {**CREATE, "TableName": "Others"})
    engine.execute("PutItem", {"TableName": "Others", "Item": BAD})


def test_monitored_tables_are_checked(engine: Engine) -> None:
    throughput = {"ReadCapacityUnits": 100, "WriteCapacityUnits": 100}
    billing = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": throughput}
    engine.execute("UpdateTable", {**NAMED, **billing})
    with pytest.raises(ValidationException, match=MESSAGE):
        put(engine, BAD)


def test_a_table_by_arn_is_checked(engine: Engine) -> None:
    arn = engine.execute("DescribeTable", NAMED)["Table"]["TableArn"]
    with pytest.raises(ValidationException, match=MESSAGE):
        engine.execute("PutItem", {"TableName": arn, "Item": BAD})


def test_a_table_that_is_created_again_is_checked(engine: Engine) -> None:
    engine.execute("DeleteTable", NAMED)
    engine.execute("CreateTable", CREATE)
    with pytest.raises(ValidationException, match=MESSAGE):
        put(engine, BAD)


def test_expiry_is_exempt() -> None:
    clock = Clock()
    with open_engine(refuse_bad, clock=clock, expiry_grace=0) as engine:
        setting = {"Enabled": True, "AttributeName": "ttl"}
        engine.execute("UpdateTimeToLive", {**NAMED, "TimeToLiveSpecification": setting})
        put(engine, {**KEY, "kept": {"BOOL": True}, "ttl": {"N": str(int(clock() - 10))}})
        assert engine.run_upkeep() == 1
        assert items(engine) == []


def test_a_restore_brings_back_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    with Engine.open(path, upkeep_seconds=None) as engine:
        engine.execute("CreateTable", CREATE)
        put(engine, BAD)
        backup = engine.execute("CreateBackup", {**NAMED, "BackupName": "before"})
        engine.execute("DeleteTable", NAMED)
    with Engine.open(path, upkeep_seconds=None, write_checks={"Things": refuse_bad}) as engine:
        arn = backup["BackupDetails"]["BackupArn"]
        engine.execute("RestoreTableFromBackup", {"TargetTableName": "Things", "BackupArn": arn})
        engine.run_upkeep()
        assert items(engine) == [BAD]
        with pytest.raises(ValidationException, match=MESSAGE):
            put(engine, BAD)


def write_lines(folder: Path, *found: Item) -> None:
    folder.mkdir(parents=True)
    (folder / "items.json").write_text("\n".join(json.dumps({"Item": each}) for each in found))


def test_an_import_counts_a_refused_item_as_an_error(tmp_path: Path) -> None:
    write_lines(tmp_path / "in", BAD, {"pk": {"S": "b"}})
    checks = {"Imported": refuse_bad}
    with Engine.open(
        ":memory:", upkeep_seconds=None, buckets=tmp_path, write_checks=checks
    ) as engine:
        request = {
            "S3BucketSource": {"S3Bucket": "in"},
            "InputFormat": "DYNAMODB_JSON",
            "TableCreationParameters": {**CREATE, "TableName": "Imported"},
        }
        arn = engine.execute("ImportTable", request)["ImportTableDescription"]["ImportArn"]
        engine.run_upkeep()
        described = engine.execute("DescribeImport", {"ImportArn": arn})["ImportTableDescription"]
        assert (described["ImportedItemCount"], described["ErrorCount"]) == (1, 1)
        assert engine.execute("Scan", {"TableName": "Imported"})["Items"] == [{"pk": {"S": "b"}}]


def test_a_bulk_operation_reports_a_refused_item(tmp_path: Path) -> None:
    write_lines(tmp_path / "in", BAD, {"pk": {"S": "b"}})
    (tmp_path / "out").mkdir()
    with open_engine(refuse_bad, buckets=tmp_path) as engine:
        request = {
            **NAMED,
            "ClientToken": "token",
            "InputS3Configuration": {"S3Bucket": "in", "InputFormat": "DYNAMODB_JSON"},
            "OutputS3Configuration": {"S3Bucket": "out", "OutputType": ["ERROR"]},
        }
        engine.execute("StartBulkPutItems", request)
        engine.run_upkeep()
        assert items(engine) == [{"pk": {"S": "b"}}]
    reports = [path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert any(MESSAGE in text for text in reports)


@pytest.mark.parametrize("given", [{"Things": 1}, [refuse_bad], 1])
def test_checks_are_functions_by_table(given: Any) -> None:
    with pytest.raises(OptionInvalid, match="write_checks"):
        Engine.open(":memory:", write_checks=given)
