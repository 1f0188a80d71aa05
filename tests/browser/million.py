"""Makes a database with a million small items: half of them in one partition, the others in 20,000."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from keyfold.engine import Engine

TABLE = "Events"
MILLION = 1_000_000
GIANT = "DEVICE#giant"
_PER_PARTITION = 25
_BATCH = 25


def make_million(file: Path, count: int = MILLION) -> None:
    """Write `count` items into a new file."""
    # Nobody needs the file after a power failure.
    with Engine.open(file, durability="process", upkeep_seconds=None) as engine:
        engine.execute(
            "CreateTable",
            {
                "TableName": TABLE,
                "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
                "AttributeDefinitions": [
                    {"AttributeName": "pk", "AttributeType": "S"},
                    {"AttributeName": "sk", "AttributeType": "S"},
                ],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        made = _make_items(count)
        while items := list(islice(made, _BATCH)):
            requests = [{"PutRequest": {"Item": item}} for item in items]
            engine.execute("BatchWriteItem", {"RequestItems": {TABLE: requests}})


def _make_items(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count // 2):
        yield _make_item(GIANT, number)
    for number in range(count - count // 2):
        yield _make_item(f"DEVICE#{number // _PER_PARTITION:05}", number % _PER_PARTITION)


def _make_item(partition: str, number: int) -> dict[str, Any]:
    return {
        "pk": {"S": partition},
        "sk": {"S": f"EVENT#{number:07}"},
        "level": {"N": str(number % 7)},
    }


if __name__ == "__main__":
    make_million(Path(sys.argv[1]))
