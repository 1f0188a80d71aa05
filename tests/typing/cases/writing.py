"""Result types of writes: the entity as stored afterwards, or as it was before."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any, TypeVar, assert_type

from pydantic import BaseModel

from keyfold import (
    Check,
    Condition,
    Delete,
    Entity,
    Get,
    Put,
    Ref,
    Store,
    Transaction,
    Update,
    batch,
    transaction,
)
from keyfold.requests import Chain, Upsert
from tests.typing.cases.tables import Order, OrderId, OrderLine, Rate

E = TypeVar("E", bound=Entity)


def put(store: Store, rate: Rate) -> None:
    assert_type(rate.put(), Put[Rate])
    assert_type(store.run(rate.put()), Rate)
    assert_type(store.run(rate.create()), Rate)
    assert_type(store.run(rate.replace()), Rate)
    assert_type(store.run(rate.put().expiring_in(timedelta(days=1))), Rate)
    assert_type(store.run(rate.put().where(Rate.f.stale.eq(True))), Rate)
    rate.put().expiring_in(60)  # error: reportArgumentType
    rate.put().where(rate.stale)  # error: reportArgumentType
    rate.put().where(rate.base == "USD")  # error: reportArgumentType
    Rate.put()  # error: reportCallIssue
    stored: Order = store.run(rate.put())  # error: reportAssignmentType


def update(store: Store) -> None:
    change = Rate.update(base="USD", target="EUR")
    assert_type(change, Update[Rate])
    assert_type(store.run(change.set(Rate.f.stale, True)), Rate)
    assert_type(store.run(change.remove(Rate.f.expires).increment(Rate.f.rate, Decimal(1))), Rate)
    assert_type(
        store.run(change.append(Rate.f.tags, "a", "b").set_if_absent(Rate.f.stale, False)), Rate
    )
    assert_type(store.run(change.add(Rate.f.rate, 1).knowing(base="USD")), Rate)
    assert_type(store.run(change.set(Rate.f.stale, True).returning_nothing()), None)
    change.set("stale", True)  # error: reportArgumentType
    change.set(Rate.f.stale)  # error: reportCallIssue
    change.put(Rate.f.stale, True)  # error: reportAttributeAccessIssue, reportUnknownMemberType


def delete(store: Store) -> None:
    assert_type(Rate.delete(base="USD", target="EUR"), Delete[Rate])
    assert_type(store.run(Rate.delete(base="USD", target="EUR")), Rate | None)
    assert_type(
        store.run(Rate.delete(base="USD", target="EUR").where(Rate.f.stale.eq(True))), Rate | None
    )


class RatePatch(BaseModel):
    stale: bool | None = None


def edit(store: Store, rate: Rate) -> None:
    assert_type(rate.update(), Update[Rate])
    assert_type(store.run(rate.update().set(Rate.f.stale, True)), Rate)
    assert_type(rate.delete(), Delete[Rate])
    assert_type(store.run(rate.delete()), Rate | None)
    assert_type(rate.change(stale=True), Update[Rate])
    assert_type(store.run(rate.change(RatePatch(stale=True))), Rate)
    assert_type(store.run(rate.change({"stale": True}, rate=Decimal(1))), Rate)
    assert_type(store.run(Rate.update(base="A", target="B").set_from(RatePatch())), Rate)
    counted = Rate.update(base="A", target="B").increment(Rate.f.rate).or_create(at=rate.at)
    assert_type(counted, Upsert[Rate])
    assert_type(store.run(counted), Rate)
    assert_type(store.run(counted.then(lambda made: made.ref().get())), Rate | None)
    assert_type(rate.create().then(lambda made: made.delete()), Chain[Rate | None])
    assert_type(rate.delete().then(lambda old: old.create()), Chain[Rate | None])
    assert_type(rate.refresh(), Get[Rate])
    assert_type(store.run(rate.refresh()), Rate | None)
    assert_type(rate.ref(), Ref[Rate])
    rate.update(base="USD")  # error: reportCallIssue
    rate.delete(base="USD")  # error: reportCallIssue
    Rate.update("USD", "EUR")  # error: reportCallIssue
    Rate.change(stale=True)  # error: reportCallIssue
    rate.change(True)  # error: reportArgumentType
    rate.update = rate.update  # error: reportAttributeAccessIssue


def edit_any(store: Store, kind: type[E], entity: E) -> None:
    assert_type(kind.update(base="USD"), Update[E])
    assert_type(entity.update(), Update[E])
    assert_type(entity.delete(), Delete[E])
    assert_type(entity.change(), Update[E])


def returning_nothing(store: Store, rate: Rate) -> None:
    assert_type(store.run(rate.create().returning_nothing()), Rate)
    assert_type(store.run(Rate.delete(base="USD", target="EUR").returning_nothing()), None)
    check = Rate.check(Rate.f.stale.eq(True), base="USD", target="EUR")
    assert_type(check.returning_nothing(), Check)


def conditions() -> None:
    stale = Rate.f.stale.eq(True)
    assert_type(stale, Condition)
    assert_type(stale & (Rate.f.rate > 1) | ~Rate.f.tags.contains("a"), Condition)
    assert_type(Rate.f.tags.size >= 2, Condition)
    assert_type(Rate.f.rate.between(1, 2), Condition)
    assert_type(Rate.f.base.in_("USD", "EUR"), Condition)
    assert_type(Rate.f.base.begins_with("U"), Condition)
    assert_type(Rate.f.expires.exists(), Condition)
    stale & True  # error: reportOperatorIssue
    if stale:  # error: reportGeneralTypeIssues; not mypy
        pass
    not stale  # error: reportGeneralTypeIssues; not mypy


def together(store: Store, rate: Rate, order: Order, line: OrderLine) -> None:
    unchanged = Rate.check(Rate.f.stale.eq(False), base="USD", target="EUR")
    assert_type(unchanged, Check)
    joined = transaction(order.create(), line.put(), unchanged, Rate.delete(base="A", target="B"))
    assert_type(joined, Transaction)
    assert_type(store.run(joined), list[Any])
    transaction(order)  # error: reportArgumentType
    transaction(order.create(), order.tp)  # error: reportArgumentType
    transaction(Order.query(user="ada"))  # error: reportArgumentType

    gets = [OrderLine.get(user="ada", order=OrderId.new(), line=number) for number in range(9)]
    assert_type(store.run(batch(gets)), list[OrderLine | None])
    assert_type(store.run(batch([each.put() for each in (line, line)])), list[OrderLine])
    assert_type(store.run(batch([Rate.delete(base="A", target="B")])), list[None])
    assert_type(store.run(batch([rate.put(), Order.get(user="ada")])), list[Any])
    batch([unchanged])  # error: reportArgumentType, reportCallIssue
    batch([Rate.update(base="A", target="B")])  # error: reportArgumentType, reportCallIssue
