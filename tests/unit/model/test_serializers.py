"""Serializers of pydantic say how a field is stored, if what they return is read back."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import (
    BaseModel,
    BeforeValidator,
    GetCoreSchemaHandler,
    PlainSerializer,
    WrapSerializer,
    field_serializer,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from pydantic_core import CoreSchema, core_schema

from keyfold.errors import DeclarationInvalid, ValueInvalid
from keyfold.model import Entity, Key, Table, attr


def split(value: Any) -> Any:
    return value.split(",") if isinstance(value, str) else value


Words = Annotated[list[str], BeforeValidator(split), PlainSerializer(",".join, return_type=str)]
Doubled = Annotated[int, WrapSerializer(lambda value, handler: str(handler(value)))]


class Money(BaseModel):
    amount: Decimal
    currency: str

    @model_serializer
    def to_text(self) -> str:
        return f"{self.amount} {self.currency}"

    @model_validator(mode="before")
    @classmethod
    def from_text(cls, value: Any) -> Any:
        if isinstance(value, str):
            amount, currency = value.split(" ")
            return {"amount": amount, "currency": currency}
        return value


class Shown(BaseModel):
    """A model whose serializer is for JSON only."""

    amount: Decimal

    @model_serializer(when_used="json")
    def to_text(self) -> str:
        return f"€{self.amount}"


@pydantic_dataclass
class Wait:
    length: timedelta

    @field_serializer("length")
    def to_text(self, length: timedelta) -> str:
        return f"PT{length.total_seconds()}S"


class Version:
    """A class with its own core schema."""

    def __init__(self, text: str) -> None:
        self.numbers = tuple(map(int, text.split(".")))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.numbers == other.numbers

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return ".".join(map(str, self.numbers))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        made = core_schema.no_info_after_validator_function(cls, core_schema.str_schema())
        return core_schema.json_or_python_schema(
            json_schema=made,
            python_schema=core_schema.is_instance_schema(cls),
            serialization=core_schema.to_string_ser_schema(),
        )


class Thing(Entity, table=Table("Things", key=Key("pk")), key="{id}"):
    prefix: ClassVar[str] = "#"

    id: str
    words: Words = attr(default_factory=list)
    doubled: Doubled | None = None
    price: Money | None = None
    prices: list[Money] = attr(default_factory=list)
    shown: Shown | None = None
    wait: Wait | None = None
    version: Version | None = None
    versions: set[str] = attr(default_factory=set)
    ratio: float = 0.5
    upper: str = ""

    @field_serializer("ratio")
    def to_percent(self, ratio: float) -> str:
        return f"{ratio * 100}%"

    @field_validator("ratio", mode="before")
    @classmethod
    def from_percent(cls, value: Any) -> Any:
        return float(value[:-1]) / 100 if isinstance(value, str) else value

    @field_serializer("upper", when_used="json")
    def to_upper(self, upper: str) -> str:
        return upper.upper()

    @model_serializer(mode="wrap")
    def dump(self, handler: Any) -> dict[str, Any]:
        return {"thing": handler(self)}


def test_a_field_is_stored_as_its_serializer_returns_it() -> None:
    thing = Thing(
        id="1",
        words=["a", "b"],
        doubled=5,
        price=Money(amount=Decimal("9.90"), currency="EUR"),
        prices=[Money(amount=Decimal(1), currency="USD")],
        shown=Shown(amount=Decimal(2)),
        wait=Wait(timedelta(hours=1)),
        version=Version("1.20.3"),
        ratio=0.25,
        upper="x",
    )
    item = thing.put().item
    assert item == {
        "pk": {"S": "1"},
        "id": {"S": "1"},
        "words": {"S": "a,b"},
        "doubled": {"S": "5"},
        "price": {"S": "9.90 EUR"},
        "prices": {"L": [{"S": "1 USD"}]},
        "shown": {"M": {"amount": {"N": "2"}}},
        "wait": {"M": {"length": {"S": "PT3600.0S"}}},
        "version": {"S": "1.20.3"},
        "ratio": {"S": "25.0%"},
        "upper": {"S": "x"},
    }
    assert Thing.keyfold_schema().decode(item) == thing


def test_conditions_and_updates_use_the_serializer() -> None:
    assert "25.0%" in repr(Thing.f.ratio.eq(0.25))
    request = Thing.update(id="1").set(Thing.f.ratio, 0.25).set(Thing.f.price, "9.90 EUR")
    values = request.to_dynamodb()["ExpressionAttributeValues"].values()
    assert {"S": "25.0%"} in values
    assert {"S": "9.90 EUR"} in values
    assert "begins_with" in repr(Thing.f.words.begins_with("a"))


def declare(**space: Any) -> Any:
    make: Any = type(Entity)
    space["__annotations__"] = {"id": str, **space["__annotations__"]}
    return make("Bad", (Entity,), space, table=Table("Tab", key=Key("pk")), key="{id}")


def test_a_serializer_whose_result_is_not_read_back_is_refused() -> None:
    def to_text(self: Any, value: float) -> str:
        return f"€{value}"

    with pytest.raises(
        DeclarationInvalid, match=r"Bad.price: its field_serializer makes '€0.5' of"
    ):
        declare(__annotations__={"price": float}, show=field_serializer("price")(to_text))
    with pytest.raises(DeclarationInvalid, match=r"Bad.price: its serializer makes 3 of 5, which"):
        declare(__annotations__={"price": Annotated[int, PlainSerializer(lambda value: value - 2)]})
    declare(
        __annotations__={"price": float}, show=field_serializer("price", when_used="json")(to_text)
    )


def test_a_serializer_gets_the_value_alone() -> None:
    class Two(Entity, table=Table("Tab", key=Key("pk")), key="{id}"):
        id: str
        unit: str
        length: Version | None = None

        @field_serializer("length")
        def with_unit(self, length: Version | None) -> str:
            return f"{length}{self.unit}"

    with pytest.raises(
        ValueInvalid, match=r"Two.length: its field_serializer fails \(.*unit.* value"
    ):
        Two(id="1", unit="m", length=Version("1")).put()
