"""Validators and computed fields that depend on several fields, and the updates they block."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cached_property
from typing import Annotated, Self

import pydantic
import pytest
from pydantic import AfterValidator, ValidationInfo, field_validator

import keyfold
from keyfold import Entity, Expiry, Key, Table, computed_field, model_validator
from keyfold.errors import DeclarationInvalid, UpdateInvalid
from keyfold.model._cross_checks import CrossCheck

table = Table("Bookings", key=Key("pk"))


class Booking(Entity, table=table, key="B#{id}"):
    id: str
    start: int
    end: int
    price: int = 1
    count: int = 1
    note: str = ""

    @model_validator(mode="after", depends=("start", "end"))
    def ends_after_start(self) -> Self:
        if self.end < self.start:
            raise ValueError("it ends before it starts")
        return self

    @computed_field(depends=("price", "count"))
    def total(self) -> int:
        return self.price * self.count


class Whole(Entity, table=table, key="W#{id}"):
    id: str
    a: int = 0

    @pydantic.model_validator(mode="before")
    @classmethod
    def look(cls, values: object) -> object:
        return values


def look_around(value: int, info: ValidationInfo) -> int:
    return value + info.data.get("before", 0)


class Looking(Entity, table=table, key="L#{id}"):
    id: str
    before: int = 0
    middle: Annotated[int, AfterValidator(look_around)] = 0
    after: int = 0

    @field_validator("id")
    @classmethod
    def first(cls, value: str, info: ValidationInfo) -> str:
        return value + str(info.data)[:0]


class Properties(Entity, table=table, key="P#{id}"):
    id: str
    a: int = 0
    b: int = 0

    @computed_field(depends="a", alias="Twice")
    @property
    def twice(self) -> int:
        return self.a * 2

    @computed_field(depends=("b",))
    @cached_property
    def thrice(self) -> int:
        return self.b * 3

    @computed_field()
    @property
    def both(self) -> int:
        return self.a + self.b


def test_the_schema_has_the_checks_with_their_fields() -> None:
    assert Booking.keyfold_schema().cross_checks == (
        CrossCheck("ends_after_start", frozenset({"start", "end"}), is_computed=False),
        CrossCheck("total", frozenset({"price", "count"}), is_computed=True),
    )
    assert Whole.keyfold_schema().cross_checks == (CrossCheck("look", None, is_computed=False),)
    assert Properties.keyfold_schema().cross_checks == (
        CrossCheck("twice", frozenset({"a"}), is_computed=True),
        CrossCheck("thrice", frozenset({"b"}), is_computed=True),
        CrossCheck("both", None, is_computed=True),
    )


def test_the_decorators_do_what_those_of_pydantic_do() -> None:
    booking = Booking(id="1", start=1, end=2, price=3, count=4)
    assert booking.total == 12
    with pytest.raises(pydantic.ValidationError, match="it ends before it starts"):
        Booking(id="1", start=2, end=1)
    several = Properties(id="1", a=1, b=2)
    assert (several.twice, several.thrice, several.both) == (2, 6, 3)
    assert several.model_dump(by_alias=True)["Twice"] == 2


def test_a_field_validator_with_info_depends_on_the_fields_before_it() -> None:
    # The first field has none before it.
    assert Looking.keyfold_schema().cross_checks == (
        CrossCheck("look_around", frozenset({"id", "before", "middle"}), is_computed=False),
    )
    Looking.update(id="1").set(Looking.f.after, 1)
    with pytest.raises(UpdateInvalid, match="validator look_around, which depends on before, id"):
        Looking.update(id="1").set(Looking.f.before, 1)


def test_an_update_of_other_fields_is_allowed() -> None:
    update = Booking.update(id="1").set(Booking.f.note, "x")
    assert update.to_dynamodb()["UpdateExpression"] == "SET note = :0"


def test_an_update_of_a_field_that_a_check_depends_on_is_refused() -> None:
    with pytest.raises(UpdateInvalid) as caught:
        Booking.update(id="1").set(Booking.f.start, 1)
    assert str(caught.value) == (
        "Booking: Booking.f.start cannot be updated alone because of the validator "
        "ends_after_start, which depends on end, start. Read the entity and use its change(), or "
        "skip the check with unchecked(). [update-invalid]"
    )
    with pytest.raises(UpdateInvalid, match="stored computed field total, which depends on count"):
        Booking.update(id="1").increment(Booking.f.price)
    with pytest.raises(UpdateInvalid, match="validator look, which depends on all fields"):
        Whole.update(id="1").remove(Whole.f.a)


def test_what_is_named_after_unchecked_is_not_checked() -> None:
    update = Booking.update(id="1").unchecked().set(Booking.f.start, 1).increment(Booking.f.price)
    assert update.to_dynamodb()["UpdateExpression"] == "SET #0 = :0, price = price + :0"
    Booking.update(id="1").set(Booking.f.note, "x").unchecked().set(Booking.f.end, 1)


def test_an_expiry_that_a_check_depends_on_is_refused() -> None:
    class Lease(Entity, table=Table("Leases", key=Key("pk"), ttl="ends"), key="{id}"):
        id: str
        starts: datetime
        ends: Expiry | None = None

        @model_validator(mode="after", depends=("starts", "ends"))
        def lasts(self) -> Self:
            return self

    with pytest.raises(UpdateInvalid, match="validator lasts, which depends on ends, starts"):
        Lease.update(id="1").expiring_in(timedelta(hours=1))
    Lease.update(id="1").unchecked().expiring_in(timedelta(hours=1))


def test_depends_names_fields() -> None:
    with pytest.raises(
        DeclarationInvalid, match=r"Odd\.look: it depends on 'ends', which is not a"
    ):

        class Odd(Entity, table=Table("Odd", key=Key("pk")), key="{id}"):  # pyright: ignore[reportUnusedClass]
            id: str

            @keyfold.model_validator(mode="after", depends=("id", "ends"))
            def look(self) -> Self:
                return self


def test_the_error_of_a_copy_is_titled_like_that_of_a_new_entity() -> None:
    booking = Booking(id="1", start=1, end=2)
    for make in (lambda: booking.model_copy(update={"end": 0}), lambda: booking.change(end=0)):
        with pytest.raises(pydantic.ValidationError) as caught:
            make()
        assert caught.value.title == "Booking"
