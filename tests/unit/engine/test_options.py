"""Opening and closing: invalid options, and closed engines."""

from __future__ import annotations

import json
import os
import pickle
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import EngineClosed, KeyfoldError, OptionInvalid
from tests.unit.engine.storage.tables import ADD_INDEX, CREATE, TABLE, create, get, put

KEY: dict[str, Any] = {"pk": {"S": "there"}}
ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"


@pytest.mark.parametrize("path", [None, "", b"", "a\0b", b"a\0b", 5, ["x"], "\ud800"])
def test_invalid_paths_are_refused(path: Any) -> None:
    with pytest.raises(OptionInvalid, match=r"^path: got .*\[option-invalid\]$") as refused:
        Engine.open(path)
    assert refused.value.option == "path"
    assert refused.value.received == path


def test_a_path_may_be_text_bytes_or_a_path(tmp_path: Path) -> None:
    file = tmp_path / "things.db"
    paths: list[Any] = [file, str(file), os.fsencode(file)]
    for path in paths:
        with Engine.open(path) as engine:
            assert engine.path == str(file)
            assert repr(engine) == f"<Engine {file}>"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        (option, value)
        for option in ("expiry_grace", "upkeep_seconds", "busy_seconds")
        for value in (float("nan"), float("inf"), -1, -0.001, "x", "5", b"1")
    ],
)
def test_invalid_durations_are_refused(option: str, value: Any) -> None:
    with pytest.raises(OptionInvalid, match=f"^{option}: got ") as refused:
        Engine.open(":memory:", **{option: value})
    assert (refused.value.option, refused.value.received) == (option, value)


def test_seconds_to_wait_for_another_process_may_not_be_none() -> None:
    absent: Any = {"busy_seconds": None}
    with pytest.raises(OptionInvalid, match=r"^busy_seconds: got None"):
        Engine.open(":memory:", **absent)
    Engine.open(":memory:", upkeep_seconds=None, expiry_grace=None).close()


@pytest.mark.parametrize(
    "value", [timedelta(seconds=-1), timedelta.max, True, "48h", 101 * 365 * 86_400]
)
def test_an_expiry_grace_out_of_range_is_refused(value: Any) -> None:
    with pytest.raises(OptionInvalid) as refused:
        Engine.open(":memory:", expiry_grace=value)
    assert str(refused.value) == (
        f"expiry_grace: got {value!r}. Give a duration from 0 to 100 years: a timedelta, or a "
        "number of seconds. [option-invalid]"
    )


def test_upkeep_needs_a_pause_between_runs() -> None:
    with pytest.raises(OptionInvalid, match=r"upkeep_seconds: got 0\b"):
        Engine.open(":memory:", upkeep_seconds=0)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("clock", None),
        ("clock", 5.0),
        ("new_id", "id"),
        ("region", ""),
        ("region", None),
        ("region", "zürich"),
        ("account", 5),
        ("account", ""),
        ("durability", "sure"),
        ("durability", 1),
        ("durability", "durable"),
        ("durability", "process"),
    ],
)
def test_invalid_option_values_are_refused(option: str, value: Any) -> None:
    with pytest.raises(OptionInvalid, match=f"^{option}: got ") as refused:
        Engine.open(":memory:", **{option: value})
    assert refused.value.option == option
    assert isinstance(refused.value, ValueError)


def test_memory_durability_is_refused_for_a_file(tmp_path: Path) -> None:
    with pytest.raises(OptionInvalid, match="durability: got 'memory'"):
        Engine.open(tmp_path / "things.db", durability="memory")
    assert list(tmp_path.iterdir()) == []


def test_region_and_account_appear_in_arns() -> None:
    with Engine.open(":memory:", region="eu-west-1", account="123456789012") as engine:
        described = engine.execute("CreateTable", CREATE)["TableDescription"]
        assert described["TableArn"] == f"arn:aws:dynamodb:eu-west-1:123456789012:table/{TABLE}"


