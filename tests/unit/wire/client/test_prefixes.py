"""Table prefixes: added to every table name in requests, removed from those in responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.wire.client import Client
from keyfold.wire.client._prefixes import TablePrefix
from keyfold.wire.server import Server

PREFIX = TablePrefix("dev-")
ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/"
# An item whose attribute names are those that the API uses for tables.
ODD = {
    "TableName": {"S": "Music"},
    "RequestItems": {"M": {"Music": {"S": "x"}}},
    "Statement": {"S": "SELECT * FROM Music"},
    "TableArn": {"S": f"{ARN}Music"},
}


@pytest.mark.parametrize(
    ("operation", "request_", "expected"),
    [
        ("GetItem", {"TableName": "Music", "Key": ODD}, {"TableName": "dev-Music", "Key": ODD}),
        ("GetItem", {"TableName": f"{ARN}Music"}, {"TableName": f"{ARN}dev-Music"}),
        (
            "BatchGetItem",
            {"RequestItems": {"Music": {"Keys": [ODD]}, f"{ARN}Film": {"Keys": [ODD]}}},
            {"RequestItems": {"dev-Music": {"Keys": [ODD]}, f"{ARN}dev-Film": {"Keys": [ODD]}}},
        ),
        (
            "TransactWriteItems",
            {"TransactItems": [{"Put": {"TableName": "Music", "Item": ODD}}]},
            {"TransactItems": [{"Put": {"TableName": "dev-Music", "Item": ODD}}]},
        ),
        (
            "Query",
            {"TableName": "Music", "ExclusiveStartKey": ODD, "ExpressionAttributeValues": ODD},
            {"TableName": "dev-Music", "ExclusiveStartKey": ODD, "ExpressionAttributeValues": ODD},
        ),
        (
            "TagResource",
            {"ResourceArn": f"{ARN}Music", "Tags": [{"Key": "TableName", "Value": "Music"}]},
            {"ResourceArn": f"{ARN}dev-Music", "Tags": [{"Key": "TableName", "Value": "Music"}]},
        ),
        ("ListTables", {"Limit": 2}, {"Limit": 2, "ExclusiveStartTableName": "dev-"}),
        (
            "ListTables",
            {"ExclusiveStartTableName": "Music"},
            {"ExclusiveStartTableName": "dev-Music"},
        ),
        (
            "ExecuteStatement",
            {"Statement": "SELECT 'from x' FROM \"Music\".\"by from\" WHERE pk = 'FROM Music'"},
            {"Statement": "SELECT 'from x' FROM \"dev-Music\".\"by from\" WHERE pk = 'FROM Music'"},
        ),
        (
            "ExecuteTransaction",
            {
                "TransactStatements": [
                    {"Statement": "INSERT INTO Music VALUE {'pk': 'a'}"},
                    {"Statement": "update Music set a = 1 where pk = 'a'"},
                    {"Statement": 'DELETE FROM "Music" WHERE pk = ?', "Parameters": [ODD]},
                ]
            },
            {
                "TransactStatements": [
                    {"Statement": "INSERT INTO \"dev-Music\" VALUE {'pk': 'a'}"},
                    {"Statement": "update \"dev-Music\" set a = 1 where pk = 'a'"},
                    {"Statement": 'DELETE FROM "dev-Music" WHERE pk = ?', "Parameters": [ODD]},
                ]
            },
        ),
        ("ExecuteStatement", {"Statement": "nonsense"}, {"Statement": "nonsense"}),
    ],
)
def test_request_names_get_the_prefix(
    operation: str, request_: dict[str, Any], expected: dict[str, Any]
) -> None:
    before = repr(request_)
    assert PREFIX.add(operation, request_) == expected
    assert repr(request_) == before, "the caller's request is not modified"


@pytest.mark.parametrize(
    ("operation", "answer", "expected"),
    [
        ("GetItem", {"Item": ODD}, {"Item": ODD}),
        (
            "Query",
            {"Items": [ODD], "ConsumedCapacity": {"TableName": "dev-Music"}},
            {"Items": [ODD], "ConsumedCapacity": {"TableName": "Music"}},
        ),
        (
            "BatchGetItem",
            {"Responses": {"dev-Music": [ODD]}, "UnprocessedKeys": {"dev-Film": {"Keys": [ODD]}}},
            {"Responses": {"Music": [ODD]}, "UnprocessedKeys": {"Film": {"Keys": [ODD]}}},
        ),
        ("TransactGetItems", {"Responses": [{"Item": ODD}]}, {"Responses": [{"Item": ODD}]}),
        (
            "BatchWriteItem",
            {
                "UnprocessedItems": {"dev-Music": [{"PutRequest": {"Item": ODD}}]},
                "ConsumedCapacity": [{"TableName": "dev-Music"}],
                "ItemCollectionMetrics": {"dev-Music": [{"ItemCollectionKey": ODD}]},
            },
            {
                "UnprocessedItems": {"Music": [{"PutRequest": {"Item": ODD}}]},
                "ConsumedCapacity": [{"TableName": "Music"}],
                "ItemCollectionMetrics": {"Music": [{"ItemCollectionKey": ODD}]},
            },
        ),
        (
            "ListStreams",
            {"Streams": [{"TableName": "dev-Music"}, {"TableName": "prod-Music"}]},
            {"Streams": [{"TableName": "Music"}]},
        ),
        (
            "ListExports",
            {
                "ExportSummaries": [
                    {"ExportArn": f"{ARN}dev-Music/export/1"},
                    {"ExportArn": f"{ARN}x/export/1"},
                ]
            },
            {"ExportSummaries": [{"ExportArn": f"{ARN}Music/export/1"}]},
        ),
        (
            "ListBackups",
            {
                "BackupSummaries": [
                    {"TableName": "dev-Music", "BackupArn": f"{ARN}dev-Music/backup/1"}
                ]
            },
            {"BackupSummaries": [{"TableName": "Music", "BackupArn": f"{ARN}Music/backup/1"}]},
        ),
        (
            "ListTables",
            {"TableNames": ["dev-A", "dev-B", "dex"], "LastEvaluatedTableName": "dex"},
            {"TableNames": ["A", "B"]},
        ),
        (
            "ListTables",
            {"TableNames": ["dev-", "dev-B"], "LastEvaluatedTableName": "dev-B"},
            {"TableNames": ["B"], "LastEvaluatedTableName": "B"},
        ),
        (
            "DescribeTable",
            {
                "Table": {
                    "TableArn": f"{ARN}dev-Music",
                    "SSEDescription": {"KMSMasterKeyArn": "arn:x"},
                }
            },
            {"Table": {"TableArn": f"{ARN}Music", "SSEDescription": {"KMSMasterKeyArn": "arn:x"}}},
        ),
    ],
)
def test_response_names_lose_the_prefix(
    operation: str, answer: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert PREFIX.remove(operation, answer) == expected


def create(name: str) -> dict[str, Any]:
    return {
        "TableName": name,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "other", "AttributeType": "S"},
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "others",
                "KeySchema": [{"AttributeName": "other", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }


@pytest.fixture
def url() -> Iterator[str]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine, Server(engine).running() as url:
        yield url


@pytest.mark.parametrize("prefix", ["dev-", "d", "-_."])
def test_tables_with_different_prefixes_are_separate(url: str, prefix: str) -> None:
    """Run every operation on tables and items; the caller sees names without prefixes."""
    key = {"pk": {"S": "a"}}
    item = {**key, "TableName": {"S": "x"}, "b": {"B": b"\0"}}
    with (
        Client(f"dynamodb://eu-west-1/{prefix}", endpoint=url) as client,
        Client(f"dynamodb://eu-west-1/{prefix}x", endpoint=url) as neighbour,
        Client(url) as plain,
    ):
        call = client.execute
        neighbour.execute("CreateTable", create("Music"))
        plain.execute("CreateTable", create("aaa"))
        plain.execute("CreateTable", create("zzz"))
        table = call("CreateTable", create("Music"))["TableDescription"]
        assert table["TableName"] == "Music"
        assert table["TableArn"].endswith(":table/Music")
        assert table["GlobalSecondaryIndexes"][0]["IndexArn"].endswith(":table/Music/index/others")
        call("CreateTable", create("Film"))
        mine = call("ListTables", {})["TableNames"]
        assert [name for name in mine if not name.startswith("x")] == ["Film", "Music"]
        first = call("ListTables", {"Limit": 1})
        assert first == {"TableNames": ["Film"], "LastEvaluatedTableName": "Film"}
        tags = [{"Key": "team", "Value": "a"}]
        call("TagResource", {"ResourceArn": table["TableArn"], "Tags": tags})
        assert call("ListTagsOfResource", {"ResourceArn": table["TableArn"]})["Tags"] == tags
        call("UntagResource", {"ResourceArn": table["TableArn"], "TagKeys": ["team"]})
        assert call("DescribeTable", {"TableName": table["TableArn"]})["Table"]["ItemCount"] == 0
        ttl = {"AttributeName": "ttl", "Enabled": True}
        call("UpdateTimeToLive", {"TableName": "Music", "TimeToLiveSpecification": ttl})
        assert "TimeToLiveDescription" in call("DescribeTimeToLive", {"TableName": "Music"})
        changed = call("UpdateTable", {"TableName": "Music", "DeletionProtectionEnabled": False})
        assert changed["TableDescription"]["TableName"] == "Music"

        consumed = {"ReturnConsumedCapacity": "TOTAL"}
        put = call("PutItem", {"TableName": "Music", "Item": item, **consumed})
        assert put["ConsumedCapacity"]["TableName"] == "Music"
        assert call("GetItem", {"TableName": "Music", "Key": key})["Item"] == item
        assert call("Scan", {"TableName": "Music"})["Items"] == [item]
        query = {
            "TableName": "Music",
            "KeyConditionExpression": "pk = :a",
            "ExpressionAttributeValues": {":a": {"S": "a"}},
        }
        assert call("Query", query)["Items"] == [item]
        got = call("BatchGetItem", {"RequestItems": {"Music": {"Keys": [key]}}, **consumed})
        assert got["Responses"] == {"Music": [item]}
        assert [each["TableName"] for each in got["ConsumedCapacity"]] == ["Music"]
        writes = {"Film": [{"PutRequest": {"Item": item}}]}
        assert call("BatchWriteItem", {"RequestItems": writes})["UnprocessedItems"] == {}
        moves = [
            {"Delete": {"TableName": "Music", "Key": key}},
            {
                "ConditionCheck": {
                    "TableName": "Film",
                    "Key": key,
                    "ConditionExpression": "attribute_exists(pk)",
                }
            },
        ]
        moved = call("TransactWriteItems", {"TransactItems": moves, **consumed})
        assert {each["TableName"] for each in moved["ConsumedCapacity"]} == {"Film", "Music"}
        gets = [{"Get": {"TableName": "Film", "Key": key}}]
        assert call("TransactGetItems", {"TransactItems": gets})["Responses"] == [{"Item": item}]
        update = {"TableName": "Film", "Key": key, "UpdateExpression": "REMOVE b"}
        call("UpdateItem", update)
        call("DeleteItem", {"TableName": "Film", "Key": key})
        for name in ("Film", "Music"):
            assert call("DeleteTable", {"TableName": name})["TableDescription"]["TableName"] == name
        assert plain.execute("ListTables", {})["TableNames"] == [
            *sorted(["aaa", f"{prefix}xMusic", "zzz"])
        ]
