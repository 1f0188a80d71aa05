"""Random requests to a table: every operation, valid and invalid, in both styles."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.oracle.random_expressions import Placeholders, condition, projection, update
from tests.oracle.random_tables import (
    Index,
    Table,
    key_value,
    random_item,
    random_key,
    start_value,
)
from tests.oracle.random_values import NAMES, bad_value, value

Request = dict[str, Any]

_OPERATORS = (
    *("EQ", "NE", "LT", "LE", "GT", "GE", "IN", "BETWEEN", "NULL", "NOT_NULL"),
    *("CONTAINS", "NOT_CONTAINS", "BEGINS_WITH"),
)

_INVALID = 0.04  # the fraction of requests made invalid, apart from invalid expressions


@dataclass(frozen=True, slots=True)
class Call:
    """A request; with `walks`, all its pages are read and compared as a whole."""

    operation: str
    request: Request
    walks: bool = False


def random_call(source: random.Random, table: Table) -> Call:
    """Return a request of a random operation."""
    make = source.choices(_MAKERS, _WEIGHTS)[0]
    call = make(source, table)
    return _invalidated(source, table, call) if source.random() < _INVALID else call


def _put(source: random.Random, table: Table) -> Call:
    request: Request = {"TableName": table.name, "Item": random_item(source, table)}
    _guard(source, table, request)
    _returns(source, request, ["NONE", "ALL_OLD"])
    return Call("PutItem", request)


def _delete(source: random.Random, table: Table) -> Call:
    request: Request = {"TableName": table.name, "Key": random_key(source, table)}
    _guard(source, table, request)
    # When nothing is deleted, DynamoDB Local reports capacity even if not requested.
    request["ReturnConsumedCapacity"] = source.choice(["TOTAL", "INDEXES"])
    _returns(source, request, ["NONE", "ALL_OLD"])
    return Call("DeleteItem", request)


def _update(source: random.Random, table: Table) -> Call:
    request: Request = {"TableName": table.name, "Key": random_key(source, table)}
    if source.random() < 0.25:
        names = source.sample(NAMES, source.randint(0, 3))
        updates = {name: _attribute_update(source, table, name) for name in names}
        request["AttributeUpdates"] = updates | {"zz": {"Action": "PUT", "Value": {"N": "1"}}}
        if source.random() < 0.3:
            request["Expected"] = _expected(source)
    else:
        holders = Placeholders(source)
        request["UpdateExpression"] = _update_expression(source, table, holders)
        if source.random() < 0.3:
            request["ConditionExpression"] = condition(source, holders, table.names)
        request |= holders.parameters()
    _returns(source, request, ["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
    return Call("UpdateItem", request)


def _update_expression(source: random.Random, table: Table, holders: Placeholders) -> str:
    """Return an update; half of them change an index key, rarely to a value of the wrong type."""
    chance = source.random()
    if chance < 0.05:
        return update(source, holders, table.names)
    if chance < 0.15:
        return update(source, holders, NAMES)
    plain = tuple(name for name in NAMES if name not in table.types)
    indexed = [name for name in NAMES if name in table.types]
    text = update(source, holders, plain)
    if not indexed or chance < 0.5 or "SET " not in text:
        return text
    name = source.choice(indexed)
    moved = f"{holders.name(name)} = {holders.value(key_value(source, table.types[name]))}"
    return text.replace("SET ", f"SET {moved}, ", 1)


def _attribute_update(source: random.Random, table: Table, name: str) -> Request:
    action = source.choice(["PUT", "PUT", "ADD", "DELETE"])
    if action == "DELETE" and source.random() < 0.6:
        return {"Action": action}
    if action == "PUT" and name in table.types:
        return {"Action": action, "Value": key_value(source, table.types[name])}
    chosen = (
        value(source, 1)
        if action == "PUT"
        else source.choice([{"N": "1"}, {"SS": ["x"]}, {"NS": ["1"]}, value(source, 0)])
    )
    return {"Action": action, "Value": chosen}


def _get(source: random.Random, table: Table) -> Call:
    request: Request = {"TableName": table.name, "Key": random_key(source, table)}
    _project(source, table.names, request)
    if source.random() < 0.3:
        request["ConsistentRead"] = True
    _capacity(source, request)
    return Call("GetItem", request)


def _query(source: random.Random, table: Table) -> Call:
    index = source.choice([None, None, *table.indexes])
    partition = index.partition if index else (table.partition,)
    sort = index.sort if index else ((table.sort,) if table.sort else ())
    request: Request = {"TableName": table.name}
    if index:
        request["IndexName"] = index.name
    legacy = len(partition + sort) <= 2 and source.random() < 0.2
    if legacy:
        request["KeyConditions"] = _key_conditions(source, table, partition, sort)
        if source.random() < 0.3:
            request["QueryFilter"] = _filter(source, _filterable(table, index))
    else:
        holders = Placeholders(source)
        request["KeyConditionExpression"] = _key_expression(source, table, holders, partition, sort)
        if source.random() < 0.4:
            request["FilterExpression"] = condition(source, holders, _filterable(table, index))
        if source.random() < 0.3:
            request["ProjectionExpression"] = projection(source, holders, _readable(table, index))
        request |= holders.parameters()
    if source.random() < 0.4:
        request["ScanIndexForward"] = source.random() < 0.5
    return _paged(source, Call("Query", request), index)


def _scan(source: random.Random, table: Table) -> Call:
    index = source.choice([None, None, *table.indexes])
    request: Request = {"TableName": table.name}
    if index:
        request["IndexName"] = index.name
    if source.random() < 0.2:
        request["ScanFilter"] = _filter(source, _projected(table, index))
    elif source.random() < 0.6:
        holders = Placeholders(source)
        request["FilterExpression"] = condition(source, holders, _projected(table, index))
        if source.random() < 0.3:
            request["ProjectionExpression"] = projection(source, holders, _readable(table, index))
        request |= holders.parameters()
    return _paged(source, Call("Scan", request), index)


def _paged(source: random.Random, call: Call, index: Index | None) -> Call:
    request = call.request
    if source.random() < 0.3:
        request["Limit"] = source.randint(1, 5)
    if source.random() < 0.2 and not (index and index.is_global):
        request["ConsistentRead"] = True
    chosen = source.random()
    if chosen < 0.15 and "ProjectionExpression" not in request:
        request["Select"] = "COUNT"
    elif chosen < 0.2:
        request["Select"] = source.choice(
            ["ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT"]
        )
    _capacity(source, request)
    # The order of items with equal index keys, and of the partitions of a scan, differs between
    # the implementations: only complete results can be compared.
    walks = "Limit" in request and (call.operation == "Scan" or index is not None)
    return Call(call.operation, request, walks)


def _batch_get(source: random.Random, table: Table) -> Call:
    keys = _distinct([random_key(source, table) for _ in range(source.randint(1, 5))])
    one: Request = {"Keys": keys}
    _project(source, table.names, one)
    return Call("BatchGetItem", {"RequestItems": {table.name: one}})


def _batch_write(source: random.Random, table: Table) -> Call:
    items = _distinct([random_key(source, table) for _ in range(source.randint(1, 5))])
    writes: list[Request] = []
    for key in items:
        if source.random() < 0.7:
            writes.append({"PutRequest": {"Item": random_item(source, table) | key}})
        else:
            writes.append({"DeleteRequest": {"Key": key}})
    return Call("BatchWriteItem", {"RequestItems": {table.name: writes}})


def _transact_write(source: random.Random, table: Table) -> Call:
    actions: list[Request] = []
    for key in _distinct([random_key(source, table) for _ in range(source.randint(1, 4))]):
        holders = Placeholders(source)
        one: Request = {"TableName": table.name}
        kind = source.choice(["Put", "Put", "Update", "Delete", "ConditionCheck"])
        if kind == "Put":
            one["Item"] = random_item(source, table) | key
        else:
            one["Key"] = key
        if kind == "Update":
            one["UpdateExpression"] = _update_expression(source, table, holders)
        if kind == "ConditionCheck" or source.random() < 0.3:
            one["ConditionExpression"] = condition(source, holders, table.names)
        if source.random() < 0.3:
            one["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        actions.append({kind: one | holders.parameters()})
    request: Request = {"TransactItems": actions}
    _capacity(source, request)
    return Call("TransactWriteItems", request)


def _transact_get(source: random.Random, table: Table) -> Call:
    gets: list[Request] = []
    for key in _distinct([random_key(source, table) for _ in range(source.randint(1, 4))]):
        one: Request = {"TableName": table.name, "Key": key}
        if source.random() < 0.4:
            holders = Placeholders(source)
            one["ProjectionExpression"] = projection(source, holders, table.names)
            one |= holders.parameters()
        gets.append({"Get": one})
    request: Request = {"TransactItems": gets}
    _capacity(source, request)
    return Call("TransactGetItems", request)


def _describe(source: random.Random, table: Table) -> Call:
    operation = source.choice(["DescribeTable", "DescribeTimeToLive", "ListTables"])
    return Call(operation, {} if operation == "ListTables" else {"TableName": table.name})


def _expiry(source: random.Random, table: Table) -> Call:
    specification = {"Enabled": source.random() < 0.5, "AttributeName": source.choice(["t", "u"])}
    request = {"TableName": table.name, "TimeToLiveSpecification": specification}
    return Call("UpdateTimeToLive", request)


def _guard(source: random.Random, table: Table, request: Request) -> None:
    chance = source.random()
    if chance < 0.35:
        holders = Placeholders(source)
        request["ConditionExpression"] = condition(source, holders, table.names)
        request |= holders.parameters()
    elif chance < 0.45:
        request["Expected"] = _expected(source)
        if source.random() < 0.3:
            request["ConditionalOperator"] = source.choice(["AND", "OR"])
    if "ConditionExpression" in request and source.random() < 0.4:
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"


def _expected(source: random.Random) -> Request:
    result: Request = {}
    for name in source.sample(NAMES, source.randint(1, 2)):
        kind = source.random()
        if kind < 0.3:
            result[name] = {"Exists": False}
        elif kind < 0.6:
            result[name] = {"Value": value(source, 1)}
        else:
            result[name] = _comparison(source)
    return result


def _comparison(source: random.Random) -> Request:
    operator = source.choice(_OPERATORS)
    counts = {"BETWEEN": 2, "NULL": 0, "NOT_NULL": 0, "IN": source.randint(1, 3)}
    count = counts.get(operator, 1)
    if source.random() < 0.03:
        count += 1
    values = [value(source, 1 if operator in {"EQ", "NE"} else 0) for _ in range(count)]
    result: Request = {"ComparisonOperator": operator}
    return result | {"AttributeValueList": values} if values else result


def _filter(source: random.Random, names: tuple[str, ...]) -> Request:
    return {source.choice(names): _comparison(source)}


def _key_conditions(
    source: random.Random, table: Table, partition: tuple[str, ...], sort: tuple[str, ...]
) -> Request:
    result: Request = {
        name: {
            "ComparisonOperator": "EQ",
            "AttributeValueList": [key_value(source, table.types[name])],
        }
        for name in partition
    }
    if sort and source.random() < 0.6:
        operator = source.choice(["EQ", "LT", "LE", "GT", "GE", "BETWEEN", "BEGINS_WITH"])
        count = 2 if operator == "BETWEEN" else 1
        values = [start_value(source, table.types[sort[0]]) for _ in range(count)]
        result[sort[0]] = {"ComparisonOperator": operator, "AttributeValueList": values}
    return result


def _key_expression(
    source: random.Random,
    table: Table,
    holders: Placeholders,
    partition: tuple[str, ...],
    sort: tuple[str, ...],
) -> str:
    clauses = [
        f"{holders.name(name)} = {holders.value(key_value(source, table.types[name]))}"
        for name in partition
    ]
    depth = source.randint(0, len(sort))
    for position, name in enumerate(sort[:depth]):
        kind = table.types[name]
        shown = holders.name(name)
        if position + 1 < depth:
            clauses.append(f"{shown} = {holders.value(key_value(source, kind))}")
            continue
        operator = source.choice(["=", "<", "<=", ">", ">=", "between", "begins"])
        first = holders.value(start_value(source, kind))
        if operator == "between":
            clauses.append(
                f"{shown} BETWEEN {first} AND {holders.value(start_value(source, kind))}"
            )
        elif operator == "begins":
            clauses.append(f"begins_with({shown}, {first})")
        else:
            clauses.append(f"{shown} {operator} {first}")
    source.shuffle(clauses)
    return " AND ".join(clauses)


def _filterable(table: Table, index: Index | None) -> tuple[str, ...]:
    keys = index.partition + index.sort if index else table.key
    return tuple(name for name in _projected(table, index) if name not in keys) or ("zz",)


def _readable(table: Table, index: Index | None) -> tuple[str, ...]:
    """Return the names that a read may request; a local index fetches what it lacks."""
    return table.names if index is None or not index.is_global else _projected(table, index)


def _projected(table: Table, index: Index | None) -> tuple[str, ...]:
    """Return the names that an index has, which are those a filter may use."""
    if index is None or index.projection["ProjectionType"] == "ALL":
        return table.names
    included = index.projection.get("NonKeyAttributes", [])
    return (*table.key, *index.partition, *index.sort, *included)


def _project(source: random.Random, names: tuple[str, ...], request: Request) -> None:
    chance = source.random()
    if chance < 0.3:
        holders = Placeholders(source)
        request["ProjectionExpression"] = projection(source, holders, names)
        holders.values.clear()
        request |= holders.parameters()
    elif chance < 0.4:
        request["AttributesToGet"] = source.sample(NAMES, 2)


def _returns(source: random.Random, request: Request, kinds: list[str]) -> None:
    if source.random() < 0.5:
        request["ReturnValues"] = source.choice(kinds)
    _capacity(source, request)


def _capacity(source: random.Random, request: Request) -> None:
    if source.random() < 0.4:
        request["ReturnConsumedCapacity"] = source.choice(["TOTAL", "INDEXES", "NONE"])


def _distinct(keys: list[Request]) -> list[Request]:
    """Return the keys without duplicates: equal numbers may be written differently."""
    seen: dict[str, Request] = {}
    for key in keys:
        seen.setdefault(repr([_canonical(one) for one in key.values()]), key)
    return list(seen.values())


def _canonical(one: Request) -> object:
    return float(one["N"]) if "N" in one else tuple(one.items())


def _invalidated(source: random.Random, table: Table, call: Call) -> Call:
    """Return the request made invalid in one respect."""
    request = dict(call.request)
    match source.choice(["table", "key", "value", "enum", "index", "start"]):
        case "table" if "TableName" in request:
            request["TableName"] = "absent"
        case "key" if "Key" in request:
            request["Key"] = source.choice(
                [{}, {"zz": {"S": "a"}}, {**request["Key"], "zz": {"S": "a"}}]
            )
        case "value" if "Item" in request:
            request["Item"] = {**request["Item"], "e": bad_value(source)}
        case "enum" if "ReturnValues" in request:
            request["ReturnValues"] = "SOME"
        case "index" if "IndexName" in request:
            request["IndexName"] = "absent"
        case "start" if call.operation in {"Query", "Scan"}:
            request["ExclusiveStartKey"] = random_key(source, table)
            if call.operation == "Scan" or "IndexName" in request:
                request["ExclusiveStartKey"]["zz"] = {"S": "a"}
        case _:
            return call
    return Call(call.operation, request, call.walks)


_TABLE_OF_MAKERS: list[tuple[Callable[[random.Random, Table], Call], int]] = [
    (_put, 20),
    (_update, 25),
    (_delete, 8),
    (_get, 8),
    (_query, 20),
    (_scan, 10),
    (_batch_get, 4),
    (_batch_write, 6),
    (_transact_write, 10),
    (_transact_get, 4),
    (_describe, 2),
    (_expiry, 1),
]
_MAKERS = [make for make, _ in _TABLE_OF_MAKERS]
_WEIGHTS = [weight for _, weight in _TABLE_OF_MAKERS]
