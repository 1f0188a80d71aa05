"""A process that writes until it is killed, and says what was acknowledged.

    python -m tests.crash.load FILE DURABILITY RUN

Every line is one acknowledged write, written by one system call: what was said before the
process died is in the pipe. Names carry RUN, so that several lives of one file differ.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from itertools import count
from typing import Any, cast

from keyfold.engine import Durability, Engine
from keyfold.errors import (
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)

TABLE = "Ledger"
ACCOUNTS = [f"account-{number}" for number in range(4)]
OPENING_BALANCE = 100
FIRST_ITEMS = 600
MEMBERS = 4
# Fewer than there are first items: the stream of a followed table has several shards from the
# start, however soon a writer is killed.
SHARD_RECORDS = 200
# Long past, but not so long that it is taken for a mistake.
NOW = 1_700_000_000


def create_table(engine: Engine, *, is_followed: bool = False) -> None:
    """Make the table: two global indexes, expiry, accounts, and enough to fill an index from.

    One that is followed has a stream, and so writes down every change.
    """
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    engine.execute(
        "CreateTable",
        {
            **({"StreamSpecification": stream} if is_followed else {}),
            "TableName": TABLE,
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind}
                for name, kind in (("pk", "S"), ("a", "S"), ("b", "N"))
            ],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [index("a"), index("b")],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    ttl = {"AttributeName": "ttl", "Enabled": True}
    engine.execute("UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": ttl})
    for name in ACCOUNTS:
        item = {**make_item(name), "balance": {"N": str(OPENING_BALANCE)}}
        engine.execute("PutItem", {"TableName": TABLE, "Item": item})
    for start in range(0, FIRST_ITEMS, 25):
        items = [make_item(f"first-{number}") for number in range(start, start + 25)]
        writes = [{"PutRequest": {"Item": item}} for item in items]
        engine.execute("BatchWriteItem", {"RequestItems": {TABLE: writes}})
    engine.run_upkeep()  # splits the shard


def index(name: str) -> dict[str, Any]:
    """Return the index on one attribute, as requests have it."""
    return {
        "IndexName": f"by-{name}",
        "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }


def make_item(name: str, **more: dict[str, str]) -> dict[str, dict[str, str]]:
    """Return an item that is in every index."""
    size = len(name) * 7 % 90
    return {
        "pk": {"S": name},
        "a": {"S": name[-1]},
        "b": {"N": str(size)},
        "c": {"S": "c"},
        "body": {"S": name * size},
        **more,
    }


def put_items(engine: Engine, run: str) -> None:
    for number in count():
        name = f"put-{run}-{number}"
        engine.execute("PutItem", {"TableName": TABLE, "Item": make_item(name)})
        say("put", name)


def put_together(engine: Engine, run: str) -> None:
    for number in count():
        name = f"set-{run}-{number}"
        items = [make_item(f"{name}-{member}") for member in range(MEMBERS)]
        members = [{"Put": {"TableName": TABLE, "Item": item}} for item in items]
        engine.execute("TransactWriteItems", {"TransactItems": members})
        say("set", name)


def move_amounts(engine: Engine, run: str) -> None:
    for number in count():
        giver, taker = ACCOUNTS[number % 4], ACCOUNTS[(number * 3 + 1) % 4]
        if giver != taker:
            members = [_move(giver, -7), _move(taker, 7)]
            engine.execute("TransactWriteItems", {"TransactItems": members})
        key = {"pk": {"S": f"counter-{run}"}}
        answer = engine.execute(
            "UpdateItem",
            {
                "TableName": TABLE,
                "Key": key,
                "UpdateExpression": "ADD hits :one",
                "ExpressionAttributeValues": {":one": {"N": "1"}},
                "ReturnValues": "UPDATED_NEW",
            },
        )
        say("counter", answer["Attributes"]["hits"]["N"])


def _move(name: str, amount: int) -> dict[str, Any]:
    return {
        "Update": {
            "TableName": TABLE,
            "Key": {"pk": {"S": name}},
            "UpdateExpression": "SET balance = balance + :amount",
            "ExpressionAttributeValues": {":amount": {"N": str(amount)}},
        }
    }


def change_indexes(engine: Engine, run: str) -> None:
    pause = threading.Event()
    for number in count():
        item = make_item(f"past-{run}-{number}", ttl={"N": str(NOW - 1_000)})
        engine.execute("PutItem", {"TableName": TABLE, "Item": item})
        described = engine.execute("DescribeTable", {"TableName": TABLE})["Table"]
        statuses = {
            each["IndexName"]: each["IndexStatus"] for each in described["GlobalSecondaryIndexes"]
        }
        status = statuses.get("by-c")
        update: dict[str, Any]
        if status is None:
            update = {"Create": index("c")}
        elif status == "ACTIVE":
            update = {"Delete": {"IndexName": "by-c"}}
        else:
            pause.wait(0.001)
            continue
        try:
            engine.execute(
                "UpdateTable",
                {
                    "TableName": TABLE,
                    "AttributeDefinitions": [{"AttributeName": "c", "AttributeType": "S"}],
                    "GlobalSecondaryIndexUpdates": [update],
                },
            )
        except (ResourceInUseException, ResourceNotFoundException, ValidationException):
            # Another process was quicker to add it, or to drop it.
            continue
        say("index", "dropped" if status else "added")


def say(kind: str, name: str) -> None:
    os.write(1, f"{kind} {name}\n".encode())


WRITERS: list[Callable[[Engine, str], None]] = [
    put_items,
    put_together,
    move_amounts,
    change_indexes,
]


def main() -> None:
    path, durability, run = sys.argv[1:]
    engine = Engine.open(
        path,
        durability=cast(Durability, durability),
        clock=lambda: NOW,
        expiry_grace=0.0,
        upkeep_seconds=0.005,
        busy_seconds=120.0,
        shard_records=SHARD_RECORDS,
    )

    def work(write: Callable[[Engine, str], None]) -> None:
        try:
            write(engine, run)
        except BaseException as error:
            # A writer that fails must not go unnoticed among those that do not.
            say("failed", f"{write.__name__} {error!r}")
            raise

    for write in WRITERS:
        threading.Thread(target=work, args=(write,)).start()


if __name__ == "__main__":
    main()
