"""What is measured: operations of the engine, each with the bare loop it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import orjson

from benchmarks._bare import BareFile, Bindings
from benchmarks._orders import (
    PER_CUSTOMER,
    TABLE,
    Draw,
    Request,
    customer_of,
    customer_span,
    make_get,
    make_key,
    make_order,
    make_put,
    make_query,
    row_entries,
    row_key,
)
from keyfold.values import hash_row_key, item_size_bytes

_PREFIX = "ORDER#2026-11-"


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the result.

    `draws` selects the orders: any, the first of each customer, or new ones. With `moves` their
    index keys change. `bindings` are the SQL parameters with which the bare loop does the same
    work. `target` is how many times as long as the bare loop the engine may take.
    """

    name: str
    target: float
    operation: str
    request: Callable[[Draw], Request]
    bare: Callable[[BareFile, Sequence[Bindings]], None]
    bindings: Callable[[Draw], Bindings]
    draws: Literal["orders", "customers", "new"] = "orders"
    is_write: bool = False
    is_json: bool = False
    is_indexed: bool = False
    is_bare_indexed: bool = False
    moves: bool = False


def _query_prefix(draw: Draw) -> Request:
    return {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :pk AND begins_with(sk, :prefix)",
        "ExpressionAttributeValues": {
            ":pk": {"S": customer_of(draw.number)},
            ":prefix": {"S": _PREFIX},
        },
        "Limit": PER_CUSTOMER,
    }


def _query_filter(draw: Draw) -> Request:
    return {
        **make_query(draw),
        "FilterExpression": "amount >= :least AND quantity < :many",
        "ExpressionAttributeValues": {
            ":pk": {"S": customer_of(draw.number)},
            ":least": {"N": str(10 + draw.number % 500)},
            ":many": {"N": "9"},
        },
    }


def _put_if_absent(draw: Draw) -> Request:
    return {**make_put(draw), "ConditionExpression": "attribute_not_exists(pk)"}


def _put_if_less(draw: Draw) -> Request:
    return {
        **make_put(draw),
        "ConditionExpression": "amount < :most",
        "ExpressionAttributeValues": {":most": {"N": "5000"}},
    }


def _key_bindings(draw: Draw) -> Bindings:
    return (row_key(make_key(draw.number)),)


def _span_bindings(draw: Draw) -> Bindings:
    return customer_span(draw.number)


def _prefix_bindings(draw: Draw) -> Bindings:
    return customer_span(draw.number, _PREFIX)


def row_bindings(draw: Draw) -> Bindings:
    """Return the row of an order."""
    order = make_order(draw)
    return (row_key(order), orjson.dumps(order), item_size_bytes(order))


def indexed_row_bindings(draw: Draw) -> Bindings:
    """Return the row of an order in the table with two indexes."""
    key, *rest = row_bindings(draw)
    assert isinstance(key, bytes)
    return (key, *rest, hash_row_key(key), *row_entries(make_order(draw)))


def _query_case(
    name: str,
    target: float,
    request: Callable[[Draw], Request],
    bindings: Callable[[Draw], Bindings] = _span_bindings,
) -> Case:
    return Case(
        name,
        target,
        "Query",
        request,
        BareFile.read_spans,
        bindings,
        draws="customers",
        is_json=True,
    )


def _put_case(
    name: str,
    target: float,
    request: Callable[[Draw], Request] = make_put,
    bindings: Callable[[Draw], Bindings] = row_bindings,
    *,
    draws: Literal["orders", "new"] = "orders",
    is_indexed: bool = False,
    moves: bool = False,
) -> Case:
    return Case(
        name,
        target,
        "PutItem",
        request,
        BareFile.put_all,
        bindings,
        draws=draws,
        is_write=True,
        is_indexed=is_indexed,
        is_bare_indexed=moves,
        moves=moves,
    )


OVERWRITE = _put_case("PutItem, overwrite", 1.8)

CASES = (
    Case("GetItem", 2.2, "GetItem", make_get, BareFile.get_all, _key_bindings),
    _query_case("Query of 20", 1.8, make_query),
    _query_case("Query of 20, prefix and limit", 1.8, _query_prefix, _prefix_bindings),
    _query_case("Query of 20, filter", 7.0, _query_filter),
    OVERWRITE,
    _put_case("PutItem, new", 1.8, draws="new"),
    _put_case("PutItem, overwrite if less", 2.4, _put_if_less),
    _put_case("PutItem, new if absent", 2.4, _put_if_absent, draws="new"),
    _put_case("2 indexes, keys unchanged", 2.2, is_indexed=True),
    _put_case("2 indexes, new", 3.0, draws="new", is_indexed=True),
    _put_case(
        "2 indexes, both keys changed",
        1.5,
        bindings=indexed_row_bindings,
        is_indexed=True,
        moves=True,
    ),
)
