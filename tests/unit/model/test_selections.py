"""What a query selects, as it is written in its call, and copies of queries."""

from __future__ import annotations

from dataclasses import fields
from dataclasses import replace as replace_dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keyfold.model import Query, now
from keyfold.model._collections import Collection
from keyfold.model._replacing import replace
from tests.unit.model.shop import (
    Order,
    OrderId,
    OrderLine,
    Rate,
    RateSummary,
    by_base,
    by_key,
    market,
)

ORDER = OrderId("O#01JZ10H7X367VB2NF4YQ973DHW")
START = datetime(2026, 3, 1, tzinfo=UTC)
LINES = OrderLine.query(user="ada", order=ORDER)


class OrderWithLines(Collection):
    order: Order
    lines: list[OrderLine]


SAME_AT_ANY_TIME: list[Query[Any]] = [
    LINES,
    LINES.descending().limit(3).consistent().max_reads(2),
    LINES.since(2),
    LINES.until(4),
    LINES.between(2, 4),
    LINES.starting_with("00"),
    Order.query(user="ada"),
    Order.query(user="ada").since(START),
    Order.query(by_key, order=ORDER).refs(),
    Rate.query(by_base, base="USD"),
    market.query(pk="U#ada#O"),
    market.query(pk="U#ada#O").descending(),
]


@pytest.mark.parametrize("query", SAME_AT_ANY_TIME, ids=repr)
def test_a_call_has_the_selection_of_its_query(query: Query[Any]) -> None:
    body = {**query.to_dynamodb(now=START), "Limit": 17, "ExclusiveStartKey": {"pk": {"S": "x"}}}
    expected = query.to_selection(now=START + timedelta(days=9))
    found = query.selection_in(body)
    assert found == expected
    # Cursors are bound to its text.
    assert repr(found) == repr(expected)


@pytest.mark.parametrize(
    "query",
    [
        Order.query(user="ada").until(now),
        LINES.where(OrderLine.f.sku.eq("s")),
        Rate.query(by_base, base="USD").only(RateSummary),
    ],
    ids=repr,
)
def test_a_selection_that_depends_on_more_is_not_taken_from_a_call(query: Query[Any]) -> None:
    assert query.selection_in(query.to_dynamodb(now=START)) is None


def test_a_scan_has_no_selection_in_its_call() -> None:
    scan = market.scan()
    assert scan.selection_in(scan.to_dynamodb(now=START)) is None


@pytest.mark.parametrize("query", SAME_AT_ANY_TIME, ids=repr)
def test_a_copy_is_that_of_dataclasses(query: Query[Any]) -> None:
    copied = replace(query, page_limit=7, cursor="c")
    assert copied == replace_dataclass(query, page_limit=7, cursor="c")
    assert type(copied) is Query
    assert query.page_limit != 7
    assert {each.name for each in fields(query) if getattr(copied, each.name) is None} >= {"test"}


def test_a_copy_has_nothing_that_was_derived_from_the_original() -> None:
    request = OrderWithLines.get(user="ada", order=ORDER)
    assert request.query.page_limit is None
    limited = request.limit(3)
    assert limited == replace_dataclass(request, list_limit=3)
    assert limited.query.page_limit == 4


def test_a_field_that_a_class_lacks_cannot_be_changed() -> None:
    with pytest.raises(KeyError):
        replace(LINES, colour="red")
