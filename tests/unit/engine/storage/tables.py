"""The small table that the storage tests use."""

from __future__ import annotations

from typing import Any

from keyfold.engine import Engine

TABLE = "Things"

CREATE: dict[str, Any] = {
    "TableName": TABLE,
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}

ADD_INDEX: dict[str, Any] = {
    "TableName": TABLE,
    "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
    "GlobalSecondaryIndexUpdates": [
        {
            "Create": {
                "IndexName": "by-a",
                "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        }
    ],
}

DROP_INDEX: dict[str, Any] = {
    "TableName": TABLE,
    "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-a"}}],
}


def create(engine: Engine) -> None:
    """Create the table."""
    engine.execute("CreateTable", CREATE)


def put(engine: Engine, name: str, **more: dict[str, Any]) -> None:
    """Write an item by a PutItem that takes the fast path."""
    engine.execute("PutItem", {"TableName": TABLE, "Item": {"pk": {"S": name}, **more}})


def add(engine: Engine, name: str, amount: int = 1) -> int:
    """Add to a counter; return its new value."""
    answer = engine.execute(
        "UpdateItem",
        {
            "TableName": TABLE,
            "Key": {"pk": {"S": name}},
            "UpdateExpression": "ADD n :amount",
            "ExpressionAttributeValues": {":amount": {"N": str(amount)}},
            "ReturnValues": "ALL_NEW",
        },
    )
    return int(answer["Attributes"]["n"]["N"])


def get(engine: Engine, name: str) -> dict[str, Any] | None:
    """Return an item."""
    return engine.execute("GetItem", {"TableName": TABLE, "Key": {"pk": {"S": name}}}).get("Item")


def names(engine: Engine) -> set[str]:
    """Return the keys of all items."""
    found: set[str] = set()
    request: dict[str, Any] = {"TableName": TABLE}
    while True:
        page = engine.execute("Scan", request)
        found.update(item["pk"]["S"] for item in page["Items"])
        if "LastEvaluatedKey" not in page:
            return found
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def query_index(engine: Engine, value: str) -> set[str]:
    """Return the keys of the items that the index has for a value."""
    page = engine.execute(
        "Query",
        {
            "TableName": TABLE,
            "IndexName": "by-a",
            "KeyConditionExpression": "a = :a",
            "ExpressionAttributeValues": {":a": {"S": value}},
        },
    )
    return {item["pk"]["S"] for item in page["Items"]}
