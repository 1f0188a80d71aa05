"""Batches that are processed in part, as the service does when it is short of capacity."""

from __future__ import annotations

from typing import Any

from keyfold.engine import Engine
from keyfold.engine.shapes import check
from keyfold.errors import ServiceError, TransactionCanceledException

_MAX_WRITES = 25

# A condition that nothing fulfils.
_NEVER: dict[str, Any] = {
    "ConditionExpression": "attribute_exists(#any) AND attribute_not_exists(#any)",
    "ExpressionAttributeNames": {"#any": "any"},
}


def count_members(operation: str, request: dict[str, Any]) -> int:
    """Return how many items a batch names; 0 when it is not a batch that can be split."""
    try:
        check(operation, request)
        return sum(len(_members(wanted)) for wanted in request["RequestItems"].values())
    except ServiceError:
        return 0


def is_acceptable(engine: Engine, operation: str, request: dict[str, Any]) -> bool:
    """Tell whether the engine would carry out a whole batch, and change nothing.

    Only such a batch may be processed in part. One with a fault is refused as a whole, even
    when the fault is in a member that would have been left out.
    """
    try:
        if operation == "BatchGetItem":
            engine.execute(operation, request)
            return True
        actions = [
            _to_action(table, member)
            for table, members in request["RequestItems"].items()
            for member in members
        ]
        if len(actions) > _MAX_WRITES or None in actions:
            return False
        # A transaction whose every condition fails: everything is checked, nothing is written.
        engine.execute("TransactWriteItems", {"TransactItems": actions})
    except TransactionCanceledException as error:
        reasons = error.fields["CancellationReasons"]
        return all(reason["Code"] == "ConditionalCheckFailed" for reason in reasons)
    except ServiceError:
        pass
    return False


def split(request: dict[str, Any], left_places: list[int]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the request without some of its members, and what to send for these again."""
    kept: dict[str, Any] = {}
    left: dict[str, Any] = {}
    place = 0
    for table, wanted in request["RequestItems"].items():
        members = _members(wanted)
        is_left = [place + offset in left_places for offset in range(len(members))]
        place += len(members)
        for into, wants_left in ((kept, False), (left, True)):
            chosen = [m for m, flag in zip(members, is_left, strict=True) if flag is wants_left]
            if chosen:
                # Of a read, what is asked about the keys goes with them.
                into[table] = {**wanted, "Keys": chosen} if isinstance(wanted, dict) else chosen
    return {**request, "RequestItems": kept}, left


def add_leftovers(operation: str, response: dict[str, Any], left: dict[str, Any]) -> None:
    """Put what was left out into the response to the rest."""
    if operation == "BatchWriteItem":
        unprocessed = response["UnprocessedItems"]
        for table, requests in left.items():
            unprocessed[table] = [*unprocessed.get(table, []), *requests]
        return
    unprocessed = response["UnprocessedKeys"]
    for table, wanted in left.items():
        # As if it had been asked for and nothing was found yet.
        response["Responses"].setdefault(table, [])
        more = unprocessed.get(table, {"Keys": []})["Keys"]
        unprocessed[table] = {**wanted, "Keys": [*more, *wanted["Keys"]]}


def _members(wanted: dict[str, Any] | list[Any]) -> list[Any]:
    return wanted["Keys"] if isinstance(wanted, dict) else wanted


def _to_action(table: str, member: dict[str, Any]) -> dict[str, Any] | None:
    """Return the action of a transaction that does what a member of a batch does."""
    match member:
        case {"PutRequest": {"Item": item}} if len(member) == 1:
            return {"Put": {"TableName": table, "Item": item, **_NEVER}}
        case {"DeleteRequest": {"Key": key}} if len(member) == 1:
            return {"Delete": {"TableName": table, "Key": key, **_NEVER}}
        case _:
            return None
