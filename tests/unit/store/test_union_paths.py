"""Conditions on fields of models in a union: they test the attribute that the model stores."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel

from keyfold.errors import PathInvalid
from keyfold.model import Entity, Key, Table, attr, part
from tests.unit.store.store_kinds import AnyStore, OpenStore

sales = Table("Sales", key=Key("pk"))


class ByCard(BaseModel):
    kind: Literal["card"] = attr("k", default="card")
    digits: str = attr("d")
    paid_on: str = attr("day", default="mon")


class ByBill(BaseModel):
    kind: Literal["bill"] = attr("k", default="bill")
    address: str
    paid_on: str = attr("date", default="mon")


class Sale(Entity, table=sales, key="SALE#{id}"):
    id: str = part()
    way: ByCard | ByBill | None = None


@pytest.fixture
def store(open_store: OpenStore) -> AnyStore:
    opened = open_store(sales)
    opened.run(Sale(id="1", way=ByCard(digits="12")).put())
    opened.run(Sale(id="2", way=ByBill(address="Delft")).put())
    return opened


def test_a_field_of_one_model_is_found_by_its_stored_name(store: AnyStore) -> None:
    found = store.run(Sale.scan().where(Sale.f.way.digits.eq("12")))
    assert [sale.id for sale in found] == ["1"]


def test_a_field_that_all_models_store_alike_tells_them_apart(store: AnyStore) -> None:
    found = store.run(Sale.scan().where(Sale.f.way.kind.eq("bill")))
    assert [sale.id for sale in found] == ["2"]


def test_a_field_that_models_store_under_several_names_is_refused() -> None:
    with pytest.raises(PathInvalid, match="stored under several names: date, day"):
        Sale.f.way.paid_on  # noqa: B018 - building the path is what fails
