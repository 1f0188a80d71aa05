"""The accesses of reads: GetItem, Query, Scan, SearchVectors, and reads in batches and transactions."""

from __future__ import annotations

from typing import Any

from keyfold.expressions.conditions import BoundCondition
from keyfold.expressions.parameters import (
    check_expression_use,
    check_select,
    read_placeholders,
    read_projection,
)
from keyfold.expressions.parameters import read_query as read_query_parameters
from keyfold.expressions.parameters import read_scan as read_scan_parameters
from keyfold.expressions.paths import Projection
from keyfold.expressions.projections import bind_projection
from keyfold.expressions.search_conditions import bind_search_condition
from keyfold.policy._access import Access
from keyfold.policy._rights import Right
from keyfold.policy.accesses._named_tables import KeyLookup, NamedTable, find_table
from keyfold.values import Item, normalise_item


def read_get_item(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the access of GetItem."""
    return [_read_get(request, keys)]


def read_batch_get_item(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the accesses of BatchGetItem, one for each key."""
    accesses: list[Access] = []
    for name, wanted in request["RequestItems"].items():
        check_expression_use("BatchGetItem", wanted)
        items = [normalise_item(key)[0] for key in wanted["Keys"]]
        projection = read_projection(wanted)
        target = find_table(name, keys)
        accesses += [_get_access("BatchGetItem", target, item, projection) for item in items]
    return accesses


def read_transact_get_items(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the accesses of TransactGetItems, one for each member."""
    return [
        _read_get(member["Get"], keys)._replace(enclosing="TransactGetItems")
        for member in request["TransactItems"]
    ]


def _read_get(request: dict[str, Any], keys: KeyLookup) -> Access:
    check_expression_use("GetItem", request)
    item, _ = normalise_item(request["Key"])
    projection = read_projection(request)
    return _get_access("GetItem", find_table(request["TableName"], keys), item, projection)


def _get_access(
    action: str, target: NamedTable, key: Item, projection: Projection | None
) -> Access:
    named = frozenset(key)
    if projection is not None:
        named |= projection.attributes
    return Access(
        action,
        target.table,
        rights=Right.GET,
        partition=target.partition_of(key),
        sort_key=target.sort_key_of(key),
        attributes=None if projection is None else named,
        named=named,
        select="ALL_ATTRIBUTES" if projection is None else "SPECIFIC_ATTRIBUTES",
    )


def read_query(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the access of Query."""
    check_select(request)
    condition, parameters = read_query_parameters(request)
    target = find_table(request["TableName"], keys)
    partition = target.partition_queried(condition, request.get("IndexName"))
    named = frozenset(condition.constraints)
    access = _page_access("Query", target, request, named, parameters.filter, parameters.projection)
    sort_key, prefix = target.sort_keys_queried(condition, request.get("IndexName"))
    return [access._replace(partition=partition, sort_key=sort_key, sort_prefix=prefix)]


def read_scan(request: dict[str, Any], keys: KeyLookup) -> list[Access]:
    """Return the access of Scan, which covers all partitions."""
    check_select(request)
    parameters = read_scan_parameters(request)
    target = find_table(request["TableName"], keys)
    empty = frozenset[str]()
    return [_page_access("Scan", target, request, empty, parameters.filter, parameters.projection)]


def _page_access(
    action: str,
    target: NamedTable,
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
    target = find_table(request["TableName"], keys)
    access = _page_access("SearchVectors", target, request, asked, None, projection)
    return [access._replace(rights=Right(0))]
