"""Example items: two people, a group that one of them belongs to, and its fridge."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from keyfold import Entity
from keyfold.designs.pantry._items import (
    Categories,
    Category,
    Container,
    Food,
    Group,
    GroupContainer,
    JoinLink,
    Membership,
    User,
    table,
)

_ADA = UUID("3f0e7c1a-5a55-4c0e-9f3a-1d2b6c7e8f90")
_BOB = UUID("91c2a4de-73b0-4d8e-8a61-5e2f7c9b0d13")
_HOME = UUID("7b1d2c3e-8f4a-4b6c-a5d7-0e9f8a7b6c5d")
_FRIDGE = UUID("c4a8f1e2-6d3b-4e5f-8a9c-2b1d0e3f4a5b")
_MILK = UUID("2a9d6b17-4c8e-4f3a-b5d0-9e7c1f2a3b4d")
_NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


@table.examples
def make_examples() -> list[Entity]:
    """Return one item of each kind, and a second user, who is in no group."""
    milk = Food(
        id=_MILK,
        name="Milk",
        unit="l",
        quantity=Decimal("1.5"),
        category="Dairy",
        expiry=datetime(2026, 1, 7, tzinfo=UTC),
        created=_NEW_YEAR,
    )
    return [
        User(user=_ADA, name="Ada", email="ada@example.com"),
        Membership(user=_ADA, group=_HOME),
        User(user=_BOB, name="Bob", email="bob@example.com"),
        Group(group=_HOME, name="Home", users=frozenset({_ADA})),
        GroupContainer(group=_HOME, container=_FRIDGE),
        JoinLink(group=_HOME, expires=datetime(2030, 1, 1, tzinfo=UTC)),
        JoinLink(group=_HOME, expires=_NEW_YEAR),
        Container(container=_FRIDGE, name="Fridge", foods={_MILK: milk}),
        Categories(categories=[Category(name="Dairy"), Category(name="Fruit")]),
    ]
