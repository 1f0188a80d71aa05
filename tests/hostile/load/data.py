"""The table of the load test: a few small items for the polite client, and long ones to search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from keyfold.engine import Engine

TABLE = "Rows"
SMALL_ITEMS = 200
LONG_ITEMS = 60
LISTS = ("l0", "l1", "l2")

_CREATE = {
    "TableName": TABLE,
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


def small_item(number: int) -> dict[str, Any]:
    """Return an item such as the polite client writes."""
    return {
        "pk": {"S": f"user {number % 20}"},
        "sk": {"S": f"order {number:04}"},
        "total": {"N": str(number)},
        "note": {"S": "x" * 200},
    }


def fill(path: Path) -> None:
    """Make the database."""
    words = {"S": "some words of a text " * 700}
    numbers = {"L": [{"N": str(number)} for number in range(10_000)]}
    with Engine.open(str(path), durability="process") as engine:
        engine.execute("CreateTable", _CREATE)
        items = [small_item(number) for number in range(SMALL_ITEMS)]
        items += (
            {"pk": {"S": "long"}, "sk": {"S": f"w{number}"}, "words": words}
            for number in range(LONG_ITEMS)
        )
        items += ({"pk": {"S": "long"}, "sk": {"S": name}, "numbers": numbers} for name in LISTS)
        for item in items:
            engine.execute("PutItem", {"TableName": TABLE, "Item": item})
