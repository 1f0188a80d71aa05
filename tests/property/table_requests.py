"""API requests on the counterpart of a plain table."""

from __future__ import annotations

from typing import Any

from tests.property.plain_conditions import (
    Condition,
    Joined,
    Negated,
    Placeholders,
    SortCondition,
    write_condition,
)
from tests.property.plain_table import Attribute, IndexPlan, PlainTable
from tests.property.plain_values import Item

Request = dict[str, Any]


def create_table(name: str, table: PlainTable) -> Request:
    """Return the request that creates `table` with its indexes."""
    key = (table.partition, *([table.sort] if table.sort else []))
    indexes = table.indexes.values()
    request: Request = {
        "TableName": name,
        "AttributeDefinitions": _definitions(key, *(each.attributes for each in indexes)),
        "KeySchema": _schema((table.partition,), key[1:]),
        "BillingMode": "PAY_PER_REQUEST",
    }
    for parameter, is_global in (
        ("GlobalSecondaryIndexes", True),
        ("LocalSecondaryIndexes", False),
    ):
        wanted = [_index(each) for each in indexes if each.is_global is is_global]
        if wanted:
            request[parameter] = wanted
    return request


def add_index(name: str, index: IndexPlan) -> Request:
    """Return the request that adds a global index."""
    return {
        "TableName": name,
        "AttributeDefinitions": _definitions(index.attributes),
        "GlobalSecondaryIndexUpdates": [{"Create": _index(index)}],
    }


def remove_index(name: str, index_name: str) -> Request:
    """Return the request that removes a global index."""
    return {
        "TableName": name,
        "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": index_name}}],
    }


def query_request(
    name: str,
    index: IndexPlan | None,
    partition: Item,
    conditions: tuple[SortCondition, ...],
    filter_: Condition | None,
) -> Request:
    """Return the request for the items of one partition that meet the conditions."""
    used = Placeholders()
    clauses = [f"{used.name(each)} = {used.value(value)}" for each, value in partition.items()]
    clauses += [write_condition(condition, used) for condition in conditions]
    request: Request = {"TableName": name, "KeyConditionExpression": " AND ".join(clauses)}
    if index is not None:
        request["IndexName"] = index.name
    if filter_ is not None:
        request["FilterExpression"] = write_condition(filter_, used)
    return request | used.parameters()


def names_in(condition: Condition) -> set[str]:
    """Return the attributes that a condition names."""
    match condition:
        case Negated(inner):
            return names_in(inner)
        case Joined(left, _, right):
            return names_in(left) | names_in(right)
        case _:
            return {condition.name}


def _definitions(*keys: tuple[Attribute, ...]) -> list[Request]:
    attributes = {each.name: each.kind for key in keys for each in key}
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in attributes.items()]


def _schema(partition: tuple[Attribute, ...], sort: tuple[Attribute, ...]) -> list[Request]:
    return [
        *({"AttributeName": each.name, "KeyType": "HASH"} for each in partition),
        *({"AttributeName": each.name, "KeyType": "RANGE"} for each in sort),
    ]


def _index(plan: IndexPlan) -> Request:
    projection: Request = {"ProjectionType": "ALL"}
    if plan.included is not None:
        projection = {"ProjectionType": "KEYS_ONLY"}
        if plan.included:
            projection = {
                "ProjectionType": "INCLUDE",
                "NonKeyAttributes": sorted(plan.included),
            }
    return {
        "IndexName": plan.name,
        "KeySchema": _schema(plan.partition, plan.sort),
        "Projection": projection,
    }
