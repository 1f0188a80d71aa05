"""The table that these tests use, and requests to it."""

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
    """Return a new boto3 client, which is untyped."""
    return import_module("boto3").client("dynamodb", **options)


def make_resource(**options: Any) -> Any:
    """Return a new boto3 resource."""
    return import_module("boto3").resource("dynamodb", **options)


def make_item(song: str, **more: dict[str, Any]) -> dict[str, Any]:
    """Return an item of the table."""
    return {"artist": {"S": "Nina"}, "song": {"S": song}, "genre": {"S": "jazz"}, **more}


def key_of(song: str) -> dict[str, Any]:
    """Return the key of an item."""
    return {"artist": {"S": "Nina"}, "song": {"S": song}}


def put(target: Any, song: str, **more: dict[str, Any]) -> None:
    """Write an item with `execute` of a service or an engine."""
    target.execute("PutItem", {"TableName": TABLE, "Item": make_item(song, **more)})


def get(target: Any, song: str, *, consistent: bool = False) -> dict[str, Any] | None:
    """Read an item with `execute`."""
    request = {"TableName": TABLE, "Key": key_of(song), "ConsistentRead": consistent}
    return target.execute("GetItem", request).get("Item")