def test_clock_and_ids_can_be_supplied_by_the_caller() -> None:
    with Engine.open(":memory:", clock=lambda: 5.25, new_id=lambda: "my-id") as engine:
        described = engine.execute("CreateTable", CREATE)["TableDescription"]
        assert (described["CreationDateTime"], described["TableId"]) == (5.25, "my-id")


def test_errors_about_options_and_closed_engines_survive_pickling() -> None:
    errors: list[KeyfoldError] = [OptionInvalid("path", "", "Name a file."), EngineClosed("x.db")]
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))


# Every operation that accesses the file.
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("BatchGetItem", {"RequestItems": {TABLE: {"Keys": [KEY]}}}),
    ("BatchWriteItem", {"RequestItems": {TABLE: [{"PutRequest": {"Item": KEY}}]}}),
    ("CreateTable", {**CREATE, "TableName": "Others"}),
    ("DeleteItem", {"TableName": TABLE, "Key": KEY}),
    ("DeleteTable", {"TableName": TABLE}),
    ("DescribeTable", {"TableName": TABLE}),
    ("DescribeTimeToLive", {"TableName": TABLE}),
    ("GetItem", {"TableName": TABLE, "Key": KEY}),
    ("GetItem", {"TableName": TABLE, "Key": KEY, "ConsistentRead": True}),
    ("ListTables", {}),
    ("ListTagsOfResource", {"ResourceArn": ARN}),
    ("PutItem", {"TableName": TABLE, "Item": KEY}),
    ("PutItem", {"TableName": TABLE, "Item": KEY, "ReturnValues": "ALL_OLD"}),
    (
        "Query",
        {
            "TableName": TABLE,
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": KEY["pk"]},
        },
    ),
    ("Scan", {"TableName": TABLE}),
    ("TagResource", {"ResourceArn": ARN, "Tags": [{"Key": "a", "Value": "b"}]}),
    ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": TABLE, "Key": KEY}}]}),
    ("TransactWriteItems", {"TransactItems": [{"Put": {"TableName": TABLE, "Item": KEY}}]}),
    ("UntagResource", {"ResourceArn": ARN, "TagKeys": ["a"]}),
    ("UpdateItem", {"TableName": TABLE, "Key": KEY}),
    ("UpdateTable", ADD_INDEX),
    (
        "UpdateTimeToLive",
        {"TableName": TABLE, "TimeToLiveSpecification": {"AttributeName": "t", "Enabled": True}},
    ),
]


@pytest.mark.parametrize("kind", ["memory", "file"])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_closed_engine_refuses_every_operation(tmp_path: Path, kind: str, is_known: bool) -> None:
    path = ":memory:" if kind == "memory" else str(tmp_path / "things.db")
    with Engine.open(path, upkeep_seconds=None) as engine:
        create(engine)
        if is_known:
            put(engine, "there")
            assert get(engine, "there") is not None
    for operation, request in REQUESTS:
        with pytest.raises(EngineClosed) as refused:
            engine.execute(operation, request)
        assert (
            str(refused.value) == f"engine on {path}: it is closed. Open another. [engine-closed]"
        )
        with pytest.raises(EngineClosed):
            engine.execute_json(operation, json.dumps(request).encode())
    with pytest.raises(EngineClosed):
        engine.run_upkeep()
    with pytest.raises(EngineClosed):
        engine.verify()


def test_an_open_engine_accepts_the_same_requests() -> None:
    for operation, request in REQUESTS:
        with Engine.open(":memory:") as engine:
            create(engine)
            put(engine, "there")
            engine.execute(operation, request)


def test_closing_an_engine_twice_is_allowed(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "things.db")
    create(engine)
    engine.close()
    engine.close()
    with Engine.open(tmp_path / "things.db") as again:
        assert again.execute("ListTables", {}) == {"TableNames": [TABLE]}
