"""Handlers get changes with the types of their entities."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, assert_type

from keyfold import AsyncStore, Change, Entity, Key, Request, Store, Table, part
from keyfold.model import ChangeKind, Handler
from keyfold.requests import CreateOrGet
from keyfold.store import Followed, DeadLetter

shop = Table("Shop", key=Key("pk", "sk"), stream="new and old")


class Order(Entity, table=shop, key=("U#{user}", "O#{number:06}")):
    user: str = part()
    number: int = part()
    total: int = 0


class Line(Entity, table=shop, key=("U#{user}", "L#{number:06}")):
    user: str = part()
    number: int = part()


@shop.on_change(Order)
def of_one(change: Change[Order]) -> Request[Line] | None:
    assert_type(change.old, Order | None)
    assert_type(change.new, Order | None)
    assert_type(change.kind, ChangeKind)
    assert_type(change.by_expiry, bool)
    if change.new is None:
        return None
    return Line(user=change.new.user, number=change.new.total).create().or_get()


@shop.on_change(Order, Line, images="new")
def of_several(change: Change[Order | Line]) -> Iterator[Request[Any]]:
    assert_type(change.entity, Order | Line | None)
    if isinstance(change.new, Line):
        yield Line.delete(user=change.new.user, number=change.new.number)


@shop.on_change()
def of_any(change: Change[Any]) -> None: ...


@shop.on_change(Order)
async def awaited(change: Change[Order]) -> list[Request[Any]]:
    return []


assert_type(of_one, Handler[Order])
assert_type(of_several, Handler[Order | Line])
assert_type(of_any, Handler[Any])
assert_type(awaited, Handler[Order])


def follow(store: Store) -> None:
    assert_type(store.follow(shop, until_caught_up=True), Followed)
    assert_type(store.follow(shop, stop=threading.Event(), start="latest"), Followed)
    assert_type(store.dead_letters(shop), list[DeadLetter])
    assert_type(store.retry_dead_letters(shop), int)
    line = Line(user="ada", number=1)
    assert_type(line.create().or_get(), CreateOrGet[Line])
    assert_type(store.run(line.create().or_get()), Line)


async def follow_async(store: AsyncStore) -> None:
    assert_type(await store.follow(shop), Followed)
    assert_type(await store.dead_letters(shop), list[DeadLetter])


def declare_wrongly(store: Store) -> None:
    @shop.on_change(Order)  # error: reportArgumentType
    def of_another(change: Change[Line]) -> None: ...

    @shop.on_change(Order)  # error: reportArgumentType
    def returns_no_request(change: Change[Order]) -> int:
        return 1

    @shop.on_change(Order, images="all")  # error: reportArgumentType
    def sees_all(change: Change[Order]) -> None: ...

    @shop.on_change(Order, name="total")
    def adds(change: Change[Order]) -> None:
        change.new.total  # error: reportOptionalMemberAccess

    Table("Other", key=Key("pk"), stream="everything")  # error: reportArgumentType
    store.follow(shop, start="middle")  # error: reportArgumentType
