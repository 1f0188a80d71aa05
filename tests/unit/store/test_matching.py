"""Reads whose items are tested here, after they are read; and conditions on the time of the run."""

from __future__ import annotations

import pickle
from datetime import datetime, timedelta

import pytest

from keyfold.errors import ConditionFailed, NotPicklable
from keyfold.model import now
from keyfold.testing import Clock
from tests.unit.model.shop import OrderId, OrderLine
from tests.unit.store.store_kinds import START, AnyStore

ORDER = OrderId("O#01JZ10H7X367VB2NF4YQ973DHW")
HOUR = timedelta(hours=1)


def is_odd(line: OrderLine, at: datetime) -> bool:
    assert at >= START
    return line.line % 2 == 1


ODD = OrderLine.query(user="ada", order=ORDER).matching(is_odd)


def fill(store: AnyStore, count: int) -> list[OrderLine]:
    made = [OrderLine(user="ada", order=ORDER, line=number, sku="s") for number in range(count)]
    for each in made:
        store.run(each.put())
    return made


def test_only_what_matches_is_returned(store: AnyStore) -> None:
    made = fill(store, 6)
    page = store.run(ODD)
    assert page == made[1::2]
    assert page.scanned == 6, "what is left out was read"


def test_pages_are_filled_and_continued(store: AnyStore) -> None:
    made = fill(store, 9)
    first = store.run(ODD.limit(3))
    assert first == made[1:6:2]
    assert first.cursor is not None
    assert store.run(ODD.limit(3).after(first.cursor)) == made[7::2]
    assert store.run(ODD.first()) == made[1]


def test_what_matches_is_counted(store: AnyStore) -> None:
    fill(store, 7)
    assert store.run(ODD.count()) == 3


def test_a_test_that_can_be_imported_is_pickled() -> None:
    assert pickle.loads(pickle.dumps(ODD)) == ODD
    with pytest.raises(NotPicklable):
        pickle.dumps(ODD.matching(lambda _line, _at: True))


def test_a_request_shows_its_test() -> None:
    assert repr(ODD).endswith(", matching is_odd>")


def test_a_condition_compares_the_time_of_the_run(store: AnyStore, clock: Clock) -> None:
    (line,) = fill(store, 1)
    update = OrderLine.update(user="ada", order=ORDER, line=0).set(OrderLine.f.sku, "t")
    assert store.run(update.where(now < START + HOUR)).sku == "t"
    with pytest.raises(ConditionFailed):
        store.run(update.where(now - HOUR >= START))
    clock.advance(HOUR)
    with pytest.raises(ConditionFailed):
        store.run(update.where(now < START + HOUR))
    assert store.run(update.where(now - HOUR >= START)).line == line.line
