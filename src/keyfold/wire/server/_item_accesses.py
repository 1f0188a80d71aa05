"""The accesses of requests on items: GetItem, Query, transactions and the rest.

Parameters are parsed with the engine's own functions, so a request means the same here and
there, and invalid parameters raise the engine's own errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from keyfold.api import WRITE_MEMBERS
from keyfold.api.shapes import plain_name
from keyfold.engine import TableKeyNames
from keyfold.expressions.conditions import BoundCondition, bind_condition
from keyfold.expressions.key_conditions import EqualTo, KeyCondition
from keyfold.expressions.legacy import bind_expected
from keyfold.expressions.parameters import (
    check_expression_use,
    check_old_or_none,
    check_select,
    read_placeholders,
    read_projection,
    read_query,
    read_scan,
    read_update,
    read_update_expressions,
)
from keyfold.expressions.parser import parse_condition, parse_update
from keyfold.expressions.paths import Projection
from keyfold.expressions.placeholders import Placeholders
from keyfold.expressions.projections import bind_projection
from keyfold.expressions.search_conditions import bind_search_condition
from keyfold.expressions.trees import (
    Action,
    AddTo,
    And,
    Condition,
    DeleteFrom,
    FunctionCall,
    Path,
    Remove,
    SetTo,
    Steps,
)
from keyfold.expressions.updates import UpdatePlan
from keyfold.policy import ALL, Access, Right
from keyfold.values import AttributeValue, Item, normalise_item

KeyLookup = Callable[[str], TableKeyNames | None]
"""Returns the names of a table's key attributes; None for an unknown table."""

_PUT = Right.CREATE | Right.UPDATE


class _NamedTable(NamedTuple):
    """A table that a request names, and its key attributes, if the table is known."""

    table: str
    keys: TableKeyNames | None

    def partition_of(self, item: Item) -> tuple[AttributeValue, ...] | None:
        """Return the partition of an item or a key; None if it cannot be determined."""
        value = None if self.keys is None else item.get(self.keys.partition)
        return None if value is None else (value,)

    def partition_queried(
        self, condition: KeyCondition, index_name: str | None
    ) -> tuple[AttributeValue, ...] | None:
        """Return the partition that a key condition selects; None if it cannot be determined."""
        if self.keys is None:
            return None
        names = (self.keys.partition,) if index_name is None else self.keys.indexes.get(index_name)
        if not names:
            return None
        wanted = [condition.constraints.get(name) for name in names]
        values = [each.value for each in wanted if isinstance(each, EqualTo)]
        return tuple(values) if len(values) == len(names) else None

    def is_key(self, steps: Steps) -> bool:
        """Return whether a path is an attribute of the key, which every item has."""
        return (
            self.keys is not None
            and len(steps) == 1
            and steps[0] in (self.keys.partition, self.keys.sort)
        )


def _find_target(name_or_arn: str, keys: KeyLookup) -> _NamedTable:
    name = plain_name(name_or_arn)
    return _NamedTable(name, keys(name))


