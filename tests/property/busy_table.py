"""Concurrent work on one table, and the invariants that must hold in whatever order it runs.

Also a program, for workers in other processes: `python -m tests.property.busy_table FILE WORK`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from keyfold.engine import Engine
from keyfold.errors import (
    ConditionalCheckFailedException,
    ResourceInUseException,
    ResourceNotFoundException,
    TransactionCanceledException,
    ValidationException,
)

TABLE = "Accounts"
ACCOUNTS = [f"account-{number}" for number in range(6)]
OPENING_BALANCE = 50
ROUNDS = 60


def create(engine: Engine) -> None:
    """Create the table with an index on the owner, and the accounts."""
    engine.execute(
        "CreateTable",
        {
            "TableName": TABLE,
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "owner")
            ],
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "GlobalSecondaryIndexes": [_index("owner")],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    for place, name in enumerate(ACCOUNTS):
        item = {**key(name), "owner": {"S": f"owner-{place % 2}"}, "kind": {"S": "account"}}
        item["balance"] = {"N": str(OPENING_BALANCE)}
        engine.execute("PutItem", {"TableName": TABLE, "Item": item})


def key(name: str) -> dict[str, Any]:
    return {"pk": {"S": "all"}, "sk": {"S": name}}


def _index(name: str) -> dict[str, Any]:
    return {
        "IndexName": f"by-{name}",
        "KeySchema": [
            {"AttributeName": name, "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "ALL"},
    }


def count_up(engine: Engine) -> None:
    """Increment a counter repeatedly."""
    for _ in range(ROUNDS):
        _update(engine, "counter", "ADD hits :one", {":one": {"N": "1"}})


def count_carefully(engine: Engine) -> None:
    """Increment a counter by a read and a conditional write (optimistic locking)."""
    for _ in range(ROUNDS):
        while True:
            found = engine.execute("GetItem", {"TableName": TABLE, "Key": key("careful")})
            seen = found.get("Item", {}).get("hits", {"N": "0"})
            new = {"N": str(int(seen["N"]) + 1)}
            try:
                _update(
                    engine,
                    "careful",
                    "SET hits = :new",
                    {":new": new, ":seen": seen},
                    condition="attribute_not_exists(hits) OR hits = :seen",
                )
                break
            except ConditionalCheckFailedException:
                continue


def _update(
    engine: Engine,
    name: str,
    update: str,
    values: dict[str, Any],
    *,
    condition: str | None = None,
) -> None:
    request = {
        "TableName": TABLE,
        "Key": key(name),
        "UpdateExpression": update,
        "ExpressionAttributeValues": values,
    }
    if condition is not None:
        request["ConditionExpression"] = condition
    engine.execute("UpdateItem", request)


def move_amounts(engine: Engine) -> None:
    """Move amounts between accounts, never more than an account has."""
    for number in range(ROUNDS):
        giver, taker = ACCOUNTS[number % 6], ACCOUNTS[(number * 5 + 1) % 6]
        if giver == taker:
            continue
        amount = {":amount": {"N": str(number % 30)}}
        members = [
            {
                "Update": {
                    "TableName": TABLE,
                    "Key": key(giver),
                    "UpdateExpression": "SET balance = balance - :amount",
                    "ConditionExpression": "balance >= :amount",
                    "ExpressionAttributeValues": amount,
                }
            },
            {
                "Update": {
                    "TableName": TABLE,
                    "Key": key(taker),
                    "UpdateExpression": "SET balance = balance + :amount",
                    "ExpressionAttributeValues": amount,
                }
            },
        ]
        try:
            engine.execute("TransactWriteItems", {"TransactItems": members})
        except TransactionCanceledException:
            continue


def come_and_go(engine: Engine) -> None:
    """Write and delete items, in batches."""
    for number in range(ROUNDS // 2):
        items = [{**key(f"guest-{number}-{place}"), "owner": {"S": "nobody"}} for place in range(8)]
        puts = [{"PutRequest": {"Item": item}} for item in items]
        engine.execute("BatchWriteItem", {"RequestItems": {TABLE: puts}})
        gone = [
            {"DeleteRequest": {"Key": {name: item[name] for name in ("pk", "sk")}}}
            for item in items
        ]
        engine.execute("BatchWriteItem", {"RequestItems": {TABLE: gone}})


def read_everything(engine: Engine) -> None:
    """Read in every way; each result must be a consistent snapshot."""
    last = 0
    for number in range(ROUNDS):
        gets = [{"Get": {"TableName": TABLE, "Key": key(name)}} for name in ACCOUNTS]
        answers = engine.execute("TransactGetItems", {"TransactItems": gets})["Responses"]
        check_balances([answer["Item"] for answer in answers])
        page = engine.execute("Scan", {"TableName": TABLE})
        check_balances(page["Items"])
        guests = [item for item in page["Items"] if item["sk"]["S"].startswith("guest-")]
        assert len(guests) % 8 == 0, "a batch half there"
        found = [item["sk"]["S"] for item in _paged(engine, limit=1 + number % 4)]
        assert found == sorted(set(found))
        assert set(ACCOUNTS) <= set(found)
        owned = [item for owner in "01" for item in _owned(engine, f"owner-{owner}")]
        assert {item["sk"]["S"] for item in owned} == set(ACCOUNTS)
        hits = engine.execute("GetItem", {"TableName": TABLE, "Key": key("counter")})
        now = int(hits.get("Item", {}).get("hits", {"N": "0"})["N"])
        assert now >= last, "a count that was seen is gone"
        last = now


def check_balances(items: list[dict[str, Any]]) -> None:
    """Check that no amount was lost or created."""
    balances = [int(item["balance"]["N"]) for item in items if "balance" in item]
    assert sum(balances) == OPENING_BALANCE * len(ACCOUNTS)
    assert min(balances) >= 0


def _paged(engine: Engine, *, limit: int) -> list[dict[str, Any]]:
    request: dict[str, Any] = {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": "all"}},
        "Limit": limit,
    }
    items: list[dict[str, Any]] = []
    while True:
        page = engine.execute("Query", request)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return items
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def _owned(engine: Engine, owner: str) -> list[dict[str, Any]]:
    request = {
        "TableName": TABLE,
        "IndexName": "by-owner",
        "KeyConditionExpression": "#owner = :owner",
        "ExpressionAttributeNames": {"#owner": "owner"},
        "ExpressionAttributeValues": {":owner": {"S": owner}},
    }
    return engine.execute("Query", request)["Items"]


def change_tables(engine: Engine) -> None:
    """Add and remove an index, and create and delete tables."""
    for number in range(ROUNDS // 6):
        adds = number % 2 == 0
        update = {"Create": _index("kind")} if adds else {"Delete": {"IndexName": "by-kind"}}
        request = {
            "TableName": TABLE,
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name in ("sk", "kind")
            ],
            "GlobalSecondaryIndexUpdates": [update],
        }
        try:
            engine.execute("UpdateTable", request)
        except (ResourceInUseException, ResourceNotFoundException, ValidationException):
            # Another worker does the same, or the index is still being filled.
            engine.run_upkeep()
        name = f"Passing-{number % 2}"
        definition = {
            "TableName": name,
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        try:
            engine.execute("CreateTable", definition)
            engine.execute("PutItem", {"TableName": name, "Item": {"id": {"N": "1"}}})
            engine.execute("DeleteTable", {"TableName": name})
        except (ResourceInUseException, ResourceNotFoundException):
            continue


Work = Callable[[Engine], None]

WORKS: dict[str, Work] = {
    work.__name__: work
    for work in (
        count_up,
        count_carefully,
        move_amounts,
        come_and_go,
        read_everything,
        change_tables,
    )
}


def check_afterwards(engine: Engine, workers: dict[str, int]) -> None:
    """Check the invariants once `workers` workers of each kind are done."""
    engine.run_upkeep()
    problems = engine.verify()
    assert problems == [], problems
    items = {item["sk"]["S"]: item for item in _paged(engine, limit=7)}
    check_balances(list(items.values()))
    expected = set(ACCOUNTS)
    for work, name in (("count_up", "counter"), ("count_carefully", "careful")):
        if workers.get(work):
            assert items[name]["hits"] == {"N": str(workers[work] * ROUNDS)}
            expected.add(name)
    assert items.keys() == expected


def main() -> None:
    path, *works = sys.argv[1:]
    with Engine.open(path, durability="process", busy_seconds=60.0) as engine:
        print("ready", flush=True)
        sys.stdin.readline()
        for work in works:
            WORKS[work](engine)
    print("done")


if __name__ == "__main__":
    main()
