"""Rows that are JSON but not items: operations that read one report a damaged file."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from keyfold.engine import Engine
from keyfold.engine.operations import LOADED, load_operation
from keyfold.errors import FileDamaged, ServiceError

TABLE = "Things"
KEY = {"pk": {"S": "a"}}
ONE = {":one": {"N": "1"}}

NOT_ITEMS = [
    "[]",
    "7",
    "null",
    '"text"',
    '{"pk": "a", "n": "5"}',
    '{"pk": {"S": "a"}, "n": 5}',
    '{"pk": {"S": "a"}, "n": null}',
    '{"pk": {"S": "a"}, "n": {}}',
    '{"pk": {"S": "a"}, "n": {"N": "five"}}',
    '{"pk": {"S": "a"}, "n": {"N": 5}}',
    '{"pk": {"S": "a"}, "n": {"N": []}}',
    '{"pk": {"S": "a"}, "n": {"L": 5}}',
    '{"pk": {"S": "a"}, "n": {"B": 5}}',
    '{"pk": {"S": "a"}, "n": {"?": 5}}',
    '{"n": {"N": "5"}}',
]

ADD = {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": ONE}
FILTER = {"FilterExpression": "n > :one", "ExpressionAttributeValues": ONE}
CONDITION = {"ConditionExpression": "n > :one", "ExpressionAttributeValues": ONE}
PIN = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "a"}}}
PUT = {"Item": {**KEY, "n": {"N": "6"}}}

REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("GetItem", {"Key": KEY}),
    ("GetItem", {"Key": KEY, "ProjectionExpression": "n"}),
    ("GetItem", {"Key": KEY, "ProjectionExpression": "n[0].a"}),
    ("Query", PIN),
    ("Query", {**PIN, "ProjectionExpression": "n"}),
    (
        "Query",
        {
            **PIN,
            "FilterExpression": "n > :one",
            "ExpressionAttributeValues": {":pk": {"S": "a"}, **ONE},
        },
    ),
    ("Scan", {}),
    ("Scan", {"Limit": 1}),
    ("Scan", FILTER),
    ("Scan", {"IndexName": "by-n"}),
    ("Scan", {"IndexName": "by-n", "Limit": 1}),
    ("PutItem", PUT),
    ("PutItem", {**PUT, "ReturnValues": "ALL_OLD"}),
    ("PutItem", {**PUT, **CONDITION}),
    ("UpdateItem", {"Key": KEY, **ADD}),
    ("UpdateItem", {"Key": KEY, **ADD, "ReturnValues": "ALL_NEW"}),
    ("UpdateItem", {"Key": KEY, "UpdateExpression": "REMOVE n[0]"}),
    ("DeleteItem", {"Key": KEY}),
    ("DeleteItem", {"Key": KEY, **CONDITION, "ReturnValues": "ALL_OLD"}),
]
TOGETHER: list[tuple[str, dict[str, Any]]] = [
    ("BatchGetItem", {"RequestItems": {TABLE: {"Keys": [KEY], "ProjectionExpression": "n"}}}),
    ("BatchWriteItem", {"RequestItems": {TABLE: [{"DeleteRequest": {"Key": KEY}}]}}),
    ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": TABLE, "Key": KEY}}]}),
    (
        "TransactWriteItems",
        {"TransactItems": [{"Update": {"TableName": TABLE, "Key": KEY, **ADD}}]},
    ),
    ("ExecuteStatement", {"Statement": f"SELECT n[0] FROM {TABLE} WHERE n > 1"}),
    ("ExecuteStatement", {"Statement": f"UPDATE {TABLE} SET n = n + 1 WHERE pk = 'a'"}),
]
ALL = [*((name, {"TableName": TABLE, **request}) for name, request in REQUESTS), *TOGETHER]


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an undamaged file with one item, which is also in an index."""
    path = tmp_path_factory.mktemp("undamaged") / "things.db"
    with Engine.open(path, upkeep_seconds=None) as engine:
        engine.execute(
            "CreateTable",
            {
                "TableName": TABLE,
                "AttributeDefinitions": [
                    {"AttributeName": "pk", "AttributeType": "S"},
                    {"AttributeName": "n", "AttributeType": "N"},
                ],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "by-n",
                        "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "KEYS_ONLY"},
                    }
                ],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        item = {**KEY, "n": {"N": "5"}, "more": {"S": "x"}}
        engine.execute("PutItem", {"TableName": TABLE, "Item": item})
    return path


def damage(undamaged: Path, folder: Path, text: str) -> Path:
    """Copy the file, with the item's row replaced by another text."""
    path = folder / "damaged.db"
    path.write_bytes(undamaged.read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'r1v_'")
        (rows,) = next(iter(found))
        changed = connection.execute(f"UPDATE {rows} SET v = ?", [text.encode()])
        assert changed.rowcount == 1
        connection.commit()
    return path


@pytest.mark.parametrize("text", NOT_ITEMS)
def test_every_operation_on_a_damaged_item_reports_it_or_a_service_error(
    undamaged: Path, tmp_path: Path, text: str, subtests: pytest.Subtests
) -> None:
    content = damage(undamaged, tmp_path, text).read_bytes()
    for place, (operation, request) in enumerate(ALL):
        with subtests.test(operation=operation, request=request):
            path = tmp_path / f"{place}.db"
            path.write_bytes(content)
            with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
                assert engine.verify() != []
                # Operations that do not read the item, or fail before, give their normal outcome.
                with suppress(FileDamaged, ServiceError):
                    engine.execute(operation, request)


def test_the_error_says_which_row_is_damaged_and_why(undamaged: Path, tmp_path: Path) -> None:
    path = damage(undamaged, tmp_path, "7")
    with Engine.open(path, upkeep_seconds=None) as engine:
        for _ in range(2):
            with pytest.raises(FileDamaged) as raised:
                engine.execute("UpdateItem", {"TableName": TABLE, "Key": KEY, **ADD})
            assert raised.value.path == str(path)
            assert raised.value.detail == str(engine.verify()[0])
            assert raised.value.__cause__ is not None


@pytest.mark.parametrize("method", ["try_fast", "run"])
def test_a_bug_is_not_reported_as_a_damaged_file(undamaged: Path, method: str) -> None:
    operation = load_operation("GetItem")
    fail = mock.Mock(side_effect=ZeroDivisionError("a bug"))
    buggy = operation._replace(**{"try_fast": None, method: fail})
    with (
        Engine.open(undamaged, upkeep_seconds=None) as engine,
        mock.patch.dict(LOADED, {"GetItem": buggy}),
        pytest.raises(ZeroDivisionError, match="a bug"),
    ):
        engine.execute("GetItem", {"TableName": TABLE, "Key": KEY})


def test_requests_that_share_a_commit_with_a_damaged_item_succeed(
    undamaged: Path, tmp_path: Path
) -> None:
    with Engine.open(damage(undamaged, tmp_path, "7"), upkeep_seconds=None) as engine:
        other = {"pk": {"S": "b"}}
        calls = [
            ("PutItem", {"TableName": TABLE, "Item": other}),
            ("UpdateItem", {"TableName": TABLE, "Key": KEY, **ADD}),
            ("UpdateItem", {"TableName": TABLE, "Key": other, **ADD}),
        ]
        outcomes = engine.execute_together(calls)
        assert [outcomes[0], outcomes[2]] == [{}, {}]
        assert isinstance(outcomes[1], FileDamaged)
        found = engine.execute("GetItem", {"TableName": TABLE, "Key": other})["Item"]
        assert found == {**other, "n": {"N": "1"}}
