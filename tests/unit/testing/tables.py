"""The table that these tests use, and what they ask of it through boto3."""

from __future__ import annotations

from importlib import import_module
from typing import Any

TABLE = "Music"

CREATE: dict[str, Any] = {
    "TableName": TABLE,
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("artist", "song", "genre")
    ],
    "KeySchema": [
        {"AttributeName": "artist", "KeyType": "HASH"},
        {"AttributeName": "song", "KeyType": "RANGE"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "ByGenre",
            "KeySchema": [{"AttributeName": "genre", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "ByArtistAndGenre",
            "KeySchema": [
                {"AttributeName": "artist", "KeyType": "HASH"},
                {"AttributeName": "genre", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


def make_client(**options: Any) -> Any:
    """A new boto3 client; it carries no types."""
    return import_module("boto3").client("dynamodb", **options)


def make_resource(**options: Any) -> Any:
    """A new boto3 resource."""
    return import_module("boto3").resource("dynamodb", **options)


def make_item(song: str, **more: dict[str, Any]) -> dict[str, Any]:
    """An item of the table."""
    return {"artist": {"S": "Nina"}, "song": {"S": song}, "genre": {"S": "jazz"}, **more}


def key_of(song: str) -> dict[str, Any]:
    """The key of an item of the table."""
    return {"artist": {"S": "Nina"}, "song": {"S": song}}


def put(target: Any, song: str, **more: dict[str, Any]) -> None:
    """Write an item by `execute`, of a service or an engine."""
    target.execute("PutItem", {"TableName": TABLE, "Item": make_item(song, **more)})


def get(target: Any, song: str, *, consistent: bool = False) -> dict[str, Any] | None:
    """Read an item by `execute`."""
    request = {"TableName": TABLE, "Key": key_of(song), "ConsistentRead": consistent}
    return target.execute("GetItem", request).get("Item")
