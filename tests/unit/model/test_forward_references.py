"""Types that are not defined yet are found when the table is opened."""

# Most of these classes are only declared, not used.
# pyright: reportUnusedClass=false

from __future__ import annotations

import pytest
from pydantic import BaseModel

from keyfold.errors import DeclarationInvalid
from keyfold.model import (
    Entity,
    Key,
    Table,
    attr,
)
from tests.unit.model.declaring import problems_of

waiting = Table("Waiting", key=Key("pk"))


class Basket(Entity, table=waiting, key="BASKET#{id}"):
    id: str
    items: list[Fruit]


class Fruit(BaseModel):
    name: str = attr("n")


def test_forward_references_are_resolved_when_the_table_is_opened() -> None:
    assert "Basket" not in waiting.entities
    waiting.check()
    made = Basket(id="1", items=[Fruit(name="fig")])
    assert made.put().item["items"] == {"L": [{"M": {"n": {"S": "fig"}}}]}
    assert repr(Basket.f.items[0].name) == "Basket.f.items[0].name"


def test_types_that_are_local_to_a_function_are_found() -> None:
    table = Table("Tab", key=Key("pk"))

    class Local(BaseModel):
        x: int

    class Holder(Entity, table=table, key="{id}"):
        id: str
        held: Local

    assert Holder(id="1", held=Local(x=1)).put().item["held"] == {"M": {"x": {"N": "1"}}}


def test_a_type_that_is_never_defined_is_reported_every_time() -> None:
    table = Table("Tab", key=Key("pk"))

    class Bad(Entity, table=table, key="BAD#{id}"):
        id: str
        held: Missing  # type: ignore[name-defined]  # noqa: F821 - the point

    for _ in range(2):
        assert problems_of(table.check) == ["Bad: its type 'Missing' is not defined."]
    with pytest.raises(DeclarationInvalid):
        Bad.get(id="1")
