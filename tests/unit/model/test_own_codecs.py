"""Codecs of users: in items, keys, indexes, conditions, updates and unique fields."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ValidationError

import keyfold
from keyfold import Codec
from keyfold.errors import (
    DeclarationInvalid,
    KeyPartInvalid,
    PathInvalid,
    UniqueTaken,
    ValueInvalid,
)
from keyfold.model import Entity, Index, Key, Table, attr, part
from keyfold.model._schemas import ItemMismatch


class Place:
    """A class that pydantic does not know."""

    def __init__(self, row: int, seat: int) -> None:
        self.row, self.seat = row, seat

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.row, self.seat))

    def __repr__(self) -> str:
        return f"Place({self.row}, {self.seat})"


def read_place(text: str) -> Place:
    row, seat = text.split("-")
    return Place(int(row), int(seat))


PLACE = Codec(encode=lambda place: f"{place.row}-{place.seat}", decode=read_place)
CENTS = Codec[Decimal](
    encode=lambda amount: int(amount * 100), decode=lambda cents: Decimal(cents) / 100, kind="N"
)
AtPlace = Annotated[Place, PLACE]

by_place = Index("ByPlace", key=Key("near", "sk"))
by_price = Index("ByPrice", key=Key("pricePk", "priceSk"))
table = Table("Tickets", key=Key("pk", "sk"), indexes=[by_place, by_price])


class Inner(BaseModel):
    place: AtPlace


class Ticket(
    Entity,
    table=table,
    key=("SHOW#{show}", "{place}#{price:06}"),
    indexes={by_price: ("PRICE", "{worth:04.2}#{place}")},
    unique="code",
):
    show: str = part()
    place: Place = part(codec=PLACE)
    price: Decimal = part(codec=CENTS)
    worth: Annotated[Decimal, Codec(encode=Decimal.copy_abs, decode=Decimal, kind="N")] = Decimal(1)
    near: Place | None = attr(codec=PLACE, default=None)
    code: Place = attr(codec=PLACE)
    places: list[AtPlace] = attr(default_factory=list)
    inner: Inner | None = None
    either: AtPlace | int | None = None
    flag: bool = attr(codec=Codec(encode=lambda on: "yn"[not on], decode="y".__eq__), default=True)


def make(**values: Any) -> Ticket:
    known: dict[str, Any] = {"show": "x", "place": Place(1, 2), "price": Decimal("9.90")}
    known |= {"code": Place(0, 1), **values}
    return Ticket(**known)


def test_a_value_is_stored_by_its_codec_and_read_back() -> None:
    ticket = make(
        near=Place(3, 4), places=[Place(5, 6)], inner=Inner(place=Place(7, 8)), either=Place(9, 9)
    )
    item = ticket.create().item
    assert item == {
        "pk": {"S": "SHOW#x"},
        "sk": {"S": "1-2#000990"},
        "pricePk": {"S": "PRICE"},
        "priceSk": {"S": "0001.00#1-2"},
        "worth": {"N": "1"},
        "near": {"S": "3-4"},
        "code": {"S": "0-1"},
        "places": {"L": [{"S": "5-6"}]},
        "inner": {"M": {"place": {"S": "7-8"}}},
        "either": {"S": "9-9"},
        "flag": {"S": "y"},
    }
    assert Ticket.keyfold_schema().decode(item) == ticket


def test_a_field_with_a_codec_works_like_any_other() -> None:
    with keyfold.open(table, ":memory:") as store:
        one = store.run(make(near=Place(3, 4)).create())
        two = store.run(make(place=Place(1, 3), near=Place(3, 4), code=Place(0, 2)).create())
        assert store.run(Ticket.get(show="x", place=Place(1, 2), price=Decimal("9.90"))) == one
        assert store.run(Ticket.get(show="x", place="1-3", price="9.90")) == two
        assert list(store.run(Ticket.query(show="x", place=Place(1, 3)))) == [two]
        assert list(store.run(Ticket.query(by_place, near=Place(3, 4)))) == [one, two]
        assert list(store.run(Ticket.query(by_price, worth=Decimal(1)))) == [one, two]
        found = store.run(
            Ticket.update(show="x", place=Place(1, 2), price=Decimal("9.90"))
            .set(Ticket.f.near, Place(8, 8))
            .set(Ticket.f.flag, False)
            .set(Ticket.f.worth, Decimal(7))
            .append(Ticket.f.places, Place(1, 1))
            .where(Ticket.f.near.eq(Place(3, 4)) & Ticket.f.near.in_(Place(3, 4), Place(0, 0)))
        )
        assert (found.near, found.flag, found.places) == (Place(8, 8), False, [Place(1, 1)])
        assert list(store.run(Ticket.query(by_price, worth=Decimal(7)))) == [found]
        query = Ticket.query(show="x").where(Ticket.f.places.contains(Place(1, 1)))
        assert list(store.run(query)) == [found]
        with pytest.raises(UniqueTaken):
            store.run(make(place=Place(9, 9), code=Place(0, 1)).create())


def test_plain_values_are_decoded_by_validation_and_encoded_in_json() -> None:
    ticket = make(place="1-2", near=None, places=["5-6"])
    assert ticket.place == Place(1, 2)
    text = ticket.model_dump_json()
    assert json.loads(text)["places"] == ["5-6"]
    assert Ticket.model_validate_json(text) == ticket
    assert Ticket.model_json_schema()["properties"]["place"]["type"] == "string"
    with pytest.raises(ValidationError, match="its codec cannot decode it: ValueError"):
        make(near="nowhere")
    with pytest.raises(ValidationError, match="its codec cannot decode it: AttributeError"):
        make(near=5)


def test_a_value_that_the_codec_does_not_take_is_refused_by_field() -> None:
    with pytest.raises(ValueInvalid, match=r"Ticket.f.near: its codec cannot encode it \(Attribut"):
        Ticket.f.near.eq("1-2")
    with pytest.raises(PathInvalid, match="begins_with"):
        Ticket.f.worth.begins_with("1")
    with pytest.raises(KeyPartInvalid, match="its codec can"):
        Ticket.get(show="x", place=5, price=Decimal(1))
    with pytest.raises(KeyPartInvalid, match="is of type Place"):
        Ticket.get(show="x", place="nowhere", price=Decimal(1))


def test_a_stored_value_that_the_codec_refuses_is_reported_by_field() -> None:
    item = make().create().item
    with pytest.raises(ItemMismatch, match=r"near: its codec cannot decode it: ValueError: not en"):
        Ticket.keyfold_schema().decode({**item, "near": {"S": "nowhere"}})
    with pytest.raises(ItemMismatch, match="near: its codec cannot decode it: AttributeError"):
        Ticket.keyfold_schema().decode({**item, "near": {"N": "5"}})
    assert Ticket.keyfold_schema().read_keys({**item, "sk": {"S": "nowhere#000990"}}) is None


def test_what_a_codec_returns_must_be_of_its_kind() -> None:
    class Wrong(Entity, table=Table("Tab", key=Key("pk")), key="{id}"):
        id: str
        value: int = attr(codec=Codec(encode=str, decode=int, kind="N"))

    with pytest.raises(
        ValueInvalid, match=r"Wrong.value: its codec, of kind N, made a str: 5. Ret"
    ):
        Wrong(id="1", value=5).put()


def test_a_codec_that_is_no_text_or_number_cannot_be_in_a_template() -> None:
    with pytest.raises(DeclarationInvalid, match="Place, which cannot be a part of a key"):

        class Bad(Entity, table=Table("Tab", key=Key("pk")), key="{place}"):  # pyright: ignore[reportUnusedClass]
            place: Place = part(codec=Codec(encode=vars, decode=lambda it: Place(**it), kind="M"))

    with pytest.raises(DeclarationInvalid, match="has an int without a width"):

        class Wide(Entity, table=Table("Tab", key=Key("pk")), key="{price}"):  # pyright: ignore[reportUnusedClass]
            price: Decimal = part(codec=CENTS)


def test_a_codec_that_is_none_is_refused() -> None:
    wrong: Any = "X"
    with pytest.raises(DeclarationInvalid, match="kind one of S, N, B, BOOL, L, M; got Codec"):
        Codec(encode=str, decode=int, kind=wrong)
    with pytest.raises(DeclarationInvalid, match="encode and decode must be functions"):
        Codec(encode=wrong, decode=int)
    with pytest.raises(DeclarationInvalid, match=r"codec must be a keyfold.Codec; got 'X'"):
        attr(codec=wrong)
