"""Partially processed batches, as the service leaves them when it is short of capacity."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import check
from keyfold.engine import Engine
from keyfold.errors import ServiceError, TransactionCanceledException

_MAX_WRITES = 25

# A condition that is never true.
_NEVER: dict[str, Any] = {
    "ConditionExpression": "attribute_exists(#any) AND attribute_not_exists(#any)",
    "ExpressionAttributeNames": {"#any": "any"},
}


def count_members(operation: str, request: dict[str, Any]) -> int:
    """Return the number of members of a batch; 0 if the request is invalid."""
    try:
        check(operation, request)
        return sum(len(_members(wanted)) for wanted in request["RequestItems"].values())
    except ServiceError:
        return 0


def is_acceptable(engine: Engine, operation: str, request: dict[str, Any]) -> bool:
    """Return whether the engine would accept a whole batch; changes nothing.

    Only such a batch may be processed in part. An invalid batch is refused as a whole, even if
    the invalid member would have been left unprocessed.
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


def split(
    request: dict[str, Any], left_indexes: list[int]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the request without the members at `left_indexes`, and `RequestItems` of those."""
    kept: dict[str, Any] = {}
    left: dict[str, Any] = {}
    first = 0
    for table, wanted in request["RequestItems"].items():
        members = _members(wanted)
        is_left = [first + offset in left_indexes for offset in range(len(members))]
        first += len(members)
        for into, wants_left in ((kept, False), (left, True)):
            chosen = [m for m, flag in zip(members, is_left, strict=True) if flag is wants_left]
            if chosen:
                # The parameters of a read, such as its projection, go with its keys.
                into[table] = {**wanted, "Keys": chosen} if isinstance(wanted, dict) else chosen
    return {**request, "RequestItems": kept}, left


def add_leftovers(operation: str, response: dict[str, Any], left: dict[str, Any]) -> None:
    """Add the members that were left out to the response's unprocessed items or keys."""
    if operation == "BatchWriteItem":
        unprocessed = response["UnprocessedItems"]
        for table, requests in left.items():
            unprocessed[table] = [*unprocessed.get(table, []), *requests]
        return
    unprocessed = response["UnprocessedKeys"]
    for table, wanted in left.items():
        # The table is listed as if it had been read, and no item found yet.
        response["Responses"].setdefault(table, [])
        more = unprocessed.get(table, {"Keys": []})["Keys"]
        unprocessed[table] = {**wanted, "Keys": [*more, *wanted["Keys"]]}


def _members(wanted: dict[str, Any] | list[Any]) -> list[Any]:
    return wanted["Keys"] if isinstance(wanted, dict) else wanted


def _to_action(table: str, member: dict[str, Any]) -> dict[str, Any] | None:
    """Return the transaction action equivalent to a member of a batch; None for an invalid one."""
    match member:
        case {"PutRequest": {"Item": item}} if len(member) == 1:
            return {"Put": {"TableName": table, "Item": item, **_NEVER}}
        case {"DeleteRequest": {"Key": key}} if len(member) == 1:
            return {"Delete": {"TableName": table, "Key": key, **_NEVER}}
        case _:
            return None