def read_get_item(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the access of GetItem."""
    return _with_capacity([_read_get(request, keys)], request)


def read_batch_get_item(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the accesses of BatchGetItem, one for each key."""
    accesses: list[Access] = []
    for name, wanted in request["RequestItems"].items():
        check_expression_use("BatchGetItem", wanted)
        items = [normalise_item(key)[0] for key in wanted["Keys"]]
        projection = read_projection(wanted)
        target = _find_target(name, keys)
        accesses += [_get_access("BatchGetItem", target, item, projection) for item in items]
    return _with_capacity(accesses, request)


def read_transact_get_items(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the accesses of TransactGetItems, one for each member."""
    accesses = [_read_get(member["Get"], keys) for member in request["TransactItems"]]
    return _enclose("TransactGetItems", request, accesses)


def _read_get(request: dict[str, Any], keys: KeyLookup) -> Access:
    check_expression_use("GetItem", request)
    item, _ = normalise_item(request["Key"])
    projection = read_projection(request)
    return _get_access("GetItem", _find_target(request["TableName"], keys), item, projection)


def _get_access(
    action: str, target: _NamedTable, key: Item, projection: Projection | None
) -> Access:
    named = frozenset(key)
    if projection is not None:
        named |= projection.attributes
    return Access(
        action,
        target.table,
        rights=Right.GET,
        partition=target.partition_of(key),
        attributes=None if projection is None else named,
        named=named,
        select="ALL_ATTRIBUTES" if projection is None else "SPECIFIC_ATTRIBUTES",
    )


def read_put_item(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the access of PutItem."""
    check_expression_use("PutItem", request)
    item, _ = normalise_item(request["Item"])
    check_old_or_none(request)
    access = _put_access("PutItem", _find_target(request["TableName"], keys), item, request)
    return [_with_returns(access, request)]


def read_delete_item(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the access of DeleteItem."""
    check_expression_use("DeleteItem", request)
    key, _ = normalise_item(request["Key"])
    check_old_or_none(request)
    target = _find_target(request["TableName"], keys)
    access = _key_access("DeleteItem", target, key, request, Right.DELETE)
    return [_with_returns(access, request)]


def read_update_item(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the access of UpdateItem."""
    key, plan, condition = read_update(request)
    target = _find_target(request["TableName"], keys)
    access = _update_access(target, key, plan, condition, request)
    return [_with_returns(access, request)]


def read_batch_write_item(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the accesses of BatchWriteItem, one for each put and each delete."""
    accesses: list[Access] = []
    for name, members in request["RequestItems"].items():
        target = _find_target(name, keys)
        for member in members:
            put, delete = member.get("PutRequest"), member.get("DeleteRequest")
            if (put is None) is (delete is None):
                accesses.append(_unreadable("BatchWriteItem", target.table))
                continue
            if put is not None:
                item, _ = normalise_item(put["Item"])
                accesses.append(_put_access("BatchWriteItem", target, item, {}))
            else:
                key, _ = normalise_item(delete["Key"])
                access = _key_access("BatchWriteItem", target, key, {}, Right.DELETE)
                accesses.append(access)
    return _with_capacity(accesses, request)


def read_transact_write_items(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the accesses of TransactWriteItems, one for each member."""
    accesses = [
        access for member in request["TransactItems"] for access in _read_member(member, keys)
    ]
    return _enclose("TransactWriteItems", request, accesses)


def _read_member(member: dict[str, Any], keys: KeyLookup) -> Iterator[Access]:
    if all(member.get(kind) is None for kind in WRITE_MEMBERS):
        yield _unreadable("PutItem", None)
    # The engine refuses a member with several actions; the accesses include all of them.
    for kind, action, parameter, _ in WRITE_MEMBERS.values():
        body: dict[str, Any] | None = member.get(kind)
        if body is None:
            continue
        item, _ = normalise_item(body[parameter])
        check_expression_use(kind, body)
        target = _find_target(body["TableName"], keys)
        match kind:
            case "Put":
                access = _put_access(action, target, item, body)
            case "Update":
                plan, condition = read_update_expressions(body)
                access = _update_access(target, item, plan, condition, body)
            case "Delete":
                access = _key_access(action, target, item, body, Right.DELETE)
            case _:
                access = _key_access(action, target, item, body, Right.GET)
        yield access


def _unreadable(action: str, table: str | None) -> Access:
    """Return the access of a member that the engine refuses: one that needs all rights."""
    return Access(action, table, rights=ALL, attributes=None, is_opaque=True)


def _enclose(operation: str, request: dict[str, Any], accesses: list[Access]) -> list[Access]:
    enclosed = [access._replace(enclosing=operation) for access in accesses]
    return _with_capacity(enclosed, request)


def _with_capacity(accesses: list[Access], request: dict[str, Any]) -> list[Access]:
    capacity = request.get("ReturnConsumedCapacity")
    return accesses if capacity is None else [each._replace(capacity=capacity) for each in accesses]


def _with_returns(access: Access, request: dict[str, Any]) -> Access:
    return access._replace(
        return_values=request.get("ReturnValues") or "NONE",
        capacity=request.get("ReturnConsumedCapacity"),
    )


def _put_access(action: str, target: _NamedTable, item: Item, request: dict[str, Any]) -> Access:
    condition, existence = _read_condition(target, request)
    named = frozenset(item) | condition
    return Access(
        action,
        target.table,
        rights=existence or _PUT,
        partition=target.partition_of(item),
        attributes=named,
        named=named,
        written=item,
        returns_on_failure=_returns_on_failure(request),
    )


def _key_access(
    action: str, target: _NamedTable, key: Item, request: dict[str, Any], rights: Right
) -> Access:
    condition, _ = _read_condition(target, request)
    named = frozenset(key) | condition
    return Access(
        action,
        target.table,
        rights=rights,
        partition=target.partition_of(key),
        attributes=named,
        named=named,
        returns_on_failure=_returns_on_failure(request),
    )


def _update_access(
    target: _NamedTable,
    key: Item,
    plan: UpdatePlan | None,
    condition: BoundCondition | None,
    request: dict[str, Any],
) -> Access:
    named = frozenset(key)
    if plan is not None:
        named |= {str(path[0]) for path in plan.paths}
    if condition is not None:
        named |= condition.attributes
    existence = _read_existence(target, request, read_placeholders(request))
    return Access(
        "UpdateItem",
        target.table,
        rights=existence or _PUT,
        partition=target.partition_of(key),
        attributes=named,
        named=named,
        written={**key, **_read_written(plan, request)},
        returns_on_failure=_returns_on_failure(request),
    )


def _read_written(
    plan: UpdatePlan | None, request: dict[str, Any]
) -> dict[str, AttributeValue | None]:
    """Return the attributes that an update writes: {} for removed, None for unknown values."""
    if plan is None:
        return {}
    text: str | None = request.get("UpdateExpression")
    legacy: dict[str, Any] = request.get("AttributeUpdates") or {}
    if text is not None:
        kinds = [type(action) for action in parse_update(text)]
    else:
        kinds = [_legacy_kind(update) for update in legacy.values()]
    written: dict[str, AttributeValue | None] = {}
    for change, kind in zip(plan.changes, kinds, strict=True):
        value = None
        if len(change.steps) == 1:
            # The result of adding to an existing value is unknown.
            value = change.given if kind is SetTo else {} if kind is Remove else None
        written[str(change.steps[0])] = value
    return written


def _legacy_kind(update: dict[str, Any]) -> type[Action]:
    match update.get("Action") or "PUT":
        case "PUT":
            return SetTo
        case "ADD":
            return AddTo
        case _:
            return Remove if update.get("Value") is None else DeleteFrom


def _returns_on_failure(request: dict[str, Any]) -> bool:
    return request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"


def _read_condition(
    target: _NamedTable, request: dict[str, Any]
) -> tuple[frozenset[str], Right | None]:
    """Return the attributes in a write's condition, and the right of `_read_existence`."""
    text, expected = request.get("ConditionExpression"), request.get("Expected")
    operator = request.get("ConditionalOperator")
    bound = None
    placeholders = read_placeholders(request)
    if text is not None:
        bound = bind_condition(text, placeholders, kind="ConditionExpression")
        placeholders.check_all_used()
    elif expected is not None or operator is not None:
        bound = bind_expected(expected or {}, operator)
    named = frozenset[str]() if bound is None else bound.attributes
    return named, _read_existence(target, request, placeholders)


def _read_existence(
    target: _NamedTable, request: dict[str, Any], placeholders: Placeholders
) -> Right | None:
    """Return the right a write needs if its condition rules out replacing, or creating, an item.

    None if the condition allows both.
    """
    functions: set[str] = set()
    text = request.get("ConditionExpression")
    if text is not None:
        for term in _terms(parse_condition(text).condition):
            match term:
                case FunctionCall("attribute_exists" | "attribute_not_exists", (Path() as path,)):
                    if target.is_key(placeholders.resolve(path)):
                        functions.add(term.function)
                case _:
                    pass
    elif request.get("ConditionalOperator") != "OR":
        expected: dict[str, Any] = request.get("Expected") or {}
        for name, given in expected.items():
            if target.is_key((name,)):
                operator = given.get("ComparisonOperator")
                if given.get("Exists") is False or operator == "NULL":
                    functions.add("attribute_not_exists")
                elif operator == "NOT_NULL":
                    functions.add("attribute_exists")
    if "attribute_not_exists" in functions:
        return Right.CREATE
    return Right.UPDATE if functions else None


def _terms(condition: Condition) -> Iterable[Condition]:
    if not isinstance(condition, And):
        return (condition,)
    return [term for part in condition.conditions for term in _terms(part)]


def read_query_access(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the access of Query."""
    check_select(request)
    condition, parameters = read_query(request)
    target = _find_target(request["TableName"], keys)
    partition = target.partition_queried(condition, request.get("IndexName"))
    named = frozenset(condition.constraints)
    access = _page_access("Query", target, request, named, parameters.filter, parameters.projection)
    return [access._replace(partition=partition)]


def read_scan_access(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the access of Scan, which covers all partitions."""
    check_select(request)
    parameters = read_scan(request)
    target = _find_target(request["TableName"], keys)
    empty = frozenset[str]()
    return [_page_access("Scan", target, request, empty, parameters.filter, parameters.projection)]


def _page_access(
    action: str,
    target: _NamedTable,
    request: dict[str, Any],
    named: frozenset[str],
    condition: BoundCondition | None,
    projection: Projection | None,
) -> Access:
    index_name = request.get("IndexName")
    if condition is not None:
        named |= condition.attributes
    if projection is not None:
        named |= projection.attributes
    select = request.get("Select") or _default_select(index_name, projection)
    is_whole = select not in ("COUNT", "SPECIFIC_ATTRIBUTES")
    return Access(
        action,
        target.table,
        index_name,
        Right.QUERY,
        attributes=None if is_whole else named,
        named=named,
        select=select,
        capacity=request.get("ReturnConsumedCapacity"),
    )


def _default_select(index_name: str | None, projection: Projection | None) -> str:
    if projection is not None:
        return "SPECIFIC_ATTRIBUTES"
    return "ALL_ATTRIBUTES" if index_name is None else "ALL_PROJECTED_ATTRIBUTES"


def read_search_vectors(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the access of SearchVectors, which roles allow by action, not by right."""
    check_expression_use("SearchVectors", request)
    placeholders = read_placeholders(request)
    text, wanted = request.get("SearchConditionExpression"), request.get("ProjectionExpression")
    asked = frozenset[str]()
    if text is not None:
        asked = frozenset(bind_search_condition(text, placeholders))
    projection = None if wanted is None else bind_projection(wanted, placeholders)
    placeholders.check_all_used()
    target = _find_target(request["TableName"], keys)
    access = _page_access("SearchVectors", target, request, asked, None, projection)
    return [access._replace(rights=Right(0))]
