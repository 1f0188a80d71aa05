"""Unions: ambiguous ones are refused, and the values of the others round-trip."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from keyfold.errors import DeclarationInvalid
from keyfold.keys import Ulid
from keyfold.model import Entity, Key, Table


class Level(Enum):
    LOW = 1


class Colour(StrEnum):
    RED = "red"


class CaseId(Ulid, prefix="C"): ...


class OtherId(Ulid, prefix="X"): ...


class Named(BaseModel):
    name: str


class Described(BaseModel):
    name: str
    text: str | None = None


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    name: str


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    name: str


def declare_field(annotation: Any) -> Any:
    """Declare an entity with a field of the given type."""

    class Made(Entity, table=Table("Shop", key=Key("pk")), key="{id}"):
        id: str
        value: annotation  # pyright: ignore[reportInvalidTypeForm] - what a test is about

    return Made


@pytest.mark.parametrize(
    ("annotation", "lost"),
    [
        (UUID | str, "UUID could be read back as str"),
        (str | UUID | None, "UUID could be read back as str"),
        (list[UUID | str], "UUID could be read back as str"),
        (
            Annotated[UUID | str, Field(union_mode="left_to_right")],
            "str could be read back as UUID",
        ),
        (date | datetime, "datetime could be read back as date"),
        (Level | int, "Level could be read back as int"),
        (Colour | str, "Colour could be read back as str"),
        (CaseId | str, "CaseId | str cannot be told apart"),
        (list[str] | tuple[str, ...], "could be read back as list"),
        (Named | Described, "Give each a Literal field that says which one it is"),
        (dict[str, Named | Described], "Named and Described cannot be told apart"),
    ],
)
def test_a_union_whose_members_look_alike_in_an_item_is_refused(annotation: Any, lost: str) -> None:
    with pytest.raises(DeclarationInvalid) as caught:
        declare_field(annotation)
    (problem,) = caught.value.problems
    assert problem.startswith("Made.value: ")
    assert lost in problem


@pytest.mark.parametrize(
    ("annotation", "values"),
    [
        (UUID | datetime | None, [UUID(int=1), datetime(2024, 1, 1, tzinfo=UTC), None]),
        (int | Decimal | str, [1, Decimal("1.5"), "1"]),
        (bool | int, [True, 1]),
        (CaseId | OtherId, [CaseId.at(datetime(2024, 1, 1, tzinfo=UTC)), OtherId.new()]),
        (list[str] | set[str], [["a"], {"a"}]),
        (Literal["a"] | int, ["a", 1]),
        (Cat | Dog, [Cat(name="x"), Dog(name="x")]),
        (Named | str, [Named(name="x"), "x"]),
    ],
)
def test_values_of_an_accepted_union_round_trip(annotation: Any, values: list[Any]) -> None:
    made = declare_field(annotation)
    schema = made.keyfold_schema()
    for value in values:
        found: Any = schema.decode(schema.encode(made(id="x", value=value)))
        assert (type(found.value), found.value) == (type(value), value)
