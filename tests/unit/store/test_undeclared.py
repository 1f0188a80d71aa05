"""Attributes that a program does not declare survive its writes of items that it has read."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from keyfold.model import Entity, Index, Key, Table, attr, part
from keyfold.model._undeclared import UNDECLARED
from keyfold.store import Store, StoreSettings
from keyfold.values import Item
from tests.transports import Database
from tests.unit.store.store_kinds import AnyStore, OpenStore

by_state = Index("ByState", key=Key("state_pk"))
shop = Table("Shop", key=Key("pk"), indexes=[by_state], type_attribute="kind")


class Line(BaseModel):
    sku: str
    count: int = 1


class Card(BaseModel):
    card: str


class Cash(BaseModel):
    till: int


class Order(Entity, table=shop, key="O#{id}"):
    id: str = part()
    total: int = attr("t")
    first: Line | None = None
    lines: list[Line] = attr(default=[])
    by_name: dict[str, Line] = attr(default={})
    paid_with: Card | Cash | None = None
    pair: tuple[Line, int] | None = None


class Parcel(Entity, table=shop, key="P#{id}", indexes={by_state: "S#{state}"}):
    id: str = part()
    state: str


class Free(Entity, table=shop, key="F#{id}", extra="allow"):
    id: str = part()
    total: int = attr("t")


NESTED: Item = {"sku": {"S": "a"}, "count": {"N": "2"}, "gift": {"M": {"from": {"S": "Bo"}}}}
STORED: Item = {
    "pk": {"S": "O#1"},
    "kind": {"S": "Order"},
    "t": {"N": "5"},
    "currency": {"S": "EUR"},
    # The name of a field, which is stored under another name.
    "total": {"B": b"1"},
    # The key of an index that the entity is not in, as far as this program knows.
    "state_pk": {"S": "S#open"},
    "first": {"M": NESTED},
    "lines": {"L": [{"M": {"sku": {"S": "b"}, "count": {"N": "1"}}}, {"M": NESTED}]},
    "by_name": {"M": {"x": {"M": NESTED}}},
    "paid_with": {"M": {"card": {"S": "visa"}, "expires": {"S": "0131"}}},
    "pair": {"L": [{"M": NESTED}, {"N": "3"}]},
}


@pytest.fixture
def database(engine: Database) -> Database:
    Store(engine, StoreSettings([shop])).create_table(shop)
    put(engine, STORED)
    return engine


@pytest.fixture
def orders(make_store: OpenStore, database: Database) -> AnyStore:
    return make_store(database, [shop])


def put(engine: Database, item: Item) -> None:
    engine.execute("PutItem", {"TableName": "Shop", "Item": item})


def stored(engine: Database, key: str = "O#1") -> Item:
    request = {"TableName": "Shop", "Key": {"pk": {"S": key}}}
    return engine.execute("GetItem", request)["Item"]


def read(store: AnyStore) -> Order:
    found = store.run(Order.get(id="1"))
    assert found is not None
    return found


@pytest.mark.parametrize("method", ["put", "replace"])
def test_undeclared_attributes_survive_a_write_of_the_whole_item(
    orders: AnyStore, database: Database, method: str
) -> None:
    order = read(orders).model_copy(update={"total": 6})
    assert orders.run(getattr(order, method)()) == order
    assert stored(database) == {**STORED, "t": {"N": "6"}}


FOUND: list[Callable[[AnyStore], Any]] = [
    lambda store: next(iter(store.run(Order.scan()))),
    lambda store: store.run(shop.get(pk="O#1")),
    lambda store: store.run(Order.update(id="1").set(Order.f.total, 5)),
    lambda store: pickle.loads(pickle.dumps(read(store))),
    lambda store: copy.deepcopy(read(store)),
]


@pytest.mark.parametrize("find", FOUND)
def test_they_travel_with_the_entity(orders: AnyStore, database: Database, find: Any) -> None:
    order = find(orders)
    put(database, {"pk": {"S": "O#1"}})
    orders.run(order.put())
    assert stored(database) == STORED


def test_they_are_not_part_of_the_entity(orders: AnyStore) -> None:
    order = read(orders)
    plain = Order.model_validate(order.model_dump())
    assert order == plain
    assert hash(Parcel(id="1", state="a")) == hash(Parcel(id="1", state="a"))
    assert "currency" not in repr(order)
    assert order.model_dump() == plain.model_dump()
    assert order.model_dump_json() == plain.model_dump_json()
    assert dict(order) == dict(plain)
    assert orders.run(plain.put()) == plain


def test_an_entity_made_anew_has_none(orders: AnyStore, database: Database) -> None:
    orders.run(Order.model_validate(read(orders).model_dump()).put())
    assert "currency" not in stored(database)


def test_a_nested_value_that_is_replaced_loses_its_own(
    orders: AnyStore, database: Database
) -> None:
    order = read(orders)
    other = order.model_copy(update={"first": Line(sku="z"), "lines": order.lines[1:]})
    orders.run(other.put())
    assert stored(database) == {
        **STORED,
        "first": {"M": {"sku": {"S": "z"}, "count": {"N": "1"}}},
        "lines": {"L": [{"M": NESTED}]},
    }


def test_free_form_attributes_are_fields(orders: AnyStore, database: Database) -> None:
    item: Item = {
        "pk": {"S": "F#1"},
        "kind": {"S": "Free"},
        "t": {"N": "1"},
        "total": {"S": "two"},
        "other": {"S": "three"},
    }
    put(database, item)
    found = orders.run(Free.get(id="1"))
    assert found is not None
    assert found.model_extra == {"other": "three"}
    orders.run(found.model_copy(update={"total": 2}).put())
    assert stored(database, "F#1") == {**item, "t": {"N": "2"}}


def test_what_is_declared_by_now_is_not_written_back(orders: AnyStore) -> None:
    order = read(orders)
    order.__dict__[UNDECLARED]["first"] = {"S": "stale"}
    assert order.model_copy(update={"first": None}).put().item.keys().isdisjoint({"first"})
