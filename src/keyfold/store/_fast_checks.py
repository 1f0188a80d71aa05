"""Fast checks of a principal's calls: whether a role certainly allows them.

They look only at the partition of each item, and at what is written where that can put an item
into another tenant's partition of an index. Nothing is parsed but conditions, whose texts recur. A
call that is not certainly allowed is read in full, by `policy.accesses`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain, repeat
from typing import Any

from keyfold.expressions.parser import CACHED_EXPRESSIONS, parse_condition
from keyfold.expressions.trees import And, Comparison, Path, ValuePlaceholder
from keyfold.model._calls import CALLER, STORE, ApiCall, Authority
from keyfold.policy import PrincipalGuard, Right
from keyfold.policy.accesses import find_existence, spellings_of
from keyfold.values import Item

Guards = Mapping[str, PrincipalGuard]
_Body = dict[str, Any]
# The table, the kind and the body of a member of a batch or transaction.
_Member = tuple[str, str, _Body]

_GET = Right.GET.value
_QUERY = Right.QUERY.value
_CREATE = Right.CREATE.value
_PUT = (Right.CREATE | Right.UPDATE).value
_DELETE = Right.DELETE.value
_NOTHING: Item = {}

# For calls on one item, and members of batches and transactions: the rights that they need at
# most, the parameter with the key, and whether that parameter is written.
_RULES = {
    "ConditionCheck": (_GET, "Key", False),
    "Delete": (_DELETE, "Key", False),
    "DeleteItem": (_DELETE, "Key", False),
    "DeleteRequest": (_DELETE, "Key", False),
    "Get": (_GET, "Key", False),
    "GetItem": (_GET, "Key", False),
    "Put": (_PUT, "Item", True),
    "PutItem": (_PUT, "Item", True),
    "PutRequest": (_PUT, "Item", True),
    "Update": (_PUT, "Key", True),
    "UpdateItem": (_PUT, "Key", True),
}
# These also write attributes that are not in the parameter with the key.
_UPDATES = {"Update", "UpdateItem"}
_SIMPLE = {name: _RULES[name] for name in ("GetItem", "PutItem", "DeleteItem")}


def admits(guards: Guards, call: ApiCall) -> bool:
    """Return whether a call is certainly allowed; `guards` are those of the tables, by name."""
    operation, request, authority = call.operation, call.request, call.authority
    if not authority and operation in _SIMPLE:
        # Nearly all calls are as simple as this, so it is not left to _admits_item.
        rights, parameter, is_write = _SIMPLE[operation]
        guard, item = guards.get(request["TableName"]), request[parameter]
        if guard is not None and guard.admits(
            rights, item[guard.partition], item if is_write else _NOTHING
        ):
            return True
    if authority == STORE:
        return True
    if operation == "Query":
        return _admits_query(guards.get(request["TableName"]), request)
    members = _members_of(operation, request)
    return members is not None and all(
        _admits_item(guards.get(table), kind, body, each)
        for (table, kind, body), each in zip(
            members, chain(authority, repeat(CALLER)), strict=False
        )
    )


def _admits_item(
    guard: PrincipalGuard | None, kind: str, body: _Body, authority: Authority
) -> bool:
    rights, parameter, is_write = _RULES[kind]
    item: Item = body[parameter]
    if guard is None or authority.guards:
        return False
    if kind in _UPDATES and not guard.watches_only_keys:
        # The values that an update gives to other attributes would have to be read.
        return False
    partition = item[guard.partition]
    if guard.admits(rights, partition, item if is_write else _NOTHING):
        return True
    if rights != _PUT:
        return False
    # Fewer rights may do, by what the condition says about the item's existence.
    existence = find_existence(body, guard.key_names)
    if authority.replaces_expired:
        rights = _CREATE
    elif existence is not None:
        rights = existence.value
    return rights != _PUT and guard.admits(rights, partition, item)


def _admits_query(guard: PrincipalGuard | None, body: _Body) -> bool:
    if guard is None or "IndexName" in body:
        return False
    placeholder = _find_partition(
        body["KeyConditionExpression"], spellings_of((guard.partition,), body)
    )
    return placeholder is not None and guard.admits(
        _QUERY, body["ExpressionAttributeValues"][placeholder]
    )


@lru_cache(CACHED_EXPRESSIONS)
def _find_partition(text: str, names: tuple[str, ...]) -> str | None:
    """Return the placeholder of the value that a key condition has for the partition key."""
    condition = parse_condition(text).condition
    for term in condition.conditions if isinstance(condition, And) else (condition,):
        match term:
            case Comparison("=", Path(steps=(str(name),)), ValuePlaceholder(placeholder)) if (
                name in names
            ):
                return placeholder
            case _:
                pass
    return None


def _members_of(operation: str, request: _Body) -> Iterable[_Member] | None:
    """Return the accesses of a call to single items; None for a call with others, such as Scan."""
    match operation:
        case "TransactGetItems" | "TransactWriteItems":
            members = (next(iter(each.items())) for each in request["TransactItems"])
            return ((body["TableName"], kind, body) for kind, body in members)
        case "BatchGetItem":
            return (
                (table, "Get", {"Key": key})
                for table, wanted in request["RequestItems"].items()
                for key in wanted["Keys"]
            )
        case "BatchWriteItem":
            return (
                (table, *next(iter(each.items())))
                for table, members in request["RequestItems"].items()
                for each in members
            )
        case _:
            return [(request["TableName"], operation, request)] if operation in _RULES else None
