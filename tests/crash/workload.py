"""What a file goes through in the crash tests, one acknowledged step after another.

Each step is one request, and each write is all there or not there at all. `expected` says
what the table holds after a number of steps, so that the file can be compared with the last
step that was acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keyfold.engine import Engine

TABLE = "Ledger"
NOW = 1_700_000_000.0

Item = dict[str, dict[str, Any]]
State = dict[str, Item]
Step = tuple[Callable[[Engine], Any], Callable[[State], State]]


def create_table(engine: Engine, *, is_followed: bool = False) -> None:
    """Make a table with two global indexes and expiry, maybe a stream, and a few items in it."""
    names = ("pk", "a", "b")
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    engine.execute(
        "CreateTable",
        {
            **({"StreamSpecification": stream} if is_followed else {}),
            "TableName": TABLE,
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name in names
            ],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [_index("a"), _index("b")],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    engine.execute(
        "UpdateTimeToLive",
        {
            "TableName": TABLE,
            "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
        },
    )
    for item in _first_items().values():
        engine.execute("PutItem", {"TableName": TABLE, "Item": item})


def _first_items() -> State:
    names = [f"first-{number}" for number in range(60)]
    return {name: make_item(name) for name in names}


def _index(name: str) -> dict[str, Any]:
    return {
        "IndexName": f"by-{name}",
        "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }


def add_index_request(name: str) -> dict[str, Any]:
    """Return the request for one more global index."""
    return {
        "TableName": TABLE,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": _index(name)}],
    }


def make_item(name: str, *, ttl: int | None = None) -> Item:
    """Return an item that is in both indexes, and large enough to need pages of its own."""
    item: Item = {
        "pk": {"S": name},
        "a": {"S": name[:3]},
        "b": {"S": name[-1:]},
        "c": {"S": "c"},
        "n": {"N": "1"},
        "body": {"S": name * 200},
    }
    if ttl is not None:
        item["ttl"] = {"N": str(ttl)}
    return item


def read_all(engine: Engine) -> State:
    """Return every item by its key."""
    items: State = {}
    request: dict[str, Any] = {"TableName": TABLE}
    while True:
        page = engine.execute("Scan", request)
        items.update((item["pk"]["S"], item) for item in page["Items"])
        if "LastEvaluatedKey" not in page:
            return items
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def _put(name: str) -> Step:
    item = make_item(name)
    request = {"TableName": TABLE, "Item": item}
    return (
        lambda engine: engine.execute("PutItem", request),
        lambda state: {**state, name: item},
    )


def _add(name: str) -> Step:
    request = {
        "TableName": TABLE,
        "Key": {"pk": {"S": name}},
        "UpdateExpression": "ADD n :one SET a = :new",
        "ConditionExpression": "attribute_exists(n)",
        "ExpressionAttributeValues": {":one": {"N": "1"}, ":new": {"S": "changed"}},
    }

    def after(state: State) -> State:
        old = state[name]
        changed: Item = {**old, "n": {"N": str(int(old["n"]["N"]) + 1)}, "a": {"S": "changed"}}
        return {**state, name: changed}

    return lambda engine: engine.execute("UpdateItem", request), after


def _delete(name: str) -> Step:
    request = {"TableName": TABLE, "Key": {"pk": {"S": name}}}
    return (
        lambda engine: engine.execute("DeleteItem", request),
        lambda state: {key: item for key, item in state.items() if key != name},
    )


def _together(operation: str, names: list[str], gone: str, *, ttl: int | None = None) -> Step:
    items = {name: make_item(name, ttl=ttl) for name in names}
    request: dict[str, Any]
    if operation == "BatchWriteItem":
        writes: list[dict[str, Any]] = [{"PutRequest": {"Item": item}} for item in items.values()]
        writes.append({"DeleteRequest": {"Key": {"pk": {"S": gone}}}})
        request = {"RequestItems": {TABLE: writes}}
    else:
        members = [{"Put": {"TableName": TABLE, "Item": item}} for item in items.values()]
        members.append({"Delete": {"TableName": TABLE, "Key": {"pk": {"S": gone}}}})
        request = {"TransactItems": members, "ClientRequestToken": f"token-{gone}"}
    return (
        lambda engine: engine.execute(operation, request),
        lambda state: {key: item for key, item in (state | items).items() if key != gone},
    )


def _sweep() -> Step:
    return (
        lambda engine: engine.run_upkeep(),
        lambda state: {
            key: item
            for key, item in state.items()
            if "ttl" not in item or int(item["ttl"]["N"]) >= NOW
        },
    )


def _add_index(name: str) -> Step:
    return lambda engine: engine.execute(
        "UpdateTable", add_index_request(name)
    ), lambda state: state


def _read() -> Step:
    return read_all, lambda state: state


STEPS: list[Step] = [
    _read(),
    _put("one"),
    _add("one"),
    _together("TransactWriteItems", ["two", "three", "four"], "first-0"),
    _delete("two"),
    _put("first-1"),
    _together("BatchWriteItem", ["five", "six"], "first-2", ttl=int(NOW) - 100),
    _sweep(),
    _add_index("c"),
    _put("seven"),
    _together("TransactWriteItems", ["eight", "nine"], "three"),
    _add("seven"),
    _read(),
]


def states() -> list[State]:
    """Return what the table holds before the first step and after each."""
    state = _first_items()
    found = [state]
    for _, after in STEPS:
        found.append(state := after(state))
    return found
